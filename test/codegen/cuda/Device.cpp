//===- Device.cpp - Runs kernels given as text, for tests -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Device.h"
#include "codegen/cuda/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace hova::test {

Device::Device(llvm::StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  auto parsed = parseSourceString<ModuleOp>(text, &context, "kernels");
  if (!parsed) {
    return;
  }
  PassManager manager(&context);
  manager.addPass(createVerifyDeviceCodePass());
  manager.addPass(createLowerToEmulationPass());
  if (failed(manager.run(*parsed))) {
    return;
  }
  auto compiled = EmulatedModule::compile(*parsed);
  if (compiled) {
    module.emplace(std::move(*compiled));
  } else {
    errors += llvm::toString(compiled.takeError());
  }
}

hova_emulation_report Device::run(llvm::StringRef kernel, const Shape &shape,
                                  llvm::ArrayRef<Buffer> buffers) const {
  std::vector<hova_emulation_buffer> described;
  std::vector<void *> addresses;
  for (const Buffer &buffer : buffers) {
    described.push_back(buffer.describe());
    addresses.push_back(buffer.data);
  }
  std::vector<const void *> arguments;
  for (void *&address : addresses) {
    arguments.push_back(&address);
  }
  hova_emulation_launch launch = {};
  launch.kernel = llvm::cantFail(module->find(kernel));
  std::copy(shape.grid.begin(), shape.grid.end(), launch.grid);
  std::copy(shape.block.begin(), shape.block.end(), launch.block);
  launch.dynamic_shared_bytes = shape.sharedBytes;
  launch.arguments = arguments.data();
  launch.buffers = described.data();
  launch.buffer_count = described.size();
  launch.seed = shape.seed;
  launch.copies = shape.copies;
  launch.sums = shape.sums;
  launch.counts_accesses = shape.countsAccesses;
  launch.most_turns = shape.mostTurns;
  return emulate(launch);
}

} // namespace hova::test
