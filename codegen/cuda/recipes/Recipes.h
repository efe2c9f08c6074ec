//===- Recipes.h - The list of recipes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPES_RECIPES_H
#define HOVA_CODEGEN_CUDA_RECIPES_RECIPES_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Operation.h"

namespace hova {

class GroupEmitter;

/// Writes what a block of the kernel does that begins with `anchor`, which is
/// element-wise or has a recipe.
void emitGroup(mlir::Operation *anchor, GroupEmitter &emitter);

/// Attaches the recipes of hova's own operations.
void registerCudaRecipes(mlir::DialectRegistry &registry);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_RECIPES_RECIPES_H
