//===- ScoreOps.td - What the region of an attention's scores holds -------===//
// SPDX-License-Identifier: Apache-2.0
//
// An attention says what becomes of a raw score in a region: scalars of
// upstream's arith and math dialects, elements of captured tensors, and the
// terminator here. dialect/score/ScoreRegion.h reads and writes such regions.

#ifndef HOVA_DIALECT_SCORE_SCOREOPS
#define HOVA_DIALECT_SCORE_SCOREOPS

include "dialect/HovaDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hova_ElementOp : Hova_Op<"element", [Pure,
    TypesMatchWith<"result is of the table's element type", "table", "result",
                   "::mlir::cast<::mlir::RankedTensorType>($_self).getElementType()">]> {
  let summary = "one element of a tensor, zero outside of it";
  let description = [{
    `table[i, j, ..]`, and 0 or false where an index is negative or not below the
    size of its axis: the biases and masks of an attention are about its tokens,
    and its region is asked about memory slots after them as well. With `range =
    [low, high]` an integer is the nearest one that is not below low and below
    high: what is known of it, and makes an index of it safe, is then so.

    - C1: there is one index per axis of the table.
    - C2: range is of integers, and low is below high.

    ```mlir
    func.func @read(%t: tensor<4x9xf32>, %i: index, %j: index) -> f32 {
      %x = hova.element %t[%i, %j] : tensor<4x9xf32>
      return %x : f32
    }
    ```
  }];
  let arguments = (ins
      AnyTypeOf<[Hova_Tensor, Hova_Ids, Hova_Mask]>:$table,
      Variadic<Index>:$indices, OptionalAttr<DenseI64ArrayAttr>:$range);
  let results = (outs AnyTypeOf<[Hova_Float, I1, I32, I64]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$table,
                                 "::mlir::ValueRange":$indices), [{
    build($_builder, $_state, ::mlir::getElementTypeOrSelf(table), table, indices,
          ::mlir::DenseI64ArrayAttr());
  }]>];
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Hova_NumberOp : Hova_Op<"number", [Pure]> {
  let summary = "a constant of the model among scores";
  let description = [{
    `value`, with all of its digits in float64, and rounded where f32 computes
    with it: `1/sqrt(96)` is no number of f32, which `arith.constant` would make it
    in every evaluation.

    ```mlir
    func.func @scale(%x: f32) -> f32 {
      %c = hova.number 0.10206207261596577
      %y = arith.mulf %x, %c : f32
      return %y : f32
    }
    ```
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$value attr-dict";
}

def Hova_ScoreYieldOp : Hova_Op<"score_yield", [Pure, Terminator]> {
  let summary = "the score of a query and a key, and whether the key is kept";
  let description = [{
    Ends the region of an attention: the score that enters its softmax, whether
    the key counts for the query, and, where the attention gives its scores as a
    second result, the number that stands there.

    ```mlir
    func.func @attend(%q: tensor<1x9x64xf32>, %k: tensor<1x9x64xf32>,
                      %v: tensor<1x9x96xf32>) -> tensor<1x9x96xf32> {
      %o = hova.attention %q, %k, %v {heads = 4 : i64}
          : (tensor<1x9x64xf32>, tensor<1x9x64xf32>, tensor<1x9x96xf32>)
          -> tensor<1x9x96xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.25
        %score = arith.mulf %raw, %scale : f32
        %kept = arith.cmpi sle, %key, %query : index
        hova.score_yield %score kept %kept
      }
      return %o : tensor<1x9x96xf32>
    }
    ```
  }];
  let arguments = (ins F32:$score, I1:$kept, Optional<F32>:$carried);
  let assemblyFormat = "$score `kept` $kept (`carried` $carried^)? attr-dict";
}

#endif // HOVA_DIALECT_SCORE_SCOREOPS
