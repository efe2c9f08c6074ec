//===- TileOps.td - Tiles of matrices as two-dimensional vectors ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Between the phases `tile` and `vectorize` a tile of a matrix is one value of
// type `vector<rows x columns>`. The phase `vectorize` gives every row a vector
// of its own, because LLVM keeps a two-dimensional vector that a loop carries as
// an array in memory.

#ifndef HOVA_CODEGEN_CPU_TILEOPS
#define HOVA_CODEGEN_CPU_TILEOPS

include "codegen/cpu/HovaCpuDialect.td"
include "codegen/cpu/TileRows.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class HovaCpu_Op<string mnemonic, list<Trait> traits = []>
    : Op<HovaCpu_Dialect, mnemonic, traits>;

def HovaCpu_Tile : VectorOfRankAndType<[2], [F32]>;
/// A row table: one row number per row of a placed value.
def HovaCpu_RowTable : MemRefOf<[I32]>;
def HovaCpu_Buffer : MemRefOf<[F32, BF16, F16, I8, I32, I64]>;

def HovaCpu_TileLoadOp : HovaCpu_Op<"tile_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a row-major matrix";
  let description = [{
    `tile[i, j] = source[row + i, column + j]`

    With `columns`, only lanes `j < columns` are read, and the others are 0.
    Elements of 16 bits are widened to f32. With a row table the tile gathers its
    rows: row i is row `rows[0, row + i]` of source.

    - C1: source is a matrix with a unit column stride and a static row stride.
    - C2: rows is a matrix of one row.

    ```mlir
    func.func @load(%m: memref<9x40xf32>, %r: index, %c: index)
        -> vector<4x32xf32> {
      %t = hova_cpu.tile_load %m[%r, %c] : memref<9x40xf32> -> vector<4x32xf32>
      return %t : vector<4x32xf32>
    }
    ```
  }];
  let arguments = (ins Arg<HovaCpu_Buffer, "", [MemRead]>:$source, Index:$row,
                       Index:$column, OptionalAttr<I64Attr>:$columns,
                       Arg<Optional<HovaCpu_RowTable>, "", [MemRead]>:$rows);
  let results = (outs HovaCpu_Tile:$tile);
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

def HovaCpu_TileStoreOp
    : HovaCpu_Op<"tile_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a tile written to a row-major matrix";
  let description = [{
    `target[row + i, column + j] = tile[i, j]`

    With `columns`, only lanes `j < columns` are written. Where target holds
    elements of 16 bits, values are rounded to the nearest, ties to even. With a
    row table the tile scatters its rows: row i becomes row `rows[0, row + i]` of
    target.

    - C1: target is a matrix with a unit column stride and a static row stride.
    - C2: rows is a matrix of one row.

    ```mlir
    func.func @store(%t: vector<4x32xf32>, %m: memref<9x40xf32>, %r: index,
                     %c: index) {
      hova_cpu.tile_store %t, %m[%r, %c] {columns = 8 : i64}
          : vector<4x32xf32>, memref<9x40xf32>
      return
    }
    ```
  }];
  let arguments = (ins HovaCpu_Tile:$tile, Arg<HovaCpu_Buffer, "", [MemWrite]>:$target,
                       Index:$row, Index:$column, OptionalAttr<I64Attr>:$columns,
                       Arg<Optional<HovaCpu_RowTable>, "", [MemRead]>:$rows);
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

def HovaCpu_TileProductOp : HovaCpu_Op<"tile_product",
                                 [AttrSizedOperandSegments,
                                  MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a matrix product, or of a part of its inner dimension";
  let description = [{
    `tile[i, j] = sum over k < depth of lhs[row + i, column + k] * rhs[.., k, j]`

    The operand `rhs_indices` is the position of k = 0, j = 0 in rhs. The last two
    dimensions of rhs are k and the column. With `columns`, lanes `j >= columns`
    of rhs are not read, and those lanes of the tile are 0, or those of `init`.

    Accumulation is in f32. The terms are added in order of k, one fused
    multiply-add each, to zero or to the tile `init`: a bias, a residual, or what
    another part of the inner dimension summed up. Elements of 16 bits are
    widened first.

    Pairs: a rhs of i32 is packed with an interleave factor of 2. Each of its
    elements holds two neighbours along k in the type of lhs, the even k in the
    low half. Then `rhs_indices` counts pairs, and the two products of a pair are
    added in any order. Where the depth is odd, the last pair has a zero in its
    high half. A depth that is not a constant is even.

    Prefetch hint: with `prefetch(offset by step, most)`, iteration k prefetches
    elements `[offset + k * step, offset + (k + 1) * step)` of rhs, counted from
    the first element of rhs. A step is at most `most` elements. Where rhs holds
    pairs, k counts pairs. The hint never affects the result.

    The columns of lhs may have any static stride. A left operand whose columns
    are far apart is a matrix that is read transposed.

    - C1: lhs is a matrix with static strides. Where rhs holds pairs, its column
      stride is 1.
    - C2: rhs has unit stride in its last dimension, static strides, at least
      two dimensions, and one index each.
    - C3: `prefetch` has an offset, a step, and `most` of at least 1.
    - C4: where rhs holds pairs, the elements of lhs have 16 bits.
    - C5: init has the type of the tile.

    ```mlir
    func.func @product(%a: memref<197x768xf32, strided<[784, 1]>>,
                       %b: memref<12x768x64xf32>, %r: index, %p: index)
        -> vector<6x64xf32> {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %k = arith.constant 384 : index
      %next = arith.constant 49152 : index
      %t = hova_cpu.tile_product %a[%r, %k], %b[%p, %k, %c0] depth %k
          prefetch(%next by %c4, 8)
          : memref<197x768xf32, strided<[784, 1]>>, memref<12x768x64xf32>
         -> vector<6x64xf32>
      return %t : vector<6x64xf32>
    }
    ```
  }];
  let arguments = (ins Arg<HovaCpu_Buffer, "", [MemRead]>:$lhs, Index:$row, Index:$column,
                       Arg<HovaCpu_Buffer, "", [MemRead]>:$rhs,
                       Variadic<Index>:$rhs_indices, Index:$depth,
                       Optional<Index>:$prefetch_offset, Optional<Index>:$prefetch_step,
                       Optional<HovaCpu_Tile>:$init,
                       OptionalAttr<I64Attr>:$prefetch_most,
                       OptionalAttr<I64Attr>:$columns);
  let results = (outs HovaCpu_Tile:$tile);
  let builders = [
    OpBuilder<(ins "mlir::Type":$tile, "mlir::Value":$lhs, "mlir::Value":$row,
                   "mlir::Value":$column, "mlir::Value":$rhs,
                   "mlir::ValueRange":$rhs_indices, "mlir::Value":$depth,
                   CArg<"mlir::IntegerAttr", "{}">:$columns,
                   CArg<"mlir::Value", "{}">:$init), [{
      build($_builder, $_state, tile, lhs, row, column, rhs, rhs_indices, depth,
            /*prefetch_offset=*/{}, /*prefetch_step=*/{}, init,
            /*prefetch_most=*/{}, columns);
    }]>
  ];
  let assemblyFormat = [{
    $lhs `[` $row `,` $column `]` `,` $rhs `[` $rhs_indices `]` `depth` $depth
    (`prefetch` `(` $prefetch_offset^ `by` $prefetch_step `,` $prefetch_most `)`)?
    (`init` `(` $init^ `:` type($init) `)`)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def HovaCpu_BlockProductOp : HovaCpu_Op<"block_product",
    [SingleBlock, NoTerminator, RecursiveMemoryEffects,
     AttrSizedOperandSegments]> {
  let summary = "a block of a matrix product whose sums lie in memory";
  let description = [{
    `sums[i, j] = sum over k < depth of lhs[row + i, column + k] * rhs[.., k, j]`
    for `i < rows` and all `j < columns`; with `added`, added to what is there.

    This is what a matrix unit of the processor computes, whose sums no vector
    register holds. `sums` is the row and the column where the block begins in
    its buffer. rhs holds pairs, as that of `hova_cpu.tile_product`: each of its
    elements is two neighbours along k, the even k in the low half. Its indices
    count pairs; the depth counts k, and is a multiple of `stepDepth`, 32, or 0.

    The rows are computed by tiles of `height` rows, two at most, which may
    overlap: `height <= rows <= 2 * height`. All blocks of a function have one
    height, a value that its entry computes, since a unit is told once how high
    its tiles are. A row's sums do not depend on it, nor on any other row.

    Accumulation is in f32. 32 steps of k make a sum of their own, which is
    added to the one before: that of the even k, each product added by a fused
    multiply-add from zero on, plus that of the odd. Numbers below 2^-126 are
    zero, as operands and as results.

    With `meanwhile (n)` the region runs n times, in order, with the number of
    the turn as its argument. Nothing in it reads or writes what the product
    writes, or writes what it reads: its turns are spread over the steps of k,
    so that vector and matrix instructions overlap.

    - C1: lhs is a matrix of bf16 with unit column stride.
    - C2: rhs is of i32, has unit stride in its last dimension, static strides,
      and one index for each of its two or more dimensions.
    - C3: sums is a matrix of f32 with unit column stride; columns is a multiple
      of 32, of rhs and of sums alike.
    - C4: a constant depth is a positive multiple of 32.
    - C5: the region has one argument, an index, where it is there.

    ```mlir
    func.func @product(%a: memref<128x768xbf16>, %b: memref<12x384x64xi32>,
                       %s: memref<64x32xf32>, %r: index, %n: index, %h: index) {
      %c0 = arith.constant 0 : index
      %k = arith.constant 768 : index
      hova_cpu.block_product %s[%c0, %c0], %a[%r, %c0], %b[%c0, %c0, %c0]
          rows %n by %h depth %k columns 32
          : memref<64x32xf32>, memref<128x768xbf16>, memref<12x384x64xi32>
      return
    }
    ```
  }];
  let arguments = (ins
      Arg<MemRefOf<[F32]>, "", [MemRead, MemWrite]>:$sums,
      Index:$sums_row, Index:$sums_column,
      Arg<MemRefOf<[BF16]>, "", [MemRead]>:$lhs, Index:$row, Index:$column,
      Arg<MemRefOf<[I32]>, "", [MemRead]>:$rhs, Variadic<Index>:$rhs_indices,
      Index:$rows, Index:$height, Index:$depth, Optional<Index>:$turns,
      I64Attr:$columns, UnitAttr:$added);
  let regions = (region MaxSizedRegion<1>:$meanwhile);
  let builders = [
    OpBuilder<(ins "mlir::Value":$sums, "mlir::ValueRange":$sumsPlace,
                   "mlir::Value":$lhs, "mlir::ValueRange":$lhsPlace,
                   "mlir::Value":$rhs, "mlir::ValueRange":$rhsPlace,
                   "mlir::Value":$rows, "mlir::Value":$height,
                   "mlir::Value":$depth, "int64_t":$columns,
                   CArg<"bool", "false">:$added), [{
      build($_builder, $_state, sums, sumsPlace[0], sumsPlace[1], lhs,
            lhsPlace[0], lhsPlace[1], rhs, rhsPlace, rows, height, depth,
            /*turns=*/{}, $_builder.getI64IntegerAttr(columns),
            added ? $_builder.getUnitAttr() : mlir::UnitAttr());
    }]>
  ];
  let assemblyFormat = [{
    $sums `[` $sums_row `,` $sums_column `]` `,` $lhs `[` $row `,` $column `]` `,`
    $rhs `[` $rhs_indices `]` `rows` $rows `by` $height `depth` $depth
    `columns` $columns (`added` $added^)?
    (`meanwhile` `(` $turns^ `)` $meanwhile)? attr-dict
    `:` type($sums) `,` type($lhs) `,` type($rhs)
  }];
  let extraClassDeclaration = [{
    /// Steps of k that one product of tiles takes, and its columns.
    static constexpr int64_t stepDepth = 32, tileColumns = 16;
    /// Adds the region, which runs `turns` times. Returns its block.
    mlir::Block &runMeanwhile(mlir::Value turns);
  }];
  let hasVerifier = 1;
}

def HovaCpu_TileRowSumOp : HovaCpu_Op<"tile_row_sum", [Pure,
    DeclareOpInterfaceMethods<HovaCpu_TileRowsOpInterface>]> {
  let summary = "the sum of every row of a tile";
  let description = [{
    `sums[i, 0] = sum_j tile[i, j]`

    The terms of a row are added in any order.

    - C1: sums has as many rows as tile, and one column.

    ```mlir
    func.func @sum(%t: vector<4x32xf32>) -> vector<4x1xf32> {
      %s = hova_cpu.tile_row_sum %t : vector<4x32xf32> -> vector<4x1xf32>
      return %s : vector<4x1xf32>
    }
    ```
  }];
  let arguments = (ins HovaCpu_Tile:$tile);
  let results = (outs HovaCpu_Tile:$sums);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($sums)";
  let hasVerifier = 1;
}

def HovaCpu_TileExchangeOp : HovaCpu_Op<"tile_exchange", [Pure,
    AllTypesMatch<["tile", "result"]>,
    DeclareOpInterfaceMethods<HovaCpu_TileRowsOpInterface>]> {
  let summary = "a tile whose neighbours have changed places";
  let description = [{
    `result[i, 2j] = tile[i, 2j + 1]` and `result[i, 2j + 1] = tile[i, 2j]`

    - C1: the number of columns is even.

    ```mlir
    func.func @exchange(%t: vector<4x32xf32>) -> vector<4x32xf32> {
      %r = hova_cpu.tile_exchange %t : vector<4x32xf32>
      return %r : vector<4x32xf32>
    }
    ```
  }];
  let arguments = (ins HovaCpu_Tile:$tile);
  let results = (outs HovaCpu_Tile:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def HovaCpu_TileStackOp : HovaCpu_Op<"tile_stack", [Pure,
    SameTypeOperands,
    DeclareOpInterfaceMethods<HovaCpu_TileRowsOpInterface>]> {
  let summary = "the rows of tiles one below the other";
  let description = [{
    `result[i, j] = parts[i][0, j]`: rows that are read where each stands, such as
    those of a table that begins anew within the tile.

    - C1: there are as many parts as rows, all of one row and of the result's
      columns.

    ```mlir
    func.func @stack(%a: vector<1x32xf32>, %b: vector<1x32xf32>)
        -> vector<2x32xf32> {
      %r = hova_cpu.tile_stack %a, %b
          : vector<1x32xf32>, vector<1x32xf32> -> vector<2x32xf32>
      return %r : vector<2x32xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<HovaCpu_Tile>:$parts);
  let results = (outs HovaCpu_Tile:$result);
  let assemblyFormat = [{
    $parts attr-dict `:` type($parts) `->` type($result)
  }];
  let hasVerifier = 1;
}

def HovaCpu_PairDotOp : HovaCpu_Op<"pair_dot", [Pure, AllTypesMatch<["a", "b"]>,
                                          AllTypesMatch<["sum", "result"]>]> {
  let summary = "a dot product of neighbouring pairs, added to an accumulator";
  let description = [{
    `y[i] = sum[i] + a[2i] b[2i] + a[2i+1] b[2i+1]`

    Accumulation is in f32, and the terms are added in any order. The target
    chooses the instructions.

    - C1: a and b have two elements for each element of sum.

    ```mlir
    func.func @dot(%a: vector<128xbf16>, %b: vector<128xbf16>,
                   %s: vector<64xf32>) -> vector<64xf32> {
      %y = hova_cpu.pair_dot %a, %b, %s : vector<128xbf16>, vector<64xf32>
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

def HovaCpu_StepBufferOp : HovaCpu_Op<"step_buffer", [Pure]> {
  let summary = "what a call does of a kernel";
  let description = [{
    In a program with ranges, for a kernel whose stages a run of few rows takes
    one after the other: the first stage of a call and the end of its stages,
    whether its units are strips of columns and not rows (1), and the rows of the
    run. Where units are strips, a call has all rows. `hova.contents` are those of
    a call that has all stages, and rows.

    ```mlir
    func.func @buffer() {
      %b = hova_cpu.step_buffer : memref<1x4xi64>
      return
    }
    ```
  }];
  let results = (outs MemRefOf<[I64]>:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def HovaCpu_LookupOp : HovaCpu_Op<"lookup", [Pure]> {
  let summary = "an entry of a table of constants for every lane";
  let description = [{
    `y[i] = table[index[i] mod 16]`

    Only the low four bits of an index are read. A table has 16 entries, so that
    it fits one register of 512 bits. The attribute is `dense`, because MLIR
    prints the elements of a `dense` attribute exactly, and those of an array of
    f32 with 7 digits.

    - C1: the result has the shape of index.

    ```mlir
    func.func @half(%i: vector<32xi32>) -> vector<32xf32> {
      %y = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32>
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

#endif // HOVA_CODEGEN_CPU_TILEOPS
