//===- Registration.h - Dialects, passes and pipelines by name --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_TARGETS_REGISTRATION_H
#define HOVA_CODEGEN_TARGETS_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace hova {

/// Registers the dialects that the phases use, for every target.
void registerDialects(mlir::DialectRegistry &registry);
/// Registers all passes and one pipeline per phase (`hova-fuse-phase`).
void registerPipelines();

} // namespace hova

#endif // HOVA_CODEGEN_TARGETS_REGISTRATION_H
