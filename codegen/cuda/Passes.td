//===- Passes.td - Passes of the CUDA target ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_PASSES
#define HOVA_CODEGEN_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def LowerGroupOpsPass : Pass<"hova-lower-group-ops", "::mlir::ModuleOp"> {
  let summary = "Lower operations of a group to threads of sm_80";
  let description = [{
    Before: functions of group operations, which take matrices and then up to
    three coordinates of their group in the grid. After: kernels in the LLVM and
    NVVM dialects, with `arith`, `math` and `scf` left over. Members are warps and
    lanes are threads; every thread holds its fragment of a tile. Copies are
    `cp.async`, waits count its groups, products are `ldmatrix` and `mma.sync`.
    Offsets have 32 bits. A kernel carries the bytes of shared memory that its
    launch must give it (`hova.group_bytes`).

    What the target cannot do is an error on its operation.

    ```mlir
    func.func @move(%x: memref<8x128xf32>, %y: memref<8x128xf32>, %g: index) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %row = arith.muli %g, %c4 : index
      %t = hova.group_load %x[%row, %c0] {in_bounds = array<i1: true, true>}
          : memref<8x128xf32> -> !hova.tile<4x128xf32, row 4x1>
      hova.group_store %t, %y[%row, %c0] {in_bounds = array<i1: true, true>}
          : !hova.tile<4x128xf32, row 4x1>, memref<8x128xf32>
      return
    }
    ```
    becomes
    ```mlir
    llvm.mlir.global external @move_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
        : !llvm.array<0 x i8>
    llvm.func @move(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
        attributes {hova.group_bytes = 0 : i64, nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
      %c16 = arith.constant 16 : i32
      %c512 = arith.constant 512 : i32
      %c4 = arith.constant 4 : index
      %c32 = arith.constant 32 : i32
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %lane = arith.remui %thread, %c32 : i32
      %member = arith.divui %thread, %c32 : i32
      %block = nvvm.read.ptx.sreg.ctaid.x : i32
      %g = arith.index_cast %block : i32 to index
      %first = arith.muli %g, %c4 : index
      %first32 = arith.index_cast %first : index to i32
      %row = arith.addi %first32, %member : i32
      %start = arith.muli %row, %c512 : i32
      %own = arith.muli %lane, %c16 : i32
      %byte = arith.addi %start, %own : i32
      %from = llvm.getelementptr %x[%byte] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      %run = llvm.load %from {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
      %to = llvm.getelementptr %y[%byte] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
      llvm.store %run, %to {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def OrderLoadsPass : Pass<"hova-order-loads", "::mlir::ModuleOp"> {
  let summary = "Begin some loads of global memory at a time, before they are needed";
  let description = [{
    Before: kernels whose loads of global memory stand where a tile is loaded,
    all together, each with its registers. After: where loads between two
    operations with an effect hold more than `registers`, they follow what needs
    them: before each store stand the loads that it needs, and as many of the next
    ones as have room. What is computed of a load, or its address of, moves with
    it. Loads of buffers that the kernel writes stay where they are.

    ```mlir
    llvm.func @add(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %one: vector<64xf32>) {
      %x1 = llvm.getelementptr %x[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %y1 = llvm.getelementptr %y[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %0 = llvm.load %x : !llvm.ptr<1> -> vector<64xf32>
      %1 = llvm.load %x1 : !llvm.ptr<1> -> vector<64xf32>
      %2 = llvm.fadd %0, %one : vector<64xf32>
      %3 = llvm.fadd %1, %one : vector<64xf32>
      llvm.store %2, %y : vector<64xf32>, !llvm.ptr<1>
      llvm.store %3, %y1 : vector<64xf32>, !llvm.ptr<1>
      llvm.return
    }
    ```
    becomes
    ```mlir
    llvm.func @add(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %one: vector<64xf32>) {
      %0 = llvm.load %x : !llvm.ptr<1> -> vector<64xf32>
      %2 = llvm.fadd %0, %one : vector<64xf32>
      llvm.store %2, %y : vector<64xf32>, !llvm.ptr<1>
      %x1 = llvm.getelementptr %x[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %y1 = llvm.getelementptr %y[64] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %1 = llvm.load %x1 : !llvm.ptr<1> -> vector<64xf32>
      %3 = llvm.fadd %1, %one : vector<64xf32>
      llvm.store %3, %y1 : vector<64xf32>, !llvm.ptr<1>
      llvm.return
    }
    ```
  }];
  let options = [Option<"registers", "registers", "int64_t", "0",
                        "How many registers of 32 bits loads may hold ahead "
                        "(0: what the sums that loops carry leave)">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def OrderLaunchesPass : Pass<"hova-order-launches", "::mlir::ModuleOp"> {
  let summary = "Do what depends on no launch before a kernel waits for them";
  let description = [{
    Before: kernels that say what is settled (`hova_cuda.settled`), whose first
    block has a wait for the launches before. After: the wait, with the leave for
    the next launch behind it, stands before the first operation of that block
    that touches other global memory, or has one inside that does; and before it
    stand copies of what is settled that stood behind it, with what they are
    computed of, as far as between them are copies, commits and arithmetic alone.
    Commits stay where they are, so that a copy may come to be in an earlier group
    and is awaited no later than it was. Other kernels stay as they are.

    ```mlir
    llvm.func @k(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %s: !llvm.ptr<3>, %t: !llvm.ptr<3>)
        attributes {hova_cuda.settled = array<i64: 1>} {
      hova_cuda.await_launches
      hova_cuda.allow_launches
      nvvm.cp.async.shared.global %s, %x, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.shared.global %t, %w, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      llvm.return
    }
    ```
    becomes
    ```mlir
    llvm.func @k(%x: !llvm.ptr<1>, %w: !llvm.ptr<1>, %s: !llvm.ptr<3>, %t: !llvm.ptr<3>)
        attributes {hova_cuda.settled = array<i64: 1>} {
      nvvm.cp.async.shared.global %t, %w, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      hova_cuda.await_launches
      hova_cuda.allow_launches
      nvvm.cp.async.shared.global %s, %x, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
      nvvm.cp.async.commit.group
      nvvm.cp.async.commit.group
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaCudaDialect"];
}

def LowerLoopAnnotationsPass
    : Pass<"hova-lower-loop-annotations", "::mlir::ModuleOp"> {
  let summary = "Keep the annotations of loops on their branches";
  let description = [{
    Before: branches of the LLVM dialect with the discardable attribute
    `llvm.loop_annotation`, which upstream's conversions of `scf.for` leave there
    and which no translation reads. After: the annotation is the property of the
    branch that LLVM's metadata is made from.

    ```mlir
    llvm.func @f() {
      llvm.br ^bb1
    ^bb1:
      llvm.br ^bb1 {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
    }
    ```
    becomes
    ```mlir
    llvm.func @f() {
      llvm.br ^bb1
    ^bb1:
      llvm.br ^bb1 {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerWgmmaToPtxPass : Pass<"hova-lower-wgmma-to-ptx", "::mlir::ModuleOp"> {
  let summary = "Write products of warp groups as pieces of PTX";
  let description = [{
    Before: kernels in the LLVM and NVVM dialects that may have `hova_cuda.wgmma`
    and `hova_cuda.wgmma_wait`. After: each of these is one `llvm.inline_asm`,
    whose sums are the same registers before and after it. The table of
    instructions has the operations and not the text, so this is the last pass
    before LLVM, and none of the emulation. Kernels without them stay as they are.

    ```mlir
    llvm.func @f(%s: f32) -> f32 {
      %r = hova_cuda.wgmma_wait 0, (%s)
      llvm.return %r : f32
    }
    ```
    becomes
    ```mlir
    llvm.func @f(%s: f32) -> f32 {
      %r = llvm.inline_asm has_side_effects asm_dialect = att
          "wgmma.wait_group.sync.aligned 0;", "=f,0" %s : (f32) -> f32
      llvm.return %r : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def LowerLaunchOrderToPtxPass
    : Pass<"hova-lower-launch-order-to-ptx", "::mlir::ModuleOp"> {
  let summary = "Write waits for launches as pieces of PTX";
  let description = [{
    Before: kernels in the LLVM and NVVM dialects that may have
    `hova_cuda.await_launches` and `hova_cuda.allow_launches`. After: each of these
    is one `llvm.inline_asm` that no access to memory moves over. Like
    `hova-lower-wgmma-to-ptx` it comes last before LLVM, and not before the
    emulation. Kernels without them stay as they are.

    ```mlir
    llvm.func @f() attributes {hova_cuda.settled = array<i64>} {
      hova_cuda.await_launches
      llvm.return
    }
    ```
    becomes
    ```mlir
    llvm.func @f() attributes {hova_cuda.settled = array<i64>} {
      llvm.inline_asm has_side_effects asm_dialect = att "griddepcontrol.wait;", "~{memory}" : () -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def VerifyLaunchOrderPass
    : Pass<"hova-verify-launch-order", "::mlir::ModuleOp"> {
  let summary = "Refuse a kernel that touches memory before it waits for launches";
  let description = [{
    Before: kernels in the LLVM and NVVM dialects, after all lowering. After: the
    same. Where a kernel says what is settled (`hova_cuda.settled`), so that its
    launches may begin before those in front of them have ended, every path to an
    access of other global memory and every path to its end has
    `hova_cuda.await_launches`, and it writes nothing that is settled. Other
    kernels have no such wait. Anything else is an error at its place.

    ```mlir
    module attributes {hova_cuda.gpu = "sm_90a"} {
      llvm.func @main(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {hova_cuda.settled = array<i64: 0>, nvvm.kernel} {
        %a = llvm.load %x : !llvm.ptr<1> -> f32
        hova_cuda.await_launches
        llvm.store %a, %y : f32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```
    stays
    ```mlir
    module attributes {hova_cuda.gpu = "sm_90a"} {
      llvm.func @main(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {hova_cuda.settled = array<i64: 0>, nvvm.kernel} {
        %a = llvm.load %x : !llvm.ptr<1> -> f32
        hova_cuda.await_launches
        llvm.store %a, %y : f32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```
  }];
}

def VerifyDeviceCodePass : Pass<"hova-verify-device-code", "::mlir::ModuleOp"> {
  let summary = "Refuse what a kernel of a GPU may not contain";
  let description = [{
    Before: kernels in the LLVM and NVVM dialects, after all lowering. After: the
    same, and every operation is in the table of
    codegen/cuda/lower/DeviceOperations.cpp, which says how PTX spells it and how
    it is emulated. Anything else is an error at its place, whether the kernel
    would be assembled or emulated: inline assembly, generic pointers, atomic
    accesses, calls, floating-point flags that let an assembler fuse or
    reassociate.

    ```mlir
    llvm.func @main(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      llvm.store %t, %x : i32, !llvm.ptr<1>
      llvm.return
    }
    ```
    stays
    ```mlir
    llvm.func @main(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      %t = nvvm.read.ptx.sreg.tid.x : i32
      llvm.store %t, %x : i32, !llvm.ptr<1>
      llvm.return
    }
    ```
  }];
}

def LowerToEmulationPass : Pass<"hova-lower-to-emulation", "::mlir::ModuleOp"> {
  let summary = "Make code for a host of kernels for a GPU";
  let description = [{
    Before: what hova-verify-device-code accepts. After: the LLVM dialect alone,
    for a host. A kernel is a function of a thread, and what a host does not have
    is a call of runtime/emulation/Calls.h with the number of its place: each
    load and store, each instruction of a warp, barriers, asynchronous copies.
    Addresses of shared memory count from 0. Arithmetic that hosts do otherwise
    is a call or spelled out: rounding to bf16, maxima, shifts by more than the
    width. For each kernel NAME there is a constant `hova_emulated_NAME`, which
    describes it (runtime/emulation/Emulation.h).

    ```mlir
    llvm.func @main(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      llvm.return
    }
    ```
    becomes
    ```mlir
    llvm.func internal @main(%arg0: !llvm.ptr, %arg1: !llvm.ptr<1>) {
      %0 = llvm.mlir.constant(10 : i32) : i32
      %1 = llvm.alloca %0 x i32 : (i32) -> !llvm.ptr
      %2 = llvm.mlir.constant(4 : i32) : i32
      %3 = llvm.alloca %2 x i32 : (i32) -> !llvm.ptr
      llvm.return
    }
    llvm.func internal @main.entry(%arg0: !llvm.ptr, %arg1: !llvm.ptr) {
      %0 = llvm.getelementptr %arg1[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
      %2 = llvm.load %1 : !llvm.ptr -> !llvm.ptr<1>
      llvm.call @main(%arg0, %2) : (!llvm.ptr, !llvm.ptr<1>) -> ()
      llvm.return
    }
    llvm.mlir.global internal constant @main.name("main\00") {addr_space = 0 : i32}
    llvm.mlir.global internal constant @main.places("\00") {addr_space = 0 : i32}
    llvm.mlir.global internal constant @main.place_offsets(dense<0> : tensor<1xi32>) {addr_space = 0 : i32} : !llvm.array<1 x i32>
    llvm.mlir.global internal constant @main.parameters(dense<0> : tensor<2xi32>) {addr_space = 0 : i32} : !llvm.array<2 x i32>
    llvm.mlir.global external constant @hova_emulated_main() {addr_space = 0 : i32} : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)> {
      %0 = llvm.mlir.undef : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %1 = llvm.mlir.addressof @main.name : !llvm.ptr
      %2 = llvm.insertvalue %1, %0[0] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %3 = llvm.mlir.addressof @main.entry : !llvm.ptr
      %4 = llvm.insertvalue %3, %2[1] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %5 = llvm.mlir.addressof @main.places : !llvm.ptr
      %6 = llvm.insertvalue %5, %4[2] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %7 = llvm.mlir.addressof @main.place_offsets : !llvm.ptr
      %8 = llvm.insertvalue %7, %6[3] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %9 = llvm.mlir.addressof @main.parameters : !llvm.ptr
      %10 = llvm.insertvalue %9, %8[4] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %11 = llvm.mlir.constant(1 : i32) : i32
      %12 = llvm.insertvalue %11, %10[5] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %13 = llvm.mlir.constant(0 : i32) : i32
      %14 = llvm.insertvalue %13, %12[6] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %15 = llvm.mlir.constant(0 : i32) : i32
      %16 = llvm.insertvalue %15, %14[7] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %17 = llvm.mlir.constant(16 : i32) : i32
      %18 = llvm.insertvalue %17, %16[8] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %19 = llvm.mlir.constant(16 : i32) : i32
      %20 = llvm.insertvalue %19, %18[9] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      %21 = llvm.mlir.constant(1 : i32) : i32
      %22 = llvm.insertvalue %21, %20[10] : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
      llvm.return %22 : !llvm.struct<(ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32)>
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def AssignGpuPass : Pass<"hova-assign-gpu", "::mlir::ModuleOp"> {
  let summary = "Say which GPU a program is for";
  let description = [{
    After: the module names the level of GPUs whose figures policies, recipes and
    the lowering go by (codegen/cuda/facts/GpuFacts.h), and no other one.

    ```mlir
    module {
    }
    ```
    becomes, with `gpu=sm_86`,
    ```mlir
    module attributes {hova_cuda.gpu = "sm_86"} {
    }
    ```
  }];
  let options = [Option<"gpu", "gpu", "std::string", "\"sm_80\"",
    "The name of the level, as after --gpu-arch.">];
  let dependentDialects = ["::hova::HovaCudaDialect"];
}

def AssignBlockCyclesPass
    : Pass<"hova-assign-block-cycles", "::mlir::ModuleOp"> {
  let summary = "Model how long a block of each kernel works";
  let description = [{
    Before: kernels of group operations beside the `main` that launches them.
    After: each kernel whose numbers of turns are known says the cycles of a
    multiprocessor that a block takes, alone on it and beside others
    (`hova_cuda.block_cycles`), for a GPU that the model was compared with.
    `hova explain` makes times of them; code does not depend on them.

    ```mlir
    module {
      func.func @main(%y: memref<8x128xf32>) {
        hova.launch @clear(%y) "clear" {flops = 0 : i64,
            shape = #hova_cuda.launch<x = 2, y = 1, z = 1, threads = 128>}
            : (memref<8x128xf32>)
        return
      }
      func.func private @clear(%y: memref<8x128xf32>, %g: index, %h: index, %i: index) {
        %c0 = arith.constant 0 : index
        %t = hova.group_map() : () -> !hova.tile<4x128xf32, row 4x1> {
        ^bb0(%r: index, %c: index):
          %zero = arith.constant 0.0 : f32
          hova.group_yield %zero : f32
        }
        hova.group_store %t, %y[%g, %c0]
            : !hova.tile<4x128xf32, row 4x1>, memref<8x128xf32>
        return
      }
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%y: memref<8x128xf32>) {
        hova.launch @clear(%y) "clear" {flops = 0 : i64,
            shape = #hova_cuda.launch<x = 2, y = 1, z = 1, threads = 128>}
            : (memref<8x128xf32>)
        return
      }
      func.func private @clear(%y: memref<8x128xf32>, %g: index, %h: index, %i: index)
          attributes {hova_cuda.block_cycles = array<f64: 3.200000e+01, 3.200000e+01>} {
        %c0 = arith.constant 0 : index
        %t = hova.group_map() : () -> !hova.tile<4x128xf32, row 4x1> {
        ^bb0(%r: index, %c: index):
          %zero = arith.constant 0.0 : f32
          hova.group_yield %zero : f32
        }
        hova.group_store %t, %y[%g, %c0]
            : !hova.tile<4x128xf32, row 4x1>, memref<8x128xf32>
        return
      }
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaCudaDialect"];
}

def AssignCudaSchedulePass
    : Pass<"hova-assign-cuda-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose tiles and layouts for a GPU";
  let description = [{
    Before: a fused program, each of whose kernels is an anchor and what is
    element-wise on its result. After: every kernel carries its schedule
    (`#hova_cuda.schedule`) and is one stage; rows of what kernels compute begin
    at multiples of 32 bytes, or of 16 where they would be longer by more than an
    eighth; every weight that a product reads is transposed, so that copies take
    16 bytes of a column at once; rows of weights that scores read are lengthened
    to multiples of 32 bytes (`alignCapturedTables`). The recipes of the operations
    choose (codegen/cuda/Recipe.td). What has no code for a GPU yet is an
    error on its operation.

    ```mlir
    func.func @main(%x: tensor<1x4x9xf32>) -> tensor<1x4x9xbf16> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x) {
      ^bb0(%a: tensor<1x4x9xf32>):
        %t = hova.activation relu %a : tensor<1x4x9xf32>
        %n = hova.convert %t : tensor<1x4x9xf32> -> tensor<1x4x9xbf16>
        hova.yield %n : tensor<1x4x9xbf16>
      } : (tensor<1x4x9xf32>) -> tensor<1x4x9xbf16>
      return %r : tensor<1x4x9xbf16>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x4x9xf32>) -> tensor<1x4x9xbf16> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x)
          attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 32, row_warps = 4, column_warps = 1>} {
      ^bb0(%a: tensor<1x4x9xf32>):
        %s = hova.stage [#hova.layout<rows 9>] {
          %t = hova.activation relu %a : tensor<1x4x9xf32>
          %n = hova.convert %t : tensor<1x4x9xf32> -> tensor<1x4x9xbf16>
          hova.yield %n : tensor<1x4x9xbf16>
        } : tensor<1x4x9xbf16>
        hova.yield %s : tensor<1x4x9xbf16>
      } : (tensor<1x4x9xf32>) -> tensor<1x4x9xbf16>
      return %r : tensor<1x4x9xbf16>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::hova::HovaCudaDialect"];
}

def VerifyCudaAssignedPass
    : Pass<"hova-verify-cuda-assigned", "::mlir::ModuleOp"> {
  let summary = "Check the promise of assign for a GPU";
  let description = [{
    Every kernel has a schedule and is one stage, whose first operation has a
    recipe; besides there are slices of columns alone. Weights have the layouts
    that kernels read.
  }];
  let dependentDialects = ["::hova::HovaDialect", "::hova::HovaCudaDialect"];
}

def TileCudaKernelsPass : Pass<"hova-tile-cuda-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions of a block of threads";
  let description = [{
    Before: kernels with a schedule (`#hova_cuda.schedule`), each one stage.
    After: every kernel is a function of group operations over buffers and the
    three coordinates of its block; `main` launches them on places in the arena,
    in the packed weights and in the program's tables, whose offsets are fixed, on
    a grid (`#hova_cuda.launch`). Kernels that differ in their buffers alone share one
    function. Obeys the schedule and decides nothing.

    ```mlir
    func.func @main(%x: tensor<1x4x64xf32>) -> tensor<1x4x64xf32> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x)
          attributes {schedule = #hova_cuda.schedule<rows = 4, columns = 64, row_warps = 4, column_warps = 1>} {
      ^bb0(%a: tensor<1x4x64xf32>):
        %s = hova.stage [#hova.layout<rows 64>] {
          %t = hova.add %a, %a : tensor<1x4x64xf32>, tensor<1x4x64xf32>
          hova.yield %t : tensor<1x4x64xf32>
        } : tensor<1x4x64xf32>
        hova.yield %s : tensor<1x4x64xf32>
      } : (tensor<1x4x64xf32>) -> tensor<1x4x64xf32>
      return %r : tensor<1x4x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<4x64xf32>, %y: memref<4x64xf32>)
        attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64,
                    hova.parts = [{bytes = 1024 : i64, flops = 0 : i64, kernel = 0 : i64, path = "main", stage = 0 : i64} ],
                    hova.types = [tensor<1x4x64xf32>, tensor<1x4x64xf32>], hova.values = []} {
      hova.launch @kernel_main(%x, %y) "main" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
          : (memref<4x64xf32>, memref<4x64xf32>)
      return
    }
    func.func private @kernel_main(%x: memref<4x64xf32>, %y: memref<4x64xf32>,
                                   %bx: index, %by: index, %bz: index) {
      %c4 = arith.constant 4 : index
      %row = arith.muli %bx, %c4 : index
      %c64 = arith.constant 64 : index
      %column = arith.muli %by, %c64 : index
      %a = hova.group_load %x[%row, %column] {in_bounds = array<i1: true, true>}
          : memref<4x64xf32> -> !hova.tile<4x64xf32, row 4x1>
      %b = hova.group_load %x[%row, %column] {in_bounds = array<i1: true, true>}
          : memref<4x64xf32> -> !hova.tile<4x64xf32, row 4x1>
      %t = hova.group_map (%a, %b)
          : (!hova.tile<4x64xf32, row 4x1>, !hova.tile<4x64xf32, row 4x1>) -> !hova.tile<4x64xf32, row 4x1> {
      ^bb0(%p: f32, %q: f32, %i: index, %j: index):
        %u = vector.broadcast %p : f32 to vector<1x1xf32>
        %v = vector.broadcast %q : f32 to vector<1x1xf32>
        %w = arith.addf %u, %v : vector<1x1xf32>
        %s = vector.extract %w[0, 0] : f32 from vector<1x1xf32>
        hova.group_yield %s : f32
      }
      hova.group_store %t, %y[%row, %column] {in_bounds = array<i1: true, true>}
          : !hova.tile<4x64xf32, row 4x1>, memref<4x64xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::hova::HovaCudaDialect",
      "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect",
      "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def LowerDeviceProgramPass
    : Pass<"hova-lower-device-program", "::mlir::ModuleOp"> {
  let summary = "Leave of a program what a GPU executes";
  let description = [{
    Before: the code of a tiled program. After: its kernels alone, which are
    found by their names. The launches become data of the program, made of the
    `main` that stands beside the code. On levels of GPUs where a launch may begin
    before others have ended, each kernel says which of its matrices are weights
    or tables in all of its launches, so that none writes them
    (`hova_cuda.settled`).

    ```mlir
    func.func @main(%x: memref<4x64xf32>, %y: memref<4x64xf32>) attributes {hova.arena_bytes = 0 : i64} {
      hova.launch @k(%x, %y) "a" {flops = 0 : i64, shape = #hova_cuda.launch<x = 1, y = 1, z = 1, threads = 128>}
          : (memref<4x64xf32>, memref<4x64xf32>)
      return
    }
    func.func private @k(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %bx: index, %by: index, %bz: index) {
      return
    }
    ```
    becomes
    ```mlir
    func.func @k(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %bx: index, %by: index, %bz: index) {
      return
    }
    ```
  }];
}

#endif // HOVA_CODEGEN_CUDA_PASSES
