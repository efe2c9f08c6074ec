//===- OperationImport.cpp - One operation of a program as IR -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/OperationImport.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace hova::frontend {

void OperationImport::note(const Twine &why) {
  if (mistake.empty()) {
    mistake = why.str();
  }
}

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

Location locate(MLIRContext *context, const Program &program, StringRef path,
                size_t byte) {
  reader::Position place = program.source->position(byte);
  // Without folders: the same file gives the same IR wherever it lies.
  StringRef file = StringRef(program.source->name());
  file = file.substr(file.find_last_of('/') + 1);
  Location inner =
      FileLineColLoc::get(context, file, static_cast<unsigned>(place.line),
                          static_cast<unsigned>(place.column));
  return NameLoc::get(StringAttr::get(context, path), inner);
}

Location OperationImport::locationAt(size_t byte) {
  return locate(builder.getContext(), program, op.path, byte);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value OperationImport::optionalOperand(StringRef role) {
  roles.push_back(role.str());
  int number = op.operand(std::string_view(role.data(), role.size()));
  return number < 0 ? Value() : valueOf(number);
}

Value OperationImport::operand(StringRef role) {
  if (Value value = optionalOperand(role)) {
    return value;
  }
  note("without operand '" + role + "'");
  // An operation cannot be made without it.
  return UnrealizedConversionCastOp::create(builder, loc, result(),
                                            ValueRange())
      .getResult(0);
}

SmallVector<Value> OperationImport::operands(StringRef role) {
  roles.push_back(role.str());
  SmallVector<Value> list;
  for (const auto &[name, number] : op.operands) {
    if (name == role && number >= 0) {
      list.push_back(valueOf(number));
    }
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

RankedTensorType OperationImport::result() {
  return importType(builder, program.values[op.result].type);
}

RankedTensorType OperationImport::result(StringRef wanted) {
  for (const auto &[name, number] : program.furtherResultsOf(op)) {
    if (name == wanted && isRead(number)) {
      return importType(builder, program.values[number].type);
    }
  }
  return {};
}

RankedTensorType importType(Builder &builder, const ValueType &type) {
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

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool OperationImport::has(const char *name) {
  names.push_back(name);
  return op.attributes.count(name) > 0;
}

/// An attribute of this kind; null, with a note, where there is none.
const Scalar *OperationImport::attribute(const char *name, Scalar::Kind kind) {
  if (!has(name)) {
    note(Twine("without attribute '") + name + "'");
    return nullptr;
  }
  const Scalar &found = op.attributes.at(name);
  // An integer is a number, too.
  if (found.is(kind) || (kind == Scalar::Kind::Real && found.isNumber())) {
    return &found;
  }
  note(Twine("with ") + describe(found.kind) + " as attribute '" + name +
       "', which is " + describe(kind));
  return nullptr;
}

int64_t OperationImport::integer(const char *name) {
  const Scalar *found = attribute(name, Scalar::Kind::Integer);
  return found ? found->integer : 1;
}

FloatAttr OperationImport::real(const char *name) {
  const Scalar *found = attribute(name, Scalar::Kind::Real);
  return builder.getF64FloatAttr(found ? found->real : 1);
}

StringRef OperationImport::word(const char *name) {
  const Scalar *found = attribute(name, Scalar::Kind::Text);
  return found ? StringRef(found->text) : StringRef();
}

/// The attribute that a word writes; null, with a note, where it writes none.
Attribute OperationImport::parseWord(const char *name) {
  StringRef written = word(name);
  if (written.empty()) {
    return {};
  }
  // What the parser says has a place in a text that nobody wrote.
  ScopedDiagnosticHandler silent(builder.getContext(),
                                 [](Diagnostic &) { return success(); });
  Attribute parsed =
      parseAttribute(("#" + written).str(), builder.getContext());
  if (!parsed) {
    note("with '" + written + "' as attribute '" + name +
         "', which is no attribute of a dialect");
  }
  return parsed;
}

bool OperationImport::boolean(const char *name) {
  const Scalar *found =
      has(name) ? attribute(name, Scalar::Kind::Boolean) : nullptr;
  return found && found->boolean;
}

IntegerAttr OperationImport::integerAttr(const char *name) {
  return builder.getI64IntegerAttr(integer(name));
}

BoolAttr OperationImport::booleanAttr(const char *name) {
  return builder.getBoolAttr(boolean(name));
}

UnitAttr OperationImport::unit(const char *name) {
  return boolean(name) ? builder.getUnitAttr() : UnitAttr();
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

/// `, which has 'lhs' and 'rhs'`
static std::string known(ArrayRef<std::string> asked) {
  std::string text;
  for (const auto &[i, name] : llvm::enumerate(asked)) {
    if (llvm::is_contained(asked.take_front(i), name)) {
      continue; // asked twice
    }
    text += (text.empty() ? ", which has '" : "', '") + name;
  }
  return text.empty() ? ", which has none" : text + "'";
}

std::string OperationImport::findMistake() {
  std::string extra;
  for (const auto &[role, number] : op.operands) {
    if (extra.empty() && number >= 0 && !llvm::is_contained(roles, role)) {
      extra = "with an operand '" + role + "'" + known(roles);
    }
  }
  for (const auto &[name, value] : op.attributes) {
    // Whoever emits any operation may require it to be fused.
    if (extra.empty() && name != "require" &&
        !llvm::is_contained(names, name)) {
      extra = "with an attribute '" + name + "'" + known(names);
    }
  }
  // A misspelt name says more than that the right one is missing.
  return extra.empty() ? mistake : extra;
}

} // namespace hova::frontend
