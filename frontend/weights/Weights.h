//===- Weights.h - Where the values of weights come from ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program names its weights; a source gives their values, one at a time, so
// that a large model is never in memory twice.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_WEIGHTS_H
#define HOVA_FRONTEND_WEIGHTS_WEIGHTS_H

#include "dialect/HostTensor.h"
#include "frontend/elaborate/Program.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace hova::frontend {

class WeightSource {
public:
  virtual ~WeightSource() = default;

  /// The value of the weight of that name: F32, of the program's shape, finite.
  /// Fails for an unknown name, and for a value that is NaN or infinite (with
  /// its first index).
  virtual llvm::Expected<HostTensor> load(llvm::StringRef name) = 0;
};

/// What weights are drawn for.
enum class Drawing {
  /// For use: exactly as the initialisers say.
  Initialised,
  /// For comparing programs. A mistake in how weights are read shows only where
  /// they differ, so what an initialiser makes constant is random around it,
  /// and tables of blocks have empty entries and whatever else they may have.
  Varied
};

/// Weights drawn by the initialisers of the program. Every weight has a
/// generator of its own, seeded by `seed` and its name, and every element a
/// counter: a weight does not change when another one does, and not from one
/// machine to the next.
std::unique_ptr<WeightSource>
drawWeights(const Program &program, uint64_t seed,
            Drawing drawing = Drawing::Initialised);

/// The place of an element in a tensor of that shape: "[0, 17]".
std::string elementIndex(llvm::ArrayRef<int64_t> shape, int64_t element);

/// Fails with the name and the first index of an element that is not finite,
/// or is no block where the numbers are some.
llvm::Error checkValues(const ProgramWeight &weight, const HostTensor &tensor);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_WEIGHTS_H
