//===- Import.cpp - From Program to IR ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One operation of the program is one operation of the dialect; a weight is
// referenced where it is first used.
//
//===----------------------------------------------------------------------===//

#include "frontend/Import.h"

#include "dialect/AttentionOps.h"
#include "dialect/DenseOps.h"
#include "dialect/HovaDialect.h"
#include "dialect/LinearAttentionOps.h"
#include "dialect/PlacementOps.h"
#include "dialect/ProgramOps.h"
#include "dialect/TokenOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace hova::frontend {

namespace {

class Importer {
public:
  Importer(const Program &program, MLIRContext &context)
      : program(program), builder(&context) {}

  ImportedProgram run();

private:
  using Build = Operation *(Importer::*)(const ProgramOperation &, Location);

  Location locate(const std::string &path, reader::Range range);
  RankedTensorType convert(const ValueType &type);
  void setUpFunction(ModuleOp module);
  Value weight(const ProgramWeight &weight);

  /// The operand called `role`; null if there is none.
  Value operand(const ProgramOperation &op, StringRef role);
  SmallVector<Value> operands(const ProgramOperation &op, StringRef role);
  RankedTensorType result(const ProgramOperation &op) {
    return convert(program.values[op.result].type);
  }
  int64_t integer(const ProgramOperation &op, const char *name) {
    return op.attributes.at(name).integer;
  }
  FloatAttr real(const ProgramOperation &op, const char *name) {
    return builder.getF64FloatAttr(op.attributes.at(name).real);
  }
  StringRef word(const ProgramOperation &op, const char *name) {
    return op.attributes.at(name).text;
  }

  Operation *build(const ProgramOperation &op, Location loc);
  Operation *buildDense(const ProgramOperation &op, Location loc);
  Operation *buildTokens(const ProgramOperation &op, Location loc);
  WindowAttr window(const ProgramOperation &op);
  Operation *buildPlacement(const ProgramOperation &op, Location loc);
  Operation *buildAttention(const ProgramOperation &op, Location loc);
  Operation *buildLinearAttention(const ProgramOperation &op, Location loc);
  Operation *buildReweighting(const ProgramOperation &op, Location loc);
  Operation *buildOmni(const ProgramOperation &op, Location loc);

  const Program &program;
  OpBuilder builder;
  std::vector<Value> values;
  /// Index into Program::weights, or -1, of each value.
  std::vector<int> weightOf;
};

Location Importer::locate(const std::string &path, reader::Range range) {
  reader::Position place = program.source->position(range.begin);
  // Without folders: the same file gives the same IR wherever it lies.
  StringRef file = StringRef(program.source->name());
  file = file.substr(file.find_last_of('/') + 1);
  Location inner = FileLineColLoc::get(builder.getContext(), file,
                                       static_cast<unsigned>(place.line),
                                       static_cast<unsigned>(place.column));
  return NameLoc::get(builder.getStringAttr(path), inner);
}

RankedTensorType Importer::convert(const ValueType &type) {
  Type element = builder.getF32Type();
  switch (type.dtype) {
  case DType::F32:
    break;
  case DType::I32:
    element = builder.getI32Type();
    break;
  case DType::I64:
    element = builder.getI64Type();
    break;
  case DType::Bool:
    element = builder.getI1Type();
    break;
  }
  return RankedTensorType::get(type.shape, element);
}

void Importer::setUpFunction(ModuleOp module) {
  SmallVector<Type> arguments, results;
  for (const ProgramInput &input : program.inputs) {
    arguments.push_back(convert(program.values[input.value].type));
  }
  for (const ProgramOutput &output : program.outputs) {
    results.push_back(convert(program.values[output.value].type));
  }
  builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(builder, module.getLoc(), "main",
                           builder.getFunctionType(arguments, results));
  Block *body = function.addEntryBlock();
  // All at once: the attributes of one argument are a list of those of all.
  SmallVector<Attribute> named;
  for (auto [i, input] : llvm::enumerate(program.inputs)) {
    NamedAttrList attributes;
    attributes.set("hova.name", builder.getStringAttr(input.name));
    if (input.range) {
      attributes.set("hova.range", builder.getDenseI64ArrayAttr(*input.range));
    }
    named.push_back(attributes.getDictionary(builder.getContext()));
    values[input.value] = body->getArgument(i);
    body->getArgument(i).setLoc(
        locate(input.name, program.values[input.value].range));
  }
  function.setArgAttrsAttr(builder.getArrayAttr(named));
  named.clear();
  for (const ProgramOutput &output : program.outputs) {
    named.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("hova.name", builder.getStringAttr(output.name))));
  }
  function.setResAttrsAttr(builder.getArrayAttr(named));
  builder.setInsertionPointToEnd(body);
}

Value Importer::weight(const ProgramWeight &weight) {
  const ProgramValue &value = program.values[weight.value];
  return WeightOp::create(builder, locate(weight.name, value.range),
                          convert(value.type), weight.name,
                          weight.initializer.str(), weight.trainable);
}

Value Importer::operand(const ProgramOperation &op, StringRef role) {
  int number = op.operand(std::string_view(role.data(), role.size()));
  if (number < 0) {
    return Value();
  }
  if (!values[number] && weightOf[number] >= 0) {
    values[number] = weight(program.weights[weightOf[number]]);
  }
  return values[number];
}

SmallVector<Value> Importer::operands(const ProgramOperation &op,
                                      StringRef role) {
  SmallVector<Value> list;
  for (const auto &[name, number] : op.operands) {
    if (name != role) {
      continue;
    }
    if (!values[number] && weightOf[number] >= 0) {
      values[number] = weight(program.weights[weightOf[number]]);
    }
    list.push_back(values[number]);
  }
  return list;
}

Operation *Importer::buildDense(const ProgramOperation &op, Location loc) {
  if (op.mnemonic == "linear") {
    Value x = operand(op, "x"), weight = operand(op, "weight"),
          bias = operand(op, "bias");
    auto transposed = op.attributes.find("transposed");
    return LinearOp::create(builder, loc, result(op), x, weight, bias,
                            transposed != op.attributes.end() &&
                                transposed->second.boolean);
  }
  if (op.mnemonic == "layer_norm") {
    Value x = operand(op, "x"), gain = operand(op, "gain"),
          bias = operand(op, "bias");
    return LayerNormOp::create(builder, loc, result(op), x, gain, bias,
                               real(op, "eps"));
  }
  if (op.mnemonic == "activation") {
    return ActivationOp::create(builder, loc, result(op),
                                *symbolizeActivationKind(word(op, "kind")),
                                operand(op, "x"));
  }
  if (op.mnemonic == "scale") {
    return ScaleOp::create(builder, loc, result(op), operand(op, "x"),
                           real(op, "factor"));
  }
  Value lhs = operand(op, "lhs"), rhs = operand(op, "rhs");
  if (op.mnemonic == "add") {
    return AddOp::create(builder, loc, lhs, rhs);
  }
  return op.mnemonic == "multiply"
             ? MultiplyOp::create(builder, loc, lhs, rhs).getOperation()
             : nullptr;
}

Operation *Importer::buildTokens(const ProgramOperation &op, Location loc) {
  if (op.mnemonic == "embedding") {
    Value ids = operand(op, "ids"), table = operand(op, "table");
    return EmbeddingOp::create(builder, loc, result(op), ids, table);
  }
  if (op.mnemonic == "sinusoid") {
    return SinusoidOp::create(builder, loc, result(op),
                              *symbolizeSinusoidLayout(word(op, "layout")));
  }
  if (op.mnemonic == "patch_embedding") {
    Value image = operand(op, "image"), weight = operand(op, "weight"),
          bias = operand(op, "bias");
    return PatchEmbeddingOp::create(builder, loc, result(op), image, weight,
                                    bias, integer(op, "patch"));
  }
  if (op.mnemonic == "class_token") {
    Value x = operand(op, "x"), token = operand(op, "token");
    return ClassTokenOp::create(builder, loc, result(op), x, token);
  }
  if (op.mnemonic == "pool") {
    return PoolOp::create(builder, loc, result(op),
                          *symbolizePoolKind(word(op, "kind")),
                          operand(op, "x"));
  }
  if (op.mnemonic == "padding_mask") {
    return PaddingMaskOp::create(builder, loc, result(op), operand(op, "ids"),
                                 integer(op, "pad"));
  }
  if (op.mnemonic == "concat") {
    return ConcatOp::create(builder, loc, result(op), operands(op, "inputs"),
                            integer(op, "axis"));
  }
  return op.mnemonic == "slice"
             ? SliceOp::create(builder, loc, result(op), operand(op, "x"),
                               integer(op, "axis"), integer(op, "offset"))
                   .getOperation()
             : nullptr;
}

WindowAttr Importer::window(const ProgramOperation &op) {
  return WindowAttr::get(builder.getContext(), integer(op, "window_height"),
                         integer(op, "window_width"),
                         integer(op, "shift_height"),
                         integer(op, "shift_width"), integer(op, "grid_height"),
                         integer(op, "grid_width"));
}

Operation *Importer::buildPlacement(const ProgramOperation &op, Location loc) {
  if (op.mnemonic == "partition_windows" || op.mnemonic == "reverse_windows") {
    PlacementAttrInterface placement = window(op);
    if (op.mnemonic == "reverse_windows") {
      placement = inverseOf(placement);
    }
    return RearrangeOp::create(builder, loc, result(op), operand(op, "x"),
                               placement, Value());
  }
  if (op.mnemonic == "merge_patches") {
    auto merge =
        MergeAttr::get(builder.getContext(), 2, 2, integer(op, "grid_height"),
                       integer(op, "grid_width"));
    return RearrangeOp::create(builder, loc, result(op), operand(op, "x"),
                               merge, Value());
  }
  if (op.mnemonic == "window_bias") {
    return WindowBiasOp::create(builder, loc, result(op), window(op),
                                operand(op, "table"), real(op, "mask_value"));
  }
  return op.mnemonic == "window_classes"
             ? WindowClassesOp::create(builder, loc, result(op), window(op))
                   .getOperation()
             : nullptr;
}

Operation *Importer::buildAttention(const ProgramOperation &op, Location loc) {
  if (op.mnemonic == "block_diagonal") {
    return BlockDiagonalOp::create(builder, loc, result(op),
                                   operand(op, "blocks"));
  }
  if (op.mnemonic != "attention") {
    return nullptr;
  }
  Value query = operand(op, "query"), key = operand(op, "key"),
        value = operand(op, "value"), scoreVector = operand(op, "score_vector"),
        scoreBias = operand(op, "score_bias"),
        biasIndex = operand(op, "bias_index"), mask = operand(op, "mask"),
        keyValid = operand(op, "key_valid");
  IntegerAttr causal;
  if (op.attributes.count("causal")) {
    causal = builder.getI64IntegerAttr(integer(op, "causal"));
  }
  auto kind = AttentionKindAttr::get(builder.getContext(),
                                     *symbolizeAttentionKind(word(op, "kind")));
  auto emptyRow = EmptyRowAttr::get(builder.getContext(),
                                    *symbolizeEmptyRow(word(op, "empty_row")));
  return AttentionOp::create(builder, loc, result(op), kind, query, key, value,
                             scoreVector, scoreBias, biasIndex, mask, keyValid,
                             builder.getI64IntegerAttr(integer(op, "heads")),
                             real(op, "scale"), causal, emptyRow);
}

Operation *Importer::buildLinearAttention(const ProgramOperation &op,
                                          Location loc) {
  if (op.mnemonic == "transpose") {
    return TransposeOp::create(builder, loc, result(op), operand(op, "x"));
  }
  if (op.mnemonic != "linear_attention") {
    return nullptr;
  }
  Value query = operand(op, "query"), key = operand(op, "key"),
        value = operand(op, "value"), features = operand(op, "features"),
        keyValid = operand(op, "key_valid");
  auto map = FeatureMapAttr::get(builder.getContext(),
                                 *symbolizeFeatureMap(word(op, "map")));
  UnitAttr causal;
  if (op.attributes.at("causal").boolean) {
    causal = builder.getUnitAttr();
  }
  return LinearAttentionOp::create(
      builder, loc, result(op), map, query, key, value, features, keyValid,
      builder.getI64IntegerAttr(integer(op, "heads")), causal,
      real(op, "scale"), real(op, "eps"), real(op, "stabilizer"),
      real(op, "denominator_eps"));
}

Operation *Importer::buildReweighting(const ProgramOperation &op,
                                      Location loc) {
  if (op.mnemonic == "head_reweight") {
    Value headsIn = operand(op, "heads_in"), x = operand(op, "x"),
          head = operand(op, "head_weight"),
          input = operand(op, "input_weight"),
          score = operand(op, "score_weight"), bias = operand(op, "score_bias");
    return HeadReweightOp::create(builder, loc, result(op), headsIn, x, head,
                                  input, score, bias, integer(op, "heads"));
  }
  if (op.mnemonic == "channel_gate") {
    Value y = operand(op, "y"), x = operand(op, "x"),
          input = operand(op, "input_weight"),
          output = operand(op, "output_weight"),
          gate = operand(op, "gate_weight"), bias = operand(op, "gate_bias");
    return ChannelGateOp::create(builder, loc, result(op), y, x, input, output,
                                 gate, bias);
  }
  return nullptr;
}

Operation *Importer::buildOmni(const ProgramOperation &op, Location loc) {
  if (op.mnemonic != "omni_attention") {
    return nullptr;
  }
  SmallVector<Value> states = operands(op, "states"),
                     weights = operands(op, "weights");
  MLIRContext *context = builder.getContext();
  auto activation = ActivationKindAttr::get(
      context, *symbolizeActivationKind(word(op, "activation")));
  auto pool = OmniPoolAttr::get(context, *symbolizeOmniPool(word(op, "pool")));
  auto causal =
      OmniCausalAttr::get(context, *symbolizeOmniCausal(word(op, "causal")));
  auto norm = NormPlacementAttr::get(context,
                                     *symbolizeNormPlacement(word(op, "norm")));
  UnitAttr bias;
  if (op.attributes.at("attention_bias").boolean) {
    bias = builder.getUnitAttr();
  }
  return OmniAttentionOp::create(
      builder, loc, result(op), states, weights,
      builder.getI64IntegerAttr(integer(op, "heads")), activation, pool, causal,
      norm, real(op, "eps"), bias);
}

Operation *Importer::build(const ProgramOperation &op, Location loc) {
  constexpr Build families[] = {&Importer::buildDense,
                                &Importer::buildTokens,
                                &Importer::buildPlacement,
                                &Importer::buildAttention,
                                &Importer::buildLinearAttention,
                                &Importer::buildReweighting,
                                &Importer::buildOmni};
  for (Build family : families) {
    if (Operation *built = (this->*family)(op, loc)) {
      return built;
    }
  }
  llvm_unreachable("operation of a program without importer");
}

ImportedProgram Importer::run() {
  values.resize(program.values.size());
  weightOf.assign(program.values.size(), -1);
  for (auto [i, weight] : llvm::enumerate(program.weights)) {
    weightOf[weight.value] = static_cast<int>(i);
  }
  ImportedProgram imported;
  imported.module = ModuleOp::create(locate(program.name, {0, 0}));
  imported.module->getOperation()->setAttr("hova.model",
                                           builder.getStringAttr(program.name));
  setUpFunction(*imported.module);
  for (const ProgramOperation &op : program.operations) {
    Location loc = locate(op.path, program.layers[op.layer].range);
    Operation *built = build(op, loc);
    if (op.attributes.count("require")) {
      built->setAttr("hova.require", builder.getStringAttr("fused"));
    }
    values[op.result] = built->getResult(0);
    imported.operations.push_back(built);
  }
  SmallVector<Value> results;
  for (const ProgramOutput &output : program.outputs) {
    results.push_back(values[output.value]);
  }
  func::ReturnOp::create(builder, imported.module->getLoc(), results);
  return imported;
}

} // namespace

ImportedProgram importProgram(const Program &program, MLIRContext &context) {
  return Importer(program, context).run();
}

} // namespace hova::frontend
