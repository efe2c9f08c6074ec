//===- UnfoldRecipe.cpp - Loops that unfold images ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row of the result is a few short pieces of the image's lines. Where the
// kernel never leaves the image, they go to the stage one by one. Else, and
// where x is tokens, whose channels lie in the last axis, the row is put
// together in scratch first: zeros, then the lines and pixels that are inside.

#include "codegen/cpu/recipes/Recipe.h"
#include "codegen/cpu/recipes/RowCopies.h"
#include "dialect/Unfold.h"

using namespace mlir;

namespace hova {

namespace {
/// Where the kernel is for one row of the result.
struct Place {
  Value entry;     ///< of the batch
  Value top, left; ///< of the square, in the image
  Value y, x;      ///< of the kernel, in the square; negative above and left
};

/// `from` up to before `to`.
struct Range {
  Value from, to;
};

class Unfolder {
public:
  Unfolder(KernelEmitter &emitter, UnfoldOp op)
      : e(emitter), of(Unfolding::get(op)), source(e.buffer(op.getX())) {
    if (isGathered(of)) {
      row = e.scratchView(0, {1, of.shape()[2]}, e.builder.getF32Type());
    }
  }

  void run() {
    e.forEachRow([&](Value number) {
      Place place = placeOf(number);
      if (!row) {
        return copyLines(place, number);
      }
      Value zero = e.index(0);
      int64_t columns = of.shape()[2];
      if (of.padding > 0) {
        e.forEachChunk(columns,
                       [&](Value column, int64_t lanes, int64_t valid) {
                         Value zeros = e.splat(0, lanes);
                         e.storeRow(zeros, row, zero, column, valid);
                       });
      }
      of.isOfTokens ? gatherTokens(place) : gatherLines(place);
      copyRow(e, row, zero, zero, number, zero, columns);
    });
  }

  /// Whether rows are put together in scratch.
  static bool isGathered(const Unfolding &of) {
    return of.padding > 0 || of.isOfTokens;
  }

private:
  Place placeOf(Value number) {
    int64_t squares = of.squaresDown() * of.squaresAcross();
    int64_t places = of.placesDown() * of.placesAcross();
    Value entry = e.div(number, squares * places);
    Value square = e.rem(e.div(number, places), squares);
    Value place = e.rem(number, places);
    auto kernelAt = [&](Value step) {
      return e.add(e.mul(step, of.stride), -of.padding);
    };
    return {entry, e.mul(e.div(square, of.squaresAcross()), of.squareHeight),
            e.mul(e.rem(square, of.squaresAcross()), of.squareWidth),
            kernelAt(e.div(place, of.placesAcross())),
            kernelAt(e.rem(place, of.placesAcross()))};
  }

  /// The lines, or pixels, of a kernel at `at` that a square of `side` has.
  Range inside(Value at, int64_t side) {
    if (of.padding == 0) {
      return {e.index(0), e.index(of.kernel)};
    }
    auto less = [&](Value from) -> Value {
      return e.make<arith::SubIOp>(from, at);
    };
    return {e.make<arith::MaxSIOp>(less(e.index(0)), e.index(0)),
            e.make<arith::MinSIOp>(less(e.index(side)), e.index(of.kernel))};
  }

  /// The row of x, an image, that holds a line of a channel.
  Value lineOf(const Place &place, Value channel, Value line) {
    Value plane = e.add(e.mul(place.entry, of.channels), channel);
    return e.add(e.mul(plane, of.height),
                 e.add(e.add(place.top, place.y), line));
  }

  Value columnOf(Value channel, Value line) {
    return e.mul(e.add(e.mul(channel, of.kernel), line), of.kernel);
  }

  void forEachChannel(KernelEmitter::Body body) {
    e.forLoop("channels", e.index(0), e.index(of.channels), 1, body);
  }

  void copyLines(const Place &place, Value number) {
    Value left = e.add(place.left, place.x);
    forEachChannel([&](Value channel) {
      e.forLoop("lines", e.index(0), e.index(of.kernel), 1, [&](Value line) {
        copyRow(e, source, lineOf(place, channel, line), left, number,
                columnOf(channel, line), of.kernel);
      });
    });
  }

  void gatherLines(const Place &place) {
    Value left = e.add(place.left, place.x);
    Range lines = inside(place.y, of.squareHeight);
    Range pixels = inside(place.x, of.squareWidth);
    forEachChannel([&](Value channel) {
      e.forLoop("lines", lines.from, lines.to, 1, [&](Value line) {
        Value from = lineOf(place, channel, line);
        e.forLoop("pixels", pixels.from, pixels.to, 1, [&](Value pixel) {
          copyElement(from, e.add(left, pixel),
                      e.add(columnOf(channel, line), pixel));
        });
      });
    });
  }

  void gatherTokens(const Place &place) {
    Range lines = inside(place.y, of.squareHeight);
    Range pixels = inside(place.x, of.squareWidth);
    Value top = e.add(place.top, place.y), left = e.add(place.left, place.x);
    e.forLoop("lines", lines.from, lines.to, 1, [&](Value line) {
      Value y = e.add(e.mul(place.entry, of.height), e.add(top, line));
      e.forLoop("pixels", pixels.from, pixels.to, 1, [&](Value pixel) {
        Value token = e.add(e.mul(y, of.width), e.add(left, pixel));
        Value first = e.add(e.mul(line, of.kernel), pixel);
        forEachChannel([&](Value channel) {
          copyElement(token, channel,
                      e.add(e.mul(channel, of.kernel * of.kernel), first));
        });
      });
    });
  }

  void copyElement(Value from, Value element, Value column) {
    Value number = e.widen(e.loadScalar(source, from, element));
    e.make<memref::StoreOp>(number, row, ValueRange{e.index(0), column});
  }

  KernelEmitter &e;
  const Unfolding of;
  const Value source;
  Value row; ///< of the result, while it is put together
};
} // namespace

static void emit(KernelEmitter &e, UnfoldOp op) { Unfolder(e, op).run(); }

static int64_t scratchBytes(UnfoldOp op, const CpuSchedule &) {
  Unfolding of = Unfolding::get(op);
  return Unfolder::isGathered(of) ? 4 * of.shape()[2] : 0;
}

void attachUnfoldRecipe(MLIRContext &context) {
  attachRecipe<UnfoldOp, emit, scratchBytes>(context);
}

} // namespace hova
