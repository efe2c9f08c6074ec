//===- ScoreFormTest.cpp - What passes and recipes ask of a score region --===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/score/ScoreForm.h"
#include "ScoreFixture.h"

using namespace mlir;
using namespace hova;

namespace {

/// The condition that is the result `kept` of `body`.
std::string keeping(const std::string &body) {
  return body + "\nhova.score_yield %raw kept %kept";
}

/// A score that all keys have.
std::string scoring(const std::string &body) {
  return body + "\n%all = arith.constant true\n"
                "hova.score_yield %score kept %all";
}

class ScoreFormTest : public test::ScoreTest {
protected:
  ScoreForm formOf(const std::string &body, const Captured &captured = {}) {
    return ScoreForm(parse(body, captured));
  }
};

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

TEST_F(ScoreFormTest, a_raw_score_has_the_factor_one) {
  ScoreForm form = formOf("%all = arith.constant true\n"
                          "hova.score_yield %raw kept %all");
  EXPECT_TRUE(form.isRaw());
  EXPECT_EQ(form.factor, 1);
  EXPECT_TRUE(form.conditions.empty());
}

TEST_F(ScoreFormTest, constants_on_both_sides_of_products_are_factors) {
  ScoreForm form = formOf(scoring("%a = hova.number 0.1\n"
                                  "%b = arith.constant 2.0 : f32\n"
                                  "%x = arith.mulf %raw, %a : f32\n"
                                  "%score = arith.mulf %b, %x : f32"));
  EXPECT_TRUE(form.isRaw());
  EXPECT_EQ(form.factor, 0.1 * 2.0); // not 0.1f
}

TEST_F(ScoreFormTest, a_divisor_is_an_inverse_factor) {
  ScoreForm form = formOf(scoring("%a = hova.number 0.5\n"
                                  "%b = hova.number 4.0\n"
                                  "%x = arith.mulf %raw, %a : f32\n"
                                  "%score = arith.divf %x, %b : f32"));
  EXPECT_TRUE(form.isRaw());
  EXPECT_EQ(form.factor, 0.125);
}

TEST_F(ScoreFormTest, a_dividend_is_no_factor) {
  ScoreForm form = formOf(scoring("%a = hova.number 4.0\n"
                                  "%score = arith.divf %a, %raw : f32"));
  EXPECT_TRUE(form.early.getDefiningOp<arith::DivFOp>());
  EXPECT_EQ(form.factor, 1);
}

TEST_F(ScoreFormTest, factors_may_be_negative) {
  ScoreForm form = formOf(scoring("%a = hova.number -0.5\n"
                                  "%score = arith.mulf %raw, %a : f32"));
  EXPECT_TRUE(form.isRaw());
  EXPECT_EQ(form.factor, -0.5);
}

TEST_F(ScoreFormTest, factors_are_not_taken_through_a_bias) {
  ScoreForm form = formOf(scoring("%a = hova.number 0.5\n"
                                  "%b = hova.number 0.25\n"
                                  "%x = arith.mulf %raw, %a : f32\n"
                                  "%added = hova.element %bias[%key] "
                                  ": tensor<24xf32>\n"
                                  "%sum = arith.addf %x, %added : f32\n"
                                  "%score = arith.divf %sum, %b : f32"),
                          {{"bias", "tensor<24xf32>"}});
  EXPECT_TRUE(form.early.getDefiningOp<arith::AddFOp>());
  EXPECT_FALSE(form.isRaw());
  EXPECT_EQ(form.factor, 4);
}

TEST_F(ScoreFormTest, what_differs_between_heads_is_no_factor) {
  ScoreForm form = formOf(scoring("%slope = hova.element %slopes[%head] "
                                  ": tensor<4xf32>\n"
                                  "%score = arith.mulf %raw, %slope : f32"),
                          {{"slopes", "tensor<4xf32>"}});
  EXPECT_FALSE(form.isRaw());
  EXPECT_EQ(form.factor, 1);
}

TEST_F(ScoreFormTest, zero_and_infinity_are_no_factors) {
  for (const char *constant : {"0.0", "0x7FF0000000000000"}) {
    for (const char *op : {"mulf", "divf"}) {
      ScoreForm form =
          formOf(scoring(std::string("%a = hova.number ") + constant +
                         "\n%score = arith." + op + " %raw, %a : f32"));
      EXPECT_FALSE(form.isRaw()) << op << " by " << constant;
      EXPECT_EQ(form.factor, 1);
    }
  }
}

TEST_F(ScoreFormTest, factors_that_leave_f32_together_stay) {
  ScoreForm form = formOf(scoring("%a = hova.number 1.0e-30\n"
                                  "%x = arith.mulf %raw, %a : f32\n"
                                  "%score = arith.mulf %x, %a : f32"));
  EXPECT_TRUE(form.early.getDefiningOp<arith::MulFOp>());
  EXPECT_EQ(form.factor, 1.0e-30);
}

//===----------------------------------------------------------------------===//
// Jumps
//===----------------------------------------------------------------------===//

/// The key as a number, %x.
const std::string kKeyNumber = "%i = arith.index_cast %key : index to i32\n"
                               "%x = arith.sitofp %i : i32 to f32\n";

Value firstOf(const ScoreForm &form, StringRef name) {
  for (Operation &op : form.region.getBlock()) {
    if (op.getName().getStringRef() == name) {
      return op.getResult(0);
    }
  }
  return {};
}

TEST_F(ScoreFormTest, a_quotient_that_a_jump_is_computed_from_stays) {
  for (const char *jump :
       {"%score = math.floor %s : f32", "%score = math.ceil %s : f32",
        "%less = arith.cmpf olt, %s, %x : f32\n"
        "%score = arith.select %less, %x, %raw : f32"}) {
    ScoreForm form = formOf(scoring(kKeyNumber +
                                    "%seven = hova.number 7.0\n"
                                    "%part = arith.divf %x, %seven : f32\n"
                                    "%s = arith.mulf %part, %seven : f32\n" +
                                    jump));
    Value quotient = firstOf(form, "arith.divf");
    Value product = firstOf(form, "arith.mulf");
    EXPECT_TRUE(form.isExact(quotient) && form.isExact(product)) << jump;
    EXPECT_EQ(form.splitFactors(quotient), std::pair(quotient, 1.0)) << jump;
    EXPECT_EQ(form.splitFactors(product), std::pair(product, 1.0)) << jump;
  }
}

TEST_F(ScoreFormTest, a_power_of_two_below_a_jump_is_divided_by_exactly) {
  for (double inverse : {0.25, -2.0, 16.0}) {
    ScoreForm form = formOf(scoring(kKeyNumber + "%c = hova.number " +
                                    std::to_string(1 / inverse) +
                                    "\n%s = arith.divf %x, %c : f32\n"
                                    "%score = math.floor %s : f32"));
    auto [rest, factor] = form.splitFactors(firstOf(form, "arith.divf"));
    EXPECT_EQ(rest, firstOf(form, "arith.sitofp")) << inverse;
    EXPECT_EQ(factor, inverse) << inverse;
  }
}

TEST_F(ScoreFormTest, what_a_jump_gives_is_computed_with_as_elsewhere) {
  ScoreForm form =
      formOf(scoring(kKeyNumber + "%seven = hova.number 7.0\n"
                                  "%low = math.floor %x : f32\n"
                                  "%score = arith.divf %low, %seven : f32"));
  EXPECT_FALSE(form.isExact(firstOf(form, "math.floor")));
  EXPECT_EQ(form.early, firstOf(form, "math.floor"));
  EXPECT_EQ(form.factor, 1 / 7.0);
}

TEST_F(ScoreFormTest, a_sum_that_a_jump_is_computed_from_rounds_its_product) {
  const std::string sum = kKeyNumber + "%c = hova.number 0.1\n"
                                       "%p = arith.mulf %x, %c : f32\n"
                                       "%s = arith.subf %raw, %p : f32\n";
  ScoreForm jumps = formOf(keeping(sum + "%zero = hova.number 0.0\n"
                                         "%kept = arith.cmpf oge, %s, %zero "
                                         ": f32"));
  EXPECT_FALSE(
      jumps.multiplyAddOf(firstOf(jumps, "arith.subf").getDefiningOp()));
  ScoreForm smooth = formOf(scoring(sum + "%score = math.tanh %s : f32"));
  auto joined =
      smooth.multiplyAddOf(firstOf(smooth, "arith.subf").getDefiningOp());
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->isDifference);
  EXPECT_EQ(joined->c, smooth.region.getRaw());
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

TEST_F(ScoreFormTest, conjunctions_are_conditions_that_are_there_once) {
  ScoreForm form = formOf(
      keeping("%true = arith.constant true\n"
              "%a = arith.cmpi sle, %key, %query : index\n"
              "%b = hova.element %valid[%batch, %key] : tensor<2x24xi1>\n"
              "%c = arith.cmpi ne, %key, %head : index\n"
              "%ab = arith.andi %a, %b : i1\n"
              "%at = arith.andi %true, %a : i1\n"
              "%ca = arith.andi %c, %at : i1\n"
              "%kept = arith.andi %ab, %ca : i1"),
      {{"valid", "tensor<2x24xi1>"}});
  ASSERT_EQ(form.conditions.size(), 3u);
  EXPECT_EQ(form.conditions[0].getDefiningOp<arith::CmpIOp>().getPredicate(),
            arith::CmpIPredicate::sle);
  EXPECT_TRUE(form.conditions[1].getDefiningOp<ElementOp>());
  EXPECT_EQ(form.conditions[2].getDefiningOp<arith::CmpIOp>().getPredicate(),
            arith::CmpIPredicate::ne);
}

TEST_F(ScoreFormTest, a_disjunction_is_one_condition) {
  ScoreForm form = formOf(keeping("%a = arith.cmpi sle, %key, %query : index\n"
                                  "%b = arith.cmpi eq, %key, %head : index\n"
                                  "%kept = arith.ori %a, %b : i1"));
  ASSERT_EQ(form.conditions.size(), 1u);
  EXPECT_TRUE(form.conditions[0].getDefiningOp<arith::OrIOp>());
}

TEST_F(ScoreFormTest, sources_are_those_of_all_operands) {
  ScoreForm form =
      formOf("%two = arith.constant 2 : index\n"
             "%place = arith.addi %query, %two : index\n"
             "%added = hova.element %bias[%head, %place] : tensor<4x24xf32>\n"
             "%score = arith.addf %raw, %added : f32\n"
             "%kept = arith.cmpi sle, %key, %batch : index\n"
             "hova.score_yield %score kept %kept",
             {{"bias", "tensor<4x24xf32>"}});
  using F = ScoreForm;
  ScoreRegion region = form.region;
  EXPECT_EQ(form.sourcesOf(region.getRaw()), F::raw);
  EXPECT_EQ(form.sourcesOf(region.getBatch()), F::batch);
  EXPECT_EQ(form.sourcesOf(region.getHead()), F::head);
  EXPECT_EQ(form.sourcesOf(region.getQuery()), F::query);
  EXPECT_EQ(form.sourcesOf(region.getKey()), F::key);
  EXPECT_EQ(form.sourcesOf(region.getCaptured().front()), F::data);
  Operation &constant = region.getBlock().front();
  EXPECT_EQ(form.sourcesOf(constant.getResult(0)), 0u);
  auto sum = form.early.getDefiningOp<arith::AddFOp>();
  EXPECT_EQ(form.sourcesOf(sum.getRhs()), F::data | F::head | F::query);
  EXPECT_EQ(form.sourcesOf(sum), F::raw | F::data | F::head | F::query);
  EXPECT_EQ(form.sourcesOf(region.getYield().getKept()), F::key | F::batch);
}

TEST_F(ScoreFormTest, conditions_are_about_keys_or_of_indices) {
  struct Case {
    const char *kept;
    bool isAboutKeys, isOfIndices;
  };
  const Case cases[] = {
      {"arith.cmpi sle, %key, %query : index", false, true},
      {"arith.cmpi sle, %key, %head : index", true, true},
      {"hova.element %valid[%batch, %key] : tensor<2x24xi1>", true, false},
      {"hova.element %valid[%batch, %query] : tensor<2x24xi1>", false, false},
      {"arith.cmpf olt, %raw, %raw : f32", false, false},
  };
  for (const Case &given : cases) {
    ScoreForm form = formOf(keeping(std::string("%kept = ") + given.kept),
                            {{"valid", "tensor<2x24xi1>"}});
    ASSERT_EQ(form.conditions.size(), 1u) << given.kept;
    Value condition = form.conditions.front();
    EXPECT_EQ(form.isAboutKeys(condition), given.isAboutKeys) << given.kept;
    EXPECT_EQ(form.isOfIndices(condition), given.isOfIndices) << given.kept;
  }
}

//===----------------------------------------------------------------------===//
// Kept keys of boxes
//===----------------------------------------------------------------------===//

ScoreBox boxOf(ScoreSpan query, ScoreSpan key) {
  return {{0, 1}, {0, 3}, query, key};
}

/// What a box says of its pairs is true of each of them, and of a single pair
/// it is known.
void expectPairs(const ScoreForm &form,
                 llvm::function_ref<bool(int64_t, int64_t)> isKept) {
  for (int64_t i = 0; i < 16; ++i) {
    for (int64_t j = 0; j < 24; ++j) {
      KeptKeys found = form.classify(boxOf({i, i}, {j, j}));
      EXPECT_EQ(found, isKept(i, j) ? KeptKeys::all : KeptKeys::none)
          << "query " << i << " and key " << j;
    }
  }
  for (int64_t i = 0; i < 16; i += 3) {
    for (int64_t j = 0; j < 24; j += 4) {
      int64_t kept = 0;
      for (int64_t pair = 0; pair < 12; ++pair) {
        kept += isKept(i + pair / 4, j + pair % 4);
      }
      KeptKeys found = form.classify(boxOf({i, i + 2}, {j, j + 3}));
      EXPECT_TRUE(found == KeptKeys::some ||
                  (found == KeptKeys::all ? kept == 12 : kept == 0))
          << "queries from " << i << " and keys from " << j;
    }
  }
}

TEST_F(ScoreFormTest, keys_without_a_condition_are_all_kept) {
  ScoreForm form = formOf(scoring("%score = arith.negf %raw : f32"));
  EXPECT_EQ(form.classify(boxOf({0, 15}, {0, 23})), KeptKeys::all);
}

TEST_F(ScoreFormTest, a_constant_keeps_no_keys) {
  ScoreForm form = formOf(keeping("%kept = arith.constant false"));
  EXPECT_EQ(form.classify(boxOf({0, 15}, {0, 23})), KeptKeys::none);
}

TEST_F(ScoreFormTest, a_causal_mask_keeps_keys_that_are_not_later) {
  ScoreForm form =
      formOf(keeping("%eight = arith.constant 8 : index\n"
                     "%position = arith.addi %query, %eight : index\n"
                     "%kept = arith.cmpi sle, %key, %position : index"));
  EXPECT_EQ(form.classify(boxOf({2, 5}, {0, 10})), KeptKeys::all);
  EXPECT_EQ(form.classify(boxOf({2, 5}, {0, 11})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({2, 5}, {13, 23})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({2, 5}, {14, 23})), KeptKeys::none);
  expectPairs(form, [](int64_t i, int64_t j) { return j <= i + 8; });
}

TEST_F(ScoreFormTest, groups_of_four_see_all_of_themselves) {
  // Three queries stand in front of the first key.
  ScoreForm form =
      formOf(keeping("%four = arith.constant 4 : index\n"
                     "%one = arith.constant 1 : index\n"
                     "%shift = arith.constant -3 : index\n"
                     "%position = arith.addi %query, %shift : index\n"
                     "%group = arith.floordivsi %position, %four : index\n"
                     "%next = arith.addi %group, %one : index\n"
                     "%limit = arith.muli %next, %four : index\n"
                     "%kept = arith.cmpi slt, %key, %limit : index"));
  EXPECT_EQ(form.classify(boxOf({0, 2}, {0, 23})), KeptKeys::none);
  EXPECT_EQ(form.classify(boxOf({3, 6}, {0, 3})), KeptKeys::all);
  EXPECT_EQ(form.classify(boxOf({3, 6}, {4, 23})), KeptKeys::none);
  EXPECT_EQ(form.classify(boxOf({3, 7}, {4, 7})), KeptKeys::some);
  expectPairs(form, [](int64_t i, int64_t j) {
    return i >= 3 && j / 4 <= (i - 3) / 4;
  });
}

TEST_F(ScoreFormTest, a_window_leaves_keys_out_on_both_sides) {
  ScoreForm form =
      formOf(keeping("%three = arith.constant 3 : index\n"
                     "%distance = arith.subi %query, %key : index\n"
                     "%is_near = arith.cmpi slt, %distance, %three : index\n"
                     "%not_later = arith.cmpi sle, %key, %query : index\n"
                     "%kept = arith.andi %is_near, %not_later : i1"));
  EXPECT_EQ(form.classify(boxOf({8, 9}, {0, 5})), KeptKeys::none);
  EXPECT_EQ(form.classify(boxOf({8, 9}, {0, 6})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({8, 9}, {7, 8})), KeptKeys::all);
  EXPECT_EQ(form.classify(boxOf({8, 9}, {9, 12})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({8, 9}, {10, 12})), KeptKeys::none);
  expectPairs(form, [](int64_t i, int64_t j) { return j <= i && i - j < 3; });
}

TEST_F(ScoreFormTest, all_queries_see_a_prefix) {
  ScoreForm form =
      formOf(keeping("%four = arith.constant 4 : index\n"
                     "%is_prefix = arith.cmpi slt, %key, %four : index\n"
                     "%not_later = arith.cmpi sle, %key, %query : index\n"
                     "%kept = arith.ori %is_prefix, %not_later : i1"));
  EXPECT_EQ(form.classify(boxOf({0, 1}, {0, 3})), KeptKeys::all);
  EXPECT_EQ(form.classify(boxOf({0, 1}, {3, 4})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({0, 1}, {4, 9})), KeptKeys::none);
  EXPECT_EQ(form.classify(boxOf({9, 12}, {4, 9})), KeptKeys::all);
  expectPairs(form, [](int64_t i, int64_t j) { return j < 4 || j <= i; });
}

TEST_F(ScoreFormTest, a_dilated_mask_keeps_some_keys_of_a_box) {
  ScoreForm form =
      formOf(keeping("%three = arith.constant 3 : index\n"
                     "%zero = arith.constant 0 : index\n"
                     "%distance = arith.subi %key, %query : index\n"
                     "%rest = arith.remsi %distance, %three : index\n"
                     "%kept = arith.cmpi eq, %rest, %zero : index"));
  EXPECT_EQ(form.classify(boxOf({4, 4}, {4, 7})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({4, 4}, {5, 6})), KeptKeys::none);
  expectPairs(form, [](int64_t i, int64_t j) { return (j - i) % 3 == 0; });
}

TEST_F(ScoreFormTest, of_what_tensors_say_nothing_is_known) {
  const std::string ids =
      "%query_id = hova.element %ids[%batch, %query] : tensor<2x24xi32>\n"
      "%other = hova.element %ids[%batch, %key] : tensor<2x24xi32>\n"
      "%same = arith.cmpi eq, %query_id, %other : i32\n";
  ScoreForm form = formOf(ids + "hova.score_yield %raw kept %same",
                          {{"ids", "tensor<2x24xi32>"}});
  EXPECT_EQ(form.classify(boxOf({3, 3}, {3, 3})), KeptKeys::some);
  // What indices say beside it is.
  ScoreForm causal =
      formOf(keeping(ids + "%not_later = arith.cmpi sle, %key, %query : index\n"
                           "%kept = arith.andi %same, %not_later : i1"),
             {{"ids", "tensor<2x24xi32>"}});
  EXPECT_EQ(causal.classify(boxOf({3, 6}, {0, 3})), KeptKeys::some);
  EXPECT_EQ(causal.classify(boxOf({3, 6}, {7, 9})), KeptKeys::none);
}

TEST_F(ScoreFormTest, nothing_is_known_of_raw_scores) {
  ScoreForm form = formOf(keeping("%zero = hova.number 0.0\n"
                                  "%kept = arith.cmpf oge, %raw, %zero : f32"));
  EXPECT_EQ(form.classify(boxOf({3, 3}, {3, 3})), KeptKeys::some);
}

TEST_F(ScoreFormTest, elements_are_in_their_range) {
  ScoreForm form =
      formOf(keeping("%stored = hova.element %lengths[%batch] "
                     "{range = array<i64: 4, 9>} : tensor<2xi32>\n"
                     "%length = arith.index_cast %stored : i32 to index\n"
                     "%kept = arith.cmpi slt, %key, %length : index"),
             {{"lengths", "tensor<2xi32>"}});
  EXPECT_EQ(form.classify(boxOf({0, 15}, {0, 3})), KeptKeys::all);
  EXPECT_EQ(form.classify(boxOf({0, 15}, {0, 4})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({0, 15}, {7, 9})), KeptKeys::some);
  EXPECT_EQ(form.classify(boxOf({0, 15}, {8, 9})), KeptKeys::none);
}

TEST_F(ScoreFormTest, heads_and_batch_entries_have_ranges_too) {
  ScoreForm form =
      formOf(keeping("%eight = arith.constant 8 : index\n"
                     "%first = arith.muli %head, %eight : index\n"
                     "%limit = arith.addi %first, %batch : index\n"
                     "%kept = arith.cmpi slt, %key, %limit : index"));
  EXPECT_EQ(form.classify({{1, 1}, {2, 2}, {0, 15}, {0, 16}}), KeptKeys::all);
  EXPECT_EQ(form.classify({{1, 1}, {2, 2}, {0, 15}, {17, 23}}), KeptKeys::none);
  EXPECT_EQ(form.classify({{0, 1}, {2, 2}, {0, 15}, {0, 16}}), KeptKeys::some);
}

} // namespace
