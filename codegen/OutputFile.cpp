//===- OutputFile.cpp - Files that appear whole or not at all -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/OutputFile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Signals.h"

namespace hova {

static llvm::Error makeError(const hova_error &error) {
  return llvm::createStringError(std::errc::io_error, "%s", error.text);
}

llvm::Expected<std::unique_ptr<OutputFile>>
OutputFile::open(llvm::StringRef path, unsigned mode) {
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  hova_error error = {};
  if (hova_place_find(file->path.c_str(), &file->place, &error) != HOVA_OK ||
      hova_place_open(&file->place, mode, &error) != HOVA_OK) {
    return makeError(error);
  }
  if (!file->place.stream) {
    llvm::sys::RemoveFileOnSignal(file->place.temporary);
  }
  return std::move(file);
}

OutputFile::~OutputFile() {
  if (place.descriptor >= 0) {
    hova_place_discard(&place);
  }
  if (!place.stream) {
    llvm::sys::DontRemoveFileOnSignal(place.temporary);
  }
}

/// Bytes of one call, two huge pages. What a file system with large folios gets
/// in one call lies together in physical memory, and stays there for programs
/// that read their weights from it. Where these lie in scattered pages of 4 kB,
/// a program takes up to 4 % longer.
static constexpr size_t kWriteBytes = size_t(4) << 20;

llvm::Error OutputFile::write(WriteFunction write) {
  llvm::raw_fd_ostream os(place.descriptor, /*shouldClose=*/false);
  os.SetBufferSize(kWriteBytes);
  llvm::Error error = write(os);
  os.flush();
  std::error_code code = os.error();
  // The stream ends the process in its destructor otherwise.
  os.clear_error();
  if (code && !error) {
    hova_error failure = {};
    hova_place_fail(&place, code.value(), &failure);
    return makeError(failure);
  }
  return error;
}

llvm::Error keepTogether(llvm::ArrayRef<std::unique_ptr<OutputFile>> files) {
  llvm::SmallVector<hova_place *> places;
  for (const std::unique_ptr<OutputFile> &file : files) {
    places.push_back(&file->place);
  }
  hova_error error = {};
  return hova_places_keep(places.data(), places.size(), &error) == HOVA_OK
             ? llvm::Error::success()
             : makeError(error);
}

llvm::Error writeFileWhole(llvm::StringRef path, unsigned mode,
                           WriteFunction write) {
  auto file = OutputFile::open(path, mode);
  if (!file) {
    return file.takeError();
  }
  if (llvm::Error error = (*file)->write(write)) {
    return error;
  }
  return keepTogether(*file);
}

llvm::Error writeTextWhole(llvm::StringRef path, llvm::StringRef text) {
  return writeFileWhole(path, 0644, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
}

} // namespace hova
