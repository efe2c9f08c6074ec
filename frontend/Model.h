//===- Model.h - A description with its weights, ready to compile ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What every verb of the driver starts with: read the description, fill in
// parameters, open the weights.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_MODEL_H
#define HOVA_FRONTEND_MODEL_H

#include "frontend/elaborate/Program.h"
#include "frontend/folder/ImportFolder.h"
#include "frontend/weights/Checkpoint.h"
#include "frontend/weights/Weights.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace hova::frontend {

struct ModelOptions {
  std::string path;
  /// The description, where it is not read from `path`.
  std::optional<std::string> text;
  std::vector<ParameterOverride> overrides;
  /// The type of numbers in inputs and outputs of which the description says
  /// none: "bf16", "f16" or "f32". Empty: f32.
  std::string tensors;
  /// The folder that the text was made of; null: there was none.
  std::shared_ptr<const ImportedFolder> folder;
  /// The modules beside the weights; null: they are yet to be read.
  std::shared_ptr<const SentenceModules> modules;
  /// What the command line says of a configuration beside the weights.
  KeyChoices choices;
  /// A safetensors file or index; empty: weights are drawn from `seed`.
  std::string weights;
  /// The checkpoint source to use; empty: the one whose names fit. Without
  /// weights, the source whose parameters the program has.
  std::string checkpoint;
  uint64_t seed = 0;
  /// What they are drawn for.
  Drawing drawing = Drawing::Initialised;
  reader::DiagnosticFormat format = reader::DiagnosticFormat::Text;
  bool color = false;
  bool warningsAreErrors = false;
};

struct Model {
  std::unique_ptr<ModelSpec> spec;
  std::unique_ptr<Program> program;
  /// Null before openWeights.
  std::unique_ptr<WeightSource> weights;
  /// What openWeights has decided, for people: "weights from a.safetensors
  /// (names of timm)".
  std::string note;
  /// The checkpoint source that openWeights has taken; empty: none.
  std::string checkpoint;
  /// What the configuration beside the weights has decided.
  std::vector<ParameterOverride> configured;
  /// The source that the configuration is for; null: there is none.
  const CheckpointSpec *configuredSource = nullptr;

  // What `weights` reads from.
  std::unique_ptr<TensorFile> file;
  std::unique_ptr<CheckpointPlan> plan;
  /// Why tensors of modules that `file` belongs to are not in it; else empty.
  std::string moduleProblem;
};

/// Exit codes of the driver.
enum class ModelStatus {
  Ok = 0,
  Rejected = 1,
  OutOfMemory = 71,
  Unreadable = 74
};

/// Reads, checks and expands the description; weights stay closed. With a
/// weight file, a checkpoint source may set parameters: openWeights expands
/// again. Messages go to `errors`; warnings alone are no failure.
ModelStatus readModel(const ModelOptions &options, Model &model,
                      llvm::raw_ostream &errors);

/// Opens the weights of a model that readModel has read.
ModelStatus openWeights(const ModelOptions &options, Model &model,
                        llvm::raw_ostream &errors);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_MODEL_H
