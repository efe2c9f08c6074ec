//===- Unfold.cpp - Images as rows of what a square sees of them ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/token/Unfold.h"
#include "dialect/Shapes.h"

using namespace mlir;
using namespace hova;

static int64_t times(int64_t a, int64_t b) {
  return combine(a, b, std::multiplies<>());
}

/// Places of a kernel along a side, less than 1 where there is none.
static int64_t placesAlong(int64_t side, int64_t Sides::*axis,
                           const Unfolding &of) {
  if (ShapedType::isDynamic(side)) {
    return side;
  }
  int64_t extent = (of.kernel.*axis - 1) * of.dilation.*axis + 1;
  int64_t more = side + 2 * of.padding.*axis - extent;
  return more < 0 ? 0 : more / of.stride.*axis + 1;
}

int64_t Unfolding::squaresDown() const {
  return combine(height, squareHeight, std::divides<>());
}
int64_t Unfolding::squaresAcross() const {
  return combine(width, squareWidth, std::divides<>());
}
int64_t Unfolding::placesDown() const {
  return placesAlong(squareHeight, &Sides::down, *this);
}
int64_t Unfolding::placesAcross() const {
  return placesAlong(squareWidth, &Sides::across, *this);
}

SmallVector<int64_t> Unfolding::shape() const {
  return {times(batch, times(squaresDown(), squaresAcross())),
          times(placesDown(), placesAcross()),
          times(channels, kernel.countPixels())};
}

/// Two numbers of at least `least`; nothing where they are others.
static std::optional<Sides> sidesOf(ArrayRef<int64_t> numbers, int64_t least) {
  if (numbers.size() != 2 || numbers[0] < least || numbers[1] < least) {
    return std::nullopt;
  }
  return Sides{numbers[0], numbers[1]};
}

/// The numbers of the kernel; fails where they are none.
static LogicalResult readKernel(UnfoldOp op, Unfolding &of,
                                function_ref<InFlightDiagnostic()> emitError) {
  auto read = [&](StringRef name, ArrayRef<int64_t> numbers, int64_t least,
                  Sides &to) -> LogicalResult {
    std::optional<Sides> sides = sidesOf(numbers, least);
    if (!sides) { // C5
      return emitError() << "expects two numbers of at least " << least
                         << " as " << name << ", got " << shapeText(numbers);
    }
    to = *sides;
    return success();
  };
  return success(succeeded(read("kernel", op.getKernel(), 1, of.kernel)) &&
                 succeeded(read("stride", op.getStride(), 1, of.stride)) &&
                 succeeded(read("padding", op.getPadding(), 0, of.padding)) &&
                 succeeded(read("dilation", op.getDilation(), 1, of.dilation)));
}

FailureOr<Unfolding>
Unfolding::get(UnfoldOp op, function_ref<InFlightDiagnostic()> emitError) {
  ArrayRef<int64_t> x = shapeOf(op.getX());
  std::optional<ArrayRef<int64_t>> grid = op.getGrid();
  Unfolding of{};
  if (failed(readKernel(op, of, emitError))) {
    return failure();
  }
  of.isOfTokens = grid.has_value();
  if (grid) {
    if (x.size() != 3 || grid->size() != 2 || (*grid)[0] < 1 ||
        (*grid)[1] < 1 || !agree(x[1], (*grid)[0] * (*grid)[1])) { // C1
      return emitError() << "expects the tokens [batch, height*width, "
                            "channels] of an image, got "
                         << shapeText(x) << " and the image "
                         << shapeText(*grid);
    }
    of.batch = x[0];
    of.channels = x[2];
    of.height = (*grid)[0];
    of.width = (*grid)[1];
  } else {
    if (x.size() != 4) { // C1
      return emitError()
             << "expects an image [batch, channels, height, width], got "
             << shapeText(x);
    }
    of.batch = x[0];
    of.channels = x[1];
    of.height = x[2];
    of.width = x[3];
  }
  of.squareHeight = op.getWithin().value_or(of.height);
  of.squareWidth = op.getWithin().value_or(of.width);
  auto divides = [](int64_t part, int64_t side) {
    return ShapedType::isDynamic(side) || (part > 0 && side % part == 0);
  };
  if (op.getWithin() && (!divides(of.squareHeight, of.height) ||
                         !divides(of.squareWidth, of.width))) { // C2
    return emitError() << "expects squares of " << of.squareHeight
                       << " that divide the image, got " << of.height << "x"
                       << of.width;
  }
  if (of.placesDown() == 0 || of.placesAcross() == 0) { // C3
    return emitError() << "expects a kernel of at most the padded image, got "
                       << of.kernel.down << "x" << of.kernel.across << " for "
                       << of.squareHeight << "x" << of.squareWidth
                       << " and a padding of " << of.padding.down << "x"
                       << of.padding.across;
  }
  return of;
}

Unfolding Unfolding::get(UnfoldOp op) {
  return *get(op, [&] { return op.emitOpError(); });
}

LogicalResult UnfoldOp::verify() {
  FailureOr<Unfolding> unfolding =
      Unfolding::get(*this, [&] { return emitOpError(); });
  if (failed(unfolding)) {
    return failure();
  }
  SmallVector<int64_t> expected = unfolding->shape();
  if (!agree(shapeOf(getResult()), expected)) { // C4
    return emitOpError("expects a result of shape ")
           << shapeText(expected) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  return success();
}

IterationSpace UnfoldOp::getIterationSpace() {
  Unfolding of = Unfolding::get(*this);
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> rows = shapeOf(getResult());
  AffineExpr batch = builder.parallel("batch", rows[0]);
  AffineExpr patch = builder.parallel("patch", rows[1]);
  AffineExpr channel = builder.parallel("channel", of.channels);
  AffineExpr line = builder.parallel("line", of.kernel.down);
  AffineExpr pixel = builder.parallel("pixel", of.kernel.across);
  // Squares and tokens are left to the rule: after a border there is another
  // square, or the other end of the image.
  int64_t across = of.placesAcross();
  if (!getWithin() && !of.isOfTokens && !ShapedType::isDynamic(across)) {
    builder.operand(0, {batch, channel,
                        patch.floorDiv(across) * of.stride.down +
                            line * of.dilation.down - of.padding.down,
                        patch % across * of.stride.across +
                            pixel * of.dilation.across - of.padding.across});
  }
  builder.result(
      {batch, patch,
       (channel * of.kernel.down + line) * of.kernel.across + pixel});
  builder.setUnits({batch, patch});
  return builder.build();
}
