//===- Recipe.h - The loops of an operation on a CPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recipe writes the loop nest of one kind of anchor. It is a function over
// the kernel's emitter, attached to the operation:
//
//   static LogicalResult emit(KernelEmitter &e, MyOp op);
//
//   registry.addExtension(+[](MLIRContext *context, MyDialect *) {
//     attachRecipe<MyOp, emit>(*context);
//   });
//
// What else a recipe says of itself (Recipe.td) it overrides in a struct:
//
//   struct MyRecipe : CpuRecipe<MyRecipe, MyOp, emit> {
//     OperandReads getReads(Operation *, unsigned index) const { ... }
//   };
//   MyOp::attachInterface<MyRecipe>(*context);

#ifndef HOVA_CODEGEN_CPU_RECIPE_H
#define HOVA_CODEGEN_CPU_RECIPE_H

#include "codegen/OperandReads.h"
#include "codegen/cpu/CpuSchedule.h"
#include "dialect/Interfaces.h"
#include "dialect/score/VisitedKeys.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"
#include "passes/Verdict.h"

namespace hova {
class KernelEmitter;
class TokenLanes;
} // namespace hova

#include "codegen/cpu/Recipe.h.inc"

namespace hova {

/// The most that the tiles of a stage that begins with `anchor` hold, which is
/// element-wise or has a recipe; nothing where they are handed to nobody.
std::optional<TileScope> heldScopeOf(mlir::Operation *anchor);
/// The loops of `op` for tokens in lanes, where it has them as it is; else
/// null.
CpuTokenLanesOpInterface tokenLanesOf(mlir::Operation *op);

template <typename OpT> int64_t noScratch(OpT, const CpuSchedule &) {
  return 0;
}

/// The recipe of `OpT` that two functions make: `emit` writes the loops, which
/// cannot fail where it returns nothing, and `scratch` tells how many bytes of
/// a thread's scratch they use.
template <typename Recipe, typename OpT, auto emit,
          auto scratch = noScratch<OpT>>
struct CpuRecipe : CpuRecipeOpInterface::ExternalModel<Recipe, OpT> {
  llvm::LogicalResult emitLoops(mlir::Operation *op,
                                KernelEmitter &emitter) const {
    auto anchor = llvm::cast<OpT>(op);
    if constexpr (std::is_void_v<decltype(emit(emitter, anchor))>) {
      emit(emitter, anchor);
      return llvm::success();
    } else {
      return emit(emitter, anchor);
    }
  }
  int64_t getScratchBytes(mlir::Operation *op,
                          const CpuSchedule &schedule) const {
    return scratch(llvm::cast<OpT>(op), schedule);
  }
};

/// The same of loops that store the result themselves, which nothing joins.
template <typename Recipe, typename OpT, auto emit,
          auto scratch = noScratch<OpT>>
struct StoringCpuRecipe : CpuRecipe<Recipe, OpT, emit, scratch> {
  std::optional<TileScope> getHeldScope(mlir::Operation *) const {
    return std::nullopt;
  }
};

template <typename OpT, auto emit, auto scratch>
struct PlainCpuRecipe
    : CpuRecipe<PlainCpuRecipe<OpT, emit, scratch>, OpT, emit, scratch> {};

// `emit` may be the name of several functions: the type of one tells which.
template <typename OpT, llvm::LogicalResult (*emit)(KernelEmitter &, OpT),
          int64_t (*scratch)(OpT, const CpuSchedule &) = noScratch<OpT>>
void attachRecipe(mlir::MLIRContext &context) {
  OpT::template attachInterface<PlainCpuRecipe<OpT, emit, scratch>>(context);
}
template <typename OpT, void (*emit)(KernelEmitter &, OpT),
          int64_t (*scratch)(OpT, const CpuSchedule &) = noScratch<OpT>>
void attachRecipe(mlir::MLIRContext &context) {
  OpT::template attachInterface<PlainCpuRecipe<OpT, emit, scratch>>(context);
}

} // namespace hova

#endif // HOVA_CODEGEN_CPU_RECIPE_H
