//===- Recipes.h - The list of recipes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPES_RECIPES_H
#define HOVA_CODEGEN_CPU_RECIPES_RECIPES_H

#include "mlir/IR/DialectRegistry.h"

namespace hova {

/// Attaches the recipes of hova's own operations.
void registerCpuRecipes(mlir::DialectRegistry &registry);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPES_RECIPES_H
