//===- Passes.td - The passes of fuse -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/Pass/PassBase.td"

def DecomposeColumnsPass : Pass<"hova-decompose-columns", "::mlir::func::FuncOp"> {
  let summary = "Store a product's columns in the type they are read in";
  let description = [{
    Before: slices of a product's columns, some of which read it through a
    `hova.convert` of all columns. After: each run of neighbouring slices reads
    a slice of its own, and the conversion is of the columns that are read
    through it. Declines where something reads all columns, or where a run does
    not begin and end where a column group does (`column-group-width`).

    ```mlir
    func.func @main(%x: tensor<1x8x64xbf16>, %w: tensor<64x192xbf16>)
        -> (tensor<1x8x64xbf16>, tensor<1x8x64xbf16>, tensor<1x8x64xf32>) {
      %y = hova.linear %x, %w : tensor<1x8x64xbf16>, tensor<64x192xbf16> -> tensor<1x8x192xf32>
      %c = hova.convert %y : tensor<1x8x192xf32> -> tensor<1x8x192xbf16>
      %q = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x8x192xbf16> -> tensor<1x8x64xbf16>
      %k = hova.slice %c {axis = 2 : i64, offset = 64 : i64} : tensor<1x8x192xbf16> -> tensor<1x8x64xbf16>
      %u = hova.slice %y {axis = 2 : i64, offset = 128 : i64} : tensor<1x8x192xf32> -> tensor<1x8x64xf32>
      return %q, %k, %u : tensor<1x8x64xbf16>, tensor<1x8x64xbf16>, tensor<1x8x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x8x64xbf16>, %w: tensor<64x192xbf16>)
        -> (tensor<1x8x64xbf16>, tensor<1x8x64xbf16>, tensor<1x8x64xf32>) {
      %y = hova.linear %x, %w
          {hova.rewrites = {"hova-decompose-columns" = {fired = true, why = "stores 128 of 192 columns in the storage type alone"}}}
          : tensor<1x8x64xbf16>, tensor<64x192xbf16> -> tensor<1x8x192xf32>
      %a = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x8x192xf32> -> tensor<1x8x128xf32>
      %c = hova.convert %a : tensor<1x8x128xf32> -> tensor<1x8x128xbf16>
      %b = hova.slice %y {axis = 2 : i64, offset = 128 : i64} : tensor<1x8x192xf32> -> tensor<1x8x64xf32>
      %q = hova.slice %c {axis = 2 : i64, offset = 0 : i64} : tensor<1x8x128xbf16> -> tensor<1x8x64xbf16>
      %k = hova.slice %c {axis = 2 : i64, offset = 64 : i64} : tensor<1x8x128xbf16> -> tensor<1x8x64xbf16>
      %u = hova.slice %b {axis = 2 : i64, offset = 0 : i64} : tensor<1x8x64xf32> -> tensor<1x8x64xf32>
      return %q, %k, %u : tensor<1x8x64xbf16>, tensor<1x8x64xbf16>, tensor<1x8x64xf32>
    }
    ```
  }];
  let options = [
    Option<"columnGroupWidth", "column-group-width", "int64_t", "1",
           "The width of a strip of columns. A column group begins and ends at "
           "multiples of this many columns.">,
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def SplitReductionsPass : Pass<"hova-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Divide reductions among units";
  let description = [{
    Before: operations whose reduction can be divided
    (`SplitReductionOpInterface`, dialect/Interfaces.td). After: the target's
    policy was asked about each in `main`, and those that it divides are their
    parts and an operation that merges these in order. How many terms a part has
    follows from the shapes and the policy; threads have no part in it. With
    `length` parts have so many terms, whatever the policy says. Declines where
    the operation does, or where parts of that length are none.

    `hova.linear`, whose result may have fewer tiles than a machine has units,
    becomes `hova.linear_parts`, the sums over parts of its inner dimension, and
    `hova.sum_parts`, which adds them. Where the policy says that the kernel adds
    them itself, it stays, with the number of its parts (`hova.added_parts`).

    ```mlir
    func.func @main(%x: tensor<1x20x2048xbf16>) -> tensor<1x20x512xf32> {
      %w = hova.weight "w" : tensor<2048x512xbf16>
      %y = hova.linear %x, %w
          : tensor<1x20x2048xbf16>, tensor<2048x512xbf16> -> tensor<1x20x512xf32>
      return %y : tensor<1x20x512xf32>
    }
    ```
    becomes, with `length=512`,
    ```mlir
    func.func @main(%x: tensor<1x20x2048xbf16>) -> tensor<1x20x512xf32> {
      %w = hova.weight "w" : tensor<2048x512xbf16>
      %p = hova.linear_parts %x, %w
          : tensor<1x20x2048xbf16>, tensor<2048x512xbf16> -> tensor<4x1x20x512xf32>
      %y = hova.sum_parts %p
          {hova.rewrites = {"hova-split-reductions" = {fired = true, why = "sums over 2048 are 4 parts, which are added in order: asked for by 'length'"}}}
          : tensor<4x1x20x512xf32> -> tensor<1x20x512xf32>
      return %y : tensor<1x20x512xf32>
    }
    ```

    Nothing computes `hova.linear_attention` whole, so it is always divided,
    without a policy into one part. It becomes
    `hova.key_summary`, the sums over blocks of keys, and
    `hova.summary_attention`, which merges them in order. Blocks of keys are full
    but for the last, those of queries are even. Causal queries read sums over the
    blocks before their own. With `merges-apart` a `hova.merge_summaries` merges
    several blocks for all queries at once, for causal ones an exclusive one.

    ```mlir
    func.func @main(%q: tensor<1x8x8xf32>, %k: tensor<1x8x8xf32>,
                    %v: tensor<1x8x8xf32>) -> tensor<1x8x8xf32> {
      %o = hova.linear_attention relu %q, %k, %v
          {heads = 2 : i64, eps = 1.0e-3 : f64}
          : (tensor<1x8x8xf32>, tensor<1x8x8xf32>, tensor<1x8x8xf32>)
         -> tensor<1x8x8xf32>
      return %o : tensor<1x8x8xf32>
    }
    ```
    becomes, with `length=4`,
    ```mlir
    func.func @main(%q: tensor<1x8x8xf32>, %k: tensor<1x8x8xf32>,
                    %v: tensor<1x8x8xf32>) -> tensor<1x8x8xf32> {
      %s = hova.key_summary relu %k, %v
          {heads = 2 : i64, block = 4 : i64, eps = 1.0e-3 : f64}
          : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x2x2x4x5xf32>
      %o = hova.summary_attention relu %q, %s
          {heads = 2 : i64, block = 4 : i64, eps = 1.0e-3 : f64}
          : (tensor<1x8x8xf32>, tensor<1x2x2x4x5xf32>) -> tensor<1x8x8xf32>
      return %o : tensor<1x8x8xf32>
    }
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "",
           "The target's policy as an attribute (hova-fuse-kernels).">,
    Option<"length", "length", "int64_t", "0",
           "Give every part so many terms, whatever the policy says.">,
    Option<"mergesApart", "merges-apart", "bool", "false",
           "Merge parts in operations of their own, where no policy decides.">,
    Option<"onlyNecessary", "only-necessary", "bool", "false",
           "Divide nothing but what is always divided.">,
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def FuseKernelsPass : Pass<"hova-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Group operations into kernels";
  let description = [{
    Before: a normalized `main`. After: `main` is a list of image weights and
    `hova.kernel` regions in an order of execution. Operations whose rows depend
    on the same rows of each other share a kernel: its threads own rows and
    never meet inside. Attention, which reads the rows of all tokens, is a
    kernel of its own, and so begins a new one. A large product of few rows is
    a kernel of its own too, with element-wise operations on its result: its
    threads divide columns, so that each weight is read by one of them. Slices
    are views and stand in each kernel that reads them. Every kernel says what
    its threads divide. Kernels that are there already stay as they are, and the
    rest is grouped around them. Operations that do not stand in the kernel of
    what they read say why (`hova.missed_fusions`).

    A kernel has the order of rows of its first operation. Operations that work
    row by row join in any permutation of it (`hova.rearrange`), which then is a
    placement of the kernel's inputs and results; rearrangements that cannot be
    one are copied. An operation that assembles the rows of others
    (`hova.index_sort`) stays between the kernels where they can write their
    rows in place, and so does one that gives a kernel's result other axes
    (`hova.reshape`). One that only moves rows that other kernels make
    (`hova.pad`) stands with the first operation that reads its result row by
    row.

    Which of the legal joins pay is the target's policy
    (passes/fuse/FusionPolicy.td), an attribute that is asked about each of them;
    a no, with its reason, is among those that the operation says.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %s = hova.add %x, %y : tensor<1x4x8xf32>, tensor<1x4x8xf32>
      %r = hova.activation relu %s : tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x, %y) {
      ^bb0(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>):
        %s = hova.add %a, %b : tensor<1x4x8xf32>, tensor<1x4x8xf32>
        %t = hova.activation relu %s : tensor<1x4x8xf32>
        hova.yield %t : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "",
           "The target's policy, as an attribute of its dialect. Without it, every legal join pays.">,
    Option<"columnGroupWidth", "column-group-width", "int64_t", "1",
           "The width of a strip of columns. A column group begins and ends at "
           "multiples of this many columns.">,
    Option<"chain", "chain", "bool", /*default=*/"true",
           "Let operations share a kernel. Without it, each operation is a "
           "kernel of its own.">,
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def AssignVerdictsPass : Pass<"hova-assign-verdicts", "::mlir::ModuleOp"> {
  let summary = "Write what became of every site";
  let description = [{
    Before: all kernels are formed; what stands apart from the operation that
    it reads says why (`hova.missed_fusions`). After: the last operation of every
    site (dialect/Site.h) carries `hova.verdict` (passes/Verdict.h): its kernels,
    the neighbours that joined it, those that did not with the first reason, and
    whether it is fused. A site is fused where none of its own intermediates
    passes from one kernel to another. Columns of a merged product count as
    the product's. Where nothing was noted, another pass has formed the kernel.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "norm" units<batch 1, token 4> (%x, %y) {
      ^bb0(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>):
        %s = hova.add %a, %b : tensor<1x4x8xf32>, tensor<1x4x8xf32>
        %n = hova.layer_norm %s {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>
        hova.yield %n : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "norm" units<batch 1, token 4> (%x, %y) {
      ^bb0(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>):
        %s = hova.add %a, %b : tensor<1x4x8xf32>, tensor<1x4x8xf32>
        %n = hova.layer_norm %s {eps = 1.0e-6 : f64, hova.verdict = {fused = true,
             joined = ["hova.add"], kernels = ["norm"]}} : tensor<1x4x8xf32>
        hova.yield %n : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
  }];
}

def ReportVerdictsPass : Pass<"hova-report-verdicts", "::mlir::ModuleOp"> {
  let summary = "Say verdicts as remarks";
  let description = [{
    Emits a remark for every site with a verdict (`hova.verdict`) and for every
    decision of a pass (`hova.rewrites`), at the place of the operation in the
    description: what `hova explain` prints. For dumps and plugins; no phase
    runs it, and it changes nothing.
  }];
}

def VerifyDemandsPass : Pass<"hova-verify-demands", "::mlir::ModuleOp"> {
  let summary = "Check that demanded fusions took place";
  let description = [{
    A site that demands fusion (`hova.require`) and is not fused is an error that
    repeats the first reason of its verdict.
  }];
}

def VerifyFusedPass : Pass<"hova-verify-fused", "::mlir::ModuleOp"> {
  let summary = "Check the promise of fuse";
  let description = [{
    `main` is image weights and kernels only, every kernel says what its threads
    divide, and every site carries its verdict (`hova.verdict`).
  }];
}
