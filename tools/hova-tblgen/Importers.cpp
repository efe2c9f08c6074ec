//===- Importers.cpp - Importers of operations, from their definitions ----===//
// SPDX-License-Identifier: Apache-2.0
//
// mlir-tblgen with one generator more. A builder of a description's layer emits
// an operation by its mnemonic, with operands and attributes by name; to make
// it in the IR takes an importer (frontend/OperationImport.h), which an
// operation has in ODS already:
//
//   arguments = (ins Hova_Tensor:$x, Optional<Hova_Tensor>:$bias,
//                    UnitAttr:$transposed)
//
//   static mlir::Operation *importLinear(OperationImport &op) {
//     mlir::Value x = op.operand("x");
//     mlir::Value bias = op.optionalOperand("bias");
//     mlir::UnitAttr transposed = op.unit("transposed");
//     return LinearOp::create(op.builder, op.loc, op.result(), x, bias,
//                             transposed);
//   }
//
// Operations with regions, with attributes that no word, number or boolean of a
// description is, or with several results that are always there have none: who
// emits them writes it. GET_IMPORTERS gives the functions, GET_IMPORTER_LIST
// the pairs of mnemonic and function.

#include "mlir/TableGen/EnumInfo.h"
#include "mlir/TableGen/GenInfo.h"
#include "mlir/TableGen/Operator.h"
#include "mlir/Tools/mlir-tblgen/MlirTblgenMain.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/TableGen/Record.h"

using namespace mlir;
using llvm::Record;
using llvm::RecordKeeper;
using llvm::StringRef;

static llvm::cl::OptionCategory category("Options of -gen-hova-importers");
static llvm::cl::opt<std::string>
    dialect("importers-dialect",
            llvm::cl::desc("The dialect whose operations are meant"),
            llvm::cl::cat(category));

/// What `op` is asked for an attribute; empty where descriptions have none
/// such.
static std::string getter(const tblgen::NamedAttribute &named) {
  tblgen::Attribute base = named.attr.getBaseAttr();
  std::string quoted = "(\"" + named.name.str() + "\"";
  if (base.getDef().isSubClassOf("EnumAttr")) {
    tblgen::EnumInfo info(base.getDef().getValueAsDef("enum"));
    std::string space = info.getCppNamespace().str();
    std::string enumerators = space + "::" + info.getEnumClassName().str();
    std::string symbolize = space + "::" + info.getStringToSymbolFnName().str();
    return "enumerator<" + base.getStorageType().str() + ", " + enumerators +
           ">" + quoted + ", " + symbolize + ")";
  }
  StringRef method = llvm::StringSwitch<StringRef>(base.getAttrDefName())
                         .Case("I64Attr", "integerAttr")
                         .Case("F64Attr", "real")
                         .Case("BoolAttr", "booleanAttr")
                         .Case("UnitAttr", "unit")
                         .Default("");
  return method.empty() ? "" : method.str() + quoted + ")";
}

/// A name that nothing around it has.
static std::string local(StringRef name) { return "own_" + name.str(); }

/// A declaration of one argument; empty where an importer cannot be made.
static std::string declare(const tblgen::Operator &op, int index) {
  tblgen::Argument argument = op.getArg(index);
  if (auto *value = dyn_cast<tblgen::NamedTypeConstraint *>(argument)) {
    std::string quoted = "(\"" + value->name.str() + "\")";
    if (value->isOptional()) {
      return "::mlir::Value " + local(value->name) + " = op.optionalOperand" +
             quoted + ";";
    }
    if (value->isVariadic()) {
      return "auto " + local(value->name) + " = op.operands" + quoted + ";";
    }
    return "::mlir::Value " + local(value->name) + " = op.operand" + quoted +
           ";";
  }
  auto *named = dyn_cast<tblgen::NamedAttribute *>(argument);
  std::string get = named ? getter(*named) : "";
  if (get.empty()) {
    return "";
  }
  std::string type = named->attr.getStorageType().str();
  std::string declared = type + " " + local(named->name) + " = ";
  // Null is the default of an attribute that has one.
  bool mayLack = (named->attr.isOptional() || named->attr.hasDefaultValue()) &&
                 named->attr.getBaseAttr().getAttrDefName() != "UnitAttr";
  if (mayLack) {
    return declared + "op.has(\"" + named->name.str() + "\") ? op." + get +
           " : " + type + "();";
  }
  return declared + "op." + get + ";";
}

/// The function of one operation; empty where it has none.
static std::string importer(const tblgen::Operator &op) {
  if (op.getNumRegions() || op.getNumSuccessors() || op.getNumResults() != 1 ||
      op.getNumVariableLengthResults()) {
    return "";
  }
  std::string body, names;
  for (int i = 0; i < op.getNumArgs(); ++i) {
    std::string line = declare(op, i);
    if (line.empty()) {
      return "";
    }
    body += "  " + line + "\n";
    names += ", " + local(op.getArgName(i));
  }
  // A result that follows from the operands is compared with what was emitted.
  StringRef result = op.allResultTypesKnown() ? "" : ", op.result()";
  return "static ::mlir::Operation *import" + op.getCppClassName().str() +
         "(::hova::frontend::OperationImport &op) {\n" + body + "  return " +
         op.getQualCppClassName() + "::create(op.builder, op.loc" +
         result.str() + names + ");\n}\n\n";
}

static bool emitImporters(const RecordKeeper &records, llvm::raw_ostream &os) {
  std::string functions, list;
  for (const Record *definition : records.getAllDerivedDefinitions("Op")) {
    tblgen::Operator op(definition);
    std::string function = op.getDialectName() == dialect ? importer(op) : "";
    if (function.empty()) {
      continue;
    }
    functions += function;
    // hova's own are called without its name.
    std::string name = op.getOperationName();
    StringRef mnemonic = name;
    mnemonic.consume_front("hova.");
    list += "{\"" + mnemonic.str() + "\", import" + op.getCppClassName().str() +
            "},\n";
  }
  os << "#ifdef GET_IMPORTERS\n#undef GET_IMPORTERS\n\n"
     << functions << "#endif // GET_IMPORTERS\n\n"
     << "#ifdef GET_IMPORTER_LIST\n#undef GET_IMPORTER_LIST\n"
     << list << "#endif // GET_IMPORTER_LIST\n";
  return false;
}

static GenRegistration
    registration("gen-hova-importers",
                 "Generate importers of operations for hova's front end",
                 emitImporters);

int main(int argc, char **argv) { return MlirTblgenMain(argc, argv); }
