//===- DeviceProgram.cpp - Kernels and launches of a lowered program ------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {

/// The kernel that a function is.
static FailureOr<DeviceKernel> readKernel(LLVM::LLVMFuncOp function) {
  auto threads = function->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  auto bytes = function->getAttrOfType<IntegerAttr>(kGroupBytesAttr);
  int64_t most = gpuOf(function).groupBytes;
  if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
      function.isExternal() || !threads || threads.size() != 1 ||
      threads[0] < 1 || threads[0] > kMostThreads || !bytes ||
      bytes.getInt() < 0 || bytes.getInt() > most) {
    return function.emitOpError("expects a kernel with a body, its threads "
                                "along one axis, and '")
           << kGroupBytesAttr << "' from 0 to " << most;
  }
  return DeviceKernel{function, threads[0], bytes.getInt()};
}

/// Whether a launch gives its kernel what it takes.
static LogicalResult checkLaunch(LaunchOp op, const DeviceKernel &kernel) {
  auto shape = dyn_cast<CudaLaunchAttr>(op.getShape());
  if (!shape) {
    return op.emitOpError("expects the shape of a launch on a GPU, "
                          "'#hova_cuda.launch', got ")
           << op.getShape();
  }
  LLVM::LLVMFuncOp function = kernel.function;
  ArrayRef<Type> parameters = function.getArgumentTypes();
  size_t buffers = op.getBuffers().size();
  size_t sizes = shape.getRun() ? shape.getRun().countSizes() : 0;
  bool fits = parameters.size() == buffers + sizes &&
              llvm::all_of(parameters.take_front(buffers),
                           llvm::IsaPred<LLVM::LLVMPointerType>) &&
              llvm::all_of(parameters.take_back(sizes),
                           [](Type type) { return type.isInteger(32); });
  if (!fits || kernel.threads != shape.getThreads()) {
    return op.emitOpError("expects a kernel of ")
           << buffers << " pointers, " << sizes << " sizes of a run and "
           << shape.getThreads() << " threads, got one of " << parameters.size()
           << " arguments and " << kernel.threads << " threads";
  }
  return success();
}

FailureOr<DeviceProgram> readDeviceProgram(ModuleOp code) {
  DeviceProgram program;
  if (auto whole = code->getParentOfType<ModuleOp>()) {
    program.main = whole.lookupSymbol<func::FuncOp>("main");
  }
  if (!program.main || !program.main->hasAttr(kArenaBytesAttr)) {
    return code.emitError("expects 'main' beside the code of a program");
  }
  if (auto tables = code->getAttrOfType<DenseI64ArrayAttr>(kTablesAttr)) {
    program.tables = tables;
  }
  for (auto table : program.main.getOps<TableBufferOp>()) {
    auto type = dyn_cast<MemRefType>(table.getBuffer().getType());
    int64_t room = program.tables.size() * sizeof(int64_t);
    int64_t offset = table.getOffset();
    if (!type || !type.hasStaticShape() || offset < 0 || offset > room ||
        type.getNumElements() * type.getElementTypeBitWidth() / 8 >
            room - offset) {
      return table.emitOpError("expects '")
             << kTablesAttr << "' of the code to reach there, got "
             << program.tables.size() << " numbers";
    }
  }
  DenseMap<StringAttr, size_t> numbers;
  for (LaunchOp op : program.main.getOps<LaunchOp>()) {
    StringAttr name = op.getCalleeAttr().getAttr();
    auto [found, isNew] = numbers.try_emplace(name, program.kernels.size());
    if (isNew) {
      auto function = code.lookupSymbol<LLVM::LLVMFuncOp>(name);
      if (!function) {
        return op.emitOpError("expects a kernel ") << name << " in the code";
      }
      FailureOr<DeviceKernel> kernel = readKernel(function);
      if (failed(kernel)) {
        return failure();
      }
      program.kernels.push_back(*kernel);
    }
    if (failed(checkLaunch(op, program.kernels[found->second]))) {
      return failure();
    }
    program.launches.push_back({op, found->second});
  }
  return program;
}

} // namespace hova
