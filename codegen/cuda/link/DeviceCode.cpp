//===- DeviceCode.cpp - The constant that describes code for a GPU --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/link/DeviceCode.h"
#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/lower/BufferUses.h"
#include "codegen/program/ConstantBuilder.h"
#include "dialect/Ranges.h"
#include "passes/tile/ProgramAttrs.h"
#include "runtime/hova_runtime.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

/// Where a buffer of a launch lies.
static uint64_t placeOf(Value buffer, int64_t inputs) {
  if (auto arena = buffer.getDefiningOp<ArenaBufferOp>()) {
    return arena.getOffset() | HOVA_IN_ARENA;
  }
  if (auto image = buffer.getDefiningOp<ImageBufferOp>()) {
    return image.getOffset() | HOVA_IN_WEIGHTS;
  }
  if (auto table = buffer.getDefiningOp<TableBufferOp>()) {
    return table.getOffset() | HOVA_IN_TABLES;
  }
  if (buffer.getDefiningOp<SequenceBufferOp>()) {
    return HOVA_IN_SEQUENCES;
  }
  int64_t number = cast<BlockArgument>(buffer).getArgNumber();
  return number < inputs
             ? number << HOVA_BUFFER_KIND_BITS | HOVA_INPUT
             : (number - inputs) << HOVA_BUFFER_KIND_BITS | HOVA_OUTPUT;
}

static hova_device_use useOf(const BufferUse &use) {
  return !use.isWritten ? HOVA_DEVICE_INPUT
         : use.isRead   ? HOVA_DEVICE_STATE
                        : HOVA_DEVICE_OUTPUT;
}

/// What a launch says of its grid in a run (`hova_device_launch`).
static std::array<int64_t, 6> sizesOf(CudaRunAttr run) {
  return run ? std::array{run.getItemUnits(),    run.getTokenUnits(),
                          run.getLongestUnits(), run.getBlockUnits(),
                          run.getItemEntries(),  int64_t(run.getOfOther())}
             : std::array<int64_t, 6>{};
}

namespace {
class DeviceCodeBuilder {
public:
  DeviceCodeBuilder(llvm::Module &module, const DeviceProgram &program,
                    const MachineCode *code)
      : build(module), program(program), code(code) {
    for (const DeviceKernel &kernel : program.kernels) {
      uses.push_back(getBufferUses(kernel.function));
    }
  }

  llvm::Constant *describe(const GpuFacts &gpu, StringRef ptx) {
    SmallVector<llvm::Constant *> kernels, launches;
    for (const DeviceKernel &kernel : program.kernels) {
      kernels.push_back(describeKernel(kernel, ptx.empty()));
    }
    for (const DeviceLaunch &launch : program.launches) {
      launches.push_back(describeLaunch(launch));
    }
    bool hasTables = !program.tables.empty();
    // Emulated, it runs as on the GPU that it is for.
    uint32_t last = gpu.isExact && !ptx.empty() ? gpu.capability : UINT32_MAX;
    return build.record({build.i32(gpu.capability), build.i32(last),
                         build.i32(gpu.groupBytes), build.i32(kernels.size()),
                         build.i32(launches.size()), build.array(kernels),
                         build.array(launches),
                         ptx.empty() ? build.null() : build.text(ptx),
                         code ? build.file(code->bytes) : build.null(),
                         build.i64(code ? code->bytes.size() : 0),
                         hasTables ? build.table(program.tables) : build.null(),
                         build.i64(program.tables.size() * sizeof(int64_t)),
                         code ? build.text(code->assembler) : build.null()});
  }

private:
  llvm::Constant *describeKernel(const DeviceKernel &kernel, bool isEmulated) {
    LLVM::LLVMFuncOp function = kernel.function;
    StringRef name = function.getName();
    MachineCodeUse use = code ? code->kernels.lookup(name) : MachineCodeUse();
    size_t buffers = llvm::count_if(function.getArgumentTypes(),
                                    llvm::IsaPred<LLVM::LLVMPointerType>);
    return build.record(
        {build.text(name), build.i32(kernel.threads),
         build.i32(kernel.sharedBytes), build.i32(buffers),
         isEmulated ? build.constant(("hova_emulated_" + name).str())
                    : build.null(),
         build.i32(use.registers), build.i32(use.spilledBytes),
         build.i32(use.localBytes), build.i32(settledOf(function).has_value()),
         build.i32(function.getNumArguments() - buffers)});
  }

  /// Tokens of a run of the largest sizes.
  int64_t countTokens(Extent extent) const {
    auto ranges = SequenceRanges::readFrom(program.main);
    return ranges ? ranges->countRows(extent) : 0;
  }

  /// `runRows` are those that a run has of each (`#hova_cuda.run`), or nothing.
  llvm::Constant *describeBuffer(Value buffer, const BufferUse &use,
                                 ArrayRef<int64_t> runRows) {
    std::array<int64_t, 3> ofEach{};
    llvm::copy(runRows, ofEach.begin());
    auto [ofItem, ofToken, ofOther] = ofEach;
    auto type = cast<MemRefType>(buffer.getType());
    int64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    int64_t rows = type.getNumElements() / type.getShape().back();
    int64_t columns = type.getShape().back(), stride = columns;
    if (type.getRank() == 2) {
      stride = type.getStridesAndOffset().first.front();
    }
    if ((ofToken > 0 && rows != countTokens(Extent::tokens)) ||
        (ofOther > 0 && rows != countTokens(Extent::otherTokens))) {
      // Integers [items, tokens] are those of all items after each other.
      rows = rows * columns;
      columns = stride = 1;
    }
    auto inputs = program.main->getAttrOfType<IntegerAttr>(kInputsAttr);
    return build.record({build.i64(placeOf(buffer, inputs.getInt())),
                         build.i64(rows), build.i64(columns * element),
                         build.i64(stride * element), build.i32(useOf(use)),
                         build.i32(ofItem), build.i32(ofToken),
                         build.i32(ofOther)});
  }

  llvm::Constant *describeLaunch(const DeviceLaunch &launch) {
    LaunchOp op = launch.op;
    auto shape = cast<CudaLaunchAttr>(op.getShape());
    CudaRunAttr run = shape.getRun();
    SmallVector<llvm::Constant *> buffers;
    for (auto [number, buffer, use] :
         llvm::enumerate(op.getBuffers(), uses[launch.kernel])) {
      buffers.push_back(describeBuffer(
          buffer, use, run ? run.getRowsOf(number) : ArrayRef<int64_t>()));
    }
    SmallVector<llvm::Constant *> fields = {
        build.i32(launch.kernel), build.i32(shape.getX()),
        build.i32(shape.getY()), build.i32(shape.getZ()), build.array(buffers)};
    for (int64_t size : sizesOf(run)) {
      fields.push_back(build.i32(size));
    }
    return build.record(fields);
  }

  ConstantBuilder build;
  const DeviceProgram &program;
  const MachineCode *code;
  SmallVector<SmallVector<BufferUse>> uses; ///< of each kernel's arguments
};
} // namespace

void addDeviceCode(llvm::Module &module, StringRef name,
                   const DeviceProgram &program, const GpuFacts &gpu,
                   StringRef ptx, const MachineCode *code) {
  llvm::Constant *record =
      DeviceCodeBuilder(module, program, code).describe(gpu, ptx);
  auto global = new llvm::GlobalVariable(
      module, record->getType(),
      /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, record, name);
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
}

} // namespace hova
