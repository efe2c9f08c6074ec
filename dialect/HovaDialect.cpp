//===- HovaDialect.cpp - Registration of operations and attributes --------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/HovaDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialect/HovaDialect.cpp.inc"
#include "dialect/HovaEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/HovaAttrs.cpp.inc"

LogicalResult
hova::LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         LayoutKind kind, int64_t size) {
  if (size <= 0) {
    return emitError() << "expects a positive number of elements between rows, "
                          "got "
                       << size;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// UnitsAttr
//===----------------------------------------------------------------------===//

Attribute hova::UnitsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto parseDim = [&]() -> ParseResult {
    StringRef name;
    if (parser.parseKeyword(&name) ||
        parser.parseInteger(sizes.emplace_back())) {
      return failure();
    }
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseDim)) {
    return {};
  }
  return getChecked([&] { return parser.emitError(place); },
                    parser.getContext(), names, sizes);
}

void hova::UnitsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(
      llvm::zip(getNames(), getSizes()), printer, [&](auto dim) {
        printer.printKeywordOrString(std::get<0>(dim).getValue());
        printer << ' ' << std::get<1>(dim);
      });
  printer << '>';
}

LogicalResult
hova::UnitsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (size <= 0) {
      return emitError() << "expects a positive size of unit dim '"
                         << name.getValue() << "', got " << size;
    }
    if (!seen.insert(name).second) {
      return emitError() << "unit dim '" << name.getValue()
                         << "' is there twice";
    }
  }
  return success();
}

int64_t hova::UnitsAttr::count() const {
  int64_t count = 1;
  for (int64_t size : getSizes()) {
    count *= size;
  }
  return count;
}

int64_t hova::UnitsAttr::sizeOf(StringRef name) const {
  for (auto [dim, size] : llvm::zip(getNames(), getSizes())) {
    if (dim.getValue() == name) {
      return size;
    }
  }
  return 0;
}

void hova::HovaDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/HovaAttrs.cpp.inc"
      >();
  registerAttentionOps();
  registerColumnOps();
  registerDenseOps();
  registerGroupOps();
  registerGroupTypes();
  registerLinearAttentionOps();
  registerPlacementOps();
  registerProgramOps();
  registerScoreOps();
  registerTokenOps();
}
