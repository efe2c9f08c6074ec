//===- UnfoldRecipe.cpp - Loops that unfold images ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of the result is a few short pieces of the image's lines. Where the
// kernel never leaves the image, they go to the stage one by one. Else, and
// where x is tokens, whose channels lie in the last axis, the row is put
// together in scratch first: zeros, then the lines and pixels that are inside.

#include "codegen/cpu/Recipe.h"
#include "codegen/cpu/recipes/KernelEmitter.h"
#include "dialect/token/Unfold.h"

using namespace mlir;

namespace hova {

/// Whether rows are put together in scratch.
static bool isGathered(const Unfolding &of) {
  return of.padding > 0 || of.isOfTokens;
}

namespace {
/// The lines of the kernel, or its pixels, for one row of the result.
struct Span {
  Expr start;    ///< where the kernel begins in the image
  Expr from, to; ///< those that are inside of the kernel's square
};
} // namespace

/// At place `step` of the kernel in square `square`, along a side.
static Span spanOf(KernelEmitter &e, const Unfolding &of, Expr square,
                   int64_t side, Expr step) {
  // In the square; negative above and left of it.
  Expr at = step * of.stride - of.padding;
  Span span{at + square * side, 0, of.kernel};
  if (of.padding > 0) {
    span.from = e.compute<arith::MaxSIOp>(0 - at, Expr(0));
    span.to = e.compute<arith::MinSIOp>(side - at, Expr(of.kernel));
  }
  return span;
}

static void emit(KernelEmitter &e, UnfoldOp op) {
  const Unfolding of = Unfolding::get(op);
  int64_t columns = of.shape()[2], kernel = of.kernel;
  int64_t squares = of.squaresDown() * of.squaresAcross();
  int64_t places = of.placesDown() * of.placesAcross();
  Value x = e.buffer(op.getX());
  Value gathered = isGathered(of) ? e.scratchView(0, {1, columns}) : Value();
  auto columnOf = [&](Expr channel, Expr line, Expr pixel) {
    return channel * (kernel * kernel) + (line * kernel + pixel);
  };
  e.forEachRow([&](Expr row) {
    if (of.padding > 0) {
      e.forEachChunk(columns,
                     [&](const Chunk &at) { e.store(0, gathered, 0, at); });
    }
    Expr entry = row / (squares * places), square = row / places % squares;
    Expr place = row % places;
    Span lines = spanOf(e, of, square / of.squaresAcross(), of.squareHeight,
                        place / of.placesAcross());
    Span pixels = spanOf(e, of, square % of.squaresAcross(), of.squareWidth,
                         place % of.placesAcross());
    if (of.isOfTokens) {
      e.forLoop("lines", lines.from, lines.to, 1, [&](Expr line) {
        Expr y = entry * of.height + (lines.start + line);
        e.forLoop("pixels", pixels.from, pixels.to, 1, [&](Expr pixel) {
          Expr token = y * of.width + (pixels.start + pixel);
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
          Expr y = plane * of.height + (lines.start + line);
          if (!gathered) {
            return e.copyRow({x, {y, pixels.start}}, row, kernel,
                             columnOf(channel, line, 0));
          }
          e.forLoop("pixels", pixels.from, pixels.to, 1, [&](Expr pixel) {
            Expr number = e.load(x, y, pixels.start + pixel);
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
