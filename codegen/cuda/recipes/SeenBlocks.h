//===- SeenBlocks.h - The blocks of keys that queries see -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_SEENBLOCKS_H
#define HOVA_CODEGEN_CUDA_RECIPES_SEENBLOCKS_H

#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/attention/AttentionOps.h"

namespace hova {

/// Which keys the queries of a block of tokens see (`hova.attention` with a
/// block). They are taken one block after the other, as the dense attention
/// takes boxes:
///
///   entry  0  1  2    3        4              the others
///   block  the window 0        the last       a row of the table
///
/// but for the first and the last block of queries, which see all. A block of
/// the window is not seen again as the first or the last one.
class SeenBlocks {
public:
  /// Of the queries of block `queryBlock`.
  SeenBlocks(GroupEmitter &e, AttentionOp op, Expr queryBlock);
  /// Refers to this.
  KeyList list();

private:
  /// The block at a place in the list; any number where it is none.
  Expr blockAt(Expr entry);
  Expr drawnBlock(Expr place);
  KeyList::Box boxAt(Expr box);

  GroupEmitter &e;
  KernelBuilder &b;
  AttentionOp op;
  int64_t tokens, size, blocks, last, drawn, boxesOfBlock;
  bool areWhole;
  Expr queryBlock;
  Expr isGlobal; ///< all blocks are seen
  Expr ends;     ///< how many of the first and the last block are added
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_SEENBLOCKS_H
