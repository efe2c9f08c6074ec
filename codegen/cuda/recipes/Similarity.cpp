//===- Similarity.cpp - What makes raw scores of queries and keys ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums of products take queries that stay in registers as a left operand; those
// of f32 stay in group memory, where a product reads four at once, and those of
// wide heads, which have no registers to stay in. Of other terms, every element
// takes some instructions (a tanh about twelve) for two that are read: queries
// and keys come from global memory, one column after the other.

#include "codegen/cuda/recipes/Similarity.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hova {

/// A tile with the rows of a block.
static TileType tileOf(CudaScheduleAttr schedule, int64_t columns, Type type) {
  return TileType::get(type.getContext(), {schedule.getRows(), columns}, type,
                       TileDistribution::product, schedule.getRowWarps(), 1);
}

namespace {
class DotProducts : public Similarity {
public:
  DotProducts(KernelBuilder &b, CudaScheduleAttr schedule,
              const HeadMatrices &head)
      : b(b), own(schedule), matrix(head.queries) {
    auto type = cast<MemRefType>(matrix.getType());
    element = type.getElementType();
    width = boxColumns(type.getDimSize(1));
    widthInside = type.getDimSize(1) == width;
  }

  void begin(Value row, bool inside) override {
    queries = slots(1, own.getRows());
    querySlot = b.index(0);
    token =
        b.copy(matrix, row, querySlot, queries, querySlot, inside, widthInside);
  }

  void makeSlots(int64_t boxes) override { keys = slots(boxes, own.getStep()); }

  Values copy(const Box &box, bool inside) override {
    return {b.copy(box.keys, box.first, b.index(0), keys, box.slot, inside,
                   widthInside)};
  }

  void awaitQueries(ValueRange before) override {
    Values tokens(before);
    tokens.push_back(token);
    GroupWaitOp::create(b, tokens);
    if (!element.isF32() && width <= kManyHeadColumns) {
      queries = GroupLoadOp::create(b, tileOf(own, width, element), queries,
                                    querySlot, {false, false});
      querySlot = Value();
    }
  }

  Value multiply(const Box &box) override {
    Value zero = b.fill(tileOf(own, own.getStep(), b.f32()), 0);
    return GroupProductOp::create(b, queries, keys, box.slot, zero, querySlot,
                                  true);
  }

private:
  Value slots(int64_t count, int64_t rows) {
    return GroupAllocOp::create(
        b, SlotsType::get(b.getContext(), {count, rows, width}, element));
  }

  KernelBuilder &b;
  CudaScheduleAttr own;
  Value matrix;
  Type element;
  int64_t width;
  bool widthInside;
  Value queries, keys, token;
  Value querySlot; ///< where queries stay in group memory; otherwise null
};

/// The same of a head among others in group memory. What stands beside it is
/// left out of both operands, for infinity times 0 is none.
class ProductsOfBox : public Similarity {
public:
  ProductsOfBox(KernelBuilder &b, CudaScheduleAttr schedule,
                const HeadMatrices &head)
      : b(b), own(schedule), box(*head.box), head(head.number) {
    auto type = cast<MemRefType>(head.queries.getType());
    element = type.getElementType();
    width = type.getDimSize(1);
  }

  void begin(Value row, bool) override { firstQuery = row; }

  void makeSlots(int64_t) override {
    keys = GroupAllocOp::create(
        b, SlotsType::get(b.getContext(), {1, own.getStep(), boxColumns(width)},
                          element));
  }

  Values copy(const Box &, bool) override {
    // Nobody reads those of the head before any longer.
    GroupWaitOp::create(b, ValueRange());
    Value first = b.index(0);
    GroupShareOp::create(b, read(own.getStep(), first, box.keyColumn), keys,
                         first);
    return {};
  }

  void awaitQueries(ValueRange) override {
    queries = read(own.getRows(), firstQuery, box.queryColumn);
  }

  Value multiply(const Box &of) override {
    Value zero = b.fill(tileOf(own, own.getStep(), b.f32()), 0);
    return GroupProductOp::create(b, queries, keys, of.slot, zero, Value(),
                                  true);
  }

private:
  /// The head's columns of `rows` rows, where heads begin at a column.
  Value read(int64_t rows, Value row, int64_t column) {
    TileType type = tileOf(own, boxColumns(width), element)
                        .with({rows, boxColumns(width)}, element,
                              TileDistribution::product);
    Value first = b.addIndex(b.mulIndex(head, width), column);
    Value all =
        b.gatherOfBox(type, box.rows, b.index(0), [&](Value i, Value j) {
          return KernelBuilder::Cell(b.sum(row, i), b.sum(first, j));
        });
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
    Value end = b.index(width);
    return b.map(type, all, [&](ValueRange x, Value, Value j) {
      return b.choose(b.isBelow(j, end), x[0], zero);
    });
  }

  KernelBuilder &b;
  CudaScheduleAttr own;
  HeadBox box;
  Value head, firstQuery;
  Type element;
  int64_t width;
  Value queries, keys;
};

class SumsOfTerms : public Similarity {
public:
  SumsOfTerms(KernelBuilder &b, CudaScheduleAttr schedule,
              const HeadMatrices &head)
      : b(b), own(schedule), similarity(head.similarity), queries(head.queries),
        vector(head.scoreVector) {}

  void begin(Value firstQuery, bool) override { row = firstQuery; }

  void awaitQueries(ValueRange before) override {
    if (!before.empty()) {
      GroupWaitOp::create(b, before);
    }
  }

  Value multiply(const Box &box) override {
    auto matrix = cast<MemRefType>(queries.getType());
    Type element = matrix.getElementType();
    Value zero = b.fill(tileOf(own, own.getStep(), b.f32()), 0);
    Value first = b.index(0);
    auto add = [&](Value column, ValueRange in) -> Values {
      Value query =
          b.gather(tileOf(own, 1, element), queries, [&](Value i, Value) {
            return KernelBuilder::Cell(b.sum(row, i), column);
          });
      Value key = b.gather(
          tileOf(own, own.getStep(), element), box.keys, [&](Value, Value j) {
            return KernelBuilder::Cell(b.sum(box.first, j), column);
          });
      SmallVector<Value> read = {in[0], query, key};
      if (vector) {
        Type type = cast<MemRefType>(vector.getType()).getElementType();
        read.push_back(
            b.gather(tileOf(own, 1, type), vector, [&](Value, Value) {
              return KernelBuilder::Cell(first, column);
            }));
      }
      return {b.map(zero.getType(), read, [&](ValueRange x, Value, Value) {
        auto wide = [&](Value value) { return widen(b, b.getLoc(), value); };
        return similarity.addTerm(b, wide(x[1]), wide(x[2]),
                                  vector ? wide(x[3]) : Value(), x[0]);
      })};
    };
    return b.loop(matrix.getDimSize(1), {zero}, add)[0];
  }

private:
  KernelBuilder &b;
  CudaScheduleAttr own;
  SimilarityAttrInterface similarity;
  Value queries, row;
  Value vector; ///< null without
};
} // namespace

std::unique_ptr<Similarity> makeSimilarity(KernelBuilder &b,
                                           CudaScheduleAttr schedule,
                                           const HeadMatrices &head) {
  if (head.similarity && !head.similarity.isProduct()) {
    return std::make_unique<SumsOfTerms>(b, schedule, head);
  }
  if (head.box) {
    return std::make_unique<ProductsOfBox>(b, schedule, head);
  }
  return std::make_unique<DotProducts>(b, schedule, head);
}

} // namespace hova
