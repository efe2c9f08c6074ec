//===- HovaCudaDialect.cpp - What a GPU says of kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/ClusterOps.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/SumOps.h"
#include "codegen/cuda/WgmmaOps.h"
#include "codegen/cuda/facts/GpuFacts.h"
#include "dialect/Shapes.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Units.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

#include "codegen/cuda/HovaCudaDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cuda/HovaCudaAttrs.cpp.inc"

void hova::HovaCudaDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/cuda/HovaCudaAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cuda/LaunchOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cuda/WgmmaOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cuda/SumOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cuda/ClusterOps.cpp.inc"
      >();
}

/// Numbers of matrices that a function takes, each once, in order.
static mlir::LogicalResult verifySettled(mlir::Operation *op,
                                         mlir::Attribute value) {
  auto function = dyn_cast<mlir::FunctionOpInterface>(op);
  auto numbers = dyn_cast<mlir::DenseI64ArrayAttr>(value);
  int64_t least = 0, count = function ? function.getNumArguments() : 0;
  bool isRight = function && numbers;
  for (int64_t number :
       isRight ? numbers.asArrayRef() : llvm::ArrayRef<int64_t>()) {
    isRight &= number >= least && number < count;
    least = number + 1;
  }
  return isRight ? mlir::success()
                 : op->emitOpError("expects '")
                       << hova::kSettledAttr
                       << "' on a function, numbers of its arguments in order, "
                          "got "
                       << value;
}

/// Cycles alone and beside others, on a function.
static mlir::LogicalResult verifyBlockCycles(mlir::Operation *op,
                                             mlir::Attribute value) {
  auto cycles = dyn_cast<mlir::DenseF64ArrayAttr>(value);
  bool isRight = isa<mlir::FunctionOpInterface>(op) && cycles &&
                 cycles.size() == 2 &&
                 llvm::all_of(cycles.asArrayRef(), [](double number) {
                   return std::isfinite(number) && number >= 0;
                 });
  return isRight ? mlir::success()
                 : op->emitOpError("expects '")
                       << hova::kBlockCyclesAttr
                       << "' on a function, two numbers that are not negative, "
                          "got "
                       << value;
}

mlir::LogicalResult
hova::HovaCudaDialect::verifyOperationAttribute(Operation *op,
                                                NamedAttribute attribute) {
  if (attribute.getName() == kBlockCyclesAttr) {
    return verifyBlockCycles(op, attribute.getValue());
  }
  if (attribute.getName() == kSettledAttr) {
    return verifySettled(op, attribute.getValue());
  }
  if (attribute.getName() != kGpuAttr) {
    return success();
  }
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!isa<ModuleOp>(op) || !name || !findGpu(name)) {
    return op->emitOpError("expects '")
           << kGpuAttr << "' on a module, and one of " << getGpuNames()
           << ", got " << attribute.getValue();
  }
  return success();
}

namespace hova {

using Emit = llvm::function_ref<InFlightDiagnostic()>;

/// Files say what sizes are, and code computes with them.
static LogicalResult checkSize(Emit emitError, StringRef name, int64_t size,
                               int64_t most) {
  if (size < 1 || size > most) {
    return emitError() << "expects '" << name << "' from 1 to " << most
                       << ", got " << size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// CudaScheduleAttr
//===----------------------------------------------------------------------===//

LogicalResult CudaScheduleAttr::verify(Emit emitError, int64_t rows,
                                       int64_t columns, int64_t rowWarps,
                                       int64_t columnWarps, int64_t step,
                                       int64_t stages, int64_t underWay,
                                       int64_t cluster) {
  constexpr int64_t kMostSize = int64_t(1) << 20, kMostStages = 16;
  int64_t warps = kMostThreads / kLanes;
  if (failed(checkSize(emitError, "rows", rows, kMostSize)) ||
      failed(checkSize(emitError, "columns", columns, kMostSize)) ||
      failed(checkSize(emitError, "row_warps", rowWarps, warps)) ||
      failed(checkSize(emitError, "column_warps", columnWarps, warps)) ||
      failed(checkSize(emitError, "step", step, kMostSize)) ||
      failed(checkSize(emitError, "stages", stages, kMostStages)) ||
      failed(checkSize(emitError, "cluster", cluster, kMostClusterBlocks))) {
    return failure();
  }
  if (underWay < 0 || (underWay && underWay > stages - 2)) {
    return emitError() << "expects 'under_way' to leave two of the " << stages
                       << " stages, got " << underWay;
  }
  if (rowWarps * columnWarps > warps) {
    return emitError() << "expects at most " << warps << " warps, got "
                       << rowWarps * columnWarps;
  }
  return success();
}

/// Of what a run has for each item and for each token, the rows of a value.
static void addRowsOfRun(Value value, const SequenceRanges &ranges,
                         SmallVectorImpl<int64_t> &rows) {
  Extent extent = extentOf(value);
  int64_t all = staticSize(shapeOf(value).drop_back());
  rows.push_back(extent == Extent::items ? all / ranges.items : 0);
  rows.push_back(extent == Extent::tokens ? 1 : 0);
  if (ranges.haveOtherTokens()) {
    rows.push_back(extent == Extent::otherTokens ? 1 : 0);
  }
}

/// How the launch of a kernel with this grid follows the sizes of a run; null
/// where these are always the same.
static CudaRunAttr runOf(KernelOp kernel, Operation *anchor, const Grid &grid) {
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(kernel);
  if (!ranges) {
    return {};
  }
  SmallVector<int64_t> rows;
  for (Value value :
       llvm::concat<Value>(llvm::to_vector(kernel.getInputs()),
                           llvm::to_vector_of<Value>(kernel.getResults()))) {
    addRowsOfRun(value, *ranges, rows);
  }
  int64_t sequences = ranges->haveOtherTokens() ? 2 : 1;
  if (ranges->haveTokens()) {
    rows.append(1 + sequences, 0); // the table of sequences
  }
  int64_t items = 0, tokens = 0, longest = 0, entries = 0;
  Extent extent = extentOf(anchor->getResult(0));
  if (extent != Extent::fixed && grid.units == 0) {
    entries = grid.z / ranges->items;
    longest = areTokens(extent) ? 1 : 0;
  } else if (extent == Extent::items) {
    items = grid.units / ranges->items;
  } else if (areTokens(extent)) {
    tokens = 1;
  }
  return CudaRunAttr::get(kernel.getContext(), items, tokens, longest,
                          grid.blockUnits, entries, sequences,
                          extent == Extent::otherTokens,
                          DenseI64ArrayAttr::get(kernel.getContext(), rows));
}

LaunchShapeAttrInterface CudaScheduleAttr::getLaunchShape(Operation *op) const {
  auto kernel = cast<KernelOp>(op);
  Operation *anchor = tileAnchorOf(kernel);
  Grid grid = gridOf(anchor, *this);
  return CudaLaunchAttr::getChecked(
      [kernel]() mutable { return kernel.emitOpError(); }, getContext(), grid.x,
      grid.y, grid.z, kLanes * warps(), runOf(kernel, anchor, grid));
}

//===----------------------------------------------------------------------===//
// CudaRunAttr
//===----------------------------------------------------------------------===//

LogicalResult CudaRunAttr::verify(Emit emitError, int64_t itemUnits,
                                  int64_t tokenUnits, int64_t longestUnits,
                                  int64_t blockUnits, int64_t itemEntries,
                                  int64_t sequences, bool ofOther,
                                  DenseI64ArrayAttr rows) {
  auto isNumber = [](int64_t number) {
    return number >= 0 && number <= kMostBlocksX;
  };
  bool areNumbers = llvm::all_of(
      ArrayRef({itemUnits, tokenUnits, longestUnits, itemEntries}), isNumber);
  if (sequences < 1 || sequences > 2 || (ofOther && sequences == 1)) {
    return emitError() << "expects one or two 'sequences', and two where units "
                          "are 'of_other'";
  }
  if (!areNumbers || !isNumber(blockUnits - 1) || !rows ||
      rows.size() % (1 + sequences) != 0 ||
      !llvm::all_of(rows.asArrayRef(), isNumber)) {
    return emitError() << "expects numbers from 0 to " << kMostBlocksX
                       << ", 'block_units' of 1 at least, and " << 1 + sequences
                       << " 'rows' for each buffer";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// CudaLaunchAttr
//===----------------------------------------------------------------------===//

LogicalResult CudaLaunchAttr::verify(Emit emitError, int64_t x, int64_t y,
                                     int64_t z, int64_t threads,
                                     CudaRunAttr run) {
  if (threads % kLanes) {
    return emitError() << "expects whole warps of " << kLanes
                       << " threads, got " << threads;
  }
  return success(
      succeeded(checkSize(emitError, "x", x, kMostBlocksX)) &&
      succeeded(checkSize(emitError, "y", y, kMostBlocksYZ)) &&
      succeeded(checkSize(emitError, "z", z, kMostBlocksYZ)) &&
      succeeded(checkSize(emitError, "threads", threads, kMostThreads)));
}

LogicalResult CudaLaunchAttr::verifyLaunch(Operation *op,
                                           TypeRange arguments) const {
  auto launch = cast<LaunchOp>(op);
  size_t indices = countIndices();
  if (arguments.size() != indices ||
      !llvm::all_of(arguments, [](Type type) { return type.isIndex(); })) {
    return launch.emitOpError("expects ")
           << indices << " indices after the buffers of " << launch.getCallee()
           << ", got " << arguments;
  }
  size_t buffers = launch.getBuffers().size();
  int64_t ofEach = getRun() ? getRun().countSizes() : 0;
  if (getRun() && getRun().getRows().size() != ofEach * int64_t(buffers)) {
    return launch.emitOpError("expects the rows of ")
           << buffers << " buffers in a run, got those of "
           << getRun().getRows().size() / ofEach;
  }
  for (Value buffer : launch.getBuffers()) {
    Operation *place = buffer.getDefiningOp();
    if (place &&
        !isa<ArenaBufferOp, ImageBufferOp, TableBufferOp, SequenceBufferOp>(
            place)) {
      return launch.emitOpError("expects buffers that are arguments or places "
                                "in the arena, in the packed weights or in the "
                                "program's tables, got one of '")
             << place->getName() << "'";
    }
  }
  return success();
}

} // namespace hova
