//===- Grid.td - What a target of blocks and threads says of kernels ------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_PASSES_TILE_GRID
#define HOVA_TEST_PASSES_TILE_GRID

include "dialect/Schedule.td"
include "mlir/IR/AttrTypeBase.td"

def Grid_Dialect : Dialect {
  let name = "grid";
  let cppNamespace = "::grid";
  let useDefaultAttributePrinterParser = 1;
}

def Grid_ScheduleAttr : AttrDef<Grid_Dialect, "GridSchedule",
    [DeclareAttrInterfaceMethods<Hova_ScheduleAttrInterface,
                                 ["getStructuralKey"]>]> {
  let mnemonic = "schedule";
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Grid_LaunchAttr : AttrDef<Grid_Dialect, "GridLaunch",
    [DeclareAttrInterfaceMethods<Hova_LaunchShapeAttrInterface>]> {
  let mnemonic = "launch";
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads,
                        "int64_t":$group_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // HOVA_TEST_PASSES_TILE_GRID
