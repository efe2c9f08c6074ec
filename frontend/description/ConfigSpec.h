//===- ConfigSpec.h - What a configuration decides of a model -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Libraries save a model as a folder: tensors, and a `config.json` whose keys
// say what no tensor shows, such as how many heads there are. A checkpoint
// source says which configurations it is for, and what their keys decide.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_CONFIGSPEC_H
#define HOVA_FRONTEND_DESCRIPTION_CONFIGSPEC_H

#include "frontend/expression/Expression.h"
#include "frontend/reader/Json.h"

namespace hova::frontend {

/// The value of one parameter, by keys.
struct ConfigSetting {
  std::string parameter;
  const reader::Node *node = nullptr;
  /// The first of which a configuration has all keys counts. Without any, the
  /// value is `otherwise`.
  std::vector<Expression> values;
  /// What the value is where a configuration lacks a key of each expression:
  /// what the library takes then.
  std::optional<Scalar> otherwise;
  /// Of parameters before this one: where it holds, there is no such value.
  std::optional<Expression> needed;
  /// What it is where a key that the expression reads is null.
  std::optional<Scalar> ofNull;
  /// What words of the library, or other values as they are printed, mean for
  /// the parameter; none: the value is the parameter's.
  std::vector<std::pair<std::string, Scalar>> words;

  /// The keys of all expressions, in their order.
  std::vector<std::string> keys() const;
};

struct ConfigRequirement {
  /// With dots between a key and those of the object that it is.
  std::string key;
  /// An array of what the key may be.
  const reader::Node *values = nullptr;
};

struct ConfigSpec {
  const reader::Node *node = nullptr;
  std::vector<std::string> modelTypes;
  /// By the class that was saved, what it decides beside `set`. None: any.
  std::vector<std::pair<std::string, std::vector<ConfigSetting>>> architectures;
  std::vector<ConfigSetting> set;
  /// Objects, and those whose place they take where a configuration has them.
  std::vector<std::pair<std::string, std::string>> insteadOf;
  std::vector<ConfigRequirement> require;
  /// Other names of keys, each with the key that it stands for.
  std::vector<std::pair<std::string, std::string>> aliases;
  /// Keys that change no number, with `*`.
  std::vector<std::string> ignore;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_CONFIGSPEC_H
