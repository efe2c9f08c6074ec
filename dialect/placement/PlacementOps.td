//===- PlacementOps.td - Rearranged rows, and what windows need -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_PLACEMENT_PLACEMENTOPS
#define HOVA_DIALECT_PLACEMENT_PLACEMENTOPS

include "dialect/Interfaces.td"
include "dialect/Placement.td"

def Hova_RearrangeOp : Hova_Op<"rearrange", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Pure,
    Hova_Site<["isResultIntermediate"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "rows moved by a named rule";
  let description = [{
    Row r of the result is the row of x, or the rows side by side, that the
    placement names: window partition and shift, their reverse
    (`#hova.inverse`), patch merging. It computes nothing; where the operations
    around it work on rows, `fuse` makes it the place where a kernel reads or
    writes them.

    After `assign` a target may have given it `table`, the rows as numbers
    (`hova.row_table`), which changes nothing of its meaning.

    - C1: the placement fits the shape of x and gives that of the result.

    ```mlir
    func.func @windows(%x: tensor<1x16x8xf32>) -> tensor<4x4x8xf32> {
      %y = hova.rearrange %x [#hova.window<2x2, shift 1x1, grid 4x4>]
          : tensor<1x16x8xf32> -> tensor<4x4x8xf32>
      return %y : tensor<4x4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_PlacementAttrInterface:$placement,
                       Optional<1DTensorOf<[I32]>>:$table);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x `[` $placement `]` (`table` `(` $table^ `:` type($table) `)`)? attr-dict
    `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hova_RowTableOp : Hova_Op<"row_table", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the rows of a placement as numbers";
  let description = [{
    `y[r * segments + s]` is the row of a source of shape `source` that is
    segment s of row r of what the placement makes of it. A constant of the
    program, which no file can change.

    - C1: the placement fits `source`, and the result has a number for each
      segment of each row.

    ```mlir
    func.func @table() -> tensor<16xi32> {
      %t = hova.row_table [#hova.window<2x2, shift 1x1, grid 4x4>]
          source 1, 16, 8 : tensor<16xi32>
      return %t : tensor<16xi32>
    }
    ```
  }];
  let arguments = (ins Hova_PlacementAttrInterface:$placement,
                       DenseI64ArrayAttr:$source);
  let results = (outs 1DTensorOf<[I32]>:$result);
  let assemblyFormat =
      "`[` $placement `]` `source` custom<Sizes>($source) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hova_WindowBiasOp : Hova_Op<"window_bias", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "what is added to the scores of a window";
  let description = [{
    Relative position bias and shift mask (Liu et al., Swin Transformer, section
    3.2 and Eq. 4) of each class of windows (`#hova.window`): `bias[k, m, i, j] =
    table[(dy + height - 1) * (2 width - 1) + dx + width - 1, m] + (mask_value if
    tokens i and j of a window of class k come from different regions)`, where
    (dy, dx) is the position of token i less that of token j. Without a table
    the first term is 0 and there is one head, for all. A mask_value of -inf
    masks.

    Class k is of the windows at the lower edge of the rolled grid where k / 2 is
    1, and of those at the right edge where k mod 2 is 1; where the grid is
    rolled in one direction only, k is 1 at the edge of that direction. In a
    window at the lower edge the last `shift` rows come from the upper end of
    the grid, which is a region of its own, and so do the last columns at the
    right edge.

    Operand: `table [(2 height - 1) * (2 width - 1), heads]`; result `[classes,
    heads, tokens, tokens]`.

    - C1: table has a row for each difference of positions.
    - C2: the result is [classes, heads, tokens, tokens].
    - C3: mask_value is finite or -inf.

    ```mlir
    func.func @bias(%t: tensor<9x3xf32>) -> tensor<4x3x4x4xf32> {
      %b = hova.window_bias <2x2, shift 1x1, grid 4x4> table(%t)
          {mask_value = -100.0 : f64} : (tensor<9x3xf32>) -> tensor<4x3x4x4xf32>
      return %b : tensor<4x3x4x4xf32>
    }
    ```
  }];
  let arguments = (ins Hova_WindowAttr:$window, Optional<Hova_Tensor>:$table,
                       DefaultValuedAttr<F64Attr, "-100.0">:$mask_value);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $window (`table` `(` $table^ `)`)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Hova_WindowOffsetsOp : Hova_Op<"window_offsets", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "differences of positions in a window on a logarithmic scale";
  let description = [{
    What the network of a continuous position bias reads (Liu et al., Swin
    Transformer V2, Eq. 4): row `(dy + height - 1) * (2 width - 1) + dx + width -
    1` of the result is `(f(dy, reference height), f(dx, reference width))` with
    `f(d, n) = sign(d) log2(1 + |c|) / 3` and `c = 8 d / max(n - 1, 1)`, where
    (dy, dx) is the position of a query less that of a key. The farthest of a
    window of the reference size are at a distance of about one. Numbers of f32,
    folded at compile time.

    - C1: the reference has two positive sizes.
    - C2: the result is [(2 height - 1) * (2 width - 1), 2].

    ```mlir
    func.func @offsets() -> tensor<9x2xf32> {
      %c = hova.window_offsets <2x2, shift 0x0, grid 4x4> reference 2, 2
          : tensor<9x2xf32>
      return %c : tensor<9x2xf32>
    }
    ```
  }];
  let arguments = (ins Hova_WindowAttr:$window, DenseI64ArrayAttr:$reference);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$window `reference` custom<Sizes>($reference) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hova_WindowClassesOp : Hova_Op<"window_classes", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the class of every window";
  let description = [{
    `y[w]` is the class of window w (`#hova.window`), which is an index into the
    first axis of `hova.window_bias`.

    - C1: the result has one class per window.

    ```mlir
    func.func @classes() -> tensor<4xi32> {
      %c = hova.window_classes <2x2, shift 1x1, grid 4x4> : tensor<4xi32>
      return %c : tensor<4xi32>
    }
    ```
  }];
  let arguments = (ins Hova_WindowAttr:$window);
  let results = (outs 1DTensorOf<[I32]>:$result);
  let assemblyFormat = "$window attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_PLACEMENT_PLACEMENTOPS
