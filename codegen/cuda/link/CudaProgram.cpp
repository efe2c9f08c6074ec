//===- CudaProgram.cpp - Programs for GPUs --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/link/CudaProgram.h"
#include "codegen/HostMachine.h"
#include "codegen/Passes.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/facts/ModelFacts.h"
#include "codegen/cuda/facts/Occupancy.h"
#include "codegen/cuda/link/DeviceCode.h"
#include "codegen/cuda/link/Disassembly.h"
#include "codegen/cuda/link/Ptx.h"
#include "codegen/cuda/link/Ptxas.h"
#include "codegen/cuda/model/BlockCycles.h"
#include "codegen/program/Compile.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;

namespace hova {

/// Emulated programs run wherever hova's runtime does.
static constexpr llvm::StringLiteral kHostCpu = "x86-64";

/// The host's object code of a module. To optimize an emulated kernel takes
/// longer than what it saves, since checks of its accesses take the time, and
/// for a device there is data alone.
static llvm::Expected<std::string> makeObject(llvm::Module &module) {
  std::string broken;
  llvm::raw_string_ostream messages(broken);
  if (llvm::verifyModule(module, &messages)) {
    return llvm::createStringError("generated LLVM code is invalid: " + broken);
  }
  auto machine = makeHostMachine(kHostCpu, "", /*optimization=*/0);
  if (!machine) {
    return machine.takeError();
  }
  // Arithmetic is what the instructions of a GPU say.
  (*machine)->Options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager manager;
  if ((*machine)->addPassesToEmitFile(manager, stream, nullptr,
                                      llvm::CodeGenFileType::ObjectFile)) {
    return llvm::createStringError("LLVM's back end writes no object");
  }
  manager.run(module);
  return std::string(bytes.begin(), bytes.end());
}

namespace {
/// The code of one level.
struct GpuCode {
  const GpuFacts *gpu;
  OwningOpRef<ModuleOp> whole;
  /// What a device runs, once it is assembled.
  std::optional<DeviceProgram> program = std::nullopt;
  std::string ptx = "";
  std::optional<MachineCode> machineCode = std::nullopt;
  std::string withoutCode = ""; ///< why there is no machine code

  ModuleOp code() const { return codeOf(*whole); }
};

class CudaCode final : public ProgramCode {
public:
  CudaCode(MLIRContext *context, CudaMachine machine,
           ArrayRef<const GpuFacts *> gpus, StringRef ptxas,
           const CompileOptions &options)
      : context(context), machine(machine), gpus(gpus), ptxas(ptxas),
        options(options) {}

  void add(ModuleOp code, size_t level) override {
    auto whole = code->getParentOfType<ModuleOp>();
    levels.push_back({gpus[level], cast<ModuleOp>(whole->clone())});
  }

  std::vector<LevelCode> describeLevels() const override {
    std::vector<LevelCode> described;
    for (const GpuCode &level : levels) {
      described.push_back(
          {level.gpu->name.str(), 0, "", "", deviceName(level)});
    }
    return described;
  }

  FailureOr<SmallVector<std::string>>
  generate(DescribeFunction describe) override {
    auto text = generateUnit(describe);
    if (!text) {
      return emitError(UnknownLoc::get(context))
             << llvm::toString(text.takeError());
    }
    return SmallVector<std::string>{std::move(*text)};
  }

  llvm::Error assemble() override;
  DeviceReport report() override;

private:
  std::string deviceName(const GpuCode &level) const {
    return ("hova_device_code." + level.gpu->name + "." + options.prefix).str();
  }

  /// The kernels as host code, which checks what they do.
  llvm::Expected<std::unique_ptr<llvm::Module>> emulate(const GpuCode &level) {
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(level.code()->clone());
    PassManager manager(context);
    manager.addPass(createLowerToEmulationPass());
    if (failed(manager.run(*copy))) {
      return llvm::createStringError("kernels cannot be emulated");
    }
    auto module = translateModuleToLLVMIR(*copy, llvmContext, "hova");
    if (!module) {
      return llvm::createStringError("the code cannot be translated to LLVM");
    }
    return std::move(module);
  }

  /// What of the emulation is seen outside of the object has the program's
  /// name, so that programs can be linked together.
  void finishSymbols(llvm::Module &module) {
    for (llvm::GlobalVariable &global : module.globals()) {
      if (!global.hasLocalLinkage() &&
          global.getName().starts_with("hova_emulated_")) {
        global.setVisibility(llvm::GlobalValue::HiddenVisibility);
        global.setName(global.getName() + "." + options.prefix);
      }
    }
  }

  llvm::Expected<MachineCode> assembleBy(StringRef path, const GpuCode &level);
  llvm::Error findMachineCode(GpuCode &level);
  llvm::Error assemble(GpuCode &level);
  llvm::Expected<std::string> generateUnit(DescribeFunction describe);
  KernelUse useOf(const GpuCode &level, const DeviceKernel &kernel) const;

  MLIRContext *context;
  CudaMachine machine;
  ArrayRef<const GpuFacts *> gpus;
  std::string ptxas;
  const CompileOptions &options;
  SmallVector<GpuCode, 2> levels; ///< that there is code of
  llvm::LLVMContext llvmContext;
  std::string assemblerPath;
};
} // namespace

/// Machine code that is known to hold all kernels.
llvm::Expected<MachineCode> CudaCode::assembleBy(StringRef path,
                                                 const GpuCode &level) {
  llvm::Expected<MachineCode> made = assemblePtx(path, level.ptx, *level.gpu);
  for (const DeviceKernel &kernel : level.program->kernels) {
    LLVM::LLVMFuncOp function = kernel.function;
    StringRef name = function.getName();
    if (made && made->kernels.lookup(name).registers == 0) {
      return llvm::createStringError(path + ": " + made->assembler +
                                     " reports no registers of '" + name + "'");
    }
  }
  return made;
}

/// An assembler that was found and does not do its work is no reason to fail:
/// the driver has one too. One that was asked for is.
llvm::Error CudaCode::findMachineCode(GpuCode &level) {
  if (ptxas == kNoPtxas) {
    level.withoutCode = "--ptxas=none leaves it out";
    return llvm::Error::success();
  }
  assemblerPath = ptxas.empty() ? findCudaTool("ptxas") : ptxas;
  if (assemblerPath.empty()) {
    level.withoutCode = "no ptxas was found";
    return llvm::Error::success();
  }
  llvm::Expected<MachineCode> made = assembleBy(assemblerPath, level);
  if (made) {
    level.machineCode = std::move(*made);
    return llvm::Error::success();
  }
  if (!ptxas.empty()) {
    return made.takeError();
  }
  std::string why = llvm::toString(made.takeError());
  bool isSaid = llvm::any_of(
      levels, [&](const GpuCode &other) { return other.withoutCode == why; });
  level.withoutCode = why;
  if (!isSaid) { // once of all levels
    emitWarning(UnknownLoc::get(context))
        << why
        << "; the program has no machine code, and the driver compiles its PTX "
           "whenever it starts";
  }
  return llvm::Error::success();
}

llvm::Error CudaCode::assemble(GpuCode &level) {
  // What fails before the assembler is hova's fault.
  FailureOr<DeviceProgram> read = readDeviceProgram(level.code());
  if (failed(read)) {
    return llvm::createStringError(std::errc::executable_format_error,
                                   "the code is no program for a GPU");
  }
  level.program = std::move(*read);
  if (machine == CudaMachine::Emulated) {
    return llvm::Error::success();
  }
  auto text = translateToPtx(level.code(), *level.gpu);
  if (!text) {
    return llvm::createStringError(std::errc::executable_format_error, "%s",
                                   llvm::toString(text.takeError()).c_str());
  }
  level.ptx = std::move(*text);
  if (llvm::Error error = findMachineCode(level)) {
    return error;
  }
  return options.emit == EmitKind::MachineCode && !level.machineCode
             ? llvm::createStringError("there is no machine code to write: " +
                                       level.withoutCode)
             : llvm::Error::success();
}

llvm::Error CudaCode::assemble() {
  if (isText(options.emit) && !options.report) {
    return llvm::Error::success();
  }
  for (GpuCode &level : levels) {
    if (llvm::Error error = assemble(level)) {
      return error;
    }
  }
  return llvm::Error::success();
}

/// Text and machine code alone are of one level.
llvm::Expected<std::string> CudaCode::generateUnit(DescribeFunction describe) {
  const GpuCode &first = levels.front();
  if (options.emit == EmitKind::Assembly) {
    return translateToPtx(first.code(), *first.gpu);
  }
  if (options.emit == EmitKind::LLVM) {
    return translateToLlvm(first.code(), *first.gpu);
  }
  if (options.emit == EmitKind::MachineCode) {
    return first.machineCode->bytes;
  }
  auto module = std::make_unique<llvm::Module>("hova", llvmContext);
  if (machine == CudaMachine::Emulated) {
    auto emulated = emulate(first);
    if (!emulated) {
      return emulated.takeError();
    }
    module = std::move(*emulated);
  }
  for (const GpuCode &level : levels) {
    addDeviceCode(*module, deviceName(level), *level.program, *level.gpu,
                  level.ptx, level.machineCode ? &*level.machineCode : nullptr);
  }
  finishSymbols(*module);
  describe(*module);
  return makeObject(*module);
}

KernelUse CudaCode::useOf(const GpuCode &level,
                          const DeviceKernel &kernel) const {
  KernelUse use;
  LLVM::LLVMFuncOp function = kernel.function;
  use.overlaps = settledOf(function).has_value();
  use.name = function.getName().str();
  use.threads = kernel.threads;
  use.sharedBytes = kernel.sharedBytes;
  BlockNeeds needs{kernel.threads, kernel.sharedBytes, std::nullopt};
  if (level.machineCode) {
    use.code = level.machineCode->kernels.lookup(use.name);
    needs.groupBytes += use.code->sharedBytes;
    needs.registers = use.code->registers;
  }
  Occupancy occupancy = getOccupancy(*level.gpu, needs);
  use.blocks = occupancy.blocks;
  use.limits = std::move(occupancy.limits);
  return use;
}

/// Of buffers, each once, without what stands between their rows.
static int64_t bytesOf(ValueRange buffers) {
  int64_t bytes = 0;
  for (Value buffer : SmallPtrSet<Value, 8>(buffers.begin(), buffers.end())) {
    auto type = cast<MemRefType>(buffer.getType());
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// Adds what a disassembler tells of the kernels.
static void addMainLoops(DeviceReport &report, const GpuFacts &gpu,
                         StringRef cubin) {
  auto loops = countMainLoops(report.assemblerPath, cubin);
  if (!loops) {
    report.withoutLoops = llvm::toString(loops.takeError());
    return;
  }
  for (KernelUse &use : report.kernels) {
    if (auto loop = loops->find(use.name); loop != loops->end()) {
      use.loop = loop->second;
      use.loop->moveTime = gpu.moveTime();
    }
  }
}

/// Of a launch on the GPU for which times of this level are modelled.
static std::optional<double>
modelTime(const KernelUse &use, const GpuFacts &level, Operation *function) {
  std::optional<BlockCycles> cycles = blockCyclesOf(function);
  const GpuFacts *gpu = findGpu(level.modelledAs);
  if (!cycles || !gpu) {
    return std::nullopt;
  }
  BlockNeeds needs{use.threads, use.sharedBytes, std::nullopt};
  if (use.code) {
    needs.groupBytes += use.code->sharedBytes;
    needs.registers = use.code->registers;
  }
  auto [x, y, z] = use.grid;
  return modelLaunch(*cycles, x * y * z, getOccupancy(*gpu, needs).blocks,
                     use.threads, use.bytes, *gpu);
}

/// Of the best level.
DeviceReport CudaCode::report() {
  const GpuCode &level = levels.front();
  const GpuFacts &gpu = *level.gpu;
  DeviceReport report;
  report.arch = gpu.name.str();
  report.processors.assign(gpu.processors.begin(), gpu.processors.end());
  report.withoutCode = level.withoutCode;
  report.startTime = kStartTime;
  report.overlappedStartTime = kOverlappedStartTime;
  report.unexplainedTime = kUnexplainedTime;
  if (level.machineCode) {
    report.assembler = level.machineCode->assembler;
    report.assemblerPath = assemblerPath;
  }
  for (const DeviceKernel &kernel : level.program->kernels) {
    report.kernels.push_back(useOf(level, kernel));
  }
  for (const DeviceLaunch &launch : level.program->launches) {
    LaunchOp op = launch.op;
    KernelUse &use = report.kernels[launch.kernel];
    use.launches.push_back(op.getName().str());
    auto shape = cast<CudaLaunchAttr>(op.getShape());
    use.grid = {shape.getX(), shape.getY(), shape.getZ()};
    use.flops = op.getFlops();
    use.bytes = bytesOf(op.getBuffers());
    use.modelledTime =
        modelTime(use, gpu, level.program->kernels[launch.kernel].function);
  }
  if (level.machineCode && options.reportLoops) {
    addMainLoops(report, gpu, level.machineCode->bytes);
  }
  return report;
}

std::vector<std::string> CudaProgram::getLevels() const {
  std::vector<std::string> names;
  for (const GpuFacts *gpu : levels) {
    names.push_back(gpu->name.str());
  }
  return names;
}

std::shared_ptr<const Target> CudaProgram::getTarget(size_t level) const {
  bool haveClusters = llvm::all_of(
      levels, [](const GpuFacts *gpu) { return gpu->hasClusters; });
  return std::make_shared<CudaTarget>(*levels.front(), *levels[level],
                                      haveClusters);
}

std::unique_ptr<ProgramCode>
CudaProgram::makeCode(MLIRContext *context,
                      const CompileOptions &options) const {
  return std::make_unique<CudaCode>(context, machine, levels, ptxas, options);
}

} // namespace hova
