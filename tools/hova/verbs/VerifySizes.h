//===- VerifySizes.h - Sizes of a range, one by one -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_VERBS_VERIFYSIZES_H
#define HOVA_TOOLS_HOVA_VERBS_VERIFYSIZES_H

#include "codegen/reference/Verify.h"
#include "tools/hova/session/CompileSettings.h"

namespace hova::tool {

/// The imported program with storage explicit inside of compound operations;
/// null after a mistake.
mlir::OwningOpRef<mlir::ModuleOp> makePlain(Session &session);

/// What a compiled program is compared with. `plain` is null where storage is
/// f32.
VerifiedProgram referenceOf(Session &session, mlir::ModuleOp plain,
                            CompiledModule &compiled);

/// Runs a program with ranges on the least sizes, and on some between these and
/// the largest. Each run is judged by the evaluation of the description for its
/// sizes alone, by the same policy as every other.
class SizeVerification {
public:
  SizeVerification(Arguments &arguments,
                   const frontend::ModelOptions &modelOptions,
                   const CompileOptions &compileOptions,
                   const VerifyOptions &options)
      : arguments(arguments), modelOptions(modelOptions),
        compileOptions(compileOptions), options(options) {}

  using Report = llvm::function_ref<void(const VerifiedCase &)>;
  /// Adds the cases to the verdict, until one differs.
  llvm::Error run(CompiledProgram &ranged, VerifyResult &verdict,
                  Report report) const;

private:
  using Settings = std::vector<frontend::ParameterOverride>;
  llvm::Error runOn(const Settings &sizes, int64_t index,
                    CompiledProgram &ranged, VerifyResult &verdict,
                    Report report) const;

  Arguments &arguments;
  const frontend::ModelOptions &modelOptions;
  const CompileOptions &compileOptions;
  const VerifyOptions &options;
};

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_VERBS_VERIFYSIZES_H
