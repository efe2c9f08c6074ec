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
//     bool readsPanels(Operation *, unsigned index) const { ... }
//   };
//   MyOp::attachInterface<MyRecipe>(*context);

#ifndef HOVA_CODEGEN_CPU_RECIPE_H
#define HOVA_CODEGEN_CPU_RECIPE_H

#include "codegen/cpu/CpuSchedule.h"
#include "dialect/Interfaces.h"
#include "dialect/score/VisitedKeys.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpDefinition.h"

namespace hova {
class KernelEmitter;
class TokenLanes;
} // namespace hova

#include "codegen/cpu/Recipe.h.inc"

namespace hova {

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
