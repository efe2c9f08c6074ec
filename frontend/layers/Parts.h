//===- Parts.h - Parts that several operators have ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each appends operations below the path of the layer, `below` names them
// there, and returns poison where the layer has failed.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_LAYERS_PARTS_H
#define HOVA_FRONTEND_LAYERS_PARTS_H

#include "frontend/elaborate/LayerContext.h"

namespace hova::frontend {

/// x * W + b, [.., in] to [.., out]; the weights are `below.weight` [in, out]
/// and, if asked for, `below.bias` [out].
ValueRef linear(LayerContext &layer, ValueRef x, const std::string &below,
                int64_t out, bool bias);

/// What a norm does with rows, or with each of some heads of them.
struct NormOptions {
  double eps = 1e-5;
  /// As the dialect says it: standard, rms, l2.
  std::string kind = "standard";
  bool gain = true, bias = true;
  int64_t heads = 1;
};

/// Normalised rows [.., D], then `below.gain` and `below.bias`
/// [D / heads], where it has them.
ValueRef norm(LayerContext &layer, ValueRef x, const std::string &below,
              const NormOptions &options);

/// Whether lengths of heads, or rows, have an eps that f32 has; reports at the
/// attribute `name` if not.
bool expectEpsOfLengths(LayerContext &layer, const char *name, double eps);

/// lhs + rhs, of the shape of `lhs`.
ValueRef sum(LayerContext &layer, ValueRef lhs, ValueRef rhs,
             const std::string &below);

/// lhs * rhs, element by element, of the shape of `lhs`.
ValueRef product(LayerContext &layer, ValueRef lhs, ValueRef rhs,
                 const std::string &below);

/// The element-wise function `kind`, a word of the dialect's ActivationKind.
ValueRef activation(LayerContext &layer, ValueRef x, const std::string &below,
                    const std::string &kind);

/// Cosines and sines of the angles of tokens, [N, pairs], and which columns of
/// a head are a pair: "halves" or "neighbours".
struct RotaryTables {
  ValueRef cosines, sines;
  std::string pairs;
};

/// The values "cosines" and "sines" and the attribute "pairs" of a layer;
/// nothing where it has none, or after a mistake.
std::optional<RotaryTables> readRotaryTables(LayerContext &layer);

/// The heads of x [batch, N, heads*width] with their pairs rotated.
ValueRef rotate(LayerContext &layer, ValueRef x, const std::string &below,
                const RotaryTables &tables, int64_t heads);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_LAYERS_PARTS_H
