//===- Recipe.td - The kernel of an operation on a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_RECIPE
#define HOVA_CODEGEN_CUDA_RECIPE

include "mlir/IR/OpBase.td"

def Hova_CudaRecipeOpInterface : OpInterface<"CudaRecipeOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How an operation that begins a kernel becomes operations of a group of
    threads. It is attached to operations from outside (an external model), so
    that an operation never knows a target, and whoever brings an operation can
    bring its recipe. Element-wise operations (`TileOpInterface`) need none.
  }];
  let methods = [
    InterfaceMethod<[{
      The schedule of a kernel that begins with the operation, whose operands
      and results have static shapes. Null, with an error on the operation,
      where there is no code for it.
    }], "::hova::CudaScheduleAttr", "chooseSchedule">,
    InterfaceMethod<[{
      Whether there is right code under this schedule too, which is not the one
      that the recipe chooses: who edits a dump may try others.
    }], "bool", "takesSchedule", (ins "::hova::CudaScheduleAttr":$schedule), "",
      "return false;">,
    InterfaceMethod<[{
      The blocks of the kernel's grid under this schedule.
    }], "::hova::Grid", "getGrid", (ins "::hova::CudaScheduleAttr":$schedule)>,
    InterfaceMethod<[{
      What the loops do with the tiles of the scores of one head. Nothing where
      they have none, or compute all of them.
    }], "std::optional<::hova::ScoreTileCounts>", "countScoreTiles",
      (ins "::hova::CudaScheduleAttr":$schedule), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Writes what one block does. The tile of the result goes to
      `GroupEmitter::finishAndStore`, which applies what joined the kernel and
      stores what is read elsewhere.
    }], "void", "emitGroup", (ins "::hova::GroupEmitter &":$emitter)>,
    InterfaceMethod<[{
      The most that the tile of a block holds of the result. `row`: `emitGroup`
      makes the tile of `GroupEmitter::tilePlace`, whatever columns the schedule
      has, and with all of them a block has whole rows. `head`: a block has rows of
      one head, which `emitGroup` gives to `GroupEmitter::finishHead`.
    }], "::hova::TileScope", "getHeldScope", (ins), "",
      "return ::hova::TileScope::pair;">,
    InterfaceMethod<[{
      Whether an operation that multiplies every so many columns beside each other
      of operand 0 with a factor may stand in front of it: the kernel reads what
      that one reads, and multiplies it on the way (`scalingOf`).
    }], "bool", "takesBefore", (ins "int64_t":$columns), "", "return false;">,
    InterfaceMethod<[{
      How the kernel reads operand `index`: `placed`, by `GroupEmitter::load` and
      `GroupEmitter::rowMap`, or `packed`, a weight `[in, out]` as `[out][in]`.
      With `packedColumns` and `columns`, `GroupEmitter::heldPlaces` says of which
      columns of the result a block makes tiles.
    }], "::hova::OperandReads", "getReads", (ins "unsigned":$index), "",
      "return ::hova::OperandReads::rows;">,
  ];
}

def Hova_CudaJoinOpInterface : OpInterface<"CudaJoinOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How an operation joins a kernel that another one begins, where the tile that
    blocks hold has more than elements (`TileScope`). It is attached beside a
    recipe, since a kernel may begin with the operation too. Policies compare what a
    tile holds with what an operation needs, so that neither names the other.
  }];
  let methods = [
    InterfaceMethod<[{
      What the operation needs, and where it stands. Nothing where, as it is, it
      joins no kernel.
    }], "std::optional<::hova::CudaJoin>", "getJoin">,
    InterfaceMethod<[{
      Begins to copy what is needed besides the tile to shared memory
      (`GroupEmitter::bring`), before the kernel does anything.
    }], "void", "bring", (ins "::hova::GroupEmitter &":$emitter), "", "return;">,
    InterfaceMethod<[{
      Writes what it makes of `tile`, of f32, at `place` of operand 0. After a
      `row` it is the tile of the result, and columns after the last are anything
      in both. After a `head` it stores the result itself. What stands in front of
      a product gets no tile and gives the factors of its rows: slots of one box,
      of the schedule's rows and a column for each factor.
    }], "::mlir::Value", "emitOn",
      (ins "::hova::GroupEmitter &":$emitter, "::mlir::Value":$tile,
           "const ::hova::GroupPlace &":$place)>,
  ];
}

#endif // HOVA_CODEGEN_CUDA_RECIPE
