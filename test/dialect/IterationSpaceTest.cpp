//===- IterationSpaceTest.cpp - Dims and maps say what operations do ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The maps of an operation against its evaluation: its results are covered
// exactly once, and a unit changes only with the elements that the maps say it
// reads.

#include "OperationFixture.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include <set>

using namespace mlir;
using namespace hova;

namespace {

class IterationSpaces : public testing::TestWithParam<test::OperationCase> {
protected:
  void SetUp() override {
    ASSERT_TRUE(op);
    space = cast<StructuredOpInterface>(op).getIterationSpace();
  }

  HostTensor run() { return operation.run(); }

  /// Calls `body` with every point of the space.
  void forEachPoint(llvm::function_ref<void(ArrayRef<int64_t>)> body) {
    SmallVector<int64_t> point(space.dims.size(), 0);
    for (;;) {
      body(point);
      size_t dim = 0;
      while (dim < point.size() && ++point[dim] == space.dims[dim].size) {
        point[dim++] = 0;
      }
      if (dim == point.size()) {
        return;
      }
    }
  }

  /// The element that a map reads at a point; nothing outside of the shape.
  static std::optional<int64_t>
  elementAt(AffineMap map, ArrayRef<int64_t> shape, ArrayRef<int64_t> point) {
    int64_t element = 0;
    for (auto [index, size] : llvm::zip_equal(map.compose(point), shape)) {
      if (index < 0 || index >= size) {
        return std::nullopt;
      }
      element = element * size + index;
    }
    return element;
  }

  SmallVector<int64_t> unitOf(ArrayRef<int64_t> point) const {
    SmallVector<int64_t> unit;
    for (unsigned dim : space.units) {
      unit.push_back(point[dim]);
    }
    return unit;
  }

  test::Operation operation{GetParam()};
  Operation *op = operation.op;
  std::vector<HostTensor> &arguments = operation.arguments;
  IterationSpace space;
};

TEST_P(IterationSpaces, CoverTheResultOnce) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  std::map<int64_t, std::set<std::vector<int64_t>>> writers;
  forEachPoint([&](ArrayRef<int64_t> point) {
    auto element = elementAt(space.results[0], shape, point);
    if (!element) {
      return; // after the end of the last block
    }
    std::vector<int64_t> parallel;
    for (auto [dim, index] : llvm::zip(space.dims, point)) {
      if (dim.type == utils::IteratorType::parallel) {
        parallel.push_back(index);
      }
    }
    writers[*element].insert(parallel);
  });
  EXPECT_EQ(static_cast<int64_t>(writers.size()), staticSize(shape));
  for (const auto &[element, points] : writers) {
    EXPECT_EQ(points.size(), 1u) << "element " << element;
  }
}

TEST_P(IterationSpaces, UnitsReadWhatTheMapsSay) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  std::vector<SmallVector<int64_t>> owner(staticSize(shape));
  forEachPoint([&](ArrayRef<int64_t> point) {
    if (auto element = elementAt(space.results[0], shape, point)) {
      owner[*element] = unitOf(point);
    }
  });
  HostTensor before = run();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    AffineMap map = space.operands[index];
    if (!map) {
      continue; // anything may be read
    }
    ArrayRef<int64_t> sizes = shapeOf(operand.get());
    std::vector<std::set<SmallVector<int64_t>>> readers(staticSize(sizes));
    forEachPoint([&](ArrayRef<int64_t> point) {
      if (auto element = elementAt(map, sizes, point)) {
        readers[*element].insert(unitOf(point));
      }
    });
    for (size_t element = 0; element < readers.size(); ++element) {
      float &value = arguments[index].mutableAs<float>()[element];
      float kept = value;
      value += 2.5f;
      HostTensor after = run();
      arguments[index].mutableAs<float>()[element] = kept;
      for (int64_t i = 0; i < after.size(); ++i) {
        if (!readers[element].count(owner[i])) {
          EXPECT_EQ(after.as<double>()[i], before.as<double>()[i])
              << "operand " << index << " element " << element
              << " changes element " << i << " of another unit";
        }
      }
    }
  }
}

/// Of an operand that is read row by row, another row changes nothing.
TEST_P(IterationSpaces, ReadTheSameRowWhereTheySaySo) {
  int64_t width = shapeOf(op->getResult(0)).back();
  HostTensor before = run();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!space.readsSameRow(index)) {
      continue;
    }
    int64_t columns = shapeOf(operand.get()).back();
    for (int64_t at = 0; at < arguments[index].size(); ++at) {
      float &value = arguments[index].mutableAs<float>()[at];
      float kept = value;
      value += 2.5f;
      HostTensor after = run();
      arguments[index].mutableAs<float>()[at] = kept;
      for (int64_t i = 0; i < after.size(); ++i) {
        if (i / width != at / columns) {
          EXPECT_EQ(after.as<double>()[i], before.as<double>()[i])
              << "row " << at / columns << " of operand " << index
              << " changes row " << i / width;
        }
      }
    }
  }
}

/// What passes rely on: rows of a product and of a norm, but heads of an
/// attention, and blocks of tokens of a linear one and where queries see
/// blocks.
TEST_P(IterationSpaces, HaveUnits) {
  auto attention = dyn_cast<AttentionOp>(op);
  int64_t blocks = isa<KeySummaryOp, SummaryAttentionOp>(op) ? 2
                   : attention && attention.getBlock()       ? 4
                   : isa<MergeSummariesOp>(op)               ? 1
                                                             : 0;
  bool hasHeads = blocks || isa<AttentionOp, LinearAttentionOp>(op);
  EXPECT_EQ(space.dividesRows(), !hasHeads);
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  EXPECT_EQ(space.countUnits(), blocks     ? shape[0] * 2 * blocks
                                : hasHeads ? 4
                                           : staticSize(shape.drop_back()));
}

/// Sizes that nobody knows: the maps are there, the units cannot be counted.
TEST(IterationSpace, TakesDynamicSizes) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(
      R"(func.func @main(%x: tensor<?x?x?xf32>, %w: tensor<?x?xf32>,
                         %i: tensor<?x?x?x?xf32>) {
           %0 = hova.linear %x, %w : tensor<?x?x?xf32>, tensor<?x?xf32>
               -> tensor<?x?x?xf32>
           %1 = hova.attention %x, %x, %x {heads = 2 : i64}
               : (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>)
               -> tensor<?x?x?xf32> scores {
           ^bb0(%raw: f32, %batch: index, %head: index, %query: index,
                %key: index):
             %all = arith.constant true
             hova.score_yield %raw kept %all
           }
           %2 = hova.concat %x, %x {axis = 2 : i64}
               : tensor<?x?x?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
           %3 = hova.unfold %i {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>}
               : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
           return
         })",
      &context);
  ASSERT_TRUE(module);
  module->walk([](StructuredOpInterface op) {
    EXPECT_EQ(op.getIterationSpace().countUnits(), 0);
  });
}

/// Logits of heads are those of the heads that a thread has of an attention
/// with as many; a product reads columns of all.
TEST(IterationSpace, KeepsUnitsWhereHeadsStandAlike) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(
      R"(func.func @main(%x: tensor<2x5x12xf32>, %s: tensor<2x5x3xf32>,
                         %w: tensor<3xf32>, %a: tensor<4x3xf32>,
                         %b: tensor<6x3xf32>, %c: tensor<12x12xf32>) {
           %0 = hova.attention %x, %x, %x {heads = 3 : i64}
               : (tensor<2x5x12xf32>, tensor<2x5x12xf32>, tensor<2x5x12xf32>)
               -> tensor<2x5x12xf32> scores {
           ^bb0(%raw: f32, %batch: index, %head: index, %query: index,
                %key: index):
             %all = arith.constant true
             hova.score_yield %raw kept %all
           }
           %1 = hova.head_logits %0, %s, %a, %w {heads = 3 : i64}
               : (tensor<2x5x12xf32>, tensor<2x5x3xf32>, tensor<4x3xf32>,
                  tensor<3xf32>) -> tensor<2x5x3xf32>
           %2 = hova.head_logits %0, %s, %b, %w {heads = 2 : i64}
               : (tensor<2x5x12xf32>, tensor<2x5x3xf32>, tensor<6x3xf32>,
                  tensor<3xf32>) -> tensor<2x5x2xf32>
           %3 = hova.linear %0, %c : tensor<2x5x12xf32>, tensor<12x12xf32>
               -> tensor<2x5x12xf32>
           %4 = hova.scale %0 {factor = 2.0 : f64} : tensor<2x5x12xf32>
           return
         })",
      &context);
  ASSERT_TRUE(module);
  auto main = *module->getOps<func::FuncOp>().begin();
  auto ops = llvm::to_vector(main.getOps<StructuredOpInterface>());
  ASSERT_EQ(ops.size(), 5u);
  auto keeps = [&](size_t reader, unsigned operand) {
    return keepsUnits(ops[0].getIterationSpace(),
                      ops[reader].getIterationSpace(), operand);
  };
  EXPECT_TRUE(keeps(1, 0));
  EXPECT_FALSE(keeps(1, 1));
  EXPECT_FALSE(keeps(2, 0)) << "its heads are others";
  EXPECT_FALSE(keeps(3, 0));
  EXPECT_FALSE(keeps(4, 0)) << "no dim of its own is the head";
}

INSTANTIATE_TEST_SUITE_P(Ops, IterationSpaces,
                         testing::ValuesIn(test::kOperations),
                         [](const auto &info) { return info.param.name; });

} // namespace
