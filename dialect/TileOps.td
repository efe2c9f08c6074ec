//===- TileOps.td - Tiles of matrices as two-dimensional vectors ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Between `tile` and `vectorize` a tile is one value, `vector<rows x columns>`.
// `vectorize` gives every row a vector of its own: a two-dimensional vector
// carried by a loop would become an array that LLVM keeps in memory.

#ifndef HOVA_DIALECT_TILEOPS
#define HOVA_DIALECT_TILEOPS

include "dialect/HovaDialect.td"

def Hova_Tile : VectorOfRankAndType<[2], [F32]>;
/// Numbers of rows, side by side.
def Hova_RowTable : MemRefOf<[I32]>;
def Hova_Buffer : MemRefOf<[F32, BF16, F16, I8, I32, I64]>;

def Hova_TileLoadOp : Hova_Op<"tile_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a row-major matrix";
  let description = [{
    `tile[i, j] = source[row + i, column + j]`, 0 for `j >= columns` where
    `columns` is given. Elements of 16 bits are widened. With a table of rows
    the rows of the tile are anywhere: row i is row `rows[0, row + i]` of source.

    - C1: source is a matrix with unit column stride and static row stride.
    - C2: rows is a matrix of one row.

    ```mlir
    func.func @load(%m: memref<9x40xf32>, %r: index, %c: index)
        -> vector<4x32xf32> {
      %t = hova.tile_load %m[%r, %c] : memref<9x40xf32> -> vector<4x32xf32>
      return %t : vector<4x32xf32>
    }
    ```
  }];
  let arguments = (ins Arg<Hova_Buffer, "", [MemRead]>:$source, Index:$row,
                       Index:$column, OptionalAttr<I64Attr>:$columns,
                       Arg<Optional<Hova_RowTable>, "", [MemRead]>:$rows);
  let results = (outs Hova_Tile:$tile);
  let builders = [
    OpBuilder<(ins "mlir::Type":$tile, "mlir::Value":$source,
                   "mlir::Value":$row, "mlir::Value":$column,
                   "mlir::IntegerAttr":$columns), [{
      build($_builder, $_state, tile, source, row, column, columns,
            /*rows=*/{});
    }]>
  ];
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` (`rows` `(` $rows^ `:` type($rows) `)`)?
    attr-dict `:` type($source) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Hova_TileStoreOp
    : Hova_Op<"tile_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a tile written to a row-major matrix";
  let description = [{
    `target[row + i, column + j] = tile[i, j]` for `j < columns`, all columns
    where `columns` is not given; rounded to nearest even where target holds
    16 bits. With a table of rows, row i of the tile becomes row `rows[0, row +
    i]` of target.

    - C1: target is a matrix with unit column stride and static row stride.
    - C2: rows is a matrix of one row.

    ```mlir
    func.func @store(%t: vector<4x32xf32>, %m: memref<9x40xf32>, %r: index,
                     %c: index) {
      hova.tile_store %t, %m[%r, %c] {columns = 8 : i64}
          : vector<4x32xf32>, memref<9x40xf32>
      return
    }
    ```
  }];
  let arguments = (ins Hova_Tile:$tile, Arg<Hova_Buffer, "", [MemWrite]>:$target,
                       Index:$row, Index:$column, OptionalAttr<I64Attr>:$columns,
                       Arg<Optional<Hova_RowTable>, "", [MemRead]>:$rows);
  let builders = [
    OpBuilder<(ins "mlir::Value":$tile, "mlir::Value":$target,
                   "mlir::Value":$row, "mlir::Value":$column,
                   "mlir::IntegerAttr":$columns), [{
      build($_builder, $_state, tile, target, row, column, columns,
            /*rows=*/{});
    }]>
  ];
  let assemblyFormat = [{
    $tile `,` $target `[` $row `,` $column `]`
    (`rows` `(` $rows^ `:` type($rows) `)`)? attr-dict
    `:` type($tile) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Hova_TileProductOp : Hova_Op<"tile_product",
                                 [AttrSizedOperandSegments,
                                  MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a matrix product, or of a part of its inner dimension";
  let description = [{
    `tile[i, j] = sum over k < depth of lhs[row + i, column + k] * rhs[.., k, j]`
    where `rhs_indices` is the position of element (0, 0) in rhs, whose last two
    dimensions are k and the column. Where `columns` is given, lanes `j >= columns` of rhs are not read and nothing is added there. The
    sum runs in order of k, one fused multiply-add each; elements of 16 bits are
    widened. A rhs of i32 holds pairs along k of the type of lhs, k = 2i in the
    low half of row i; then `rhs_indices` counts pairs, the two products of a
    pair are added in any order, and a last single k has a zero beside it; a depth
    that is not a constant is even.

    `prefetch(offset by step, most)` is a hint. Iteration k prefetches elements
    `[offset + k * step, offset + (k + 1) * step)` of rhs, counted from its first
    element; a step is at most `most` elements, and where rhs holds pairs k counts
    them. It never affects the result.

    The columns of lhs may lie any distance apart: a matrix that is read down its
    columns, as the transposed left operand of a sum over rows.

    - C1: lhs is a matrix with static strides; where rhs holds pairs its columns
      lie side by side.
    - C2: rhs has unit stride in its last dimension, static strides, at least
      two dimensions, and one index each.
    - C3: `prefetch` has an offset, a step, and `most` of at least 1.
    - C4: a rhs of pairs meets a lhs of 16 bits.

    ```mlir
    func.func @product(%a: memref<197x768xf32, strided<[784, 1]>>,
                       %b: memref<12x768x64xf32>, %r: index, %p: index)
        -> vector<6x64xf32> {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %k = arith.constant 384 : index
      %next = arith.constant 49152 : index
      %t = hova.tile_product %a[%r, %k], %b[%p, %k, %c0] depth %k
          prefetch(%next by %c4, 8)
          : memref<197x768xf32, strided<[784, 1]>>, memref<12x768x64xf32>
         -> vector<6x64xf32>
      return %t : vector<6x64xf32>
    }
    ```
  }];
  let arguments = (ins Arg<Hova_Buffer, "", [MemRead]>:$lhs, Index:$row, Index:$column,
                       Arg<Hova_Buffer, "", [MemRead]>:$rhs,
                       Variadic<Index>:$rhs_indices, Index:$depth,
                       Optional<Index>:$prefetch_offset, Optional<Index>:$prefetch_step,
                       OptionalAttr<I64Attr>:$prefetch_most,
                       OptionalAttr<I64Attr>:$columns);
  let results = (outs Hova_Tile:$tile);
  let builders = [
    OpBuilder<(ins "mlir::Type":$tile, "mlir::Value":$lhs, "mlir::Value":$row,
                   "mlir::Value":$column, "mlir::Value":$rhs,
                   "mlir::ValueRange":$rhs_indices, "mlir::Value":$depth,
                   CArg<"mlir::IntegerAttr", "{}">:$columns), [{
      build($_builder, $_state, tile, lhs, row, column, rhs, rhs_indices, depth,
            /*prefetch_offset=*/{}, /*prefetch_step=*/{}, /*prefetch_most=*/{},
            columns);
    }]>
  ];
  let assemblyFormat = [{
    $lhs `[` $row `,` $column `]` `,` $rhs `[` $rhs_indices `]` `depth` $depth
    (`prefetch` `(` $prefetch_offset^ `by` $prefetch_step `,` $prefetch_most `)`)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Hova_TileRowSumOp : Hova_Op<"tile_row_sum", [Pure]> {
  let summary = "the sum of every row of a tile";
  let description = [{
    `sums[i, 0] = sum_j tile[i, j]`, in any order.

    - C1: sums has the rows of tile and one column.

    ```mlir
    func.func @sum(%t: vector<4x32xf32>) -> vector<4x1xf32> {
      %s = hova.tile_row_sum %t : vector<4x32xf32> -> vector<4x1xf32>
      return %s : vector<4x1xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tile:$tile);
  let results = (outs Hova_Tile:$sums);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($sums)";
  let hasVerifier = 1;
}

def Hova_PairDotOp : Hova_Op<"pair_dot", [Pure, AllTypesMatch<["a", "b"]>,
                                          AllTypesMatch<["sum", "result"]>]> {
  let summary = "the products of pairs, added to sums";
  let description = [{
    `y[i] = sum[i] + a[2i] b[2i] + a[2i+1] b[2i+1]` in f32, in any order. Which
    instructions that takes is known to the target alone.

    - C1: a and b have two elements per element of the sums.

    ```mlir
    func.func @dot(%a: vector<128xbf16>, %b: vector<128xbf16>,
                   %s: vector<64xf32>) -> vector<64xf32> {
      %y = hova.pair_dot %a, %b, %s : vector<128xbf16>, vector<64xf32>
      return %y : vector<64xf32>
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [BF16]>:$a,
                       VectorOfRankAndType<[1], [BF16]>:$b,
                       VectorOfRankAndType<[1], [F32]>:$sum);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat =
      "$a `,` $b `,` $sum attr-dict `:` type($a) `,` type($sum)";
  let hasVerifier = 1;
}

def Hova_Exp2Op : Hova_Op<"exp2", [Pure, SameOperandsAndResultType]> {
  let summary = "two to the power of x, for x that are not large";
  let description = [{
    `2^x` with a relative error of about 1e-7 for x in [-126, 127], or of 1e-4
    where every user rounds it to bf16; below -126 the result is between 0 and
    2^-126, and 0 for -inf, which is what masked scores are. Softmax needs no
    more: its arguments are not positive.

    ```mlir
    func.func @e(%x: vector<32xf32>) -> vector<32xf32> {
      %y = hova.exp2 %x : vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
  }];
  let arguments = (ins FixedVectorOfAnyRank<[F32]>:$x);
  let results = (outs FixedVectorOfAnyRank<[F32]>:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Hova_LookupOp : Hova_Op<"lookup", [Pure]> {
  let summary = "an entry of a table of constants for every lane";
  let description = [{
    `y[i] = table[index[i] mod 16]`: the low four bits of an index count. A table
    is as long as a register of f32 is wide, so that it can stand in one. It is
    `dense` so that its text is exact: MLIR prints an array of f32 with 7 digits.

    - C1: the result has the shape of index.

    ```mlir
    func.func @half(%i: vector<32xi32>) -> vector<32xf32> {
      %y = hova.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32>
          : vector<32xi32> -> vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I32]>:$index,
                       RankedF32ElementsAttr<[16]>:$table);
  let results = (outs VectorOfRankAndType<[1], [F32]>:$result);
  let assemblyFormat =
      "$index `,` $table attr-dict `:` type($index) `->` type($result)";
  let hasVerifier = 1;
}

#endif // HOVA_DIALECT_TILEOPS
