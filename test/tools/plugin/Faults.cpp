//===- Faults.cpp - Operators whose builders are wrong --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One operator for each mistake that whoever writes a builder can make. The
// layer beside it says which.

#include "Faults.h"

using namespace hova::frontend;

/// What a kind of attention says of its scores, over `x`.
static KindScores scoresOf(const std::string &fault, ValueRef x) {
  KindScores scores;
  if (fault == "syntax") {
    scores.keep = "query - key <";
  } else if (fault == "name") {
    scores.keep = "abs(query - ky) < reach";
    scores.numbers["reach"] = Scalar::ofInteger(3);
  } else if (fault == "unread") {
    scores.score = "score + slope[head]";
  } else {
    scores.score = "score + x[batch, query]";
    scores.values["x"] = x;
  }
  return scores;
}

/// What is emitted in front of `x`, a value [2, 9, 16].
static ValueRef emitFault(LayerContext &layer, const std::string &fault,
                          ValueRef x) {
  auto type = [&] { return ValueType(layer.type(x)); };
  if (fault == "mnemonic") {
    return layer.emit("addd", "", {{"lhs", x}, {"rhs", x}}, {}, type());
  }
  if (fault == "read") {
    return layer.read("inputt");
  }
  if (fault == "list") {
    return layer.readList("others").empty() ? ValueRef() : x;
  }
  if (fault == "silent") {
    layer.fail();
    return x;
  }
  if (fault == "role") {
    return layer.emit("add", "", {{"left", x}, {"rhs", x}}, {}, type());
  }
  if (fault == "operand") {
    return layer.emit("add", "", {{"lhs", x}}, {}, type());
  }
  if (fault == "attribute") {
    return layer.emit("scale", "", {{"x", x}}, {{"by", Scalar::ofReal(2)}},
                      type());
  }
  if (fault == "missing") {
    return layer.emit("scale", "", {{"x", x}}, {}, type());
  }
  if (fault == "kind") {
    return layer.emit("scale", "", {{"x", x}},
                      {{"factor", Scalar::ofText("two")}}, type());
  }
  if (fault == "word") {
    return layer.emit("activation", "", {{"x", x}},
                      {{"kind", Scalar::ofText("reluu")}}, type());
  }
  if (fault == "text" || fault == "other") {
    return layer.emit(
        "attention", "", {{"query", x}, {"key", x}, {"value", x}},
        {{"similarity", Scalar::ofText(fault == "text" ? "hova.dots"
                                                       : "hova.transposed"
                                                         "<align 16>")},
         {"heads", Scalar::ofInteger(2)},
         {"empty_row", Scalar::ofText("zero")}},
        type());
  }
  if (llvm::is_contained({"syntax", "name", "unread", "indices"}, fault)) {
    bool isRead =
        layer.readScores({2, 1, 2, 9, 9}, scoresOf(fault, x)).has_value();
    return isRead ? x : poison;
  }
  if (fault == "shape") {
    return layer.emit("linear", "", {{"x", x}, {"weight", x}}, {}, type());
  }
  if (fault == "result") {
    return layer.emit("add", "", {{"lhs", x}, {"rhs", x}}, {},
                      {DType::F32, {2, 9, 8}});
  }
  return layer.emit("rows.nothing", "", {{"x", x}}, {}, type());
}

static mlir::Operation *importNothing(OperationImport &op) {
  op.operand("x");
  return nullptr;
}

void addFaults(OperatorRegistry &registry) {
  OperatorInfo info;
  info.name = "faulty";
  info.summary = "an operator of the tests";
  info.roles = {{"input", true, false, "[2, 9, 16]"}};
  info.attributes = {attributes::word(
      "fault", "",
      {"mnemonic", "read", "list", "silent", "role", "operand", "attribute",
       "missing", "kind", "word", "text", "other", "syntax", "name", "unread",
       "indices", "shape", "result", "nothing"},
      "the mistake")};
  auto build = [](LayerContext &layer) {
    ValueRef x = layer.read("input");
    std::string fault = layer.word("fault", "");
    return layer.hasFailed() ? poison : emitFault(layer, fault, x);
  };
  registry.add({info, build, {{"rows.nothing", importNothing}}});
}
