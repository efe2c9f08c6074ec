//===- ModelLibrary.h - The description of a type of models ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library is a list of folders with descriptions. Which models one is for
// stands in it: no name of a family is known to the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_MODELLIBRARY_H
#define HOVA_FRONTEND_FOLDER_MODELLIBRARY_H

#include <string>
#include <string_view>
#include <vector>

namespace hova::frontend {

class ModelLibrary {
public:
  /// Reads all descriptions in `folders`, as far as to see what they are for. A
  /// folder in front counts before others.
  explicit ModelLibrary(const std::vector<std::string> &folders);

  /// The files for `modelType` in the first folder that has some, sorted.
  std::vector<std::string> find(std::string_view modelType) const;

  /// All that there is, sorted.
  std::vector<std::string> modelTypes() const;

  /// Folders that cannot be read.
  const std::vector<std::string> &unreadable() const { return missing; }

private:
  struct Entry {
    size_t folder = 0;
    std::string modelType, path;
  };
  void addFolder(const std::string &folder, size_t number);
  void addFile(const std::string &path, size_t number);

  std::vector<Entry> entries;
  std::vector<std::string> missing;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_MODELLIBRARY_H
