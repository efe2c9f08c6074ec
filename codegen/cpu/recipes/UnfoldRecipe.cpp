//===- UnfoldRecipe.cpp - Loops that unfold images ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of the result is a few short pieces of the image's lines. Where the
// kernel never leaves the image and sees neighbours across, they go to the
// stage one by one. Else, and where x is tokens, whose channels lie in the last
// axis, the row is put together in scratch first: zeros, then the lines and
// pixels that are inside.

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/token/Unfold.h"

using namespace mlir;

namespace hova {

/// Whether rows are put together in scratch.
static bool isGathered(const Unfolding &of) {
  return of.isPadded() || of.isOfTokens || of.dilation.across > 1;
}

namespace {
/// The lines of the kernel, or its pixels, for one row of the result.
struct Span {
  Expr start;    ///< where the kernel begins in the image
  Expr from, to; ///< those that are inside of the kernel's square
};
} // namespace

/// How many steps of `distance` lead up to `length` or beyond it.
static Expr stepsUpTo(Expr length, int64_t distance) {
  return distance == 1 ? length : (length + (distance - 1)) / distance;
}

/// At place `step` of the kernel in square `square`, along a side.
static Span spanOf(KernelEmitter &e, const Unfolding &of, Expr square,
                   int64_t side, Expr step, int64_t Sides::*axis) {
  int64_t kernel = of.kernel.*axis, dilation = of.dilation.*axis;
  // In the square; negative above and left of it.
  Expr at = step * (of.stride.*axis) - of.padding.*axis;
  Span span{at + square * side, 0, kernel};
  if (of.padding.*axis > 0) {
    auto atLeastNone = [&](Expr length) {
      return e.compute<arith::MaxSIOp>(length, Expr(0));
    };
    Expr inside = side - at;
    span.from = stepsUpTo(atLeastNone(0 - at), dilation);
    span.to = e.compute<arith::MinSIOp>(
        dilation == 1 ? inside : stepsUpTo(atLeastNone(inside), dilation),
        Expr(kernel));
  }
  return span;
}

/// The place of a number of those that are `distance` apart.
static Expr apart(Expr number, int64_t distance) {
  return distance == 1 ? number : number * distance;
}

static void emit(KernelEmitter &e, UnfoldOp op) {
  const Unfolding of = Unfolding::get(op);
  int64_t columns = of.shape()[2], across = of.kernel.across;
  int64_t squares = of.squaresDown() * of.squaresAcross();
  int64_t places = of.placesDown() * of.placesAcross();
  Value x = e.buffer(op.getX());
  Value gathered = isGathered(of) ? e.scratchView(0, {1, columns}) : Value();
  auto columnOf = [&](Expr channel, Expr line, Expr pixel) {
    return channel * of.kernel.countPixels() + (line * across + pixel);
  };
  e.forEachRow([&](Expr row) {
    if (of.isPadded()) {
      e.forEachChunk(columns,
                     [&](const Chunk &at) { e.store(0, gathered, 0, at); });
    }
    Expr entry = row / (squares * places), square = row / places % squares;
    Expr place = row % places;
    Span lines = spanOf(e, of, square / of.squaresAcross(), of.squareHeight,
                        place / of.placesAcross(), &Sides::down);
    Span pixels = spanOf(e, of, square % of.squaresAcross(), of.squareWidth,
                         place % of.placesAcross(), &Sides::across);
    auto lineAt = [&](Expr line) {
      return lines.start + apart(line, of.dilation.down);
    };
    auto pixelAt = [&](Expr pixel) {
      return pixels.start + apart(pixel, of.dilation.across);
    };
    if (of.isOfTokens) {
      e.forLoop("lines", lines.from, lines.to, 1, [&](Expr line) {
        Expr y = entry * of.height + lineAt(line);
        e.forLoop("pixels", pixels.from, pixels.to, 1, [&](Expr pixel) {
          Expr token = y * of.width + pixelAt(pixel);
          e.forLoop("channels", of.channels, [&](Expr channel) {
            Expr column = columnOf(channel, line, pixel);
            e.store(e.load(x, token, channel), gathered, 0, column);
          });
        });
      });
    } else {
      e.forLoop("channels", of.channels, [&](Expr channel) {
        e.forLoop("lines", lines.from, lines.to, 1, [&](Expr line) {
          Expr plane = entry * of.channels + channel;
          Expr y = plane * of.height + lineAt(line);
          if (!gathered) {
            return e.copyRow({x, {y, pixels.start}}, row, across,
                             columnOf(channel, line, 0));
          }
          e.forLoop("pixels", pixels.from, pixels.to, 1, [&](Expr pixel) {
            Expr number = e.load(x, y, pixelAt(pixel));
            e.store(number, gathered, 0, columnOf(channel, line, pixel));
          });
        });
      });
    }
    if (gathered) {
      e.copyRow({gathered, {0, 0}}, row, columns);
    }
  });
}

static int64_t scratchBytes(UnfoldOp op, const CpuSchedule &) {
  Unfolding of = Unfolding::get(op);
  return isGathered(of) ? 4 * of.shape()[2] : 0;
}

void attachUnfoldRecipe(MLIRContext &context) {
  attachRecipe<UnfoldOp, emit, scratchBytes>(context);
}

} // namespace hova
