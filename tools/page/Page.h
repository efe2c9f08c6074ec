//===- Page.h - A model's page for a browser --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// One file that needs no server and asks for nothing: the scripts of this
// folder in the order in which they build on one another, the style sheet, and
// the document that `hova view --format=json` prints.
//
// Names in a document are those of whoever wrote the description. A text of the
// document reaches the page compressed, in base64, which has no character that
// HTML knows; and the scripts put texts where they are nothing but text. Should
// they fail to, the page's policy lets no other script run and nothing be
// fetched.

#ifndef HOVA_TOOLS_PAGE_PAGE_H
#define HOVA_TOOLS_PAGE_PAGE_H

#include "llvm/Support/JSON.h"

namespace hova::page {

/// Prints the page of a document. Texts of phases and of the code become parts
/// of their own, which the page unpacks when they are looked at.
void printPage(llvm::json::Object document, llvm::raw_ostream &os);

} // namespace hova::page

#endif // HOVA_TOOLS_PAGE_PAGE_H
