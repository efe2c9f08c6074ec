//===- ModelLibrary.cpp - The description of a type of models -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/ModelLibrary.h"
#include "frontend/reader/Json.h"

#include <algorithm>
#include <filesystem>

namespace hova::frontend {

using reader::Member;
using reader::Node;

/// More files than this are no library.
static constexpr size_t mostFiles = 1000;

ModelLibrary::ModelLibrary(const std::vector<std::string> &folders) {
  for (size_t i = 0; i < folders.size(); ++i) {
    addFolder(folders[i], i);
  }
}

void ModelLibrary::addFolder(const std::string &folder, size_t number) {
  std::error_code code;
  std::vector<std::string> paths;
  std::filesystem::directory_iterator at(folder, code), end;
  if (code) {
    missing.push_back(folder);
    return;
  }
  for (; !code && at != end && paths.size() < mostFiles; at.increment(code)) {
    if (at->path().extension() == ".json") {
      paths.push_back(at->path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths) {
    addFile(path, number);
  }
}

/// A file that is no description says so when it is asked for: here it is for
/// nothing.
void ModelLibrary::addFile(const std::string &path, size_t number) {
  auto source = reader::Source::read(path, reader::Limits().bytes);
  if (!source) {
    return;
  }
  reader::Diagnostics quiet(std::move(source));
  std::unique_ptr<reader::Document> document = reader::parseJson(quiet);
  const Node *sources = document && document->root()->is(Node::Kind::Object)
                            ? document->root()->get("checkpoints")
                            : nullptr;
  if (!sources || !sources->is(Node::Kind::Object)) {
    return;
  }
  for (const Member &source : sources->members) {
    const Node *config = source.value->is(Node::Kind::Object)
                             ? source.value->get("config")
                             : nullptr;
    const Node *types = config && config->is(Node::Kind::Object)
                            ? config->get("model_type")
                            : nullptr;
    for (const Node *type : types ? types->elements : std::vector<Node *>()) {
      if (type->is(Node::Kind::String)) {
        entries.push_back({number, type->text, path});
      }
    }
  }
}

std::vector<std::string> ModelLibrary::find(std::string_view modelType) const {
  std::vector<std::string> paths;
  size_t folder = 0;
  for (const Entry &entry : entries) {
    if (entry.modelType == modelType &&
        (paths.empty() || entry.folder == folder)) {
      folder = entry.folder;
      paths.push_back(entry.path);
    }
  }
  return paths;
}

std::vector<std::string> ModelLibrary::modelTypes() const {
  std::vector<std::string> types;
  for (const Entry &entry : entries) {
    types.push_back(entry.modelType);
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

} // namespace hova::frontend
