//===- Device.cpp - Runs kernels given as text, for tests -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Device.h"
#include "DriverDevice.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/Sm80.h"
#include "codegen/cuda/link/Ptx.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

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
  if (DriverDevice::get()) {
    auto text = translateToPtx(*parsed, kGpuArch);
    if (!text) {
      errors += llvm::toString(text.takeError());
      return;
    }
    ptx = std::move(*text);
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

/// Of most operations PTX does not say which one.
static bool isNan(uint32_t word) { return (word & 0x7FFFFFFF) > 0x7F800000; }

/// Says where a device computed other bytes than the emulation. What PTX only
/// approximates may be another number there.
static std::string compare(const std::string &ptx, llvm::StringRef kernel,
                           const Shape &shape, llvm::ArrayRef<Buffer> emulated,
                           std::vector<Bytes> memory) {
  std::string failure =
      DriverDevice::get()->run(ptx, kernel.str(), shape, memory);
  if (!failure.empty() || llvm::StringRef(ptx).contains(".approx")) {
    return failure;
  }
  for (auto [buffer, bytes] : llvm::zip(emulated, memory)) {
    auto *own = static_cast<const char *>(buffer.data);
    for (size_t at = 0; at < bytes.size(); at += 4) {
      size_t size = std::min<size_t>(4, bytes.size() - at);
      uint32_t theirs = 0, ours = 0;
      std::memcpy(&theirs, &bytes[at], size);
      std::memcpy(&ours, own + at, size);
      if (theirs != ours && !(isNan(theirs) && isNan(ours))) {
        return llvm::formatv("byte {0} of '{1}': the device has {2:x8}, the "
                             "emulation {3:x8}",
                             at, buffer.name, theirs, ours);
      }
    }
  }
  return "";
}

hova_emulation_report Device::run(llvm::StringRef kernel, const Shape &shape,
                                  llvm::ArrayRef<Buffer> buffers) const {
  std::vector<hova_emulation_buffer> described;
  std::vector<void *> addresses;
  std::vector<Bytes> before;
  for (const Buffer &buffer : buffers) {
    auto *first = static_cast<const char *>(buffer.data);
    before.emplace_back(first, first + buffer.bytes);
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
  hova_emulation_report report = emulate(launch);
  if (DriverDevice::get() && !report.message[0]) {
    std::string difference =
        compare(ptx, kernel, shape, buffers, std::move(before));
    snprintf(report.message, sizeof report.message, "%s", difference.c_str());
  }
  return report;
}

} // namespace hova::test
