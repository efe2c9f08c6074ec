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
      %t = hova.group_load %x[%row, %c0]
          : memref<8x128xf32> -> !hova.tile<4x128xf32, row 4x1>
      hova.group_store %t, %y[%row, %c0]
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

#endif // HOVA_CODEGEN_CUDA_PASSES
