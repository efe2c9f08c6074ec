//===- WgmmaOps.cpp - Asynchronous products of warp groups ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/WgmmaOps.h"
#include "codegen/cuda/WgmmaFacts.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Sums under way
//===----------------------------------------------------------------------===//

/// Whether a use is one that a sum may have while products add to it.
static bool takesSumUnderWay(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<EndProductsOp, WgmmaWaitOp>(user)) {
    return true;
  }
  if (auto product = dyn_cast<BeginProductOp>(user)) {
    return use.get() == product.getSum() &&
           use.getOperandNumber() == product.getSumMutable().getOperandNumber();
  }
  auto product = dyn_cast<WgmmaOp>(user);
  return product &&
         use.getOperandNumber() >= product.getSums().getBeginOperandIndex();
}

/// The values that a use carries around a loop or along a branch; none of
/// others.
static SmallVector<Value> carriedBy(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto branch = dyn_cast<BranchOpInterface>(user)) {
    if (auto argument =
            branch.getSuccessorBlockArgument(use.getOperandNumber())) {
      return {*argument};
    }
    return {};
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(user);
  if (loop) {
    BlockArgument inside = loop.getTiedLoopRegionIterArg(&use);
    return inside ? SmallVector<Value>{inside, loop.getTiedLoopResult(&use)}
                  : SmallVector<Value>{};
  }
  loop = dyn_cast_or_null<LoopLikeOpInterface>(user->getParentOp());
  if (!loop || !user->hasTrait<OpTrait::IsTerminator>()) {
    return {};
  }
  auto yielded = loop.getYieldedValuesMutable();
  for (auto [place, operand] :
       llvm::enumerate(yielded.value_or(MutableArrayRef<OpOperand>()))) {
    if (&operand == &use) {
      return {loop.getRegionIterArgs()[place], (*loop.getLoopResults())[place]};
    }
  }
  return {};
}

/// What reads a register that a product adds to gets anything, and ptxas would
/// wait before it without saying more than a remark.
static LogicalResult verifyUnderWay(Operation *op) {
  SmallVector<Value> work(op->getResults());
  llvm::SmallPtrSet<void *, 32> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value.getAsOpaquePointer()).second) {
      continue;
    }
    for (OpOperand &use : value.getUses()) {
      if (takesSumUnderWay(use)) {
        continue;
      }
      SmallVector<Value> carried = carriedBy(use);
      if (carried.empty()) {
        InFlightDiagnostic error = op->emitOpError(
            "has a result under way, which may reach the sums of a product, a "
            "wait and loops alone, and reaches '");
        error << use.getOwner()->getName() << "'";
        error.attachNote(use.getOwner()->getLoc()) << "used here";
        return error;
      }
      work.append(carried);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tiles of a group
//===----------------------------------------------------------------------===//

LogicalResult BeginProductOp::verify() {
  TileType sum = getSum().getType();
  auto lhs = cast<ShapedType>(getLhs().getType());
  auto lhsTile = dyn_cast<TileType>(lhs);
  if (bool(lhsTile) == bool(getLhsSlot())) { // C1
    return emitOpError("expects a slot index for a lhs of slots alone");
  }
  SlotsType rhs = getRhs().getType();
  int64_t rows = lhs.getShape().take_back(2)[0], depth = lhs.getShape().back();
  if (rows != sum.rows() || depth != rhs.columns() ||
      rhs.rows() != sum.columns()) {
    return emitOpError("expects ") // C2
           << sum.rows() << "x" << depth << " times " << sum.columns() << "x"
           << depth << ", got " << rows << "x" << depth << " times "
           << rhs.rows() << "x" << rhs.columns();
  }
  Type element = rhs.getElementType();
  if (lhs.getElementType() != element ||
      !(element.isBF16() || element.isF16()) ||
      !sum.getElementType().isF32()) { // C3
    return emitOpError("expects bf16 or f16 of lhs and rhs, and f32 of sum, "
                       "got ")
           << lhs.getElementType() << ", " << element << " and "
           << sum.getElementType();
  }
  auto liesAsSum = [](TileType tile) {
    return tile.getDistribution() == TileDistribution::product &&
           tile.getColumnMembers() == 1 &&
           tile.getRowMembers() % kWgmmaWarps == 0 &&
           tile.rows() * kWgmmaWarps == kWgmmaRows * tile.getRowMembers();
  };
  if (!liesAsSum(sum) || (lhsTile && !liesAsSum(lhsTile))) { // C4
    return emitOpError("expects tiles as a product leaves them, with ")
           << kWgmmaRows / kWgmmaWarps << " rows for each of a multiple of "
           << kWgmmaWarps << " members, got " << sum << " and " << lhs;
  }
  int64_t columns = sum.columns();
  if ((depth != 32 && depth != 64) || columns % kWgmmaColumns ||
      columns > kMostWgmmaColumns) { // C5
    return emitOpError("expects boxes of 32 or 64 columns, and a sum of a "
                       "multiple of ")
           << kWgmmaColumns << " columns, " << kMostWgmmaColumns
           << " at most, got " << depth << " and " << columns;
  }
  return verifyUnderWay(*this); // C6
}

LogicalResult EndProductsOp::verify() {
  if (int64_t(getUnderWay()) < 0) { // C1
    return emitOpError("expects a number of products under way that is not "
                       "negative, got ")
           << int64_t(getUnderWay());
  }
  return getUnderWay() ? verifyUnderWay(*this) : success(); // C2
}

//===----------------------------------------------------------------------===//
// Registers of a thread
//===----------------------------------------------------------------------===//

LogicalResult WgmmaOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getSums().getTypes());
  return success();
}

LogicalResult WgmmaWaitOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getSums().getTypes());
  return success();
}

LogicalResult WgmmaOp::verify() {
  int64_t rowBytes = getRowBytes();
  if (rowBytes != 64 && rowBytes != 128) { // C1
    return emitOpError("expects rows of 64 or 128 bytes, got ") << rowBytes;
  }
  size_t sums = getSums().size(), least = kWgmmaColumns / 2;
  size_t most = kMostWgmmaColumns / 2;
  if (sums == 0 || sums % least || sums > most) { // C2
    return emitOpError("expects a multiple of ")
           << least << " sums, " << most << " at most, got " << sums;
  }
  size_t words = kWgmmaLeftWords * getSteps();
  bool allWords = llvm::all_of(getLhs().getTypes(),
                               [](Type type) { return type.isInteger(); });
  bool isPointer = getLhs().size() == 1 && !allWords;
  if (!isPointer && (!allWords || getLhs().size() != words)) { // C3
    return emitOpError("expects a left operand of one pointer or of ")
           << words << " words, got " << getLhs().getTypes();
  }
  return verifyUnderWay(*this); // C4
}

LogicalResult WgmmaWaitOp::verify() {
  if (getUnderWay() > 7) { // C1
    return emitOpError("expects 0 to 7 groups of products under way, got ")
           << int64_t(getUnderWay());
  }
  return getUnderWay() ? verifyUnderWay(*this) : success(); // C2
}

} // namespace hova

#define GET_OP_CLASSES
#include "codegen/cuda/WgmmaOps.cpp.inc"
