//===- DiscardableAttributes.cpp - What phases leave on operations --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Attributes that no operation declares: what reports are printed from, what
// `tile` tells the phases after it, names of inputs. Passes, plugins and people
// who edit a dump write them, so that their form is checked like all else. Of
// what they say, such as a number of a launch, who reads it is the judge.
//
//===----------------------------------------------------------------------===//

#include "dialect/HovaDialect.h"
#include "dialect/PhaseNames.h"
#include "dialect/Ranges.h"
#include "dialect/Site.h"
#include "dialect/Storage.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace {

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

bool isText(Attribute value) { return isa<StringAttr>(value); }
bool isTruth(Attribute value) { return isa<BoolAttr>(value); }
bool isType(Attribute value) { return isa<TypeAttr>(value); }
bool isNumbers(Attribute value) { return isa<DenseI64ArrayAttr>(value); }
bool isNumber(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isInteger(64);
}
bool isPair(Attribute value) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
  return numbers && numbers.size() == 2;
}
bool isRanges(Attribute value) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
  if (!numbers ||
      (numbers.size() != 4 && numbers.size() != 6 && numbers.size() != 7)) {
    return false;
  }
  for (int64_t i = 0; i + 1 < numbers.size(); i += 2) {
    if (numbers[i] < 1 || numbers[i] > numbers[i + 1]) {
      return false;
    }
  }
  // Rows of layers are so many for each token.
  auto isOfLayers = [&](size_t rows, size_t tokens) {
    return numbers[rows] % numbers[6] == 0 &&
           numbers[rows] / numbers[6] == numbers[tokens];
  };
  return numbers.size() < 7 ||
         (numbers[6] > 1 && isOfLayers(4, 2) && isOfLayers(5, 3));
}
bool isExtent(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && hova::extentNamed(text.getValue()) != hova::Extent::fixed;
}
bool isRange(Attribute value) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
  return isPair(value) && numbers[0] < numbers[1];
}
bool isNarrow(Attribute value) {
  auto type = dyn_cast<TypeAttr>(value);
  return type && hova::storageOf(type.getValue()) != hova::Storage::F32;
}
bool isFused(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && text.getValue() == "fused";
}

bool isPhase(Attribute value) {
  auto name = dyn_cast<StringAttr>(value);
  if (!name) {
    return false;
  }
  auto *dialect = value.getContext()->getLoadedDialect<hova::HovaDialect>();
  auto *phases = dialect->getRegisteredInterface<hova::PhaseNames>();
  return !phases || phases->has(name.getValue());
}

using Form = bool (*)(Attribute);

template <Form isElement> bool isListOf(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, isElement);
}

template <Form isEntry> bool isTableOf(Attribute value) {
  auto table = dyn_cast<DictionaryAttr>(value);
  return table && llvm::all_of(table, [](NamedAttribute entry) {
           return isEntry(entry.getValue());
         });
}

/// An entry of a record.
struct Field {
  StringLiteral name;
  Form is;
  bool isOptional = false;
};

/// Whether a dictionary has these entries, and no others.
bool isRecord(Attribute value, ArrayRef<Field> fields) {
  auto record = dyn_cast<DictionaryAttr>(value);
  if (!record) {
    return false;
  }
  size_t found = 0;
  for (const Field &field : fields) {
    Attribute entry = record.get(field.name);
    if (entry ? !field.is(entry) : !field.isOptional) {
      return false;
    }
    found += entry ? 1 : 0;
  }
  return found == record.size();
}

bool isSite(Attribute value) {
  return isRecord(value, {{"kind", isText}, {"path", isText}});
}
bool isNeighbour(Attribute value) {
  return isRecord(value, {{"path", isText}, {"why", isText}});
}
bool isVerdict(Attribute value) {
  return isRecord(value, {{"fused", isTruth},
                          {"kernels", isListOf<isText>, true},
                          {"columns", isListOf<isText>, true},
                          {"joined", isListOf<isText>, true},
                          {"writers", isListOf<isText>, true},
                          {"apart", isListOf<isNeighbour>, true},
                          {"why", isText, true}});
}
bool isRewrite(Attribute value) {
  return isRecord(
      value, {{"fired", isTruth}, {"why", isText}, {"fires_if", isText, true}});
}
bool isScoreTiles(Attribute value) {
  return isRecord(value, {{"size", isPair},
                          {"skipped", isNumber},
                          {"mixed", isNumber},
                          {"whole", isNumber}});
}
bool isArenaValue(Attribute value) {
  return isRecord(value, {{"path", isText},
                          {"kernel", isNumber},
                          {"last", isNumber},
                          {"type", isType},
                          {"row_stride", isNumber},
                          {"offset", isNumber}});
}
bool isPart(Attribute value) {
  return isRecord(value, {{"kernel", isNumber},
                          {"stage", isNumber},
                          {"path", isText},
                          {"flops", isNumber},
                          {"bytes", isNumber}});
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

struct Row {
  StringLiteral name;
  Form is;
  StringLiteral form;    ///< after "expects 'NAME'"
  StringLiteral on = ""; ///< the operation that has it; empty: any
};

constexpr StringLiteral kFunction = "a function";
constexpr StringLiteral kNumberForm = "to be a number of 64 bits";
constexpr StringLiteral kExtentForm = "to be items, tokens or other_tokens";
constexpr StringLiteral kRowsForm =
    "to be -1 or the number of a row table for each value";

// Those of a program, and of modules and functions of it.
constexpr Row rows[] = {
    {"hova.phase", isPhase, "to be the name of a phase", "builtin.module"},
    {"hova.model", isText, "to be the name of a model", "builtin.module"},
    {hova::kStorageAttr, isNarrow, "to be bf16 or f16", "builtin.module"},
    {"hova.tables", isNumbers, "to be the tables of the code",
     "builtin.module"},
    {hova::kRangesAttr, isRanges,
     "to be the least and the largest number of items, of tokens, and perhaps "
     "of other tokens, and of how many layers these are rows",
     kFunction},
    {hova::kRangeNamesAttr, isListOf<isText>,
     "to be the names of the ranges of items and of tokens", kFunction},
    {hova::kExtentAttr, isExtent, kExtentForm, "hova.launch"},
    {"hova.arena_bytes", isNumber, kNumberForm, kFunction},
    {"hova.image_bytes", isNumber, kNumberForm, kFunction},
    {"hova.table_bytes", isNumber, kNumberForm, kFunction},
    {"hova.group_bytes", isNumber, kNumberForm, kFunction},
    {"hova.inputs", isNumber, kNumberForm, kFunction},
    {"hova.types", isListOf<isType>, "to be a list of types", kFunction},
    {"hova.values", isListOf<isArenaValue>,
     "to hold values, each with path, kernel, last, type, row_stride and "
     "offset",
     kFunction},
    {"hova.parts", isListOf<isPart>,
     "to hold parts, each with kernel, stage, path, flops and bytes",
     kFunction},
    {hova::kAddedPartsAttr, isNumber, kNumberForm},
    {"hova.input_rows", isNumbers, kRowsForm, "hova.kernel"},
    {"hova.result_rows", isNumbers, kRowsForm, "hova.kernel"},
    {"hova.whole", isPair,
     "to be where a value in the arena begins, and its bytes",
     "hova.arena_buffer"},
    {"hova.contents", isNumbers, "to be the words of a buffer"},
    {"hova.offset", isNumber, kNumberForm},
    {hova::kSiteAttr, isSite, "to have a kind and a path"},
    {hova::kRequireAttr, isFused, "to be \"fused\""},
    {"hova.verdict", isVerdict,
     "to say whether the site is fused, and of what, by kernels, columns, "
     "joined, writers, apart and why"},
    {"hova.rewrites", isTableOf<isRewrite>,
     "to have for every pass whether it fired, and why"},
    {"hova.missed_fusions", isTableOf<isText>,
     "to have a reason for every operand"},
    {"hova.score_tiles", isScoreTiles,
     "to have a size, and how many tiles are skipped, mixed and whole"}};

constexpr Row inputRows[] = {
    {"hova.name", isText, "to be the name of an input"},
    {hova::kExtentAttr, isExtent, kExtentForm},
    {"hova.range", isRange,
     "to be the least number and one above the largest"}};

constexpr Row resultRows[] = {
    {"hova.name", isText, "to be the name of an output"},
    {hova::kExtentAttr, isExtent, kExtentForm}};

bool stands(Operation *op, const Row &row) {
  return row.on.empty() || op->getName().getStringRef() == row.on ||
         (row.on == kFunction && isa<FunctionOpInterface>(op));
}

LogicalResult check(Operation *op, NamedAttribute attribute,
                    ArrayRef<Row> rows) {
  StringRef name = attribute.getName();
  const Row *row =
      llvm::find_if(rows, [&](const Row &row) { return row.name == name; });
  if (row == rows.end()) {
    return op->emitError("'") << name << "' is no attribute that stands here";
  }
  if (!stands(op, *row)) {
    return op->emitError("'")
           << name << "' stands on "
           << (row->on == kFunction ? row->on.str() : "'" + row->on.str() + "'")
           << ", not on '" << op->getName() << "'";
  }
  if (!row->is(attribute.getValue())) {
    return op->emitError("expects '")
           << name << "' " << row->form << ", got " << attribute.getValue();
  }
  return success();
}

} // namespace

LogicalResult
hova::HovaDialect::verifyOperationAttribute(Operation *op,
                                            NamedAttribute attribute) {
  return check(op, attribute, rows);
}

LogicalResult
hova::HovaDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                            NamedAttribute attribute) {
  return check(op, attribute, inputRows);
}

LogicalResult hova::HovaDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return check(op, attribute, resultRows);
}
