//===- Operation.cpp - What sigmoid attention is --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What passes may ask of the operation: whether it is valid, how it iterates,
// how some of its queries are answered, what it costs, which operands enter a
// matrix product, and what it means.

#include "SigmoidAttention.h"
#include "dialect/Shapes.h"
#include "dialect/evaluate/Evaluate.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace hova;
using namespace sigattn;

#include "sigattnDialect.cpp.inc"

#define GET_OP_CLASSES
#include "sigattnOps.cpp.inc"

void SigAttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "sigattnOps.cpp.inc"
      >();
}

LogicalResult AttentionOp::verify() {
  ArrayRef<int64_t> q = shapeOf(getQuery()), k = shapeOf(getKey()),
                    v = shapeOf(getValue());
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || !agree(q[0], k[0]) ||
      !agree(k[0], v[0]) || !agree(k[1], v[1])) { // C1
    return emitOpError("expects query [batch, q_len, width], key and value "
                       "[batch, kv_len, width], got ")
           << shapeText(q) << ", " << shapeText(k) << " and " << shapeText(v);
  }
  int64_t heads = getHeads();
  for (int64_t width : {q[2], k[2], v[2]}) {
    if (!ShapedType::isDynamic(width) && width % heads != 0) { // C2
      return emitOpError("expects widths divisible by ")
             << heads << " heads, got " << width;
    }
  }
  if (!agree(q[2], k[2])) { // C3
    return emitOpError("expects query and key to share their width, got ")
           << q[2] << " and " << k[2];
  }
  if (!agree(shapeOf(getResult()), {q[0], q[1], v[2]})) { // C4
    return emitOpError("expects a result of shape ")
           << shapeText({q[0], q[1], v[2]}) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  if (!agree(shapeOf(getSink()), {heads})) { // C5
    return emitOpError("expects sink of shape ")
           << heads << ", got " << shapeText(shapeOf(getSink()));
  }
  if (!getScale().isFinite() || !getOffset().isFinite()) { // C6
    return emitOpError("expects a finite scale and offset, got ")
           << getScale().convertToDouble() << " and "
           << getOffset().convertToDouble();
  }
  if (Value valid = getKeyValid();
      valid && !agree(shapeOf(valid), {k[0], k[1]})) { // C7
    return emitOpError("expects key_valid of shape ")
           << shapeText({k[0], k[1]}) << ", got " << shapeText(shapeOf(valid));
  }
  return success();
}

/// A thread takes a head of a batch entry, or a block of its queries.
IterationSpace AttentionOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  int64_t heads = getHeads();
  auto perHead = [&](int64_t width) {
    return combine(width, heads, std::divides<>());
  };
  int64_t keyWidth = perHead(q[2]), valueWidth = perHead(v[2]);
  AffineExpr batch = builder.parallel("batch", q[0]);
  AffineExpr head = builder.parallel("head", heads);
  AffineExpr query = builder.parallel("query", q[1]);
  AffineExpr channel = builder.parallel("channel", valueWidth);
  AffineExpr key = builder.reduction("key", v[1]);
  AffineExpr inner = builder.reduction("inner", keyWidth);
  // Where widths are not known, neither is where a head begins.
  bool known =
      !ShapedType::isDynamic(keyWidth) && !ShapedType::isDynamic(valueWidth);
  AffineExpr keyColumn = known ? head * keyWidth + inner : inner;
  AffineExpr valueColumn = known ? head * valueWidth + channel : channel;
  builder.operand(0, {batch, query, keyColumn});
  builder.operand(1, {batch, key, keyColumn});
  builder.operand(2, {batch, key, valueColumn});
  builder.operand(3, {head});
  if (getKeyValid()) {
    builder.operand(4, {batch, key});
  }
  builder.result({batch, query, valueColumn});
  builder.setUnits({batch, head});
  builder.setBlockDim(query);
  return builder.build();
}

/// Some of the queries see the same keys: their place enters no score.
OpOperand &AttentionOp::getRowOperand() { return getQueryMutable(); }

Operation *AttentionOp::computeRowRange(RewriterBase &rewriter, Value rows,
                                        int64_t offset, int64_t count) {
  return cloneWithRows(rewriter, getQueryMutable(), rows, count);
}

std::optional<int64_t> AttentionOp::getAttentionMacs() {
  if (!hasStaticShapes(*this)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  return q[0] * q[1] * v[1] * (q[2] + v[2]);
}

StringRef AttentionOp::getSiteKind() { return "sigmoid attention"; }

/// The weights of all queries, keys and heads, in f32.
int64_t AttentionOp::getInnerBytes() {
  if (!hasStaticShapes(*this)) {
    return 0;
  }
  ArrayRef<int64_t> q = shapeOf(getQuery());
  return q[0] * q[1] * int64_t(getHeads()) * shapeOf(getKey())[1] * 4;
}

/// All but the sink and key_valid.
bool AttentionOp::isStored(unsigned index) { return index < 3; }

/// The loops round what they store.
ResultStorage AttentionOp::getResultStorage(unsigned index) {
  return ResultStorage::rounded;
}

LogicalResult AttentionOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  HostTensor::Element element = value.resultElement();
  ArrayRef<int64_t> q = value(getQuery()).getShape(),
                    v = value(getValue()).getShape();
  int64_t heads = getHeads(), queries = q[1], keys = v[1];
  int64_t keyWidth = q[2] / heads, valueWidth = v[2] / heads;
  const HostTensor *valid = value.optional(getKeyValid());
  // Of the type of the values they are multiplied as pairs.
  Storage storage = storageOf(getElementTypeOrSelf(getValue()));
  HostTensor &result =
      results.emplace_back(element, ArrayRef<int64_t>{q[0], queries, v[2]});
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    Numbers<T> query(value(getQuery())), key(value(getKey())),
        values(value(getValue())), sink(value(getSink()));
    T scale = getScale().convertToDouble(),
      offset = getOffset().convertToDouble();
    T *out = result.mutableAs<T>();
    forEachInParallel(q[0] * heads, [&](int64_t unit) {
      int64_t batch = unit / heads, head = unit % heads;
      for (int64_t i = 0; i < queries; ++i) {
        int64_t row = (batch * queries + i) * heads + head;
        T total = std::exp(sink[head]);
        for (int64_t j = 0; j < keys; ++j) {
          if (valid && valid->at(batch * keys + j) == 0) {
            continue;
          }
          int64_t other = (batch * keys + j) * heads + head;
          T product = 0;
          for (int64_t c = 0; c < keyWidth; ++c) {
            product += query[row * keyWidth + c] * key[other * keyWidth + c];
          }
          T weight = evaluateSigmoid(scale * product + offset);
          total += weight;
          if constexpr (std::is_same_v<T, float>) {
            weight = roundTo(weight, storage);
          }
          for (int64_t c = 0; c < valueWidth; ++c) {
            out[row * valueWidth + c] +=
                weight * values[other * valueWidth + c];
          }
        }
        for (int64_t c = 0; c < valueWidth; ++c) {
          out[row * valueWidth + c] /= total;
        }
      }
    });
  });
  return success();
}
