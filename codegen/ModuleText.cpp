//===- ModuleText.cpp - A module as text, and what it was made from -------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/ModuleText.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace hova {

/// Dumps of models of thousands of layers have tens of megabytes.
static constexpr uint64_t kMostModuleBytes = 1 << 30;

/// Calls `visit` with every field's name and value, in the order of the text.
template <typename Origin, typename Visitor>
static void visitFields(Origin &origin, Visitor visit) {
  visit("checkpoint", origin.checkpoint);
  visit("description", origin.description);
  visit("file", origin.file);
  visit("level", origin.level);
  visit("weights", origin.weights);
}

constexpr llvm::StringLiteral kArguments = "arguments";

void printModule(ModuleOp module, const ModuleOrigin &origin,
                 llvm::raw_ostream &os) {
  OpPrintingFlags flags;
  // Locations are part of the text: what starts from it names the same layers.
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  flags.printNameLocAsPrefix();
  AsmState state(module, flags);
  if (!origin.description.empty()) {
    state.attachResourcePrinter(
        "hova", [&](Operation *, AsmResourceBuilder &builder) {
          builder.buildString(kArguments, llvm::join(origin.arguments, "\n"));
          visitFields(origin, [&](StringRef name, const std::string &value) {
            if (!value.empty()) {
              builder.buildString(name, value);
            }
          });
        });
  }
  module->print(os, state);
  os << "\n";
}

static LogicalResult readField(ModuleOrigin &origin,
                               AsmParsedResourceEntry &entry,
                               RefuseArgument refuse) {
  FailureOr<std::string> value = entry.parseAsString();
  if (failed(value)) {
    return failure();
  }
  if (entry.getKey() == kArguments) {
    for (StringRef word : llvm::split(*value, '\n')) {
      if (std::string why = refuse(word); !why.empty()) {
        return entry.emitError() << why;
      }
      origin.arguments.push_back(word.str());
    }
    return success();
  }
  bool known = false;
  visitFields(origin, [&](StringRef name, std::string &field) {
    if (entry.getKey() == name) {
      field = *value;
      known = true;
    }
  });
  return known ? success()
               : entry.emitError()
                     << "unknown resource '" << entry.getKey() << "' of hova";
}

/// Before anything is read: a device has no end.
static llvm::Error checkSize(StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status)) {
    return llvm::createFileError(path, error);
  }
  auto reject = [&](const llvm::Twine &why) {
    auto code = std::make_error_code(std::errc::invalid_argument);
    return llvm::createFileError(path, llvm::createStringError(code, why));
  };
  bool isFile = status.type() == llvm::sys::fs::file_type::regular_file;
  // Reading a folder fails by itself, in the system's words.
  if (!isFile && status.type() != llvm::sys::fs::file_type::directory_file) {
    return reject("it is no regular file");
  }
  if (isFile && status.getSize() > kMostModuleBytes) {
    return reject("it has " + llvm::Twine(status.getSize()) +
                  " bytes, and the limit of IR is " +
                  llvm::Twine(kMostModuleBytes));
  }
  return llvm::Error::success();
}

llvm::Expected<ReadModule> readModule(StringRef path, MLIRContext &context,
                                      RefuseArgument refuse) {
  if (llvm::Error error = checkSize(path)) {
    return std::move(error);
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return llvm::createFileError(path, buffer.getError());
  }
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  ReadModule result;
  ParserConfig config(&context);
  config.attachResourceParser("hova", [&](AsmParsedResourceEntry &entry) {
    return readField(result.origin, entry, refuse);
  });
  result.module = parseSourceFile<ModuleOp>(sources, config);
  return result;
}

} // namespace hova
