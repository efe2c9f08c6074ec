//===- Passes.td - The passes of vectorize --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/Pass/PassBase.td"

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
    result to bf16 they are 13, within 4e-4 of it down to x = -3.4. With
    `exponentials` `hova.exp2` stays as it is.

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
