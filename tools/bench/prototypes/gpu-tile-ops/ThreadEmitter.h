//===- ThreadEmitter.h - Tiles as registers of threads --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A member is a warp. Of a tile a thread holds a small matrix, `Fragment`,
// whose elements are SSA values. Along `product`, thread l of a warp holds
//
//   rows     16 a + l / 4 + 8 h      a < rows / 16,    h < 2
//   columns  8 c + 2 (l % 4) + e     c < columns / 8,  e < 2
//
// of its member's part, which is where mma.sync and wgmma leave their sums, and
// where both want a left operand of 16 bits. Along `row` it holds all rows and
// the columns 128 c + 4 l + e, e < 4. What differs between two generations is
// how a copy is made, waited for, and multiplied.

#ifndef THREADEMITTER_H
#define THREADEMITTER_H

#include "Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tile {

/// Which elements of a tile a thread holds: `row + rows[r]`, `column +
/// columns[c]`, element (r, c) being value r * columns.size() + c.
struct Fragment {
  mlir::Value row, column;
  llvm::SmallVector<int64_t> rows, columns;
  /// Columns that lie beside each other from every multiple of it on.
  int64_t run = 1;
  size_t size() const { return rows.size() * columns.size(); }
};

/// A buffer of group memory: bytes from the start of the group's memory.
struct Slots {
  int64_t offset, bytes, rows, barrier;
};

class ThreadEmitter {
public:
  explicit ThreadEmitter(mlir::func::FuncOp from);
  virtual ~ThreadEmitter() = default;
  mlir::LogicalResult emit();

protected:
  using Values = llvm::SmallVector<mlir::Value>;

  /// What one generation knows.
  virtual void addArguments(llvm::SmallVector<mlir::Type> &inputs) {}
  virtual void begin() {}
  virtual Values copy(CopyOp op) = 0;
  virtual mlir::LogicalResult wait(WaitOp op) = 0;
  virtual mlir::LogicalResult product(ProductOp op) = 0;
  virtual llvm::SmallVector<mlir::Type> tokenTypes() { return {}; }
  virtual mlir::LogicalResult enterLoop(mlir::scf::ForOp) {
    return mlir::success();
  }
  virtual mlir::LogicalResult leaveLoop(mlir::scf::ForOp) {
    return mlir::success();
  }

  // Scalars. `index` has 32 bits here.
  mlir::Value index(int64_t value);
  mlir::Value i32(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y);
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value exclusiveOr(mlir::Value x, mlir::Value y);
  mlir::Value below(mlir::Value x, int64_t extent);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value toI32(mlir::Value index);
  mlir::Value at(mlir::Value old) { return map.lookup(old); }
  mlir::Type type(llvm::StringRef text);

  /// Address of a byte of group memory; of an element of a matrix.
  mlir::Value groupAddress(mlir::Value byte);
  mlir::Value address(mlir::Value matrix, mlir::Value row, mlir::Value column);

  /// Byte of (row, 8 chunk) of a slot. Rows have 128 bytes, whose chunks of 16
  /// are exchanged so that eight rows of a chunk lie in different banks; the
  /// same order as TMA's and wgmma's 128-byte swizzle.
  mlir::Value slotByte(const Slots &slots, mlir::Value slot, mlir::Value row,
                       mlir::Value chunk);

  /// Two elements of 16 bits in a register, the first in the low half.
  mlir::Value pack(mlir::Value low, mlir::Value high);

  /// The registers of rows 16 a to 16 a + 15 and columns 16 k to 16 k + 15 of a
  /// tile of 16 bits as a left operand.
  Values leftOperand(mlir::Value tile, int64_t a, int64_t k);

  Fragment fragment(TileType type);

  mlir::func::FuncOp from;
  mlir::ImplicitLocOpBuilder b;
  mlir::LLVM::LLVMFuncOp to;
  mlir::IRMapping map;
  /// What tiles and tokens became.
  llvm::DenseMap<mlir::Value, Values> parts;
  llvm::DenseMap<mlir::Value, Slots> slotsOf;
  /// Memory of the group, of which barriers come first.
  mlir::Value groupMemory;
  int64_t groupBytes = 0, barriers = 0, threads = 0;
  mlir::Value thread, lane, member;

private:
  void declare();
  void allocate();
  mlir::LogicalResult emitOps(mlir::Block &block);
  mlir::LogicalResult emitOp(LoadOp op);
  mlir::LogicalResult emitOp(StoreOp op);
  mlir::LogicalResult emitOp(ReduceOp op);
  mlir::LogicalResult emitOp(MapOp op);
  mlir::LogicalResult emitOp(mlir::scf::ForOp op);
  mlir::Value emitScalar(mlir::Operation &op);
  mlir::Value erf(mlir::Value x);
  mlir::Value intrinsic(llvm::StringRef name, mlir::Value x);
  mlir::Value shuffle(mlir::Value x, int64_t distance);
  mlir::Value constant(double value);
  mlir::Value insideOf(mlir::Value matrix, TileType tile, mlir::Value row,
                       mlir::Value column);
  Values &partsOf(mlir::Value old) { return parts[old]; }
  llvm::SmallVector<mlir::Type> partTypes(mlir::Type old);
};

std::unique_ptr<ThreadEmitter> makeSm80Emitter(mlir::func::FuncOp from);
std::unique_ptr<ThreadEmitter> makeSm90Emitter(mlir::func::FuncOp from);

} // namespace tile

#endif // THREADEMITTER_H
