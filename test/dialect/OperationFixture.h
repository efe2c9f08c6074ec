//===- OperationFixture.h - One operation of each kind ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every structured operation in a function of its own, in shapes whose sizes
// differ, and drawn operands: what it says of itself is compared with its
// evaluation.

#ifndef HOVA_TEST_DIALECT_OPERATIONFIXTURE_H
#define HOVA_TEST_DIALECT_OPERATIONFIXTURE_H

#include "codegen/reference/Evaluator.h"
#include "dialect/Shapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

namespace hova::test {

/// An operation, as text.
struct OperationCase {
  const char *name;
  const char *arguments;
  const char *op; ///< gives %y
  const char *result;
};

inline constexpr OperationCase kOperations[] = {
    {"linear", "%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>",
     "hova.linear %x, %w bias(%b) : tensor<2x3x4xf32>, tensor<4x5xf32>, "
     "tensor<5xf32> -> tensor<2x3x5xf32>",
     "tensor<2x3x5xf32>"},
    {"layer_norm",
     "%x: tensor<2x3x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>",
     "hova.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : "
     "tensor<2x3x4xf32>, tensor<4xf32>",
     "tensor<2x3x4xf32>"},
    {"layer_norm_of_heads", "%x: tensor<2x3x8xf32>, %g: tensor<4xf32>",
     "hova.layer_norm %x, %g kind(rms) {eps = 1.0e-5 : f64, heads = 2 : i64} : "
     "tensor<2x3x8xf32>, tensor<4xf32>",
     "tensor<2x3x8xf32>"},
    {"activation", "%x: tensor<2x3x4xf32>",
     "hova.activation tanh %x : tensor<2x3x4xf32>", "tensor<2x3x4xf32>"},
    {"add_table", "%x: tensor<2x3x4xf32>, %t: tensor<3x4xf32>",
     "hova.add %x, %t : tensor<2x3x4xf32>, tensor<3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"multiply", "%x: tensor<2x3x4xf32>, %t: tensor<2x3x4xf32>",
     "hova.multiply %x, %t : tensor<2x3x4xf32>, tensor<2x3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"multiply_item", "%x: tensor<2x3x4xf32>, %t: tensor<2x1x4xf32>",
     "hova.multiply %x, %t : tensor<2x3x4xf32>, tensor<2x1x4xf32>",
     "tensor<2x3x4xf32>"},
    {"multiply_row_factor", "%x: tensor<2x3x4xf32>, %t: tensor<3x1xf32>",
     "hova.multiply %x, %t : tensor<2x3x4xf32>, tensor<3x1xf32>",
     "tensor<2x3x4xf32>"},
    {"multiply_factor", "%x: tensor<2x3x4xf32>, %t: tensor<1xf32>",
     "hova.multiply %x, %t : tensor<2x3x4xf32>, tensor<1xf32>",
     "tensor<2x3x4xf32>"},
    {"head_logits",
     "%h: tensor<2x3x8xf32>, %s: tensor<2x3x5xf32>, %w: tensor<4x5xf32>, "
     "%v: tensor<5xf32>",
     "hova.head_logits %h, %s, %w, %v {heads = 2 : i64} : "
     "(tensor<2x3x8xf32>, tensor<2x3x5xf32>, tensor<4x5xf32>, tensor<5xf32>) "
     "-> tensor<2x3x2xf32>",
     "tensor<2x3x2xf32>"},
    {"scale_heads", "%h: tensor<2x3x8xf32>, %l: tensor<2x3x2xf32>",
     "hova.scale_heads %h, %l : tensor<2x3x8xf32>, tensor<2x3x2xf32>",
     "tensor<2x3x8xf32>"},
    {"normalize_heads", "%x: tensor<2x3x8xf32>, %g: tensor<2xf32>",
     "hova.normalize_heads %x gain(%g) {heads = 2 : i64, eps = 1.0e-12 : f64} "
     ": tensor<2x3x8xf32>, tensor<2xf32>",
     "tensor<2x3x8xf32>"},
    {"attention",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, "
     "%b: tensor<1x2x3x5xf32>",
     "hova.attention %q, %k, %v captured(%b) {heads = 2 : i64} : "
     "(tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, "
     "tensor<1x2x3x5xf32>) -> tensor<2x3x6xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index, %bias: tensor<1x2x3x5xf32>):\n"
     "  %zero = arith.constant 0 : index\n"
     "  %added = hova.element %bias[%zero, %head, %query, %key] : "
     "tensor<1x2x3x5xf32>\n"
     "  %score = arith.addf %raw, %added : f32\n"
     "  %all = arith.constant true\n"
     "  hova.score_yield %score kept %all\n"
     "}",
     "tensor<2x3x6xf32>"},
    {"additive",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, "
     "%w: tensor<4xf32>",
     "hova.attention %q, %k, %v similarity(#hova.additive) score_vector(%w) "
     "{heads = 2 : i64} : "
     "(tensor<2x3x4xf32>, tensor<2x5x4xf32>, tensor<2x5x6xf32>, "
     "tensor<4xf32>) -> tensor<2x3x6xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index):\n"
     "  %all = arith.constant true\n"
     "  hova.score_yield %raw kept %all\n"
     "}",
     "tensor<2x3x6xf32>"},
    {"linear_attention",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>, "
     "%w: tensor<2x3xf32>",
     "hova.linear_attention softmax %q, %k, %v features(%w) "
     "{heads = 2 : i64, eps = 1.0e-2 : f64} : (tensor<2x3x4xf32>, "
     "tensor<2x5x4xf32>, tensor<2x5x6xf32>, tensor<2x3xf32>) -> "
     "tensor<2x3x6xf32>",
     "tensor<2x3x6xf32>"},
    {"key_summary",
     "%k: tensor<2x5x4xf32>, %v: tensor<2x5x2xf32>, %w: tensor<2x3xf32>",
     "hova.key_summary softmax %k, %v features(%w) {heads = 2 : i64, block = 3 "
     ": i64} : (tensor<2x5x4xf32>, tensor<2x5x2xf32>, tensor<2x3xf32>) -> "
     "tensor<2x2x2x5x2xf32>",
     "tensor<2x2x2x5x2xf32>"},
    {"merge_summaries", "%s: tensor<2x2x3x5x2xf32>",
     "hova.merge_summaries softmax %s : tensor<2x2x3x5x2xf32> -> "
     "tensor<2x2x1x5x2xf32>",
     "tensor<2x2x1x5x2xf32>"},
    {"merge_summaries_plain", "%s: tensor<2x2x3x5x2xf32>",
     "hova.merge_summaries relu %s : tensor<2x2x3x5x2xf32> -> "
     "tensor<2x2x1x5x2xf32>",
     "tensor<2x2x1x5x2xf32>"},
    {"summary_attention",
     "%q: tensor<2x5x4xf32>, %s: tensor<2x2x2x3x2xf32>, %w: tensor<2x3xf32>",
     "hova.summary_attention exp %q, %s features(%w) {heads = 2 : i64, block = "
     "3 : i64} : (tensor<2x5x4xf32>, tensor<2x2x2x3x2xf32>, tensor<2x3xf32>) "
     "-> tensor<2x5x2xf32>",
     "tensor<2x5x2xf32>"},
    {"summary_attention_causal",
     "%q: tensor<1x5x4xf32>, %s: tensor<1x2x2x2x2xf32>, %k: tensor<1x5x4xf32>, "
     "%v: tensor<1x5x2xf32>",
     "hova.summary_attention relu %q, %s key(%k) value(%v) {heads = 2 : i64, "
     "block = 3 : i64, eps = 1.0e-3 : f64} : (tensor<1x5x4xf32>, "
     "tensor<1x2x2x2x2xf32>, tensor<1x5x4xf32>, tensor<1x5x2xf32>) -> "
     "tensor<1x5x2xf32>",
     "tensor<1x5x2xf32>"},
    {"attention_to_blocks",
     "%q: tensor<1x7x4xf32>, %k: tensor<1x7x4xf32>, %v: tensor<1x7x2xf32>, "
     "%b: tensor<2x7x7xf32>",
     "hova.attention %q, %k, %v captured(%b) {heads = 2 : i64, "
     "block = 2 : i64} : (tensor<1x7x4xf32>, tensor<1x7x4xf32>, "
     "tensor<1x7x2xf32>, tensor<2x7x7xf32>) -> tensor<1x7x2xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index, %bias: tensor<2x7x7xf32>):\n"
     "  %added = hova.element %bias[%head, %query, %key] : tensor<2x7x7xf32>\n"
     "  %score = arith.addf %raw, %added : f32\n"
     "  %kept = arith.cmpi sle, %key, %query : index\n"
     "  hova.score_yield %score kept %kept\n"
     "}",
     "tensor<1x7x2xf32>"},
    {"linear_attention_shared",
     "%q: tensor<2x3x4xf32>, %k: tensor<2x5x2xf32>, %v: tensor<2x5x3xf32>, "
     "%w: tensor<2x3xf32>",
     "hova.linear_attention softmax %q, %k, %v features(%w) {heads = 2 : i64, "
     "key_value_heads = 1 : i64, eps = 1.0e-2 : f64} : (tensor<2x3x4xf32>, "
     "tensor<2x5x2xf32>, tensor<2x5x3xf32>, tensor<2x3xf32>) -> "
     "tensor<2x3x6xf32>",
     "tensor<2x3x6xf32>"},
    {"summary_attention_shared",
     "%q: tensor<1x5x4xf32>, %s: tensor<1x1x2x2x2xf32>, %k: tensor<1x5x2xf32>, "
     "%v: tensor<1x5x1xf32>",
     "hova.summary_attention relu %q, %s key(%k) value(%v) {heads = 2 : i64, "
     "block = 3 : i64, eps = 1.0e-3 : f64} : (tensor<1x5x4xf32>, "
     "tensor<1x1x2x2x2xf32>, tensor<1x5x2xf32>, tensor<1x5x1xf32>) -> "
     "tensor<1x5x2xf32>",
     "tensor<1x5x2xf32>"},
    {"attention_to_blocks_shared",
     "%q: tensor<1x7x4xf32>, %k: tensor<1x7x2xf32>, %v: tensor<1x7x1xf32>",
     "hova.attention %q, %k, %v {heads = 2 : i64, block = 2 : "
     "i64, key_value_heads = 1 : i64} : (tensor<1x7x4xf32>, "
     "tensor<1x7x2xf32>, tensor<1x7x1xf32>) -> tensor<1x7x2xf32> scores {\n"
     "^bb0(%raw: f32, %batch: index, %head: index, %query: index, "
     "%key: index):\n"
     "  %all = arith.constant true\n"
     "  hova.score_yield %raw kept %all\n"
     "}",
     "tensor<1x7x2xf32>"},
    {"unfold", "%x: tensor<2x3x4x6xf32>",
     "hova.unfold %x {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : "
     "tensor<2x3x4x6xf32> -> "
     "tensor<2x6x12xf32>",
     "tensor<2x6x12xf32>"},
    {"unfold_padded", "%x: tensor<1x2x3x5xf32>",
     "hova.unfold %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, "
     "padding = array<i64: 1, 1>} : "
     "tensor<1x2x3x5xf32> -> tensor<1x6x18xf32>",
     "tensor<1x6x18xf32>"},
    {"unfold_tokens", "%x: tensor<2x8x3xf32>",
     "hova.unfold %x {kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>, "
     "within = 2 : i64, "
     "grid = array<i64: 2, 4>} : tensor<2x8x3xf32> -> tensor<4x1x12xf32>",
     "tensor<4x1x12xf32>"},
    {"pad", "%x: tensor<2x3x4xf32>",
     "hova.pad %x {axis = 1 : i64, before = 1 : i64} : tensor<2x3x4xf32> -> "
     "tensor<2x6x4xf32>",
     "tensor<2x6x4xf32>"},
    {"reshape", "%x: tensor<2x3x4xf32>",
     "hova.reshape %x : tensor<2x3x4xf32> -> tensor<3x8xf32>",
     "tensor<3x8xf32>"},
    {"repeat", "%x: tensor<3x4xf32>",
     "hova.repeat %x : tensor<3x4xf32> -> tensor<2x3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"repeat_row", "%x: tensor<4xf32>",
     "hova.repeat %x : tensor<4xf32> -> tensor<2x4xf32>", "tensor<2x4xf32>"},
    {"patch_embedding",
     "%x: tensor<2x3x4x6xf32>, %w: tensor<12x5xf32>, %b: tensor<5xf32>",
     "hova.patch_embedding %x, %w bias(%b) {patch = 2 : i64} : "
     "tensor<2x3x4x6xf32>, tensor<12x5xf32>, tensor<5xf32> -> "
     "tensor<2x6x5xf32>",
     "tensor<2x6x5xf32>"},
    {"class_token", "%x: tensor<2x3x4xf32>, %t: tensor<4xf32>",
     "hova.class_token %x, %t : tensor<2x3x4xf32>, tensor<4xf32> -> "
     "tensor<2x4x4xf32>",
     "tensor<2x4x4xf32>"},
    {"pool_first", "%x: tensor<2x3x4xf32>",
     "hova.pool first %x : tensor<2x3x4xf32> -> tensor<2x4xf32>",
     "tensor<2x4xf32>"},
    {"pool_mean", "%x: tensor<2x3x4xf32>",
     "hova.pool mean %x : tensor<2x3x4xf32> -> tensor<2x4xf32>",
     "tensor<2x4xf32>"},
    {"index_sort", "%a: tensor<2x3x4xf32>, %b: tensor<2x3x4xf32>",
     "hova.index_sort %a, %b : tensor<2x3x4xf32> -> tensor<2x6x4xf32>",
     "tensor<2x6x4xf32>"},
    {"layer_pool", "%x: tensor<2x6x4xf32>",
     "hova.layer_pool %x {layers = 2 : i64} : tensor<2x6x4xf32> -> "
     "tensor<2x3x4xf32>",
     "tensor<2x3x4xf32>"},
    {"concat_columns", "%a: tensor<2x3x4xf32>, %b: tensor<2x3x5xf32>",
     "hova.concat %a, %b {axis = 2 : i64} : tensor<2x3x4xf32>, "
     "tensor<2x3x5xf32> -> tensor<2x3x9xf32>",
     "tensor<2x3x9xf32>"},
    {"concat_rows", "%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>",
     "hova.concat %a, %b {axis = 1 : i64} : tensor<2x3x4xf32>, "
     "tensor<2x5x4xf32> -> tensor<2x8x4xf32>",
     "tensor<2x8x4xf32>"},
    {"slice_columns", "%x: tensor<2x3x9xf32>",
     "hova.slice %x {axis = 2 : i64, offset = 4 : i64} : tensor<2x3x9xf32> "
     "-> tensor<2x3x5xf32>",
     "tensor<2x3x5xf32>"},
    {"slice_rows", "%x: tensor<2x8x4xf32>",
     "hova.slice %x {axis = 1 : i64, offset = 3 : i64} : tensor<2x8x4xf32> "
     "-> tensor<2x5x4xf32>",
     "tensor<2x5x4xf32>"},
};

class Operation {
public:
  explicit Operation(const OperationCase &given) {
    context.loadDialect<HovaDialect, mlir::func::FuncDialect>();
    std::string text = std::string("func.func @main(") + given.arguments +
                       ") -> " + given.result + " {\n  %y = " + given.op +
                       "\n  return %y : " + given.result + "\n}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << text;
      return;
    }
    main = module->lookupSymbol<mlir::func::FuncOp>("main");
    op = &main.getBody().front().front();
    std::mt19937 engine(3);
    for (mlir::Value operand : op->getOperands()) {
      HostTensor tensor(HostTensor::Element::F32, shapeOf(operand));
      for (int64_t i = 0; i < tensor.size(); ++i) {
        tensor.mutableAs<float>()[i] = engine() % 2001 / 1000.0f - 1.0f;
      }
      arguments.push_back(tensor);
    }
  }

  HostTensor run() { return Evaluator(nullptr).run(main, arguments)->front(); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  mlir::Operation *op = nullptr;
  std::vector<HostTensor> arguments;
};

} // namespace hova::test

#endif // HOVA_TEST_DIALECT_OPERATIONFIXTURE_H
