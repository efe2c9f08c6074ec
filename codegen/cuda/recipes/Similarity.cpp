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

using Elements = KernelBuilder::Elements;

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
      : b(b), chosen(schedule), matrix(head.queries) {
    auto type = cast<MemRefType>(matrix.getType());
    element = type.getElementType();
    columns = type.getDimSize(1);
    width = boxColumns(columns);
  }

  void begin(Expr row, bool inside) override {
    queries = slots(1, chosen.getRows());
    token = b.copy(matrix, row, 0, queries, 0, inside, columns == width);
  }

  void makeSlots(int64_t boxes) override {
    keys = slots(boxes, chosen.getStep());
  }

  Values copy(const Box &box, bool inside) override {
    return {b.copy(box.keys, box.first, 0, keys, box.slot, inside,
                   columns == width)};
  }

  void awaitQueries(ValueRange before) override {
    Values tokens(before);
    tokens.push_back(token);
    GroupWaitOp::create(b, tokens);
    querySlot = b.index(0);
    if (!element.isF32() && width <= kManyHeadColumns) {
      queries = GroupLoadOp::create(b, tileOf(chosen, width, element), queries,
                                    querySlot, {false, false});
      querySlot = Value();
    }
  }

  Value multiply(const Box &box) override {
    Value zero = b.fill(tileOf(chosen, chosen.getStep(), b.f32()), 0);
    return GroupProductOp::create(b, queries, keys, box.slot.in(b), zero,
                                  querySlot, true);
  }

protected:
  Value slots(int64_t count, int64_t rows) {
    return b.slots({count, rows, width}, element);
  }

  KernelBuilder &b;
  CudaScheduleAttr chosen;
  Value matrix;
  Type element;
  int64_t columns, width; ///< of a head, and of its box
  Value queries, keys, token;
  Value querySlot; ///< where queries stay in group memory; otherwise null
};

/// The same of a head among others in group memory. What stands beside it is
/// left out of both operands, for infinity times 0 is none.
class ProductsOfBox : public DotProducts {
public:
  ProductsOfBox(KernelBuilder &b, CudaScheduleAttr schedule,
                const HeadMatrices &head)
      : DotProducts(b, schedule, head), box(*head.box), head(head.number) {}

  void begin(Expr row, bool) override { firstQuery = row; }

  Values copy(const Box &, bool) override {
    // Nobody reads those of the head before any longer.
    GroupWaitOp::create(b, ValueRange());
    GroupShareOp::create(b, read(chosen.getStep(), 0, box.keyColumn), keys,
                         b.index(0));
    return {};
  }

  void awaitQueries(ValueRange) override {
    queries = read(chosen.getRows(), firstQuery, box.queryColumn);
  }

private:
  /// The head's columns of `rows` rows, where heads begin at a column.
  Value read(int64_t rows, Expr row, int64_t column) {
    TileType type =
        tileOf(chosen, width, element)
            .with({rows, width}, element, TileDistribution::product);
    Expr first = head * columns + column;
    Value all = b.gatherOfBox(type, box.rows, 0, [&](Expr i, Expr j) {
      return std::pair(row + i, first + j);
    });
    return b.map(type, all, [&](Elements x, Expr, Expr j) {
      return select(j < columns, x[0], 0);
    });
  }

  HeadBox box;
  Expr head, firstQuery;
};

class SumsOfTerms : public Similarity {
public:
  SumsOfTerms(KernelBuilder &b, CudaScheduleAttr schedule,
              const HeadMatrices &head)
      : b(b), chosen(schedule), similarity(head.similarity),
        queries(head.queries), vector(head.scoreVector) {}

  void begin(Expr firstQuery, bool) override { row = firstQuery; }

  void awaitQueries(ValueRange before) override {
    if (!before.empty()) {
      GroupWaitOp::create(b, before);
    }
  }

  Value multiply(const Box &box) override {
    auto matrix = cast<MemRefType>(queries.getType());
    Value zero = b.fill(tileOf(chosen, chosen.getStep(), b.f32()), 0);
    auto add = [&](Expr column, ValueRange in) -> Values {
      Values read{in[0]};
      auto gather = [&](Value from, int64_t columns,
                        llvm::function_ref<Expr(Expr i, Expr j)> rowOf) {
        TileType type = tileOf(chosen, columns, getElementTypeOrSelf(from));
        read.push_back(b.gather(type, from, [&](Expr i, Expr j) {
          return std::pair(rowOf(i, j), column);
        }));
      };
      gather(queries, 1, [&](Expr i, Expr) { return row + i; });
      gather(box.keys, chosen.getStep(),
             [&](Expr, Expr j) { return box.first + j; });
      if (vector) {
        gather(vector, 1, [](Expr, Expr) { return 0; });
      }
      return {b.map(zero.getType(), read, [&](Elements x, Expr, Expr) {
        Value weight = vector ? Value(widen(b, x[3])) : Value();
        return similarity.addTerm(b, widen(b, x[1]), widen(b, x[2]), weight,
                                  x[0]);
      })};
    };
    return b.loop(matrix.getDimSize(1), zero, add)[0];
  }

private:
  KernelBuilder &b;
  CudaScheduleAttr chosen;
  SimilarityAttrInterface similarity;
  Value queries;
  Expr row;
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
