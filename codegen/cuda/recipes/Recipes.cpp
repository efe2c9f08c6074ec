//===- Recipes.cpp - The list of recipes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/recipes/Recipes.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/GroupEmitter.h"
#include "dialect/HovaDialect.h"

using namespace mlir;

namespace hova {

/// An element-wise operation that begins a kernel.
static void emitElements(Operation *op, GroupEmitter &emitter) {
  GroupEmitter::Place place = emitter.tilePlace(op);
  emitter.finishAndStore(emitter.compute(op, place), place);
}

void emitGroup(Operation *anchor, GroupEmitter &emitter) {
  if (auto recipe = dyn_cast<CudaRecipeOpInterface>(anchor)) {
    recipe.emitGroup(emitter);
  } else {
    emitElements(anchor, emitter);
  }
}

// Each stands in the file of its name.
void attachCudaAttentionRecipe(MLIRContext &context);
void attachCudaHeadRecipes(MLIRContext &context);
void attachCudaKeySummaryRecipe(MLIRContext &context);
void attachCudaMaskRecipes(MLIRContext &context);
void attachCudaMergeSummariesRecipe(MLIRContext &context);
void attachCudaNormRecipe(MLIRContext &context);
void attachCudaProductRecipes(MLIRContext &context);
void attachCudaSoftmaxRecipe(MLIRContext &context);
void attachCudaSquaresRecipes(MLIRContext &context);
void attachCudaSummaryAttentionRecipe(MLIRContext &context);
void attachCudaTokenRecipes(MLIRContext &context);

void registerCudaRecipes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HovaDialect *) {
    attachCudaAttentionRecipe(*context);
    attachCudaHeadRecipes(*context);
    attachCudaKeySummaryRecipe(*context);
    attachCudaMaskRecipes(*context);
    attachCudaMergeSummariesRecipe(*context);
    attachCudaNormRecipe(*context);
    attachCudaProductRecipes(*context);
    attachCudaSoftmaxRecipe(*context);
    attachCudaSquaresRecipes(*context);
    attachCudaSummaryAttentionRecipe(*context);
    attachCudaTokenRecipes(*context);
  });
}

} // namespace hova
