//===- ImageProcessor.h - What images are before a model reads them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A folder of a model of images has a `preprocessor_config.json`: how large an
// image is made, and what becomes of its colours. Programs take images of that
// size; they may take colours as they are, and do the rest by their weights.
// It becomes keys beside those of `config.json`:
//
//   image.side        rows and columns, where those are as many
//   image.factor      what 0 to 255 is multiplied by
//   image.mean        of each channel, which is then subtracted
//   image.deviation   of each channel, by which that is divided
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_FOLDER_IMAGEPROCESSOR_H
#define HOVA_FRONTEND_FOLDER_IMAGEPROCESSOR_H

#include "frontend/folder/Config.h"

#include <functional>

namespace hova::frontend {

class ImageProcessor {
public:
  using Print = std::function<void(const reader::Diagnostics &)>;

  /// Reads the file of `folder`; what is wrong is told to `print`.
  ImageProcessor(const std::string &folder, const Print &print);

  /// Empty: the folder has no such file.
  const std::string &file() const { return path; }
  /// Whether there is nothing wrong.
  bool isRight() const { return path.empty() || isRead; }

  /// Puts the keys beside those of `config`.
  void addTo(Config &config) const;

private:
  bool read(Config &file);
  bool readSide(Config &file);
  bool readColours(Config &file);

  std::string path;
  bool isRead = false;
  std::vector<std::pair<std::string, Scalar>> keys;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_FOLDER_IMAGEPROCESSOR_H
