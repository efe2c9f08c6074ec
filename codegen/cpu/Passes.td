//===- Passes.td - Passes of the CPU target -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_PASSES
#define HOVA_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def AssignCpuSchedulePass : Pass<"hova-assign-cpu-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose tiles, stages and layouts for a CPU";
  let description = [{
    Before: a fused program. After: every kernel carries its schedule
    (passes/Schedule.h): what threads divide, the register tile, the vector
    length, the smallest share; every operation of a row kernel its stage; every
    weight that a product reads its panels. Nothing else has changed, but that a
    weight read both as a product's operand and otherwise is stored once for
    each. All figures are chosen in this one file.

    ```mlir
    func.func @main(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
      %r = hova.kernel "main" units<batch 1, token 4> (%x) attributes {hova.block = 256 : i64, hova.grain = 4 : i64, hova.k_block = 256 : i64, hova.lanes = 64 : i64, hova.tile = array<i64: 6, 64>} {
      ^bb0(%a: tensor<1x4x8xf32>):
        %t = hova.activation relu %a {hova.stage = 0 : i64} : tensor<1x4x8xf32>
        hova.yield %t : tensor<1x4x8xf32>
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
  ];
  let dependentDialects = ["::hova::HovaDialect"];
}

def AssignRowTablesPass : Pass<"hova-assign-row-tables", "::mlir::ModuleOp"> {
  let summary = "Give every placed value a table of its rows";
  let description = [{
    Before: a fused program whose kernels read inputs and write results by
    placements. After: every such input and result has a table of rows in the
    weight image, which is a further input of the kernel (`hova.input_rows`,
    `hova.result_rows`: the number of the table's argument for each, -1 where
    there is none), and so has every `hova.rearrange` of a kernel. An input
    whose reader needs its rows one after the other, as a product does, is read
    as it is, and a `hova.rearrange` in front of the readers copies its rows.
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
    Every kernel has a complete schedule, and every operation of a row kernel
    but column slices has a stage whose operands come from no later one.
  }];
}

def TileCpuKernelsPass : Pass<"hova-tile-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions with loops for a CPU";
  let description = [{
    Before: kernels with a schedule (`hova.tile`, `hova.lanes` on the kernel,
    `stage` on its operations, `panel` on image weights). After: every kernel is
    a function over buffers, its scratch and a range of units; `main` launches
    them on places in the arena and in the weight image, whose offsets are
    fixed, and the weight program packs what has panels. Kernels that differ
    in their buffers alone share one function. Obeys the schedule and decides
    nothing. The loops are written by the recipes of the operations
    (codegen/cpurecipes/Recipe.td); an operation that begins a stage and has none
    is an error.

    The loops of a linear layer, before `vectorize`:
    ```mlir
    func.func @product(%x: memref<14x768xf32, strided<[784, 1]>>, %w: memref<24x768x32xf32>,
                       %y: memref<14x768xf32, strided<[784, 1]>>, %row: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c24 = arith.constant 24 : index
      %c32 = arith.constant 32 : index
      %depth = arith.constant 768 : index
      scf.for %panel = %c0 to %c24 step %c1 {
        %column = arith.muli %panel, %c32 : index
        %t = hova.tile_product %x[%row, %c0], %w[%panel, %c0, %c0] depth %depth
            : memref<14x768xf32, strided<[784, 1]>>, memref<24x768x32xf32> -> vector<14x32xf32>
        hova.tile_store %t, %y[%row, %column]
            : vector<14x32xf32>, memref<14x768xf32, strided<[784, 1]>>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::hova::HovaDialect", "::mlir::func::FuncDialect",
      "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
      "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect",
      "::mlir::math::MathDialect"];
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
    microseconds of work. Between two kernels of one part nobody waits. The weight
    program is gone: it is not part of the code.
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
    Before: vector code with `hova.pair_dot`, and `arith.truncf` to bf16. After:
    no `hova.pair_dot`, and no conversion that the ISA level would make a library
    call of. With AVX512_BF16 a dot of pairs is `vdpbf16ps`, 16 sums at a time,
    two registers are rounded by one `vcvtne2ps2bf16`, and other conversions
    stay; without it the halves of each pair are shifted and
    masked to f32 for two fused multiply-adds, and rounding is integer
    arithmetic. The first lanes of a vector of 16-bit numbers are stored in
    parts whose sizes are powers of two. Widening bf16 is a shift on every ISA level, and f16 has
    conversions on all of them (F16C).

    ```mlir
    func.func @dot(%a: vector<32xbf16>, %b: vector<32xbf16>, %s: vector<16xf32>) -> vector<16xf32> {
      %y = hova.pair_dot %a, %b, %s : vector<32xbf16>, vector<16xf32>
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
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
      "::mlir::vector::VectorDialect"];
}

def LowerExponentialsPass : Pass<"hova-lower-exponentials", "::mlir::func::FuncOp"> {
  let summary = "Make exponentials reductions and scalings";
  let description = [{
    Before: `hova.exp2` on vectors. After: `vreduceps` and `vscalefps` of
    AVX-512 around a polynomial, 16 lanes at a time, within 2 ULP on [-126, 127],
    or within 2^-13.5 of the exponential where every user rounds it to bf16.
    The exponential of minus infinity is 0, and NaN stays. For ISA levels below,
    `vectorize` leaves no `hova.exp2`.

    ```mlir
    func.func @exponential(%x: vector<16xf32>) -> vector<16xf32> {
      %y = hova.exp2 %x : vector<16xf32>
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
    Before: `hova.lookup`. After: `vpermps` of AVX-512, which takes its entries
    from a register or a line of memory, 16 lanes at a time. No ISA level below has
    an instruction for 16 entries, and `vectorize` makes no lookups for it.

    ```mlir
    func.func @half(%i: vector<16xi32>) -> vector<16xf32> {
      %y = hova.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32>
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
