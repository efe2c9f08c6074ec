//===- Flags.h - The command line of a tool of tests ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_CODEGEN_CUDA_EMULATION_FLAGS_H
#define HOVA_TEST_CODEGEN_CUDA_EMULATION_FLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace hova::test {

/// `--NAME=VALUE` of the command line, each read once.
class Flags {
public:
  explicit Flags(llvm::ArrayRef<const char *> arguments) {
    for (llvm::StringRef argument : arguments) {
      auto [name, value] = argument.split('=');
      values[name.drop_front(
          name.take_while([](char c) { return c == '-'; }).size())] = value;
    }
  }
  /// Sets what the command line names.
  void read(llvm::StringRef name, int64_t &value) {
    int64_t given;
    if (auto text = take(name); text && !text->getAsInteger(10, given)) {
      value = given;
    }
  }
  void read(llvm::StringRef name, bool &value) {
    value = take(name).has_value();
  }
  std::optional<llvm::StringRef> take(llvm::StringRef name) {
    auto found = values.find(name);
    if (found == values.end()) {
      return std::nullopt;
    }
    llvm::StringRef value = found->second;
    values.erase(found);
    return value;
  }
  /// A name that nothing has read.
  std::optional<llvm::StringRef> rest() const {
    return values.empty() ? std::nullopt
                          : std::optional(values.begin()->getKey());
  }

private:
  llvm::StringMap<llvm::StringRef> values;
};

} // namespace hova::test

#endif // HOVA_TEST_CODEGEN_CUDA_EMULATION_FLAGS_H
