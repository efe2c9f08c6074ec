//===- TextTargets.cpp - Readers that know nothing of LLVM ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "Targets.h"
#include "frontend/elaborate/Program.h"
#include "frontend/reader/Json.h"
#include "runtime/Npy.h"

#include <cassert>
#include <cmath>
#include <sstream>

namespace hova::fuzz {

using namespace hova::frontend;

namespace {

/// Every value lies inside of the one that holds it, and has a pointer.
void checkTree(const reader::Node &node, reader::Range outer) {
  assert(node.range.begin >= outer.begin && node.range.end <= outer.end &&
         node.range.begin < node.range.end);
  for (size_t i = 0; i < node.elements.size(); ++i) {
    assert(node.elements[i]->parent == &node && node.elements[i]->index == i);
    checkTree(*node.elements[i], node.range);
  }
  for (const reader::Member &member : node.members) {
    assert(member.value->pointer().size() > node.pointer().size());
    checkTree(*member.value, node.range);
  }
}

/// Names that expressions may use.
const Scalar *lookup(std::string_view name) {
  static const Scalar values[] = {
      Scalar::ofInteger(7), Scalar::ofReal(0.5), Scalar::ofBoolean(true),
      Scalar::ofText("kind"), Scalar::ofInteger(INT64_MIN)};
  constexpr std::string_view names = "nxbks";
  size_t at = name.size() == 1 ? names.find(name) : std::string_view::npos;
  return at == std::string_view::npos ? nullptr : &values[at];
}

/// An error in a text points into it.
void checkError(const TextError &error, std::string_view text) {
  assert(error.begin <= error.end && error.end <= text.size() + 1);
  assert(!error.message.empty());
}

} // namespace

void readJson(std::string_view input) {
  reader::Diagnostics diagnostics(
      std::make_shared<reader::Source>("fuzz.json", std::string(input)));
  reader::Limits limits;
  limits.nodes = 10000;
  std::unique_ptr<reader::Document> document =
      reader::parseJson(diagnostics, limits);
  assert(document || diagnostics.hasErrors());
  if (document) {
    checkTree(*document->root(), {0, input.size()});
  }
  for (auto format :
       {reader::DiagnosticFormat::Text, reader::DiagnosticFormat::Json}) {
    std::ostringstream out;
    diagnostics.print(out, format, true);
    assert(diagnostics.hasErrors() == !out.str().empty());
  }
}

void readExpression(std::string_view input) {
  TextError error;
  if (std::optional<Expression> parsed = Expression::parse(input, error)) {
    std::optional<Scalar> value = parsed->evaluate(lookup, error);
    assert(!value || !value->isNumber() || std::isfinite(value->real));
    if (!value) {
      checkError(error, input);
    }
  } else {
    checkError(error, input);
  }
  if (std::optional<Reference> parsed = Reference::parse(input, error)) {
    assert(!parsed->base.empty());
    for (const NameUse &use : parsed->names()) {
      assert(use.begin + use.name.size() <= input.size());
    }
  } else {
    checkError(error, input);
  }
  if (std::optional<PathTemplate> parsed = PathTemplate::parse(input, error)) {
    if (!parsed->evaluate(lookup, error)) {
      checkError(error, input);
    }
  } else {
    checkError(error, input);
  }
  // A parameter takes whatever a command line says, or complains.
  static const std::string text = R"({"hova": 1, "name": "m",
    "parameters": {"n": 1, "x": 0.5, "b": true, "k": {"default": "a", "values": ["a", "b"]}},
    "inputs": {"i": {"shape": [1, 2]}},
    "layers": [{"name": "y", "op": "scale", "input": "i", "by": 1}],
    "outputs": {"o": "y"}})";
  static const std::unique_ptr<ModelSpec> spec = [] {
    reader::Diagnostics quiet(std::make_shared<reader::Source>("m", text));
    return readModelSpec(quiet);
  }();
  if (std::optional<ParameterOverride> given = parseOverride(input)) {
    reader::Diagnostics diagnostics(spec->source);
    std::unique_ptr<Program> program = elaborate(*spec, {*given}, diagnostics);
    assert(!program == diagnostics.hasErrors());
  }
}

void readNpy(std::string_view input) {
  std::string file(input);
  if (input.substr(0, 1) == "{") {
    file = std::string("\x93NUMPY\x01\x00", 8) +
           static_cast<char>(input.size() & 0xff) +
           static_cast<char>(input.size() >> 8 & 0xff) + file +
           std::string(64, 'd');
  }
  hova_npy npy;
  hova_error error = {};
  hova_span span = {reinterpret_cast<const uint8_t *>(file.data()),
                    file.size()};
  if (hova_npy_parse(span, "fuzz.npy", &npy, &error) != HOVA_OK) {
    assert(error.text[0] != '\0');
    return;
  }
  for (uint64_t i = 0; i < npy.count && i < 1000; ++i) {
    volatile double value = hova_element_value(npy.element, npy.data.data, i);
    (void)value;
  }
}

} // namespace hova::fuzz
