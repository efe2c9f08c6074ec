//===- ExprTest.cpp - What operators on values of a kernel write ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/Expr.h"
#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <gtest/gtest.h>

using namespace hova;
using namespace mlir;

namespace {

class ExprTest : public ::testing::Test {
protected:
  ExprTest() : b(UnknownLoc::get(&context), &context) {
    context.loadDialect<HovaDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, vector::VectorDialect>();
    module = ModuleOp::create(b);
    b.setInsertionPointToEnd(module->getBody());
    Type f32 = b.getF32Type(), i32 = b.getI32Type();
    auto type = b.getFunctionType(
        {b.getIndexType(), b.getIndexType(), f32, i32,
         VectorType::get({8}, f32), VectorType::get({8}, i32),
         VectorType::get({4, 8}, f32), VectorType::get({4, 1}, f32),
         VectorType::get({8}, b.getI1Type())},
        {});
    auto function = func::FuncOp::create(b, "f", type);
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    auto argument = [&](unsigned number) {
      return Expr(body->getArgument(number), &b);
    };
    i = argument(0);
    j = argument(1);
    number = argument(2);
    integer = argument(3);
    row = argument(4);
    integers = argument(5);
    tile = argument(6);
    column = argument(7);
    mask = argument(8);
  }

  /// The operations that a value is made of, those of its operands first; an
  /// argument is its number, a constant its value.
  std::string text(Value value) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      stream << "%" << argument.getArgNumber();
    } else if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
      constant.getValue().print(stream);
    } else {
      Operation *op = value.getDefiningOp();
      stream << op->getName().stripDialect();
      if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
        stream << " " << arith::stringifyCmpIPredicate(compare.getPredicate());
      } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
        stream << " " << arith::stringifyCmpFPredicate(compare.getPredicate());
      }
      stream << "(";
      llvm::interleaveComma(op->getOperands(), stream,
                            [&](Value operand) { stream << text(operand); });
      stream << ")";
    }
    return out;
  }

  MLIRContext context;
  ImplicitLocOpBuilder b;
  OwningOpRef<ModuleOp> module;
  Expr i, j, number, integer, row, integers, tile, column, mask;
};

TEST_F(ExprTest, operations_follow_the_type) {
  EXPECT_EQ(text(i * 3 + j), "addi(muli(%0, 3 : index), %1)");
  EXPECT_EQ(text(i - j), "subi(%0, %1)");
  EXPECT_EQ(text(i / 4), "divui(%0, 4 : index)");
  EXPECT_EQ(text(i % 4), "remui(%0, 4 : index)");
  EXPECT_EQ(text(integer / 4), "divsi(%3, 4 : i32)");
  EXPECT_EQ(text(number * 2 - 0.5),
            "subf(mulf(%2, 2.000000e+00 : f32), 5.000000e-01 : f32)");
  EXPECT_EQ(text(1 / number), "divf(1.000000e+00 : f32, %2)");
  EXPECT_EQ(text(-number), "negf(%2)");
  EXPECT_EQ(text(fma(number, 3, number)), "fma(%2, 3.000000e+00 : f32, %2)");
}

TEST_F(ExprTest, indices_have_no_sign_and_other_integers_have) {
  EXPECT_EQ(text(i < j), "cmpi ult(%0, %1)");
  EXPECT_EQ(text(i >= 2), "cmpi uge(%0, 2 : index)");
  EXPECT_EQ(text(integer <= -1), "cmpi sle(%3, -1 : i32)");
  EXPECT_EQ(text(integer > 7), "cmpi sgt(%3, 7 : i32)");
  EXPECT_EQ(text(min(i, 5)), "minui(%0, 5 : index)");
  EXPECT_EQ(text(max(integer, 5)), "maxsi(%3, 5 : i32)");
}

TEST_F(ExprTest, no_comparison_of_floats_but_the_unequal_holds_for_nan) {
  EXPECT_EQ(text(number < 1), "cmpf olt(%2, 1.000000e+00 : f32)");
  EXPECT_EQ(text(number >= 1), "cmpf oge(%2, 1.000000e+00 : f32)");
  EXPECT_EQ(text(number == 1), "cmpf oeq(%2, 1.000000e+00 : f32)");
  EXPECT_EQ(text(number != 1), "cmpf une(%2, 1.000000e+00 : f32)");
  EXPECT_EQ(text(min(number, 1)), "minnumf(%2, 1.000000e+00 : f32)");
  EXPECT_EQ(text(max(number, 1)), "maxnumf(%2, 1.000000e+00 : f32)");
}

TEST_F(ExprTest, constants_meet_in_cpp) {
  Expr five = Expr(7) * 2 / 3 % 3 + 4 - 0;
  EXPECT_TRUE(five.isConstant());
  EXPECT_EQ(text(min(five, 9) + i), "addi(%0, 5 : index)");
  EXPECT_EQ(text(i * 1 + 0), "%0");
  EXPECT_EQ(text(Expr(3).in(b)), "3 : index");
  EXPECT_EQ(text(Expr(3.0).in(b)), "3.000000e+00 : f32");
}

TEST_F(ExprTest, what_is_smaller_is_broadcast) {
  EXPECT_EQ(text(row + number), "addf(%4, broadcast(%2))");
  EXPECT_EQ(text(number + row), "addf(broadcast(%2), %4)");
  EXPECT_EQ(text(tile * row), "mulf(%6, broadcast(%4))");
  EXPECT_EQ(text(column * tile), "mulf(broadcast(%7), %6)");
  EXPECT_EQ((tile * column).getType(), tile.getType());
  EXPECT_EQ(text(row * 2), "mulf(%4, dense<2.000000e+00> : vector<8xf32>)");
  // A row of a tile is a tile of one row.
  Expr ofOneRow = row.broadcast(VectorType::get({1, 8}, b.getF32Type()));
  EXPECT_EQ((ofOneRow * row).getType(), ofOneRow.getType());
  EXPECT_EQ(text(fma(row, number, 1)),
            "fma(%4, broadcast(%2), dense<1.000000e+00> : vector<8xf32>)");
}

TEST_F(ExprTest, a_choice_has_the_shape_of_its_condition) {
  EXPECT_EQ(text(select(mask, number, 0)),
            "select(%8, broadcast(%2), broadcast(0.000000e+00 : f32))");
  EXPECT_EQ(text(select(mask, row, 0)),
            "select(%8, %4, dense<0.000000e+00> : vector<8xf32>)");
  EXPECT_EQ(text(select(i < j, row, 0)),
            "select(cmpi ult(%0, %1), %4, "
            "dense<0.000000e+00> : vector<8xf32>)");
  // A row of conditions is that of every row of a tile.
  EXPECT_EQ(text(select(mask, tile, 0)),
            "select(broadcast(%8), %6, "
            "dense<0.000000e+00> : vector<4x8xf32>)");
  EXPECT_EQ(text(select(i < j, 1.0, 0)),
            "select(cmpi ult(%0, %1), 1.000000e+00 : f32, "
            "0.000000e+00 : f32)");
  EXPECT_EQ(text(select(i < j, 1, i)),
            "select(cmpi ult(%0, %1), 1 : index, %0)");
}

TEST_F(ExprTest, a_condition_that_is_null_always_holds) {
  Expr always;
  EXPECT_EQ(text(always & mask), "%8");
  EXPECT_EQ(text(mask & always), "%8");
  EXPECT_FALSE(always & always);
  EXPECT_FALSE(mask | always);
  EXPECT_EQ(text(select(always, row, 0)), "%4");
  EXPECT_EQ(text(mask & (i < j)), "andi(%8, broadcast(cmpi ult(%0, %1)))");
}

TEST_F(ExprTest, integers_change_their_type) {
  EXPECT_EQ(text(toInteger(i, b.getI32Type())), "index_cast(%0)");
  EXPECT_EQ(text(toInteger(integers, b.getI64Type())), "extsi(%5)");
  EXPECT_EQ(text(toInteger(integer, b.getI8Type())), "trunci(%3)");
  EXPECT_EQ(text(toInteger(integer, b.getI32Type())), "%3");
  EXPECT_EQ(text(toIndex(integer)), "index_cast(%3)");
  EXPECT_TRUE(toInteger(3, b.getI32Type()).isConstant());
}

TEST_F(ExprTest, elements_are_combined_and_reduced) {
  using vector::CombiningKind;
  EXPECT_EQ(text(combine(CombiningKind::ADD, row, row)), "addf(%4, %4)");
  EXPECT_EQ(text(combine(CombiningKind::MAXNUMF, {}, row)), "%4");
  EXPECT_EQ(text(reduceVector(CombiningKind::ADD, row)), "reduction(%4)");
  EXPECT_EQ(text(row[3]), "extract(%4)");
  EXPECT_EQ(text(exp2(row)), "exp2(%4)");
  // hova.exp2 is of vectors.
  EXPECT_EQ(text(exp2(number)), "extract(exp2(broadcast(%2)))");
}

using ExprDeathTest = ExprTest;

TEST_F(ExprDeathTest, what_has_no_type_or_no_builder_is_refused) {
  EXPECT_DEATH(static_cast<void>(Value(Expr(1))), "has no type yet");
  EXPECT_DEATH(Expr(Value(i)) + Expr(Value(j)), "neither operand");
  EXPECT_DEATH(-Expr(Value(number)), "is not a recipe's");
  EXPECT_DEATH(i + Expr(), "is null");
  EXPECT_DEATH(i * 0.5, "meets integers");
}

} // namespace
