//===- Disassembly.cpp - What the machine code of kernels does ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads lines such as these, of which a label is a place, and a branch back to
// a label a loop:
//
//     .section .text.kernel_head,"ax",@progbits
//   .L_x_1:
//         /*0a10*/   @!P0 LDSM.16.M88.4 R60, [R3+UR5] ;
//         /*0a20*/        BRA `(.L_x_1) ;
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/link/Disassembly.h"
#include "codegen/cuda/link/Ptxas.h"
#include "codegen/program/Process.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TimeProfiler.h"

using namespace llvm;

namespace hova {

namespace {
/// The instructions of one kernel.
class KernelCode {
public:
  void read(StringRef line);
  std::optional<MainLoop> countMainLoop() const;

private:
  struct Loop {
    size_t begin, end;
  };

  /// Opcodes without their modifiers.
  SmallVector<StringRef, 0> opcodes;
  StringMap<size_t> labels;
  SmallVector<Loop> loops;
};
} // namespace

void KernelCode::read(StringRef line) {
  line = line.trim();
  if (line.starts_with(".L_") && line.ends_with(":")) {
    labels[line.drop_back()] = opcodes.size();
    return;
  }
  auto [address, rest] = line.split("*/");
  if (!address.consume_front("/*") || !all_of(address, isHexDigit)) {
    return;
  }
  StringRef instruction = rest.split(';').first.trim();
  // What is never executed pads loads of shared memory.
  bool isNever = instruction.consume_front("@!PT ");
  if (instruction.starts_with("@")) {
    instruction = instruction.split(' ').second.ltrim();
  }
  StringRef opcode = instruction.take_while([](char c) { return isAlnum(c); });
  if (opcode.empty() || opcode == "NOP" || isNever) {
    return;
  }
  StringRef target = instruction.split("`(").second.split(')').first;
  opcodes.push_back(opcode);
  // One that is not known yet is further on.
  if (auto label = labels.find(target); label != labels.end()) {
    loops.push_back({label->second, opcodes.size()});
  }
}

/// The innermost loop that multiplies: one that copies, if there is such a
/// loop, since turns without copies are the last few.
std::optional<MainLoop> KernelCode::countMainLoop() const {
  std::optional<MainLoop> main;
  size_t shortest = 0;
  for (const Loop &loop : loops) {
    MainLoop mainLoop;
    for (StringRef opcode :
         ArrayRef(opcodes).slice(loop.begin, loop.end - loop.begin)) {
      int64_t &count = opcode == "HMMA"     ? mainLoop.products
                       : opcode == "LDSM"   ? mainLoop.reads
                       : opcode == "LDGSTS" ? mainLoop.copies
                                            : mainLoop.others;
      ++count;
    }
    if (mainLoop.products == 0) {
      continue;
    }
    size_t length = loop.end - loop.begin;
    bool isFirst = !main || (mainLoop.copies && !main->copies);
    bool isAlike = main && (mainLoop.copies != 0) == (main->copies != 0);
    if (isFirst || (isAlike && length < shortest)) {
      shortest = length;
      main = mainLoop;
    }
  }
  return main;
}

StringMap<MainLoop> readMainLoops(StringRef text) {
  StringMap<MainLoop> loops;
  StringRef name;
  KernelCode code;
  auto finish = [&] {
    if (auto loop = code.countMainLoop(); loop && !name.empty()) {
      loops[name] = *loop;
    }
    code = KernelCode();
  };
  for (StringRef line : split(text, '\n')) {
    StringRef words = line.trim();
    // Not .sectioninfo.
    if (!words.consume_front(".section\t")) {
      code.read(line);
      continue;
    }
    finish();
    name = words.consume_front(".text.") ? words.split(',').first : StringRef();
  }
  finish();
  return loops;
}

Expected<StringMap<MainLoop>> countMainLoops(StringRef ptxas, StringRef cubin) {
  TimeTraceScope scope("nvdisasm");
  SmallString<128> beside(sys::path::parent_path(ptxas));
  sys::path::append(beside, "nvdisasm");
  // That of the same release, if there is one.
  std::string disassembler = sys::fs::can_execute(beside)
                                 ? std::string(beside)
                                 : findCudaTool("nvdisasm");
  if (disassembler.empty()) {
    return createStringError("there is no nvdisasm beside ptxas or in PATH");
  }
  MemoryFile file;
  if (Error error = file.write(cubin)) {
    return error;
  }
  Expected<ProgramRun> run =
      runProgram({disassembler, "-c", file.getPath()});
  if (run && !run->failure.empty()) {
    return createStringError(disassembler + ": " + run->failure);
  }
  if (!run) {
    return createStringError(disassembler + ": " + toString(run.takeError()));
  }
  return readMainLoops(run->text);
}

} // namespace hova
