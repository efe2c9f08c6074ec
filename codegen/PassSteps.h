//===- PassSteps.h - What the passes of a phase changed -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A dump shows what a phase left, and a phase has up to thirty passes. Here the
// program is looked at after each of them, and of the functions that a pass
// changed, the text is kept. Functions are compared by a fingerprint first, so
// that those that stayed cost no printing, and a text is kept as what differs
// from the one before (LineEdits.h).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_CODEGEN_PASSSTEPS_H
#define HOVA_CODEGEN_PASSSTEPS_H

#include "codegen/LineEdits.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/PhaseBuilder.h"
#include <map>

namespace hova {

/// How the text of a function after a pass differs from that before it. A
/// function that there was not, or is no more, has no text.
struct FunctionStep {
  std::string function;
  LineEdits edits;
};

struct PassStep {
  std::string pass;
  std::vector<FunctionStep> functions;
};

/// The passes of a phase that changed something, in the order of running.
struct PhaseSteps {
  std::vector<PassStep> passes;
  /// The texts of what they changed before the first of them. Functions that
  /// are not here are too long for their texts to be kept.
  std::map<std::string, std::string> before;
};

/// `passes`, each with its `functions`, and `before`. Of functions, the
/// shortest have texts, as far as they have room.
llvm::json::Object toJson(const PhaseSteps &steps);

class PassSteps {
public:
  /// Extends a pipeline as `extend` does, which may be null, and with a look
  /// after every pass. This outlives the run of the pipeline.
  ExtendPipeline watch(ExtendPipeline extend);

  /// Of a phase that ran.
  const PhaseSteps &of(llvm::StringRef phase) const;

private:
  struct Function {
    mlir::OperationFingerPrint print;
    std::string text;
    /// Of what is kept of it in this phase.
    size_t bytes = 0;
  };
  /// Functions by their names.
  using Functions = std::map<std::string, Function>;

  void begin(llvm::StringRef phase, mlir::ModuleOp module);
  void look(llvm::StringRef pass, mlir::ModuleOp module);
  void change(PassStep &step, const std::string &name, Function &function,
              std::string text);

  Functions known;
  std::map<std::string, PhaseSteps, std::less<>> phases;
  PhaseSteps *current = nullptr;
};

} // namespace hova

#endif // HOVA_CODEGEN_PASSSTEPS_H
