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
    /// "F32" and so on.
    std::string dtype;
    bool isFloat = false;
    size_t shard = 0;
  };

  /// Fails with the code `io_error` if the file cannot be read.
  static llvm::Expected<TensorFile> open(const std::string &path);

  /// All tensors, by name.
  const std::map<std::string, Entry> &entries() const { return tensors; }
  const std::string &path() const { return fileName; }
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

  llvm::Error addShard(const std::string &path,
                       const std::map<std::string, std::string> *expected);
  llvm::Error openIndex(const std::string &path);

  std::string fileName;
  std::map<std::string, Entry> tensors;
  std::vector<std::shared_ptr<Shard>> shards;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_WEIGHTS_TENSORFILE_H
