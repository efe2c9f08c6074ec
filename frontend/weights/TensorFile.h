//===- TensorFile.h - Named tensors of safetensors files ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_WEIGHTS_TENSORFILE_H
#define HOVA_FRONTEND_WEIGHTS_TENSORFILE_H

#include "dialect/HostTensor.h"
#include "frontend/elaborate/Program.h"
#include "llvm/Support/Error.h"

namespace hova::frontend {

/// One safetensors file, or all shards of an index
/// (`model.safetensors.index.json`).
class TensorFile {
public:
  struct Entry {
    Shape shape;
    /// "f32" and so on.
    std::string dtype;
    /// Whether the elements are floating-point or complex numbers, and whether
    /// hova knows what their bits mean.
    bool isFloat = false, isRead = false;
    size_t shard = 0;
    /// Its name in the shard.
    std::string name = {};
    /// Whether `addModule` has brought it.
    bool isOfModule = false;
  };

  /// Fails with the code `io_error` if the file cannot be read. Of a folder the
  /// message says which file in it is meant.
  static llvm::Expected<TensorFile> open(const std::string &path);

  /// Adds the tensors of a module that is saved in a file of its own, each by
  /// `prefix` and its name there. Fails if there is one of that name already.
  llvm::Error addModule(const std::string &prefix, const std::string &path);

  /// The same tensors by what their names have after `prefix`, with which all
  /// of them begin but those of modules, which keep theirs.
  TensorFile below(const std::string &prefix) const;

  /// All tensors, by name.
  const std::map<std::string, Entry> &entries() const { return tensors; }
  const std::string &path() const { return fileName; }
  /// What is left out of the names.
  const std::string &prefix() const { return leftOut; }
  /// The files that hold tensors: not the index.
  std::vector<std::string> files() const;

  /// Fails with the name and the first index of an element of the tensor that
  /// is no finite number of F32.
  llvm::Error checkFinite(const std::string &name) const;

  /// The tensor as F32; floating-point types are converted. It keeps its file
  /// mapped.
  llvm::Expected<HostTensor> load(const std::string &name) const;

private:
  struct Shard;
  struct Tensor;

  /// A tensor that is there.
  Tensor find(const std::string &name) const;

  llvm::Error addShard(const std::string &path,
                       const std::map<std::string, std::string> *expected,
                       const std::string &module = "");
  llvm::Error openIndex(const std::string &path);

  std::string fileName;
  std::string leftOut;
  std::map<std::string, Entry> tensors;
  std::vector<std::shared_ptr<Shard>> shards;
};

/// The index beside `path`, one of several files that hold a checkpoint
/// together; empty where there is none, or the file is none of several.
std::string indexBeside(const std::string &path);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_TENSORFILE_H
