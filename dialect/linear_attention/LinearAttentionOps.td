//===- LinearAttentionOps.td - Attention as a product of sums -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear attention as the papers state it, and the two halves that kernels are
// made of: sums over blocks of keys, and queries that read them. Besides, the
// sums of tokens that Linformer puts in the place of keys and values.

#ifndef HOVA_DIALECT_LINEAR_ATTENTION_LINEARATTENTIONOPS
#define HOVA_DIALECT_LINEAR_ATTENTION_LINEARATTENTIONOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

class Hova_LinearAttentionPart<string mnemonic, list<Trait> traits>
    : Hova_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getAttentionMacs"]>,
        DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
        DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
        DeclareOpInterfaceMethods<Hova_ReferenceOpInterface, ["getSummands"]>], traits)> {
  let hasVerifier = 1;
}

def Hova_LinearAttentionOp
    : Hova_LinearAttentionPart<"linear_attention",
                               [AttrSizedOperandSegments, Hova_Site<>,
    DeclareOpInterfaceMethods<Hova_SplitReductionOpInterface>,
    DeclareOpInterfaceMethods<Hova_RowRangeOpInterface,
                              ["declineRowRange", "getRowRangeSubject"]>]> {
  let summary = "attention whose scores are products of features";
  let description = [{
    Choromanski et al., Rethinking Attention with Performers. Per batch entry
    and head, with `x~ = scale * x`, m features, and n their normalizer:

    `O_i = sum_j (phi_q(q_i) . phi_k(k_j)) v_j / (n R_i)`,
    `R_i = sum_j (phi_q(q_i) . phi_k(k_j)) / n`.

    - softmax: `phi_q(x)_r = exp((x~ w)_r - |x~|^2/2 - max over r of (x~ w)) + eps`;
      phi_k is the same with the maximum over all keys that count and all
      features. n = m.
    - relu: `phi(x)_r = max((x~ w)_r, 0) + eps`; without features, of x~ itself.
      n = 1.
    - exp (the token performer of T2T-ViT):
      `phi(x)_r = exp((x~ w)_r - |x~|^2/2 - log(m)/2)`, no maximum and no eps.
      n = 1: the features have the factor 1/sqrt(m) of the paper themselves,
      because their sums know no bound.

    `R_i` grows by `2 * stabilizer` where it is not above `stabilizer`, and then
    by `denominator_eps`. A row whose R_i is 0 is 0: one without keys, above all.

    With `causal`, row i is the last row of the operation on keys 0 to i: also
    the maximum of softmax features is that of the keys up to i, and eps is added
    to exponentials that are relative to it. No row depends on a later key.

    The order of the products is part of the meaning: q_len x kv_len scores
    never exist.

    With `narrow` the factors of products have as many digits as the type of the
    query, of 16 bits: w, features of keys where they weigh values, and the means
    that the features of a query weigh. They keep the range of f32, since a
    program scales them; their sums are f32. Exactly, it means nothing.

    Operands: query `[batch, q_len, heads*key_width]`, key `[batch, kv_len,
    key_value_heads*key_width]`, value `[batch, kv_len,
    key_value_heads*value_width]`, `features` w `[key_width, m]`, a constant
    shared by the heads, and `key_valid [batch, kv_len]`: features of keys that
    are padding are 0 and enter no maximum. Head i of the queries reads head
    `i / (heads / key_value_heads)` of keys and values, rounded down; without
    key_value_heads there are as many as of queries. Result `[batch, q_len,
    heads*value_width]`. Everything is f32 at least.

    - C1: query, key and value have three dimensions and share batch; key and
      value share kv_len.
    - C2: heads divides the width of the query, and key_value_heads divides heads
      and the widths of key and value; heads of query and key share their width.
    - C3: features is [key_width, m], and is given unless the features are relu.
    - C4: key_valid is [batch, kv_len].
    - C5: the result is [batch, q_len, heads*value_width].
    - C6: with causal, q_len is kv_len.
    - C7: scale is finite; eps, stabilizer and denominator_eps are finite and not
      negative, and eps is 0 for exp.
    - C8: narrow ones have query, key and value of one type of 16 bits.

    ```mlir
    func.func @attend(%q: tensor<1x9x8xf32>, %k: tensor<1x7x8xf32>,
                      %v: tensor<1x7x6xf32>, %w: tensor<4x10xf32>,
                      %valid: tensor<1x7xi1>) -> tensor<1x9x6xf32> {
      %o = hova.linear_attention softmax %q, %k, %v features(%w) key_valid(%valid)
          {heads = 2 : i64, scale = 0.70710678118654757 : f64,
           eps = 1.0e-6 : f64, stabilizer = 1.0e-6 : f64}
          : (tensor<1x9x8xf32>, tensor<1x7x8xf32>, tensor<1x7x6xf32>,
             tensor<4x10xf32>, tensor<1x7xi1>) -> tensor<1x9x6xf32>
      return %o : tensor<1x9x6xf32>
    }
    ```
  }];
  let arguments = (ins Hova_FeatureMap:$map,
      Hova_Tensor:$query, Hova_Tensor:$key, Hova_Tensor:$value,
      Optional<Hova_Tensor>:$features, Optional<Hova_Mask>:$key_valid,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads, UnitAttr:$causal,
      DefaultValuedAttr<F64Attr, "1.0">:$scale,
      DefaultValuedAttr<F64Attr, "0.0">:$eps,
      DefaultValuedAttr<F64Attr, "0.0">:$stabilizer,
      DefaultValuedAttr<F64Attr, "0.0">:$denominator_eps,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$key_value_heads,
      UnitAttr:$narrow);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $map $query `,` $key `,` $value
    oilist(`features` `(` $features `)` | `key_valid` `(` $key_valid `)`)
    attr-dict `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// Heads of keys and values.
    int64_t countKeyHeads() { return getKeyValueHeads().value_or(getHeads()); }
  }];
}

def Hova_KeySummaryOp
    : Hova_LinearAttentionPart<"key_summary", [AttrSizedOperandSegments]> {
  let summary = "sums over blocks of keys, of which linear attention is made";
  let description = [{
    Tokens `block * t .. block * (t + 1) - 1` are block t; the last may be
    shorter. Per batch entry, head and block, with phi_k as in
    `hova.linear_attention`, but without eps for softmax, and relative to the
    block's own maximum:

    - rows r < m: `sum_j phi_k(k_j)_r v_j`, and after it `sum_j phi_k(k_j)_r`.
    - softmax only, row m: `sum_j v_j`, and after it the number of keys; row
      m + 1: in every column the maximum of `log2(e) * scale * (k_j w)_r`, the
      exponent of base two that the block's exponentials are relative to, or
      -1e30 where no key of the block counts.

    With `narrow` w and the features that weigh values are rounded as those of
    `hova.linear_attention`; the sums are f32.

    The sums of a block run in the order of its tokens. Which tokens are a block
    does not depend on who computes it, so neither do the bits.

    Operands: key, value, features and key_valid of `hova.linear_attention`.
    Result `[batch, heads, blocks, rows, value_width + 1]`, rows being m, or
    m + 2 for softmax.

    - C1: key and value have three dimensions and share batch and kv_len.
    - C2: heads divides the width of key and value.
    - C3: features is [key_width, m], and is given unless the features are relu.
    - C4: key_valid is [batch, kv_len].
    - C5: the result is [batch, heads, blocks, rows, value_width + 1] with
      kv_len / block blocks, rounded up.
    - C6: scale is finite; eps is finite, not negative, and 0 unless the features
      are relu.
    - C7: narrow ones have key and value of one type of 16 bits.

    ```mlir
    func.func @summarize(%k: tensor<1x7x8xf32>, %v: tensor<1x7x6xf32>,
                         %w: tensor<4x10xf32>) -> tensor<1x2x2x12x4xf32> {
      %s = hova.key_summary softmax %k, %v features(%w)
          {heads = 2 : i64, block = 4 : i64}
          : (tensor<1x7x8xf32>, tensor<1x7x6xf32>, tensor<4x10xf32>)
         -> tensor<1x2x2x12x4xf32>
      return %s : tensor<1x2x2x12x4xf32>
    }
    ```
  }];
  let arguments = (ins Hova_FeatureMap:$map,
      Hova_Tensor:$key, Hova_Tensor:$value,
      Optional<Hova_Tensor>:$features, Optional<Hova_Mask>:$key_valid,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads,
      ConfinedAttr<I64Attr, [IntPositive]>:$block,
      DefaultValuedAttr<F64Attr, "1.0">:$scale,
      DefaultValuedAttr<F64Attr, "0.0">:$eps, UnitAttr:$narrow);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $map $key `,` $value
    oilist(`features` `(` $features `)` | `key_valid` `(` $key_valid `)`)
    attr-dict `:` functional-type(operands, $result)
  }];
}

def Hova_MergeSummariesOp
    : Hova_LinearAttentionPart<"merge_summaries", []> {
  let summary = "the sums over blocks of keys as those of one block";
  let description = [{
    What a `hova.summary_attention` without keys does before it reads its sums:
    blocks are added in their order, those of softmax relative to the largest
    maximum, which sums that are relative to a smaller one are multiplied by two
    to the power of the difference for. The sum of the values, row m of softmax,
    is relative to nothing. For targets on which the queries of one head are many
    units' work: each would merge the blocks again. With `exclusive` it is the
    running merge that causal queries read: block t of the result is the blocks
    before t, for t = 0 the sums over no key.

    In a program for a range of tokens `block` says how many tokens a block has:
    a run reads those blocks that begin before the end of an item.

    Operand: `summary [batch, heads, blocks, rows, columns]` as
    `hova.key_summary` makes it. Result `[batch, heads, 1, rows, columns]`, and
    of the summary's shape if it is exclusive.

    - C1: summary has five dimensions, and the rows of `map`: more than two for
      softmax.
    - C2: the result is [batch, heads, 1, rows, columns], or of the summary's
      type if exclusive.

    ```mlir
    func.func @merge(%s: tensor<1x2x3x12x4xf32>) -> tensor<1x2x1x12x4xf32> {
      %m = hova.merge_summaries softmax %s
          : tensor<1x2x3x12x4xf32> -> tensor<1x2x1x12x4xf32>
      return %m : tensor<1x2x1x12x4xf32>
    }
    ```
  }];
  let arguments = (ins Hova_FeatureMap:$map, Hova_Tensor:$summary,
      UnitAttr:$exclusive,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$block);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$map (`exclusive` $exclusive^)? $summary attr-dict `:` type($summary) `->` type($result)";
}

def Hova_SummaryAttentionOp
    : Hova_LinearAttentionPart<"summary_attention",
                               [AttrSizedOperandSegments,
                                Hova_Site<["getInnerBytes"]>]> {
  let summary = "linear attention of queries that read sums over blocks of keys";
  let description = [{
    `hova.linear_attention` whose sums over keys are those of a
    `hova.key_summary`, merged in the order of the blocks: sums relative to a
    smaller maximum are multiplied by two to the power of the difference, and eps
    is added to them when they are read.

    Without key and value all blocks are merged. With them the operation is
    causal: query block t, of `block` tokens, reads blocks before t of the
    summary, and of its own block each query reads the keys and values up to its
    token. With `merged` the summary is a `hova.merge_summaries exclusive`: query
    block t reads block t of it, which is what comes before t.

    With `narrow` factors are rounded as those of `hova.linear_attention`.

    Operands: query and features of `hova.linear_attention`, `summary [batch,
    key_value_heads, blocks, rows, value_width + 1]`; if causal, `key`, `value`
    and `key_valid` of the same operation. Threads divide batch entries, heads
    and blocks of `block` queries.

    - C1: query has three dimensions and heads divides its width.
    - C2: features is [key_width, m], and is given unless the features are relu.
    - C3: summary is [batch, key_value_heads, blocks, rows, value_width + 1], rows
      being m, or m + 2 for softmax, and key_value_heads divides heads.
    - C4: key and value are given together, [batch, q_len,
      key_value_heads*key_width] and [batch, q_len, key_value_heads*value_width].
    - C5: key_valid is [batch, q_len], and is given with key alone.
    - C6: with key, the summary has q_len / block blocks, rounded up.
    - C7: the result is [batch, q_len, heads*value_width].
    - C8: scale is finite; eps, stabilizer and denominator_eps are finite and not
      negative, and eps is 0 for exp.
    - C9: a merged summary is read with key.
    - C10: narrow ones have query, key and value of one type of 16 bits.

    ```mlir
    func.func @attend(%q: tensor<1x9x8xf32>, %s: tensor<1x2x3x12x4xf32>,
                      %w: tensor<4x10xf32>) -> tensor<1x9x6xf32> {
      %o = hova.summary_attention softmax %q, %s features(%w)
          {heads = 2 : i64, block = 4 : i64, eps = 1.0e-6 : f64,
           stabilizer = 1.0e-6 : f64}
          : (tensor<1x9x8xf32>, tensor<1x2x3x12x4xf32>, tensor<4x10xf32>)
         -> tensor<1x9x6xf32>
      return %o : tensor<1x9x6xf32>
    }
    ```
  }];
  let arguments = (ins Hova_FeatureMap:$map,
      Hova_Tensor:$query, Hova_Tensor:$summary,
      Optional<Hova_Tensor>:$key, Optional<Hova_Tensor>:$value,
      Optional<Hova_Tensor>:$features, Optional<Hova_Mask>:$key_valid,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads,
      ConfinedAttr<I64Attr, [IntPositive]>:$block, UnitAttr:$merged,
      DefaultValuedAttr<F64Attr, "1.0">:$scale,
      DefaultValuedAttr<F64Attr, "0.0">:$eps,
      DefaultValuedAttr<F64Attr, "0.0">:$stabilizer,
      DefaultValuedAttr<F64Attr, "0.0">:$denominator_eps, UnitAttr:$narrow);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $map $query `,` $summary
    oilist(`key` `(` $key `)` | `value` `(` $value `)`
         | `features` `(` $features `)` | `key_valid` `(` $key_valid `)`)
    attr-dict `:` functional-type(operands, $result)
  }];
  let extraClassDeclaration = [{
    /// Heads of queries that read one of the summary.
    int64_t getGroup();
  }];
}

def Hova_ProjectTokensOp
    : Hova_Op<"project_tokens", [Pure, Hova_Site<>,
        DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
        DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
        DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
        DeclareOpInterfaceMethods<Hova_ReferenceOpInterface, ["getSummands"]>]> {
  let summary = "few weighted sums of all tokens";
  let description = [{
    Wang et al., Linformer: Self-Attention with Linear Complexity, Eq. 7: keys
    and values of an attention become `projected` rows, whatever the number of
    tokens. Per batch entry `y_rc = sum_j w_jr x_jc`, which is `W^T X`.

    Operands: `x [batch, tokens, width]`, `weight [tokens, projected]`. Result
    `[batch, projected, width]`. Sums are f32 at least.

    - C1: x has three dimensions.
    - C2: weight has a row for each token.
    - C3: the result is [batch, projected, width].

    ```mlir
    func.func @project(%x: tensor<1x9x8xf32>, %w: tensor<9x2xf32>) -> tensor<1x2x8xf32> {
      %y = hova.project_tokens %x, %w
          : tensor<1x9x8xf32>, tensor<9x2xf32> -> tensor<1x2x8xf32>
      return %y : tensor<1x2x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$weight);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$x `,` $weight attr-dict `:` type($x) `,` type($weight) `->` type($result)";
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_LINEAR_ATTENTION_LINEARATTENTIONOPS
