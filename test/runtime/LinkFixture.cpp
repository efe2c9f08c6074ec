//===- LinkFixture.cpp - Links the fixture as hova links programs ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// usage: hova-link-fixture OBJECT OUTPUT PREFIX exe|lib WEIGHT_BYTES [IMAGE]
//                          [--runtime=NAME]
//
// With IMAGE the weights go there, else into the program. The first weight is
// 2, the others count up, so that a shifted image is noticed.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/Link.h"
#include "codegen/program/PackedWeights.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace hova;

static llvm::Error writeWeights(llvm::raw_ostream &os, uint64_t bytes) {
  std::vector<float> chunk(1 << 18);
  for (uint64_t begin = 0; begin < bytes; begin += chunk.size() * 4) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      chunk[i] = 2 + static_cast<float>(begin / 4 + i);
    }
    os.write(reinterpret_cast<const char *>(chunk.data()),
             std::min<uint64_t>(bytes - begin, chunk.size() * 4));
  }
  return llvm::Error::success();
}

static llvm::Error link(char **arguments, const char *imagePath,
                        llvm::StringRef runtime) {
  auto object = llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(
      arguments[1], /*IsText=*/false, /*RequiresNullTerminator=*/false));
  if (!object) {
    return object.takeError();
  }
  PackedWeightsInfo info;
  info.id = "0123abcd";
  info.model = "fixture";
  info.weightBytes = std::strtoull(arguments[5], nullptr, 10);
  auto writeImage = [&](llvm::raw_ostream &os) {
    return writePackedWeights(os, info, [&](llvm::raw_ostream &data) {
      return writeWeights(data, info.weightBytes);
    });
  };
  LinkOptions options;
  options.output = arguments[2];
  options.prefix = arguments[3];
  options.runtime = runtime;
  options.sharedLibrary = std::strcmp(arguments[4], "lib") == 0;
  if (options.sharedLibrary) {
    options.header = options.output + ".h";
    options.output += ".so";
  }
  if (imagePath) {
    options.weights = imagePath;
  }
  if (info.weightBytes) {
    options.imageBytes = getPackedWeightsBytes(info);
  }
  return linkProgram((*object)->getBuffer(), options, writeImage);
}

int main(int argc, char **argv) {
  if (argc < 6) {
    llvm::errs() << "expects OBJECT OUTPUT PREFIX exe|lib WEIGHT_BYTES\n";
    return 2;
  }
  llvm::StringRef runtime = argv[argc - 1];
  if (runtime.consume_front("--runtime=")) {
    --argc;
  } else {
    runtime = "";
  }
  if (llvm::Error error = link(argv, argc > 6 ? argv[6] : nullptr, runtime)) {
    llvm::logAllUnhandledErrors(std::move(error), llvm::errs(), "error: ");
    return 1;
  }
  return 0;
}
