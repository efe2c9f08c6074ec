//===- Targets.h - Everything that reads what others wrote ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One function for each reader of foreign bytes. It takes any input, and
// asserts what must hold of an accepted one; a finding is a crash, a failed
// assertion or a report of a sanitizer. `./dev fuzz TARGET` runs one under
// libFuzzer, and the replay test runs all of them on the seeds.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_FUZZ_TARGETS_H
#define HOVA_TEST_FUZZ_TARGETS_H

#include <string_view>
#include <utility>

namespace hova::fuzz {

/// The tree of a JSON file and its messages.
void readJson(std::string_view input);

/// Expressions, names of values, paths of weights, `--set`.
void readExpression(std::string_view input);

/// A description down to verified IR.
void readDescription(std::string_view input);

/// The rules of a description on a tensor file. The input is text: the
/// description, a line `---`, and the header of a safetensors file, whose
/// length and data are made.
void readCheckpoint(std::string_view input);

/// A safetensors file; one that starts with `{` is a header as above.
void readSafetensors(std::string_view input);

/// The index of a checkpoint in shards.
void readIndex(std::string_view input);

/// An npy file; one that starts with `{` is a header whose magic, length and
/// data are made.
void readNpy(std::string_view input);

/// The JSON in the folder of a model. The input is text: config.json and, after
/// lines `---`, modules.json, the configuration of its pooling, and an index.
void readFolder(std::string_view input);

using Target = void (*)(std::string_view);
constexpr std::pair<const char *, Target> targets[] = {
    {"json", readJson},
    {"expression", readExpression},
    {"description", readDescription},
    {"checkpoint", readCheckpoint},
    {"safetensors", readSafetensors},
    {"index", readIndex},
    {"npy", readNpy},
    {"folder", readFolder},
};

} // namespace hova::fuzz

#endif // HOVA_TEST_FUZZ_TARGETS_H
