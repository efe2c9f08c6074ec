//===- JsonText.h - JSON that came from elsewhere ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Descriptions have a reader of their own (frontend/reader), with places for
// messages. This one is for what programs write and tools read again.

#ifndef HOVA_CODEGEN_JSONTEXT_H
#define HOVA_CODEGEN_JSONTEXT_H

#include "llvm/Support/JSON.h"

namespace hova {

/// llvm::json::parse for text that anybody may have written: that parser calls
/// itself at every bracket, so nesting has the limit that descriptions have.
llvm::Expected<llvm::json::Value> parseJsonText(llvm::StringRef text);

} // namespace hova

#endif // HOVA_CODEGEN_JSONTEXT_H
