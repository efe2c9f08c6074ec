//===- CompareTest.cpp - Comparisons fail where they must -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/Compare.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace hova;

namespace {

using Element = HostTensor::Element;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

HostTensor doubles(llvm::ArrayRef<double> values) {
  HostTensor tensor(Element::F64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutableAs<double>());
  return tensor;
}

HostTensor floats(llvm::ArrayRef<float> values) {
  HostTensor tensor(Element::F32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutableAs<float>());
  return tensor;
}

double ulp(double value) { return ulpOf(value, Storage::F32); }

TEST(Ulp, is_the_distance_to_the_next_float) {
  EXPECT_EQ(ulp(1.0), std::nextafter(1.0f, 2.0f) - 1.0f);
  EXPECT_EQ(ulp(-1.5), ulp(1.0));
  EXPECT_EQ(ulp(1e-30f), std::nextafter(1e-30f, 1.0f) - 1e-30f);
  EXPECT_EQ(ulp(0.0), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(ulpOf(1.0, Storage::BF16), 0x1p-7);
  EXPECT_EQ(ulpOf(1.0, Storage::F16), 0x1p-10);
  EXPECT_EQ(unitRoundoff(Storage::F32), 0x1p-24);
}

TEST(Exact, accepts_equal_bits) {
  EXPECT_TRUE(
      compareExact(floats({1.0f, -2.0f}), floats({1.0f, -2.0f})).within);
  EXPECT_TRUE(compareExact(floats({0.5f}), doubles({0.5})).within);
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(compareExact(floats({nan}), floats({nan})).within);
}

TEST(Exact, rejects_one_last_place_and_negative_zero) {
  float next = std::nextafter(1.0f, 2.0f);
  EXPECT_FALSE(compareExact(floats({next}), floats({1.0f})).within);
  EXPECT_FALSE(compareExact(floats({-0.0f}), floats({0.0f})).within);
}

TEST(Exact, compares_large_ids_as_integers) {
  HostTensor a(Element::I64, {1}), b(Element::I64, {1});
  a.mutableAs<int64_t>()[0] = (int64_t(1) << 60) + 1;
  b.mutableAs<int64_t>()[0] = int64_t(1) << 60;
  EXPECT_FALSE(compareExact(a, b).within);
  EXPECT_TRUE(compareExact(a, a).within);
}

TEST(Unary, counts_last_places) {
  double want = 1.0;
  EXPECT_TRUE(
      compareUnary(doubles({want + 4 * ulp(want)}), doubles({want}), 4).within);
  EXPECT_FALSE(
      compareUnary(doubles({want + 5 * ulp(want)}), doubles({want}), 4).within);
}

TEST(Unary, demands_infinities_and_nans_in_place) {
  EXPECT_TRUE(
      compareUnary(doubles({kInfinity}), doubles({kInfinity}), 4).within);
  EXPECT_FALSE(
      compareUnary(doubles({-kInfinity}), doubles({kInfinity}), 4).within);
  EXPECT_FALSE(compareUnary(doubles({kNan}), doubles({0.0}), 4).within);
  EXPECT_FALSE(compareUnary(doubles({0.0}), doubles({kNan}), 4).within);
}

TEST(Contraction, bound_grows_with_magnitude_and_depth) {
  double u = unitRoundoff(Storage::F32);
  HostTensor want = doubles({0.0}), magnitudes = doubles({100.0});
  HostTensor got = doubles({100.0 * 10 * u});
  EXPECT_TRUE(compareContraction(got, want, magnitudes, 6).within);
  EXPECT_FALSE(compareContraction(got, want, magnitudes, 5).within);
  EXPECT_FALSE(compareContraction(got, want, doubles({10.0}), 6).within);
}

TEST(Model, allows_twice_the_error_of_the_plain_run) {
  HostTensor want = doubles({1.0, 0.25}), plain = doubles({1.0 + 1e-5, 0.25});
  double allowed = 2e-5 + 4 * ulp(1.0);
  EXPECT_TRUE(
      compareModel(doubles({1.0 + 0.99 * allowed, 0.25}), plain, want).within);
  EXPECT_FALSE(
      compareModel(doubles({1.0 + 1.01 * allowed, 0.25}), plain, want).within);
}

TEST(Model, takes_the_worst_of_several_plain_runs) {
  HostTensor want = doubles({1.0, 0.25}), lucky = doubles({1.0, 0.25});
  HostTensor got = doubles({1.0 + 1.5e-5, 0.25});
  EXPECT_FALSE(compareModel(got, lucky, want).within);
  PlainError other;
  other.addRun(doubles({1.0 + 1e-5, 0.25}), want);
  EXPECT_NEAR(other.max, 1e-5, 1e-12);
  EXPECT_TRUE(compareModel(got, lucky, want, Storage::F32, other).within);
}

TEST(Model, allows_four_last_places_where_the_plain_run_is_exact) {
  HostTensor want = doubles({8.0, 0.0});
  EXPECT_TRUE(compareModel(doubles({8.0, 3.9 * ulp(8.0)}), want, want).within);
  EXPECT_FALSE(compareModel(doubles({8.0, 4.1 * ulp(8.0)}), want, want).within);
}

TEST(Model, knows_no_rounding_of_integers_and_booleans) {
  // Beside 2^30, one is less than four last places of f32.
  HostTensor ids(Element::I64, {2}), others(Element::I64, {2});
  ids.mutableAs<int64_t>()[0] = others.mutableAs<int64_t>()[0] = 1 << 30;
  others.mutableAs<int64_t>()[1] = 1;
  EXPECT_TRUE(compareModel(ids, ids, ids).within);
  EXPECT_FALSE(compareModel(ids, others, others).within);
  HostTensor kept(Element::I1, {1}), two(Element::I1, {1});
  kept.mutableAs<uint8_t>()[0] = 1;
  two.mutableAs<uint8_t>()[0] = 2; // not the byte of a boolean
  EXPECT_TRUE(compareModel(kept, kept, kept).within);
  EXPECT_FALSE(compareModel(two, kept, kept).within);
}

TEST(Model, rejects_many_small_errors_below_the_maximum) {
  // One large error of the plain run must not hide errors everywhere.
  HostTensor want(Element::F64, {1000}), plain(Element::F64, {1000});
  HostTensor got(Element::F64, {1000});
  plain.mutableAs<double>()[0] = 1e-3;
  for (int i = 0; i < 1000; ++i) {
    got.mutableAs<double>()[i] = 1e-3;
  }
  Comparison comparison = compareModel(got, plain, want);
  EXPECT_LT(comparison.maxError, comparison.maxBound);
  EXPECT_FALSE(comparison.within);
}

TEST(Model, rejects_a_nan_on_either_side) {
  HostTensor finite = doubles({1.0, 2.0}), broken = doubles({1.0, kNan});
  EXPECT_FALSE(compareModel(broken, finite, finite).within);
  EXPECT_FALSE(compareModel(finite, broken, broken).within);
  EXPECT_TRUE(compareModel(broken, broken, broken).within);
}

TEST(Model, does_not_compare_what_a_plain_run_cannot_hold_either) {
  HostTensor finite = doubles({1.0, 2.0}), broken = doubles({1.0, kNan});
  HostTensor infinite = doubles({1.0, kInfinity}), other = doubles({1.5, kNan});
  Comparison nan = compareModel(broken, infinite, finite);
  EXPECT_TRUE(nan.within);
  EXPECT_EQ(nan.compared, 1);
  EXPECT_EQ(nan.overflowed, 1);
  EXPECT_TRUE(compareModel(infinite, broken, finite).within);
  // Its other elements are, and a number is one even there.
  EXPECT_FALSE(compareModel(other, broken, finite).within);
  EXPECT_FALSE(compareModel(doubles({1.0, 9.0}), broken, finite).within);
}

TEST(Model, compares_numbers_of_the_program_alone_by_what_they_change_by) {
  HostTensor want = doubles({1024.0, 2.0}), none = doubles({kInfinity, kNan});
  // Four units of f32 in the last place of the largest, if nothing else is
  // known, and those of the storage type.
  double unit = std::ldexp(1.0, -13), f16 = 1.0;
  auto compare = [&](double error, Storage storage, PlainError others = {}) {
    return compareModel(doubles({1024.0, 2.0 + error}), none, want, storage,
                        others);
  };
  EXPECT_TRUE(compare(4 * unit, Storage::F32).within);
  EXPECT_FALSE(compare(5 * unit, Storage::F32).within);
  EXPECT_TRUE(compare(4 * f16, Storage::F16).within);
  EXPECT_FALSE(compare(5 * f16, Storage::F16).within);
  // Each element by its own.
  PlainError neighbours;
  neighbours.addNeighbour(doubles({1034.0, 1.0}), want);
  neighbours.addNeighbour(doubles({1023.0, -1.0}), want);
  EXPECT_EQ(neighbours.spread, (std::vector<double>{10.0, 3.0}));
  Comparison known = compare(6.0, Storage::F32, neighbours);
  EXPECT_TRUE(known.within);
  EXPECT_EQ(known.compared, 2);
  EXPECT_NEAR(known.maxBound, 6.0, 1e-3);
  EXPECT_NEAR(known.rmsError, 6.0 / std::sqrt(2.0), 1e-9);
  EXPECT_FALSE(compare(6.1, Storage::F32, neighbours).within);
  // It says nothing of the numbers that the plain run has, and those nothing of
  // these.
  HostTensor half = doubles({kInfinity, 2.0});
  neighbours.spread[1] = 7 * 4 * std::ldexp(1.0, -22);
  auto mixed = [&](double a, double b) {
    return compareModel(doubles({a, b}), half, want, Storage::F32, neighbours);
  };
  EXPECT_TRUE(mixed(1040.0, 2.0).within);
  EXPECT_EQ(mixed(1040.0, 2.0).compared, 2);
  EXPECT_FALSE(mixed(1040.0, 3.0).within);
  EXPECT_LT(mixed(1040.0, 3.0).maxBound, 1.0);
  EXPECT_FALSE(mixed(1050.0, 2.0).within);
  EXPECT_GT(mixed(1050.0, 2.0).maxBound, 20.0);
}

TEST(Model, judges_what_roundings_decide_by_what_they_decide) {
  // A bound of 4 units of f32 in the last place of the largest.
  HostTensor want = doubles({1.0, 1.0, 1.0});
  double bound = 4 * std::ldexp(1.0, -23);
  PlainError neighbours;
  neighbours.addNeighbour(doubles({0.5, 1.0 + bound, 1.0 + bound / 2}), want);
  auto compare = [&](double first, double second, double third) {
    return compareModel(doubles({first, second, third}), want, want,
                        Storage::F32, neighbours);
  };
  EXPECT_TRUE(compare(0.5, 1.0, 1.0).within);
  EXPECT_TRUE(compare(2.0, 1.0, 1.0).within);
  EXPECT_FALSE(compare(2.1, 1.0, 1.0).within);
  EXPECT_FALSE(compare(kNan, 1.0, 1.0).within);
  EXPECT_EQ(compare(0.5, 1.0, 1.0).compared, 3);
  // What changes by a few roundings is no decision.
  EXPECT_FALSE(compare(0.5, 1.0 + 1.5 * bound, 1.0).within);
  EXPECT_FALSE(compare(0.5, 1.0, 1.0 + 1.5 * bound).within);
  // Nor is it one where all change alike, as of inputs of fewer bits.
  neighbours = PlainError();
  neighbours.addNeighbour(doubles({0.5, 0.5, 0.5}), want);
  EXPECT_FALSE(compare(0.99, 1.0, 1.0).within);
}

TEST(Model, judges_numbers_of_the_program_alone_each_by_its_own) {
  // One element that changes much must not hide errors of the others.
  HostTensor want(Element::F64, {1000}), none(Element::F64, {1000});
  HostTensor moved(Element::F64, {1000}), got(Element::F64, {1000});
  auto set = [&](HostTensor &tensor, double first, double others) {
    for (int i = 0; i < 1000; ++i) {
      tensor.mutableAs<double>()[i] = i == 0 ? first : others;
    }
  };
  set(none, kInfinity, kInfinity);
  set(moved, 1.0, 1e-3);
  PlainError neighbours;
  neighbours.addNeighbour(moved, want);
  auto compare = [&](double first, double others) {
    set(got, first, others);
    return compareModel(got, none, want, Storage::F32, neighbours).within;
  };
  EXPECT_TRUE(compare(1.9, 1.9e-3));
  EXPECT_FALSE(compare(1.9, 2.1e-3));
  EXPECT_FALSE(compare(2.1, 1.9e-3));
}

TEST(Model, does_not_compare_what_another_order_of_additions_cannot_hold) {
  HostTensor finite = doubles({1.0, 2.0}), infinite = doubles({1.0, kInfinity});
  HostTensor anyOrder = doubles({1.0, kNan});
  auto compare = [&](const HostTensor &got) {
    return compareModel(got, finite, finite, Storage::F32, {}, &anyOrder);
  };
  Comparison lost = compare(infinite);
  EXPECT_TRUE(lost.within);
  EXPECT_EQ(lost.compared, 1);
  EXPECT_EQ(lost.overflowed, 1);
  // A number is one even there, and an infinity is none elsewhere.
  EXPECT_TRUE(compare(finite).within);
  EXPECT_EQ(compare(finite).compared, 2);
  EXPECT_FALSE(compare(doubles({1.0, 9.0})).within);
  EXPECT_FALSE(compare(doubles({kInfinity, kInfinity})).within);
}

TEST(Model, rejects_an_infinity_in_place_of_a_number) {
  HostTensor finite = doubles({1.0}), infinite = doubles({kInfinity});
  EXPECT_FALSE(compareModel(infinite, finite, finite).within);
  EXPECT_FALSE(compareModel(finite, infinite, infinite).within);
}

TEST(AnyTier, rejects_another_shape) {
  HostTensor a = doubles({1.0}), b = doubles({1.0, 1.0});
  EXPECT_FALSE(compareExact(a, b).within);
  EXPECT_FALSE(compareUnary(a, b, 4).within);
  EXPECT_FALSE(compareModel(a, b, b).within);
  EXPECT_EQ(compareModel(a, b, b).reason, "the shapes differ");
}

TEST(Worst, are_the_five_largest_errors_in_order) {
  HostTensor want(Element::F64, {8}), got(Element::F64, {8});
  for (int i = 0; i < 8; ++i) {
    got.mutableAs<double>()[i] = (i * 3) % 8;
  }
  Comparison comparison = compareModel(got, want, want);
  ASSERT_EQ(comparison.worst.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(comparison.worst[i].error, 7 - i);
  }
  EXPECT_EQ(comparison.worst[0].index, 5);
}

} // namespace
