//===- ProgramAttrs.h - What `tile` leaves on `main` for the target -------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_TILE_PROGRAMATTRS_H
#define HOVA_PASSES_TILE_PROGRAMATTRS_H

#include "llvm/ADT/StringRef.h"

namespace hova {

/// Bytes of the arena, of the packed weights, and (absent: none) of the tables
/// that are part of the program.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "hova.arena_bytes";
inline constexpr llvm::StringLiteral kImageBytesAttr = "hova.image_bytes";
inline constexpr llvm::StringLiteral kTableBytesAttr = "hova.table_bytes";
/// The number of inputs; the buffers after them are outputs.
inline constexpr llvm::StringLiteral kInputsAttr = "hova.inputs";
/// Types of inputs and outputs before they became buffers.
inline constexpr llvm::StringLiteral kTypesAttr = "hova.types";
/// Values that are kept between kernels: an array of dictionaries `path`,
/// `kernel` (which writes it), `last` (the last kernel that reads it), `type`,
/// `row_stride`, `offset`.
inline constexpr llvm::StringLiteral kValuesAttr = "hova.values";
/// What the stages of kernels compute: an array of dictionaries `kernel` and
/// `stage` (their numbers), `path`, `flops` (executed) and `bytes` (computed).
inline constexpr llvm::StringLiteral kPartsAttr = "hova.parts";
/// On `hova.arena_buffer` of rows of another value: where that value begins in
/// the arena, and its bytes.
inline constexpr llvm::StringLiteral kWholeAttr = "hova.whole";
/// On what a target gives to kernels besides: what 64-bit words a buffer has
/// where a kernel is called by itself, for all of its units.
inline constexpr llvm::StringLiteral kContentsAttr = "hova.contents";
/// On `hova.store_weight`: the place in the image, or among the tables.
inline constexpr llvm::StringLiteral kOffsetAttr = "hova.offset";
/// The function that makes the packed weights, and after `tile` the one that
/// makes the tables.
inline constexpr llvm::StringLiteral kFoldingFunction = "weights";
inline constexpr llvm::StringLiteral kTableProgram = "tables";

} // namespace hova

#endif // HOVA_PASSES_TILE_PROGRAMATTRS_H
