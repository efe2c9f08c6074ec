//===- Ptxas.cpp - Machine code of kernels --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's assembler, if the machine that compiles has it. Registers and spills
// are read from what `ptxas -v` prints, which NVIDIA documents; the sections of
// machine code that hold them are not documented.

#include "codegen/cuda/link/Ptxas.h"
#include "codegen/program/Process.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/TimeProfiler.h"

using namespace llvm;

namespace hova {

//===----------------------------------------------------------------------===//
// Where it is
//===----------------------------------------------------------------------===//

std::string findCudaTool(StringRef name) {
  auto valueOf = [](StringRef variable) {
    return sys::Process::GetEnv(variable).value_or("");
  };
  SmallVector<std::string> folders;
  std::string path = valueOf("PATH");
  for (StringRef folder : split(path, sys::EnvPathSeparator)) {
    folders.push_back(folder.str());
  }
  for (StringRef toolkit : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string folder = valueOf(toolkit); !folder.empty()) {
      folders.push_back(folder + "/bin");
    }
  }
  folders.push_back("/usr/local/cuda/bin");
  for (StringRef folder : folders) {
    SmallString<128> file(folder);
    sys::path::append(file, name);
    if (sys::path::is_absolute(folder) && sys::fs::can_execute(file)) {
      return std::string(file);
    }
  }
  return "";
}

//===----------------------------------------------------------------------===//
// What it says
//===----------------------------------------------------------------------===//

/// The words of ptxas about its failure: "Unsupported .version 8.0; current
/// version is '7.4'" of a line "ptxas FILE, line 1; fatal   : ...".
static std::string reasonOf(const ProgramRun &answer) {
  for (StringRef line : split(answer.text, '\n')) {
    auto [place, reason] = line.split(" : ");
    place = place.rtrim();
    if (!reason.empty() &&
        (place.ends_with("fatal") || place.ends_with("error"))) {
      return reason.trim().str();
    }
  }
  return answer.failure;
}

/// "13.0.88" of "Cuda compilation tools, release 13.0, V13.0.88".
static Expected<std::string> readVersion(StringRef ptxas) {
  Expected<ProgramRun> answer = runProgram({ptxas.str(), "--version"});
  if (!answer) {
    return answer.takeError();
  }
  StringRef text = answer->text;
  StringRef version = text.split("release ").second.split(", V").second;
  version = version.take_while([](char c) { return isDigit(c) || c == '.'; });
  if (!answer->failure.empty() || version.empty()) {
    return createStringError(
        "its --version does not tell the release of a ptxas");
  }
  return version.str();
}

/// The number before `what` in a line such as "Used 58 registers, used 1
/// barriers, 384 bytes cmem[0]"; 0 where nothing is said of it.
static int64_t numberBefore(StringRef line, StringRef what) {
  size_t end = line.find(what);
  if (end == StringRef::npos) {
    return 0;
  }
  StringRef before = line.take_front(end).rtrim();
  StringRef digits = before.take_back(
      before.size() - (before.find_last_not_of("0123456789") + 1));
  int64_t number = 0;
  digits.getAsInteger(10, number);
  return number;
}

/// Reads lines such as
///   ptxas info    : Compiling entry function 'kernel' for 'sm_80'
///       8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
///   ptxas info    : Used 58 registers, used 1 barriers, 64 bytes smem
static StringMap<MachineCodeUse> readReport(StringRef text) {
  StringMap<MachineCodeUse> kernels;
  MachineCodeUse *kernel = nullptr;
  for (StringRef line : split(text, '\n')) {
    if (line.contains("Compiling entry function '")) {
      kernel = &kernels[line.split('\'').second.split('\'').first];
    } else if (kernel && line.contains("bytes stack frame")) {
      kernel->localBytes = numberBefore(line, " bytes stack frame");
      kernel->spilledBytes = numberBefore(line, " bytes spill stores") +
                             numberBefore(line, " bytes spill loads");
    } else if (kernel && line.contains("Used ")) {
      kernel->registers = numberBefore(line, " registers");
      kernel->sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

static Expected<MachineCode> assemble(StringRef ptxas, StringRef ptx,
                                      const GpuFacts &gpu) {
  Expected<std::string> version = readVersion(ptxas);
  if (!version) {
    return version.takeError();
  }
  MemoryFile source, result;
  if (Error error = joinErrors(source.write(ptx), result.write(""))) {
    return error;
  }
  Expected<ProgramRun> answer =
      runProgram({ptxas.str(), "-v", "-arch=" + gpu.name.str(),
                  source.getPath(), "-o", result.getPath()});
  if (!answer) {
    return answer.takeError();
  }
  MachineCode code{result.read(), "ptxas " + *version,
                   readReport(answer->text)};
  if (!answer->failure.empty()) {
    return createStringError(
        code.assembler + " does not take the kernels: " + reasonOf(*answer));
  }
  if (!StringRef(code.bytes).starts_with("\177ELF")) {
    return createStringError(code.assembler + " left no machine code");
  }
  return code;
}

Expected<MachineCode> assemblePtx(StringRef ptxas, StringRef ptx,
                                  const GpuFacts &gpu) {
  TimeTraceScope scope("ptxas");
  Expected<MachineCode> code = assemble(ptxas, ptx, gpu);
  if (!code) {
    return createStringError(ptxas + ": " + toString(code.takeError()));
  }
  return code;
}

} // namespace hova
