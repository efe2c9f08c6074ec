//===- SumOps.td - Sums of rows that pass between groups ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group that computes some columns of a row knows its part of what a norm of
// the row needs. It leaves a sum for so many columns beside each other, and who
// needs the row's adds these in a fixed order.

#ifndef HOVA_CODEGEN_CUDA_SUMOPS
#define HOVA_CODEGEN_CUDA_SUMOPS

include "codegen/cuda/HovaCudaDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinTypes.td"

def HovaCuda_F32Matrix : MemRefRankOf<[F32], [2]>;

def HovaCuda_StoreSumsOp : HovaCuda_Op<"store_sums", [MemoryEffects<[MemWrite]>]> {
  let summary = "sums of neighbours in every row, written to a matrix";
  let description = [{
    `target[row + i, column + p] = sum of tile[i, width p .. width (p + 1) - 1]`,
    nothing outside target. The elements are added in an order that the type of
    the tile fixes. Row and column are those of `hova.group_store`; `in_bounds` promises
    rows and columns of target, as that does.

    - C1: tile and target have elements of f32.
    - C2: width divides the columns of a member, and threads that share them
      have whole sums: it is a multiple of 8 columns as a product leaves them,
      and of a run along the row.
    - C3: rows of target have static columns, a unit column stride and a static
      row stride.

    ```mlir
    func.func @squares(%t: !hova.tile<64x128xf32, product 2x2>,
                       %m: memref<197x24xf32>, %r: index, %c: index) {
      hova_cuda.store_sums %t, %m[%r, %c] {width = 32 : i64}
          : !hova.tile<64x128xf32, product 2x2>, memref<197x24xf32>
      return
    }
    ```
  }];
  let arguments = (ins HovaCuda_Tile:$tile,
                       Arg<HovaCuda_F32Matrix, "", [MemWrite]>:$target,
                       Index:$row, Index:$column,
                       ConfinedAttr<I64Attr, [IntPositive]>:$width,
                       DefaultValuedAttr<DenseBoolArrayAttr, "{false, false}">:$in_bounds);
  let assemblyFormat = [{
    $tile `,` $target `[` $row `,` $column `]` attr-dict
    `:` type($tile) `,` type($target)
  }];
  let hasVerifier = 1;
}

def HovaCuda_LoadSumsOp : HovaCuda_Op<"load_sums", [MemoryEffects<[MemRead]>]> {
  let summary = "sums of whole rows of a matrix, as a column";
  let description = [{
    `tile[i, 0] = sum over p of source[row + i, p]`, 0 outside source. Threads that
    share a row read parts of it, and the order of the additions follows from the
    types alone. `in_bounds` promises that all rows are those of source.

    - C1: the tile has one column of f32, as a product leaves it or along the
      row.
    - C2: rows of source have static columns, a unit column stride and a static
      row stride.

    ```mlir
    func.func @sums(%m: memref<197x24xf32>, %r: index)
        -> !hova.tile<64x1xf32, product 2x2> {
      %t = hova_cuda.load_sums %m[%r]
          : memref<197x24xf32> -> !hova.tile<64x1xf32, product 2x2>
      return %t : !hova.tile<64x1xf32, product 2x2>
    }
    ```
  }];
  let arguments = (ins Arg<HovaCuda_F32Matrix, "", [MemRead]>:$source, Index:$row,
                       UnitAttr:$in_bounds);
  let results = (outs HovaCuda_Tile:$tile);
  let assemblyFormat = [{
    $source `[` $row `]` attr-dict `:` type($source) `->` type($tile)
  }];
  let hasVerifier = 1;
}

#endif // HOVA_CODEGEN_CUDA_SUMOPS
