//===- Recipe.td - The loops of an operation on a CPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_RECIPE
#define HOVA_CODEGEN_CPU_RECIPE

include "mlir/IR/OpBase.td"

def Hova_CpuRecipeOpInterface : OpInterface<"CpuRecipeOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How an operation that begins a stage becomes loops on a CPU. It is attached
    to operations from outside (an external model, as `attachRecipe` does), so
    that an operation never knows a target, and whoever brings an operation can
    bring its recipe. Element-wise operations (`TileOpInterface`) need none.
  }];
  let methods = [
    InterfaceMethod<[{
      Writes the loops over the emitter's units. Tiles of the result go to
      `KernelEmitter::finishAndStoreTile`, which applies what joined the stage and
      stores what is read elsewhere. Fails with an error on the operation.
    }], "::llvm::LogicalResult", "emitLoops",
      (ins "::hova::KernelEmitter &":$emitter)>,
    InterfaceMethod<[{
      Bytes of a thread's scratch that the loops use.
    }], "int64_t", "getScratchBytes", (ins "const ::hova::CpuSchedule &":$schedule),
        "", "return 0;">,
    InterfaceMethod<[{
      Multiply-accumulates that the loops execute: all of the operation's unless
      they skip some.
    }], "int64_t", "getExecutedMacs", (ins "const ::hova::CpuSchedule &":$schedule),
        "", [{
          auto cost = llvm::dyn_cast<::hova::CostOpInterface>($_op.getOperation());
          return cost ? *::hova::macsOf(cost) : 0;
        }]>,
    InterfaceMethod<[{
      What the loops do with the tiles of the scores of one head. Nothing where
      they have none, or compute all of them.
    }], "std::optional<::hova::ScoreTileCounts>", "countScoreTiles",
      (ins "const ::hova::CpuSchedule &":$schedule), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Where units differ in cost: what the first units of the kernel cost, to
      any scale, and as many after them, and so on. Empty where they are alike.
    }], "::llvm::SmallVector<int64_t>", "getUnitCosts",
      (ins "const ::hova::CpuSchedule &":$schedule), "", "return {};">,
    InterfaceMethod<[{
      How the loops read operand `index`: `placed`, where a table says
      (`KernelEmitter::rowOf`), or `packed`, in panels of columns.
    }], "::hova::OperandReads", "getReads", (ins "unsigned":$index), "",
        "return ::hova::OperandReads::rows;">,
    InterfaceMethod<[{
      The operand whose memory result `index` may take where nothing reads the
      operand afterwards, of the same shape and type: the loops read each of its
      elements before they write the one that stands there, in the same unit.
    }], "std::optional<unsigned>", "getOverwritable", (ins "unsigned":$index),
      "", "return std::nullopt;">,
    InterfaceMethod<[{
      The most that the tiles hold of the result which the loops hand to
      `KernelEmitter::finishAndStoreTile`. `row`: columns of one row, which line up
      with a table that repeats every few rows. `pair`: columns of several rows.
      Nothing where the loops store the result themselves, so that nothing joins.
    }], "std::optional<::hova::TileScope>", "getHeldScope", (ins), "",
        "return ::hova::TileScope::row;">,
    InterfaceMethod<[{
      Whether the loops multiply pairs of bf16 where the schedule says so
      (`CpuSchedule::pairs`): all that enters a product is of that type. Asked of
      operations whose units are no rows.
    }], "bool", "canMultiplyPairs", (ins), "", "return false;">,
    InterfaceMethod<[{
      Where the processor has a matrix unit for bf16: whether the products of the
      loops are those of the unit where the schedule says so
      (`CpuSchedule::matrixUnit`), and why or why not. Nothing where they are of
      other types.
    }], "std::optional<::hova::Verdict>", "judgeUnit", (ins), "",
        "return std::nullopt;">,
  ];
}

def Hova_CpuTokenLanesOpInterface : OpInterface<"CpuTokenLanesOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How an operation with a recipe takes part in a kernel of short sequences, whose
    tokens lie in the lanes of vectors (recipes/TokenLanes.h). It is attached
    beside the recipe, to the few operations that have a second form of their
    loops for it. Element-wise operations need none.
  }];
  let methods = [
    InterfaceMethod<[{
      What would give the operation that form, as reports say it. Nothing where it
      has the form as it is.
    }], "std::optional<std::string>", "declineTokenLanes", (ins), "",
        "return std::nullopt;">,
    InterfaceMethod<[{
      Writes the loops of that form over the sequences of one tile. What is
      computed goes to `TokenLanes::finishAndStore`.
    }], "void", "emitTokenLanes", (ins "::hova::TokenLanes &":$lanes)>,
  ];
}

#endif // HOVA_CODEGEN_CPU_RECIPE
