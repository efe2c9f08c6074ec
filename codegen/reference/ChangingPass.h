//===- ChangingPass.h - The pass that changes what a program computes -----===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_REFERENCE_CHANGINGPASS_H
#define HOVA_CODEGEN_REFERENCE_CHANGINGPASS_H

#include "codegen/Pipeline.h"
#include "codegen/reference/MeaningCheck.h"

namespace hova {

/// Runs the phases up to `vectorize` on a copy of `imported` and evaluates it
/// after each pass, with these weights and inputs. What was found is the
/// result; nothing is printed.
MeaningSummary findChangingPass(mlir::ModuleOp imported,
                                const PipelineOptions &options,
                                const WeightLookup &weights,
                                llvm::ArrayRef<HostTensor> inputs);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_CHANGINGPASS_H
