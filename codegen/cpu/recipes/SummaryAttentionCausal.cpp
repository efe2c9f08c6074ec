//===- SummaryAttentionCausal.cpp - The keys of a causal block ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Besides the sums of the blocks before it, a query reads the keys of its own
// block up to its token, by their scores:
//
//   A_ij = (phi_q(q_i) . e_j) 2^(c_j - c_i) + eps * sum phi_q(q_i)     j <= i
//   O_i  = (2^(peak - c_i) phi_q(q_i) S + sum_j A_ij v_j) / the same with ones
//
// where c_j is the largest exponent up to key j, e_j the exponentials of key j
// relative to it, and peak that of the blocks before. No key after i has a part
// in row i: its score is replaced by zero, whatever it is.

#include "codegen/cpu/TileOps.h"
#include "codegen/cpu/recipes/RowBlocks.h"
#include "codegen/cpu/recipes/SummaryAttentionEmitter.h"
#include "codegen/cpu/recipes/Transpose.h"
#include "dialect/DenseOps.h"

using namespace mlir;

namespace hova {

/// Tokens and features that are transposed at once.
static constexpr int64_t kTransposed = 16;

//===----------------------------------------------------------------------===//
// Features of keys
//===----------------------------------------------------------------------===//

/// valid[j] = key_valid[j] ? 1 : 0, 0 after the last token.
void SummaryAttentionEmitter::writeValid(int64_t tokens) {
  Value bytes = e.buffer(op.getKeyValid());
  e.forEachChunk(tokens, [&](Value column, int64_t lanes, int64_t inside) {
    VectorType type = e.vectorType(lanes);
    Value own = e.loadLanes(bytes, batch, e.add(token, column), lanes, inside);
    Value isKey = make<arith::CmpIOp>(
        arith::CmpIPredicate::ne, own,
        make<arith::ConstantOp>(b.getZeroAttr(own.getType())));
    Value one =
        make<arith::SelectOp>(isKey, e.splat(1, type), e.splat(0, type));
    e.storeRow(one, valid, e.index(0), column, inside);
  });
}

Value SummaryAttentionEmitter::isValid(Value token) {
  return make<arith::CmpFOp>(arith::CmpFPredicate::ONE,
                             e.loadScalar(valid, e.index(0), token),
                             e.scalar(0));
}

void SummaryAttentionEmitter::emitKeyFeatures(int64_t tokens) {
  Value zero = e.index(0);
  // Lanes after the last token are read, though what they give is not.
  for (Value row : {peaks, valid}) {
    e.forLoop("tokens", zero, e.index(layout.paddedTokens), kTransposed,
              [&](Value column) {
                e.storeRow(e.splat(0, kTransposed), row, zero, column,
                           kTransposed);
              });
  }
  if (op.getKeyValid()) {
    writeValid(tokens);
  }
  keys->emitProducts(queryRow, keyHead, tokens);
  Value start = e.loadScalar(peak, zero, zero);
  e.forLoop("tokens", zero, e.index(tokens), 1, start,
            [&](Value i, ValueRange carried) {
              Value keep = op.getKeyValid() ? isValid(i) : Value();
              Value largest = carried[0], shift = e.scalar(sizes.shift());
              if (sizes.hasMaximum()) {
                Value own = keys->maximum(i);
                own = keep ? make<arith::SelectOp>(keep, own, largest) : own;
                largest = make<arith::MaxNumFOp>(largest, own);
                make<memref::StoreOp>(largest, peaks, ValueRange{zero, i});
                shift = make<arith::NegFOp>(largest);
              }
              if (sizes.hasExponentials()) {
                keys->exponentiate(i, shift, 0);
              }
              if (keep) {
                keys->keepIf(keep, i);
              }
              return SmallVector<Value>{largest};
            });
  transposeKeys(tokens);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// packed[r][j] = feature r of key j, for 16 keys, of which `tokens` exist, and
/// `features` features.
void SummaryAttentionEmitter::transposeBlock(Value token, int64_t tokens,
                                             Value feature, int64_t features) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < tokens; ++i) {
    rows.push_back(e.loadRow(keys->matrix(), e.add(token, i), feature,
                             kTransposed, features));
  }
  rows.resize(kTransposed, e.splat(0, kTransposed));
  if (tokens) {
    transpose16(b, loc, rows);
  }
  for (int64_t i = 0; i < features; ++i) {
    e.storeRow(rows[i], packed, e.add(feature, i), token, kTransposed);
  }
}

void SummaryAttentionEmitter::transposeKeys(int64_t tokens) {
  int64_t wholeFeatures = sizes.count / kTransposed * kTransposed;
  auto transposeTokens = [&](Value token, int64_t own) {
    e.forLoop("features", e.index(0), e.index(wholeFeatures), kTransposed,
              [&](Value feature) {
                transposeBlock(token, own, feature, kTransposed);
              });
    if (int64_t rest = sizes.count - wholeFeatures) {
      transposeBlock(token, own, e.index(wholeFeatures), rest);
    }
  };
  int64_t whole = tokens / kTransposed * kTransposed;
  if (whole) {
    e.forLoop("tokens", e.index(0), e.index(whole), kTransposed,
              [&](Value token) { transposeTokens(token, kTransposed); });
  }
  // The last tile of scores reads whole lanes.
  int64_t padded = llvm::alignTo(tokens, layout.tileColumns);
  for (int64_t token = whole; token < padded; token += kTransposed) {
    transposeTokens(e.index(token),
                    std::clamp<int64_t>(tokens - token, 0, kTransposed));
  }
}

/// The scores of queries `row` to `row + height`, from row `to` of them.
void SummaryAttentionEmitter::emitScores(Value row, int64_t height, Value tiles,
                                         Value to) {
  auto type = VectorType::get({height, layout.tileColumns}, b.getF32Type());
  Value zero = e.index(0);
  e.forLoop("tiles", zero, tiles, 1, [&](Value tile) {
    Value column = e.mul(tile, layout.tileColumns);
    Value own =
        make<TileProductOp>(type, queries.matrix(), row, zero, packed,
                            ValueRange{zero, column}, e.index(sizes.count));
    make<TileStoreOp>(own, scores, to, column, IntegerAttr());
  });
}

/// A_ij for one vector of keys j.
Value SummaryAttentionEmitter::maskScores(Value i, Value query, Value column,
                                          Value own) {
  int64_t lanes = layout.tileColumns;
  Value zero = e.index(0);
  if (sizes.hasMaximum()) {
    Value peakOfKeys = e.loadRow(peaks, zero, column, lanes, lanes);
    Value peakOfQuery = e.loadScalar(peaks, zero, query);
    Value weight = e.loadScalar(queries.matrix(), query, sizes.count);
    Value factor = make<Exp2Op>(
        make<arith::SubFOp>(peakOfKeys, e.splat(peakOfQuery, lanes)));
    own = make<math::FmaOp>(own, factor, e.splat(weight, lanes));
  }
  SmallVector<Attribute> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    numbers.push_back(b.getI32IntegerAttr(static_cast<int32_t>(lane)));
  }
  auto type = VectorType::get({lanes}, b.getI32Type());
  Value token = make<arith::AddIOp>(
      make<arith::ConstantOp>(DenseElementsAttr::get(type, numbers)),
      e.splat(make<arith::IndexCastOp>(b.getI32Type(), column), lanes));
  Value keep = make<arith::CmpIOp>(
      arith::CmpIPredicate::sle, token,
      e.splat(make<arith::IndexCastOp>(b.getI32Type(), query), lanes));
  Value none = e.splat(0, lanes);
  if (op.getKeyValid()) {
    Value counts =
        make<arith::CmpFOp>(arith::CmpFPredicate::ONE,
                            e.loadRow(valid, zero, column, lanes, lanes), none);
    keep = make<arith::AndIOp>(keep, counts);
  }
  own = make<arith::SelectOp>(keep, own, none);
  e.storeRow(own, scores, i, column, lanes);
  return own;
}

/// Scores of row `i`, masked, and the sum of products of its query, whose
/// features become relative to the exponent of its own keys.
Value SummaryAttentionEmitter::emitCausalSum(Value i, Value query,
                                             Value tiles) {
  int64_t lanes = layout.tileColumns;
  Value zero = e.index(0);
  Value total = e.forLoop(
      "tiles", zero, tiles, 1, e.splat(0, lanes),
      [&](Value tile, ValueRange carried) {
        Value column = e.mul(tile, lanes);
        Value own = e.loadRow(scores, i, column, lanes, lanes);
        own = maskScores(i, query, column, own);
        return SmallVector<Value>{make<arith::AddFOp>(carried[0], own)};
      })[0];
  Value sum = make<vector::ReductionOp>(vector::CombiningKind::ADD, total,
                                        arith::FastMathFlags::reassoc);
  if (sizes.hasMaximum()) {
    Value difference = make<arith::SubFOp>(e.loadScalar(peak, zero, zero),
                                           e.loadScalar(peaks, zero, query));
    queries.scale(query, exponential(difference));
  }
  return make<arith::AddFOp>(queries.dot(query, ones, layout.depth), sum);
}

void SummaryAttentionEmitter::emitCausalRow(Value row, Value i, Value tiles) {
  Value query = e.add(row, i);
  if (canVanish()) {
    queries.save(query, saved);
  }
  writeInverse(
      i, [&] { return emitCausalSum(i, query, tiles); },
      [&](Value factor) {
        queries.enlarge(query, factor, saved, e.index(0));
        emitScores(query, 1, tiles, i);
      });
}

void SummaryAttentionEmitter::emitCausalRows(int64_t tokens) {
  forEachEvenBlock(e, "queries", tokens, e.schedule.tileRows,
                   [&](Value row, int64_t height) {
                     Value limit = e.add(row, height);
                     Value tiles = e.div(e.add(limit, layout.tileColumns - 1),
                                         layout.tileColumns);
                     emitScores(row, height, tiles, e.index(0));
                     e.forLoop("queries", e.index(0), e.index(height), 1,
                               [&](Value i) { emitCausalRow(row, i, tiles); });
                     emitResults(row, height, limit);
                   });
}

} // namespace hova
