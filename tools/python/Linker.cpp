//===- Linker.cpp - lld as a function of the library ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// hova runs its linker as a process (codegen/program/Linker.h), so that what it
// does wrong ends nothing else.

#include "lld/Common/Driver.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

LLD_HAS_DRIVER(elf)

//===----------------------------------------------------------------------===//
// What links object code alone has no need of
//===----------------------------------------------------------------------===//

// lld would bring every pass and target of LLVM, 100 MB of code, to compile
// bitcode when it links. The definitions here are found before those of its
// archives, which stay out. Had a later lld others, the link would fail.

#define HOVA_NO_TARGET(NAME)                                                   \
  extern "C" void LLVMInitialize##NAME##TargetInfo() {}                        \
  extern "C" void LLVMInitialize##NAME##Target() {}                            \
  extern "C" void LLVMInitialize##NAME##TargetMC() {}                          \
  extern "C" void LLVMInitialize##NAME##AsmPrinter() {}                        \
  extern "C" void LLVMInitialize##NAME##AsmParser() {}
#include "NoTargets.def"

namespace lld::elf {
struct Ctx;
class BitcodeFile;
class InputFile {
public:
  virtual ~InputFile();
};

class BitcodeCompiler {
public:
  explicit BitcodeCompiler(Ctx &context);
  ~BitcodeCompiler();
  void add(BitcodeFile &file);
  llvm::SmallVector<std::unique_ptr<InputFile>, 0> compile();
};
BitcodeCompiler::BitcodeCompiler(Ctx &) {}
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile &) {
  llvm::report_fatal_error("the linker of hova takes object code alone");
}
llvm::SmallVector<std::unique_ptr<InputFile>, 0> BitcodeCompiler::compile() {
  return {};
}
} // namespace lld::elf

extern "C" [[gnu::visibility("default")]] int hova_linker_main(int argc,
                                                               char **argv) {
  llvm::ArrayRef<const char *> words(argv, argc);
  bool linked = lld::elf::link(words, llvm::outs(), llvm::errs(),
                               /*exitEarly=*/true, /*disableOutput=*/false);
  return linked ? 0 : 1;
}
