//===- Import.cpp - From Program to IR ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One operation of the program is one operation of a dialect, which the
// importer of its mnemonic makes (OperationImport.h); a weight is referenced
// where it is first used.
//
//===----------------------------------------------------------------------===//

#include "frontend/Import.h"

#include "dialect/HovaDialect.h"
#include "dialect/Site.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "dialect/token/TokenOps.h"
#include "frontend/OperationImport.h"
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
  Location locate(const std::string &path, reader::Range range) {
    return frontend::locate(builder.getContext(), program, path, range.begin);
  }
  RankedTensorType convert(const ValueType &type) {
    return importType(builder, type);
  }
  RankedTensorType tensorType(const ValueType &type, TensorFloat stored);
  Value asType(Value value, RankedTensorType type);
  void setUpFunction(ModuleOp module);
  Value weight(const ProgramWeight &weight);
  /// The value of this number; a weight is made where it is first asked for.
  Value value(int number);
  /// Null, with `mistake`, where the builder was wrong.
  Operation *build(const ProgramOperation &op, Location loc);
  void fail(const ProgramOperation &op, const Twine &why);
  SequenceRanges writeRanges(func::FuncOp main);
  /// Says for which sizes the program is; false, with `mistake`, where it has
  /// an operation that can be for one alone.
  bool setRanges(ImportedProgram &imported);

  const Program &program;
  OpBuilder builder;
  std::vector<Value> values;
  /// Index into Program::weights, or -1, of each value.
  std::vector<int> weightOf;
  /// Values that an operation or an output reads.
  llvm::DenseSet<int> read;
  std::optional<BuilderMistake> mistake;
};

void Importer::setUpFunction(ModuleOp module) {
  SmallVector<Type> arguments, results;
  for (const ProgramInput &input : program.inputs) {
    arguments.push_back(
        tensorType(program.values[input.value].type, input.stored));
  }
  for (const ProgramOutput &output : program.outputs) {
    results.push_back(
        tensorType(program.values[output.value].type, output.stored));
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
  for (auto [i, input] : llvm::enumerate(program.inputs)) {
    values[input.value] =
        asType(body->getArgument(i), convert(program.values[input.value].type));
  }
}

/// The same numbers in another type, unless it is their own.
Value Importer::asType(Value value, RankedTensorType type) {
  return value.getType() == type
             ? value
             : ConvertOp::create(builder, value.getLoc(), type, value);
}

/// The type beside a program of numbers that are stored so.
RankedTensorType Importer::tensorType(const ValueType &type,
                                      TensorFloat stored) {
  RankedTensorType computed = convert(type);
  return stored == TensorFloat::BF16  ? computed.clone(builder.getBF16Type())
         : stored == TensorFloat::F16 ? computed.clone(builder.getF16Type())
                                      : computed;
}

Value Importer::weight(const ProgramWeight &weight) {
  const ProgramValue &value = program.values[weight.value];
  return WeightOp::create(builder, locate(weight.name, value.range),
                          convert(value.type), weight.name,
                          weight.initializer.str(), weight.trainable);
}

Value Importer::value(int number) {
  if (!values[number] && weightOf[number] >= 0) {
    values[number] = weight(program.weights[weightOf[number]]);
  }
  return values[number];
}

void Importer::fail(const ProgramOperation &op, const Twine &why) {
  const ProgramLayer &layer = program.layers[op.layer];
  mistake.emplace();
  mistake->isRejected = !layer.plugin.empty();
  reader::Message &message = mistake->message;
  message.file = program.source->name();
  message.place = program.source->position(layer.range.begin);
  std::string owner =
      mistake->isRejected ? " of plugin '" + layer.plugin + "'" : "";
  message.message = ("operator \"" + layer.kind + "\"" + owner + " emits '" +
                     op.mnemonic + "'" + why)
                        .str();
  message.notes.push_back("in layer " + op.path);
}

/// What the verifier of `op` says; empty if it is valid.
static std::string verifierText(Operation *op) {
  std::string text;
  ScopedDiagnosticHandler listen(op->getContext(), [&](Diagnostic &said) {
    text += (text.empty() ? "" : "; ") + said.str();
    return success();
  });
  bool isValid = succeeded(op->getName().verifyInvariants(op));
  return isValid ? "" : text.empty() ? "its verifier fails" : text;
}

/// What differs between the results of `built` and those of the layer that are
/// read; empty: nothing.
static std::string wrongResults(Operation *built,
                                ArrayRef<RankedTensorType> wanted) {
  std::string wrong;
  llvm::raw_string_ostream os(wrong);
  if (built->getNumResults() < wanted.size()) {
    os << " with " << wanted.size() << " results that are read, but it gives "
       << built->getNumResults();
    return wrong;
  }
  for (auto [result, type] : llvm::zip(built->getResults(), wanted)) {
    if (result.getType() != type) {
      os << " as " << type << ", but it gives " << result.getType();
      return wrong;
    }
  }
  return wrong;
}

Operation *Importer::build(const ProgramOperation &op, Location loc) {
  StringRef mnemonic = op.mnemonic;
  auto [dialect, rest] = mnemonic.split('.');
  if (!rest.empty()) {
    builder.getContext()->getOrLoadDialect(dialect);
  }
  OperationImporter importer = findOperationImporter(mnemonic);
  if (!importer) {
    fail(op, ", which is no operation" + suggestOperation(mnemonic));
    return nullptr;
  }
  auto valueOf = [this](int number) { return value(number); };
  auto isRead = [this](int number) { return read.contains(number); };
  OperationImport work(builder, loc, program, op, valueOf, isRead);
  Operation *built = importer(work);
  std::string wrong = work.findMistake();
  wrong = wrong.empty() ? "" : " " + wrong;
  if (wrong.empty() && !built) {
    wrong = ", and its importer makes nothing of it";
  }
  if (wrong.empty()) {
    wrong = verifierText(built);
    wrong = wrong.empty() ? "" : ", which is not valid: " + wrong;
  }
  SmallVector<RankedTensorType> wanted = {work.result()};
  for (const auto &[name, number] : program.furtherResultsOf(op)) {
    if (read.contains(number)) {
      wanted.push_back(work.result(name));
    }
  }
  wrong = wrong.empty() ? wrongResults(built, wanted) : wrong;
  if (!wrong.empty()) {
    fail(op, wrong);
    return nullptr;
  }
  return built;
}

/// Says of which tokens outputs are, where there are two ranges of them.
static void setExtentsOfResults(func::FuncOp main,
                                const SequenceRanges &ranges) {
  Operation *end = main.getBody().front().getTerminator();
  for (OpOperand &output : end->getOpOperands()) {
    Extent extent =
        ranges.haveOtherTokens() ? extentOf(output.get()) : Extent::fixed;
    if (extent != Extent::fixed) {
      main.setResultAttr(output.getOperandNumber(), kExtentAttr,
                         StringAttr::get(main.getContext(), nameOf(extent)));
    }
  }
}

/// Writes the sizes that `main` is for, and which tokens its inputs have.
SequenceRanges Importer::writeRanges(func::FuncOp main) {
  const auto &[items, length, otherLength] = *program.sequences;
  SequenceRanges ranges{items.least, items.most, length.least, length.most};
  SmallVector<StringRef> names = {items.name, length.name};
  if (otherLength) {
    ranges.leastOtherTokens = otherLength->least;
    ranges.otherTokens = otherLength->most;
    names.push_back(otherLength->name);
    for (auto [number, input] : llvm::enumerate(program.inputs)) {
      StringRef extent =
          nameOf(input.hasOtherTokens ? Extent::otherTokens : Extent::tokens);
      main.setArgAttr(number, kExtentAttr, builder.getStringAttr(extent));
    }
  }
  addRowsOfLayers(main, ranges);
  main->setAttr(kRangesAttr, ranges.asAttribute(builder.getContext()));
  main->setAttr(kRangeNamesAttr, builder.getStrArrayAttr(names));
  return ranges;
}

bool Importer::setRanges(ImportedProgram &imported) {
  auto main = imported.module->lookupSymbol<func::FuncOp>("main");
  SequenceRanges ranges = writeRanges(main);
  std::optional<RangeMistake> wrong = findRangeMistake(main);
  if (!wrong) {
    setExtentsOfResults(main, ranges);
    return true;
  }
  // What converts an input is no layer's: then the first that comes after it.
  auto found = llvm::find_if(imported.operations, [&](Operation *op) {
    return op == wrong->op || wrong->op->isBeforeInBlock(op);
  });
  assert(found != imported.operations.end() && "not made by an operation");
  const ProgramOperation &op =
      program.operations[found - imported.operations.begin()];
  const ProgramLayer &layer = program.layers[op.layer];
  mistake.emplace();
  mistake->isRejected = true;
  reader::Message &message = mistake->message;
  message.file = program.source->name();
  message.place = program.source->position(layer.range.begin);
  message.message = "operator \"" + layer.kind +
                    "\" cannot be for a range of sizes: " + wrong->why;
  message.notes.push_back("in layer " + op.path);
  std::string names;
  for (const auto &[name, range] : program.ranges) {
    names += " --set " + name + "=" + std::to_string(range.most);
  }
  message.notes.push_back("a program of fixed sizes has it:" + names);
  return false;
}

ImportedProgram Importer::run() {
  values.resize(program.values.size());
  weightOf.assign(program.values.size(), -1);
  for (auto [i, weight] : llvm::enumerate(program.weights)) {
    weightOf[weight.value] = static_cast<int>(i);
  }
  for (const ProgramOperation &op : program.operations) {
    for (const auto &[role, number] : op.operands) {
      read.insert(number);
    }
  }
  for (const ProgramOutput &output : program.outputs) {
    read.insert(output.value);
  }
  ImportedProgram imported;
  imported.module = ModuleOp::create(locate(program.name, {0, 0}));
  imported.module->getOperation()->setAttr("hova.model",
                                           builder.getStringAttr(program.name));
  setUpFunction(*imported.module);
  for (const ProgramOperation &op : program.operations) {
    Location loc = locate(op.path, program.layers[op.layer].range);
    Operation *built = build(op, loc);
    if (!built) {
      // What was made reads itself alone.
      imported.operations.clear();
      imported.module = {};
      imported.mistake = std::move(mistake);
      return imported;
    }
    if (op.attributes.count("require")) {
      built->setAttr(kRequireAttr, builder.getStringAttr("fused"));
    }
    const ProgramLayer &layer = program.layers[op.layer];
    if (!layer.site.empty()) {
      setSite(built, {layer.site, layer.path});
    }
    values[op.result] = built->getResult(0);
    // Results of the operation that nobody reads were not made.
    int next = 1;
    for (const auto &[name, number] : program.furtherResultsOf(op)) {
      if (read.contains(number)) {
        values[number] = built->getResult(next++);
      }
    }
    imported.operations.push_back(built);
  }
  SmallVector<Value> results;
  for (const ProgramOutput &output : program.outputs) {
    results.push_back(
        asType(values[output.value],
               tensorType(program.values[output.value].type, output.stored)));
  }
  func::ReturnOp::create(builder, imported.module->getLoc(), results);
  if (program.sequences && !setRanges(imported)) {
    imported.operations.clear();
    imported.module = {};
    imported.mistake = std::move(mistake);
  }
  return imported;
}

} // namespace

ImportedProgram importProgram(const Program &program, MLIRContext &context) {
  return Importer(program, context).run();
}

} // namespace hova::frontend
