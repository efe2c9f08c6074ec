//===- LowerToEmulation.cpp - Make code for a host of kernels -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels, their descriptions, and the shared memories that they name.

#include "codegen/cuda/Passes.h"
#include "codegen/cuda/lower/KernelEmulation.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_LOWERTOEMULATIONPASS
#include "codegen/cuda/Passes.h.inc"

/// Assigns offsets and removes the globals.
static SharedMemories layOutSharedMemories(ModuleOp module) {
  SharedMemories memories;
  SmallVector<LLVM::GlobalOp> dynamic;
  uint64_t alignment = 16;
  for (auto global :
       llvm::make_early_inc_range(module.getOps<LLVM::GlobalOp>())) {
    uint64_t needed = global.getAlignment().value_or(16);
    uint64_t bytes = DataLayout(module).getTypeSize(global.getType());
    if (bytes == 0) {
      alignment = std::max(alignment, needed);
      dynamic.push_back(global);
      continue;
    }
    memories.bytes = llvm::alignTo(memories.bytes, needed);
    memories.offsets[global.getSymNameAttr()] = memories.bytes;
    memories.bytes += bytes;
    global.erase();
  }
  if (!dynamic.empty()) {
    memories.bytes = llvm::alignTo(memories.bytes, alignment);
  }
  for (LLVM::GlobalOp global : dynamic) {
    memories.offsets[global.getSymNameAttr()] = memories.bytes;
    global.erase();
  }
  return memories;
}

namespace {
/// Writes the description of one kernel and its entry.
class Description {
public:
  Description(LLVM::LLVMFuncOp function, const EmulatedKernel &kernel,
              uint64_t sharedBytes)
      : function(function), kernel(kernel), sharedBytes(sharedBytes),
        b(function.getLoc(), function.getContext()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())) {}

  /// Of blocks of so many threads, and clusters of so many blocks.
  void write(uint32_t threads, uint32_t cluster);

private:
  LLVM::LLVMFuncOp writeEntry(ArrayRef<Type> parameters);
  LLVM::GlobalOp writeConstant(StringRef suffix, Type type, Attribute value);
  LLVM::GlobalOp writeText(StringRef suffix, StringRef text);
  LLVM::GlobalOp writeWords(StringRef suffix, ArrayRef<int32_t> words);

  LLVM::LLVMFuncOp function;
  const EmulatedKernel &kernel;
  uint64_t sharedBytes;
  ImplicitLocOpBuilder b;
  Type pointer;
};

LLVM::GlobalOp Description::writeConstant(StringRef suffix, Type type,
                                          Attribute value) {
  return LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                LLVM::Linkage::Internal,
                                (function.getName() + suffix).str(), value);
}

LLVM::GlobalOp Description::writeText(StringRef suffix, StringRef text) {
  // An empty array would be no object to point to.
  std::string ended = text.str() + '\0';
  return writeConstant(suffix,
                       LLVM::LLVMArrayType::get(b.getI8Type(), ended.size()),
                       b.getStringAttr(ended));
}

LLVM::GlobalOp Description::writeWords(StringRef suffix,
                                       ArrayRef<int32_t> words) {
  SmallVector<int32_t> ended(words);
  ended.push_back(0);
  return writeConstant(suffix,
                       LLVM::LLVMArrayType::get(b.getI32Type(), ended.size()),
                       b.getI32TensorAttr(ended));
}

LLVM::LLVMFuncOp Description::writeEntry(ArrayRef<Type> parameters) {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer});
  auto entry = LLVM::LLVMFuncOp::create(
      b, (function.getName() + ".entry").str(), type, LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(b);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> values = {block->getArgument(0)};
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    Value at = LLVM::GEPOp::create(
        b, pointer, pointer, block->getArgument(1),
        ArrayRef<LLVM::GEPArg>(static_cast<int32_t>(index)));
    Value address = LLVM::LoadOp::create(b, pointer, at);
    values.push_back(LLVM::LoadOp::create(b, parameter, address));
  }
  LLVM::CallOp::create(b, function, values);
  LLVM::ReturnOp::create(b, ValueRange());
  return entry;
}

void Description::write(uint32_t threads, uint32_t cluster) {
  b.setInsertionPointAfter(function);
  ArrayRef<Type> parameters =
      function.getFunctionType().getParams().drop_front();
  LLVM::LLVMFuncOp entry = writeEntry(parameters);
  SmallVector<int32_t> sizes;
  for (Type parameter : parameters) {
    sizes.push_back(
        isa<LLVM::LLVMPointerType>(parameter)
            ? 0
            : llvm::divideCeil(parameter.getIntOrFloatBitWidth(), 8));
  }
  SmallVector<LLVM::GlobalOp> globals = {
      writeText(".name", function.getName()),
      writeText(".places", kernel.placeText),
      writeWords(".place_offsets", kernel.placeOffsets),
      writeWords(".parameters", sizes)};
  SmallVector<int64_t> numbers = {static_cast<int64_t>(sizes.size()), threads,
                                  static_cast<int64_t>(sharedBytes),
                                  kernel.sharedGranule, kernel.globalGranule,
                                  cluster};
  SmallVector<Type> members(5, pointer);
  members.append(numbers.size(), b.getI32Type());
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), members);
  auto global = LLVM::GlobalOp::create(
      b, type, /*isConstant=*/true, LLVM::Linkage::External,
      ("hova_emulated_" + function.getName()).str(), Attribute());
  b.createBlock(&global.getInitializer());
  Value value = LLVM::UndefOp::create(b, type);
  int64_t next = 0;
  auto add = [&](Value member) {
    value = LLVM::InsertValueOp::create(b, value, member, next++);
  };
  add(LLVM::AddressOfOp::create(b, globals[0]));
  add(LLVM::AddressOfOp::create(b, entry));
  for (LLVM::GlobalOp other : ArrayRef(globals).drop_front()) {
    add(LLVM::AddressOfOp::create(b, other));
  }
  for (int64_t number : numbers) {
    add(LLVM::ConstantOp::create(b, b.getI32IntegerAttr(number)));
  }
  LLVM::ReturnOp::create(b, value);
}

struct LowerToEmulationPass final
    : impl::LowerToEmulationPassBase<LowerToEmulationPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyDeviceCode(module))) {
      return signalPassFailure();
    }
    SharedMemories memories = layOutSharedMemories(module);
    for (auto function : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>())) {
      lower(function, memories);
    }
    for (StringRef name : {LLVM::LLVMDialect::getTargetTripleAttrName(),
                           LLVM::LLVMDialect::getDataLayoutAttrName()}) {
      module->removeAttr(name);
    }
  }

  void lower(LLVM::LLVMFuncOp function, const SharedMemories &memories) {
    uint32_t threads = 0;
    if (auto shape = function->getAttrOfType<DenseI32ArrayAttr>(
            NVVM::NVVMDialect::getReqntidAttrName())) {
      threads = 1;
      for (int32_t extent : shape.asArrayRef()) {
        threads *= extent;
      }
    }
    uint32_t cluster = 1;
    if (auto shape = function->getAttrOfType<DenseI32ArrayAttr>(
            NVVM::NVVMDialect::getClusterDimAttrName())) {
      cluster = shape.asArrayRef().back();
    }
    EmulatedKernel kernel = KernelEmulation(function, memories).run();
    function.setLinkage(LLVM::Linkage::Internal);
    for (NamedAttribute attribute :
         llvm::to_vector(function->getDiscardableAttrs())) {
      function->removeDiscardableAttr(attribute.getName());
    }
    Description(function, kernel, memories.bytes).write(threads, cluster);
  }
};
} // namespace
} // namespace hova
