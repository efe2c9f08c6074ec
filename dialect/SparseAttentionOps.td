//===- SparseAttentionOps.td - Attention to blocks of keys ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Attention whose queries see a few blocks of keys each, so that its cost grows
// linearly with the number of tokens.

#ifndef HOVA_DIALECT_SPARSEATTENTIONOPS
#define HOVA_DIALECT_SPARSEATTENTIONOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"
include "mlir/IR/OpAsmInterface.td"

def Hova_BlockSparseAttentionOp
    : Hova_Op<"block_sparse_attention", [Pure, AttrSizedOperandSegments,
        IsolatedFromAbove, SingleBlock, Hova_Site<["getInnerBytes"]>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
        DeclareOpInterfaceMethods<Hova_CostOpInterface, ["getAttentionMacs"]>,
        DeclareOpInterfaceMethods<Hova_StructuredOpInterface>,
        DeclareOpInterfaceMethods<Hova_RowRangeOpInterface,
                                  ["declineRowRange", "getRowRangeSubject"]>,
        DeclareOpInterfaceMethods<Hova_StorageOpInterface>,
        DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "attention of every block of queries to a few blocks of keys";
  let description = [{
    Zaheer et al., Big Bird: Transformers for Longer Sequences, section 2 and
    appendix D. Tokens `block * t .. block * (t + 1) - 1` are block t of n; the
    last may be shorter. Per batch entry and head

    `(S, kept) = scores(Q K^T, batch, head, query, key, captured)`,
    `O_i = softmax over the kept keys j that query i sees of (S_ij) V`.

    The queries of block t see the keys of these blocks:

    - t = 0 and t = n - 1: all (global rows);
    - others: 0 and n - 1 (global columns), t - 1, t and t + 1 (the window), and
      the blocks in row t - 1 of `random_blocks`, which is `[heads, n - 2, r]`.

    A global or window block is seen once. A random block is seen once for every
    time that it stands in its row, besides the others: its exponentials enter
    the softmax as often. A number that is no block, such as -1, is unused.

    The region `scores` is that of `hova.attention`: it makes a score of a raw
    one, whatever the blocks, and says whether the key is kept. A key is also
    masked whose score is -inf, where a raw score of 0 would be, too. Scores and softmax
    are f32 at least. A row all of whose scores are -inf, one without kept keys
    above all, is 0.

    Operands: query `[batch, tokens, heads*key_width]`, key `[batch, tokens,
    key_value_heads*key_width]`, value `[batch, tokens,
    key_value_heads*value_width]`; head m of the queries reads head
    `m / (heads / key_value_heads)` of keys and values, rounded down. Without
    key_value_heads there are as many as of queries. Result `[batch, tokens,
    heads*value_width]`. Threads divide batch entries, heads and blocks of
    queries.

    - C1: query, key and value have three dimensions and share batch and tokens.
    - C2: heads divides the width of the query, and key_value_heads divides heads
      and the widths of key and value.
    - C3: heads of query and key share their width.
    - C4: there are four blocks at least.
    - C5: random_blocks is [heads, blocks - 2, r].
    - C6: the region has the arguments f32, four indices and the captured
      tensors, and ends with hova.score_yield.
    - C7: the region holds scalar operations of arith and math with a meaning
      (`isScoreOperation`), and hova.element of captured tensors.
    - C8: an integer is divided by a constant that is positive.
    - C9: the region yields no third number.
    - C10: the result is [batch, tokens, heads*value_width].

    ```mlir
    func.func @attend(%q: tensor<1x23x8xf32>, %k: tensor<1x23x8xf32>,
                      %v: tensor<1x23x6xf32>, %random: tensor<2x4x1xi32>,
                      %valid: tensor<1x23xi1>) -> tensor<1x23x6xf32> {
      %o = hova.block_sparse_attention %q, %k, %v random_blocks(%random)
          captured(%valid) {heads = 2 : i64, block = 4 : i64}
          : (tensor<1x23x8xf32>, tensor<1x23x8xf32>, tensor<1x23x6xf32>,
             tensor<2x4x1xi32>, tensor<1x23xi1>) -> tensor<1x23x6xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index,
           %is_valid: tensor<1x23xi1>):
        %scale = hova.number 0.5
        %score = arith.mulf %raw, %scale : f32
        %kept = hova.element %is_valid[%batch, %key] : tensor<1x23xi1>
        hova.score_yield %score kept %kept
      }
      return %o : tensor<1x23x6xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$query, Hova_Tensor:$key, Hova_Tensor:$value,
      Optional<TensorOf<[I32]>>:$random_blocks,
      Variadic<AnyTypeOf<[Hova_Tensor, Hova_Ids, Hova_Mask]>>:$captured,
      ConfinedAttr<I64Attr, [IntPositive]>:$heads,
      ConfinedAttr<I64Attr, [IntPositive]>:$block,
      OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$key_value_heads);
  let results = (outs Hova_Tensor:$result);
  let regions = (region SizedRegion<1>:$score_region);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    oilist(`random_blocks` `(` $random_blocks `)`
         | `captured` `(` $captured `)`)
    attr-dict `:` functional-type(operands, $result) `scores` $score_region
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Heads of keys and values.
    int64_t countKeyHeads() { return getKeyValueHeads().value_or(getHeads()); }
    /// Heads of queries that read one of them.
    int64_t getGroup() { return getHeads() / countKeyHeads(); }
    /// Blocks of tokens; dynamic where their number is not known.
    int64_t getBlocks();
    /// Blocks in a row of `random_blocks`; 0 without.
    int64_t getRandomCount();
    /// What the region computes, by name.
    ::hova::ScoreRegion scoreRegion() {
      return ::hova::ScoreRegion(getScoreRegion());
    }
  }];
}

def Hova_IndexTableOp : Hova_Op<"index_table", [Pure,
    DeclareOpInterfaceMethods<Hova_TableOpInterface>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the elements of a weight as integers";
  let description = [{
    `y = round(x)`, ties to even, and -1 where that is no number of 31 bits.
    Weights are floating-point numbers; this makes a table of them of which an
    operation takes indices, such as the random blocks of
    `hova.block_sparse_attention`.

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

#endif // HOVA_DIALECT_SPARSEATTENTIONOPS
