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
    func.func @before(%m: memref<2x32xf32>, %i: index) {
      %t = hova.tile_load %m[%i, %i] : memref<2x32xf32> -> vector<2x32xf32>
      %s = arith.addf %t, %t : vector<2x32xf32>
      hova.tile_store %s, %m[%i, %i] : vector<2x32xf32>, memref<2x32xf32>
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
    Before: `hova.activation` and `hova.exp2` on vectors. After: arithmetic
    only, no call to a scalar library function. Errors against float64 are at
    most 2 ULP for exp2 on [-126, 0], 4 for tanh and sigmoid, and 4 ULP of
    max(|x|, 1e-3) for both GELUs. NaN propagates. With `lookups` the GELUs are
    polynomials in pieces whose coefficients `hova.lookup` picks: 18 instructions
    instead of 27 and, for GELU by tanh, a division. Where every user rounds the
    result to bf16 they are 13, within 4e-4 of it down to x = -3.4. With
    `exponentials` `hova.exp2` stays as it is.

    ```mlir
    func.func @before(%x: vector<32xf32>) -> vector<32xf32> {
      %y = hova.activation relu %x : vector<32xf32>
      return %y : vector<32xf32>
    }
    ```
  }];
  let options = [
    Option<"lookups", "lookups", "bool", "false",
           "The target has an instruction that looks up an entry of a table of "
           "16 for every lane (`hova.lookup`).">,
    Option<"exponentials", "exponentials", "bool", "false",
           "The target has instructions for exponentials (`hova.exp2`).">,
  ];
  let dependentDialects = ["::hova::HovaDialect", "::mlir::arith::ArithDialect",
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
