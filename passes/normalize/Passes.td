//===- Passes.td - The passes of normalize --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/Pass/PassBase.td"

def DecomposeCompoundPass : Pass<"hova-decompose-compound", "::mlir::func::FuncOp"> {
  let summary = "Write compound operations as simpler ones";
  let description = [{
    Before: any hova operations. After: none that implements
    DecomposeOpInterface, and no patch embedding: horizontal and vertical
    attention are linears, scores and element-wise operations, and a patch
    embedding is the linear of its unfolded patches. An attention whose scores
    alone are read has its keys for values, and neither masks nor memory, so
    that nothing is computed for them. Leaves alone what is simple already.

    ```mlir
    func.func @main(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) -> tensor<1x4x64xf32> {
      %y = hova.patch_embedding %i, %w {patch = 16 : i64}
          : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
      return %y : tensor<1x4x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>) -> tensor<1x4x64xf32> {
      %u = hova.unfold %i
          {hova.site = {kind = "patch embedding", path = ""}, kernel = array<i64: 16, 16>, stride = array<i64: 16, 16>}
          : tensor<1x3x32x32xf32> -> tensor<1x4x768xf32>
      %y = hova.linear %u, %w {hova.site = {kind = "patch embedding", path = ""}}
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
    that type (StorageOpInterface), after one `hova.convert` per value. A
    conversion stands before column slices, so that they stay addresses, and
    before blocks are spread over a matrix. Where a conversion is the only reader
    of a result that is rounded when it is written, such as that of an attention,
    or all readers of one that has the type of an operand, such as scaled heads,
    take the type, the result is of it, too. Everything else stays f32. Does
    nothing without a storage type.

    ```mlir
    module attributes {hova.storage = bf16} {
      func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x2xf32> {
        %w = hova.weight "w" : tensor<8x2xf32>
        %y = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
        return %y : tensor<1x4x2xf32>
      }
    }
    ```
    becomes
    ```mlir
    module attributes {hova.storage = bf16} {
      func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x2xf32> {
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
    one, has moved before row-wise operations, and into the operand of those that
    can compute a range of their rows (RowRangeOpInterface): maxima over the
    states of each token, and the queries of attention. Declines where the value
    has other readers, where the iteration space of an operation does not say
    that its rows ignore their position, where a table lines up with all tokens,
    and where an operation declines the range: attention that gives its scores
    and causal linear attention any, attention to blocks all but rows of its
    first or of its last block, which see all keys; it becomes attention to all.

    ```mlir
    func.func @main(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> tensor<1x8xf32> {
      %n = hova.layer_norm %x, %g, %g {eps = 1.0e-6 : f64} : tensor<1x9x8xf32>, tensor<8xf32>
      %p = hova.pool first %n : tensor<1x9x8xf32> -> tensor<1x8xf32>
      return %p : tensor<1x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x9x8xf32>, %g: tensor<8xf32>) -> tensor<1x8xf32> {
      %s = hova.slice %x {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
      %n = hova.layer_norm %s, %g, %g
          {eps = 1.0e-6 : f64, hova.rewrites = {"hova-propagate-demanded-rows" = {fired = true, why = "computes 1 of 9 rows, which is what is read"}}}
          : tensor<1x1x8xf32>, tensor<8xf32>
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
    takes no more multiply-accumulates. Declines where it takes more, where a
    weight or bias is transposed (tied) or depends on an input, and in f16, whose
    range the product may leave. Reassociates.

    ```mlir
    func.func @main(%h: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %a = hova.weight "output.weight" : tensor<8x8xf32>
      %b = hova.weight "vertical.output" : tensor<8x2xf32>
      %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      %u = hova.linear %y, %b : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
      return %y, %u : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%h: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %a = hova.weight "output.weight" : tensor<8x8xf32>
      %b = hova.weight "vertical.output" : tensor<8x2xf32>
      %y = hova.linear %h, %a : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      %c = hova.linear %a, %b : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x2xf32>
      %u = hova.linear %h, %c
          {hova.rewrites = {"hova-normalize-linear-chains" = {fired = true, why = "reads the input of the linear before it: 64 against 64 multiply-accumulates"}}}
          : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
      return %y, %u : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeNormsPass : Pass<"hova-normalize-norms", "::mlir::func::FuncOp"> {
  let summary = "Apply norms behind the products that read them";
  let description = [{
    Before: any operations. After: where the target's policy says that it pays, a
    norm whose rows a product makes, with what is added to it, is applied to the
    products that read it: these multiply the rows as they are, times the gain,
    and are divided by the root of the mean square (`hova.divide_by_rms`), of
    which `hova.row_squares` leaves parts. The bias of the norm is multiplied with
    the weight at compile time.

    A root mean square norm needs nothing else. A standard norm subtracts the
    mean, and a product of 16 bits of rows that have one would lose what it
    rounds: so the rows are kept centred. What begins a residual stream is centred once
    (`hova.center`), and so are the columns of the weights, and the biases, of the
    products that are added to it. Nothing else may read these rows than norms,
    which do not notice, additions of such rows, and slices of rows.

    Declines where something else reads the norm or its rows, where no product
    makes the rows, where a weight depends on an input, and where the policy
    says no. Reassociates.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xf32>) -> tensor<1x4x32xf32> {
      %w = hova.weight "output.weight" : tensor<16x8xf32>
      %g = hova.weight "norm.gain" : tensor<8xf32>
      %u = hova.weight "hidden.weight" : tensor<8x32xf32>
      %p = hova.linear %h, %w : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
      %s = hova.add %x, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
      %n = hova.layer_norm %s, %g {eps = 1.0e-6 : f64} : tensor<1x4x8xf32>, tensor<8xf32>
      %y = hova.linear %n, %u : tensor<1x4x8xf32>, tensor<8x32xf32> -> tensor<1x4x32xf32>
      return %y : tensor<1x4x32xf32>
    }
    ```
    becomes, with `columns=4`,
    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>, %h: tensor<1x4x16xf32>) -> tensor<1x4x32xf32> {
      %x0 = hova.center %x : tensor<1x4x8xf32>
      %w = hova.weight "output.weight" : tensor<16x8xf32>
      %w0 = hova.center %w : tensor<16x8xf32>
      %g = hova.weight "norm.gain" : tensor<8xf32>
      %u = hova.weight "hidden.weight" : tensor<8x32xf32>
      %p = hova.linear %h, %w0 : tensor<1x4x16xf32>, tensor<16x8xf32> -> tensor<1x4x8xf32>
      %s = hova.add %x0, %p : tensor<1x4x8xf32>, tensor<1x4x8xf32>
      %q = hova.row_squares %s {columns = 4 : i64} : tensor<1x4x8xf32> -> tensor<1x4x2xf32>
      %n = hova.multiply %s, %g : tensor<1x4x8xf32>, tensor<8xf32>
      %z = hova.linear %n, %u : tensor<1x4x8xf32>, tensor<8x32xf32> -> tensor<1x4x32xf32>
      %y = hova.divide_by_rms %z, %q
          {eps = 1.0e-6 : f64, width = 8 : i64, hova.rewrites = {"hova-normalize-norms" = {fired = true, why = "the norm is applied behind 1 product, to rows whose squares are summed as they are made"}}}
          : tensor<1x4x32xf32>, tensor<1x4x2xf32>
      return %y : tensor<1x4x32xf32>
    }
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"\"",
           "Text of a fusion policy of the target, which chooses; empty: nothing is done unless columns says so">,
    Option<"columns", "columns", "int64_t", "0",
           "Columns of a part of a row whose squares are summed, for every norm that may be applied so, whatever the policy says; 0: the policy chooses">,
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeTokenProjectionsPass : Pass<"hova-normalize-token-projections", "::mlir::func::FuncOp"> {
  let summary = "Project tokens before a linear instead of after it";
  let description = [{
    Before: any operations. After: tokens are projected to few rows
    (`hova.project_tokens`) before the linear that made what was projected, which
    is then a linear of few rows; those of one input share the projected rows. A
    bias is projected at compile time. Declines where that takes more
    multiply-accumulates, where a weight is transposed (tied) or depends on an
    input, and where a shape is not known. Reassociates.

    ```mlir
    func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x2x8xf32> {
      %w = hova.weight "key.weight" : tensor<8x8xf32>
      %e = hova.weight "token_projection" : tensor<9x2xf32>
      %k = hova.linear %x, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
      %y = hova.project_tokens %k, %e : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x2x8xf32>
      return %y : tensor<1x2x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x9x8xf32>) -> tensor<1x2x8xf32> {
      %w = hova.weight "key.weight" : tensor<8x8xf32>
      %e = hova.weight "token_projection" : tensor<9x2xf32>
      %p = hova.project_tokens %x, %e
          {hova.rewrites = {"hova-normalize-token-projections" = {fired = true, why = "projects the input of the linear before it: 272 against 720 multiply-accumulates"}}}
          : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x2x8xf32>
      %y = hova.linear %p, %w : tensor<1x2x8xf32>, tensor<8x8xf32> -> tensor<1x2x8xf32>
      return %y : tensor<1x2x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeRotationsPass : Pass<"hova-normalize-rotations", "::mlir::func::FuncOp"> {
  let summary = "Bring the partners of a rotation beside each other";
  let description = [{
    Before: any rotations. After: partners of those with static shapes are
    neighbours, so that they join the tile of what makes their rows, and tables
    have a multiple of 64 columns, or all. Where scores of products alone read
    queries and keys that are rotated alike, the columns of both projections get
    another order, which is that of weights. Any other rotation becomes
    operations that move columns, multiply and add.

    ```mlir
    func.func @main(%x: tensor<1x9x64xf32>, %c: tensor<9x4xf32>, %s: tensor<9x4xf32>) -> tensor<1x9x4xf32> {
      %w = hova.weight "w" : tensor<64x4xf32>
      %q = hova.linear %x, %w : tensor<1x9x64xf32>, tensor<64x4xf32> -> tensor<1x9x4xf32>
      %y = hova.rotate %q, %c, %s {distance = 2 : i64} : tensor<1x9x4xf32>, tensor<9x4xf32>
      return %y : tensor<1x9x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x9x64xf32>, %c: tensor<9x4xf32>, %s: tensor<9x4xf32>) -> tensor<1x9x4xf32> {
      %w = hova.weight "w" : tensor<64x4xf32>
      %q = hova.linear %x, %w : tensor<1x9x64xf32>, tensor<64x4xf32> -> tensor<1x9x4xf32>
      %kept = hova.multiply %q, %c : tensor<1x9x4xf32>, tensor<9x4xf32>
      %pairs = hova.reshape %q : tensor<1x9x4xf32> -> tensor<9x2x2xf32>
      %a = hova.slice %pairs {axis = 1 : i64, offset = 0 : i64} : tensor<9x2x2xf32> -> tensor<9x1x2xf32>
      %b = hova.slice %pairs {axis = 1 : i64, offset = 1 : i64} : tensor<9x2x2xf32> -> tensor<9x1x2xf32>
      %ba = hova.concat %b, %a {axis = 1 : i64} : tensor<9x1x2xf32>, tensor<9x1x2xf32> -> tensor<9x2x2xf32>
      %partners = hova.reshape %ba : tensor<9x2x2xf32> -> tensor<1x9x4xf32>
      %turned = hova.multiply %partners, %s : tensor<1x9x4xf32>, tensor<9x4xf32>
      %y = hova.add %kept, %turned
          {hova.rewrites = {"hova-normalize-rotations" = {fired = false, fires_if = "partners are neighbours, or a linear of its own makes what is rotated, and scores with keys that are rotated alike alone read it", why = "partners are 2 columns apart, and their order is read"}}}
          : tensor<1x9x4xf32>, tensor<1x9x4xf32>
      return %y : tensor<1x9x4xf32>
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
    func.func @main(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %wq = hova.weight "q.weight" : tensor<8x8xf32>
      %wa = hova.weight "a.weight" : tensor<8x2xf32>
      %q = hova.linear %x, %wq : tensor<1x4x8xf32>, tensor<8x8xf32> -> tensor<1x4x8xf32>
      %a = hova.linear %x, %wa : tensor<1x4x8xf32>, tensor<8x2xf32> -> tensor<1x4x2xf32>
      return %q, %a : tensor<1x4x8xf32>, tensor<1x4x2xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
      %wq = hova.weight "q.weight" : tensor<8x8xf32>
      %wa = hova.weight "a.weight" : tensor<8x2xf32>
      %w = hova.concat %wq, %wa {axis = 1 : i64} : tensor<8x8xf32>, tensor<8x2xf32> -> tensor<8x10xf32>
      %y = hova.linear %x, %w
          {hova.rewrites = {"hova-normalize-projections" = {fired = true, why = "2 linears read their input once, as 10 columns"}}}
          : tensor<1x4x8xf32>, tensor<8x10xf32> -> tensor<1x4x10xf32>
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
    func.func @main(%ids: tensor<1x7xi32>) -> tensor<1x7x100xf32> {
      %t = hova.weight "table" : tensor<100x8xf32>
      %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
      %y = hova.linear %e, %t {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
      return %y : tensor<1x7x100xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%ids: tensor<1x7xi32>) -> tensor<1x7x100xf32> {
      %t = hova.weight "table" : tensor<100x8xf32>
      %u = hova.transpose %t : tensor<100x8xf32> -> tensor<8x100xf32>
      %e = hova.embedding %ids, %u
          {hova.rewrites = {"hova-normalize-tied-tables" = {fired = true, why = "takes columns of a product's weight: 3200 bytes are stored once"}}, transposed}
          : tensor<1x7xi32>, tensor<8x100xf32> -> tensor<1x7x8xf32>
      %y = hova.linear %e, %u : tensor<1x7x8xf32>, tensor<8x100xf32> -> tensor<1x7x100xf32>
      return %y : tensor<1x7x100xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def NormalizeWeightsPass : Pass<"hova-normalize-weights", "::mlir::ModuleOp"> {
  let summary = "Move what depends on weights alone to the folding function";
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
    linear, and the folding function stores each image weight once.
  }];
}
