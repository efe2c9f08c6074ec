//===- Commands.cpp - Commands of hova in one process ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads commands, a JSON array of words in each line, and runs them as `hova`
// does. After what a command says, on standard output and standard error, is a
// line "exit status N" on standard output.
//
// A driver of NVIDIA starts about three processes a second, however many begin
// at a time, which is longer than a small model takes. Here it starts once: its
// first device is kept between the commands.

#include "runtime/cuda/DriverCalls.h"
#include "tools/hova/verbs/Verbs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include <iostream>

using namespace hova::tool;
using llvm::errs;
using llvm::outs;

/// Keeps the first device's primary context until the process ends.
static bool holdDevice() {
  static hova_driver driver;
  hova_error error = {};
  if (hova_driver_open(&driver, &error) != HOVA_OK) {
    errs() << "error: " << error.text << "\n";
    return false;
  }
  driver_device device;
  driver_context context;
  return !driver.find_device(&device, 0) &&
         !driver.retain_context(&context, device);
}

int main() {
  if (!holdDevice()) {
    errs() << "error: no device starts\n";
    return Internal;
  }
  for (std::string line; std::getline(std::cin, line);) {
    auto words = llvm::json::parse<std::vector<std::string>>(line);
    if (!words) {
      llvm::consumeError(words.takeError());
      errs() << "error: expects an array of words in each line\n";
      return Usage;
    }
    int status = runCommand(llvm::map_to_vector(
        *words, [](const std::string &word) { return word.c_str(); }));
    outs() << "exit status " << status << "\n";
    outs().flush();
  }
  return Ok;
}
