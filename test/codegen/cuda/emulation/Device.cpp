//===- Device.cpp - Runs kernels given as text, for tests -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Device.h"
#include "DriverDevice.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/WgmmaFacts.h"
#include "codegen/cuda/facts/GpuFacts.h"
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
  context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, HovaCudaDialect>();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
    return success();
  });
  auto parsed = parseSourceString<ModuleOp>(text, &context, "kernels");
  if (!parsed) {
    return;
  }
  mostShared = gpuOf(*parsed).groupBytes;
  if (DriverDevice::get()) {
    const GpuFacts *gpu = findGpu(kWgmmaArch);
    auto made = translateToPtx(
        *parsed, text.contains("hova_cuda.wgmma") ? *gpu : gpuOf(*parsed));
    if (!made) {
      errors += llvm::toString(made.takeError());
      return;
    }
    ptx = std::move(*made);
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

/// Says where a device left other bytes than the emulation.
static std::string compare(llvm::ArrayRef<Buffer> emulated,
                           llvm::ArrayRef<Bytes> left) {
  for (auto [buffer, bytes] : llvm::zip(emulated, left)) {
    auto *begin = static_cast<const char *>(buffer.data);
    for (size_t at = 0; at < bytes.size(); at += 4) {
      size_t size = std::min<size_t>(4, bytes.size() - at);
      uint32_t theirs = 0, ours = 0;
      std::memcpy(&theirs, &bytes[at], size);
      std::memcpy(&ours, begin + at, size);
      if (theirs != ours && !(isNan(theirs) && isNan(ours))) {
        return llvm::formatv("byte {0} of '{1}': the device has {2:x8}, the "
                             "emulation {3:x8}",
                             at, buffer.name, theirs, ours);
      }
    }
  }
  return "";
}

hova_emulation_report
Device::emulateLaunch(llvm::StringRef kernel, const Shape &shape,
                      llvm::ArrayRef<Buffer> buffers) const {
  std::vector<hova_emulation_buffer> described;
  std::vector<const void *> arguments;
  for (const Buffer &buffer : buffers) {
    described.push_back(buffer.describe());
    arguments.push_back(&buffer.data);
  }
  hova_emulation_launch launch = {};
  launch.kernel = llvm::cantFail(module->find(kernel));
  std::copy(shape.grid.begin(), shape.grid.end(), launch.grid);
  std::copy(shape.block.begin(), shape.block.end(), launch.block);
  launch.dynamic_shared_bytes = shape.sharedBytes;
  launch.most_shared_bytes = mostShared;
  launch.arguments = arguments.data();
  launch.buffers = described.data();
  launch.buffer_count = described.size();
  launch.seed = shape.seed;
  launch.copies = shape.copies;
  launch.sums = shape.sums;
  launch.approximations = shape.approximations;
  launch.counts_accesses = shape.countsAccesses;
  launch.most_turns = shape.mostTurns;
  launch.overlaps = shape.overlaps;
  return emulate(launch);
}

/// What PTX only approximates may be another number on a device. PTX leaves
/// open too how `mma.sync` adds: there the emulation runs once more, and adds
/// as the device does.
std::string Device::compareWithDriver(llvm::StringRef kernel, Shape shape,
                                      llvm::ArrayRef<Buffer> emulated,
                                      std::vector<Bytes> before,
                                      std::vector<Bytes> *left) const {
  DriverDevice &driver = *DriverDevice::get();
  std::vector<Bytes> memory = before;
  std::string failure = driver.run(ptx, kernel.str(), shape, memory);
  if (left) {
    *left = memory;
  }
  if (!failure.empty() || llvm::StringRef(ptx).contains(".approx")) {
    return failure;
  }
  if (!llvm::StringRef(ptx).contains("mma.sync") ||
      shape.sums == driver.getSums()) {
    return compare(emulated, memory);
  }
  std::vector<Buffer> again;
  for (auto [buffer, bytes] : llvm::zip(emulated, before)) {
    again.emplace_back(buffer.name, buffer.use, bytes);
    again.back().settled = buffer.settled;
  }
  shape.sums = driver.getSums();
  hova_emulation_report report = emulateLaunch(kernel, shape, again);
  return report.message[0] ? report.message : compare(again, memory);
}

hova_emulation_report Device::run(llvm::StringRef kernel, const Shape &shape,
                                  llvm::ArrayRef<Buffer> buffers,
                                  std::vector<Bytes> *left) const {
  std::vector<Bytes> before;
  for (const Buffer &buffer : buffers) {
    before.push_back(buffer.values<char>());
  }
  hova_emulation_report report = emulateLaunch(kernel, shape, buffers);
  if (DriverDevice::get() && !report.message[0]) {
    std::string difference =
        compareWithDriver(kernel, shape, buffers, std::move(before), left);
    snprintf(report.message, sizeof report.message, "%s", difference.c_str());
  }
  return report;
}

} // namespace hova::test
