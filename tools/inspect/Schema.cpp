//===- Schema.cpp - The JSON Schema of descriptions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Draft-07, for editors, from the table that the checker uses. What a schema
// cannot say (names in scope, shapes) is left to the checker: every description
// that hova accepts is valid here.
//
//===----------------------------------------------------------------------===//

#include "tools/inspect/Summary.h"

#include "frontend/description/ModelSpec.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace hova::inspect {

using namespace frontend;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace {

Value reference(const char *definition) {
  return Object{{"$ref", std::string("#/definitions/") + definition}};
}

/// A literal or an expression.
Value either(const char *type) {
  return Object{{"type", Array{type, "string"}}};
}

Value listOf(Value item, int64_t fewest = 0) {
  Object list{{"type", "array"}, {"items", std::move(item)}};
  if (fewest > 0) {
    list["minItems"] = fewest;
  }
  return list;
}

Value mapOf(Value value) {
  return Object{{"type", "object"}, {"additionalProperties", std::move(value)}};
}

Object closed(Object properties,
              const std::vector<std::string> &required = {}) {
  Object object{{"type", "object"},
                {"properties", std::move(properties)},
                {"additionalProperties", false}};
  if (!required.empty()) {
    object["required"] = Array(required);
  }
  return object;
}

Value attributeSchema(const AttributeInfo &info) {
  std::string text = info.summary;
  if (!info.required) {
    text += " (default: " + info.defaultText + ")";
  }
  Object schema;
  switch (info.kind) {
  case AttributeInfo::Kind::Integer:
  case AttributeInfo::Kind::Number:
    schema["type"] =
        Array{info.kind == AttributeInfo::Kind::Integer ? "integer" : "number",
              "string"};
    if (info.minimum && *info.minimum > -1e9) {
      schema["minimum"] = static_cast<int64_t>(*info.minimum);
    }
    break;
  case AttributeInfo::Kind::Boolean:
    schema["type"] = Array{"boolean", "string"};
    break;
  case AttributeInfo::Kind::Word:
    schema["type"] = "string";
    break;
  case AttributeInfo::Kind::Gate:
    schema["anyOf"] =
        Array{either("boolean"), closed(Object{{"if", either("boolean")},
                                               {"width", either("integer")}})};
    break;
  case AttributeInfo::Kind::Path:
  case AttributeInfo::Kind::Score:
    schema["type"] = "string";
    break;
  case AttributeInfo::Kind::Sides: {
    Object one{{"type", Array{"integer", "string"}},
               {"minimum", static_cast<int64_t>(*info.minimum)}};
    Object two{{"type", "array"},
               {"items", Object(one)},
               {"minItems", 2},
               {"maxItems", 2}};
    schema["anyOf"] = Array{std::move(one), std::move(two)};
    break;
  }
  case AttributeInfo::Kind::Elements:
    schema["type"] = Array{"number", "string"};
    break;
  case AttributeInfo::Kind::Shape:
    schema["type"] = "array";
    schema["items"] = either("integer");
    schema["minItems"] = 1;
    break;
  }
  if (!info.words.empty()) {
    // Editors offer the words; an expression is any other string.
    Object words{{"enum", Array(info.words)}};
    schema = Object{{"anyOf", Array{std::move(words), std::move(schema)}}};
  }
  schema["description"] = std::move(text);
  return schema;
}

Object commonProperties() {
  return Object{
      {"name", reference("name")},
      {"if", Object{{"type", Array{"boolean", "string"}},
                    {"description", "where false the layer is left out"}}},
      {"repeat",
       Object{{"type", Array{"integer", "string"}},
              {"minimum", 0},
              {"description", "applied that many times, each time to the "
                              "result before"}}},
      {"weights",
       Object{{"type", "string"},
              {"description",
               "path of an earlier layer whose weights this one uses too"}}},
      {"trainable", either("boolean")}};
}

Value initializerSchema(const OperatorInfo &info) {
  Object weights;
  for (const std::string &name : info.weights) {
    weights[name] = reference("initializer");
  }
  return closed(std::move(weights));
}

Value operatorSchema(const OperatorInfo &info) {
  Object properties = commonProperties();
  std::vector<std::string> required = {"name", "op"};
  properties["op"] =
      Object{{"const", info.name}, {"description", info.summary}};
  for (const RoleInfo &role : info.roles) {
    Object schema{{"description", role.summary}};
    schema["type"] =
        role.list ? Value(Array{"string", "array"}) : Value("string");
    if (role.list) {
      schema["items"] = Object{{"type", "string"}};
    }
    properties[role.name] = std::move(schema);
    if (role.required) {
      required.push_back(role.name);
    }
  }
  for (const AttributeInfo &attribute : info.attributes) {
    properties[attribute.name] = attributeSchema(attribute);
    if (attribute.required) {
      required.push_back(attribute.name);
    }
  }
  if (!info.weights.empty()) {
    properties["init"] = initializerSchema(info);
  } else {
    properties["init"] = closed(Object{});
  }
  if (info.fusable) {
    properties["require"] =
        Object{{"enum", Array{"fused"}},
               {"description", "compiling fails if an intermediate of this "
                               "passes through memory"}};
  }
  return closed(std::move(properties), required);
}

Value blockUseSchema() {
  Object properties = commonProperties();
  properties["block"] = Object{{"type", "string"}};
  Value value = Object{{"type", Array{"string", "array"}},
                       {"items", Object{{"type", "string"}}}};
  properties["input"] = value;
  properties["inputs"] =
      mapOf(Object{{"anyOf", Array{value, Object{{"type", "null"}}}}});
  properties["arguments"] = mapOf(reference("scalar"));
  return closed(std::move(properties), {"name", "block"});
}

Value layerSchema() {
  Array alternatives{blockUseSchema()};
  for (const OperatorInfo &info : vocabulary()) {
    alternatives.push_back(operatorSchema(info));
  }
  return Object{{"oneOf", std::move(alternatives)}};
}

Value parameterSchema() {
  Value list = listOf(reference("scalar"));
  Value initial = Object{{"anyOf", Array{reference("scalar"), list}}};
  Object object = closed(Object{{"default", std::move(initial)},
                                {"values", listOf(reference("scalar"), 1)},
                                {"min", Object{{"type", "number"}}},
                                {"max", Object{{"type", "number"}}}},
                         {"default"});
  Object size{{"type", "integer"}, {"minimum", 1}};
  Value range = closed(Object{{"min", Object(size)}, {"max", Object(size)}},
                       {"min", "max"});
  return Object{{"anyOf", Array{reference("scalar"), std::move(list),
                                std::move(object), std::move(range)}}};
}

Value inputSchema() {
  return closed(Object{{"if", either("boolean")},
                       {"shape", listOf(either("integer"))},
                       {"dtype", Object{{"enum", Array(frontend::inputTypes)}}},
                       {"range", Object{{"type", "array"},
                                        {"items", either("integer")},
                                        {"minItems", 2},
                                        {"maxItems", 2}}}},
                {"shape"});
}

Value blockSchema() {
  Value nullable =
      Object{{"anyOf", Array{reference("scalar"), Object{{"type", "null"}}}}};
  return closed(Object{{"inputs", listOf(reference("name"), 1)},
                       {"arguments", mapOf(std::move(nullable))},
                       {"layers", listOf(reference("layer"), 1)},
                       {"output", Object{{"type", "string"}}},
                       {"outputs", mapOf(Object{{"type", "string"}})}},
                {"inputs", "layers"});
}

Value stepSchema() {
  Value slice = closed(Object{{"axis", either("integer")},
                              {"start", either("integer")},
                              {"end", either("integer")}});
  Value absorb = closed(Object{{"scale", listOf(either("number"))},
                               {"shift", listOf(either("number"))}},
                        {"scale", "shift"});
  Object named = closed(Object{{"transpose", listOf(either("integer"))},
                               {"reshape", listOf(either("integer"))},
                               {"slice", std::move(slice)},
                               {"concatenate", either("integer")},
                               {"split", either("integer")},
                               {"add", either("number")},
                               {"multiply", either("number")},
                               {"absorb", std::move(absorb)}});
  named["minProperties"] = 1;
  named["maxProperties"] = 1;
  return Object{
      {"anyOf", Array{Object{{"const", "transpose"}}, std::move(named)}}};
}

/// A value, or when it is one.
Value outputSchema() {
  Object conditional =
      closed(Object{{"value", Object{{"type", "string"}}},
                    {"if", either("boolean")},
                    {"dtype", Object{{"enum", Array(frontend::outputTypes)}}}},
             {"value"});
  return Object{
      {"anyOf", Array{Object{{"type", "string"}}, std::move(conditional)}}};
}

/// What the keys of a configuration decide.
Value configSchema() {
  Value literal = Object{{"type", Array{"number", "boolean", "string"}}};
  Value names = listOf(Object{{"type", "string"}});
  Value keys = Object{{"anyOf", Array{literal, names}}};
  Value plain = Object{{"anyOf", Array{literal, listOf(literal)}}};
  Object detailed = closed(Object{{"value", keys},
                                  {"default", std::move(plain)},
                                  {"needed", either("boolean")},
                                  {"null", literal},
                                  {"words", mapOf(literal)}},
                           {"value"});
  Value settings =
      mapOf(Object{{"anyOf", Array{literal, names, std::move(detailed)}}});
  return closed(Object{{"model_type", names},
                       {"architectures", mapOf(settings)},
                       {"set", settings},
                       {"instead_of", mapOf(Object{{"type", "string"}})},
                       {"require", mapOf(Object{{"type", "array"}})},
                       {"aliases", mapOf(Object{{"type", "string"}})},
                       {"ignore", names}},
                {"model_type"});
}

Value checkpointSchema() {
  Value names = Object{{"type", Array{"string", "array"}},
                       {"items", Object{{"type", "string"}}}};
  Value rule = closed(Object{{"to", names},
                             {"from", names},
                             {"apply", listOf(stepSchema())},
                             {"constant", either("number")}},
                      {"to"});
  return closed(Object{{"config", configSchema()},
                       {"set", mapOf(reference("scalar"))},
                       {"ignore", listOf(Object{{"type", "string"}})},
                       {"rules", listOf(std::move(rule))}},
                {"rules"});
}

Value publishedSchema() {
  Value printed = Object{{"type", "string"},
                         {"pattern", PublishedSpec::figurePattern},
                         {"description", "as it is printed: 46.7M"}};
  Value known = closed(
      Object{{"figure", printed},
             {"differs",
              Object{{"type", "string"},
                     {"description", "why another number is expected"}}}},
      {"figure", "differs"});
  Value figure = Object{{"anyOf", Array{std::move(printed), std::move(known)}}};
  Object row = closed(Object{{"row", Object{{"type", "string"}}},
                             {"when", mapOf(reference("scalar"))},
                             {"parameters", figure},
                             {"macs", figure}},
                      {"row"});
  Value counts = closed(Object{
      {"parameters", Object{{"enum", Array(PublishedSpec::parameterWords)}}},
      {"macs", Object{{"enum", Array(PublishedSpec::macWords)}}},
      {"units", Object{{"enum", Array(PublishedSpec::unitWords)}}}});
  return closed(Object{{"source", Object{{"type", "string"}}},
                       {"counts", std::move(counts)},
                       {"rows", listOf(std::move(row))}},
                {"source", "rows"});
}

Value initializer() {
  return closed(
      Object{
          {"kind", Object{{"enum", Array{"normal", "uniform", "glorot", "zeros",
                                         "ones", "constant", "sinusoid"}}}},
          {"first", either("number")},
          {"base", either("number")},
          {"std", either("number")},
          {"bound", either("number")},
          {"value", either("number")}},
      {"kind"});
}

} // namespace

int runSchema(llvm::raw_ostream &out) {
  Object definitions{
      {"name",
       Object{{"type", "string"}, {"pattern", "^[A-Za-z][A-Za-z0-9_]*$"}}},
      {"scalar", Object{{"type", Array{"number", "boolean", "string"}}}},
      {"initializer", initializer()},
      {"layer", layerSchema()}};
  Object schema = closed(Object{{"$schema", Object{{"type", "string"}}},
                                {"hova", Object{{"const", 1}}},
                                {"name", reference("name")},
                                {"metadata", Object{}},
                                {"parameters", mapOf(parameterSchema())},
                                {"inputs", mapOf(inputSchema())},
                                {"blocks", mapOf(blockSchema())},
                                {"layers", listOf(reference("layer"), 1)},
                                {"outputs", mapOf(outputSchema())},
                                {"checkpoints", mapOf(checkpointSchema())},
                                {"published", listOf(publishedSchema())}},
                         {"hova", "name", "inputs", "layers", "outputs"});
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = "hova model description";
  schema["definitions"] = std::move(definitions);
  out << llvm::formatv("{0:2}\n", Value(std::move(schema)));
  return 0;
}

} // namespace hova::inspect
