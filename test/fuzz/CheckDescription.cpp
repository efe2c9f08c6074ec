//===- CheckDescription.cpp - A description read and expanded -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What `hova check FILE` does with a description up to MLIR, whose libraries no
// sanitizer has instrumented: test/fuzz/bombs.py runs it on hostile files. The
// exit status is that of `hova check`.
//
//===----------------------------------------------------------------------===//

#include "frontend/elaborate/Program.h"

#include <iostream>

using namespace hova;

int main(int argc, char **argv) {
  if (argc != 3 || std::string_view(argv[1]) != "check") {
    std::cerr << "usage: check-description check FILE\n";
    return 2;
  }
  auto source = reader::Source::read(argv[2], reader::Limits().bytes);
  if (!source) {
    std::cerr << argv[2] << ": error: cannot read\n";
    return 74;
  }
  reader::Diagnostics diagnostics(std::move(source));
  auto spec = frontend::readModelSpec(diagnostics);
  auto program = spec ? frontend::elaborate(*spec, {}, diagnostics) : nullptr;
  diagnostics.print(std::cerr);
  return program ? 0 : 1;
}
