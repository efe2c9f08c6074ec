//===- HovaCudaDialect.td - What a GPU says of kernels --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_HOVACUDADIALECT
#define HOVA_CODEGEN_CUDA_HOVACUDADIALECT

include "dialect/Schedule.td"
include "mlir/IR/AttrTypeBase.td"
include "passes/fuse/FusionPolicy.td"

def HovaCuda_Dialect : Dialect {
  let name = "hova_cuda";
  let cppNamespace = "::hova";
  let summary = "what the CUDA target says of kernels";
  let description = [{
    Attributes that the CUDA target puts on kernels and on their launches, and
    one on a module: `hova_cuda.gpu = "sm_86"` names the level of GPUs whose
    figures its code goes by (codegen/cuda/facts/GpuFacts.h). It is one of those
    that are known.

    On the function of a kernel `hova_cuda.settled = array<i64: 1, 2>` says that
    its launches may begin while those before them still run, and which of its
    matrices none of these writes: it may read them before it waits
    (`hova_cuda.await_launches`), and nothing else.
    Operations are for what upstream's dialects cannot say.
  }];
  // Pointers of its operations.
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

def HovaCuda_Tile : Type<CPred<"::llvm::isa<::hova::TileType>($_self)">,
                         "tile of a group", "::hova::TileType">;
def HovaCuda_Slots : Type<CPred<"::llvm::isa<::hova::SlotsType>($_self)">,
                          "slots of group memory", "::hova::SlotsType">;

class HovaCuda_Op<string mnemonic, list<Trait> traits = []>
    : Op<HovaCuda_Dialect, mnemonic, traits>;

def HovaCuda_ScheduleAttr : AttrDef<HovaCuda_Dialect, "CudaSchedule",
    [DeclareAttrInterfaceMethods<Hova_ScheduleAttrInterface>]> {
  let mnemonic = "schedule";
  let summary = "the schedule of a kernel on a GPU";
  let description = [{
    `#hova_cuda.schedule<rows = 64, columns = 128, row_warps = 2, column_warps =
    2, step = 64, stages = 3>`. Sizes are positive.

    - `rows`, `columns`: the tile of the result that a block of threads makes. It
      may reach beyond the result.
    - `row_warps`, `column_warps`: how its warps divide the tile.
    - `step`: elements of the inner dimension of a product, or keys of an
      attention, that a turn of the main loop takes; 1 where there is none.
    - `stages`: turns whose operands have a place in shared memory.
    - `under_way`: turns of a product whose multiplications go on during the next
      ones, by `hova_cuda.begin_product`; 0, unless it is written, where none do.
    - `cluster`: blocks of a cluster, along z, each of which computes an even part
      of the inner dimension of a product, and adds rows of the sums of all of
      them by `hova_cuda.add_parts`; 1, unless it is written, where there are none.

    The code of a kernel depends on all of it.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns,
      "int64_t":$row_warps, "int64_t":$column_warps,
      DefaultValuedParameter<"int64_t", "1">:$step,
      DefaultValuedParameter<"int64_t", "1">:$stages,
      DefaultValuedParameter<"int64_t", "0">:$under_way,
      DefaultValuedParameter<"int64_t", "1">:$cluster);
  let builders = [
    AttrBuilder<(ins "int64_t":$rows, "int64_t":$columns, "int64_t":$rowWarps,
                     "int64_t":$columnWarps, "int64_t":$step,
                     "int64_t":$stages), [{
      return $_get($_ctxt, rows, columns, rowWarps, columnWarps, step, stages,
                   /*under_way=*/0, /*cluster=*/1);
    }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t warps() const { return getRowWarps() * getColumnWarps(); }
  }];
}

def HovaCuda_RunAttr : AttrDef<HovaCuda_Dialect, "CudaRun"> {
  let mnemonic = "run";
  let summary = "how a launch follows the sizes of a run";
  let description = [{
    `#hova_cuda.run<item_units = 197, block_units = 64, rows = [197, 0, 0, 0]>`:
    the grid has along x a block for every `block_units` of `item_units` for
    each item, `token_units` for each token and `longest_units` for each token
    of the longest item, and along z `item_entries` for each item. An axis of
    which all are 0 is always the same.

    `rows` has two numbers for each buffer of the launch: how many of its rows,
    the first ones, a run has for each item, and for each token. Where both are
    0 it is always whole. In a program of two `sequences` there is a third
    number, of rows for each token of the second one, and with `of_other` its
    tokens are those that the grid counts.
  }];
  let parameters = (ins
      DefaultValuedParameter<"int64_t", "0">:$item_units,
      DefaultValuedParameter<"int64_t", "0">:$token_units,
      DefaultValuedParameter<"int64_t", "0">:$longest_units,
      DefaultValuedParameter<"int64_t", "1">:$block_units,
      DefaultValuedParameter<"int64_t", "0">:$item_entries,
      DefaultValuedParameter<"int64_t", "1">:$sequences,
      DefaultValuedParameter<"bool", "false">:$of_other,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$rows);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether all rows of a run are in whole blocks, or each block has rows of
    /// one item: then no block reaches beyond them.
    bool isWhole() const {
      return getTokenUnits() == 0 && getLongestUnits() == 0 &&
             getItemUnits() % getBlockUnits() == 0;
    }
    /// How many sizes of a run a function is told: its items, and the tokens of
    /// each sequence.
    int64_t countSizes() const { return 1 + getSequences(); }
    /// The `rows` of a buffer, one number for each of these.
    llvm::ArrayRef<int64_t> getRowsOf(size_t buffer) const {
      return getRows().asArrayRef().slice(buffer * countSizes(), countSizes());
    }
  }];
}

def HovaCuda_LaunchAttr : AttrDef<HovaCuda_Dialect, "CudaLaunch",
    [DeclareAttrInterfaceMethods<Hova_LaunchShapeAttrInterface>]> {
  let mnemonic = "launch";
  let summary = "how a GPU runs a kernel function";
  let description = [{
    `#hova_cuda.launch<x = 4, y = 6, z = 1, threads = 128>`: a grid of 4 x 6
    blocks of 128 threads. After its buffers the function takes the coordinates
    of its block, an index for each axis. The bytes of shared memory are those
    that the lowered function asks for (`hova.group_bytes`).

    Blocks are within the limits of a grid, and threads are whole warps.

    In a program with ranges the grid is that of the largest sizes, `run` says
    what it is in others, and the function takes two indices more: the items of
    the run and their tokens. Of two sequences it takes the tokens of both.
  }];
  let parameters = (ins "int64_t":$x, "int64_t":$y, "int64_t":$z,
      "int64_t":$threads, OptionalParameter<"::hova::CudaRunAttr">:$run);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Indices that the function takes after its buffers.
    int64_t countIndices() const {
      return 3 + (getRun() ? getRun().countSizes() : 0);
    }
  }];
}

def HovaCuda_FusionAttr : AttrDef<HovaCuda_Dialect, "CudaFusion",
    [DeclareAttrInterfaceMethods<Hova_FusionPolicyAttrInterface,
                                    ["pays", "chooseSplit", "chooseSquareColumns",
                                     "addressesRows"]>]> {
  let mnemonic = "fusion";
  let summary = "which kernels pay on a GPU";
  let description = [{
    `#hova_cuda.fusion`: the threads of a block hold one tile in registers. So a
    kernel is one anchor, such as a product, and what is element-wise on its
    result. With `clusters` every level of the program has clusters of blocks, and
    parts of a product are blocks of one, which add them, where else a kernel of
    its own does.
  }];
  let parameters = (ins DefaultValuedParameter<"bool", "false">:$clusters);
  let assemblyFormat = "(`<` struct($clusters)^ `>`)?";
}

#endif // HOVA_CODEGEN_CUDA_HOVACUDADIALECT
