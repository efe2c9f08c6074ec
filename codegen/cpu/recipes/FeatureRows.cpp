//===- FeatureRows.cpp - Features of tokens in scratch --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/FeatureRows.h"
#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/ProductPanels.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "dialect/Shapes.h"
#include "dialect/ranges/RangeMistakes.h"
#include <limits>

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Blocks of tokens
//===----------------------------------------------------------------------===//

TokenBlock tokenBlockOf(KernelEmitter &e, Expr unit,
                        const FeatureSizes &sizes) {
  Expr number = unit % sizes.blocks, pair = unit / sizes.blocks;
  Expr batch = pair / sizes.heads, token = number * sizes.block;
  TokenBlock block = {number, batch, pair % sizes.heads, token, {}, {}};
  RowsOf rows = e.rowsOfItem(batch, sizes.tokens, sizes.ofTokens);
  block.row = rows.first + token;
  if (e.haveTokenRanges()) {
    // Blocks begin at multiples of one size in every item, however long it is:
    // so sums of a block do not depend on what comes after it.
    Expr end = min(token + sizes.block, rows.count);
    block.length = select(token < rows.count, end - token, 0);
  }
  return block;
}

Expr countBlocks(KernelEmitter &e, const TokenBlock &block, Value sums,
                 const FeatureSizes &sizes) {
  if (!e.haveTokenRanges()) {
    return shapeOf(sums)[2];
  }
  Value keys = keysOfSums(sums);
  Expr count = e.rowsOfItem(block.batch, /*tokens=*/0, keys).count;
  return (count + (sizes.block - 1)) / sizes.block;
}

void forEachLength(KernelEmitter &e, const TokenBlock &block,
                   const FeatureSizes &sizes,
                   llvm::function_ref<void(const BlockLength &)> body) {
  if (block.length) {
    Expr isWhole = block.length == sizes.block;
    e.ifThen(isWhole, [&] { body(sizes.block); });
    e.ifThen((block.length != 0) & (block.length < sizes.block),
             [&] { body(BlockLength(block.length)); });
    return;
  }
  if (sizes.last == sizes.block) {
    return body(sizes.block);
  }
  e.ifThen(block.number != sizes.blocks - 1, [&] { body(sizes.block); });
  e.ifThen(block.number == sizes.blocks - 1, [&] { body(sizes.last); });
}

void forEachTokenRows(KernelEmitter &e, StringRef name,
                      const BlockLength &length,
                      llvm::function_ref<void(Expr, int64_t)> body) {
  int64_t most = e.schedule.tileRows;
  if (length.known) {
    return forEachEvenBlock(e, name, *length.known, most, body);
  }
  Expr rest = length.count % most, row = length.count - rest;
  e.forLoop(name, 0, row, most, [&](Expr row) { body(row, most); });
  for (int64_t height = llvm::PowerOf2Ceil(most) / 2; height > 0; height /= 2) {
    Expr isTaken = rest / height % 2 == 1;
    e.ifThen(isTaken, [&] { body(row, height); });
    row = row + select(isTaken, height, 0);
  }
}

void KeyMask::write(const TokenBlock &block, const BlockLength &length) {
  if (block.length) {
    // Packed items are one row of the matrix.
    e.forLoop("tokens", length.count, [&](Expr i) {
      Expr isKey;
      if (bytes) {
        isKey = e.load(bytes, 0, block.row + i) != 0;
      }
      e.store(select(isKey, 1.0, 0.0), ones, 0, i);
    });
    return;
  }
  e.forEachChunk(*length.known, [&](const Chunk &at) {
    Expr isKey;
    if (bytes) {
      isKey = e.loadAsStored(bytes, block.batch, at + block.token) != 0;
    }
    e.store(select(isKey, 1.0, 0.0), ones, 0, at);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void FeatureRows::emitProducts(Expr first, Expr head,
                               const BlockLength &length) {
  Expr left = head * sizes.keyWidth;
  bool usesUnit = sizes.usesUnit && weight;
  if (usesUnit) {
    emitUnitProducts(first, left, length);
  }
  auto emitTiles = [&](Expr row, int64_t height) {
    Expr from = first + row;
    if (sizes.hasExponentials()) {
      Expr halves = computeHalfNorms(from, left, height);
      e.store(halves, halfNorms, {row, 0, height});
    }
    if (usesUnit) {
      return;
    }
    forEachTileColumn(e, sizes.count, [&](const Chunk &at) {
      e.store(computeTile(from, left, height, at), rows, {row, height, at});
    });
  };
  forEachTokenRows(e, "tokens", length, emitTiles);
}

/// log2(e) |scale x_i|^2 / 2 for `height` tokens, whose x begin at `row` and
/// `left` of the operand.
Expr FeatureRows::computeHalfNorms(Expr row, Expr left, int64_t height) {
  int64_t most = e.schedule.tileColumns, width = sizes.keyWidth;
  Expr sum;
  for (int64_t column = 0; column < width; column += most) {
    int64_t rest = width - column;
    int64_t lanes = std::min<int64_t>(most, llvm::PowerOf2Ceil(rest));
    Chunk at{left + column, lanes, std::min(lanes, rest)};
    Expr x = e.load(source, {row, height, at});
    Expr part = e.compute<TileRowSumOp>(e.tileType(height, 1), x * x);
    sum = sum ? sum + part : part;
  }
  return sum * (llvm::numbers::log2e * sizes.scale * sizes.scale / 2);
}

/// A tile of x w, or of x: what exponents are made of, or rectified features.
Expr FeatureRows::computeTile(Expr row, Expr left, int64_t height,
                              const Chunk &at) {
  Expr tile;
  if (weight) {
    // All lanes: panels have those of their last tile.
    tile =
        e.multiply({row, height, {at.column, at.lanes}}, {source, {row, left}},
                   placeInPanels(weight, 0, at.column), sizes.keyWidth);
  } else {
    tile = e.load(source, {row, height, at + left});
  }
  double factor = productFactor();
  return rectified(factor != 1 ? tile * factor : tile);
}

/// A tile of products times their factor, as it stands in the rows.
Expr FeatureRows::rectified(Expr tile) {
  // NaN is not less: it stays, where a maximum would lose it.
  return sizes.hasExponentials() ? tile : select(tile < 0, 0, tile) + sizes.eps;
}

//===----------------------------------------------------------------------===//
// Products by the matrix unit
//===----------------------------------------------------------------------===//

UnitFeatures::UnitFeatures(const FeatureSizes &sizes, ScratchLayout &layout,
                           int64_t rows, Operation *op)
    : mostRows(sizes.block),
      depth(sizes.keyWidth / MatrixUnit::depth * MatrixUnit::depth) {
  if (!sizes.usesUnit) {
    return;
  }
  Builder b(op->getContext());
  height = unitHeightOf(std::max(rows, sizes.block));
  mostRows = std::max(sizes.block, height);
  weight =
      SplitFactor(layout, {depth / 2, wholeSteps(sizes.count)}, b.getI32Type());
  bool hasFew = std::min(sizes.block, sizes.last) < height;
  bool isOfAnyLength = SequenceRanges::ofTokens(op).has_value();
  copied = layout.take({isOfAnyLength ? mostRows
                        : hasFew      ? height
                                      : 0,
                        paddedStride(sizes.keyWidth, 2)},
                       b.getBF16Type());
}

void FeatureRows::splitWeight() {
  if (!sizes.usesUnit || !weight) {
    return;
  }
  constexpr int64_t lanes = CpuFacts::registerLanes;
  e.forLoop("channels", unit.depth / 2, [&](Expr pair) {
    e.forEachChunk(sizes.count, lanes, [&](const Chunk &at) {
      auto load = [&](Expr channel) {
        return e.load(placeInPanels(weight, channel, at.column), lanes,
                      e.laneMask(lanes, at.valid)) *
               productFactor();
      };
      unit.weight.storePairs(e, load(pair * 2), load(pair * 2 + 1), pair,
                             at.column);
    });
    // Columns that only fill the last block.
    int64_t from = llvm::alignTo(sizes.count, lanes);
    for (; from < wholeSteps(sizes.count); from += lanes) {
      unit.weight.storePairs(e, {}, {}, pair, from);
    }
  });
}

/// The tokens of the block as a left operand: where there may be fewer than a
/// tile has rows, a copy, behind which as many may be read.
MatrixPlace FeatureRows::unitTokens(Expr row, Expr left,
                                    const BlockLength &length) {
  if (length.known && *length.known >= unit.height) {
    return {source, {row, left}};
  }
  e.forLoop("tokens", length.count, [&](Expr i) {
    e.forEachChunk(sizes.keyWidth, MatrixUnit::depth, [&](const Chunk &at) {
      e.store(e.loadAsStored(source, row + i, at + left), unit.copied, i, at);
    });
  });
  return {unit.copied, {0, 0}};
}

/// 32 columns of all tokens at a time: those of the weight stay in the
/// first-level cache.
void FeatureRows::emitUnitProducts(Expr first, Expr left,
                                   const BlockLength &length) {
  constexpr int64_t columns = MatrixUnit::blockColumns;
  MatrixPlace tokens = unitTokens(first, left, length);
  UnitBlocks blocks(0, max(length.count, unit.height), unit.height);
  e.forLoop("columns", 0, wholeSteps(sizes.count), columns, [&](Expr column) {
    e.forLoop("blocks", blocks.count, [&](Expr block) {
      Expr row = blocks.firstOf(block);
      multiplySplit(e, {rows, {row, column}}, SplitFactor(tokens).at(row, 0),
                    unit.weight.at(0, column), blocks.rowCount, unit.height,
                    unit.depth);
    });
  });
  int64_t rest = sizes.keyWidth - unit.depth;
  if (!rest && sizes.hasExponentials()) {
    return;
  }
  e.forLoop("tokens", length.count, [&](Expr i) {
    forEachTileColumn(e, sizes.count, [&](const Chunk &at) {
      TilePlace place(i, 1, {at.column, at.lanes});
      Expr tile = e.load(rows, place);
      if (rest) {
        Expr more =
            e.multiply(place, {source, {first + i, left + unit.depth}},
                       placeInPanels(weight, unit.depth, at.column), rest);
        tile = fma(more, Expr(productFactor()), tile);
      }
      e.store(rectified(tile), rows, {i, 1, at});
    });
  });
}

//===----------------------------------------------------------------------===//
// Row by row
//===----------------------------------------------------------------------===//

Expr FeatureRows::reduce(vector::CombiningKind kind, Expr i, int64_t width,
                         Value factors) {
  return e.reduceRow(kind, width, [&](Expr before, const Chunk &at) {
    Expr feature = e.load(rows, i, at);
    return combine(kind, before,
                   factors ? feature * e.load(factors, 0, at) : feature);
  });
}

/// 2^x of x that no maximum was subtracted from: above 127 hova.exp2 promises
/// nothing. There it is 16 times that of 4 less, which is infinite from 128 on.
static Expr exp2OfAny(Expr x) {
  // NaN is not greater, and stays.
  Expr capped = select(x > 130, 130, x);
  Expr isLarge = capped > 126;
  Expr less = select(isLarge, 4.0, 0.0);
  Expr factor = select(isLarge, 16.0, 1.0);
  return exp2(capped - less) * factor;
}

/// `width` columns of row `i` become what `body` makes of row `j` of `from`.
void FeatureRows::rewrite(Expr i, int64_t width, Value from, Expr j,
                          llvm::function_ref<Expr(Expr)> body) {
  e.forEachChunk(width, [&](const Chunk &at) {
    e.store(body(e.load(from, j, at)), rows, i, at);
  });
}

void FeatureRows::exponentiate(Expr i, Expr shift, double eps) {
  if (!sizes.hasExponentials()) {
    return;
  }
  Expr offset = shift - e.load(halfNorms, i, 0);
  rewrite(i, [&](Expr x) {
    Expr exponent = x + offset;
    Expr feature = sizes.hasMaximum() ? exp2(exponent) : exp2OfAny(exponent);
    return eps == 0 ? feature : feature + eps;
  });
}

void FeatureRows::finishKey(Expr i, Expr shift, Expr counts) {
  exponentiate(i, shift);
  if (counts) {
    rewrite(i, [&](Expr x) { return select(counts, x, 0); });
  }
}

void FeatureRows::enlarge(Expr i, Expr factor, Value from, Expr j) {
  double most = std::numeric_limits<float>::max();
  rewrite(i, sizes.count + 1, from, j,
          [&](Expr x) { return min(x * factor, most); });
}

} // namespace hova
