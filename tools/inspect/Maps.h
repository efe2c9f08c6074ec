//===- Maps.h - What attention attends to, for an input ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the reference evaluator and keeps the shares by which a model mixes what
// it reads: the weights of attention, of heads (horizontal attention), the
// gates of channels (vertical attention), and how often each layer's state is
// the maximum that an omnidirectional layer takes.

#ifndef HOVA_TOOLS_INSPECT_MAPS_H
#define HOVA_TOOLS_INSPECT_MAPS_H

#include "codegen/reference/Evaluator.h"
#include "llvm/Support/JSON.h"

namespace hova::inspect {

/// One JSON object with the arrays `maps` and `left_out` (paths of those that
/// would make too large a report). A map has its `path`, its `kind` (attention,
/// heads, gate or layers), `planes` x `rows` x `columns` numbers from 0 to
/// `largest` as bytes in base64 (`values`; 255 is the largest), what these are
/// (`plane`, `row`, `column`: head, query, key), and `names` of columns where
/// they have any. Attention has planes for all batch entries, the others are of
/// the first. `inputs` are as for Evaluator::run; failures are reported.
mlir::FailureOr<llvm::json::Object> mapsJson(mlir::ModuleOp imported,
                                             const WeightLookup &weights,
                                             llvm::ArrayRef<HostTensor> inputs);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_MAPS_H
