//===- Page.cpp - A model's page for a browser ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/page/Page.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace hova::page {

#pragma clang diagnostic ignored "-Wc23-extensions"

constexpr char kStyle[] = {
#embed "page.css"
    , 0};

// One script: what its parts declare is nobody else's.
constexpr char kScript[] = {
#embed "elements.js"
    ,
#embed "document.js"
    ,
#embed "passes.js"
    ,
#embed "stages.js"
    ,
#embed "selection.js"
    ,
#embed "model.js"
    ,
#embed "colours.js"
    ,
#embed "lineup.js"
    ,
#embed "phases.js"
    ,
#embed "kernels.js"
    ,
#embed "memory.js"
    ,
#embed "maps.js"
    ,
#embed "page.js"
    , 0};

/// The policy's word for a script: that one and no other may run.
static std::string hashOf(StringRef script) {
  return encodeBase64(SHA256::hash(arrayRefFromStringRef(script)));
}

/// One part of the document. `name` is one of hova's own words.
static void printPart(StringRef name, StringRef text, raw_ostream &os) {
  SmallVector<uint8_t> packed;
  compression::zlib::compress(arrayRefFromStringRef(text), packed);
  os << "<script type=\"application/octet-stream\" id=\"part-" << name << "\">"
     << encodeBase64(packed) << "</script>\n";
}

/// Moves the text of `entry` into a part of its own.
static void printText(json::Object &entry, StringRef name, raw_ostream &os) {
  if (std::optional<StringRef> text = entry.getString("text")) {
    printPart(name, *text, os);
    entry.erase("text");
  }
}

void printPage(json::Object document, raw_ostream &os) {
  StringRef script(kScript);
  // The policy is in the page, since a file on a disk has no server to say it.
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
        "'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-"
     << hashOf(script)
     << "'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n"
        "<title>hova</title>\n<style>"
     << kStyle
     << "</style>\n</head>\n<body>\n<noscript>This page needs "
        "JavaScript, and nothing from elsewhere.</noscript>\n";
  for (json::Value &phase : *document.getArray("phases")) {
    json::Object &entry = *phase.getAsObject();
    StringRef name = entry.getString("name").value();
    printText(entry, name, os);
    printPart((name + "-passes").str(),
              formatv("{0}", *entry.get("passes")).str(), os);
    entry.erase("passes");
  }
  printText(*document.getObject("code"), "code", os);
  printPart("document", formatv("{0}", json::Value(std::move(document))).str(),
            os);
  os << "<script>" << script << "</script>\n</body>\n</html>\n";
}

} // namespace hova::page
