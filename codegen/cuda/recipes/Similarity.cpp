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

  void awaitQueries() override {
    GroupWaitOp::create(b, token);
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

class SumsOfTerms : public Similarity {
public:
  SumsOfTerms(KernelBuilder &b, CudaScheduleAttr schedule,
              const HeadMatrices &head)
      : b(b), own(schedule), similarity(head.similarity), queries(head.queries),
        vector(head.scoreVector) {}

  void begin(Value firstQuery, bool) override { row = firstQuery; }

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
  return std::make_unique<DotProducts>(b, schedule, head);
}

} // namespace hova
