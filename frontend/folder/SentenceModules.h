//===- SentenceModules.h - What follows the encoder of a sentence ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A folder of a sentence encoder has a `modules.json`: a list of modules, of
// which the first is the encoder of the folder, and the others make one vector
// of its states. They become keys beside those of `config.json`, which
// descriptions read as they read any other:
//
//   sentence.pooling     "first", "mean", "last", "max" ...
//   sentence.normalize   whether the vector is scaled to unit length
//   sentence.dense       the widths of linear layers between the two, a list
//   sentence.dense_bias, sentence.dense_activation
//                        of each of them whether it has a bias, and a kind of
//                        activation, or "identity"
//
// The tensors of these layers are in files of their own. They are called by
// what stands for a module and their names there:
//
//   sentence.dense.0.linear.weight
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_SENTENCEMODULES_H
#define HOVA_FRONTEND_FOLDER_SENTENCEMODULES_H

#include "frontend/folder/DenseModule.h"

#include <functional>

namespace hova::frontend {

struct PoolingMode;

class SentenceModules {
public:
  using Print = std::function<void(const reader::Diagnostics &)>;

  /// Reads the modules of `folder`, each file once.
  explicit SentenceModules(const std::string &folder);

  /// Whether the folder has modules.
  bool arePresent() const { return isPresent; }
  bool areRead() const { return isRead; }
  /// Tells what is wrong with them.
  void tellMistakes(const Print &print) const;
  /// What was read.
  const std::vector<std::string> &files() const { return paths; }

  /// Puts the keys of the modules beside those of `config`.
  void addTo(Config &config) const;

  /// What the names of tensors of modules begin with.
  static constexpr std::string_view tensorPrefix = "sentence.";
  struct TensorsOfModule {
    std::string prefix, path;
  };
  /// The files of their tensors, each with what its names get.
  std::vector<TensorsOfModule> tensors() const;

private:
  std::shared_ptr<const reader::Source> open(const std::string &path);
  bool readModule(const reader::Node &module, size_t number, Config &list);
  std::optional<Config> openModule(const reader::Node &module, Config &list);
  bool readPooling(const reader::Node &module, Config &list);
  bool readDense(const reader::Node &module, Config &list);
  bool readModes(Config &pooling);
  bool readModeNames(const reader::Node &value, Config &pooling);
  bool addMode(const reader::Node &place, const PoolingMode &mode,
               std::string_view name, Config &pooling);

  const std::string folder;
  std::vector<reader::Diagnostics> mistakes;
  std::vector<std::string> paths;
  bool isPresent = false;
  bool isRead = false;
  /// Empty before the module that says so.
  std::string pooling;
  std::vector<DenseModule> dense;
  /// Where the tensors of each are.
  std::vector<std::string> denseFiles;
  bool normalizes = false;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_SENTENCEMODULES_H
