//===- HovaCpuDialect.td - What the CPU says of kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_HOVACPUDIALECT
#define HOVA_CODEGEN_CPU_HOVACPUDIALECT

include "dialect/Schedule.td"
include "mlir/IR/AttrTypeBase.td"
include "passes/fuse/FusionPolicy.td"

def HovaCpu_Dialect : Dialect {
  let name = "hova_cpu";
  let cppNamespace = "::hova";
  let summary = "what the CPU target says of kernels, and does in them";
  let description = [{
    Attributes that the CPU target puts on kernels and on their launches, and the
    operations on tiles of matrices that its recipes write.
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
    - `lanes`: the vector length of row operations, in elements of f32, a power of
      two.
    - `grain`: units that a thread takes at least.
    - `k_block`: steps of K that one pass over the rows takes at most. Kernels
      whose units are rows or panels have it.
    - `block`: the cache block, rows that pass through all stages together at most.
      The same kernels have it.
    - `reduction_split`: steps of K that are summed in a row at most. Without it
      a sum is not split.
    - `pairs`, a word without a size: the products of an operation such as
      an attention, which read bf16, multiply pairs.
    - `matrix_unit`, a word without a size: products of bf16 are those of the
      processor's matrix unit (`hova_cpu.block_product`), where their sizes are
      such that it pays.

    The code of a kernel depends on all of it: on the grain too, which decides
    how many rows a block can have.
  }];
  let parameters = (ins "::hova::RegisterTile":$tile, "int64_t":$lanes,
      "int64_t":$grain, "std::optional<int64_t>":$k_block,
      "std::optional<int64_t>":$block,
      "std::optional<int64_t>":$reduction_split,
      "bool":$pairs, "bool":$matrix_unit);
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
    of its own, and all threads meet after it. `block` is how many units of a
    part pass through all stages together, at most, if not all. Where units
    differ in cost, `costs` are those of the first units, and of as many after
    them, and so on; the parts are then such that their costs are alike.
    `stages` has six numbers for each stage of a kernel that a run of few rows
    takes stage by stage: strips of columns, 0 where threads divide rows in every
    run; least rows of a run that divides them; rows times strips of a part, at
    least; rows of a part where rows are divided, at least; and floating-point
    operations of a row, and of what any number of rows reads, with those that
    bytes count. Such a kernel has a `hova_cpu.step_buffer`.

    Sizes and costs are positive, and the number of costs divides the units. A
    callee takes scratch bytes and two indices after its buffers. A chunk buffer
    among these has a row for every unit and no second user.
  }];
  let parameters = (ins "int64_t":$units, "int64_t":$grain,
      "std::optional<int64_t>":$block,
      "::mlir::DenseI64ArrayAttr":$costs, "::mlir::DenseI64ArrayAttr":$stages);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def HovaCpu_FusionAttr : AttrDef<HovaCpu_Dialect, "CpuFusion",
    [DeclareAttrInterfaceMethods<Hova_FusionPolicyAttrInterface,
                                 ["pays", "dividesColumns", "chooseSplit",
                                  "chooseBlocks"]>]> {
  let mnemonic = "fusion";
  let summary = "which kernels pay on a CPU";
  let description = [{
    `#hova_cpu.fusion<few_rows = 96, least_macs = 524288, few_units = 8,
    least_block = 96, part_terms = 98>`. Every legal join of rows pays: what one operation writes is
    in the caches when the next reads it, and no thread waits. Where rows are few,
    dividing them does not.

    - `few_rows`: threads divide the columns of products of fewer rows.
    - `least_macs`: multiply-accumulates of such a product at least.
    - `few_units`: a kernel of fewer units divides a further dim.
    - `least_block`: elements of a block of that dim at least.
    - `part_terms`: terms of a part of a reduction that is always divided, at
      most. No other is.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$few_rows,
      DefaultValuedParameter<"int64_t", "0">:$least_macs,
      DefaultValuedParameter<"int64_t", "0">:$few_units,
      DefaultValuedParameter<"int64_t", "1">:$least_block,
      DefaultValuedParameter<"int64_t", "64">:$part_terms);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // HOVA_CODEGEN_CPU_HOVACPUDIALECT
