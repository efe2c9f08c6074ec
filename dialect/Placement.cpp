//===- Placement.cpp - Where the rows of a rearranged tensor come from ----===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/HovaDialect.h"
#include "dialect/Shapes.h"
#include "mlir/IR/DialectImplementation.h"
#include <numeric>

#include "dialect/PlacementInterface.cpp.inc"

using namespace mlir;
using namespace hova;

namespace {
/// Two sides of something, height first.
struct Sides {
  int64_t height = 0, width = 0;

  int64_t area() const { return height * width; }
  bool divides(const Sides &other) const {
    return height > 0 && width > 0 && other.height > 0 && other.width > 0 &&
           other.height % height == 0 && other.width % width == 0;
  }
};
} // namespace

/// `7x7`
static ParseResult parseSides(AsmParser &parser, Sides &sides) {
  SmallVector<int64_t, 2> dims;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseDimensionList(dims, /*allowDynamic=*/false,
                                /*withTrailingX=*/false)) {
    return failure();
  }
  if (dims.size() != 2) {
    return parser.emitError(place, "expects two sides such as 7x7");
  }
  sides = {dims[0], dims[1]};
  return success();
}

/// `, grid 56x56`
static ParseResult parseSides(AsmParser &parser, StringRef keyword,
                              Sides &sides) {
  return failure(parser.parseComma() || parser.parseKeyword(keyword) ||
                 parseSides(parser, sides));
}

static void print(AsmPrinter &printer, const Sides &sides) {
  printer << sides.height << 'x' << sides.width;
}

static LogicalResult
verifyGrid(llvm::function_ref<InFlightDiagnostic()> emitError,
           const Sides &block, const Sides &grid) {
  if (!block.divides(grid)) {
    return emitError() << "expects blocks that divide the grid, got "
                       << block.height << "x" << block.width << " and "
                       << grid.height << "x" << grid.width;
  }
  return success();
}

/// Whether `source` is `[batch, tokens, width]` with the tokens of a grid.
static bool holdsGrid(ArrayRef<int64_t> source, int64_t tokens) {
  return source.size() == 3 && agree(source[1], tokens);
}

static int64_t times(int64_t a, int64_t b) {
  return combine(a, b, std::multiplies<>());
}

//===----------------------------------------------------------------------===//
// WindowAttr
//===----------------------------------------------------------------------===//

Attribute WindowAttr::parse(AsmParser &parser, Type) {
  Sides window, shift, grid;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parseSides(parser, window) ||
      parseSides(parser, "shift", shift) || parseSides(parser, "grid", grid) ||
      parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(place); },
                    parser.getContext(), window.height, window.width,
                    shift.height, shift.width, grid.height, grid.width);
}

void WindowAttr::print(AsmPrinter &printer) const {
  printer << '<';
  ::print(printer, Sides{getHeight(), getWidth()});
  printer << ", shift ";
  ::print(printer, Sides{getShiftHeight(), getShiftWidth()});
  printer << ", grid ";
  ::print(printer, Sides{getGridHeight(), getGridWidth()});
  printer << '>';
}

LogicalResult
WindowAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t height, int64_t width, int64_t shiftHeight,
                   int64_t shiftWidth, int64_t gridHeight, int64_t gridWidth) {
  if (shiftHeight < 0 || shiftHeight >= height || shiftWidth < 0 ||
      shiftWidth >= width) {
    return emitError() << "expects a shift less than the window, got "
                       << shiftHeight << "x" << shiftWidth;
  }
  return verifyGrid(emitError, {height, width}, {gridHeight, gridWidth});
}

FailureOr<SmallVector<int64_t>>
WindowAttr::getPlacedShape(ArrayRef<int64_t> source) const {
  if (!holdsGrid(source, getGridHeight() * getGridWidth())) {
    return failure();
  }
  return SmallVector<int64_t>{times(source[0], countWindows()),
                              getHeight() * getWidth(), source[2]};
}

FailureOr<SmallVector<int64_t>>
WindowAttr::getSourceShape(ArrayRef<int64_t> placed) const {
  if (!holdsGrid(placed, getHeight() * getWidth()) ||
      (!ShapedType::isDynamic(placed[0]) && placed[0] % countWindows() != 0)) {
    return failure();
  }
  return SmallVector<int64_t>{
      combine(placed[0], countWindows(), std::divides<>()),
      getGridHeight() * getGridWidth(), placed[2]};
}

SmallVector<int32_t> WindowAttr::getRows(ArrayRef<int64_t> source) const {
  SmallVector<int32_t> rows;
  int64_t grid = getGridHeight() * getGridWidth();
  for (int64_t entry = 0; entry < source[0]; ++entry) {
    for (int64_t top = 0; top < getGridHeight(); top += getHeight()) {
      for (int64_t left = 0; left < getGridWidth(); left += getWidth()) {
        for (int64_t token = 0; token < getHeight() * getWidth(); ++token) {
          int64_t y =
              (top + token / getWidth() + getShiftHeight()) % getGridHeight();
          int64_t x =
              (left + token % getWidth() + getShiftWidth()) % getGridWidth();
          rows.push_back(entry * grid + y * getGridWidth() + x);
        }
      }
    }
  }
  return rows;
}

int64_t WindowAttr::classOf(int64_t window) const {
  int64_t across = getGridWidth() / getWidth();
  int64_t down = getGridHeight() / getHeight();
  bool isLower = getShiftHeight() && window / across == down - 1;
  bool isRight = getShiftWidth() && window % across == across - 1;
  return (isLower ? (getShiftWidth() ? 2 : 1) : 0) + (isRight ? 1 : 0);
}

int64_t WindowAttr::regionOf(int64_t windowClass, int64_t token) const {
  bool isLower = windowClass / (getShiftWidth() ? 2 : 1) != 0;
  bool isRight = getShiftWidth() && windowClass % 2;
  // After the shift the roll has brought the other end of the grid.
  bool isBelow =
      isLower && token / getWidth() >= getHeight() - getShiftHeight();
  bool isBeside = isRight && token % getWidth() >= getWidth() - getShiftWidth();
  return 2 * isBelow + isBeside;
}

//===----------------------------------------------------------------------===//
// MergeAttr
//===----------------------------------------------------------------------===//

Attribute MergeAttr::parse(AsmParser &parser, Type) {
  Sides block, grid;
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseLess() || parseSides(parser, block) ||
      parseSides(parser, "grid", grid) || parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(place); },
                    parser.getContext(), block.height, block.width, grid.height,
                    grid.width);
}

void MergeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  ::print(printer, Sides{getHeight(), getWidth()});
  printer << ", grid ";
  ::print(printer, Sides{getGridHeight(), getGridWidth()});
  printer << '>';
}

LogicalResult
MergeAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  int64_t height, int64_t width, int64_t gridHeight,
                  int64_t gridWidth) {
  return verifyGrid(emitError, {height, width}, {gridHeight, gridWidth});
}

FailureOr<SmallVector<int64_t>>
MergeAttr::getPlacedShape(ArrayRef<int64_t> source) const {
  int64_t grid = getGridHeight() * getGridWidth();
  if (!holdsGrid(source, grid)) {
    return failure();
  }
  return SmallVector<int64_t>{source[0], grid / getSegments(),
                              times(source[2], getSegments())};
}

int64_t MergeAttr::getSegments() const { return getHeight() * getWidth(); }
bool MergeAttr::isPermutation() const { return getSegments() == 1; }

SmallVector<int32_t> MergeAttr::getRows(ArrayRef<int64_t> source) const {
  SmallVector<int32_t> rows;
  int64_t grid = getGridHeight() * getGridWidth();
  for (int64_t entry = 0; entry < source[0]; ++entry) {
    for (int64_t top = 0; top < getGridHeight(); top += getHeight()) {
      for (int64_t left = 0; left < getGridWidth(); left += getWidth()) {
        for (int64_t x = left; x < left + getWidth(); ++x) {
          for (int64_t y = top; y < top + getHeight(); ++y) {
            rows.push_back(entry * grid + y * getGridWidth() + x);
          }
        }
      }
    }
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// InverseAttr
//===----------------------------------------------------------------------===//

LogicalResult
InverseAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    PlacementAttrInterface placement) {
  if (!placement.isPermutation()) {
    return emitError() << "expects a placement that moves rows alone, got "
                       << placement;
  }
  return success();
}

FailureOr<SmallVector<int64_t>>
InverseAttr::getPlacedShape(ArrayRef<int64_t> source) const {
  return getPlacement().getSourceShape(source);
}

FailureOr<SmallVector<int64_t>>
InverseAttr::getSourceShape(ArrayRef<int64_t> placed) const {
  return getPlacement().getPlacedShape(placed);
}

SmallVector<int32_t> InverseAttr::getRows(ArrayRef<int64_t> source) const {
  SmallVector<int32_t> rows = getPlacement().getRows(*getPlacedShape(source));
  SmallVector<int32_t> inverse(rows.size());
  for (auto [row, from] : llvm::enumerate(rows)) {
    inverse[from] = row;
  }
  return inverse;
}

//===----------------------------------------------------------------------===//
// ChainAttr
//===----------------------------------------------------------------------===//

LogicalResult
ChainAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                  ArrayRef<PlacementAttrInterface> placements) {
  if (placements.size() < 2) {
    return emitError() << "expects two placements or more, got "
                       << placements.size();
  }
  for (PlacementAttrInterface placement : placements.drop_back()) {
    if (!placement.isPermutation()) {
      return emitError() << "expects a placement that moves rows alone before "
                            "the last, got "
                         << placement;
    }
  }
  return success();
}

FailureOr<SmallVector<int64_t>>
ChainAttr::getPlacedShape(ArrayRef<int64_t> source) const {
  FailureOr<SmallVector<int64_t>> shape = SmallVector<int64_t>(source);
  for (PlacementAttrInterface placement : getPlacements()) {
    shape = placement.getPlacedShape(*shape);
    if (failed(shape)) {
      return failure();
    }
  }
  return shape;
}

int64_t ChainAttr::getSegments() const {
  return getPlacements().back().getSegments();
}
bool ChainAttr::isPermutation() const {
  return getPlacements().back().isPermutation();
}

SmallVector<int32_t> ChainAttr::getRows(ArrayRef<int64_t> source) const {
  SmallVector<int64_t> shape(source);
  SmallVector<int32_t> rows(staticSize(source.drop_back()));
  std::iota(rows.begin(), rows.end(), 0);
  for (PlacementAttrInterface placement : getPlacements()) {
    SmallVector<int32_t> next = placement.getRows(shape);
    for (int32_t &row : next) {
      row = rows[row];
    }
    rows = std::move(next);
    shape = *placement.getPlacedShape(shape);
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

/// The placements that one stands for, in order.
static SmallVector<PlacementAttrInterface>
stepsOf(PlacementAttrInterface placement) {
  if (!placement) {
    return {};
  }
  if (auto chain = dyn_cast<ChainAttr>(placement)) {
    return SmallVector<PlacementAttrInterface>(chain.getPlacements());
  }
  return {placement};
}

static PlacementAttrInterface invert(PlacementAttrInterface step) {
  if (auto inverse = dyn_cast<InverseAttr>(step)) {
    return inverse.getPlacement();
  }
  return InverseAttr::get(step.getContext(), step);
}

static PlacementAttrInterface chain(ArrayRef<PlacementAttrInterface> steps) {
  if (steps.empty()) {
    return {};
  }
  return steps.size() == 1 ? steps.front()
                           : PlacementAttrInterface(ChainAttr::get(
                                 steps.front().getContext(), steps));
}

PlacementAttrInterface hova::composePlacements(PlacementAttrInterface first,
                                               PlacementAttrInterface second) {
  SmallVector<PlacementAttrInterface> steps = stepsOf(first);
  for (PlacementAttrInterface step : stepsOf(second)) {
    if (!steps.empty() && step.isPermutation() &&
        steps.back() == invert(step)) {
      steps.pop_back();
    } else {
      steps.push_back(step);
    }
  }
  return chain(steps);
}

PlacementAttrInterface hova::inverseOf(PlacementAttrInterface placement) {
  SmallVector<PlacementAttrInterface> steps = stepsOf(placement);
  std::reverse(steps.begin(), steps.end());
  for (PlacementAttrInterface &step : steps) {
    step = invert(step);
  }
  return chain(steps);
}

RankedTensorType hova::placedType(PlacementAttrInterface placement,
                                  RankedTensorType source) {
  return placement ? source.clone(*placement.getPlacedShape(source.getShape()))
                   : source;
}
