//===- AttentionOps.td - Attention and its reweightings -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_ATTENTION_ATTENTIONOPS
#define HOVA_DIALECT_ATTENTION_ATTENTIONOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"
include "dialect/Similarity.td"
include "mlir/IR/OpAsmInterface.td"

def Hova_AttentionOp : Hova_Op<"attention", [Pure, AttrSizedOperandSegments,
    IsolatedFromAbove, SingleBlock, Hova_Site<["getInnerBytes"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getAttentionMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_RowRangeOpInterface,
                              ["declineRowRange", "getRowRangeSubject"]>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface, ["getResultStorage"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "multi-head attention pooling on projected queries, keys, values";
  let description = [{
    Per batch entry and head m, with head m owning columns
    `m*head_dim .. (m+1)*head_dim - 1` of the queries, and for every query and
    key, a raw score, which a region makes the score of, and whether the key is
    kept for the query. Keys and values have `key_value_heads` heads, of which
    head m of the queries reads `m / (heads / key_value_heads)`, rounded down:
    as many heads as queries unless it is given, one for all of them (Shazeer,
    Fast Transformer Decoding) or anything between (Ainslie et al., GQA).

    The attribute `similarity` makes a raw score of a query and a key: `R = Q K^T`
    unless it is given, or any other sum over the columns of a head
    (SimilarityAttrInterface), such as `#hova.additive`.

    `(S, kept) = scores(R, batch, head, query, key, captured)`,
    `P = softmax over kept keys of S`, `O = P V`.

    With another `normalization` the region makes the weights themselves, in
    which 0 stands for keys that are not kept or have a score of -inf:
    `P_ij = S_ij` (`none`), or `P_ij = S_ij / sum_j S_ij` (`sum`), where a row
    whose sum is 0 is 0. So weights are any element-wise function of scores, such
    as sigmoids (Ramapuram et al., Theory, Analysis, and Best Practices for
    Sigmoid Self-Attention) or rectified scores (Wortsman et al., Replacing
    Softmax with ReLU in Vision Transformers).

    Operands: query `[batch, q_len, heads*key_width]`, and optional `score_vector
    [heads*key_width]`, where the similarity has one. Keys and values come from
    sources, which stand one after the other:

    - Tokens: key `[batch, kv_len, key_value_heads*key_width]` and value `[batch,
      kv_len, key_value_heads*value_width]`. Every query sees all of them, unless
      there is a `block`.
    - Slots: `memory_key [slots, key_value_heads*key_width]` and `memory_value
      [slots, key_value_heads*value_width]` are the same for all batch entries
      and seen by all queries (Cornia et al., Meshed-Memory Transformer, Eq. 3).
      K and V have kv_len + slots rows, and slot s is key `kv_len + s` of the
      region.

    With `block`, tokens `block * t .. block * (t + 1) - 1` are block t of n; the
    last may be shorter. The queries of block t see the keys of these blocks
    (Zaheer et al., Big Bird: Transformers for Longer Sequences, section 2 and
    appendix D):

    - t = 0 and t = n - 1: all (global rows);
    - others: 0 and n - 1 (global columns), t - 1, t and t + 1 (the window), and
      the blocks in row t - 1 of `random_blocks`, which is `[heads, n - 2, r]`.

    A global or window block is seen once. A random block is seen once for every
    time that it stands in its row, besides the others: its weights count as
    often. A number that is no block, such as -1, is unused.

    Result `[batch, q_len, heads*value_width]`. A second result is the third
    number that the region yields, `[batch, heads, q_len, kv_len]` in f32: the
    scores in front of masks, as another layer's bias (He et al., RealFormer,
    section 3.2).

    The region `scores` is the mathematics of the scores, all of it: scale,
    biases, masks, causal limits, windows, soft caps. Its arguments are the raw
    score (f32), the indices of batch entry, head, query and key, and the captured
    tensors. It computes with scalars of arith and math and reads elements of the
    captured tensors (`hova.element`). Scores are f32 at least.

    Finite scores of any size have a softmax; with one, a row with a score of
    +inf or NaN that is kept, or with none but -inf, is NaN. A key is also masked
    whose score is -inf, where the region would make -inf of a raw score of 0 as
    well, as a bias of -inf does. A row without kept keys yields 0
    (`empty_row = zero`) or the mean of all values (`uniform`).

    - C1: query, key and value have three dimensions and share batch; key and
      value share kv_len.
    - C2: heads divides the width of the query, and key_value_heads divides heads
      and the widths of key and value.
    - C3: heads of query and key share their width.
    - C4: the result is [batch, q_len, heads*value_width].
    - C5: score_vector is given exactly where the similarity has a vector, with
      the width of the query.
    - C6: the region has the arguments f32, four indices and the captured
      tensors, and ends with hova.score_yield.
    - C7: the region holds scalar operations of arith and math with a meaning
      (`isScoreOperation`), and hova.element of captured tensors.
    - C8: an integer is divided by a constant that is positive.
    - C9: the region yields a third number exactly where there are scores, which
      are [batch, heads, q_len, kv_len] of f32.
    - C10: memory_key and memory_value come together, have at least one slot and
      agree in slots, and have the widths of key and value.
    - C11: empty_row is zero without a softmax, and with a block.
    - C12: with a block q_len is kv_len, of four blocks at least, and there are
      neither slots nor a second result.
    - C13: random_blocks is given with a block alone, and is [heads, blocks - 2,
      r].

    ```mlir
    func.func @attend(%q: tensor<1x9x64xf32>, %k: tensor<1x7x64xf32>,
                      %v: tensor<1x7x96xf32>, %valid: tensor<1x7xi1>)
        -> tensor<1x9x96xf32> {
      %o = hova.attention %q, %k, %v captured(%valid) {heads = 4 : i64}
          : (tensor<1x9x64xf32>, tensor<1x7x64xf32>, tensor<1x7x96xf32>,
             tensor<1x7xi1>) -> tensor<1x9x96xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index,
           %is_valid: tensor<1x7xi1>):
        %scale = hova.number 0.25
        %score = arith.mulf %raw, %scale : f32
        %kept = hova.element %is_valid[%batch, %key] : tensor<1x7xi1>
        hova.score_yield %score kept %kept
      }
      return %o : tensor<1x9x96xf32>
    }
    func.func @attend_to_blocks(%x: tensor<1x23x8xf32>,
                                %random: tensor<2x4x1xi32>)
        -> tensor<1x23x8xf32> {
      %o = hova.attention %x, %x, %x random_blocks(%random)
          {heads = 2 : i64, block = 4 : i64}
          : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x8xf32>,
             tensor<2x4x1xi32>) -> tensor<1x23x8xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %kept = arith.cmpi sle, %key, %query : index
        hova.score_yield %raw kept %kept
      }
      return %o : tensor<1x23x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$query, Hova_Tensor:$key, Hova_Tensor:$value,
      Optional<Hova_Tensor>:$score_vector,
      Optional<Hova_Tensor>:$memory_key, Optional<Hova_Tensor>:$memory_value,
      Optional<TensorOf<[I32]>>:$random_blocks,
      Variadic<AnyTypeOf<[Hova_Tensor, Hova_Ids, Hova_Mask]>>:$captured,
      DefaultValuedAttr<Hova_Similarity,
          "::hova::DotAttr::get($_builder.getContext())">:$similarity,
      DefaultValuedAttr<Hova_Normalization,
          "::hova::Normalization::softmax">:$normalization,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads,
      DefaultValuedAttr<Hova_EmptyRow, "::hova::EmptyRow::zero">:$empty_row,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$key_value_heads,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$block);
  let results = (outs Hova_Tensor:$result, Optional<Hova_Tensor>:$scores);
  let regions = (region SizedRegion<1>:$score_region);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`similarity` `(` $similarity^ `)`)?
    oilist(`score_vector` `(` $score_vector `)`
         | `memory` `(` $memory_key `,` $memory_value `)`
         | `random_blocks` `(` $random_blocks `)`
         | `captured` `(` $captured `)`)
    attr-dict `:` functional-type(operands, results) `scores` $score_region
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of memory_key; 0 without a memory.
    int64_t getSlots();
    /// With a block, the blocks of tokens; dynamic where their number is not
    /// known.
    int64_t getBlocks();
    /// Blocks in a row of `random_blocks`; 0 without.
    int64_t getRandomCount();
    /// Pairs of a query and a key that one head of a batch entry sees. Sizes
    /// are known.
    int64_t countPairs();
    /// Heads of keys and values.
    int64_t countKeyHeads() { return getKeyValueHeads().value_or(getHeads()); }
    /// Heads of queries that read one of them.
    int64_t getGroup() { return getHeads() / countKeyHeads(); }
    /// What the region computes, by name.
    ::hova::ScoreRegion scoreRegion() {
      return ::hova::ScoreRegion(getScoreRegion());
    }
    /// Whether weights are a softmax of scores.
    bool hasSoftmax() {
      return getNormalization() == ::hova::Normalization::softmax;
    }
    /// Whether the scores are read and the result is not: then no value is.
    bool givesScoresAlone() {
      return getScores() && getResult().use_empty();
    }
  }];
}

def Hova_NormalizeHeadsOp : Hova_Op<"normalize_heads", [Pure,
    Hova_Site<>,
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "heads of every row at length one, each times a factor";
  let description = [{
    `y[.., head m] = gain[m] * x[.., head m] / max(|x[.., head m]|, eps)` with
    the Euclidean length of the head's columns, `m*head_dim .. (m+1)*head_dim -
    1`. Scores of queries and keys of length one are their cosines (Liu et al.,
    Swin Transformer V2, Eq. 2). A head of zeros stays zeros. Lengths are f32 at
    least; one whose square leaves f32 is infinite.

    Operands: `x [.., heads*head_dim]`, optional `gain [heads]`, by default 1.

    - C1: heads divides the last dimension of x.
    - C2: gain is [heads].
    - C3: eps is positive, also as a number of f32.

    ```mlir
    func.func @unit(%q: tensor<1x9x64xf32>, %t: tensor<4xf32>)
        -> tensor<1x9x64xf32> {
      %y = hova.normalize_heads %q gain(%t) {heads = 4 : i64, eps = 1.0e-12 : f64}
          : tensor<1x9x64xf32>, tensor<4xf32>
      return %y : tensor<1x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Optional<Hova_Tensor>:$gain,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads, F64Attr:$eps);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $x (`gain` `(` $gain^ `)`)? attr-dict `:` type($x) (`,` type($gain)^)?
  }];
  let hasVerifier = 1;
}

def Hova_HeadFactorsOp : Hova_Op<"head_factors", [Pure,
    AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "bounded factors of heads from their learned logarithms";
  let description = [{
    `y[m] = min(exp(x[m]), most)`: what the cosines of a head are multiplied
    with, the inverse of its temperature (Swin Transformer V2, Eq. 2). Folded at
    compile time. NaN propagates.

    - C1: x is [heads].
    - C2: most is positive and finite.

    ```mlir
    func.func @factors(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = hova.head_factors %x {most = 100.0 : f64} : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, F64Attr:$most);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Hova_IndexTableOp : Hova_Op<"index_table", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the elements of a weight as integers";
  let description = [{
    `y = round(x)`, ties to even, and -1 where that is no number of 31 bits.
    Weights are floating-point numbers; this makes a table of them of which an
    operation takes indices, such as the random blocks of `hova.attention`.

    - C1: the result has the shape of x.

    ```mlir
    func.func @table(%x: tensor<2x4x1xf32>) -> tensor<2x4x1xi32> {
      %t = hova.index_table %x : tensor<2x4x1xf32> -> tensor<2x4x1xi32>
      return %t : tensor<2x4x1xi32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs TensorOf<[I32]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_HeadReweightOp : Hova_Op<"head_reweight", [Pure,
    Hova_Site<>,
    AllTypesMatch<["heads_in", "result"]>,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_DecomposeOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "horizontal attention: a softmax over heads per token";
  let description = [{
    Yu and Zhang, Horizontal and Vertical Attention in Transformers, Eq. 5-6:
    `A_m = relu(H_m W_A1 + X W_A2)`, `B_m = A_m W_B + b_B`,
    `alpha = softmax over m of B`, result `alpha_m H_m` per head m. All weights
    are shared by the heads; the softmax runs over heads for every token alone.
    b_B shifts all scores of a token equally and so never changes the result.

    Operands: `heads_in [batch, tokens, heads*head_dim]` (before the output
    projection), `x [batch, tokens, width]` (input of the query projection),
    `head_weight [head_dim, head_dim]` (W_A1), `input_weight [width, head_dim]`
    (W_A2), `score_weight [head_dim]` (W_B), optional `score_bias [1]` (b_B).

    - C1: heads divides the width of heads_in; x agrees with it in batch and
      tokens.
    - C2: head_weight is [head_dim, head_dim].
    - C3: input_weight is [width of x, head_dim].
    - C4: score_weight is [head_dim], score_bias [1].

    ```mlir
    func.func @hor(%h: tensor<1x9x64xf32>, %x: tensor<1x9x32xf32>,
                   %a1: tensor<16x16xf32>, %a2: tensor<32x16xf32>,
                   %b: tensor<16xf32>) -> tensor<1x9x64xf32> {
      %y = hova.head_reweight %h, %x, %a1, %a2, %b {heads = 4 : i64}
          : (tensor<1x9x64xf32>, tensor<1x9x32xf32>, tensor<16x16xf32>,
             tensor<32x16xf32>, tensor<16xf32>) -> tensor<1x9x64xf32>
      return %y : tensor<1x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$heads_in, Hova_Tensor:$x,
      Hova_Tensor:$head_weight, Hova_Tensor:$input_weight,
      Hova_Tensor:$score_weight, Optional<Hova_Tensor>:$score_bias,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $heads_in `,` $x `,` $head_weight `,` $input_weight `,` $score_weight
    (`score_bias` `(` $score_bias^ `)`)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Hova_HeadLogitsOp : Hova_Op<"head_logits", [Pure,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "one score per token and head from the heads' outputs";
  let description = [{
    `B[t, m] = relu(H_m[t] head_weight + shift[t]) . score_weight + score_bias`,
    the scores of horizontal attention with `shift = X W_A2` computed before.

    Operands: `heads_in [batch, tokens, heads*head_dim]`, `shift [batch, tokens,
    hidden]`, `head_weight [head_dim, hidden]`, `score_weight [hidden]`, optional
    `score_bias [1]`; result `[batch, tokens, heads]`.

    - C1: heads divides the width of heads_in, head_weight is
      [head_dim, hidden], shift ends in hidden, score_weight is [hidden].
    - C2: the result is [batch, tokens, heads].
    - C3: score_bias is [1].

    ```mlir
    func.func @logits(%h: tensor<1x9x64xf32>, %s: tensor<1x9x16xf32>,
                      %a: tensor<16x16xf32>, %b: tensor<16xf32>)
        -> tensor<1x9x4xf32> {
      %y = hova.head_logits %h, %s, %a, %b {heads = 4 : i64}
          : (tensor<1x9x64xf32>, tensor<1x9x16xf32>, tensor<16x16xf32>,
             tensor<16xf32>) -> tensor<1x9x4xf32>
      return %y : tensor<1x9x4xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$heads_in, Hova_Tensor:$shift,
      Hova_Tensor:$head_weight, Hova_Tensor:$score_weight,
      Optional<Hova_Tensor>:$score_bias,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $heads_in `,` $shift `,` $head_weight `,` $score_weight
    (`score_bias` `(` $score_bias^ `)`)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Hova_ScaleHeadsOp : Hova_Op<"scale_heads", [Pure,
    Hova_Site<["isResultIntermediate"]>,
    AllTypesMatch<["heads_in", "result"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface, ["getResultStorage"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "heads scaled by a softmax of their logits";
  let description = [{
    `alpha = softmax(logits[t, :])`, `y[t, head m] = alpha_m * heads_in[t, head m]`.

    Operands: `heads_in [batch, tokens, heads*head_dim]`, `logits [batch,
    tokens, heads]`.

    - C1: the last dimension of logits divides that of heads_in, and the others
      agree.

    ```mlir
    func.func @scale(%h: tensor<1x9x64xf32>, %b: tensor<1x9x4xf32>)
        -> tensor<1x9x64xf32> {
      %y = hova.scale_heads %h, %b : tensor<1x9x64xf32>, tensor<1x9x4xf32>
      return %y : tensor<1x9x64xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$heads_in, Hova_Tensor:$logits);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$heads_in `,` $logits attr-dict `:` type($heads_in) `,` type($logits)";
  let hasVerifier = 1;
}

def Hova_ChannelGateOp : Hova_Op<"channel_gate", [Pure,
    Hova_Site<>,
    AllTypesMatch<["y", "result"]>,
    DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getLinearMacs"]>,
    DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
    DeclareOpInterfaceMethods<Hova_DecomposeOpInterface>,
    DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "vertical attention: a sigmoid gate per token and channel";
  let description = [{
    Yu and Zhang, Eq. 7-8: `U = relu(X W_U1 + Y W_U2)`,
    `beta = sigmoid(U W_U + b_U)`, result `beta * Y`.

    Operands: `y [batch, tokens, width]` (output of the output projection),
    `x [batch, tokens, x_width]` (input of the query projection), `input_weight
    [x_width, hidden]` (W_U1), `output_weight [width, hidden]` (W_U2),
    `gate_weight [hidden, width]` (W_U), optional `gate_bias [width]` (b_U).

    - C1: x agrees with y in batch and tokens.
    - C2: input_weight is [x_width, hidden], output_weight [width, hidden].
    - C3: gate_weight is [hidden, width], gate_bias [width].

    ```mlir
    func.func @ver(%y: tensor<1x9x32xf32>, %x: tensor<1x9x32xf32>,
                   %u1: tensor<32x8xf32>, %u2: tensor<32x8xf32>,
                   %u: tensor<8x32xf32>, %b: tensor<32xf32>)
        -> tensor<1x9x32xf32> {
      %r = hova.channel_gate %y, %x, %u1, %u2, %u gate_bias(%b)
          : (tensor<1x9x32xf32>, tensor<1x9x32xf32>, tensor<32x8xf32>,
             tensor<32x8xf32>, tensor<8x32xf32>, tensor<32xf32>)
         -> tensor<1x9x32xf32>
      return %r : tensor<1x9x32xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$y, Hova_Tensor:$x,
      Hova_Tensor:$input_weight, Hova_Tensor:$output_weight,
      Hova_Tensor:$gate_weight, Optional<Hova_Tensor>:$gate_bias);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = [{
    $y `,` $x `,` $input_weight `,` $output_weight `,` $gate_weight
    (`gate_bias` `(` $gate_bias^ `)`)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_ATTENTION_ATTENTIONOPS
