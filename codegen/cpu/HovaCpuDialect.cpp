//===- HovaCpuDialect.cpp - What the CPU says of kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/CpuSchedule.h"
#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/StageSteps.h"
#include "codegen/cpu/ThreadChunks.h"
#include "codegen/cpu/TileOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "codegen/cpu/HovaCpuDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cpu/HovaCpuAttrs.cpp.inc"

void hova::HovaCpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/cpu/HovaCpuAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "codegen/cpu/TileOps.cpp.inc"
      >();
}

namespace hova {

/// Files say what sizes are, and code computes with them.
static constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();

using Emit = llvm::function_ref<InFlightDiagnostic()>;

static LogicalResult checkSize(Emit emitError, StringRef name, int64_t size,
                               int64_t most = kMostSize) {
  if (size < 1 || size > most) {
    return emitError() << "expects '" << name << "' from 1 to " << most
                       << ", got " << size;
  }
  return success();
}

static LogicalResult checkSize(Emit emitError, StringRef name,
                               std::optional<int64_t> size) {
  return size ? checkSize(emitError, name, *size) : success();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
/// The text of an attribute: `<lanes = 64, grain = 48>`, in any order.
class ParameterText {
public:
  explicit ParameterText(AsmParser &parser)
      : parser(parser), place(parser.getCurrentLocation()) {}

  /// A parameter of this name, after which `read` reads all there is.
  void add(StringRef name, std::function<ParseResult()> read) {
    readers.push_back({name, std::move(read)});
  }
  void addSize(StringRef name, std::optional<int64_t> &size) {
    add(name, [this, &size]() -> ParseResult {
      return failure(parser.parseEqual() ||
                     parser.parseInteger(size.emplace()));
    });
  }
  void addNumbers(StringRef name, DenseI64ArrayAttr &numbers) {
    add(name, [this, &numbers]() -> ParseResult {
      return failure(parser.parseEqual() ||
                     parser.parseCustomAttributeWithFallback(numbers));
    });
  }
  /// A parameter without a value.
  void addWord(StringRef name, bool &isThere) {
    add(name, [&isThere] {
      isThere = true;
      return success();
    });
  }
  void addTile(StringRef name, std::optional<RegisterTile> &tile) {
    add(name, [this, &tile] { return parseTile(tile); });
  }

  /// Reads all that is there; `needed` are the names that must be.
  ParseResult parse(ArrayRef<StringRef> needed);
  InFlightDiagnostic emitError() { return parser.emitError(place); }

private:
  ParseResult parseOne();
  ParseResult parseTile(std::optional<RegisterTile> &tile);

  AsmParser &parser;
  SMLoc place;
  SmallVector<std::pair<StringRef, std::function<ParseResult()>>> readers;
  SmallVector<StringRef> seen;
};
} // namespace

ParseResult ParameterText::parse(ArrayRef<StringRef> needed) {
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     [this] { return parseOne(); })) {
    return failure();
  }
  for (StringRef name : needed) {
    if (!llvm::is_contained(seen, name)) {
      return emitError() << "expects '" << name << "'";
    }
  }
  return success();
}

ParseResult ParameterText::parseOne() {
  SMLoc place = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name)) {
    return failure();
  }
  for (auto &[known, read] : readers) {
    if (known != name) {
      continue;
    }
    if (llvm::is_contained(seen, name)) {
      return parser.emitError(place) << "'" << name << "' is there twice";
    }
    seen.push_back(known);
    return read();
  }
  return parser.emitError(place)
         << "expects one of "
         << llvm::join(llvm::make_first_range(readers), ", ") << ", got '"
         << name << "'";
}

ParseResult ParameterText::parseTile(std::optional<RegisterTile> &tile) {
  if (parser.parseEqual()) {
    return failure();
  }
  SMLoc place = parser.getCurrentLocation();
  SmallVector<int64_t> sizes;
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                /*withTrailingX=*/false)) {
    return failure();
  }
  if (sizes.size() != 2) {
    return parser.emitError(place,
                            "expects rows and columns of a tile, as 6x64");
  }
  tile = RegisterTile{sizes[0], sizes[1]};
  return success();
}

static void printSize(AsmPrinter &printer, StringRef name,
                      std::optional<int64_t> size) {
  if (size) {
    printer << ", " << name << " = " << *size;
  }
}

//===----------------------------------------------------------------------===//
// CpuScheduleAttr
//===----------------------------------------------------------------------===//

Attribute CpuScheduleAttr::parse(AsmParser &parser, Type) {
  std::optional<RegisterTile> tile;
  std::optional<int64_t> lanes, grain, kBlock, block, split;
  bool pairs = false, matrixUnit = false;
  ParameterText text(parser);
  text.addTile("tile", tile);
  text.addSize("lanes", lanes);
  text.addSize("grain", grain);
  text.addSize("k_block", kBlock);
  text.addSize("block", block);
  text.addSize("reduction_split", split);
  text.addWord("pairs", pairs);
  text.addWord("matrix_unit", matrixUnit);
  if (text.parse({"tile", "lanes", "grain"})) {
    return {};
  }
  return getChecked([&text] { return text.emitError(); }, parser.getContext(),
                    *tile, *lanes, *grain, kBlock, block, split, pairs,
                    matrixUnit);
}

void CpuScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<tile = " << getTile().rows << 'x' << getTile().columns;
  printSize(printer, "lanes", getLanes());
  printSize(printer, "grain", getGrain());
  printSize(printer, "k_block", getKBlock());
  printSize(printer, "block", getBlock());
  printSize(printer, "reduction_split", getReductionSplit());
  printer << (getPairs() ? ", pairs" : "")
          << (getMatrixUnit() ? ", matrix_unit>" : ">");
}

LogicalResult CpuScheduleAttr::verify(Emit emitError, RegisterTile tile,
                                      int64_t lanes, int64_t grain,
                                      std::optional<int64_t> kBlock,
                                      std::optional<int64_t> block,
                                      std::optional<int64_t> reductionSplit,
                                      bool pairs, bool matrixUnit) {
  if (!llvm::isPowerOf2_64(lanes)) {
    return emitError() << "expects 'lanes' to be a power of two, got " << lanes;
  }
  return success(
      succeeded(
          checkSize(emitError, "tile", tile.rows, CpuFacts::mostTileRows)) &&
      succeeded(
          checkSize(emitError, "tile", tile.columns, CpuFacts::mostLanes)) &&
      succeeded(checkSize(emitError, "lanes", lanes, CpuFacts::mostLanes)) &&
      succeeded(checkSize(emitError, "grain", grain)) &&
      succeeded(checkSize(emitError, "k_block", kBlock)) &&
      succeeded(checkSize(emitError, "block", block)) &&
      succeeded(checkSize(emitError, "reduction_split", reductionSplit)));
}

LaunchShapeAttrInterface CpuScheduleAttr::getLaunchShape(Operation *op) const {
  auto kernel = cast<KernelOp>(op);
  auto recipe = dyn_cast_or_null<CpuRecipeOpInterface>(firstOf(kernel));
  SmallVector<int64_t> costs;
  if (recipe) {
    costs = recipe.getUnitCosts(CpuSchedule::read(kernel));
  }
  std::optional<int64_t> block;
  if (!chunkValuesOf(kernel).empty()) {
    block = CpuSchedule::read(kernel).block;
  }
  auto numbers = [&](ArrayRef<int64_t> given) {
    return given.empty() ? DenseI64ArrayAttr()
                         : DenseI64ArrayAttr::get(getContext(), given);
  };
  // A recipe may come from a plugin, and so may what it says of costs.
  return CpuLaunchAttr::getChecked(
      [kernel]() mutable { return kernel.emitOpError(); }, getContext(),
      kernel.getUnits()->count(), getGrain(), block, numbers(costs),
      numbers(stageStepsOf(kernel)));
}

//===----------------------------------------------------------------------===//
// CpuLaunchAttr
//===----------------------------------------------------------------------===//

Attribute CpuLaunchAttr::parse(AsmParser &parser, Type) {
  std::optional<int64_t> units, grain, block;
  DenseI64ArrayAttr costs, stages;
  ParameterText text(parser);
  text.addSize("units", units);
  text.addSize("grain", grain);
  text.addSize("block", block);
  text.addNumbers("costs", costs);
  text.addNumbers("stages", stages);
  if (text.parse({"units", "grain"})) {
    return {};
  }
  return getChecked([&text] { return text.emitError(); }, parser.getContext(),
                    *units, *grain, block, costs, stages);
}

void CpuLaunchAttr::print(AsmPrinter &printer) const {
  printer << "<units = " << getUnits();
  printSize(printer, "grain", getGrain());
  printSize(printer, "block", getBlock());
  auto printNumbers = [&](StringRef name, DenseI64ArrayAttr numbers) {
    if (numbers) {
      printer << ", " << name << " = ";
      printer.printStrippedAttrOrType(numbers);
    }
  };
  printNumbers("costs", getCosts());
  printNumbers("stages", getStages());
  printer << '>';
}

LogicalResult CpuLaunchAttr::verify(Emit emitError, int64_t units,
                                    int64_t grain, std::optional<int64_t> block,
                                    DenseI64ArrayAttr costs,
                                    DenseI64ArrayAttr stages) {
  // Multiplied by a number of threads it stays an integer.
  constexpr int64_t kMostUnits = int64_t(1) << 40;
  if (failed(checkSize(emitError, "units", units, kMostUnits)) ||
      failed(checkSize(emitError, "grain", grain)) ||
      failed(checkSize(emitError, "block", block))) {
    return failure();
  }
  if (costs && (costs.empty() || units % costs.size() != 0 ||
                llvm::any_of(costs.asArrayRef(),
                             [](int64_t cost) { return cost <= 0; }))) {
    return emitError() << "expects positive costs whose number divides "
                       << units << " units, got " << costs.asArrayRef();
  }
  if (stages && (stages.empty() || stages.size() % StageStep::kNumbers != 0 ||
                 llvm::any_of(stages.asArrayRef(),
                              [](int64_t number) { return number < 0; }))) {
    return emitError() << "expects " << StageStep::kNumbers
                       << " numbers for each stage, none below 0, got "
                       << stages.asArrayRef();
  }
  return success();
}

std::optional<UnitRanges> CpuLaunchAttr::getUnitRanges() const {
  return UnitRanges{getUnits(), getGrain()};
}

LogicalResult CpuLaunchAttr::verifyLaunch(Operation *op,
                                          TypeRange arguments) const {
  auto launch = cast<LaunchOp>(op);
  auto scratch =
      arguments.size() == 3 ? dyn_cast<MemRefType>(arguments[0]) : MemRefType();
  if (!scratch || !scratch.hasStaticShape() || scratch.getRank() != 1 ||
      !scratch.getElementType().isInteger(8) || !arguments[1].isIndex() ||
      !arguments[2].isIndex()) {
    return launch.emitOpError("expects scratch bytes and two indices after "
                              "the buffers of ")
           << launch.getCallee() << ", got " << arguments;
  }
  for (Value buffer : launch.getBuffers()) {
    Operation *place = buffer.getDefiningOp();
    if (place && !isa<ArenaBufferOp, ImageBufferOp, TableBufferOp,
                      ChunkBufferOp, SequenceBufferOp, StepBufferOp>(place)) {
      return launch.emitOpError("expects buffers that are arguments or places "
                                "in the program's memory, got one of '")
             << place->getName() << "'";
    }
    if (isa_and_nonnull<StepBufferOp>(place) && !getStages()) {
      return launch.emitOpError("expects stages for the steps that its kernel "
                                "is to take");
    }
    if (!isa_and_nonnull<ChunkBufferOp>(place)) {
      continue;
    }
    int64_t rows = cast<MemRefType>(buffer.getType()).getShape()[0];
    if (rows != getUnits() || !buffer.hasOneUse()) {
      return launch.emitOpError("expects a chunk buffer of its own with a row "
                                "for each of ")
             << getUnits() << " units, got " << buffer.getType();
    }
  }
  return success();
}

} // namespace hova
