//===- WeightSection.h - Room for weights in a linked file ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_WEIGHTSECTION_H
#define HOVA_CODEGEN_PROGRAM_WEIGHTSECTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace hova {

constexpr uint64_t kWeightPageBytes = 4096;

/// An object of one section without contents:
///   .hova_weights NOBITS "awl", page-aligned, `bytes` long
///   hova_weights_begin = its start; hova_weights_bytes = a constant `bytes`
std::string makeWeightObject(uint64_t bytes);

/// Whether the tables that the header of an ELF file speaks of are in it: not
/// so if the linker has written nothing, or was cut off.
bool isWholeElf(llvm::ArrayRef<char> file);

/// Turns section and segment of the weights into contents at `offset` of the
/// file, read-only. Fails where the file is not whole, where the section is not
/// there or has not `bytes` bytes, or where no segment holds it alone; then the
/// file is as it was.
llvm::Error placePackedWeights(llvm::MutableArrayRef<char> file,
                               uint64_t offset, uint64_t bytes);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_WEIGHTSECTION_H
