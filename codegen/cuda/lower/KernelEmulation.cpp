//===- KernelEmulation.cpp - A kernel as a function of a thread -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pointer to shared memory stays a pointer of that memory, which the host
// never follows: an access takes its bits, of which the low 32 are the offset.

#include "codegen/cuda/lower/KernelEmulation.h"
#include "codegen/cuda/WgmmaOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace hova {

/// Words of operands of the widest instruction but wgmma, and of its results.
static constexpr unsigned kOperandWords = 10, kResultWords = 4;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value KernelEmulation::i32(int64_t value) {
  return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value KernelEmulation::constantLike(Type type, int64_t value) {
  Attribute scalar = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type)) {
    scalar = DenseElementsAttr::get(vector, scalar);
  }
  return LLVM::ConstantOp::create(b, loc, type, cast<TypedAttr>(scalar));
}

Value KernelEmulation::bits(Value address) {
  return LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), address);
}

Value KernelEmulation::wordOf(Value value) {
  if (isa<LLVM::LLVMPointerType>(value.getType())) {
    return LLVM::TruncOp::create(b, loc, b.getI32Type(), bits(value));
  }
  return value.getType().isInteger(32)
             ? value
             : Value(LLVM::BitcastOp::create(b, loc, b.getI32Type(), value));
}

Value KernelEmulation::fromWord(Value word, Type type) {
  if (type.isInteger(1)) {
    return LLVM::TruncOp::create(b, loc, type, word);
  }
  return type.isInteger(32)
             ? word
             : Value(LLVM::BitcastOp::create(b, loc, type, word));
}

Value KernelEmulation::place(Operation *op) {
  std::string location;
  llvm::raw_string_ostream(location) << op->getLoc();
  StringRef inner(location);
  if (inner.consume_front("loc(")) {
    inner.consume_back(")");
  }
  int32_t number = kernel.placeOffsets.size() / 2;
  for (StringRef text : {op->getName().getStringRef(), inner}) {
    kernel.placeOffsets.push_back(kernel.placeText.size());
    kernel.placeText += text;
    kernel.placeText += '\0';
  }
  return i32(number);
}

LLVM::CallOp KernelEmulation::call(StringRef name, Type result,
                                   ValueRange operands) {
  auto module = function->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        result ? result : LLVM::LLVMVoidType::get(b.getContext()),
        llvm::to_vector(operands.getTypes()));
    callee = LLVM::LLVMFuncOp::create(b, module.getLoc(), name, type);
    // A host must not call it where fewer lanes come.
    callee.setConvergent(true);
  }
  auto made = LLVM::CallOp::create(b, loc, callee, operands);
  made.setConvergent(true);
  return made;
}

void KernelEmulation::noteAccess(unsigned space, uint64_t bytes) {
  uint32_t &granule =
      space == kGlobalMemory ? kernel.globalGranule : kernel.sharedGranule;
  granule = std::min<uint64_t>(granule, bytes);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// What the call takes besides words.
static SmallVector<int64_t, 4> immediatesOf(Operation *op) {
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
    switch (shuffle.getKind()) {
    case NVVM::ShflKind::bfly:
      return {0};
    case NVVM::ShflKind::up:
      return {1};
    case NVVM::ShflKind::down:
      return {2};
    case NVVM::ShflKind::idx:
      return {3};
    }
  }
  if (auto load = dyn_cast<NVVM::LdMatrixOp>(op)) {
    return {load.getNum(), load.getLayout() == NVVM::MMALayout::col};
  }
  if (auto mma = dyn_cast<NVVM::MmaOp>(op)) {
    return {mma.getMultiplicandAPtxType() == NVVM::MMATypes::f16};
  }
  if (auto product = dyn_cast<WgmmaOp>(op)) {
    return {int64_t(product.getSums().size()), int64_t(product.getRowBytes()),
            product.takesWords(), product.getElement().isF16()};
  }
  if (auto wait = dyn_cast<WgmmaWaitOp>(op)) {
    return {int64_t(wait.getSums().size()), int64_t(wait.getUnderWay())};
  }
  return {};
}

void KernelEmulation::lowerRegister(Operation *op,
                                    const DeviceOperation &entry) {
  Value value = call(entry.call, b.getI32Type(), {self, i32(entry.immediate)})
                    .getResult();
  op->getResult(0).replaceAllUsesWith(value);
}

void KernelEmulation::lowerLanes(Operation *op, const DeviceOperation &entry) {
  auto at = [&](Value buffer, unsigned index) -> Value {
    return LLVM::GEPOp::create(b, loc, buffer.getType(), b.getI32Type(), buffer,
                               ArrayRef<LLVM::GEPArg>(index));
  };
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    LLVM::StoreOp::create(b, loc, wordOf(operand), at(operands, index));
  }
  SmallVector<Value> arguments = {self, place(op), operands, results};
  for (int64_t immediate : immediatesOf(op)) {
    arguments.push_back(i32(immediate));
  }
  call(entry.call, Type(), arguments);
  if (isa<NVVM::LdMatrixOp, WgmmaOp>(op)) {
    noteAccess(kSharedMemory, 16);
  }
  if (op->getNumResults() == 0) {
    return;
  }
  auto word = [&](unsigned index, Type type) {
    Value loaded =
        LLVM::LoadOp::create(b, loc, b.getI32Type(), at(results, index));
    return fromWord(loaded, type);
  };
  if (isa<WgmmaOp, WgmmaWaitOp>(op)) {
    for (OpResult result : op->getResults()) {
      result.replaceAllUsesWith(
          word(result.getResultNumber(), result.getType()));
    }
    return;
  }
  Type type = op->getResult(0).getType();
  Value result;
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    result = LLVM::PoisonOp::create(b, loc, type);
    for (auto [index, element] : llvm::enumerate(structure.getBody())) {
      result = LLVM::InsertValueOp::create(b, loc, result, word(index, element),
                                           index);
    }
  } else {
    result = word(0, type);
  }
  op->getResult(0).replaceAllUsesWith(result);
}

/// The call for a number, or for each number of a vector. What a launch chooses
/// the thread knows.
void KernelEmulation::lowerValue(Operation *op, const DeviceOperation &entry) {
  Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  auto isHalf = [](Type given) { return given.isBF16() || given.isF16(); };
  Type returned = isHalf(element) ? Type(b.getI16Type()) : element;
  auto scalar = [&](ValueRange numbers) -> Value {
    SmallVector<Value> arguments;
    if (entry.as == EmulatedAs::Inexact) {
      arguments.push_back(self);
    }
    for (Value number : numbers) {
      arguments.push_back(
          isHalf(number.getType())
              ? Value(LLVM::BitcastOp::create(b, loc, b.getI16Type(), number))
              : number);
    }
    Value value = call(entry.call, returned, arguments).getResult();
    return returned == element
               ? value
               : Value(LLVM::BitcastOp::create(b, loc, element, value));
  };
  auto vector = dyn_cast<VectorType>(type);
  if (!vector) {
    op->getResult(0).replaceAllUsesWith(scalar(op->getOperands()));
    return;
  }
  Value result = LLVM::PoisonOp::create(b, loc, type);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    SmallVector<Value> arguments;
    for (Value operand : op->getOperands()) {
      arguments.push_back(
          LLVM::ExtractElementOp::create(b, loc, operand, i32(i)));
    }
    result = LLVM::InsertElementOp::create(b, loc, result, scalar(arguments),
                                           i32(i));
  }
  op->getResult(0).replaceAllUsesWith(result);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Accesses go where the call says. `alignment` 0: that of the whole access.
void KernelEmulation::lowerAccess(Operation *op, Value address, Type type,
                                  uint64_t alignment) {
  auto vector = dyn_cast<VectorType>(type);
  uint64_t bytes = getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8 *
                   (vector ? vector.getNumElements() : 1);
  // LLVM splits what promises less; each part is aligned then.
  alignment = alignment ? std::min(alignment, bytes) : bytes;
  unsigned space =
      cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace();
  noteAccess(space, alignment);
  std::string name = isa<LLVM::LoadOp>(op) ? "load_" : "store_";
  name = "hova_emulated_" + name +
         (space == kSharedMemory    ? "shared"
          : space == kClusterMemory ? "cluster"
                                    : "global");
  Value at = call(name, LLVM::LLVMPointerType::get(b.getContext()),
                  {self, place(op), bits(address), i32(bytes), i32(alignment)})
                 .getResult();
  if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    LLVM::StoreOp::create(b, loc, store.getValue(), at, alignment);
    return;
  }
  Value loaded = LLVM::LoadOp::create(b, loc, type, at, alignment);
  op->getResult(0).replaceAllUsesWith(loaded);
}

void KernelEmulation::lowerCopy(Operation *op, const DeviceOperation &entry) {
  auto copy = cast<NVVM::CpAsyncOp>(op);
  noteAccess(kSharedMemory, copy.getSize());
  // It may read fewer bytes than it writes.
  noteAccess(kGlobalMemory, copy.getCpSize() ? 1 : copy.getSize());
  Value read = copy.getCpSize() ? copy.getCpSize() : i32(copy.getSize());
  call(entry.call, Type(),
       {self, place(op), bits(copy.getDst()), bits(copy.getSrc()),
        i32(copy.getSize()), read});
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// bf16 is the upper half of f32.
void KernelEmulation::lowerExtension(Operation *op) {
  Type type = op->getResult(0).getType();
  auto like = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  };
  Value half =
      LLVM::BitcastOp::create(b, loc, like(b.getI16Type()), op->getOperand(0));
  Value word = LLVM::ZExtOp::create(b, loc, like(b.getI32Type()), half);
  Value upper =
      LLVM::ShlOp::create(b, loc, word, constantLike(word.getType(), 16));
  Value number = LLVM::BitcastOp::create(b, loc, type, upper);
  op->getResult(0).replaceAllUsesWith(number);
}

/// PTX shifts by the width where more is asked for.
void KernelEmulation::lowerShift(Operation *op) {
  Value value = op->getOperand(0), amount = op->getOperand(1);
  Type type = value.getType();
  int64_t width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Value last = constantLike(type, width - 1);
  Value isInside =
      LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ule, amount, last);
  Value inside = LLVM::UMinOp::create(b, loc, amount, last);
  Value shifted, beyond = constantLike(type, 0);
  if (isa<LLVM::ShlOp>(op)) {
    shifted = LLVM::ShlOp::create(b, loc, value, inside);
  } else if (isa<LLVM::LShrOp>(op)) {
    shifted = LLVM::LShrOp::create(b, loc, value, inside);
  } else {
    shifted = beyond = LLVM::AShrOp::create(b, loc, value, inside);
  }
  Value result = LLVM::SelectOp::create(b, loc, isInside, shifted, beyond);
  op->getResult(0).replaceAllUsesWith(result);
}

/// A host would end the program.
void KernelEmulation::lowerDivision(Operation *op,
                                    const DeviceOperation &entry) {
  auto check = [&](Value dividend, Value divisor) {
    Type type = divisor.getType();
    Value faulty = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq,
                                        divisor, constantLike(type, 0));
    if (isa<LLVM::SDivOp, LLVM::SRemOp>(op)) {
      int64_t width = type.getIntOrFloatBitWidth();
      Value least = constantLike(
          type, llvm::APInt::getSignedMinValue(width).getSExtValue());
      Value isLeast = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq,
                                           dividend, least);
      Value isMinus = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq,
                                           divisor, constantLike(type, -1));
      faulty = LLVM::OrOp::create(
          b, loc, faulty, LLVM::AndOp::create(b, loc, isLeast, isMinus));
    }
    Value word = LLVM::ZExtOp::create(b, loc, b.getI32Type(), faulty);
    call(entry.call, Type(), {self, place(op), word});
  };
  auto vector = dyn_cast<VectorType>(op->getOperand(0).getType());
  if (!vector) {
    return check(op->getOperand(0), op->getOperand(1));
  }
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    check(LLVM::ExtractElementOp::create(b, loc, op->getOperand(0), i32(i)),
          LLVM::ExtractElementOp::create(b, loc, op->getOperand(1), i32(i)));
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static Type withoutHalves(Type type) {
  if (type.isBF16() || type.isF16()) {
    return IntegerType::get(type.getContext(), 16);
  }
  if (auto vector = dyn_cast<VectorType>(type)) {
    return vector.clone(withoutHalves(vector.getElementType()));
  }
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    return LLVM::LLVMStructType::getLiteral(
        type.getContext(),
        llvm::map_to_vector(structure.getBody(), withoutHalves));
  }
  return type;
}

/// Hosts without instructions for bf16 or f16 would call a library even to move
/// one.
void KernelEmulation::removeHalves() {
  function.walk([](Block *block) {
    for (BlockArgument argument : block->getArguments()) {
      argument.setType(withoutHalves(argument.getType()));
    }
  });
  function.getBody().walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      result.setType(withoutHalves(result.getType()));
    }
    auto constant = dyn_cast<LLVM::ConstantOp>(op);
    if (!constant) {
      return;
    }
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    auto numbers = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (number && withoutHalves(number.getType()).isInteger()) {
      constant.setValueAttr(
          b.getIntegerAttr(b.getI16Type(), number.getValue().bitcastToAPInt()));
    } else if (numbers && isa<FloatType>(numbers.getElementType()) &&
               withoutHalves(numbers.getElementType()).isInteger()) {
      constant.setValueAttr(numbers.bitcast(b.getI16Type()));
    }
  });
  auto type = function.getFunctionType();
  function.setFunctionType(LLVM::LLVMFunctionType::get(
      type.getReturnType(),
      llvm::map_to_vector(type.getParams(), withoutHalves)));
}

void KernelEmulation::lowerCustom(Operation *op, const DeviceOperation &entry) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    lowerAccess(op, load.getAddr(), load.getType(),
                load.getAlignment().value_or(0));
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    lowerAccess(op, store.getAddr(), store.getValue().getType(),
                store.getAlignment().value_or(0));
  } else if (isa<NVVM::CpAsyncOp>(op)) {
    lowerCopy(op, entry);
  } else if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
    call(entry.call, Type(), {self, place(op), i32(wait.getN())});
  } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    uint64_t offset =
        memories.offsets.at(address.getGlobalNameAttr().getAttr());
    Value pointer = LLVM::IntToPtrOp::create(
        b, loc, address.getType(), constantLike(b.getI64Type(), offset));
    address.replaceAllUsesWith(pointer);
  } else if (auto mapa = dyn_cast<NVVM::MapaOp>(op)) {
    Value there = call(entry.call, b.getI64Type(),
                       {self, place(op), bits(mapa.getA()), mapa.getB()})
                      .getResult();
    mapa.replaceAllUsesWith(
        LLVM::IntToPtrOp::create(b, loc, mapa.getType(), there).getResult());
  } else if (isa<LLVM::ShlOp, LLVM::LShrOp, LLVM::AShrOp>(op)) {
    lowerShift(op);
  } else if (isa<LLVM::FPExtOp>(op)) {
    lowerExtension(op);
  } else {
    // Barriers, commits and fences.
    call(entry.call, Type(), {self, place(op)});
  }
}

void KernelEmulation::lower(Operation *op, const DeviceOperation &entry) {
  b.setInsertionPoint(op);
  loc = op->getLoc();
  if (isa<LLVM::UDivOp, LLVM::URemOp, LLVM::SDivOp, LLVM::SRemOp>(op)) {
    return lowerDivision(op, entry);
  }
  if (auto gep = dyn_cast<LLVM::GEPOp>(op)) {
    // Addresses wrap around; whether they are inside is for accesses to say.
    gep.setNoWrapFlags(LLVM::GEPNoWrapFlags::none);
    return;
  }
  switch (entry.as) {
  case EmulatedAs::Host:
    if (auto overflow = dyn_cast<LLVM::IntegerOverflowFlagsInterface>(op)) {
      overflow.setOverflowFlags(LLVM::IntegerOverflowFlags::none);
    }
    if (auto fast = dyn_cast<LLVM::FastmathFlagsInterface>(op)) {
      op->setAttr(fast.getFastmathAttrName(),
                  LLVM::FastmathFlagsAttr::get(op->getContext(),
                                               LLVM::FastmathFlags::none));
    }
    return;
  case EmulatedAs::Register:
    lowerRegister(op, entry);
    break;
  case EmulatedAs::Lanes:
    lowerLanes(op, entry);
    break;
  case EmulatedAs::Value:
  case EmulatedAs::Inexact:
    lowerValue(op, entry);
    break;
  case EmulatedAs::Custom:
    lowerCustom(op, entry);
    break;
  }
  op->erase();
}

/// A call in front of each branch that may go back: a host would not come out
/// of a loop that never ends, and a thread in it meets nobody.
void KernelEmulation::countTurns() {
  llvm::SmallPtrSet<Block *, 16> seen, onPath;
  // Blocks on the way from the entry, and the next successor of each.
  SmallVector<std::pair<Block *, unsigned>> path;
  auto enter = [&](Block *block) {
    if (seen.insert(block).second) {
      onPath.insert(block);
      path.emplace_back(block, 0);
    }
  };
  llvm::SmallSetVector<Operation *, 4> branches;
  enter(&function.getBody().front());
  while (!path.empty()) {
    auto &[block, next] = path.back();
    if (next == block->getNumSuccessors()) {
      onPath.erase(block);
      path.pop_back();
      continue;
    }
    Block *successor = block->getSuccessor(next++);
    if (onPath.contains(successor)) {
      branches.insert(block->getTerminator());
    }
    enter(successor);
  }
  for (Operation *branch : branches) {
    b.setInsertionPoint(branch);
    loc = branch->getLoc();
    call("hova_emulated_turn", Type(), {self, place(branch)});
  }
}

EmulatedKernel KernelEmulation::run() {
  SmallVector<Operation *> body;
  function.getBody().walk([&](Operation *op) { body.push_back(op); });
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Block &entryBlock = function.getBody().front();
  // They count arguments from the first.
  function.removeArgAttrsAttr();
  self = entryBlock.insertArgument(0u, pointer, function.getLoc());
  SmallVector<Type> types = {pointer};
  llvm::append_range(types, function.getFunctionType().getParams());
  function.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), types));
  b.setInsertionPointToStart(&entryBlock);
  loc = function.getLoc();
  unsigned operandWords = kOperandWords, resultWords = kResultWords;
  for (Operation *op : body) {
    if (isa<WgmmaOp, WgmmaWaitOp>(op)) {
      operandWords = std::max(operandWords, op->getNumOperands());
      resultWords = std::max(resultWords, op->getNumResults());
    }
  }
  operands = LLVM::AllocaOp::create(b, loc, pointer, b.getI32Type(),
                                    i32(operandWords));
  results =
      LLVM::AllocaOp::create(b, loc, pointer, b.getI32Type(), i32(resultWords));
  for (Operation *op : body) {
    lower(op, *findDeviceOperation(op));
  }
  countTurns();
  removeHalves();
  return std::move(kernel);
}

} // namespace hova
