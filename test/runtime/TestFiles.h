//===- TestFiles.h - Bytes and files for reader tests -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_RUNTIME_TESTFILES_H
#define HOVA_TEST_RUNTIME_TESTFILES_H

#include "runtime/Bytes.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <unistd.h>

namespace hova::test {

/// Little-endian bytes of an integer.
inline std::string bytesOf(uint64_t value, unsigned size) {
  std::string bytes;
  for (unsigned i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  return bytes;
}

/// A copy on the heap of exactly the given size: a sanitizer sees any read
/// beyond it.
class Bytes {
public:
  explicit Bytes(const std::string &contents)
      : data(static_cast<uint8_t *>(std::malloc(contents.size()))),
        size(contents.size()) {
    std::memcpy(data, contents.data(), size);
  }
  ~Bytes() { std::free(data); }
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;

  hova_span getSpan() const { return {data, size}; }

private:
  uint8_t *data;
  uint64_t size;
};

/// A private folder that goes with the test.
class Folder {
public:
  Folder() {
    char name[] = "/tmp/hova-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() {
    std::string command = "rm -rf '" + path + "'";
    if (std::system(command.c_str()) != 0) {
      std::abort();
    }
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string file(const std::string &name) const { return path + "/" + name; }

  std::string write(const std::string &name,
                    const std::string &contents) const {
    std::ofstream(file(name), std::ios::binary) << contents;
    return file(name);
  }

  static std::string read(const std::string &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

private:
  std::string path;
};

} // namespace hova::test

#endif // HOVA_TEST_RUNTIME_TESTFILES_H
