//===- UnitPasses.td - Passes for a matrix unit ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_UNITPASSES
#define HOVA_CODEGEN_CPU_UNITPASSES

include "mlir/Pass/PassBase.td"

def VectorizeBlockProductsPass : Pass<"hova-vectorize-block-products", "::mlir::func::FuncOp"> {
  let summary = "Make block products those of vectors";
  let description = [{
    Before: `hova_cpu.block_product`. After: a loop over the rows of the block, a
    `hova_cpu.tile_product` of one row in each turn, and after it one over what
    would have run meanwhile. For ISA levels without a matrix unit.

    ```mlir
    func.func @product(%a: memref<128x768xbf16>, %b: memref<12x384x64xi32>,
                       %s: memref<64x32xf32>, %r: index, %n: index, %h: index) {
      %c0 = arith.constant 0 : index
      %k = arith.constant 768 : index
      hova_cpu.block_product %s[%c0, %c0], %a[%r, %c0], %b[%c0, %c0, %c0]
          rows %n by %h depth %k columns 32
          : memref<64x32xf32>, memref<128x768xbf16>, memref<12x384x64xi32>
      return
    }
    ```
    becomes
    ```mlir
    func.func @product(%a: memref<128x768xbf16>, %b: memref<12x384x64xi32>,
                       %s: memref<64x32xf32>, %r: index, %n: index, %h: index) {
      %c0 = arith.constant 0 : index
      %k = arith.constant 768 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %row = arith.addi %r, %i : index
        %t = hova_cpu.tile_product %a[%row, %c0], %b[%c0, %c0, %c0] depth %k
            : memref<128x768xbf16>, memref<12x384x64xi32> -> vector<1x32xf32>
        hova_cpu.tile_store %t, %s[%i, %c0] : vector<1x32xf32>, memref<64x32xf32>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LowerBlockProductsPass : Pass<"hova-lower-block-products", "::mlir::func::FuncOp"> {
  let summary = "Make block products instructions of the matrix unit";
  let description = [{
    Before: `hova_cpu.block_product`, without tiles of vectors. After: loops over k
    of the unit: four tiles of sums, which two loads of each operand serve; what
    runs meanwhile stands in these loops, a share in each step. Tiles are as high
    as the value at the function's entry says. Of the left operand, which streams,
    loads say so.

    ```mlir
    func.func @product(%a: memref<32x32xbf16>, %b: memref<16x32xi32>, %s: memref<32x32xf32>) {
      %c0 = arith.constant 0 : index
      %height = arith.constant 16 : index
      %rows = arith.constant 32 : index
      hova_cpu.block_product %s[%c0, %c0], %a[%c0, %c0], %b[%c0, %c0]
          rows %rows by %height depth %rows columns 32
          : memref<32x32xf32>, memref<32x32xbf16>, memref<16x32xi32>
      return
    }
    ```
    becomes
    ```mlir
    func.func @product(%a: memref<32x32xbf16>, %b: memref<16x32xi32>, %s: memref<32x32xf32>) {
      %c2112_i64 = arith.constant 2112 : i64
      %c2048_i64 = arith.constant 2048 : i64
      %c1024_i64 = arith.constant 1024 : i64
      %c16_i16 = arith.constant 16 : i16
      %c64_i64 = arith.constant 64 : i64
      %c128_i64 = arith.constant 128 : i64
      %c64_i16 = arith.constant 64 : i16
      %right = memref.reinterpret_cast %b to offset: [0], sizes: [512], strides: [1] : memref<16x32xi32> to memref<512xi32>
      %left = memref.reinterpret_cast %a to offset: [0], sizes: [1024], strides: [1] : memref<32x32xbf16> to memref<1024xbf16>
      %sums = memref.reinterpret_cast %s to offset: [0], sizes: [1024], strides: [1] : memref<32x32xf32> to memref<1024xf32>
      %intptr = memref.extract_aligned_pointer_as_index %sums : memref<1024xf32> -> index
      %0 = arith.index_cast %intptr : index to i64
      %intptr_2 = memref.extract_aligned_pointer_as_index %left : memref<1024xbf16> -> index
      %1 = arith.index_cast %intptr_2 : index to i64
      %intptr_3 = memref.extract_aligned_pointer_as_index %right : memref<512xi32> -> index
      %2 = arith.index_cast %intptr_3 : index to i64
      %3 = arith.addi %0, %c2048_i64 : i64
      %4 = arith.addi %0, %c64_i64 : i64
      %5 = arith.addi %0, %c2112_i64 : i64
      %6 = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%c16_i16, %c64_i16)
          : (i16, i16) -> !llvm.x86_amx
      %7 = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%c16_i16, %c64_i16)
          : (i16, i16) -> !llvm.x86_amx
      %8 = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%c16_i16, %c64_i16)
          : (i16, i16) -> !llvm.x86_amx
      %9 = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%c16_i16, %c64_i16)
          : (i16, i16) -> !llvm.x86_amx
      %10 = llvm.inttoptr %1 : i64 to !llvm.ptr
      %11 = llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"(%c16_i16, %c64_i16, %10, %c64_i64)
          : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
      %12 = arith.addi %1, %c1024_i64 : i64
      %13 = llvm.inttoptr %12 : i64 to !llvm.ptr
      %14 = llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"(%c16_i16, %c64_i16, %13, %c64_i64)
          : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
      %15 = llvm.inttoptr %2 : i64 to !llvm.ptr
      %16 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%c16_i16, %c64_i16, %15, %c128_i64)
          : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
      %17 = arith.addi %2, %c64_i64 : i64
      %18 = llvm.inttoptr %17 : i64 to !llvm.ptr
      %19 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%c16_i16, %c64_i16, %18, %c128_i64)
          : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
      %20 = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%c16_i16, %c64_i16, %c64_i16, %6, %11, %16)
          : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
      %21 = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%c16_i16, %c64_i16, %c64_i16, %7, %11, %19)
          : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
      %22 = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%c16_i16, %c64_i16, %c64_i16, %8, %14, %16)
          : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
      %23 = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%c16_i16, %c64_i16, %c64_i16, %9, %14, %19)
          : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
      %24 = llvm.inttoptr %0 : i64 to !llvm.ptr
      llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%c16_i16, %c64_i16, %24, %c128_i64, %20)
          : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
      %25 = llvm.inttoptr %4 : i64 to !llvm.ptr
      llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%c16_i16, %c64_i16, %25, %c128_i64, %21)
          : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
      %26 = llvm.inttoptr %3 : i64 to !llvm.ptr
      llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%c16_i16, %c64_i16, %26, %c128_i64, %22)
          : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
      %27 = llvm.inttoptr %5 : i64 to !llvm.ptr
      llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%c16_i16, %c64_i16, %27, %c128_i64, %23)
          : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect",
      "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif // HOVA_CODEGEN_CPU_UNITPASSES
