//===- ClusterOps.td - Sums that blocks of a cluster add ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a cluster run at the same time, and each may read the shared memory
// of the others: from compute capability 9.0 on.

#ifndef HOVA_CODEGEN_CUDA_CLUSTEROPS
#define HOVA_CODEGEN_CUDA_CLUSTEROPS

include "codegen/cuda/HovaCudaDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinTypes.td"

def HovaCuda_AddPartsOp
    : HovaCuda_Op<"add_parts", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the sum of the tiles of all blocks of a cluster";
  let description = [{
    `result[i, j] = tile_0[R part + i, j] + tile_1[R part + i, j] + ...`

    where `tile_b` is what block b of the cluster gives, R are the rows of the
    result, and the additions are in the order of the blocks. Each block has R
    rows of the sum, those of its place `part` in the cluster, so that the cluster
    has as many blocks as the tile has times the rows of the result. Blocks of a
    cluster follow each other along z.

    All of them come here, in the same turn of the same loop. The slots hold what
    the block gives until all have read it.

    - C1: tile, slots and result have elements of f32.
    - C2: the tile lies as a product leaves it; the result lies along the row, has
      as many members, which divide rows alone, and as many columns.
    - C3: there are 2 to 8 blocks.
    - C4: the slots are one box with the rows of the tile, and its columns at least.

    ```mlir
    func.func @sum(%t: !hova.tile<64x64xf32, product 2x2>,
                   %s: !hova.slots<1x64x64xf32>, %part: index)
        -> !hova.tile<16x64xf32, row 4x1> {
      %r = hova_cuda.add_parts %t, %s, %part
          : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32>
            -> !hova.tile<16x64xf32, row 4x1>
      return %r : !hova.tile<16x64xf32, row 4x1>
    }
    ```
  }];
  let arguments = (ins HovaCuda_Tile:$tile,
                       Arg<HovaCuda_Slots, "", [MemRead, MemWrite]>:$slots,
                       Index:$part);
  let results = (outs HovaCuda_Tile:$result);
  let assemblyFormat = [{
    $tile `,` $slots `,` $part attr-dict
    `:` type($tile) `,` type($slots) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t countBlocks() {
      return getTile().getType().rows() / getResult().getType().rows();
    }
  }];
}

#endif // HOVA_CODEGEN_CUDA_CLUSTEROPS
