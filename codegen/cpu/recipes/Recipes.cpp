//===- Recipes.cpp - The list of recipes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/recipes/Recipes.h"
#include "dialect/HovaDialect.h"

using namespace mlir;

namespace hova {

// Each stands in the file of its name.
void attachAttentionRecipe(MLIRContext &context);
void attachAttentionTokenLanes(MLIRContext &context);
void attachHeadLogitsRecipe(MLIRContext &context);
void attachKeySummaryRecipe(MLIRContext &context);
void attachLinearRecipe(MLIRContext &context);
void attachNormRecipes(MLIRContext &context);
void attachProjectTokensRecipe(MLIRContext &context);
void attachSummaryAttentionRecipe(MLIRContext &context);
void attachTokenRecipes(MLIRContext &context);
void attachUnfoldRecipe(MLIRContext &context);

void registerCpuRecipes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HovaDialect *) {
    attachAttentionRecipe(*context);
    attachAttentionTokenLanes(*context);
    attachHeadLogitsRecipe(*context);
    attachKeySummaryRecipe(*context);
    attachLinearRecipe(*context);
    attachNormRecipes(*context);
    attachProjectTokensRecipe(*context);
    attachSummaryAttentionRecipe(*context);
    attachTokenRecipes(*context);
    attachUnfoldRecipe(*context);
  });
}

} // namespace hova
