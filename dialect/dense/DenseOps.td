//===- DenseOps.td - Linear layers, norms and element-wise operations -----===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_DENSE_DENSEOPS
#define HOVA_DIALECT_DENSE_DENSEOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

def Hova_LinearOp : Hova_Op<"linear", [Pure,
    Hova_Site<>,
    DeclareOpInterfaceMethods<Hova_SplitReductionOpInterface>,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface, ["getSummands"]>]> {
  let summary = "product of every row with a weight matrix, plus a bias";
  let description = [{
    `y[.., j] = sum_k x[.., k] w[k, j] + b[j]`.

    Operands: `x [.., in]`, `weight [in, out]`, optional `bias [out]`. With
    `transposed` the weight is `[out, in]` (a table shared with an embedding).
    Products of 16-bit inputs accumulate in f32.

    - C1: weight is a matrix and its input dimension equals the last dimension
      of x.
    - C2: bias has one element per output column.
    - C3: result has the shape of x with the last dimension replaced by out.

    ```mlir
    func.func @linear(%x: tensor<1x197x768xf32>, %w: tensor<768x3072xf32>,
                      %b: tensor<3072xf32>) -> tensor<1x197x3072xf32> {
      %y = hova.linear %x, %w bias(%b)
          : tensor<1x197x768xf32>, tensor<768x3072xf32>, tensor<3072xf32>
         -> tensor<1x197x3072xf32>
      return %y : tensor<1x197x3072xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$weight,
                       Optional<Hova_Tensor>:$bias, UnitAttr:$transposed);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $weight (`bias` `(` $bias^ `)`)? attr-dict
    `:` type($x) `,` type($weight) (`,` type($bias)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hova_LinearPartsOp : Hova_Op<"linear_parts", [Pure,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface, ["getSummands"]>]> {
  let summary = "the sums of a linear over parts of its inner dimension";
  let description = [{
    `y[p, .., j] = sum_k x[.., k] w[k, j]` over the k of part p: `in / parts`
    neighbours. `hova.sum_parts` adds them in the order of the parts. A product
    of few rows and columns has so few tiles that parts of a machine are idle;
    with parts it has as many times more.

    Operands: `x [.., in]`, `weight [in, out]`, which is `[out, in]` if
    `transposed`. Result `[parts, .., out]`, of f32.

    - C1: weight is a matrix and its input dimension equals the last dimension
      of x.
    - C2: `parts`, the result's first dimension, divides it.
    - C3: each part has the shape of x with the last dimension replaced by out.

    ```mlir
    func.func @linear(%x: tensor<1x4x768xf32>, %w: tensor<768x64xf32>,
                      %b: tensor<64xf32>) -> tensor<1x4x64xf32> {
      %p = hova.linear_parts %x, %w
          : tensor<1x4x768xf32>, tensor<768x64xf32> -> tensor<3x1x4x64xf32>
      %y = hova.sum_parts %p bias(%b)
          : tensor<3x1x4x64xf32>, tensor<64xf32> -> tensor<1x4x64xf32>
      return %y : tensor<1x4x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$weight,
                       UnitAttr:$transposed);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x `,` $weight attr-dict `:` type($x) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hova_SumPartsOp : Hova_Op<"sum_parts", [Pure,
    Hova_Site<>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface, ["getSummands"]>]> {
  let summary = "the parts of a sum, added in their order";
  let description = [{
    `y[.., j] = x[0, .., j] + x[1, .., j] + .. + b[j]`, from the left to the
    right, so that the bits do not depend on who computed a part, or when.

    Operands: `x [parts, .., out]`, optional `bias [out]`.

    - C1: x has two dimensions at least.
    - C2: the result has the shape of a part.
    - C3: bias has one element per column.

    See `hova.linear_parts`.
  }];
  let arguments = (ins Hova_Tensor:$x, Optional<Hova_Tensor>:$bias);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x (`bias` `(` $bias^ `)`)? attr-dict
    `:` type($x) (`,` type($bias)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hova_LayerNormOp : Hova_Op<"layer_norm", [Pure, AttrSizedOperandSegments,
    Hova_Site<>,
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "normalisation of every row, or of every head of it";
  let description = [{
    `y = gain * n(x) + bias` for each row, where n is by kind

    - standard: `(x - mean) / sqrt(variance + eps)` with the mean and the
      population variance (Ba et al., Layer Normalization, Eq. 3)
    - rms: `x / sqrt(mean(x^2) + eps)` (Zhang and Sennrich, Root Mean Square
      Layer Normalization, Eq. 4)
    - l2: `x / max(|x|, eps)` with the Euclidean length, so that zeros stay
      zeros; one whose square leaves f32 is infinite

    With `heads` a row is so many of one width beside each other, `width =
    heads * head_width`, and each of them is normalised by itself.

    Operands: `x [.., width]`, optional `gain [head_width]` and `bias
    [head_width]`, which default to 1 and 0. Statistics are f32 at least.

    - C1: heads divides the last dimension of x.
    - C2: gain and bias have one element per column of a head.
    - C3: eps is not negative, and of kind l2 positive, also as a number of f32.

    ```mlir
    func.func @norm(%x: tensor<2x9x64xf32>, %g: tensor<64xf32>,
                    %b: tensor<64xf32>) -> tensor<2x9x64xf32> {
      %y = hova.layer_norm %x, %g, %b {eps = 1.0e-6 : f64}
          : tensor<2x9x64xf32>, tensor<64xf32>
      return %y : tensor<2x9x64xf32>
    }
    func.func @root_mean_square(%x: tensor<2x9x64xf32>, %g: tensor<16xf32>)
        -> tensor<2x9x64xf32> {
      %y = hova.layer_norm %x, %g kind(rms) {eps = 1.0e-6 : f64, heads = 4 : i64}
          : tensor<2x9x64xf32>, tensor<16xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Optional<Hova_Tensor>:$gain,
      Optional<Hova_Tensor>:$bias, F64Attr:$eps,
      DefaultValuedAttr<Hova_NormKind, "::hova::NormKind::standard">:$kind,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$heads);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x `` custom<NormOperands>($gain, $bias) (`kind` `(` $kind^ `)`)?
    attr-dict
    `:` custom<NormTypes>(ref($gain), ref($bias), type($x), type($gain),
                          type($bias))
  }];
  let extraClassDeclaration = [{
    /// The columns that are normalised together.
    int64_t getHeadWidth() {
      return getX().getType().getShape().back() /
             static_cast<int64_t>(getHeads());
    }
  }];
  let hasVerifier = 1;
}

def Hova_SoftmaxOp : Hova_Op<"softmax", [Pure,
    Hova_Site<>,
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "shares of every row that add up to one, or their logarithms";
  let description = [{
    `y_j = exp(x_j - m) / s` with the maximum m of the row and
    `s = sum_j exp(x_j - m)`; with `log` `y_j = x_j - m - log(s)`. A row with
    NaN or +inf, or of -inf alone, is NaN.

    - C1: x has a last axis.

    ```mlir
    func.func @words(%x: tensor<1x20x100xf32>) -> tensor<1x20x100xf32> {
      %y = hova.softmax %x {log} : tensor<1x20x100xf32>
      return %y : tensor<1x20x100xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, UnitAttr:$log);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Hova_ActivationOp : Hova_Op<"activation", [Pure,
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_TileOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "element-wise non-linear function";
  let description = [{
    relu `max(0, x)`; gelu_erf `x (1 + erf(x / sqrt 2)) / 2`; gelu_tanh
    `x (1 + tanh(sqrt(2/pi)(x + 0.044715 x^3))) / 2`; tanh; sigmoid
    `1 / (1 + exp(-x))`; silu `x sigmoid(x)` and quick_gelu `x sigmoid(1.702 x)`
    (Hendrycks and Gimpel, GELUs); softplus `log(1 + exp(x))`; relu2
    `max(0, x)^2` (So et al., Primer); hard_swish `x min(max(x + 3, 0), 6) / 6`
    (Howard et al., Searching for MobileNetV3). NaN propagates. At minus infinity
    a function that is 0 there in the limit is 0.

    ```mlir
    func.func @gelu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = hova.activation gelu_erf %x : tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_ActivationKind:$kind, Hova_TensorOrVector:$x);
  let results = (outs Hova_TensorOrVector:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($x)";
  let hasFolder = 1;
}

def Hova_Exp2Op : Hova_Op<"exp2", [Pure, SameOperandsAndResultType]> {
  let summary = "two to the power of x and an integer, for x up to 127";
  let description = [{
    `y = 2^(x + offset)`

    The offset is a change of exponents, so it costs neither an instruction nor a
    rounding: `y` has the digits of `2^x`. Weights of a softmax over n keys have
    one of `-log2(n)`, so that a sum of values that they weigh does not overflow.

    The relative error is about 1e-7 for x + offset in [-126, 127], and with
    `accuracy(bf16)` at most 1e-4, for results that are rounded to bf16. Below
    -126 the result is between 0 and 2^-126. The exponential of -inf, which is
    what a masked score is, is 0. Above 127 nothing is promised, because the
    arguments of a softmax are not positive.

    - C1: offset is in [-64, 0].

    ```mlir
    func.func @e(%x: vector<32xf32>) -> vector<32xf32> {
      %y = hova.exp2 %x offset(-9) : vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
  }];
  let arguments = (ins FixedVectorOfAnyRank<[F32]>:$x,
      DefaultValuedAttr<
          ConfinedAttr<I64Attr, [IntMinValue<-64>, IntMaxValue<0>]>,
          "0">:$offset,
      DefaultValuedAttr<Hova_Accuracy, "::hova::Accuracy::f32">:$accuracy);
  let results = (outs FixedVectorOfAnyRank<[F32]>:$result);
  let assemblyFormat = [{
    $x (`offset` `(` $offset^ `)`)? (`accuracy` `(` $accuracy^ `)`)? attr-dict
    `:` type($x)
  }];
  let extraClassDeclaration = [{
    /// The offset as the signed number that it is.
    int64_t getExponentOffset() { return static_cast<int64_t>(getOffset()); }
    /// The offset for weights of which `count` are added up: each is at most 1
    /// / count, and so is no sum of values that they weigh beyond the values.
    static int64_t offsetOfWeights(int64_t count) {
      return -static_cast<int64_t>(::llvm::Log2_64_Ceil(count));
    }
  }];
}

class Hova_BinaryOp<string mnemonic, string name, string symbol>
    : Hova_Op<mnemonic, [Pure, AllTypesMatch<["lhs", "result"]>,
        DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
        DeclareOpInterfaceMethods<Hova_TileOpInterface>,
        DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = name;
  let description = [{
    `lhs }] # symbol # [{ rhs`, element by element.

    Axes are counted from the last one. Where rhs has no such axis, or has 1 in
    it, its elements meet all of lhs's along that axis: a position table
    `[tokens, width]` added to `[batch, tokens, width]`, factors of masked rows
    `[batch, tokens, 1]`, of a model `[1]`, of heads `[heads, 1]` in `[batch,
    tokens, heads, head_dim]`.

    - C1: every axis of rhs is that of lhs or 1, and lhs has as many.

    ```mlir
    func.func @binary(%x: tensor<2x9x64xf32>, %p: tensor<9x64xf32>)
        -> tensor<2x9x64xf32> {
      %y = hova.}] # mnemonic # [{ %x, %p : tensor<2x9x64xf32>, tensor<9x64xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$lhs, Hova_Tensor:$rhs);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs),
      [{ build($_builder, $_state, lhs.getType(), lhs, rhs); }]>];
  let extraClassDeclaration = [{
    static constexpr bool isAddition = }] # !if(!eq(symbol, "+"), "true", "false") # [{;
  }];
  let hasVerifier = 1;
}

/// Of operands that have an order. The one that repeats is rhs, whichever of
/// them it is.
class Hova_OrderedOp<string mnemonic, string name, string symbol>
    : Hova_Op<mnemonic, [Pure, AllTypesMatch<["lhs", "result"]>,
        DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
        DeclareOpInterfaceMethods<Hova_TileOpInterface>,
        DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = name;
  let description = [{
    `lhs }] # symbol # [{ rhs`, element by element, or `rhs }] # symbol # [{ lhs` where
    `swapped`. Elements of rhs are repeated as those of `hova.add` are.

    - C1: every axis of rhs is that of lhs or 1, and lhs has as many.

    ```mlir
    func.func @ordered(%x: tensor<2x9x64xf32>, %p: tensor<9x64xf32>)
        -> tensor<2x9x64xf32> {
      %y = hova.}] # mnemonic # [{ %x, %p {swapped} : tensor<2x9x64xf32>, tensor<9x64xf32>
      return %y : tensor<2x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$lhs, Hova_Tensor:$rhs, UnitAttr:$swapped);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs)";
  let hasVerifier = 1;
}

def Hova_AddOp : Hova_BinaryOp<"add", "sum of two tensors, such as a residual", "+">;
def Hova_MultiplyOp : Hova_BinaryOp<"multiply", "product of two tensors, such as a gate", "*">;

def Hova_SubtractOp : Hova_OrderedOp<"subtract", "difference of two tensors", "-">;
def Hova_DivideOp : Hova_OrderedOp<"divide", "quotient of two tensors, rounded to nearest", "/">;

def Hova_ExpOp : Hova_Op<"exp", [Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_TileOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "exponential of every element";
  let description = [{
    `y = e^x`: infinity where that is no number of the type, 0 at minus infinity.

    ```mlir
    func.func @powers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = hova.exp %x : tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Hova_ScaleOp : Hova_Op<"scale", [Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_TileOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "multiplication by a constant";
  let description = [{
    `y = factor * x`; the scaling of embeddings by `sqrt(width)`, or of tied
    logits by its inverse.

    - C1: factor is finite.

    ```mlir
    func.func @scale(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = hova.scale %x {factor = 22.5 : f64} : tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, F64Attr:$factor);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Hova_ConvertOp : Hova_Op<"convert", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Pure,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_TileOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the same numbers in another floating-point type";
  let description = [{
    `y = x`, rounded to nearest, ties to even, where the type of y is narrower:
    what a program with storage of 16 bits does to the inputs of its matrix
    products. Evaluation in f64 rounds weights only: they are what the model
    is, while the rounding of activations is an error of the program.

    - C1: the result has the shape of x.

    ```mlir
    func.func @narrow(%x: tensor<1x9x64xf32>) -> tensor<1x9x64xbf16> {
      %y = hova.convert %x : tensor<1x9x64xf32> -> tensor<1x9x64xbf16>
      return %y : tensor<1x9x64xbf16>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_DENSE_DENSEOPS
