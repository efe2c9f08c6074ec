//===- Passes.td - The passes of the pipeline itself ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// They belong to no phase: the pipeline puts them around the phases.

#ifndef HOVA_CODEGEN_PASSES
#define HOVA_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def DecomposeProgramPass : Pass<"hova-decompose-program", "::mlir::ModuleOp"> {
  let summary = "Set the code of a program apart from what describes it";
  let description = [{
    Before: a tiled program. After: the module `@code` holds all of it but the
    folding function, and is what the other passes of the phase lower; beside it
    stay the folding function, and `main` with the declarations of its kernels,
    from which the constants are made that describe the program. A module that
    has `@code` stays as it is.

    ```mlir
    func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64} {
      hova.launch @kernel(%x, %y) "a" {flops = 10 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>, memref<9x8xf32>)
      return
    }
    func.func private @kernel(%x: memref<9x8xf32>, %y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
      return
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64} {
      hova.launch @kernel(%x, %y) "a" {flops = 10 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>, memref<9x8xf32>)
      return
    }
    func.func private @kernel(memref<9x8xf32>, memref<9x8xf32>, memref<64xi8>, index, index)
    module @code {
      func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64} {
        hova.launch @kernel(%x, %y) "a" {flops = 10 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>, memref<9x8xf32>)
        return
      }
      func.func private @kernel(%x: memref<9x8xf32>, %y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
        return
      }
    }
    ```
  }];
}

def AssignPhaseNamePass : Pass<"hova-assign-phase-name", "::mlir::ModuleOp"> {
  let summary = "Note on the module which phase it has gone through";
  let description = [{
    Every phase ends with this pass. After: the module's `hova.phase` is the
    phase's name, so that `hova compile` knows where to go on with a dump. An
    imported module has none. Nothing else changes.

    ```mlir
    func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
      %y = hova.activation relu %x : tensor<1x4xf32>
      return %y : tensor<1x4xf32>
    }
    ```
    becomes, with `phase=fuse`,
    ```mlir
    module attributes {hova.phase = "fuse"} {
      func.func @main(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
        %y = hova.activation relu %x : tensor<1x4xf32>
        return %y : tensor<1x4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"phase", "phase", "std::string", "\"\"", "The name of the phase.">,
  ];
}

#endif // HOVA_CODEGEN_PASSES
