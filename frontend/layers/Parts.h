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

/// Rows [.., D] of mean 0 and variance 1, then `below.gain` and `below.bias`.
ValueRef norm(LayerContext &layer, ValueRef x, const std::string &below,
              double eps);

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

/// The values "cosines" and "sines" and the attribute "pairs" of a layer; nothing
/// where it has none, or after a mistake.
std::optional<RotaryTables> readRotaryTables(LayerContext &layer);

/// The heads of x [batch, N, heads*width] with their pairs rotated.
ValueRef rotate(LayerContext &layer, ValueRef x, const std::string &below,
                const RotaryTables &tables, int64_t heads);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_LAYERS_PARTS_H
