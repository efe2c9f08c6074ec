//===- Passes.td - The passes of tile -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/Pass/PassBase.td"

def TileKernelsPass : Pass<"hova-tile-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions with loops over buffers";
  let description = [{
    Before: kernels with a schedule (`hova.tile`, `hova.lanes` on the kernel,
    `stage` on its operations, `panel` on image weights). After: every kernel is
    a function over buffers, its scratch and a range of units; `main` launches
    them on places in the arena and in the weight image, whose offsets are
    fixed, and the weight program packs what has panels. Kernels that differ
    in their buffers alone share one function. Obeys the schedule and decides
    nothing.

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

def VerifyTiledPass : Pass<"hova-verify-tiled", "::mlir::ModuleOp"> {
  let summary = "Check the promise of tile";
  let description = [{
    No tensor is left outside the weight program, `main` holds buffers and
    launches only, and every buffer lies inside the arena or the image.
  }];
}
