//===- Summary.cpp - Parameters, work and shapes of a model ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "tools/inspect/Summary.h"

#include "dialect/HovaDialect.h"
#include "dialect/Interfaces.h"
#include "frontend/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "tools/inspect/Published.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace hova::inspect {

using namespace frontend;

namespace {

int64_t elements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t dimension : shape) {
    count *= dimension;
  }
  return count;
}

/// Whether operand `role` is a weight of a dense layer.
bool isDense(llvm::StringRef mnemonic, llvm::StringRef role) {
  return mnemonic == "linear" || mnemonic == "patch_embedding" ||
         mnemonic == "head_reweight" || mnemonic == "channel_gate" ||
         mnemonic == "block_diagonal" || role == "score_vector";
}

/// Marks the values that dense layers read as weights.
std::set<int> denseValues(const Program &program) {
  std::set<int> dense;
  for (const ProgramOperation &op : program.operations) {
    for (const auto &[role, value] : op.operands) {
      if (isDense(op.mnemonic, role)) {
        dense.insert(value);
      }
    }
  }
  return dense;
}

void countParameters(const Program &program, Summary &summary) {
  std::set<int> dense = denseValues(program);
  for (const ProgramWeight &weight : program.weights) {
    int64_t count =
        elements(program.values[static_cast<size_t>(weight.value)].type.shape);
    (weight.trainable ? summary.trainable : summary.frozen) += count;
    summary.dense += dense.count(weight.value) ? count : 0;
    summary.layers[weight.layer].parameters += count;
  }
  for (const ProgramOperation &op : program.operations) {
    if (op.mnemonic == "sinusoid") {
      summary.frozen +=
          elements(program.values[static_cast<size_t>(op.result)].type.shape);
    }
  }
}

/// The values that depend on an input.
std::set<int> reachedValues(const Program &program) {
  std::set<int> reached;
  for (const ProgramInput &input : program.inputs) {
    reached.insert(input.value);
  }
  for (const ProgramOperation &op : program.operations) {
    bool isReached = llvm::any_of(op.operands, [&](const auto &operand) {
      return reached.count(operand.second) > 0;
    });
    if (isReached) {
      reached.insert(op.result);
      for (const auto &[name, value] : program.furtherResultsOf(op)) {
        reached.insert(value);
      }
    }
  }
  return reached;
}

void countWork(const Program &program, const ImportedProgram &imported,
               Summary &summary) {
  std::set<int> weights;
  for (const ProgramWeight &weight : program.weights) {
    weights.insert(weight.value);
  }
  std::set<int> reached = reachedValues(program);
  for (auto [op, operation] :
       llvm::zip_equal(program.operations, imported.operations)) {
    LayerSummary &layer = summary.layers[op.layer];
    for (const auto &operand : op.operands) {
      if (layer.inputShape.empty() && !weights.count(operand.second)) {
        layer.inputShape =
            program.values[static_cast<size_t>(operand.second)].type.shape;
      }
    }
    if (auto cost = llvm::dyn_cast<CostOpInterface>(operation)) {
      layer.linearMacs += *cost.getLinearMacs();
      layer.attentionMacs += *cost.getAttentionMacs();
      summary.constantMacs +=
          reached.count(op.result)
              ? 0
              : *cost.getLinearMacs() + *cost.getAttentionMacs();
    }
    if (op.mnemonic == "layer_norm") {
      summary.normElements +=
          elements(program.values[static_cast<size_t>(op.result)].type.shape);
    }
  }
  for (const LayerSummary &layer : summary.layers) {
    summary.linearMacs += layer.linearMacs;
    summary.attentionMacs += layer.attentionMacs;
  }
}

/// Weights are read too, and belong to their layers.
void findReads(const Program &program, Summary &summary) {
  std::map<int, std::string> makers;
  for (const ProgramInput &input : program.inputs) {
    makers[input.value] = input.name;
  }
  for (const ProgramOperation &op : program.operations) {
    LayerSummary &layer = summary.layers[op.layer];
    for (const auto &[role, value] : op.operands) {
      auto maker = makers.find(value);
      if (maker != makers.end() && maker->second != layer.path &&
          !llvm::is_contained(layer.reads, maker->second)) {
        layer.reads.push_back(maker->second);
      }
    }
    makers[op.result] = layer.path;
    for (const auto &[name, value] : program.furtherResultsOf(op)) {
      makers[value] = layer.path;
    }
  }
}

void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<HovaDialect, mlir::func::FuncDialect>();
}

llvm::json::Array jsonShape(const Shape &shape) {
  llvm::json::Array dimensions;
  for (int64_t dimension : shape) {
    dimensions.push_back(dimension);
  }
  return dimensions;
}

llvm::json::Object jsonValue(const Program &program, const std::string &name,
                             int value) {
  const ValueType &type = program.values[static_cast<size_t>(value)].type;
  return llvm::json::Object{{"name", name},
                            {"shape", jsonShape(type.shape)},
                            {"dtype", frontend::name(type.dtype)}};
}

} // namespace

Summary summarize(const Program &program, mlir::MLIRContext &context) {
  loadDialects(context);
  Summary summary;
  for (const ProgramLayer &layer : program.layers) {
    LayerSummary entry;
    entry.path = layer.path;
    entry.kind = layer.kind;
    entry.outputShape =
        program.values[static_cast<size_t>(layer.result)].type.shape;
    summary.layers.push_back(std::move(entry));
  }
  findReads(program, summary);
  countParameters(program, summary);
  countWork(program, importProgram(program, context), summary);
  return summary;
}

llvm::json::Value jsonScalar(const frontend::Scalar &value) {
  using Kind = frontend::Scalar::Kind;
  switch (value.kind) {
  case Kind::Integer:
    return value.integer;
  case Kind::Real:
    return value.real;
  case Kind::Boolean:
    return value.boolean;
  case Kind::List: {
    llvm::json::Array elements;
    for (const frontend::Scalar &element : *value.elements) {
      elements.push_back(jsonScalar(element));
    }
    return llvm::json::Value(std::move(elements));
  }
  default:
    return value.str();
  }
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

void printTable(const std::vector<std::vector<std::string>> &rows,
                size_t firstNumber, llvm::raw_ostream &out) {
  std::vector<size_t> widths(rows.front().size());
  for (const std::vector<std::string> &row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  size_t total = 2 * (widths.size() - 1);
  for (size_t width : widths) {
    total += width;
  }
  std::string rule(total, '-');
  out << rule << '\n';
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t column = 0; column < widths.size(); ++column) {
      const std::string &cell = rows[i][column];
      unsigned width = static_cast<unsigned>(widths[column]);
      std::string text = column + 1 < widths.size() ? "  " : "";
      if (column >= firstNumber) {
        out << llvm::right_justify(cell, width) << text;
      } else {
        out << llvm::left_justify(cell, width) << text;
      }
    }
    out << '\n' << (i == 0 ? rule + "\n" : "");
  }
  out << rule << '\n';
}

void printText(const Summary &summary, const Program &program,
               llvm::raw_ostream &out) {
  std::vector<std::vector<std::string>> rows = {
      {"Layer", "Operator", "Input", "Output", "Parameters", "Mult-Adds"}};
  for (const LayerSummary &layer : summary.layers) {
    int64_t macs = layer.linearMacs + layer.attentionMacs;
    rows.push_back({reader::escaped(layer.path), layer.kind,
                    str(layer.inputShape), str(layer.outputShape),
                    layer.parameters > 0 ? grouped(layer.parameters) : "-",
                    macs > 0 ? grouped(macs) : "-"});
  }
  int64_t macs = summary.linearMacs + summary.attentionMacs;
  out << reader::escaped(program.name) << '\n';
  printTable(rows, /*firstNumber=*/4, out);
  out << "Trainable parameters:  " << grouped(summary.trainable) << '\n'
      << "Frozen parameters:     " << grouped(summary.frozen) << '\n'
      << "Of dense layers:       " << grouped(summary.dense) << '\n'
      << "Weights in f32:        "
      << llvm::format("%.1f MB\n", 4e-6 * summary.trainable)
      << "Linear mult-adds:      " << grouped(summary.linearMacs) << '\n'
      << "Attention mult-adds:   " << grouped(summary.attentionMacs) << '\n'
      << "FLOPs (2 x mult-adds): " << grouped(2 * macs) << '\n';
}

static llvm::json::Array jsonInputs(const Program &program) {
  llvm::json::Array inputs;
  for (const ProgramInput &input : program.inputs) {
    inputs.push_back(jsonValue(program, input.name, input.value));
  }
  return inputs;
}

static llvm::json::Array jsonOutputs(const Program &program) {
  llvm::json::Array outputs;
  for (const ProgramOutput &output : program.outputs) {
    outputs.push_back(jsonValue(program, output.name, output.value));
  }
  return outputs;
}

llvm::json::Object summaryJson(const Summary &summary, const Program &program) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array tensors, layers;
  for (const ProgramWeight &weight : program.weights) {
    Object tensor = jsonValue(program, weight.name, weight.value);
    tensor["trainable"] = weight.trainable;
    tensors.push_back(std::move(tensor));
  }
  for (const LayerSummary &layer : summary.layers) {
    layers.push_back(Object{{"path", layer.path},
                            {"kind", layer.kind},
                            {"parameters", layer.parameters},
                            {"macs_linear", layer.linearMacs},
                            {"macs_attention", layer.attentionMacs},
                            {"reads", Array(layer.reads)},
                            {"input_shape", jsonShape(layer.inputShape)},
                            {"output_shape", jsonShape(layer.outputShape)}});
  }
  Object parameters{{"trainable", summary.trainable},
                    {"frozen", summary.frozen},
                    {"dense", summary.dense},
                    {"tensors", std::move(tensors)}};
  Object macs{{"linear", summary.linearMacs},
              {"attention", summary.attentionMacs}};
  return Object{{"model", program.name},
                {"parameters", std::move(parameters)},
                {"macs", std::move(macs)},
                {"flops", 2 * (summary.linearMacs + summary.attentionMacs)},
                {"inputs", jsonInputs(program)},
                {"outputs", jsonOutputs(program)},
                {"layers", std::move(layers)}};
}

static void printJson(const Summary &summary, const Program &program,
                      llvm::raw_ostream &out) {
  llvm::json::Value root = summaryJson(summary, program);
  out << llvm::formatv("{0:2}\n", root);
}

/// Reads the description, and opens the weights if there are some: their names
/// may decide parameters.
static ModelStatus read(const ModelOptions &options, Model &model,
                        llvm::raw_ostream &errors) {
  ModelStatus status = readModel(options, model, errors);
  return status == ModelStatus::Ok && !options.weights.empty()
             ? openWeights(options, model, errors)
             : status;
}

/// What the command line calls the model.
static const std::string &givenPath(const ModelOptions &options) {
  return options.folder ? options.folder->path : options.path;
}

/// What was checked, or that it was not accepted; why is in the messages.
static void printCheck(const ModelOptions &options, const Model &model,
                       bool accepted, llvm::raw_ostream &out) {
  llvm::json::Object report{{"file", givenPath(options)}, {"ok", accepted}};
  if (accepted) {
    llvm::json::Object parameters;
    for (const auto &[name, value] : model.program->parameters) {
      parameters[name] = jsonScalar(value);
    }
    report["model"] = model.program->name;
    report["parameters"] = std::move(parameters);
    report["inputs"] = jsonInputs(*model.program);
    report["outputs"] = jsonOutputs(*model.program);
  }
  if (accepted && model.weights) {
    report["weights"] = model.note;
  }
  out << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
}

/// Prints what a builder of an operator got wrong. The exit status: whoever
/// wrote a plugin is rejected, and hova's own builders make no mistakes.
static int reportMistake(const ImportedProgram &imported,
                         const reader::Source &source,
                         const ModelOptions &options,
                         llvm::raw_ostream &errors) {
  constexpr int rejected = 1, internalError = 70;
  if (!imported.mistake) {
    return 0;
  }
  reader::Message message = imported.mistake->message;
  message.showPlace(source, options.color);
  errors << message.str(options.format, options.color);
  return imported.mistake->isRejected ? rejected : internalError;
}

int runCheck(const ModelOptions &options, bool json, llvm::raw_ostream &out,
             llvm::raw_ostream &errors, const mlir::DialectRegistry &dialects,
             std::string *note) {
  Model model;
  ModelStatus status = read(options, model, errors);
  auto conclude = [&](int status) {
    if (json) {
      printCheck(options, model, status == 0, out);
    } else if (status == 0) {
      out << reader::escaped(givenPath(options)) << ": ok\n";
      if (note) {
        *note = model.note;
      }
    }
    return status;
  };
  if (status != ModelStatus::Ok) {
    return conclude(static_cast<int>(status));
  }
  // Operations that pass the checks of the frontend pass those of the dialect.
  // Seeing that again takes more memory than all before, so a program that can
  // only be so long by repetition is not spelled out here.
  constexpr size_t mostVerified = 20000;
  mlir::MLIRContext context(dialects);
  loadDialects(context);
  ImportedProgram imported;
  if (model.program->operations.size() <= mostVerified) {
    imported = importProgram(*model.program, context);
  }
  if (int mistaken =
          reportMistake(imported, *model.spec->source, options, errors)) {
    return conclude(mistaken);
  }
  if (imported.module && mlir::failed(mlir::verify(*imported.module))) {
    constexpr int internalError = 70;
    reader::Message message{reader::Severity::Error, options.path,
                            "the description passed its checks, but its "
                            "operations are not valid; this is a mistake in "
                            "hova"};
    errors << message.str(options.format, options.color);
    return conclude(internalError);
  }
  return conclude(0);
}

int runSummary(const ModelOptions &options, SummaryKind kind, bool json,
               llvm::raw_ostream &out, llvm::raw_ostream &errors,
               const mlir::DialectRegistry &dialects) {
  Model model;
  ModelStatus status = read(options, model, errors);
  if (status != ModelStatus::Ok) {
    return static_cast<int>(status);
  }
  mlir::MLIRContext context(dialects);
  if (kind == SummaryKind::Paper) {
    std::vector<PublishedComparison> rows;
    if (!comparePublished(model, options, context, rows, errors)) {
      return static_cast<int>(ModelStatus::Rejected);
    }
    (json ? printPublishedJson : printPublishedText)(rows, model, out);
    return 0;
  }
  loadDialects(context);
  if (int status = reportMistake(importProgram(*model.program, context),
                                 *model.spec->source, options, errors)) {
    return status;
  }
  Summary summary = summarize(*model.program, context);
  (json ? printJson : printText)(summary, *model.program, out);
  return 0;
}

} // namespace hova::inspect
