//===- BlockProducts.cpp - Products by blocks of a matrix unit ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Half strips are the outer loop: 32 columns of a weight, of which a block's
// tiles are in the first-level cache while its left operand comes from the
// second, since both from there would take longer than the products. All rows
// of the call pass over a half strip, and prefetch the next one.
//
// Where the inner dimension is no multiple of the unit's steps, the rest of it
// is copied, once for a half strip and once for a block of it, and filled up
// with zeros on both sides: 0 times a NaN is a NaN.

#include "codegen/cpu/recipes/BlockProducts.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hova {

static constexpr int64_t kRows = MatrixUnit::blockRows;
static constexpr int64_t kColumns = MatrixUnit::blockColumns;
/// Cache lines of pairs in a row of a half strip.
static constexpr int64_t kLines = kColumns / CpuFacts::lineElements;

Expr unitHeightOf(const Expr &rows) {
  Expr tiles = (rows + (kRows - 1)) / kRows * 2;
  return (rows + (tiles - 1)) / tiles;
}

int64_t unitHeightOf(int64_t rows) {
  return llvm::divideCeil(rows, llvm::divideCeil(rows, kRows) * 2);
}

UnitBlocks::UnitBlocks(const Expr &first, const Expr &rows, const Expr &height)
    : first(first), rows(rows), height(height),
      rowCount(max(min(height * 2, rows), 1)),
      count((rows + (rowCount - 1)) / rowCount) {}

Expr UnitBlocks::firstOf(const Expr &block) const {
  return first + min(block * rowCount, rows - rowCount);
}

Expr UnitBlocks::skippedOf(const Expr &block) const {
  Expr before = block * rowCount;
  return before - min(before, rows - rowCount);
}

static Verdict judgeProduct(int64_t depth, int64_t columns, StringRef inner,
                            int64_t leastDepth, int64_t leastColumns) {
  struct Least {
    int64_t size;
    StringRef what;
    int64_t least;
  };
  for (const Least &of : {Least{depth, inner, leastDepth},
                          Least{columns, "columns", leastColumns}}) {
    if (of.size < of.least) {
      return Verdict::decline("products of " + Twine(of.size) + " " + of.what +
                                  " are faster in vectors than by the matrix "
                                  "unit",
                              "there are " + Twine(of.least) + " " + of.what);
    }
  }
  return Verdict::fire("products are those of the matrix unit");
}

Verdict judgeUnitProduct(int64_t depth, int64_t columns, StringRef inner) {
  return judgeProduct(depth, columns, inner, MatrixUnit::depth, kColumns);
}

Verdict judgeUnitLinear(int64_t depth, int64_t columns) {
  return judgeProduct(depth, columns, "channels", MatrixUnit::leastDepth,
                      MatrixUnit::leastColumns);
}

int64_t wholeSteps(int64_t steps) {
  return llvm::alignTo(steps, MatrixUnit::depth);
}

Expr wholeSteps(const Expr &steps) {
  return (steps + (MatrixUnit::depth - 1)) / MatrixUnit::depth *
         MatrixUnit::depth;
}

static VectorType wordsType(KernelEmitter &e) {
  return VectorType::get({CpuFacts::registerLanes}, e.builder.getI32Type());
}

namespace {
struct UnitScratch {
  UnitScratch(ScratchLayout layout, LinearOp op) {
    bool hasRest = shapeOf(op.getX()).back() % MatrixUnit::depth != 0;
    MLIRContext *context = op.getContext();
    sums = layout.take({2 * kRows, kColumns});
    left = layout.take({hasRest ? kRows : 0, MatrixUnit::depth},
                       BFloat16Type::get(context));
    right = layout.take({hasRest ? MatrixUnit::depth / 2 : 0, kColumns},
                        IntegerType::get(context, 32));
    bytes = layout.getBytes();
  }
  Value sums; ///< two blocks: one is written while the other is read
  /// The rest of the inner dimension, zeros behind it; null without one.
  Value left, right;
  int64_t bytes;
};
} // namespace

int64_t unitScratchBytes(LinearOp op) {
  return UnitScratch(ScratchLayout(), op).bytes;
}

namespace {
/// A block of sums: where it lies in the result, and in the buffer.
struct UnitBlock {
  Expr row, strip; ///< the first row, and the half strip
  Expr skipped;    ///< rows that the block before has handed on
  Expr buffer;     ///< the first row of the sums
};

struct UnitProduct {
  KernelEmitter &e;
  LinearOp op;
  Value weight;
  UnitBlocks blocks;

  Value x = e.buffer(op.getX());
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  int64_t depth = shapeOf(op.getX()).back();
  int64_t wholeDepth = depth / MatrixUnit::depth * MatrixUnit::depth;
  int64_t rest = depth - wholeDepth;
  int64_t panelColumns = cast<MemRefType>(weight.getType()).getShape()[2];
  int64_t stripsOfPanel = panelColumns / kColumns;
  /// Cache lines of a half strip, and those that each row prefetches.
  int64_t lines = (depth + 1) / 2 * kLines;
  Expr rows = max(blocks.rows, 1), share = (rows + (lines - 1)) / rows;
  UnitScratch scratch{ScratchLayout(&e), op};

  /// Half strips from `first` on, of which `valid` columns each are in the
  /// matrix. One loop over all blocks of all, since a block is finished during
  /// the next one.
  void emitStrips(Expr first, Expr count, int64_t valid) {
    Expr turns = count * blocks.count;
    e.forLoop("blocks", turns, [&](Expr turn) {
      UnitBlock block = blockAt(first, turn);
      UnitBlock before = blockAt(first, max(turn, 1) - 1);
      Expr rows = select(turn == 0, 0, blocks.rowCount - before.skipped);
      if (rest) {
        e.ifThen(turn % blocks.count == 0, [&] { copyRight(block); });
        copyLeft(block);
      }
      multiply(block, rows, [&](Expr row) {
        prefetchShare(before, row, first + count);
        finish(before, row, valid);
      });
    });
    // Without a block there is none to finish: of no rows, or no strips.
    UnitBlock last = blockAt(first, max(turns, 1) - 1);
    Expr rows = select(turns == 0, 0, blocks.rowCount - last.skipped);
    e.forLoop("rows", rows, [&](Expr row) { finish(last, row, valid); });
  }

  UnitBlock blockAt(Expr firstStrip, Expr turn) {
    Expr count = max(blocks.count, 1), block = turn % count;
    return {blocks.firstOf(block), firstStrip + turn / count,
            blocks.skippedOf(block), turn % 2 * kRows};
  }

  /// What is left of the weight's half strip.
  void copyRight(const UnitBlock &block) {
    constexpr int64_t lanes = CpuFacts::registerLanes;
    int64_t pairs = llvm::divideCeil(rest, 2);
    auto copy = [&](Expr pair, llvm::function_ref<Expr(Expr column)> wordsAt) {
      for (int64_t column = 0; column < kColumns; column += lanes) {
        e.store(wordsAt(column), scratch.right, pair, {column, lanes});
      }
    };
    e.forLoop("pairs", pairs, [&](Expr pair) {
      copy(pair, [&](Expr column) {
        SmallVector<Expr, 3> place = stripPlace(block, wholeDepth / 2 + pair);
        place.back() = place.back() + column;
        return e.load({weight, place}, lanes);
      });
    });
    e.forLoop("pairs", pairs, MatrixUnit::depth / 2, 1, [&](Expr pair) {
      copy(pair, [&](Expr) { return Expr(0).in(e.builder, wordsType(e)); });
    });
  }

  /// What is left of the block's rows.
  void copyLeft(const UnitBlock &block) {
    e.forLoop("rows", blocks.rowCount, [&](Expr row) {
      Chunk at{wholeDepth, MatrixUnit::depth, rest};
      e.store(e.loadAsStored(x, block.row + row, at), scratch.left, row,
              {0, MatrixUnit::depth});
    });
  }

  /// A pair of the weight's half strip.
  SmallVector<Expr, 3> stripPlace(const UnitBlock &block, Expr pair) {
    return {block.strip / stripsOfPanel, pair,
            block.strip % stripsOfPanel * kColumns};
  }

  void multiply(const UnitBlock &block, Expr turns,
                KernelEmitter::Body meanwhile) {
    MatrixPlace left{x, {block.row, 0}}, right{weight, stripPlace(block, 0)};
    MatrixPlace leftRest{scratch.left, {0, 0}},
        rightRest{scratch.right, {0, 0}};
    auto product = wholeDepth ? multiply(block, left, right, wholeDepth, false)
                              : multiply(block, leftRest, rightRest,
                                         MatrixUnit::depth, false);
    if (wholeDepth && rest) {
      multiply(block, leftRest, rightRest, MatrixUnit::depth, true);
    }
    OpBuilder::InsertionGuard guard(e.builder);
    Block &body = product.runMeanwhile(turns);
    e.builder.setInsertionPointToStart(&body);
    meanwhile(e(body.getArgument(0)));
  }

  BlockProductOp multiply(const UnitBlock &block, const MatrixPlace &left,
                          const MatrixPlace &right, int64_t steps,
                          bool isAdded) {
    return e.make<BlockProductOp>(
        scratch.sums, ValueRange{block.buffer, e.index(0)}, left.matrix,
        e.valuesOf(left.position), right.matrix, e.valuesOf(right.position),
        blocks.rowCount, blocks.height, e.index(steps), kColumns, isAdded);
  }

  /// A row's share of the half strip that follows: its lines, even among all
  /// rows.
  void prefetchShare(const UnitBlock &block, Expr row, Expr endStrip) {
    Expr next = min(block.strip + 1, endStrip - 1);
    Expr from = (block.row + block.skipped + row - blocks.first) * share;
    e.forLoop("lines", from, min(from + share, lines), 1, [&](Expr line) {
      e.prefetch(weight, {next / stripsOfPanel, line / kLines,
                          next % stripsOfPanel * kColumns +
                              line % kLines * CpuFacts::lineElements});
    });
  }

  /// Hands row `row` of those that the block has for itself on.
  void finish(const UnitBlock &block, Expr row, int64_t valid) {
    Expr inBlock = block.skipped + row;
    TilePlace place(block.row + inBlock, 1,
                    {block.strip * kColumns, kColumns, valid});
    Expr tile =
        e.load(scratch.sums, TilePlace(block.buffer + inBlock, 0, 1, kColumns));
    if (op.getBias()) {
      tile = tile + e.loadTile(op.getBias(), shape, place);
    }
    e.finishAndStoreTile(place, tile);
  }
};
} // namespace

void emitUnitProduct(KernelEmitter &e, LinearOp op, Value weight,
                     const ColumnRange &group, Expr beginRow, Expr rows) {
  UnitProduct product{e, op, weight, UnitBlocks(beginRow, rows, e.unitHeight)};
  int64_t first = group.from / kColumns, whole = group.to / kColumns;
  int64_t rest = group.to % kColumns;
  std::optional<Strips> strips = stripsOf(e, weight);
  int64_t halves = product.stripsOfPanel;
  if (whole > first) {
    Expr from = strips ? max(strips->begin * halves, first) : e.index(first);
    Expr to = strips ? min(strips->end * halves, whole) : e.index(whole);
    product.emitStrips(from, to - min(from, to), kColumns);
  }
  if (rest) {
    // The thread whose chunk ends after it has the last half strip.
    Expr count = strips ? select(e.index(whole) < strips->end * halves, 1, 0)
                        : e.index(1);
    product.emitStrips(e.index(whole), count, rest);
  }
}

//===----------------------------------------------------------------------===//
// Sums over tokens
//===----------------------------------------------------------------------===//

void forEachPair(KernelEmitter &e, Expr count,
                 llvm::function_ref<void(Expr, Expr, Expr)> body) {
  Expr whole = count / 2;
  e.forLoop("pairs", whole,
            [&](Expr pair) { body(pair, pair * 2, pair * 2 + 1); });
  e.forLoop("pairs", whole, (count + 1) / 2, 1,
            [&](Expr pair) { body(pair, pair * 2, Expr()); });
  e.forLoop("pairs", (count + 1) / 2, wholeSteps(count) / 2, 1,
            [&](Expr pair) { body(pair, {}, {}); });
}

/// The columns of `chunk` of two tokens, as pairs.
static Expr loadPairs(KernelEmitter &e, const MatrixPlace &place, Expr low,
                      Expr high, const Chunk &chunk) {
  Chunk at = chunk + place.position[1];
  Expr first = e.loadAsStored(place.matrix, place.position[0] + low, at);
  Expr second = high
                    ? e.loadAsStored(place.matrix, place.position[0] + high, at)
                    : Expr(0).in(e.builder, first.getType());
  return e.compute<vector::BitCastOp>(
      wordsType(e), e.compute<vector::InterleaveOp>(first, second));
}

void pairTokens(KernelEmitter &e, const MatrixPlace &right,
                const MatrixPlace &place, Expr count, int64_t valid) {
  constexpr int64_t lanes = CpuFacts::registerLanes;
  forEachPair(e, count, [&](Expr pair, Expr low, Expr high) {
    for (int64_t column = 0; column < kColumns; column += lanes) {
      Chunk chunk{e.index(column), lanes,
                  std::clamp<int64_t>(valid - column, 0, lanes)};
      Expr words = low && chunk.valid ? loadPairs(e, place, low, high, chunk)
                                      : Expr(0).in(e.builder, wordsType(e));
      e.store(words, right.matrix, right.position[0] + pair,
              {right.position[1] + column, lanes});
    }
  });
}

void turnTokens(KernelEmitter &e, Value left, const MatrixPlace &place,
                Expr count, int64_t width) {
  constexpr int64_t step = MatrixUnit::depth;
  auto type = VectorType::get({step}, e.builder.getBF16Type());
  e.forLoop("tokens", 0, count, step, [&](Expr token) {
    auto placeOf = [&](int64_t i) { return min(token + i, count - 1); };
    e.forEachChunk(width, kTransposed, [&](const Chunk &columns) {
      Chunk chunk{columns.column, kTransposed, columns.valid};
      transposeBlock(
          e, kTransposed, chunk.valid,
          [&](int64_t pair) {
            return loadPairs(e, place, placeOf(2 * pair), placeOf(2 * pair + 1),
                             chunk);
          },
          [&](Expr words, int64_t i) {
            e.store(e.compute<vector::BitCastOp>(type, words), left,
                    chunk.column + i, {token, step});
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// Factors of f32
//===----------------------------------------------------------------------===//

/// Parts of a factor of f32: digits of bf16 are eight, its own 24.
static constexpr int64_t kParts = 3;

SplitFactor::SplitFactor(ScratchLayout &layout, ArrayRef<int64_t> shape,
                         Type element) {
  for (int64_t part = 0; part < kParts; ++part) {
    parts.push_back(layout.take(shape, element));
  }
}

SplitFactor SplitFactor::at(Expr row, Expr column) const {
  SplitFactor moved = *this;
  auto last = moved.place.end();
  last[-2] = last[-2] + row;
  last[-1] = last[-1] + column;
  return moved;
}

/// The bits of a vector of f32 that are its leading digits as bf16, which
/// never round up to infinity.
static Expr leadingBits(KernelEmitter &e, Expr vector) {
  auto type = cast<VectorType>(vector.getType());
  Type words = VectorType::get(type.getShape(), e.builder.getI32Type());
  Value mask = e.make<arith::ConstantOp>(
      DenseElementsAttr::get(cast<VectorType>(words), int32_t(0xffff0000)));
  return e.compute<arith::AndIOp>(e.compute<arith::BitcastOp>(words, vector),
                                  mask);
}

/// `body(part, bits)` for each part of a vector of f32: its upper 16 bits are
/// those of the part.
static void forEachPart(KernelEmitter &e, Expr vector,
                        llvm::function_ref<void(int64_t, Expr)> body) {
  for (int64_t part = 0; part < kParts; ++part) {
    Expr bits = leadingBits(e, vector);
    body(part, bits);
    vector = vector - e.compute<arith::BitcastOp>(vector.getType(), bits);
  }
}

void SplitFactor::store(KernelEmitter &e, Expr vector, Expr row,
                        Expr column) const {
  auto type = cast<VectorType>(vector.getType());
  Type narrow = VectorType::get(type.getShape(), e.builder.getBF16Type());
  forEachPart(e, vector, [&](int64_t part, Expr bits) {
    // Nothing is rounded.
    Expr digits = e.compute<arith::TruncFOp>(
        narrow, e.compute<arith::BitcastOp>(type, bits));
    e.store(digits, parts[part], row, {column, type.getDimSize(0)});
  });
}

void SplitFactor::storePairs(KernelEmitter &e, Expr low, Expr high, Expr row,
                             Expr column) const {
  VectorType words = wordsType(e);
  SmallVector<Expr, kParts> pairs(kParts, Expr(0).in(e.builder, words));
  auto splat = [&](int32_t number) {
    return e.compute<arith::ConstantOp>(DenseElementsAttr::get(words, number));
  };
  if (low) {
    forEachPart(e, low, [&](int64_t part, Expr bits) {
      pairs[part] = e.compute<arith::ShRUIOp>(bits, splat(16));
    });
  }
  if (high) {
    forEachPart(e, high, [&](int64_t part, Expr bits) {
      pairs[part] = e.compute<arith::OrIOp>(pairs[part], bits);
    });
  }
  for (auto [matrix, pair] : llvm::zip_equal(parts, pairs)) {
    e.store(pair, matrix, row, {column, CpuFacts::registerLanes});
  }
}

void multiplySplit(KernelEmitter &e, const MatrixPlace &sums,
                   const SplitFactor &left, const SplitFactor &right, Expr rows,
                   Expr height, Expr depth, bool isAdded) {
  // A part has 2^-8 of the one before, and their product what both have.
  for (int64_t order = kParts - 1; order >= 0; --order) {
    for (auto [i, of] : llvm::enumerate(left.parts)) {
      int64_t j = order - int64_t(i);
      if (j < 0 || j >= int64_t(right.parts.size())) {
        continue;
      }
      e.make<BlockProductOp>(sums.matrix, e.valuesOf(sums.position), of,
                             e.valuesOf(left.place), right.parts[j],
                             e.valuesOf(right.place), rows, height, depth,
                             kColumns, isAdded);
      isAdded = true;
    }
  }
}

} // namespace hova
