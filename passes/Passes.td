//===- Passes.td - All target-neutral passes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_PASSES
#define HOVA_PASSES_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// normalize
//===----------------------------------------------------------------------===//

def DecomposeCompoundPass : Pass<"hova-decompose-compound", "::mlir::func::FuncOp"> {
  let summary = "Write compound operations as simpler ones";
  let description = [{
    Before: any hova operations. After: none that implements
    DecomposeOpInterface, and no patch embedding: horizontal and vertical
    attention are linears, scores and element-wise operations, an omni layer is
    a block of plain attention over sorted states, and a patch embedding is the
    linear of its unfolded patches. Leaves alone what is simple already.

    ```mlir
    func.func @before(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) -> tensor<1x4x64xf32> {
      %y = hova.patch_embedding %i, %w {patch = 16 : i64}
          : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
      return %y : tensor<1x4x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @after(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) -> tensor<1x4x64xf32> {
      %u = hova.unfold_patches %i {patch = 16 : i64}
          : tensor<1x3x32x32xf32> -> tensor<1x4x768xf32>
      %y = hova.linear %u, %w
          : tensor<1x4x768xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
      return %y : tensor<1x4x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeStoragePass : Pass<"hova-normalize-storage", "::mlir::func::FuncOp"> {
  let summary = "Put the inputs of matrix products into the storage type";
  let description = [{
    Before: any operations; the module may name a storage type of 16 bits
    (`hova.storage`). After: what enters a matrix product, and tables, are of
    that type (StorageOpInterface), behind one `hova.convert` per value. A
    conversion stands before column slices, so that they stay addresses, and
    before blocks are spread over a matrix; where an attention or scaled heads
    have no other reader, they are of the type themselves. Everything else stays
    f32. Does nothing without a storage type.

    ```mlir
    module attributes {hova.storage = bf16} {
      func.func @before(%x: tensor<1x4x8xf32>) -> tensor<1x4x2xf32> {
        %w = hova.weight "w" : tensor<8x2xf32>
        %y = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
        return %y : tensor<1x4x2xf32>
      }
    }
    ```
    becomes
    ```mlir
    module attributes {hova.storage = bf16} {
      func.func @after(%x: tensor<1x4x8xf32>) -> tensor<1x4x2xf32> {
        %a = hova.convert %x : tensor<1x4x8xf32> -> tensor<1x4x8xbf16>
        %w = hova.weight "w" : tensor<8x2xf32>
        %b = hova.convert %w : tensor<8x2xf32> -> tensor<8x2xbf16>
        %y = hova.linear %a, %b : tensor<1x4x8xbf16>, tensor<8x2xbf16> -> tensor<1x4x2xf32>
        return %y : tensor<1x4x2xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def PropagateDemandedRowsPass : Pass<"hova-propagate-demanded-rows", "::mlir::func::FuncOp"> {
  let summary = "Compute only the tokens that are read later";
  let description = [{
    Before: any operations. After: a slice of tokens, or a pool of the first
    one, has moved before row-wise operations and into the queries of attention.
    Declines where the value has other readers, where a table lines up with all
    tokens, where scores have a bias or mask of their own for every query, and
    for causal attention unless the last rows are demanded.

    ```mlir
    func.func @before(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> tensor<1x8xf32> {
      %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
      %p = hova.pool first %n : tensor<1x9x8xf32> -> tensor<1x8xf32>
      return %p : tensor<1x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @after(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> tensor<1x8xf32> {
      %s = hova.slice %x {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
      %n = hova.layer_norm %s, %g, %g {eps = 1.0e-6 : f64} : tensor<1x1x8xf32>, tensor<8xf32>
      %p = hova.pool first %n : tensor<1x1x8xf32> -> tensor<1x8xf32>
      return %p : tensor<1x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeLinearChainsPass : Pass<"hova-normalize-linear-chains", "::mlir::func::FuncOp"> {
  let summary = "Compose linears that follow each other directly";
  let description = [{
    Before: any linears. After: a linear that reads the result of another reads
    the other's input instead, through the product of both matrices, where that
    takes no more multiply-accumulates. Declines where it takes more, and where
    a weight or bias is transposed (tied) or depends on an input. Reassociates.

    ```mlir
    func.func @before(%h: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %a = hova.weight "output.weight" : tensor<8x8xf32>
      %b = hova.weight "vertical.output" : tensor<8x2xf32>
      %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      %u = hova.linear %y, %b : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
      return %y, %u : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @after(%h: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %a = hova.weight "output.weight" : tensor<8x8xf32>
      %b = hova.weight "vertical.output" : tensor<8x2xf32>
      %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      %c = hova.linear %a, %b : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x2xf32>
      %u = hova.linear %h, %c : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
      return %y, %u : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeProjectionsPass : Pass<"hova-normalize-projections", "::mlir::func::FuncOp"> {
  let summary = "Merge linears of the same input into one";
  let description = [{
    Before: any linears. After: at most one linear with plain weights per input;
    its weight and bias are concatenations (a missing bias is zero) and its
    parts are slices. Leaves transposed (tied) weights alone, whose table has
    another reader, and linears whose weight is not computed from weights.

    ```mlir
    func.func @before(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %wq = hova.weight "q.weight" : tensor<8x8xf32>
      %wa = hova.weight "a.weight" : tensor<8x2xf32>
      %q = hova.linear %x, %wq : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      %a = hova.linear %x, %wa : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
      return %q, %a : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @after(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %wq = hova.weight "q.weight" : tensor<8x8xf32>
      %wa = hova.weight "a.weight" : tensor<8x2xf32>
      %w = hova.concat %wq, %wa {axis = 1 : i64} : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x10xf32>
      %y = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x10xf32> -> tensor<1x4x10xf32>
      %q = hova.slice %y {axis = 2 : i64, offset = 0 : i64} : tensor<1x4x10xf32> -> tensor<1x4x8xf32>
      %a = hova.slice %y {axis = 2 : i64, offset = 8 : i64} : tensor<1x4x10xf32> -> tensor<1x4x2xf32>
      return %q, %a : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::mlir::arith::ArithDialect"];
}

def NormalizeTiedTablesPass : Pass<"hova-normalize-tied-tables", "::mlir::func::FuncOp"> {
  let summary = "Let embeddings take columns of the weight that shares their table";
  let description = [{
    Before: a table that embeddings read may be the transposed weight of linears.
    After: both read the transpose, so that the table is stored once. Declines
    where something else reads the table.

    ```mlir
    func.func @before(%ids: tensor<1x7xi32>) -> tensor<1x7x100xf32> {
      %t = hova.weight "table" : tensor<100x8xf32>
      %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
      %y = hova.linear %e, %t {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
      return %y : tensor<1x7x100xf32>
    }
    ```
    becomes
    ```mlir
    func.func @after(%ids: tensor<1x7xi32>) -> tensor<1x7x100xf32> {
      %t = hova.weight "table" : tensor<100x8xf32>
      %u = hova.transpose %t : tensor<100x8xf32> -> tensor<8x100xf32>
      %e = hova.embedding %ids, %u {transposed} : tensor<1x7xi32>, tensor<8x100xf32> -> tensor<1x7x8xf32>
      %y = hova.linear %e, %u : tensor<1x7x8xf32>, tensor<8x100xf32> -> tensor<1x7x100xf32>
      return %y : tensor<1x7x100xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeWeightsPass : Pass<"hova-normalize-weights", "::mlir::ModuleOp"> {
  let summary = "Move what depends on weights alone to the weight program";
  let description = [{
    Before: `main` references weights and computes with them. After: everything
    that no input reaches stands in `func.func @weights`, which stores each
    tensor that the rest of `main` reads; `main` references those by name. A
    transposed linear reads a transposed table. Does nothing to a module
    without weights.

    ```mlir
    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x4xf32> {
      %t = hova.weight "table" : tensor<4x8xf32>
      %y = hova.linear %x, %t {transposed} : tensor<1x8xf32>, tensor<4x8xf32> -> tensor<1x4xf32>
      return %y : tensor<1x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x8xf32>) -> tensor<1x4xf32> {
      %t = hova.image_weight "table.transpose" : tensor<8x4xf32>
      %y = hova.linear %x, %t : tensor<1x8xf32>, tensor<8x4xf32> -> tensor<1x4xf32>
      return %y : tensor<1x4xf32>
    }
    func.func private @weights() {
      %t = hova.weight "table" : tensor<4x8xf32>
      %u = hova.transpose %t : tensor<4x8xf32> -> tensor<8x4xf32>
      hova.store_weight "table.transpose", %u : tensor<8x4xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::mlir::func::FuncDialect"];
}

def VerifyNormalizedPass : Pass<"hova-verify-normalized", "::mlir::ModuleOp"> {
  let summary = "Check the promise of normalize";
  let description = [{
    `main` holds no weight reference, no compound operation and no transposed
    linear, and the weight program stores each image weight once.
  }];
}

//===----------------------------------------------------------------------===//
// fuse
//===----------------------------------------------------------------------===//

def DecomposeColumnsPass : Pass<"hova-decompose-columns", "::mlir::func::FuncOp"> {
  let summary = "Store a product's columns in the type they are read in";
  let description = [{
    Before: slices of a product's columns, some of which read it through a
    `hova.convert` of all columns. After: each run of neighbouring slices reads
    a slice of its own, and the conversion is of the columns that are read
    through it. Declines where something reads all columns, or where a run does
    not begin and end with a weight panel.

    ```mlir
    func.func @before(%x: tensor<1x8x64xbf16>, %w: tensor<64x192xbf16>)
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
    func.func @after(%x: tensor<1x8x64xbf16>, %w: tensor<64x192xbf16>)
        -> (tensor<1x8x64xbf16>, tensor<1x8x64xbf16>, tensor<1x8x64xf32>) {
      %y = hova.linear %x, %w : tensor<1x8x64xbf16>, tensor<64x192xbf16> -> tensor<1x8x192xf32>
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
    its threads divide, every attention site gets its verdict.

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
      %r = hova.kernel "main" (%x, %y) attributes {parallel = #hova<parallel rows>} {
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
    Option<"fewRows", "few-rows", "int64_t", "96",
           "products of fewer rows than this divide columns">,
    Option<"leastMacs", "least-macs", "int64_t", "524288",
           "if they have this many multiply-accumulates">,
    Option<"chain", "chain", "bool", /*default=*/"true",
           "Let operations share a kernel; without, each is one of its own">,
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def VerifyFusedPass : Pass<"hova-verify-fused", "::mlir::ModuleOp"> {
  let summary = "Check the promise of fuse";
  let description = [{
    `main` is image weights and kernels only, and every attention site carries
    `hova.verdict`. A site that demands fusion (`hova.require`) and was not
    fused is an error that repeats the verdict.
  }];
}

//===----------------------------------------------------------------------===//
// tile
//===----------------------------------------------------------------------===//

def TileKernelsPass : Pass<"hova-tile-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions with loops over buffers";
  let description = [{
    Before: kernels with a schedule (`hova.tile`, `hova.lanes` on the kernel,
    `stage` on its operations, `panel` on image weights). After: every kernel is
    a function over buffers, its scratch and a range of units; `main` launches
    them on places in the arena and in the weight image, whose offsets are
    fixed, and the weight program packs what has panels. Kernels that differ
    in their buffers alone share one function. Obeys the schedule and decides
    nothing.

    The loops of a linear layer, before `vectorize`:
    ```mlir
    func.func @product(%x: memref<14x768xf32, strided<[784, 1]>>, %w: memref<24x768x32xf32>,
                       %y: memref<14x768xf32, strided<[784, 1]>>, %row: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %depth = arith.constant 768 : index
      scf.for %panel = %c0 to %c24 step %c1 {
        %column = arith.muli %panel, %c32 : index
        %t = hova.tile_product %x[%row, %c0], %w[%panel, %c0, %c0] depth %depth
            : memref<14x768xf32, strided<[784, 1]>>, memref<24x768x32xf32> -> vector<14x32xf32>
        hova.tile_store %t, %y[%row, %column]
            : vector<14x32xf32>, memref<14x768xf32, strided<[784, 1]>>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::mlir::func::FuncDialect",
      "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
      "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect"];
}

def VerifyTiledPass : Pass<"hova-verify-tiled", "::mlir::ModuleOp"> {
  let summary = "Check the promise of tile";
  let description = [{
    No tensor is left outside the weight program, `main` holds buffers and
    launches only, and every buffer lies inside the arena or the image.
  }];
}

//===----------------------------------------------------------------------===//
// vectorize
//===----------------------------------------------------------------------===//

def VectorizeTilesPass : Pass<"hova-vectorize-tiles", "::mlir::func::FuncOp"> {
  let summary = "Give every row of a tile a vector of its own";
  let description = [{
    Before: tiles are two-dimensional vectors. After: every vector has one
    dimension; a product is a loop over k that carries one accumulator per row
    and loads one vector of the right operand per step. A two-dimensional
    vector in a loop becomes an array that LLVM keeps in memory: 50 instead of
    117 GFLOP/s on one Zen4 core.

    ```mlir
    func.func @before(%m: memref<2x32xf32>, %i: index) {
      %t = hova.tile_load %m[%i, %i] : memref<2x32xf32> -> vector<2x32xf32>
      %s = arith.addf %t, %t : vector<2x32xf32>
      hova.tile_store %s, %m[%i, %i] : vector<2x32xf32>, memref<2x32xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
      "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def LowerActivationsPass : Pass<"hova-lower-activations", "::mlir::func::FuncOp"> {
  let summary = "Write activations and powers of two as polynomials";
  let description = [{
    Before: `hova.activation` and `hova.exp2` on vectors. After: arithmetic
    only, no call to a scalar library function. Errors against float64 are at
    most 2 ULP for exp2 on [-126, 0], 4 for tanh and sigmoid, and 4 ULP of
    max(|x|, 1e-3) for both GELUs. NaN propagates. With `lookups` the GELUs are
    polynomials in pieces whose coefficients `hova.lookup` picks: 18 instructions
    instead of 27 and, for GELU by tanh, a division. Where every user rounds the
    result to bf16 they are 13, within 4e-4 of it down to x = -3.4. With `powers`
    `hova.exp2` stays as it is.

    ```mlir
    func.func @before(%x: vector<32xf32>) -> vector<32xf32> {
      %y = hova.activation relu %x : vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
  }];
  let options = [
    Option<"lookups", "lookups", "bool", "false",
           "the target picks entries of a table of 16 for all lanes at once">,
    Option<"powers", "powers", "bool", "false",
           "the target has instructions for powers of two">,
  ];
  let dependentDialects = ["::hova::HovaDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def VerifyVectorizedPass : Pass<"hova-verify-vectorized", "::mlir::ModuleOp"> {
  let summary = "Check the promise of vectorize";
  let description = [{
    Every vector has at most one dimension and no hova operation is left in a
    kernel function but those that the target knows instructions for: dots of
    pairs, lookups and powers of two.
  }];
}

#endif // HOVA_PASSES_PASSES
