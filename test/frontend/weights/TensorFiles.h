//===- TensorFiles.h - Small safetensors files for tests ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_FRONTEND_WEIGHTS_TENSORFILES_H
#define HOVA_TEST_FRONTEND_WEIGHTS_TENSORFILES_H

#include "frontend/elaborate/Program.h"

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <unistd.h>

namespace hova::test {

/// A folder that goes away with its files.
class Folder {
public:
  Folder() {
    char name[] = "/tmp/hova-test-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    for (const std::string &file : files) {
      std::remove(file.c_str());
    }
    rmdir(path.c_str());
  }

  /// Writes a file; returns its path.
  std::string write(const std::string &name, const std::string &content) {
    files.push_back(path + "/" + name);
    std::ofstream(files.back(), std::ios::binary) << content;
    return files.back();
  }

private:
  std::string path;
  std::vector<std::string> files;
};

struct TestTensor {
  frontend::Shape shape;
  /// 0, 1, 2, ... unless given.
  std::vector<float> values = {};
  std::string dtype = "F32";
};

/// The bytes of a safetensors file.
inline std::string
safetensors(const std::map<std::string, TestTensor> &tensors) {
  std::string header = "{", data;
  for (const auto &[name, tensor] : tensors) {
    int64_t count = 1;
    std::string dimensions;
    for (int64_t dimension : tensor.shape) {
      count *= dimension;
      dimensions += (dimensions.empty() ? "" : ",") + std::to_string(dimension);
    }
    std::vector<float> values = tensor.values;
    if (values.empty()) {
      values.resize(static_cast<size_t>(count));
      std::iota(values.begin(), values.end(), 0.0f);
    }
    size_t begin = data.size();
    data.append(reinterpret_cast<const char *>(values.data()),
                values.size() * sizeof(float));
    header += (header.size() > 1 ? "," : "") + ("\"" + name) +
              "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[" +
              dimensions + "],\"data_offsets\":[" + std::to_string(begin) +
              "," + std::to_string(data.size()) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header +
         data;
}

} // namespace hova::test

#endif // HOVA_TEST_FRONTEND_WEIGHTS_TENSORFILES_H
