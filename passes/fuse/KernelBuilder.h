//===- KernelBuilder.h - A group of operations as a kernel ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_PASSES_FUSE_KERNELBUILDER_H
#define HOVA_PASSES_FUSE_KERNELBUILDER_H

#include "passes/fuse/Grouping.h"

namespace hova {

/// The operation that a kernel of `ops` is named for: the one with most
/// multiply-accumulates, of several the first.
mlir::Operation *namesakeOf(llvm::ArrayRef<mlir::Operation *> ops);

/// Builds the kernel of group `number` at the end of the block and makes all
/// others read its results instead of the group's values. The group's
/// operations stay: they lead the views of later groups to their sources.
void buildKernel(const Grouping &grouping, int number, mlir::Block &block);

} // namespace hova

#endif // HOVA_PASSES_FUSE_KERNELBUILDER_H
