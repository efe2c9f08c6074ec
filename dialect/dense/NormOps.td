//===- NormOps.td - Norms that are applied behind products ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A norm divides a row by one number, and a product of the row can be divided
// by it as well:
//
//   layer_norm(x, gain, bias) W = ((x gain) W) / sqrt(mean(x^2) + eps) + bias W
//
// for rows whose mean is 0. So whoever makes x sums up its squares, part by
// part, and no kernel has to read whole rows between two products.

#ifndef HOVA_DIALECT_DENSE_NORMOPS
#define HOVA_DIALECT_DENSE_NORMOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

def Hova_CenterOp : Hova_Op<"center", [Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "every row without its mean";
  let description = [{
    `y = x - mean(x)` for each row: what no layer norm after it notices. Of a
    weight `[in, out]` whose products are added to centred rows, it keeps the
    sums centred.

    - C1: x has a last axis.

    ```mlir
    func.func @center(%x: tensor<2x9x64xf32>) -> tensor<2x9x64xf32> {
      %y = hova.center %x : tensor<2x9x64xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Hova_RowSquaresOp : Hova_Op<"row_squares", [Pure,
    Hova_Site<>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "sums of squares of parts of every row";
  let description = [{
    `y[.., p] = sum_j x[.., columns p + j]^2` over `columns` neighbours; the last
    part may be shorter. A block of threads that has some columns of a row has
    whole parts.

    Operands: `x [.., width]`. Result `[.., parts]`, of f32.

    - C1: x has a last axis of known width.
    - C2: the result has the shape of x but for the last axis, which has as many
      parts as cover the row.

    ```mlir
    func.func @squares(%x: tensor<2x9x96xf32>) -> tensor<2x9x3xf32> {
      %y = hova.row_squares %x {columns = 32 : i64}
          : tensor<2x9x96xf32> -> tensor<2x9x3xf32>
      return %y : tensor<2x9x3xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x,
                       ConfinedAttr<I64Attr, [IntPositive]>:$columns);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_DivideByRmsOp : Hova_Op<"divide_by_rms", [Pure,
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the norm of rows, behind a product of them";
  let description = [{
    `y[.., j] = x[.., j] / sqrt(sum_p squares[.., p] / width + eps) + bias[j]`,
    where squares are those of rows of `width` columns (`hova.row_squares`) and x
    is a product of these rows.

    Operands: `x [.., out]`, `squares [.., parts]`, optional `bias [out]`.

    - C1: squares have the shape of x but for the last axis.
    - C2: bias has one element per column.
    - C3: eps is not negative.

    ```mlir
    func.func @norm(%x: tensor<2x9x96xf32>, %w: tensor<96x64xf32>,
                    %b: tensor<64xf32>) -> tensor<2x9x64xf32> {
      %q = hova.row_squares %x {columns = 32 : i64}
          : tensor<2x9x96xf32> -> tensor<2x9x3xf32>
      %p = hova.linear %x, %w
          : tensor<2x9x96xf32>, tensor<96x64xf32> -> tensor<2x9x64xf32>
      %y = hova.divide_by_rms %p, %q bias(%b) {eps = 1.0e-6 : f64, width = 96 : i64}
          : tensor<2x9x64xf32>, tensor<2x9x3xf32>, tensor<64xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$squares,
                       Optional<Hova_Tensor>:$bias, F64Attr:$eps,
                       ConfinedAttr<I64Attr, [IntPositive]>:$width);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $squares (`bias` `(` $bias^ `)`)? attr-dict
    `:` type($x) `,` type($squares) (`,` type($bias)^)?
  }];
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_DENSE_NORMOPS
