//===- TestModel.h - Descriptions for tests -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_FRONTEND_TESTMODEL_H
#define HOVA_TEST_FRONTEND_TESTMODEL_H

#include "frontend/elaborate/Program.h"

#include <sstream>

namespace hova::test {

/// A description around some layers, the last of which is called `y`. Inputs:
/// `x` f32 [2, 4, 8], `ids` i32 [2, 4], `valid` bool [2, 4], `image` f32 [1, 3,
/// 8, 8], `table` f32 [4, 2].
inline std::string around(const std::string &layers,
                          const std::string &more = "") {
  return R"({"hova": 1, "name": "m",
 "parameters": {"n": 4, "half": 0.5, "on": true, "hidden": "2*n", "zero": 0,
   "kind": {"default": "softmax", "values": ["softmax", "additive"]}},
 "inputs": {"x": {"shape": [2, "n", 8]}, "ids": {"shape": [2, "n"], "dtype": "i32"},
   "valid": {"shape": [2, "n"], "dtype": "bool"}, "image": {"shape": [1, 3, 8, 8]}, "table": {"shape": ["n", 2]}},
)" + more +
         " \"layers\": [\n" + layers + "\n ],\n \"outputs\": {\"out\": \"y\"}}";
}

/// A description read from memory, with what was said about it.
struct Read {
  reader::Diagnostics diagnostics;
  std::unique_ptr<frontend::ModelSpec> spec;
  std::unique_ptr<frontend::Program> program;

  explicit Read(const std::string &text,
                const std::vector<frontend::ParameterOverride> &overrides = {})
      : diagnostics(std::make_shared<reader::Source>("model.json", text)) {
    spec = frontend::readModelSpec(diagnostics);
    if (spec) {
      program = frontend::elaborate(*spec, overrides, diagnostics);
    }
  }

  std::string printed() const {
    std::ostringstream out;
    diagnostics.print(out);
    return out.str();
  }

  /// The operation that makes the value of that path, or null.
  const frontend::ProgramOperation *find(const std::string &path) const {
    for (const frontend::ProgramOperation &op : program->operations) {
      if (op.path == path) {
        return &op;
      }
    }
    return nullptr;
  }

  /// The path of what operation `path` reads as `role`.
  std::string reads(const std::string &path, const std::string &role) const {
    const frontend::ProgramOperation *op = find(path);
    int value = op ? op->operand(role) : -1;
    return value < 0 ? "nothing"
                     : program->values[static_cast<size_t>(value)].path;
  }

  /// The type of the value of that path.
  std::string type(const std::string &path) const {
    const frontend::ProgramOperation *op = find(path);
    return op ? program->values[static_cast<size_t>(op->result)].type.str()
              : "nothing";
  }
};

} // namespace hova::test

#endif // HOVA_TEST_FRONTEND_TESTMODEL_H
