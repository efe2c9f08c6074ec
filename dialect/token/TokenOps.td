//===- TokenOps.td - From ids and images to tokens, and between grids -----===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_TOKEN_TOKENOPS
#define HOVA_DIALECT_TOKEN_TOKENOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

class Hova_TokenOp<string mnemonic, list<Trait> traits = [],
                   list<string> referenceMethods = []>
    : Hova_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
        DeclareOpInterfaceMethods<Hova_ReferenceOpInterface,
                                  referenceMethods>], traits)>;

def Hova_EmbeddingOp : Hova_TokenOp<"embedding", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>]> {
  let summary = "rows of a table, chosen by ids";
  let description = [{
    `y[b, i, :] = table[ids[b, i], :]`.

    Operands: `ids [batch, tokens]` (i32 or i64), `table [vocabulary, width]`;
    if `transposed`, the table is `[width, vocabulary]`, the weight of a product
    that shares it, and ids choose its columns. An id outside `[0, vocabulary)` is an error of the caller: programs reject
    it before anything runs.

    - C1: table is a matrix.
    - C2: the result has the shape of ids with width appended.

    ```mlir
    func.func @embed(%ids: tensor<1x7xi32>, %t: tensor<100x64xf32>)
        -> tensor<1x7x64xf32> {
      %y = hova.embedding %ids, %t
          : tensor<1x7xi32>, tensor<100x64xf32> -> tensor<1x7x64xf32>
      return %y : tensor<1x7x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Ids:$ids, Hova_Tensor:$table, UnitAttr:$transposed);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$ids `,` $table attr-dict `:` type($ids) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_SinusoidOp : Hova_Op<"sinusoid", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "table of sine and cosine positions";
  let description = [{
    interleaved (Vaswani et al., Attention Is All You Need, section 3.5):
    `p[i, 2j] = sin(i / base^(2j/width))`, `p[i, 2j+1] = cos(..)`; a last odd
    column is a sine. split: columns `0 .. width/2-1` are sines and the rest
    cosines of `i * exp(-j ln(base) / (width/2 - 1))`. Angles are f64. The
    table is a frozen constant `[tokens, width]`, not a parameter.

    - C1: the result is a matrix.
    - C2: split needs an even width of at least 4.
    - C3: base is a finite number of at least 1.

    ```mlir
    func.func @table() -> tensor<64x512xf32> {
      %p = hova.sinusoid interleaved : tensor<64x512xf32>
      return %p : tensor<64x512xf32>
    }
    ```
  }];
  let arguments = (ins Hova_SinusoidLayout:$layout,
      DefaultValuedAttr<F64Attr, "10000.0">:$base);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$layout attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hova_PatchEmbeddingOp : Hova_TokenOp<"patch_embedding", [Hova_Site<>,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>], ["getSummands"]> {
  let summary = "linear map of non-overlapping image patches to tokens";
  let description = [{
    Patches of `patch x patch` pixels, row-major, each flattened in the order
    channel, row, column and multiplied with the weight (Dosovitskiy et al., An
    Image is Worth 16x16 Words, Eq. 1, without class token and positions).

    Operands: `image [batch, channels, height, width]`, `weight
    [channels*patch*patch, out]`, optional `bias [out]`; result `[batch,
    (height/patch)*(width/patch), out]`.

    - C1: image has four dimensions and patch divides height and width.
    - C2: weight has channels*patch*patch rows.
    - C3: bias has one element per output column.
    - C4: the result is [batch, patches, out].

    ```mlir
    func.func @patches(%i: tensor<1x3x32x32xf32>, %w: tensor<768x64xf32>)
        -> tensor<1x4x64xf32> {
      %y = hova.patch_embedding %i, %w {patch = 16 : i64}
          : tensor<1x3x32x32xf32>, tensor<768x64xf32> -> tensor<1x4x64xf32>
      return %y : tensor<1x4x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$image, Hova_Tensor:$weight,
      Optional<Hova_Tensor>:$bias,
      ConfinedAttr<I64Attr, [IntPositive]>:$patch);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $image `,` $weight (`bias` `(` $bias^ `)`)? attr-dict
    `:` type($image) `,` type($weight) (`,` type($bias)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hova_UnfoldOp : Hova_TokenOp<"unfold", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Hova_Site<["isResultIntermediate"]>]> {
  let summary = "what a kernel sees of an image, place by place, as rows";
  let description = [{
    A kernel of pixels moves over the image in steps of `stride`, row by row,
    beginning `padding` pixels above and left of it; pixels outside are 0. The
    pixels that it sees are `dilation` apart. Each of these are two numbers, down
    and across: `kernel = [3, 1]` sees three pixels of one column. Of an image of
    height H there are `(H + 2 padding - (kernel - 1) dilation - 1) / stride + 1`
    places, rounded down, one below the other. Row p of the result is what the
    kernel sees at place p, in the order channel, row, column:

    `y[b, p, (c*kernel[0] + i)*kernel[1] + j] =
     x[b, c, p / across * stride[0] + i * dilation[0] - padding[0],
             p % across * stride[1] + j * dilation[1] - padding[1]]`

    With `within = s`, squares of s x s pixels, row-major, are images of their
    own, whose borders are padded too. With `grid`, x is the tokens of an image
    of that height and width, row by row, and channels are their columns.

    Operand: `x [batch, channels, height, width]`, or `[batch, height*width,
    channels]` with `grid`; result `[batch * squares, places,
    channels*kernel[0]*kernel[1]]`, where there is one square unless `within`
    says otherwise.

    - C1: x has four dimensions, or three with `grid`, whose product is the
      second.
    - C2: `within` divides height and width.
    - C3: the padded image, or square, is no smaller than the kernel.
    - C4: the result has the rows and columns of all squares and places.
    - C5: kernel, stride, padding and dilation are two numbers, at least 1,
      those of padding at least 0.

    ```mlir
    func.func @unfold(%i: tensor<1x3x224x224xf32>) -> tensor<1x3136x147xf32> {
      %y = hova.unfold %i {kernel = array<i64: 7, 7>, padding = array<i64: 2, 2>, stride = array<i64: 4, 4>}
          : tensor<1x3x224x224xf32> -> tensor<1x3136x147xf32>
      return %y : tensor<1x3136x147xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$stride,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$within,
      OptionalAttr<DenseI64ArrayAttr>:$grid);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_ClassTokenOp : Hova_TokenOp<"class_token", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Hova_Site<["isResultIntermediate"]>]> {
  let summary = "a learned token put before the others";
  let description = [{
    `y[b, 0, :] = token`, `y[b, i + 1, :] = x[b, i, :]`.

    - C1: token has one element per column of x, which is
      [batch, tokens, width].
    - C2: the result is [batch, tokens + 1, width].

    ```mlir
    func.func @cls(%x: tensor<1x4x64xf32>, %t: tensor<64xf32>)
        -> tensor<1x5x64xf32> {
      %y = hova.class_token %x, %t
          : tensor<1x4x64xf32>, tensor<64xf32> -> tensor<1x5x64xf32>
      return %y : tensor<1x5x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$token);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$x `,` $token attr-dict `:` type($x) `,` type($token) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_PoolOp : Hova_TokenOp<"pool", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface, ["movesData"]>,
    DeclareOpInterfaceMethods<Hova_RowViewOpInterface>], ["getSummands"]> {
  let summary = "one row for all tokens";
  let description = [{
    - first: `y[b, :] = x[b, 0, :]`;
    - mean: `y[b, :] = sum_i x[b, i, :] / n`, over all n tokens, or over those
      that `by`, booleans, keeps; 0 where it keeps none;
    - max: the largest element of each column of the same tokens; 0 where there
      is none. NaN propagates;
    - last: `y[b, :] = x[b, i, :]` of the last token i that `by`, booleans,
      keeps; the first token's where it keeps none;
    - token: the same of the first token whose id in `by`, integers, is `id`, or
      is the largest of the item where there is no `id`; the first token's where
      none is. So CLIP reads the end of a text (Radford et al., section 2.4).

    - C1: x is [batch, tokens, width] and the result [batch, width].
    - C2: first has no `by`, last has booleans and token integers; mean and max
      may have booleans.
    - C3: `by` is [batch, tokens].
    - C4: only token has an `id`.

    ```mlir
    func.func @pool(%x: tensor<1x5x64xf32>, %valid: tensor<1x5xi1>)
        -> tensor<1x64xf32> {
      %y = hova.pool mean %x by %valid
          : tensor<1x5x64xf32>, tensor<1x5xi1> -> tensor<1x64xf32>
      return %y : tensor<1x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_PoolKind:$kind, Hova_Tensor:$x,
      Optional<AnyTypeOf<[Hova_Mask, Hova_Ids]>>:$by, OptionalAttr<I64Attr>:$id);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $kind $x (`by` $by^)? attr-dict `:` type($x) (`,` type($by)^)? `->`
    type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the result is the row of one token, which `by` chooses.
    bool picksToken();
  }];
}

def Hova_PaddingMaskOp : Hova_TokenOp<"padding_mask"> {
  let summary = "which tokens are not padding";
  let description = [{
    `y[b, i] = ids[b, i] != pad`. With `class_token` the result begins with one
    element more, for the class token, which counts where the first token does.

    - C1: the result has the shape of ids, with one token more for a class
      token.

    ```mlir
    func.func @valid(%ids: tensor<2x7xi32>) -> tensor<2x7xi1> {
      %y = hova.padding_mask %ids {pad = 0 : i64}
          : tensor<2x7xi32> -> tensor<2x7xi1>
      return %y : tensor<2x7xi1>
    }
    ```
  }];
  let arguments = (ins Hova_Ids:$ids, I64Attr:$pad, UnitAttr:$class_token);
  let results = (outs Hova_Mask:$result);
  let assemblyFormat = "$ids attr-dict `:` type($ids) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_PositionIdsOp : Hova_TokenOp<"position_ids"> {
  let summary = "the position of every token, and one for padding";
  let description = [{
    `y[b, i] = offset + i` where `valid[b, i]`, and `offset - 1` elsewhere: the
    rows of a position table that has one for padding in front of the others.

    With `counted`, masked tokens take no position: `y[b, i] = offset - 1 +
    sum_{j <= i} valid[b, j]` where `valid[b, i]` (Liu et al., RoBERTa, as
    published: `offset` is the id of padding plus 1).

    - C1: the result has the shape of valid, which is [batch, tokens].
    - C2: the last position is a number of i32.

    ```mlir
    func.func @ids(%v: tensor<2x7xi1>) -> tensor<2x7xi32> {
      %y = hova.position_ids %v : tensor<2x7xi1> -> tensor<2x7xi32>
      return %y : tensor<2x7xi32>
    }
    ```
  }];
  let arguments = (ins Hova_Mask:$valid,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$offset,
      UnitAttr:$counted);
  let results = (outs 2DTensorOf<[I32]>:$result);
  let assemblyFormat = "$valid attr-dict `:` type($valid) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_MaskFactorsOp : Hova_TokenOp<"mask_factors"> {
  let summary = "what masked rows are multiplied with";
  let description = [{
    `y[b, i, 0] = valid[b, i] ? 1 : 0`, one number for each row of a value
    `[batch, tokens, width]`, which `hova.multiply` takes as a column.

    - C1: valid is [batch, tokens] and the result [batch, tokens, 1].

    ```mlir
    func.func @factors(%v: tensor<2x7xi1>) -> tensor<2x7x1xf32> {
      %y = hova.mask_factors %v : tensor<2x7xi1> -> tensor<2x7x1xf32>
      return %y : tensor<2x7x1xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Mask:$valid);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$valid attr-dict `:` type($valid) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_IndexSortOp : Hova_TokenOp<"index_sort", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, SameTypeOperands, Hova_Site<["isResultIntermediate"]>,
    DeclareOpInterfaceMethods<Hova_AssembleOpInterface>]> {
  let summary = "states of several layers interleaved token by token";
  let description = [{
    Row `i*K + l` of the result is row i of state l, K being the number of
    states (Tay et al., OmniNet, IndexSort).

    - C1: states are [batch, tokens, width], the result
      [batch, K * tokens, width].

    ```mlir
    func.func @sort(%a: tensor<1x4x8xf32>, %b: tensor<1x4x8xf32>)
        -> tensor<1x8x8xf32> {
      %y = hova.index_sort %a, %b : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
      return %y : tensor<1x8x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Hova_Tensor>:$states);
  let results = (outs Hova_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Hova_LayerPoolOp : Hova_TokenOp<"layer_pool", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>,
    DeclareOpInterfaceMethods<Hova_RowRangeOpInterface,
                              ["getOperandRowsPerRow", "getRowRangeSubject"]>]> {
  let summary = "per channel maximum over the layers of each token";
  let description = [{
    `y[b, i, c] = max_l x[b, i*layers + l, c]` (OmniNet, Eq. 5: max pooling with
    kernel and stride `layers`). NaN propagates.

    - C1: layers divides the tokens of x [batch, layers * tokens, width]; the
      result is [batch, tokens, width].

    ```mlir
    func.func @pool(%x: tensor<1x8x8xf32>) -> tensor<1x4x8xf32> {
      %y = hova.layer_pool %x {layers = 2 : i64}
          : tensor<1x8x8xf32> -> tensor<1x4x8xf32>
      return %y : tensor<1x4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x,
                       ConfinedAttr<I64Attr, [IntPositive]>:$layers);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_ConcatOp : Hova_TokenOp<"concat", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Hova_Site<["isResultIntermediate"]>,
    DeclareOpInterfaceMethods<Hova_AssembleOpInterface>]> {
  let summary = "tensors joined along one axis";
  let description = [{
    Joins the inputs along `axis` (0-based), in order: two towers' states along
    the last axis, or the columns of shared-input projections.

    - C1: inputs have the same rank and element type and agree in all other
      dimensions.
    - C2: axis is in range and the result's dimension there is the sum.

    ```mlir
    func.func @join(%a: tensor<1x8xf32>, %b: tensor<1x4xf32>) -> tensor<1x12xf32> {
      %y = hova.concat %a, %b {axis = 1 : i64}
          : tensor<1x8xf32>, tensor<1x4xf32> -> tensor<1x12xf32>
      return %y : tensor<1x12xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Hova_Tensor>:$inputs,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_SliceOp : Hova_TokenOp<"slice", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>,
    DeclareOpInterfaceMethods<Hova_RowViewOpInterface>]> {
  let summary = "a range of one axis";
  let description = [{
    `size` elements from `offset` on along `axis`, all of the others.

    - C1: axis is in range, the slice lies inside x, and the result has the
      shape of x with `size` at axis.

    ```mlir
    func.func @part(%a: tensor<64x8xf32>) -> tensor<10x8xf32> {
      %y = hova.slice %a {axis = 0 : i64, offset = 0 : i64}
          : tensor<64x8xf32> -> tensor<10x8xf32>
      return %y : tensor<10x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$offset);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the axis is the last: each row of the result is a part of the
    /// operand's.
    bool takesColumns();
  }];
}

def Hova_PadOp : Hova_TokenOp<"pad", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Hova_Site<["isResultIntermediate"]>]> {
  let summary = "zeros in front of an axis and after it";
  let description = [{
    Elements `before` to `before + n - 1` of `axis` (0-based), which x has n
    elements of, are those of x; all others are 0.

    - C1: axis is in range, and the result has the shape of x with at least
      `before` elements more at axis.

    ```mlir
    func.func @pad(%x: tensor<1x4x8xf32>) -> tensor<1x5x8xf32> {
      %y = hova.pad %x {axis = 1 : i64, before = 1 : i64}
          : tensor<1x4x8xf32> -> tensor<1x5x8xf32>
      return %y : tensor<1x5x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$before);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_ReshapeOp : Hova_TokenOp<"reshape", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Hova_Site<["isResultIntermediate"]>]> {
  let summary = "the same elements in other axes";
  let description = [{
    Element i of the result is element i of x, both counted row-major: the words
    of a sentence side by side in one row, or apart. What a kernel computes is
    read where it is, and `fuse` leaves the operation between kernels; anything
    else is copied.

    - C1: x and the result have the same element type and as many elements.

    ```mlir
    func.func @sentences(%x: tensor<6x16x24xf32>) -> tensor<2x3x384xf32> {
      %y = hova.reshape %x : tensor<6x16x24xf32> -> tensor<2x3x384xf32>
      return %y : tensor<2x3x384xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Hova_RepeatOp : Hova_TokenOp<"repeat", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Hova_PerItem,
    Hova_Site<["isResultIntermediate"]>]> {
  let summary = "the same elements for every item of a batch";
  let description = [{
    `y[b, ...] = x[...]`: learned queries or latents, which have no batch, for
    items that do. It stays in the program where x is a weight, so that the
    weights of a program do not depend on its batch.

    - C1: the result has the shape of x after one more axis.

    ```mlir
    func.func @latents(%x: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
      %y = hova.repeat %x : tensor<4x8xf32> -> tensor<2x4x8xf32>
      return %y : tensor<2x4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_TOKEN_TOKENOPS
