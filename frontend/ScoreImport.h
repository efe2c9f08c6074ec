//===- ScoreImport.h - Scores of one's own as IR ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_SCOREIMPORT_H
#define HOVA_FRONTEND_SCOREIMPORT_H

#include "frontend/elaborate/ScoreProgram.h"
#include "mlir/IR/Builders.h"

namespace hova::frontend {

/// What a program of scores is about: a scaled similarity (f32), the indices of
/// the attention, and the values that it captures, in their order.
struct ScoreArguments {
  mlir::Value score, batch, head, query, key;
  mlir::ValueRange captured;
};

/// An f32 and an i1; null where the description says nothing.
struct ScoreValues {
  mlir::Value score, keep;
};

/// Writes the program as scalar operations: numbers are f32, integers of type
/// index, booleans i1. `locationAt` is of a byte of the description.
ScoreValues buildScores(mlir::OpBuilder &builder,
                        llvm::function_ref<mlir::Location(size_t)> locationAt,
                        const ScoreProgram &program,
                        const ScoreArguments &arguments);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_SCOREIMPORT_H
