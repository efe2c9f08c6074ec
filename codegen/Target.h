//===- Target.h - A kind of machine that programs are compiled for --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A target is a policy and a set of facts. It tells `fuse` which joins pay, and
// it builds the phases whose passes depend on the machine; `normalize` is the
// same for all. The pipeline knows targets by this interface alone, and
// targets/Targets.cpp is the one table of them.

#ifndef HOVA_CODEGEN_TARGET_H
#define HOVA_CODEGEN_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/FuseOptions.h"
#include "passes/PhaseBuilder.h"

namespace hova {

class Target {
public:
  virtual ~Target() = default;

  /// What pays where operations are grouped into kernels.
  virtual FuseOptions getFuseOptions() const = 0;

  /// Adds passes to the phase `fuse` that form kernels of a kind of their own,
  /// or say what policies ask, before rows are fused.
  virtual void addKernelForms(PhaseBuilder &) const {}

  // The builders of the phases that depend on the machine. Each ends with the
  // pass that checks the phase's promise.
  virtual void buildAssignPhase(PhaseBuilder &phase) const = 0;
  virtual void buildTilePhase(PhaseBuilder &phase) const = 0;
  virtual void buildVectorizePhase(PhaseBuilder &phase) const = 0;
  virtual void buildTargetPhase(PhaseBuilder &phase) const = 0;

  /// Whether `code`, which a dump of the phase `target` holds, has what the
  /// description of a program links with. Reports what is missing.
  virtual llvm::LogicalResult checkCode(mlir::ModuleOp code) const = 0;

  /// What a byte that a kernel computes counts beside floating-point
  /// operations, where its time is divided among its stages.
  virtual int64_t getFlopsPerByte() const = 0;
};

} // namespace hova

#endif // HOVA_CODEGEN_TARGET_H
