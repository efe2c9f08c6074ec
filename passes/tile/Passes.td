//===- Passes.td - The passes of tile -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/Pass/PassBase.td"

def VerifyTiledPass : Pass<"hova-verify-tiled", "::mlir::ModuleOp"> {
  let summary = "Check the promise of tile";
  let description = [{
    No tensor is left outside the folding function, `main` holds buffers and
    launches only, and every buffer lies inside the arena or the image.
  }];
}
