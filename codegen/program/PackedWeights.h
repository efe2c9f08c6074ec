//===- PackedWeights.h - The file of packed weights -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// An image is a header of one page and the weights in the layout of the
// kernels, ready to be mapped. It is a file of its own, or lies inside the
// program; the runtime checks its header before it uses it.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_PROGRAM_PACKEDWEIGHTS_H
#define HOVA_CODEGEN_PROGRAM_PACKEDWEIGHTS_H

#include "codegen/OutputFile.h"

#include <cstdint>
#include <string>

namespace hova {

/// What the header of packed weights says.
struct PackedWeightsInfo {
  std::string id;    ///< `weight_id` of the programs that it fits, < 128 bytes
  std::string model; ///< cut to 127 bytes
  uint64_t weightBytes = 0;
};

/// The size of an image with its header.
uint64_t getPackedWeightsBytes(const PackedWeightsInfo &info);

/// Writes the header, then lets `writeData` write `weightBytes` bytes, then the
/// checksums of both.
llvm::Error writePackedWeights(llvm::raw_ostream &os,
                               const PackedWeightsInfo &info,
                               WriteFunction writeData);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_PACKEDWEIGHTS_H
