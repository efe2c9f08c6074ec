//===- ColumnOps.td - Operations on columns beside each other -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_COLUMNS_COLUMNOPS
#define HOVA_DIALECT_COLUMNS_COLUMNOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

def Hova_RotaryOp : Hova_Op<"rotary", [Pure,
    Hova_Site<>,
    AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["cosines", "sines"]>,
    DeclareOpInterfaceMethods<Hova_DecomposeOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "rotary positions of the heads of queries or keys";
  let description = [{
    Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding*,
    Eq. 34: of the head's columns j and k that are pair p, at token i,

    `y_j = x_j cosines[i, p] - x_k sines[i, p]`
    `y_k = x_k cosines[i, p] + x_j sines[i, p]`

    With P columns in a table the first 2P columns of every head are P pairs and
    the others stay as they are. `halves`: pair p is the columns p and P + p;
    `neighbours`: 2p and 2p + 1. It is decomposed into a `hova.rotate`.

    Operands: `x [.., tokens, heads * head_width]`, `cosines` and `sines
    [tokens, P]`.

    - C1: x has two axes at least, and its tokens are those of the tables.
    - C2: `heads` divides the width, and a head has 2P columns at least.

    ```mlir
    func.func @rotary(%q: tensor<2x9x64xf32>, %c: tensor<9x16xf32>,
                      %s: tensor<9x16xf32>) -> tensor<2x9x64xf32> {
      %y = hova.rotary halves %q, %c, %s {heads = 2 : i64}
          : tensor<2x9x64xf32>, tensor<9x16xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_RotaryPairs:$pairs, Hova_Tensor:$x,
                       Hova_Tensor:$cosines, Hova_Tensor:$sines, I64Attr:$heads);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $pairs $x `,` $cosines `,` $sines attr-dict `:` type($x) `,` type($cosines)
  }];
  let hasVerifier = 1;
}

def Hova_RotateOp : Hova_Op<"rotate", [Pure,
    Hova_Site<>,
    AllTypesMatch<["x", "result"]>,
    AllTypesMatch<["cosines", "sines"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_TileOpInterface, ["getScope"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "rotation of pairs of columns by angles of their token";
  let description = [{
    `y[b, i, c] = x[b, i, c] cosines[i, c mod P] + x[b, i, p(c)] sines[i, c mod P]`
    (Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding*,
    Eq. 34). The tables have P columns, which is a multiple of a head's and divides
    those of x; the sign of a rotation stands in `sines`, -sin in the first column
    of a pair and sin in the second. `p(c)` is the column `distance` after the
    first of its pair, or before the second: of every P columns those up to
    `distance` and as many after them are pairs, and so on. Those that are left
    over, as a head's columns that are not rotated, are their own partner.

    With a distance of 1 and an even P partners are neighbours, and the operation
    joins the tile of what makes x.

    Operands: `x [.., tokens, width]`, `cosines` and `sines [tokens, P]`.

    - C1: x has two axes at least, and its tokens are those of the tables.
    - C2: P divides the width.
    - C3: `distance` is at least 1 and at most half of P.

    ```mlir
    func.func @rotate(%x: tensor<2x9x64xf32>, %c: tensor<9x32xf32>,
                      %s: tensor<9x32xf32>) -> tensor<2x9x64xf32> {
      %y = hova.rotate %x, %c, %s {distance = 16 : i64}
          : tensor<2x9x64xf32>, tensor<9x32xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$cosines, Hova_Tensor:$sines,
                       DefaultValuedAttr<I64Attr, "1">:$distance);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $cosines `,` $sines attr-dict `:` type($x) `,` type($cosines)
  }];
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_COLUMNS_COLUMNOPS
