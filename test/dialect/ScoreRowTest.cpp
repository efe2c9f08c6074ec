//===- ScoreRowTest.cpp - Regions of scores against plain numbers ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The evaluator's run of a region, in float and in double: each operation that
// has a meaning among scores (isScoreOperation), on raw scores and indices of
// all signs.

#include "ScoreFixture.h"
#include "dialect/evaluate/Score.h"
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace hova;

namespace {

using Element = HostTensor::Element;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kKeys = 24;
constexpr int64_t kBatch = 1, kHead = 2, kQuery = 9;

/// Numbers of all kinds, as many as keys.
constexpr double kRaw[kKeys] = {-3.5,   -2.0,   -1.25,   -1.0,   -0.75,  -0.1,
                                -0.0,   0.0,    0.1,     0.5,    0.75,   1.0,
                                1.25,   2.0,    3.5,     100.25, -100.5, 1e-30,
                                -1e-30, 1.0e20, -1.0e20, kInf,   -kInf,  kNan};

HostTensor tensorOf(Element element, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<double> values) {
  HostTensor tensor(element, shape);
  for (auto [i, value] : llvm::enumerate(values)) {
    switch (element) {
    case Element::F64:
      tensor.mutableAs<double>()[i] = value;
      break;
    case Element::F32:
      tensor.mutableAs<float>()[i] = static_cast<float>(value);
      break;
    case Element::I64:
      tensor.mutableAs<int64_t>()[i] = static_cast<int64_t>(value);
      break;
    case Element::I1:
      tensor.mutableAs<uint8_t>()[i] = value != 0;
      break;
    }
  }
  return tensor;
}

/// The bits of -0.0 are others than those of 0.0; NaN is NaN.
template <typename T> bool areSame(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) ||
         (a == b && std::signbit(a) == std::signbit(b));
}

template <typename T> class ScoreRowTest : public test::ScoreTest {
protected:
  std::vector<T> rawScores() const {
    return {std::begin(kRaw), std::end(kRaw)};
  }

  ScoreRow<T> run(const std::string &body, const Captured &captured = {},
                  llvm::ArrayRef<const HostTensor *> values = {}) {
    std::vector<int64_t> keys(kKeys);
    std::iota(keys.begin(), keys.end(), 0);
    ScoreRow<T> row(parse(body, captured), values, keys);
    row.run(kBatch, kHead, kQuery, rawScores().data());
    return row;
  }

  /// `body` makes %score of %raw.
  std::vector<T> scoresOf(const std::string &body,
                          const Captured &captured = {},
                          llvm::ArrayRef<const HostTensor *> values = {}) {
    return run(body + "\n%all = arith.constant true\n"
                      "hova.score_yield %score kept %all",
               captured, values)
        .scores();
  }

  /// `body` makes %kept.
  std::vector<bool> keptOf(const std::string &body,
                           const Captured &captured = {},
                           llvm::ArrayRef<const HostTensor *> values = {}) {
    ScoreRow<T> row =
        run(body + "\nhova.score_yield %raw kept %kept", captured, values);
    std::vector<bool> kept;
    for (int64_t j = 0; j < kKeys; ++j) {
      kept.push_back(row.kept()[j] != 0);
    }
    return kept;
  }

  /// `body` makes %i, an index.
  std::vector<int64_t>
  integersOf(const std::string &body, const Captured &captured = {},
             llvm::ArrayRef<const HostTensor *> values = {}) {
    std::vector<int64_t> integers;
    for (T score : scoresOf(body + "\n%wide = arith.index_cast %i : index to "
                                   "i64\n%score = arith.sitofp %wide : i64 to "
                                   "f32",
                            captured, values)) {
      integers.push_back(static_cast<int64_t>(score));
    }
    return integers;
  }

  void expectScores(const std::string &body, const std::function<T(T)> &plain) {
    std::vector<T> scores = scoresOf(body);
    for (int64_t j = 0; j < kKeys; ++j) {
      T raw = static_cast<T>(kRaw[j]), wanted = plain(raw);
      EXPECT_TRUE(areSame(scores[j], wanted))
          << body << "\nof " << raw << ": expected " << wanted << ", got "
          << scores[j];
    }
  }

  /// The integer of a distance `query - key`, which is %d, and of the key.
  void expectIntegers(const std::string &body,
                      const std::function<int64_t(int64_t, int64_t)> &plain) {
    std::vector<int64_t> integers =
        integersOf("%d = arith.subi %query, %key : index\n"
                   "%three = arith.constant 3 : index\n" +
                   body);
    for (int64_t j = 0; j < kKeys; ++j) {
      EXPECT_EQ(integers[j], plain(kQuery - j, j)) << body << "\nof key " << j;
    }
  }
};

using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(ScoreRowTest, Numbers);

TYPED_TEST(ScoreRowTest, constants_have_the_digits_of_the_evaluation) {
  using T = TypeParam;
  this->expectScores("%score = hova.number 0.1",
                     [](T) { return static_cast<T>(0.1); });
  this->expectScores("%score = arith.constant 0.1 : f32",
                     [](T) { return static_cast<T>(0.1f); });
  this->expectIntegers("%i = arith.constant -5 : index",
                       [](int64_t, int64_t) { return -5; });
  EXPECT_EQ(this->keptOf("%kept = arith.constant true"),
            std::vector<bool>(kKeys, true));
  EXPECT_EQ(this->keptOf("%kept = arith.constant false"),
            std::vector<bool>(kKeys, false));
}

TYPED_TEST(ScoreRowTest, indices_are_those_of_the_row) {
  EXPECT_EQ(this->integersOf("%zero = arith.constant 0 : index\n"
                             "%i = arith.addi %batch, %zero : index"),
            std::vector<int64_t>(kKeys, kBatch));
  EXPECT_EQ(this->integersOf("%zero = arith.constant 0 : index\n"
                             "%i = arith.addi %head, %zero : index"),
            std::vector<int64_t>(kKeys, kHead));
  this->expectIntegers("%i = arith.maxsi %query, %query : index",
                       [](int64_t, int64_t) { return kQuery; });
  this->expectIntegers("%i = arith.maxsi %key, %key : index",
                       [](int64_t, int64_t key) { return key; });
}

TYPED_TEST(ScoreRowTest, sums_and_products_are_those_of_numbers) {
  using T = TypeParam;
  const std::string c = "%c = hova.number 1.5\n%score = ";
  const T half = 1.5;
  this->expectScores(c + "arith.addf %raw, %c : f32",
                     [=](T x) { return x + half; });
  this->expectScores(c + "arith.subf %raw, %c : f32",
                     [=](T x) { return x - half; });
  this->expectScores(c + "arith.subf %c, %raw : f32",
                     [=](T x) { return half - x; });
  this->expectScores(c + "arith.mulf %raw, %c : f32",
                     [=](T x) { return x * half; });
  this->expectScores(c + "arith.divf %raw, %c : f32",
                     [=](T x) { return x / half; });
  this->expectScores(c + "arith.divf %c, %raw : f32",
                     [=](T x) { return half / x; });
  this->expectScores("%score = arith.negf %raw : f32", [](T x) { return -x; });
  this->expectScores(c + "math.fma %raw, %c, %raw : f32",
                     [=](T x) { return std::fma(x, half, x); });
}

TYPED_TEST(ScoreRowTest, jumps_are_computed_from_numbers_of_f32) {
  using T = TypeParam;
  const std::string key = "%i = arith.index_cast %key : index to i32\n"
                          "%x = arith.sitofp %i : i32 to f32\n";
  const std::string tenths = key + "%c = hova.number 0.3\n"
                                   "%part = arith.divf %x, %c : f32\n";
  std::vector<T> floors =
                     this->scoresOf(tenths + "%score = math.floor %part : f32"),
                 ceilings =
                     this->scoresOf(tenths + "%score = math.ceil %part : f32");
  std::vector<bool> equals =
      this->keptOf(tenths + "%thirty = hova.number 30.0\n"
                            "%kept = arith.cmpf oeq, %part, "
                            "%thirty : f32");
  for (int64_t j = 0; j < kKeys; ++j) {
    float quotient = static_cast<float>(j) / 0.3f;
    EXPECT_EQ(floors[j], std::floor(quotient)) << j;
    EXPECT_EQ(ceilings[j], std::ceil(quotient)) << j;
    EXPECT_EQ(equals[j], quotient == 30.0f) << j;
  }
  EXPECT_FALSE(equals[9]);
  // Elsewhere the same value has the digits of the evaluation.
  std::vector<T> rests =
      this->scoresOf(tenths + "%f = math.floor %part : f32\n"
                              "%score = arith.subf %part, %f "
                              ": f32");
  EXPECT_EQ(rests[9], static_cast<T>(9) / static_cast<T>(0.3) - 29);
}

TYPED_TEST(ScoreRowTest, extremes_with_NaN_are_NaN) {
  using T = TypeParam;
  const std::string c = "%c = hova.number 0.5\n%score = ";
  auto least = [](T x) { return std::isnan(x) ? x : std::min(x, T(0.5)); };
  auto most = [](T x) { return std::isnan(x) ? x : std::max(x, T(0.5)); };
  this->expectScores(c + "arith.minimumf %raw, %c : f32", least);
  this->expectScores(c + "arith.minimumf %c, %raw : f32", least);
  this->expectScores(c + "arith.maximumf %raw, %c : f32", most);
  this->expectScores(c + "arith.maximumf %c, %raw : f32", most);
}

TYPED_TEST(ScoreRowTest, functions_are_those_of_the_library) {
  using T = TypeParam;
  auto expect = [&](const char *name, const std::function<T(T)> &plain) {
    this->expectScores(std::string("%score = math.") + name + " %raw : f32",
                       plain);
  };
  expect("absf", [](T x) { return std::abs(x); });
  expect("ceil", [](T x) { return std::ceil(static_cast<float>(x)); });
  expect("floor", [](T x) { return std::floor(static_cast<float>(x)); });
  expect("log", [](T x) { return std::log(x); });
  expect("log2", [](T x) { return std::log2(x); });
  expect("sqrt", [](T x) { return std::sqrt(x); });
  expect("tanh", [](T x) { return std::tanh(x); });
  // Compiled programs have no denormal exponentials.
  expect("exp", [](T x) {
    T power = std::exp(x);
    return sizeof(T) == 4 && power < std::numeric_limits<T>::min() ? T(0)
                                                                   : power;
  });
}

TYPED_TEST(ScoreRowTest, integers_may_be_negative) {
  using I = int64_t;
  auto expect = [&](const char *text, I (*plain)(I, I)) {
    this->expectIntegers(std::string("%i = arith.") + text + " : index", plain);
  };
  expect("addi %d, %three", [](I d, I) { return d + 3; });
  expect("subi %three, %d", [](I d, I) { return 3 - d; });
  expect("muli %d, %three", [](I d, I) { return d * 3; });
  expect("floordivsi %d, %three", [](I d, I) {
    return static_cast<I>(std::floor(static_cast<double>(d) / 3));
  });
  expect("remsi %d, %three", [](I d, I) { return d % 3; });
  expect("maxsi %d, %three", [](I d, I) { return d > 3 ? d : 3; });
  expect("minsi %d, %three", [](I d, I) { return d < 3 ? d : 3; });
  expect("andi %d, %three", [](I d, I) { return d & 3; });
  expect("ori %d, %three", [](I d, I) { return d | 3; });
  expect("xori %d, %three", [](I d, I) { return d ^ 3; });
}

TYPED_TEST(ScoreRowTest, a_choice_is_of_any_type) {
  using T = TypeParam;
  this->expectScores("%zero = hova.number 0.0\n"
                     "%is_less = arith.cmpf olt, %raw, %zero : f32\n"
                     "%score = arith.select %is_less, %zero, %raw : f32",
                     [](T x) { return x < 0 ? T(0) : x; });
  this->expectIntegers("%is_late = arith.cmpi slt, %d, %three : index\n"
                       "%i = arith.select %is_late, %key, %d : index",
                       [](int64_t d, int64_t key) { return d < 3 ? key : d; });
  std::vector<bool> kept =
      this->keptOf("%ten = arith.constant 10 : index\n"
                   "%true = arith.constant true\n"
                   "%a = arith.cmpi slt, %key, %ten : index\n"
                   "%b = arith.cmpi eq, %key, %ten : index\n"
                   "%kept = arith.select %b, %true, %a : i1");
  for (int64_t j = 0; j < kKeys; ++j) {
    EXPECT_EQ(kept[j], j <= 10) << "key " << j;
  }
}

TYPED_TEST(ScoreRowTest, booleans_are_true_or_false) {
  struct Case {
    const char *op;
    bool result[4]; ///< of false and false, false and true, ..
  };
  const Case cases[] = {{"andi", {false, false, false, true}},
                        {"ori", {false, true, true, true}},
                        {"xori", {false, true, true, false}}};
  for (const Case &given : cases) {
    std::vector<bool> kept =
        this->keptOf(std::string("%one = arith.constant 1 : index\n"
                                 "%two = arith.constant 2 : index\n"
                                 "%zero = arith.constant 0 : index\n"
                                 "%high = arith.andi %key, %two : index\n"
                                 "%low = arith.andi %key, %one : index\n"
                                 "%a = arith.cmpi ne, %high, %zero : index\n"
                                 "%b = arith.cmpi ne, %low, %zero : index\n"
                                 "%kept = arith.") +
                     given.op + " %a, %b : i1");
    for (int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(kept[j], given.result[j]) << given.op << " of " << j;
    }
  }
}

TYPED_TEST(ScoreRowTest, comparisons_of_numbers_say_what_NaN_is) {
  struct Case {
    const char *predicate;
    bool ofLess, ofEqual, ofGreater, ofNan;
  };
  const Case cases[] = {
      {"false", false, false, false, false}, {"oeq", false, true, false, false},
      {"ogt", false, false, true, false},    {"oge", false, true, true, false},
      {"olt", true, false, false, false},    {"ole", true, true, false, false},
      {"one", true, false, true, false},     {"ord", true, true, true, false},
      {"ueq", false, true, false, true},     {"ugt", false, false, true, true},
      {"uge", false, true, true, true},      {"ult", true, false, false, true},
      {"ule", true, true, false, true},      {"une", true, false, true, true},
      {"uno", false, false, false, true},    {"true", true, true, true, true}};
  for (const Case &given : cases) {
    std::vector<bool> kept =
        this->keptOf(std::string("%c = hova.number 0.5\n%kept = arith.cmpf ") +
                     given.predicate + ", %raw, %c : f32");
    for (int64_t j = 0; j < kKeys; ++j) {
      double raw = kRaw[j];
      bool wanted = std::isnan(raw) ? given.ofNan
                    : raw < 0.5     ? given.ofLess
                    : raw > 0.5     ? given.ofGreater
                                    : given.ofEqual;
      EXPECT_EQ(kept[j], wanted) << given.predicate << " of " << raw;
    }
  }
}

TYPED_TEST(ScoreRowTest, comparisons_of_integers_are_signed_or_not) {
  struct Case {
    const char *predicate;
    bool ofNegative, ofLess, ofEqual, ofGreater;
  };
  const Case cases[] = {
      {"eq", false, false, true, false},  {"ne", true, true, false, true},
      {"slt", true, true, false, false},  {"sle", true, true, true, false},
      {"sgt", false, false, false, true}, {"sge", false, false, true, true},
      {"ult", false, true, false, false}, {"ule", false, true, true, false},
      {"ugt", true, false, false, true},  {"uge", true, false, true, true}};
  for (const Case &given : cases) {
    std::vector<bool> kept = this->keptOf(
        std::string("%d = arith.subi %query, %key : index\n"
                    "%three = arith.constant 3 : index\n%kept = arith.cmpi ") +
        given.predicate + ", %d, %three : index");
    for (int64_t j = 0; j < kKeys; ++j) {
      int64_t d = kQuery - j;
      bool wanted = d < 0   ? given.ofNegative
                    : d < 3 ? given.ofLess
                    : d > 3 ? given.ofGreater
                            : given.ofEqual;
      EXPECT_EQ(kept[j], wanted) << given.predicate << " of " << d;
    }
  }
}

TYPED_TEST(ScoreRowTest, elements_outside_of_a_table_are_zero) {
  // Rows from key - 4, columns from query - 8, which is 1.
  HostTensor numbers = tensorOf(Element::F32, {3, 2}, {1, 2, 3, -kInf, 5, 6});
  HostTensor ids = tensorOf(Element::I64, {3}, {7, -8, 9});
  HostTensor mask = tensorOf(Element::I1, {3}, {1, 0, 1});
  const std::string places = "%four = arith.constant 4 : index\n"
                             "%eight = arith.constant 8 : index\n"
                             "%row = arith.subi %key, %four : index\n"
                             "%column = arith.subi %query, %eight : index\n";
  std::vector<TypeParam> scores = this->scoresOf(
      places + "%score = hova.element %t[%row, %column] : tensor<3x2xf32>",
      {{"t", "tensor<3x2xf32>"}}, {&numbers});
  // No element of another row, which is where a wrong column leads.
  std::vector<TypeParam> beside = this->scoresOf(
      places + "%score = hova.element %t[%row, %four] : tensor<3x2xf32>",
      {{"t", "tensor<3x2xf32>"}}, {&numbers});
  std::vector<int64_t> integers = this->integersOf(
      places + "%id = hova.element %ids[%row] : tensor<3xi32>\n"
               "%i = arith.index_cast %id : i32 to index",
      {{"ids", "tensor<3xi32>"}}, {&ids});
  std::vector<bool> kept =
      this->keptOf(places + "%kept = hova.element %mask[%row] : tensor<3xi1>",
                   {{"mask", "tensor<3xi1>"}}, {&mask});
  const double wanted[] = {2, -kInf, 6};
  const int64_t wantedIds[] = {7, -8, 9};
  for (int64_t j = 0; j < kKeys; ++j) {
    bool isInside = j >= 4 && j < 7;
    EXPECT_EQ(scores[j], isInside ? wanted[j - 4] : 0) << "key " << j;
    EXPECT_EQ(beside[j], 0) << "key " << j;
    EXPECT_EQ(integers[j], isInside ? wantedIds[j - 4] : 0) << "key " << j;
    EXPECT_EQ(kept[j], isInside && j != 5) << "key " << j;
  }
}

TYPED_TEST(ScoreRowTest, integers_are_kept_to_their_range) {
  HostTensor ids = tensorOf(Element::I64, {5}, {-5, 2, 3, 4, 9});
  std::vector<int64_t> integers = this->integersOf(
      "%id = hova.element %ids[%key] {range = array<i64: 2, 5>} : "
      "tensor<5xi64>\n"
      "%i = arith.index_cast %id : i64 to index",
      {{"ids", "tensor<5xi64>"}}, {&ids});
  // 0, which is outside of the table, is below the range.
  std::vector<int64_t> wanted(kKeys, 2);
  std::copy_n(std::begin({2, 2, 3, 4, 4}), 5, wanted.begin());
  EXPECT_EQ(integers, wanted);
}

TYPED_TEST(ScoreRowTest, an_element_is_an_index_of_another_table) {
  HostTensor ids = tensorOf(Element::I64, {24}, {2, 0, 5, 1});
  HostTensor numbers = tensorOf(Element::F32, {3}, {10, 20, 30});
  std::vector<TypeParam> scores = this->scoresOf(
      "%id = hova.element %ids[%key] : tensor<24xi64>\n"
      "%place = arith.index_cast %id : i64 to index\n"
      "%score = hova.element %t[%place] : tensor<3xf32>",
      {{"ids", "tensor<24xi64>"}, {"t", "tensor<3xf32>"}}, {&ids, &numbers});
  EXPECT_EQ(scores[0], 30);
  EXPECT_EQ(scores[1], 10);
  EXPECT_EQ(scores[2], 0);
  EXPECT_EQ(scores[3], 20);
  EXPECT_EQ(scores[4], 10);
}

TYPED_TEST(ScoreRowTest, what_is_carried_is_not_the_score) {
  using T = TypeParam;
  const std::string body = "%two = hova.number 2.0\n"
                           "%score = arith.divf %raw, %two : f32\n"
                           "%all = arith.constant true\n"
                           "hova.score_yield %score kept %all";
  ScoreRow<T> without = this->run(body);
  EXPECT_EQ(without.carried(), nullptr);
  ScoreRow<T> with = this->run(body + " carried %raw");
  ASSERT_NE(with.carried(), nullptr);
  EXPECT_EQ((*with.carried())[15], static_cast<T>(100.25));
  EXPECT_EQ(with.scores()[15], static_cast<T>(50.125));
}

TYPED_TEST(ScoreRowTest, a_row_is_run_anew) {
  std::vector<int64_t> keys(kKeys);
  std::iota(keys.begin(), keys.end(), 0);
  ScoreRow<TypeParam> row(
      this->parse("%kept = arith.cmpi sle, %key, %query : index\n"
                  "hova.score_yield %raw kept %kept"),
      {}, keys);
  std::vector<TypeParam> raw(kKeys, 3);
  row.run(0, 0, 20, this->rawScores().data());
  EXPECT_TRUE(row.kept()[15]);
  row.run(0, 0, 4, raw.data());
  EXPECT_FALSE(row.kept()[15]);
  EXPECT_EQ(row.scores(), raw);
}

} // namespace
