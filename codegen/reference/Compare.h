//===- Compare.h - The numeric policy and its comparisons -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// When are the numbers of a compiled program right? The reference is float64
// evaluation on the same (already rounded) weights and inputs. Four tiers:
//
//   T0 exact        data movement, masks, gathers, and whatever is an integer
//                   or a boolean: every bit equal
//   T1 unary        element-wise functions: a count of units in the last place
//   T2 contraction  sums of products: |y - y64| <= c u sum |a b|, element-wise
//   T3 model        whole programs: the maximum and the root mean square of the
//                   error are at most twice those of a plain unfused run in the
//                   same type, plus four units in the last place of the largest
//                   magnitude
//
// T3 has no hand-picked tolerance: the yardstick is what rounding alone does to
// the same formulas. In every tier NaN and infinities must sit exactly where
// the reference has them; a NaN on one side fails. What rounding does to an
// element may be that it is no number: where the plain run has none either,
// because something between leaves the range of the type, T3 cannot compare the
// element. The same holds where only the order of the plain run's additions
// keeps it in the range, which no program has to know
// (`Precision::AnyOrder`). Such an element is counted, and a value of which no
// element can be compared in any case is not verified. Where the program alone
// has a number, that must be right: what the element changes by, in float64,
// from the model to its neighbours stands for the error of the plain run.
//
// All figures are in one table, `numericPolicy`; changing one is a change of
// what hova promises.

#ifndef HOVA_CODEGEN_REFERENCE_COMPARE_H
#define HOVA_CODEGEN_REFERENCE_COMPARE_H

#include "dialect/Storage.h"
#include <algorithm>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace hova {

/// The figures of the policy for one storage type.
struct NumericPolicy {
  /// T1: units in the last place of the reference value, for exp and for the
  /// other functions.
  double exponentialUlps;
  double unaryUlps;
  /// T2: `c` is the number of summands, at most `contractionDepth` (the longest
  /// chain of additions of a blocked sum), plus this.
  double contractionConstant;
  /// T3: multiple of the plain run's error, and units in the last place of the
  /// largest magnitude.
  double plainFactor;
  double magnitudeUlps;
};
const NumericPolicy &numericPolicy(Storage storage);

/// Half the distance from 1 to the next number: 2^-24 for f32.
double unitRoundoff(Storage storage);
/// The unit in the last place of `value`.
double ulpOf(double value, Storage storage);

/// One element, for reports.
struct ElementDifference {
  int64_t index;
  double got;
  double want;
  double error;
  double bound;
};

struct Comparison {
  bool within = false;
  /// One sentence where `within` is false.
  std::string reason;
  int64_t elements = 0;
  /// Of these, the ones that are finite numbers on both sides: where there are
  /// none, nothing is known of how well the numbers agree.
  int64_t compared = 0;
  /// And the ones that neither the program nor a plain run in its type, in some
  /// order of its additions, can hold, though they are finite numbers in the
  /// reference.
  int64_t overflowed = 0;
  double maxError = 0, maxBound = 0;
  double rmsError = 0, rmsBound = 0;
  /// The five largest errors; non-finite disagreements come first.
  llvm::SmallVector<ElementDifference, 5> worst;
};

/// T0. Floating-point elements are compared as bits of their common type.
Comparison compareExact(const HostTensor &got, const HostTensor &want);

/// T1 with a bound of `ulps` units in the last place.
Comparison compareUnary(const HostTensor &got, const HostTensor &want,
                        double ulps, Storage storage = Storage::F32);

/// T2. `magnitudes` holds `sum |a b|` of every element, `depth` the number of
/// summands or the longest chain of a blocked sum, whichever is smaller.
Comparison compareContraction(const HostTensor &got, const HostTensor &want,
                              const HostTensor &magnitudes, int64_t depth,
                              Storage storage = Storage::F32);

/// The error of plain runs, the yardstick of T3: the worst of all.
struct PlainError {
  double max = 0;
  double rms = 0;
  /// Of every element, what it changes by from the model to its neighbours;
  /// empty: nothing is known.
  std::vector<double> spread;

  /// Adds a run in the storage type to what `exact`, its run in float64, says
  /// of it: over the elements where both are finite.
  void addRun(const HostTensor &plain, const HostTensor &exact);
  /// Adds a neighbour's run in float64 to what the model's own, `want`, has.
  void addNeighbour(const HostTensor &exact, const HostTensor &want);
};

/// T3. `plain` is the value of a plain run in the storage type; `others` is
/// what plain runs of neighbouring models had, at least; `anyOrder`, unless it
/// is null, is finite where every order of additions keeps sums in range.
/// Integers and booleans know no rounding: they are compared by T0.
Comparison compareModel(const HostTensor &got, const HostTensor &plain,
                        const HostTensor &want, Storage storage = Storage::F32,
                        const PlainError &others = {},
                        const HostTensor *anyOrder = nullptr);

/// The worst elements as a table: index, got, want, error, bound.
void printWorst(const Comparison &comparison, llvm::ArrayRef<int64_t> shape,
                llvm::raw_ostream &os);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_COMPARE_H
