# SPDX-License-Identifier: Apache-2.0
# The headers of hova that are installed. Plugins include those of the first list by name; docs/write-an-operator.md says what
# each is for. The second holds what those include, and nothing else: a test compares it with their include lines. The stamp
# of a plugin is made of all of them (cmake/StampHeaders.cmake).
set(HOVA_PUBLIC_HEADERS
  codegen/cpu/recipes/KernelEmitter.h
  codegen/cpu/recipes/Recipe.h
  codegen/cpu/recipes/RowBlocks.h
  codegen/cpu/recipes/Transpose.h
  dialect/AttentionOps.h
  dialect/DenseOps.h
  dialect/HostTensor.h
  dialect/HovaDialect.h
  dialect/HovaDialect.td
  dialect/Interfaces.h
  dialect/Interfaces.td
  dialect/IterationSpace.h
  dialect/LinearAttentionOps.h
  dialect/PlacementOps.h
  dialect/ProgramOps.h
  dialect/Shapes.h
  dialect/Site.h
  dialect/SparseAttentionOps.h
  dialect/Storage.h
  codegen/cpu/TileOps.h
  dialect/TokenOps.h
  dialect/evaluate/Evaluate.h
  frontend/OperationImport.h
  frontend/Operator.h
  frontend/description/Vocabulary.h
  frontend/elaborate/LayerContext.h
  passes/ExtensionPoints.h
  passes/Verdict.h
  passes/normalize/WeightValues.h)

set(HOVA_INCLUDED_HEADERS
  codegen/cpu/CpuSchedule.h
  dialect/Placement.h
  dialect/Schedule.h
  dialect/WeightLayout.h
  frontend/description/ModelSpec.h
  frontend/elaborate/Elaborator.h
  frontend/elaborate/Program.h
  frontend/elaborate/ScoreProgram.h
  frontend/elaborate/ValueRef.h
  frontend/expression/Expression.h
  frontend/reader/Diagnostics.h
  frontend/reader/Json.h
  frontend/reader/Source.h
  frontend/reader/Text.h
  passes/Columns.h
  passes/OptionalPasses.h
  passes/Passes.h
  passes/PhaseBuilder.h
  passes/Units.h
  passes/fuse/FuseOptions.h)

# What mlir-tblgen writes of them, in the build's folder.
set(HOVA_GENERATED_HEADERS
  codegen/cpu/recipes/Recipe.h.inc
  dialect/AttentionOps.h.inc
  dialect/DenseOps.h.inc
  dialect/HovaAttrs.h.inc
  dialect/HovaDialect.h.inc
  dialect/HovaEnums.h.inc
  dialect/Interfaces.h.inc
  dialect/LinearAttentionOps.h.inc
  dialect/PlacementInterface.h.inc
  dialect/PlacementOps.h.inc
  dialect/ProgramOps.h.inc
  dialect/ScheduleInterfaces.h.inc
  dialect/SparseAttentionOps.h.inc
  codegen/cpu/TileOps.h.inc
  dialect/TokenOps.h.inc
  dialect/WeightLayoutInterface.h.inc)
