//===- IterationSpaceTest.cpp - Dims and maps say what operations do ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The maps of an operation against its evaluation: its results are covered
// exactly once, and a unit changes only with the elements that the maps say it
// reads. Every structured operation is here, in shapes whose sizes differ.

#include "codegen/reference/Evaluator.h"
#include "dialect/AttentionOps.h"
#include "dialect/LinearAttentionOps.h"
#include "dialect/Shapes.h"
#include "dialect/SparseAttentionOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

using namespace mlir;
using namespace hova;

namespace {

struct Case {
  const char *name;
  const char *arguments;
  const char *op; ///< gives %y
  const char *result;
};

constexpr Case kCases[] = {
    {"linear", "%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>",
     "hova.linear %x, %w bias(%b) : tensor<2x3x4xf32>, tensor<4x5xf32>, "
     "tensor<5xf32> -> tensor<2x3x5xf32>",
     "tensor<2x3x5xf32>"},
    {"layer_norm",
     "%x: tensor<2x3x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>",
     "hova.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : "
     "tensor<2x3x4xf32>, tensor<4xf32>",
     "tensor<2x3x4xf32>"},
    {"activation", "%x: tensor<2x3x4xf32>",
     "hova.activation tanh %x : tensor<2x3x4xf32>", "tensor<2x3x4xf32>"},
    {"add_table", "%x: tensor<2x3x4xf32>, %t: tensor<3x4xf32>",
     "hova.add %x, %t : tensor<2x3x4xf32>, tensor<3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"multiply", "%x: tensor<2x3x4xf32>, %t: tensor<2x3x4xf32>",
     "hova.multiply %x, %t : tensor<2x3x4xf32>, tensor<2x3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"head_logits",
     "%h: tensor<2x3x8xf32>, %s: tensor<2x3x5xf32>, %w: tensor<4x5xf32>, "
     "%v: tensor<5xf32>",
     "hova.head_logits %h, %s, %w, %v {heads = 2 : i64} : "
     "(tensor<2x3x8xf32>, tensor<2x3x5xf32>, tensor<4x5xf32>, tensor<5xf32>) "
     "-> tensor<2x3x2xf32>",
     "tensor<2x3x2xf32>"},
    {"scale_heads", "%h: tensor<2x3x8xf32>, %l: tensor<2x3x2xf32>",
     "hova.scale_heads %h, %l : tensor<2x3x8xf32>, tensor<2x3x2xf32>",
     "tensor<2x3x8xf32>"},
    {"normalize_heads", "%x: tensor<2x3x8xf32>, %g: tensor<2xf32>",
     "hova.normalize_heads %x gain(%g) {heads = 2 : i64, eps = 1.0e-12 : f64} "
     ": tensor<2x3x8xf32>, tensor<2xf32>",
     "tensor<2x3x8xf32>"},
    {"attention",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, "
     "%b: tensor<1x2x3x5xf32>",
     "hova.attention softmax %q, %k, %v captured(%b) {heads = 2 : i64} : "
     "(tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, "
     "tensor<1x2x3x5xf32>) -> tensor<2x3x6xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index, %bias: tensor<1x2x3x5xf32>):\n"
     "  %zero = arith.constant 0 : index\n"
     "  %own = hova.element %bias[%zero, %head, %query, %key] : "
     "tensor<1x2x3x5xf32>\n"
     "  %score = arith.addf %raw, %own : f32\n"
     "  %all = arith.constant true\n"
     "  hova.score_yield %score kept %all\n"
     "}",
     "tensor<2x3x6xf32>"},
    {"additive",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, "
     "%w: tensor<4xf32>",
     "hova.attention additive %q, %k, %v score_vector(%w) {heads = 2 : i64} : "
     "(tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, "
     "tensor<4xf32>) -> tensor<2x3x6xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index):\n"
     "  %all = arith.constant true\n"
     "  hova.score_yield %raw kept %all\n"
     "}",
     "tensor<2x3x6xf32>"},
    {"linear_attention",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, "
     "%w: tensor<2x3xf32>",
     "hova.linear_attention softmax %q, %k, %v features(%w) "
     "{heads = 2 : i64, eps = 1.0e-2 : f64} : (tensor<2x3x4xf32>, "
     "tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3xf32>) -> "
     "tensor<2x3x6xf32>",
     "tensor<2x3x6xf32>"},
    {"key_summary",
     "%k: tensor<2x5x4xf32>, %v: tensor<2x5x2xf32>, %w: tensor<2x3xf32>",
     "hova.key_summary softmax %k, %v features(%w) {heads = 2 : i64, block = 3 "
     ": i64} : (tensor<2x5x4xf32>, tensor<2x5x2xf32>, tensor<2x3xf32>) -> "
     "tensor<2x2x2x5x2xf32>",
     "tensor<2x2x2x5x2xf32>"},
    {"summary_attention",
     "%q: tensor<2x5x4xf32>, %s: tensor<2x2x2x3x2xf32>, %w: tensor<2x3xf32>",
     "hova.summary_attention exp %q, %s features(%w) {heads = 2 : i64, block = "
     "3 : i64} : (tensor<2x5x4xf32>, tensor<2x2x2x3x2xf32>, tensor<2x3xf32>) "
     "-> tensor<2x5x2xf32>",
     "tensor<2x5x2xf32>"},
    {"summary_attention_causal",
     "%q: tensor<1x5x4xf32>, %s: tensor<1x2x2x2x2xf32>, %k: tensor<1x5x4xf32>, "
     "%v: tensor<1x5x2xf32>",
     "hova.summary_attention relu %q, %s key(%k) value(%v) {heads = 2 : i64, "
     "block = 3 : i64, eps = 1.0e-3 : f64} : (tensor<1x5x4xf32>, "
     "tensor<1x2x2x2x2xf32>, tensor<1x5x4xf32>, tensor<1x5x2xf32>) -> "
     "tensor<1x5x2xf32>",
     "tensor<1x5x2xf32>"},
    {"block_sparse_attention",
     "%q: tensor<1x7x4xf32>, %k: tensor<1x7x4xf32>, %v: tensor<1x7x2xf32>, "
     "%b: tensor<2x7x7xf32>",
     "hova.block_sparse_attention %q, %k, %v captured(%b) {heads = 2 : i64, "
     "block = 2 : i64} : (tensor<1x7x4xf32>, tensor<1x7x4xf32>, "
     "tensor<1x7x2xf32>, tensor<2x7x7xf32>) -> tensor<1x7x2xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index, %bias: tensor<2x7x7xf32>):\n"
     "  %own = hova.element %bias[%head, %query, %key] : tensor<2x7x7xf32>\n"
     "  %score = arith.addf %raw, %own : f32\n"
     "  %kept = arith.cmpi sle, %key, %query : index\n"
     "  hova.score_yield %score kept %kept\n"
     "}",
     "tensor<1x7x2xf32>"},
    {"unfold", "%x: tensor<2x3x4x6xf32>",
     "hova.unfold %x {kernel = 2 : i64, stride = 2 : i64} : "
     "tensor<2x3x4x6xf32> -> "
     "tensor<2x6x12xf32>",
     "tensor<2x6x12xf32>"},
    {"unfold_padded", "%x: tensor<1x2x3x5xf32>",
     "hova.unfold %x {kernel = 3 : i64, stride = 2 : i64, padding = 1 : i64} : "
     "tensor<1x2x3x5xf32> -> tensor<1x6x18xf32>",
     "tensor<1x6x18xf32>"},
    {"unfold_tokens", "%x: tensor<2x8x3xf32>",
     "hova.unfold %x {kernel = 2 : i64, stride = 1 : i64, within = 2 : i64, "
     "grid = array<i64: 2, 4>} : tensor<2x8x3xf32> -> tensor<4x1x12xf32>",
     "tensor<4x1x12xf32>"},
    {"pad", "%x: tensor<2x3x4xf32>",
     "hova.pad %x {axis = 1 : i64, before = 1 : i64} : tensor<2x3x4xf32> -> "
     "tensor<2x6x4xf32>",
     "tensor<2x6x4xf32>"},
    {"reshape", "%x: tensor<2x3x4xf32>",
     "hova.reshape %x : tensor<2x3x4xf32> -> tensor<3x8xf32>",
     "tensor<3x8xf32>"},
    {"repeat", "%x: tensor<3x4xf32>",
     "hova.repeat %x : tensor<3x4xf32> -> tensor<2x3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"repeat_row", "%x: tensor<4xf32>",
     "hova.repeat %x : tensor<4xf32> -> tensor<2x4xf32>", "tensor<2x4xf32>"},
    {"patch_embedding",
     "%x: tensor<2x3x4x6xf32>, %w: tensor<12x5xf32>, %b: tensor<5xf32>",
     "hova.patch_embedding %x, %w bias(%b) {patch = 2 : i64} : "
     "tensor<2x3x4x6xf32>, tensor<12x5xf32>, tensor<5xf32> -> "
     "tensor<2x6x5xf32>",
     "tensor<2x6x5xf32>"},
    {"class_token", "%x: tensor<2x3x4xf32>, %t: tensor<4xf32>",
     "hova.class_token %x, %t : tensor<2x3x4xf32>, tensor<4xf32> -> "
     "tensor<2x4x4xf32>",
     "tensor<2x4x4xf32>"},
    {"pool_first", "%x: tensor<2x3x4xf32>",
     "hova.pool first %x : tensor<2x3x4xf32> -> tensor<2x4xf32>",
     "tensor<2x4xf32>"},
    {"pool_mean", "%x: tensor<2x3x4xf32>",
     "hova.pool mean %x : tensor<2x3x4xf32> -> tensor<2x4xf32>",
     "tensor<2x4xf32>"},
    {"index_sort", "%a: tensor<2x3x4xf32>, %b: tensor<2x3x4xf32>",
     "hova.index_sort %a, %b : tensor<2x3x4xf32> -> tensor<2x6x4xf32>",
     "tensor<2x6x4xf32>"},
    {"layer_pool", "%x: tensor<2x6x4xf32>",
     "hova.layer_pool %x {layers = 2 : i64} : tensor<2x6x4xf32> -> "
     "tensor<2x3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"concat_columns", "%a: tensor<2x3x4xf32>, %b: tensor<2x3x5xf32>",
     "hova.concat %a, %b {axis = 2 : i64} : tensor<2x3x4xf32>, "
     "tensor<2x3x5xf32> -> tensor<2x3x9xf32>",
     "tensor<2x3x9xf32>"},
    {"concat_rows", "%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>",
     "hova.concat %a, %b {axis = 1 : i64} : tensor<2x3x4xf32>, "
     "tensor<2x5x4xf32> -> tensor<2x8x4xf32>",
     "tensor<2x8x4xf32>"},
    {"slice_columns", "%x: tensor<2x3x9xf32>",
     "hova.slice %x {axis = 2 : i64, offset = 4 : i64} : tensor<2x3x9xf32> "
     "-> tensor<2x3x5xf32>",
     "tensor<2x3x5xf32>"},
    {"slice_rows", "%x: tensor<2x8x4xf32>",
     "hova.slice %x {axis = 1 : i64, offset = 3 : i64} : tensor<2x8x4xf32> "
     "-> tensor<2x5x4xf32>",
     "tensor<2x5x4xf32>"},
};

class IterationSpaces : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    context.loadDialect<HovaDialect, func::FuncDialect>();
    const Case &c = GetParam();
    std::string text = std::string("func.func @main(") + c.arguments + ") -> " +
                       c.result + " {\n  %y = " + c.op +
                       "\n  return %y : " + c.result + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    main = module->lookupSymbol<func::FuncOp>("main");
    op = &main.getBody().front().front();
    space = cast<StructuredOpInterface>(op).getIterationSpace();
    std::mt19937 engine(3);
    for (Value operand : op->getOperands()) {
      HostTensor tensor(HostTensor::Element::F32, shapeOf(operand));
      for (int64_t i = 0; i < tensor.size(); ++i) {
        tensor.mutableAs<float>()[i] = engine() % 2001 / 1000.0f - 1.0f;
      }
      arguments.push_back(tensor);
    }
  }

  HostTensor run() { return Evaluator(nullptr).run(main, arguments)->front(); }

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

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  Operation *op = nullptr;
  IterationSpace space;
  std::vector<HostTensor> arguments;
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
    ArrayRef<int64_t> own = shapeOf(operand.get());
    std::vector<std::set<SmallVector<int64_t>>> readers(staticSize(own));
    forEachPoint([&](ArrayRef<int64_t> point) {
      if (auto element = elementAt(map, own, point)) {
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
/// attention, and blocks of tokens of a linear and of a sparse one.
TEST_P(IterationSpaces, HaveUnits) {
  int64_t blocks = isa<KeySummaryOp, SummaryAttentionOp>(op) ? 2
                   : isa<BlockSparseAttentionOp>(op)         ? 4
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
           %1 = hova.attention softmax %x, %x, %x {heads = 2 : i64}
               : (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>)
               -> tensor<?x?x?xf32> scores {
           ^bb0(%raw: f32, %batch: index, %head: index, %query: index,
                %key: index):
             %all = arith.constant true
             hova.score_yield %raw kept %all
           }
           %2 = hova.concat %x, %x {axis = 2 : i64}
               : tensor<?x?x?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
           %3 = hova.unfold %i {kernel = 2 : i64, stride = 2 : i64}
               : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>
           return
         })",
      &context);
  ASSERT_TRUE(module);
  module->walk([](StructuredOpInterface op) {
    EXPECT_EQ(op.getIterationSpace().countUnits(), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Ops, IterationSpaces, testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
