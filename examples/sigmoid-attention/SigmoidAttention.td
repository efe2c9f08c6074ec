//===- SigmoidAttention.td - A dialect of one operation -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef SIGATTN_SIGMOIDATTENTION
#define SIGATTN_SIGMOIDATTENTION

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

def SigAttn_Dialect : Dialect {
  let name = "sigattn";
  let cppNamespace = "::sigattn";
  let summary = "attention whose keys do not compete in a softmax";
}

def SigAttn_AttentionOp : Op<SigAttn_Dialect, "attention", [Pure,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getAttentionMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_RowRangeOpInterface>,
    Hova_Site<["getInnerBytes"]>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface, ["getResultStorage"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "sigmoid attention with a sink per head";
  let description = [{
    Per batch entry and head m, which owns columns `m*head_dim ..
    (m+1)*head_dim - 1` of query, key, value and result:

    `P_ij = sigmoid(scale * q_i . k_j + offset)`,
    `O_i = sum_j P_ij v_j / (exp(sink_m) + sum_j P_ij)`,

    where j runs over the keys that key_valid has true, or over all.

    The sigmoid is that of Ramapuram et al., Theory, Analysis, and Best
    Practices for Sigmoid Self-Attention (2024), whose offset is minus the
    logarithm of the number of keys. They do not divide; here the weights of a
    query add up to less than one, and what is missing went to the sink, as in
    softmax attention with a learned sink. The divisor is positive, so that no
    row is empty.

    Operands: query `[batch, q_len, heads*key_width]`, key `[batch, kv_len,
    heads*key_width]`, value `[batch, kv_len, heads*value_width]`, sink
    `[heads]`, key_valid `[batch, kv_len]` booleans. Result `[batch, q_len, heads*value_width]`. Scores, weights and
    their sums are f32 at least.

    - C1: query, key and value have three dimensions and share batch; key and
      value share kv_len.
    - C2: heads divides the width of query, key and value.
    - C3: query and key share their width.
    - C4: the result is [batch, q_len, value width].
    - C5: sink is [heads].
    - C6: scale and offset are finite.
    - C7: key_valid is [batch, kv_len].

    ```mlir
    func.func @attend(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>,
                      %v: tensor<1x7x96xf32>, %sink: tensor<4xf32>)
        -> tensor<1x9x96xf32> {
      %o = sigattn.attention %q, %k, %v, %sink
          {heads = 4 : i64, scale = 0.25 : f64, offset = -2.0 : f64}
          : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>,
             tensor<4xf32>) -> tensor<1x9x96xf32>
      return %o : tensor<1x9x96xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$query, Hova_Tensor:$key, Hova_Tensor:$value,
      Hova_Tensor:$sink, Optional<Hova_Mask>:$key_valid, ConfinedAttr<I64Attr, [IntPositive]>:$heads,
      F64Attr:$scale, F64Attr:$offset);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $sink (`key_valid` `(` $key_valid^ `)`)?
    attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // SIGATTN_SIGMOIDATTENTION
