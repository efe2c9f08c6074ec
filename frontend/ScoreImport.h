//===- ScoreImport.h - Scores of an attention as IR -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_SCOREIMPORT_H
#define HOVA_FRONTEND_SCOREIMPORT_H

#include "frontend/elaborate/ScoreProgram.h"
#include "mlir/IR/Builders.h"

namespace hova::frontend {

/// What a program of scores is about: a similarity (f32), the indices of the
/// attention, and the values that it captures, in their order.
struct ScoreArguments {
  mlir::Value similarity, batch, head, query, key;
  mlir::ValueRange captured;
};

/// What a program makes: two f32, and an i1, which is null where all keys are
/// kept.
struct ScoreValues {
  mlir::Value score, carried, keep;
};

/// Writes the program as scalar operations: numbers are f32, integers of type
/// index, booleans i1. `locationAt` is of a byte of the description.
ScoreValues buildScores(mlir::OpBuilder &builder,
                        llvm::function_ref<mlir::Location(size_t)> locationAt,
                        const ScoreProgram &program,
                        const ScoreArguments &arguments);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_SCOREIMPORT_H
