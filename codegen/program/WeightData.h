//===- WeightData.h - The contents of packed weights ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_WEIGHTDATA_H
#define HOVA_CODEGEN_PROGRAM_WEIGHTDATA_H

#include "codegen/program/Compile.h"
#include "llvm/Support/raw_ostream.h"

namespace hova {

/// Digest of the model's weights and of their layout in the image: names,
/// shapes, order and layouts, but no values.
std::string weightDigest(mlir::ModuleOp tiled);

/// Folds the weights of a module after phase `tile` and writes what it
/// stores, in the order of the image and in the types of the stores,
/// `weightBytes` bytes altogether. Weights are in memory one at a time.
///
/// Mistakes in the weights are reported on the store that they reach: numbers
/// that its type cannot hold.
llvm::Error packWeightData(llvm::raw_ostream &data, mlir::ModuleOp tiled,
                           const WeightProvider &weights, uint64_t weightBytes);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_WEIGHTDATA_H
