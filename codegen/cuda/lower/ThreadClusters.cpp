//===- ThreadClusters.cpp - Sums that blocks of a cluster add -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A block leaves its tile in its own shared memory. When all blocks of the
// cluster have, each reads its rows of every tile, one after the other, and
// none goes on before all have read.

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/DeviceOperations.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {

/// A launch is one of clusters where blocks add their tiles.
void ThreadEmitter::setCluster() {
  from.walk([&](AddPartsOp op) { clusterBlocks = op.countBlocks(); });
  if (clusterBlocks > 1) {
    to->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                b.getDenseI32ArrayAttr({1, 1, int32_t(clusterBlocks)}));
  }
}

/// Arriving releases what the thread has written, and waiting acquires it.
void ThreadEmitter::meetCluster() {
  NVVM::ClusterArriveOp::create(b, /*aligned=*/b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, /*aligned=*/b.getUnitAttr());
}

LogicalResult ThreadEmitter::emitAddParts(AddPartsOp op) {
  if (!slotsOf.count(op.getSlots())) {
    return op.emitOpError("expects slots of this function");
  }
  if (op.countBlocks() != clusterBlocks) {
    return op.emitOpError("expects clusters of ")
           << clusterBlocks << " blocks, as of another sum, got "
           << op.countBlocks();
  }
  const Slots &slots = slotsOf[op.getSlots()];
  constexpr int64_t kBytes = kBankBytes;
  Fragment given = fragment(op.getTile().getType());
  ArrayRef<Value> elements = parts[op.getTile()];
  Value start = offset(memory, slots.offset);
  for (auto [i, r] : llvm::enumerate(given.rows)) {
    for (size_t c = 0; c < given.columns.size(); c += given.run) {
      Value byte = boxByte(slots, add(given.row, i32(r)),
                           add(given.column, i32(given.columns[c])), kBytes);
      Value run = accessOf(elements, /*paired=*/false,
                           i * given.columns.size() + c, given.run);
      LLVM::StoreOp::create(b, run, offset(start, byte), given.run * kBytes);
    }
  }
  meetCluster();
  TileType result = op.getResult().getType();
  Fragment held = fragment(result);
  Value row = add(mul(word(op.getPart()), result.rows()), held.row);
  Values bytes;
  for (int64_t r : held.rows) {
    for (size_t c = 0; c < held.columns.size(); c += held.run) {
      bytes.push_back(boxByte(slots, add(row, i32(r)),
                              add(held.column, i32(held.columns[c])), kBytes));
    }
  }
  auto vector = VectorType::get({held.run}, b.getF32Type());
  Values &sums = parts[op.getResult()];
  for (int64_t block = 0; block < op.countBlocks(); ++block) {
    Value there =
        NVVM::MapaOp::create(b, pointer(kClusterMemory), start, i32(block));
    size_t next = 0;
    for (Value byte : bytes) {
      Value part = LLVM::LoadOp::create(b, vector, offset(there, byte),
                                        held.run * kBytes);
      for (int64_t e = 0; e < held.run; ++e, ++next) {
        Value element = vector::ExtractOp::create(b, part, e);
        if (block == 0) {
          sums.push_back(element);
        } else {
          sums[next] = arith::AddFOp::create(b, sums[next], element);
        }
      }
    }
  }
  meetCluster();
  return success();
}

} // namespace hova
