//===- Passes.td - Passes of the CPU target -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_PASSES
#define HOVA_CODEGEN_CPU_PASSES

include "codegen/cpu/UnitPasses.td"

def AssignCpuSchedulePass : Pass<"hova-assign-cpu-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose tiles, stages and layouts for a CPU";
  let description = [{
    Before: a fused program. After: every kernel carries its schedule
    (`#hova_cpu.schedule`): the register tile, the vector length, the smallest
    thread chunk; its region is a list of stages, whose results have
    layouts; every weight that a product reads has panels. The operations are the
    same. Where pairs of bf16 are multiplied, hyperbolic tangents of scores may be
    as coarse as those (`fastmath<afn>`). A weight that is read both as a product's
    operand and otherwise is stored once for each. All figures come from
    CpuFacts.h.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x) {
      ^bb0(%a: tensor<1x4x8xf32>):
        %t = hova.activation relu %a : tensor<1x4x8xf32>
        hova.yield %t : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x)
          attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 2048,
                                                    k_block = 256, block = 256>} {
      ^bb0(%a: tensor<1x4x8xf32>):
        %s = hova.stage [#hova.layout<rows 8>] {
          %t = hova.activation relu %a : tensor<1x4x8xf32>
          hova.yield %t : tensor<1x4x8xf32>
        } : tensor<1x4x8xf32>
        hova.yield %s : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"avx512", "avx512", "bool", "true",
           "The ISA level has 32 registers of 512 bits. Without it, it has 16 "
           "of 256.">,
    Option<"oneFma", "one-fma", "bool", "false",
           "A core issues one FMA of 512 bits a cycle. The second-level cache "
           "can feed that, so K blocks are longer.">,
    Option<"bf16", "bf16", "bool", "true", "The ISA level has AVX512_BF16.">,
    Option<"matrixUnit", "matrix-unit", "bool", "false",
           "The ISA level has a matrix unit for bf16.">,
  ];
  let dependentDialects = ["::hova::HovaDialect", "::hova::HovaCpuDialect"];
}

def FormSequenceKernelsPass : Pass<"hova-form-sequence-kernels", "::mlir::ModuleOp"> {
  let summary = "Form kernels of short sequences";
  let description = [{
    Before: a normalised program. After: operations on sequences of 16
    tokens and at most 128 channels, in f32, that depend on each other stand in
    one kernel, if there is an attention among them. Its units are groups of up
    to four sequences. Products, norms, element-wise operations, and attentions
    that are not causal and have no masks and biases take part. Everything else
    has changed its place at the most. Every attention on several sequences of at
    most 64 tokens has a verdict, with the first reason where it took no part.

    ```mlir
    func.func @main(%q: tensor<8x16x4xf32>) -> tensor<8x16x4xf32> {
      %a = hova.attention %q, %q, %q
          {heads = 2 : i64}
          : (tensor<8x16x4xf32>, tensor<8x16x4xf32>, tensor<8x16x4xf32>) -> tensor<8x16x4xf32> scores {
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number 0.5
        %scaled = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %scaled kept %all
      }
      %s = hova.add %q, %a : tensor<8x16x4xf32>, tensor<8x16x4xf32>
      return %s : tensor<8x16x4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%q: tensor<8x16x4xf32>) -> tensor<8x16x4xf32> {
      %r = hova.kernel "main" units<sequence_group 2> (%q) {
      ^bb0(%x: tensor<8x16x4xf32>):
        %a = hova.attention %x, %x, %x
            {heads = 2 : i64, hova.rewrites = {"hova-form-sequence-kernels" = {fired = true, why = "2 operations on 8 sequences are one kernel"}}}
            : (tensor<8x16x4xf32>, tensor<8x16x4xf32>, tensor<8x16x4xf32>) -> tensor<8x16x4xf32> scores {
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number 0.5
          %scaled = arith.mulf %raw, %scale : f32
          %all = arith.constant true
          hova.score_yield %scaled kept %all
        }
        %s = hova.add %x, %a : tensor<8x16x4xf32>, tensor<8x16x4xf32>
        hova.yield %s : tensor<8x16x4xf32>
      } : (tensor<8x16x4xf32>) -> tensor<8x16x4xf32>
      return %r : tensor<8x16x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def AssignRowTablesPass : Pass<"hova-assign-row-tables", "::mlir::ModuleOp"> {
  let summary = "Give every placed value a table of its rows";
  let description = [{
    Before: a fused program whose kernels read inputs and write results by
    placements. After: every such input and result has a table of rows,
    which is folded at compile time and which is a further input of the kernel (`hova.input_rows`,
    `hova.result_rows`: the number of the table's argument for each, -1 where
    there is none), and so has every `hova.rearrange` of a kernel. An input
    whose reader needs its rows one after the other, as a product does, is read
    as it is, and a `hova.rearrange` in front of the readers copies its rows. A
    result that the kernel itself reads so leaves by a copy.
    Kernels without placements stay as they are.

    ```mlir
    func.func @main(%x: tensor<1x16x8xf32>) -> tensor<4x4x8xf32> {
      %r = hova.kernel "main" units<batch 4, token 4> (%x)
          attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>]} {
      ^bb0(%a: tensor<4x4x8xf32>):
        %s = hova.activation relu %a : tensor<4x4x8xf32>
        hova.yield %s : tensor<4x4x8xf32>
      } : (tensor<1x16x8xf32>) -> tensor<4x4x8xf32>
      return %r : tensor<4x4x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<1x16x8xf32>) -> tensor<4x4x8xf32> {
      %t = hova.image_weight "rows.0" : tensor<16xi32>
      %r = hova.kernel "main" units<batch 4, token 4> (%x, %t)
          attributes {input_placements = [#hova.window<2x2, shift 1x1, grid 4x4>, unit],
                      hova.input_rows = array<i64: 1>} {
      ^bb0(%a: tensor<4x4x8xf32>, %u: tensor<16xi32>):
        %s = hova.activation relu %a : tensor<4x4x8xf32>
        hova.yield %s : tensor<4x4x8xf32>
      } : (tensor<1x16x8xf32>, tensor<16xi32>) -> tensor<4x4x8xf32>
      return %r : tensor<4x4x8xf32>
    }
    func.func private @weights() {
      %t = hova.row_table [#hova.window<2x2, shift 1x1, grid 4x4>] source 1, 16, 8 : tensor<16xi32>
      hova.store_weight "rows.0", %t : tensor<16xi32>
      return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect"];
}

def VerifyAssignedPass : Pass<"hova-verify-assigned", "::mlir::ModuleOp"> {
  let summary = "Check the promise of assign";
  let description = [{
    Every kernel has a complete schedule, and its region is a list of stages and
    of slices of columns. The layouts of weights are those that kernels read.
  }];
}

def TileCpuKernelsPass : Pass<"hova-tile-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions with loops for a CPU";
  let description = [{
    Before: kernels with a schedule (`#hova_cpu.schedule` on the kernel,
    `hova.stage` in its region, `layout` on image weights). After: every kernel is
    a function over buffers, its scratch and a range of units; `main` launches
    them on places in the arena, in the packed weights and among the program's
    tables, whose offsets are fixed, and on buffers that each thread has for its
    chunk of the units; the folding function packs what has a layout. Integers that
    no weight decides leave it for the table program, a function `tables`: they
    say where kernels read and write, so they are part of the code and not of
    the image, which comes from a file. Kernels that differ
    in their buffers alone share one function. Obeys the schedule and decides
    nothing. The loops are written by the recipes of the operations
    (codegen/cpu/Recipe.td); an operation that begins a stage and has none
    is an error.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x)
          attributes {schedule = #hova_cpu.schedule<tile = 6x64, lanes = 8, grain = 4,
                                                    k_block = 256, block = 256>} {
      ^bb0(%a: tensor<1x4x8xf32>):
        %s = hova.stage [#hova.layout<rows 8>] {
          %t = hova.activation relu %a : tensor<1x4x8xf32>
          hova.yield %t : tensor<1x4x8xf32>
        } : tensor<1x4x8xf32>
        hova.yield %s : tensor<1x4x8xf32>
      } : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
      return %r : tensor<1x4x8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<4x8xf32>, %y: memref<4x8xf32>)
        attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64,
                    hova.parts = [{bytes = 128 : i64, flops = 0 : i64, kernel = 0 : i64, path = "main", stage = 0 : i64} ],
                    hova.values = [],
                    hova.types = [tensor<1x4x8xf32>, tensor<1x4x8xf32>]} {
      hova.launch @kernel_main(%x, %y) "main" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 4>}
          : (memref<4x8xf32>, memref<4x8xf32>)
      return
    }
    func.func private @kernel_main(%x: memref<4x8xf32> {llvm.noalias}, %y: memref<4x8xf32> {llvm.noalias},
                                   %scratch: memref<64xi8> {llvm.noalias}, %begin: index, %end: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %row = %begin to %end step %c1 {
        %t = hova_cpu.tile_load %x[%row, %c0] : memref<4x8xf32> -> vector<1x8xf32>
        %r = hova.activation relu %t : vector<1x8xf32>
        hova_cpu.tile_store %r, %y[%row, %c0] : vector<1x8xf32>, memref<4x8xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::hova::HovaCpuDialect",
      "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect",
      "::mlir::memref::MemRefDialect",
      "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect"];
}

def VectorizeTilesPass : Pass<"hova-vectorize-tiles", "::mlir::func::FuncOp"> {
  let summary = "Give every row of a tile a vector of its own";
  let description = [{
    Before: tiles are two-dimensional vectors. After: every vector has one
    dimension; a product is a loop over k that carries one accumulator per row
    and loads one vector of the right operand per step. A two-dimensional
    vector in a loop becomes an array that LLVM keeps in memory: 50 instead of
    117 GFLOP/s on one Zen4 core.

    ```mlir
    func.func @product(%a: memref<2x8xf32>, %b: memref<1x8x16xf32>, %y: memref<2x16xf32>) {
      %c0 = arith.constant 0 : index
      %depth = arith.constant 8 : index
      %t = hova_cpu.tile_product %a[%c0, %c0], %b[%c0, %c0, %c0] depth %depth
          : memref<2x8xf32>, memref<1x8x16xf32> -> vector<2x16xf32>
      hova_cpu.tile_store %t, %y[%c0, %c0] : vector<2x16xf32>, memref<2x16xf32>
      return
    }
    ```
    becomes
    ```mlir
    func.func @product(%a: memref<2x8xf32>, %b: memref<1x8x16xf32>, %y: memref<2x16xf32>) {
      %c1 = arith.constant 1 : index
      %zero = arith.constant dense<0.0> : vector<16xf32>
      %c16 = arith.constant 16 : index
      %c8 = arith.constant 8 : index
      %c0 = arith.constant 0 : index
      %results = memref.reinterpret_cast %y to offset: [0], sizes: [32], strides: [1]
          : memref<2x16xf32> to memref<32xf32>
      %panel = memref.reinterpret_cast %b to offset: [0], sizes: [128], strides: [1]
          : memref<1x8x16xf32> to memref<128xf32>
      %rows = memref.reinterpret_cast %a to offset: [0], sizes: [16], strides: [1]
          : memref<2x8xf32> to memref<16xf32>
      %sums:2 = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum0 = %zero, %sum1 = %zero)
          -> (vector<16xf32>, vector<16xf32>) {
        %at = arith.muli %k, %c16 : index
        %columns = vector.load %panel[%at] : memref<128xf32>, vector<16xf32>
        %a0 = memref.load %rows[%k] : memref<16xf32>
        %factor0 = vector.broadcast %a0 : f32 to vector<16xf32>
        %next0 = vector.fma %factor0, %columns, %sum0 : vector<16xf32>
        %row1 = arith.addi %k, %c8 : index
        %a1 = memref.load %rows[%row1] : memref<16xf32>
        %factor1 = vector.broadcast %a1 : f32 to vector<16xf32>
        %next1 = vector.fma %factor1, %columns, %sum1 : vector<16xf32>
        scf.yield %next0, %next1 : vector<16xf32>, vector<16xf32>
      }
      vector.store %sums#0, %results[%c0] : memref<32xf32>, vector<16xf32>
      vector.store %sums#1, %results[%c16] : memref<32xf32>, vector<16xf32>
      return
    }
    ```
  }];
  let options = [
    Option<"steps", "steps", "int64_t", "1",
           "The steps of K that one iteration of a product's loop takes.">,
    Option<"lineElements", "line-elements", "int64_t", "0",
           "The f32 elements of a cache line. A prefetch hint becomes one "
           "prefetch per line. With 0, hints are dropped.">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect",
      "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def LowerActivationsPass : Pass<"hova-lower-activations", "::mlir::func::FuncOp"> {
  let summary = "Write activations and exponentials as polynomials";
  let description = [{
    Before: `hova.activation`, `hova.exp2`, `math.exp` and `math.tanh` on vectors
    of f32. After: arithmetic
    only, no call to a scalar library function. Errors against float64 are at
    most 2 ULP for exp2 on [-126, 0], 4 for tanh and sigmoid, and 4 ULP of
    max(|x|, 1e-3) for both GELUs. NaN propagates. With `lookups` the GELUs are
    polynomials in pieces whose coefficients `hova_cpu.lookup` picks: 18 instructions
    instead of 27 and, for GELU by tanh, a division. Where every user rounds the
    result to bf16 they are 13, within 4e-4 of it down to x = -3.4. There, and
    with `fastmath<afn>`, tanh is a polynomial in pieces too, within 4.1e-6 of it.
    With `exponentials` `hova.exp2` stays as it is.

    ```mlir
    func.func @relu(%x: vector<32xf32>) -> vector<32xf32> {
      %y = hova.activation relu %x : vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
    becomes
    ```mlir
    func.func @relu(%x: vector<32xf32>) -> vector<32xf32> {
      %zero = arith.constant dense<0.0> : vector<32xf32>
      %negative = arith.cmpf ogt, %zero, %x : vector<32xf32>
      %y = arith.select %negative, %zero, %x : vector<32xi1>, vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
  }];
  let options = [
    Option<"lookups", "lookups", "bool", "false",
           "The target has an instruction that looks up an entry of a table of "
           "16 for every lane (`hova_cpu.lookup`).">,
    Option<"exponentials", "exponentials", "bool", "false",
           "The target has instructions for exponentials (`hova.exp2`).">,
  ];
  let dependentDialects = ["::hova::HovaDialect", "::hova::HovaCpuDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def VerifyVectorizedPass : Pass<"hova-verify-vectorized", "::mlir::ModuleOp"> {
  let summary = "Check the promise of vectorize";
  let description = [{
    Every vector has at most one dimension and no hova operation is left in a
    kernel function but those that the target knows instructions for: dots of
    pairs, lookups and exponentials.
  }];
}

def LowerLaunchesPass : Pass<"hova-lower-launches", "::mlir::ModuleOp"> {
  let summary = "Turn main into the function that every thread runs";
  let description = [{
    Before: `main` is a list of launches on buffers. After: `hova_launches` is
    that list as data, `hova_call` calls a kernel by its number with the
    addresses of its buffers, and `hova_run` (hova_run_fn of hova_runtime.h)
    passes both to the runtime's `hova_run_launches`; all three end with the
    level's suffix. However many layers a model has, its code is that of its
    kernels. A kernel of little work has one part, the first thread's: the
    barrier, and rows that lie in the cache of another core, cost as much as two
    microseconds of work. Between two kernels of one part nobody waits. The folding
    function is gone: it is not part of the code. What the table program makes lies
    after the launches, where no file can change it.

    ```mlir
    func.func @main(%x: memref<4x8xf32>, %y: memref<4x8xf32>)
        attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 1 : i64} {
      hova.launch @kernel(%x, %y) "a" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 4>}
          : (memref<4x8xf32>, memref<4x8xf32>)
      return
    }
    func.func private @kernel(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %scratch: memref<64xi8>,
                              %begin: index, %end: index) {
      return
    }
    ```
    becomes
    ```mlir
    llvm.mlir.global external constant @hova_launches(dense<[1, 2, 0, 1, 4, 2, 64, 4, 0, 0, 0, 0, 0, 0, 2, 3]> : tensor<16xi64>)
        {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<16 x i64>
    func.func @hova_call(%number: i64, %buffers: !llvm.ptr, %memory: !llvm.ptr, %first: i64, %last: i64) {
      %bytes = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
      %rows = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
      %kernel = arith.index_cast %number : i64 to index
      scf.index_switch %kernel
      case 0 {
        %p0 = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
        %s0 = llvm.insertvalue %p0, %rows[1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %x = builtin.unrealized_conversion_cast %s0
            : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<4x8xf32>
        %a1 = llvm.getelementptr %buffers[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
        %p1 = llvm.load %a1 : !llvm.ptr -> !llvm.ptr
        %s1 = llvm.insertvalue %p1, %rows[1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
        %y = builtin.unrealized_conversion_cast %s1
            : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<4x8xf32>
        %s2 = llvm.insertvalue %memory, %bytes[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
        %scratch = builtin.unrealized_conversion_cast %s2
            : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<64xi8>
        %begin = arith.index_cast %first : i64 to index
        %end = arith.index_cast %last : i64 to index
        func.call @kernel(%x, %y, %scratch, %begin, %end)
            : (memref<4x8xf32>, memref<4x8xf32>, memref<64xi8>, index, index) -> ()
        scf.yield
      }
      default {
      }
      return
    }
    func.func @hova_run(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %arena: !llvm.ptr, %image: !llvm.ptr,
                        %thread: i64, %threads: i64, %team: !llvm.ptr) {
      %launches = llvm.mlir.addressof @hova_launches : !llvm.ptr
      %f = func.constant @hova_call : (i64, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
      %call = builtin.unrealized_conversion_cast %f
          : (i64, !llvm.ptr, !llvm.ptr, i64, i64) -> () to !llvm.ptr
      llvm.call @hova_run_launches(%inputs, %outputs, %arena, %image, %thread, %threads, %team, %launches, %call)
          : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
      return
    }
    llvm.func @hova_run_launches(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr)
    func.func private @kernel(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %scratch: memref<64xi8>,
                              %begin: index, %end: index) {
      return
    }
    ```
  }];
  let options = [
    Option<"suffix", "suffix", "std::string", "\"\"", "Append this to the names of the functions and of the table.">,
    Option<"leastWork", "least-work", "int64_t", "0",
           "The least work of a kernel that threads divide. The work is the "
           "floating-point operations, plus 4 for every byte of the buffers.">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
      "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def LowerStoragePass : Pass<"hova-lower-storage", "::mlir::func::FuncOp"> {
  let summary = "Choose instructions for numbers of bf16";
  let description = [{
    Before: vector code with `hova_cpu.pair_dot`, and `arith.truncf` to bf16. After:
    no `hova_cpu.pair_dot`, and no conversion that the ISA level would make a library
    call of. With AVX512_BF16 a dot of pairs is `vdpbf16ps`, 16 sums at a time,
    two registers are rounded by one `vcvtne2ps2bf16`, and other conversions
    stay; without it the halves of each pair are shifted and
    masked to f32 for two fused multiply-adds, and rounding is integer
    arithmetic. With `slow-pairs` dots are halves all the same. The first lanes of a vector of 16-bit numbers are stored in
    parts whose sizes are powers of two. Widening bf16 is a shift on every ISA level, and f16 has
    conversions on all of them (F16C).

    ```mlir
    func.func @dot(%a: vector<32xbf16>, %b: vector<32xbf16>, %s: vector<16xf32>) -> vector<16xf32> {
      %y = hova_cpu.pair_dot %a, %b, %s : vector<32xbf16>, vector<16xf32>
      return %y : vector<16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @dot(%a: vector<32xbf16>, %b: vector<32xbf16>, %s: vector<16xf32>) -> vector<16xf32> {
      %y = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%s, %a, %b) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
      return %y : vector<16xf32>
    }
    ```
  }];
  let options = [
    Option<"bf16", "bf16", "bool", "true", "The ISA level has AVX512_BF16.">,
    Option<"slowPairs", "slow-pairs", "bool", "false",
           "Dots of pairs are shifts, masks and multiply-adds all the same: their instruction is no faster.">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
      "::mlir::vector::VectorDialect"];
}

def LowerExponentialsPass : Pass<"hova-lower-exponentials", "::mlir::func::FuncOp"> {
  let summary = "Make exponentials reductions and scalings";
  let description = [{
    Before: `hova.exp2` on vectors. After: `vreduceps` and `vscalefps` of
    AVX-512 around a polynomial, 16 lanes at a time, within 2 ULP on [-126, 127],
    or within 2^-13.5 of the exponential with `accuracy(bf16)`.
    The exponential of minus infinity is 0, and NaN stays. For ISA levels below,
    `vectorize` leaves no `hova.exp2`.

    ```mlir
    func.func @exponential(%x: vector<16xf32>) -> vector<16xf32> {
      %y = hova.exp2 %x : vector<16xf32>
      return %y : vector<16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @exponential(%x: vector<16xf32>) -> vector<16xf32> {
      %zero = arith.constant dense<0.0> : vector<16xf32>
      %least = arith.constant dense<-126.0> : vector<16xf32>
      %k0 = arith.constant dense<1.0> : vector<16xf32>
      %k1 = arith.constant dense<0.693146884> : vector<16xf32>
      %k2 = arith.constant dense<0.240222484> : vector<16xf32>
      %k3 = arith.constant dense<0.0555088483> : vector<16xf32>
      %k4 = arith.constant dense<9.671330e-03> : vector<16xf32>
      %k5 = arith.constant dense<0.00132175861> : vector<16xf32>
      %all = arith.constant -1 : i16
      %current = arith.constant 4 : i32
      %nearest = arith.constant 0 : i32
      %r = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%x, %nearest, %x, %all, %current)
          : (vector<16xf32>, i32, vector<16xf32>, i16, i32) -> vector<16xf32>
      %p4 = vector.fma %k5, %r, %k4 : vector<16xf32>
      %p3 = vector.fma %p4, %r, %k3 : vector<16xf32>
      %p2 = vector.fma %p3, %r, %k2 : vector<16xf32>
      %p1 = vector.fma %p2, %r, %k1 : vector<16xf32>
      %p0 = vector.fma %p1, %r, %k0 : vector<16xf32>
      %normal = arith.cmpf uge, %x, %least : vector<16xf32>
      %bits = vector.bitcast %normal : vector<16xi1> to vector<1xi16>
      %mask = vector.extract %bits[0] : i16 from vector<1xi16>
      %n = arith.subf %x, %r : vector<16xf32>
      %y = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%p0, %n, %zero, %mask, %current)
          : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
      return %y : vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
      "::mlir::vector::VectorDialect"];
}

def LowerLookupsPass : Pass<"hova-lower-lookups", "::mlir::func::FuncOp"> {
  let summary = "Make table lookups permutations of a register";
  let description = [{
    Before: `hova_cpu.lookup`. After: `vpermps` of AVX-512, which takes its entries
    from a register or a line of memory, 16 lanes at a time. No ISA level below has
    an instruction for 16 entries, and `vectorize` makes no lookups for it.

    ```mlir
    func.func @half(%i: vector<16xi32>) -> vector<16xf32> {
      %y = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32>
          : vector<16xi32> -> vector<16xf32>
      return %y : vector<16xf32>
    }
    ```
    becomes
    ```mlir
    func.func @half(%i: vector<16xi32>) -> vector<16xf32> {
      %t = arith.constant dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32>
      %y = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%t, %i) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
      return %y : vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
      "::mlir::vector::VectorDialect"];
}

def VerifyLoweredPass : Pass<"hova-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Check the promise of target";
  let description = [{
    Every operation is of the LLVM dialect, and no function calls anything but
    kernels and the runtime's one function: no scalar library function survives.
  }];
}

#endif // HOVA_CODEGEN_CPU_PASSES
