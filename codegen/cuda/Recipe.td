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
      Whether `emitGroup` makes the tile of `GroupEmitter::tilePlace`, whatever
      columns the schedule has: with all of them a block has whole rows.
    }], "bool", "makesRows", (ins), "", "return false;">,
    InterfaceMethod<[{
      Whether the operation may join a kernel whose blocks have whole rows of
      operand 0, and `emitJoined` writes it.
    }], "bool", "joinsRows", (ins), "", "return false;">,
    InterfaceMethod<[{
      The tile of the result, of f32, at the place of `rows`, the tile of operand
      0. Columns after the last are anything in both.
    }], "::mlir::Value", "emitJoined",
      (ins "::hova::GroupEmitter &":$emitter, "::mlir::Value":$rows,
           "const ::hova::GroupPlace &":$place), "",
      "llvm_unreachable(\"joins no rows\");">,
    InterfaceMethod<[{
      Whether a block has rows of one head of the result, and `emitGroup` gives
      them to `GroupEmitter::finishHead`.
    }], "bool", "holdsHeads", (ins), "", "return false;">,
    InterfaceMethod<[{
      Whether the operation may join a kernel whose blocks have rows of one head
      of operand 0, and `bringForHead` and `emitJoinedHead` write it.
    }], "bool", "joinsHeads", (ins), "", "return false;">,
    InterfaceMethod<[{
      Begins to copy what is needed besides the head to group memory
      (`GroupEmitter::bring`), before the anchor does anything.
    }], "void", "bringForHead", (ins "::hova::GroupEmitter &":$emitter), "",
      "llvm_unreachable(\"joins no heads\");">,
    InterfaceMethod<[{
      Writes what it makes of the block's head: of `rows`, a tile of f32 of
      operand 0 as a product leaves it, from row `row` of the block's sequence on.
    }], "void", "emitJoinedHead",
      (ins "::hova::GroupEmitter &":$emitter, "::mlir::Value":$rows,
           "::mlir::Value":$row), "",
      "llvm_unreachable(\"joins no heads\");">,
    InterfaceMethod<[{
      How many columns beside each other of operand 0 are multiplied with one
      factor for each row, where that is all that the operation does; 0: it does
      something else. A product that reads the result alone may do it to the rows
      that it copies.
    }], "int64_t", "getScaledColumns", (ins), "", "return 0;">,
    InterfaceMethod<[{
      Writes the factors of rows from `row` on to group memory: slots of one box,
      of the schedule's rows and a column for each factor.
    }], "::mlir::Value", "emitFactors",
      (ins "::hova::GroupEmitter &":$emitter, "::mlir::Value":$row), "",
      "llvm_unreachable(\"scales no columns\");">,
    InterfaceMethod<[{
      Whether the kernel may multiply what it reads of operand 0 with factors of
      its columns (`scalingOf`), so many of which have one.
    }], "bool", "takesFactors", (ins "int64_t":$columns), "", "return false;">,
    InterfaceMethod<[{
      Whether the kernel may read rows of operand `index` in another order
      (`GroupEmitter::load`, `GroupEmitter::rowMap`).
    }], "bool", "readsPlaced", (ins "unsigned":$index), "", "return false;">,
    InterfaceMethod<[{
      Whether the kernel reads operand `index`, a weight `[in, out]`, as
      `[out][in]`.
    }], "bool", "readsTransposed", (ins "unsigned":$index), "",
      "return false;">,
  ];
}

#endif // HOVA_CODEGEN_CUDA_RECIPE
