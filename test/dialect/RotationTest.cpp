//===- RotationTest.cpp - Rotations against complex numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Evaluated in float64: a rotation with tables of all columns, column by
// column, and the rotation of heads, a pair of columns as a complex number,
// which it is before it is decomposed and afterwards.

#include "codegen/reference/Evaluator.h"
#include "dialect/columns/ColumnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <complex>
#include <random>

using namespace mlir;
using namespace hova;

namespace {

constexpr int64_t kItems = 2, kTokens = 3;

HostTensor draw(ArrayRef<int64_t> shape, unsigned seed) {
  std::mt19937 engine(seed);
  HostTensor tensor(HostTensor::Element::F32, shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.mutableAs<float>()[i] =
        static_cast<float>(engine() % 2001) / 1000.0f - 1.0f;
  }
  return tensor;
}

class Rotation : public testing::Test {
protected:
  /// A function @main of `op`, which makes %y of %x, %c and %s.
  void parse(const std::string &op, int64_t width, int64_t period) {
    std::string x = "tensor<2x3x" + std::to_string(width) + "xf32>";
    std::string t = "tensor<3x" + std::to_string(period) + "xf32>";
    std::string text = "func.func @main(%x: " + x + ", %c: " + t +
                       ", %s: " + t + ") -> " + x + " {\n%y = " + op + " : " +
                       x + ", " + t + "\nreturn %y : " + x + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    operands = {draw({kItems, kTokens, width}, 1), draw({kTokens, period}, 2),
                draw({kTokens, period}, 3)};
  }

  HostTensor run() {
    Evaluator evaluator(nullptr);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    return evaluator.run(main, operands)->front();
  }

  /// %y of the heads as complex numbers; `partner` is how far the second column
  /// of a pair is from the first, and pairs are `apart`.
  void expectTurned(int64_t heads, int64_t partner, int64_t apart) {
    HostTensor got = run();
    int64_t width = operands[0].getShape()[2],
            pairs = operands[1].getShape()[1];
    std::vector<double> wanted(got.size());
    for (int64_t i = 0; i < got.size(); ++i) {
      wanted[i] = operands[0].at(i);
    }
    for (int64_t row = 0; row < kItems * kTokens; ++row) {
      for (int64_t i = 0; i < heads * pairs; ++i) {
        int64_t first =
            row * width + i / pairs * (width / heads) + i % pairs * apart;
        int64_t entry = row % kTokens * pairs + i % pairs;
        std::complex<double> turned =
            std::complex<double>(wanted[first], wanted[first + partner]) *
            std::complex<double>(operands[1].at(entry), operands[2].at(entry));
        wanted[first] = turned.real();
        wanted[first + partner] = turned.imag();
      }
    }
    for (int64_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got.at(i), wanted[i], 1e-14) << "element " << i;
    }
  }

  void decompose() {
    IRRewriter rewriter(&context);
    RotaryOp op;
    module->walk([&](RotaryOp found) { op = found; });
    auto parts = op.decompose(rewriter);
    ASSERT_TRUE(succeeded(parts));
    rewriter.replaceOp(op, *parts);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<HostTensor> operands;

private:
  void SetUp() override {
    context.loadDialect<HovaDialect, func::FuncDialect, arith::ArithDialect>();
  }
};

TEST_F(Rotation, takes_partners_at_a_distance_and_leaves_the_rest) {
  // Of each seven columns, three and three are pairs, and the last is alone.
  constexpr int64_t kWidth = 14, kPeriod = 7;
  constexpr int64_t kPartner[kPeriod] = {3, 4, 5, 0, 1, 2, 6};
  parse("hova.rotate %x, %c, %s {distance = 3 : i64}", kWidth, kPeriod);
  HostTensor got = run();
  for (int64_t i = 0; i < got.size(); ++i) {
    int64_t row = i / kWidth, column = i % kWidth, place = column % kPeriod;
    int64_t entry = row % kTokens * kPeriod + place;
    double partner = operands[0].at(i - place + kPartner[place]);
    EXPECT_NEAR(got.at(i),
                operands[0].at(i) * operands[1].at(entry) +
                    partner * operands[2].at(entry),
                1e-14)
        << "element " << i;
  }
}

TEST_F(Rotation, turns_halves_of_heads) {
  parse("hova.rotary halves %x, %c, %s {heads = 2 : i64}", 12, 3);
  expectTurned(2, 3, 1);
  decompose();
  expectTurned(2, 3, 1);
}

TEST_F(Rotation, turns_neighbours_of_a_part_of_heads) {
  parse("hova.rotary neighbours %x, %c, %s {heads = 2 : i64}", 14, 2);
  expectTurned(2, 1, 2);
  decompose();
  expectTurned(2, 1, 2);
}

TEST(RotationScope, is_a_pair_where_no_tile_divides_one) {
  MLIRContext context;
  context.loadDialect<HovaDialect, func::FuncDialect>();
  auto scopeOf = [&](const std::string &period, const std::string &distance) {
    std::string x = "tensor<3x30xf32>", t = "tensor<3x" + period + "xf32>";
    auto module = parseSourceString<ModuleOp>(
        "func.func @main(%x: " + x + ", %c: " + t + ") {\n%y = hova.rotate " +
            "%x, %c, %c {distance = " + distance + " : i64} : " + x + ", " + t +
            "\nreturn\n}",
        &context);
    TileScope scope = TileScope::element;
    module->walk([&](RotateOp op) { scope = op.getScope(); });
    return scope;
  };
  EXPECT_EQ(scopeOf("6", "1"), TileScope::pair);
  EXPECT_EQ(scopeOf("6", "3"), TileScope::row);
  // The second head begins with the second column of a pair.
  EXPECT_EQ(scopeOf("5", "1"), TileScope::row);
}

} // namespace
