//===- HovaCpuDialect.td - What the CPU says of kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_HOVACPUDIALECT
#define HOVA_CODEGEN_CPU_HOVACPUDIALECT

include "dialect/Schedule.td"
include "mlir/IR/AttrTypeBase.td"

def HovaCpu_Dialect : Dialect {
  let name = "hova_cpu";
  let cppNamespace = "::hova";
  let summary = "what the CPU target says of kernels";
  let description = [{
    Attributes that the CPU target puts on kernels and on their launches.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def HovaCpu_ScheduleAttr : AttrDef<HovaCpu_Dialect, "CpuSchedule",
    [DeclareAttrInterfaceMethods<Hova_ScheduleAttrInterface>]> {
  let mnemonic = "schedule";
  let summary = "the schedule of a kernel on a CPU";
  let description = [{
    `#hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 48, k_block = 256, block
    = 256>`. Sizes are positive.

    - `tile`: the register tile of a product, its rows and columns.
    - `lanes`: the vector length of row operations, in elements of f32.
    - `grain`: units that a thread takes at least.
    - `k_block`: steps of K that one pass over the rows takes at most. Kernels
      whose units are rows or panels have it.
    - `block`: the row group, rows that pass through all stages together at most.
      The same kernels have it.
    - `reduction_split`: steps of K that are summed in a row at most. Without it
      a sum is not split.
    - `pairs`, a word without a size: attention in bf16 multiplies pairs.

    The code of a kernel depends on all of it: on the grain too, which decides
    how many rows a block can have.
  }];
  let parameters = (ins "::hova::RegisterTile":$tile, "int64_t":$lanes,
      "int64_t":$grain, "std::optional<int64_t>":$k_block,
      "std::optional<int64_t>":$block,
      "std::optional<int64_t>":$reduction_split,
      "bool":$pairs);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def HovaCpu_LaunchAttr : AttrDef<HovaCpu_Dialect, "CpuLaunch",
    [DeclareAttrInterfaceMethods<Hova_LaunchShapeAttrInterface,
                                 ["getUnitRanges"]>]> {
  let mnemonic = "launch";
  let summary = "how threads of a CPU run a kernel function";
  let description = [{
    `#hova_cpu.launch<units = 96, grain = 4, block = 8, costs = [1, 3]>`. Threads
    divide `units` evenly into at most `units / grain` parts; each calls
    `callee(buffers..., scratch, begin, end)` on its part, with scratch memory
    of its own, and all threads meet behind it. `block` is how many units of a
    part pass through all stages together, at most, if not all. Where units
    differ in cost, `costs` are those of the first units, and of as many behind
    them, and so on; the parts are then such that their costs are alike.

    Sizes and costs are positive, and the number of costs divides the units. A
    callee takes scratch bytes and two indices behind its buffers. A share buffer
    among these has a row for every unit and no second user.
  }];
  let parameters = (ins "int64_t":$units, "int64_t":$grain,
      "std::optional<int64_t>":$block,
      "::mlir::DenseI64ArrayAttr":$costs);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // HOVA_CODEGEN_CPU_HOVACPUDIALECT
