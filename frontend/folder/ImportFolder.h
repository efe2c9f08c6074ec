//===- ImportFolder.h - A description out of a model's folder -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What libraries save as a folder becomes a description with its parameters
// set, and the file of its tensors. `hova compile FOLDER` is `hova import
// FOLDER` and a compilation of what that writes.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_IMPORTFOLDER_H
#define HOVA_FRONTEND_FOLDER_IMPORTFOLDER_H

#include "frontend/elaborate/Program.h"
#include "frontend/folder/KeyReader.h"
#include "frontend/folder/SentenceModules.h"

#include <ostream>

namespace hova::frontend {

struct FolderOptions {
  std::string path;
  /// Where descriptions are, the first folder first.
  std::vector<std::string> models;
  KeyChoices choices;
  /// Of the command line.
  std::vector<ParameterOverride> overrides;
  reader::DiagnosticFormat format = reader::DiagnosticFormat::Text;
  bool color = false;
};

struct ImportedFolder {
  /// The folder.
  std::string path;
  /// The description's file, and its text with the parameters set.
  std::string description, text;
  /// The source whose names the tensors have.
  std::string checkpoint;
  /// The file of the tensors, or the index of several; empty: there is none.
  std::string weights;
  /// Every file that was read, and `weights`.
  std::vector<std::string> files;
  /// Also of a folder without any; null after a mistake before they are read.
  std::shared_ptr<const SentenceModules> modules;
  std::vector<KeyFate> fates;
  /// The keys that decide its parameters.
  DecidingKeys deciding;
};

enum class FolderStatus { Ok, Rejected, Unreadable };

/// Whether `path` is a folder.
bool isModelFolder(const std::string &path);

/// Reads the folder. Mistakes are printed to `errors`; then `folder` has the
/// fates of the keys that were read.
FolderStatus importFolder(const FolderOptions &options, ImportedFolder &folder,
                          std::ostream &errors);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_IMPORTFOLDER_H
