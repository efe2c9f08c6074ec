//===- CheckDump.cpp - Whether a dump may be compiled from ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A dump is a file, and people edit it. Passes look only at what they rewrite,
// and what describes the program is looked up by name, by code that was written
// for modules that hova has made. So a dump is checked once, when it is read:
// nothing in it is a number that is used unchecked, and nothing is missing that
// code generation reads.

#include "codegen/program/CheckDump.h"
#include "codegen/Passes.h"
#include "codegen/Pipeline.h"
#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/Storage.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "passes/tile/KernelStructure.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>

using namespace mlir;

namespace hova {

namespace {

/// Extents are products of numbers of the file.
constexpr int64_t kMostBytes = int64_t(1) << 62;

class DumpCheck {
public:
  DumpCheck(ModuleOp dump, ModuleOp imported, const Target &target)
      : dump(dump), target(target),
        wanted(imported.lookupSymbol<func::FuncOp>("main")),
        storage(imported->getAttr(kStorageAttr)) {}

  LogicalResult run();

private:
  LogicalResult checkModule();
  LogicalResult checkSignature();
  LogicalResult checkLabels(ArrayRef<DictionaryAttr> labels);
  LogicalResult checkBuffers();
  LogicalResult checkFrame();
  LogicalResult checkValue(Attribute value, int64_t launches);
  LogicalResult checkParts(int64_t launches);
  LogicalResult checkWeights();
  LogicalResult checkStores(func::FuncOp weights);
  LogicalResult checkReads();
  template <typename BufferOp>
  LogicalResult checkBytesRead(StringRef program, StringRef memory);
  LogicalResult checkCode();

  FailureOr<int64_t> sizeOf(StringRef attribute);
  /// After the phase `name`, or what it leaves.
  bool isFrom(StringRef name) { return &phaseOf(dump) >= findPhase(name); }

  ModuleOp dump;
  const Target &target;
  func::FuncOp main, wanted;
  Attribute storage;
  int64_t arenaBytes = 0, imageBytes = 0;
};

} // namespace

/// An attribute that may be missing, for messages.
static std::string textOf(Attribute attribute) {
  std::string text = "none";
  if (attribute) {
    text.clear();
    llvm::raw_string_ostream(text) << attribute;
  }
  return text;
}

/// The bytes that the elements of `type` lie in, rows `stride` elements apart;
/// -1 where they are too many.
static int64_t bytesOf(RankedTensorType type, int64_t stride) {
  if (!type.hasStaticShape() || !type.getElementType().isIntOrFloat()) {
    return -1;
  }
  ArrayRef<int64_t> shape = type.getShape();
  int64_t columns = shape.empty() ? 1 : shape.back(), rows = 1, bytes = 0;
  for (int64_t size : shape.drop_back(shape.empty() ? 0 : 1)) {
    if (llvm::MulOverflow(rows, size, rows)) {
      return -1;
    }
  }
  int64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  if (rows < 1 || columns < 1 || llvm::MulOverflow(rows - 1, stride, bytes) ||
      llvm::AddOverflow(bytes, columns, bytes) ||
      llvm::MulOverflow(bytes, element, bytes) || bytes > kMostBytes) {
    return -1;
  }
  return bytes;
}

LogicalResult DumpCheck::checkModule() {
  Attribute phase = dump->getAttr(kPhaseAttr);
  auto name = dyn_cast_or_null<StringAttr>(phase);
  if (phase && (!name || !findPhase(name.getValue()))) {
    return dump.emitError("expects '")
           << kPhaseAttr << "' to be the name of a phase, got " << phase;
  }
  if (dump->getAttr(kStorageAttr) != storage) {
    return dump.emitError("expects '")
           << kStorageAttr << "' to be that of the description's program, "
           << textOf(storage) << ", got "
           << textOf(dump->getAttr(kStorageAttr));
  }
  auto inner = dump.getOps<ModuleOp>();
  if (!isFrom("target") && !inner.empty()) {
    return (*inner.begin())
        .emitError("expects no module in a program, of whose code phase "
                   "'target' makes one");
  }
  main = dump.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal()) {
    return dump.emitError("a dump holds the program as a function 'main' with "
                          "a body, and there is none");
  }
  if (!main.getBody().hasOneBlock()) {
    return main.emitError("expects one block, got ")
           << main.getBody().getBlocks().size();
  }
  return success();
}

/// Inputs and outputs by the names and ranges that the description gives them.
LogicalResult DumpCheck::checkLabels(ArrayRef<DictionaryAttr> labels) {
  SmallVector<DictionaryAttr> present;
  for (unsigned i = 0, e = main.getNumArguments(); i < e; ++i) {
    present.push_back(main.getArgAttrDict(i));
  }
  for (unsigned i = 0, e = main.getNumResults(); i < e; ++i) {
    present.push_back(main.getResultAttrDict(i));
  }
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(labels, present))) {
    auto [label, given] = pair;
    for (StringRef name : {StringRef("hova.name"), StringRef("hova.range"),
                           StringRef(kExtentAttr)}) {
      Attribute expected = label ? label.get(name) : Attribute();
      Attribute found = given ? given.get(name) : Attribute();
      if (expected != found) {
        return main.emitError("expects of input or output ")
               << index << " '" << name << "' as in the description, "
               << textOf(expected) << ", got " << textOf(found);
      }
    }
  }
  return success();
}

LogicalResult DumpCheck::checkSignature() {
  SmallVector<DictionaryAttr> labels;
  for (unsigned i = 0, e = wanted.getNumArguments(); i < e; ++i) {
    labels.push_back(wanted.getArgAttrDict(i));
  }
  for (unsigned i = 0, e = wanted.getNumResults(); i < e; ++i) {
    labels.push_back(wanted.getResultAttrDict(i));
  }
  FunctionType type = wanted.getFunctionType();
  if (isFrom("tile")) {
    SmallVector<Type> buffers;
    for (TypeRange types : {type.getInputs(), type.getResults()}) {
      for (Type tensor : types) {
        buffers.push_back(bufferType(cast<RankedTensorType>(tensor), 0));
      }
    }
    type = FunctionType::get(type.getContext(), buffers, {});
  }
  if (main.getFunctionType() != type) {
    return main.emitError("expects the inputs and outputs of the description, ")
           << type << ", got " << main.getFunctionType();
  }
  return checkLabels(labels);
}

FailureOr<int64_t> DumpCheck::sizeOf(StringRef attribute) {
  auto value = main->getAttrOfType<IntegerAttr>(attribute);
  if (!value || !value.getType().isInteger(64) || value.getInt() < 0 ||
      value.getInt() > kMostBytes) {
    return main.emitError("expects '")
           << attribute << "' to be a number of 64 bits, got "
           << textOf(main->getAttr(attribute));
  }
  return value.getInt();
}

/// Of the arena, as `hova verify` reads it between two launches.
LogicalResult DumpCheck::checkValue(Attribute value, int64_t launches) {
  auto entry = dyn_cast<DictionaryAttr>(value);
  auto integer = [&](StringRef name) {
    auto number = entry.getAs<IntegerAttr>(name);
    return number && number.getType().isInteger(64) ? number.getInt() : -1;
  };
  auto type = entry ? entry.getAs<TypeAttr>("type") : TypeAttr();
  auto tensor =
      type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
  int64_t bytes = tensor && integer("row_stride") >= 0
                      ? bytesOf(tensor, integer("row_stride"))
                      : -1;
  if (bytes < 0 || !entry.getAs<StringAttr>("path") || integer("kernel") < 0 ||
      integer("kernel") >= launches || integer("last") < integer("kernel") ||
      integer("last") >= launches || integer("offset") < 0 ||
      integer("offset") > arenaBytes ||
      bytes > arenaBytes - integer("offset")) {
    return main.emitError("expects '")
           << kValuesAttr << "' to hold values of its " << launches
           << " launches that lie in the arena of " << arenaBytes
           << " bytes, got " << value;
  }
  return success();
}

/// What `hova profile` divides times by.
LogicalResult DumpCheck::checkParts(int64_t launches) {
  // Parts are counted in floating-point operations, some for each byte.
  const int64_t most = kMostBytes / target.getFlopsPerByte();
  Attribute all = main->getAttr(kPartsAttr);
  auto parts = dyn_cast_or_null<ArrayAttr>(all);
  auto isPart = [&](Attribute part) {
    auto entry = dyn_cast<DictionaryAttr>(part);
    auto isUpTo = [&](StringRef name, int64_t last) {
      auto number = entry.getAs<IntegerAttr>(name);
      return number && number.getType().isInteger(64) && number.getInt() >= 0 &&
             number.getInt() <= last;
    };
    return entry && entry.getAs<StringAttr>("path") &&
           isUpTo("kernel", launches - 1) && isUpTo("stage", INT32_MAX) &&
           isUpTo("flops", most) && isUpTo("bytes", most);
  };
  if (!all || (parts && llvm::all_of(parts, isPart))) {
    return success();
  }
  return main.emitError("expects '") << kPartsAttr << "' to hold parts of its "
                                     << launches << " launches, got " << all;
}

/// `hova.whole` is where `hova verify --guard` puts the rest of the value.
LogicalResult DumpCheck::checkBuffers() {
  for (auto buffer : main.getOps<ArenaBufferOp>()) {
    Attribute whole = buffer->getAttr(kWholeAttr);
    auto place = dyn_cast_or_null<DenseI64ArrayAttr>(whole);
    auto holds = [&](int64_t begin, int64_t bytes) {
      int64_t offset = buffer.getOffset();
      return begin >= 0 && begin <= offset && bytes >= offset - begin &&
             bytes <= arenaBytes && begin <= arenaBytes - bytes;
    };
    if (whole && (!place || place.size() != 2 || !holds(place[0], place[1]))) {
      return buffer.emitError("expects '")
             << kWholeAttr << "' to be where a value in the arena begins, and "
             << "its bytes, got " << whole;
    }
  }
  return success();
}

/// What `tile` leaves on `main` (passes/tile/ProgramAttrs.h).
LogicalResult DumpCheck::checkFrame() {
  FailureOr<int64_t> arena = sizeOf(kArenaBytesAttr);
  FailureOr<int64_t> image = succeeded(arena) ? sizeOf(kImageBytesAttr) : arena;
  if (failed(image)) {
    return failure();
  }
  arenaBytes = *arena;
  imageBytes = *image;
  Builder builder(dump.getContext());
  SmallVector<Attribute> types;
  for (TypeRange range : {TypeRange(wanted.getArgumentTypes()),
                          TypeRange(wanted.getResultTypes())}) {
    for (Type type : range) {
      types.push_back(TypeAttr::get(type));
    }
  }
  for (auto [name, expected] :
       {std::pair<StringRef, Attribute>(
            kInputsAttr, builder.getI64IntegerAttr(wanted.getNumArguments())),
        std::pair<StringRef, Attribute>(kTypesAttr,
                                        builder.getArrayAttr(types))}) {
    if (main->getAttr(name) != expected) {
      return main.emitError("expects '")
             << name << "' of the description, " << expected << ", got "
             << textOf(main->getAttr(name));
    }
  }
  auto launches = main.getOps<LaunchOp>();
  int64_t count = std::distance(launches.begin(), launches.end());
  for (LaunchOp launch : launches) {
    if (!dump.lookupSymbol<func::FuncOp>(launch.getCallee())) {
      return launch.emitError("expects a 'func.func' named ")
             << launch.getCallee();
    }
  }
  auto values = main->getAttrOfType<ArrayAttr>(kValuesAttr);
  if (!values) {
    return main.emitError("expects '") << kValuesAttr << "' to be a list, got "
                                       << textOf(main->getAttr(kValuesAttr));
  }
  for (Attribute value : values) {
    if (failed(checkValue(value, count))) {
      return failure();
    }
  }
  return failed(checkParts(count)) ? failure() : checkBuffers();
}

/// The image is written from its start to its end.
LogicalResult DumpCheck::checkStores(func::FuncOp weights) {
  int64_t end = 0;
  for (auto store : weights.getOps<StoreWeightOp>()) {
    auto offset = store->getAttrOfType<IntegerAttr>(kOffsetAttr);
    auto type = cast<RankedTensorType>(store.getValue().getType());
    int64_t columns = type.getRank() ? type.getShape().back() : 1;
    int64_t bytes = bytesOf(type, columns);
    if (!offset || !offset.getType().isInteger(64) || bytes < 0 ||
        offset.getInt() < end || offset.getInt() > imageBytes ||
        bytes > imageBytes - offset.getInt()) {
      return store.emitError("expects '")
             << kOffsetAttr << "' from " << end << " on, with the " << bytes
             << " bytes of its value before the image ends at " << imageBytes
             << ", got " << textOf(store->getAttr(kOffsetAttr));
    }
    end = offset.getInt() + bytes;
  }
  return success();
}

/// The folding function and the one that makes tables are looked up by name.
LogicalResult DumpCheck::checkWeights() {
  for (StringRef name : {kFoldingFunction, kTableProgram}) {
    Operation *symbol = dump.lookupSymbol(name);
    auto program = dyn_cast_or_null<func::FuncOp>(symbol);
    if (symbol &&
        (!program || program.isExternal() || !program.getBody().hasOneBlock() ||
         program.getNumArguments() || program.getNumResults())) {
      return symbol->emitError("expects '")
             << name
             << "' to be a function of one block without arguments and results";
    }
  }
  auto weights = dump.lookupSymbol<func::FuncOp>(kFoldingFunction);
  return weights && isFrom("tile") ? checkStores(weights) : success();
}

/// Each buffer begins within a value that `program` stores.
template <typename BufferOp>
LogicalResult DumpCheck::checkBytesRead(StringRef program, StringRef memory) {
  SmallVector<std::pair<int64_t, int64_t>> stored;
  if (auto function = dump.lookupSymbol<func::FuncOp>(program)) {
    for (auto store : function.getOps<StoreWeightOp>()) {
      auto type = cast<RankedTensorType>(store.getValue().getType());
      auto offset = store->getAttrOfType<IntegerAttr>(kOffsetAttr);
      int64_t columns = type.getRank() ? type.getShape().back() : 1;
      if (offset) {
        stored.emplace_back(offset.getInt(), bytesOf(type, columns));
      }
    }
  }
  for (auto buffer : main.getOps<BufferOp>()) {
    int64_t place = buffer.getOffset();
    bool found = llvm::any_of(stored, [&](std::pair<int64_t, int64_t> value) {
      return place >= value.first && place - value.first < value.second;
    });
    if (!found) {
      return buffer.emitError("reads ")
             << memory << " at byte " << place << ", where '" << program
             << "' stores nothing";
    }
  }
  return success();
}

/// What `main` takes from the folding function, that one makes.
LogicalResult DumpCheck::checkReads() {
  llvm::StringSet<> names;
  if (auto weights = dump.lookupSymbol<func::FuncOp>(kFoldingFunction)) {
    for (auto store : weights.getOps<StoreWeightOp>()) {
      names.insert(store.getName());
    }
  }
  for (auto weight : main.getOps<ImageWeightOp>()) {
    if (!names.contains(weight.getName())) {
      return weight.emitError("reads '")
             << weight.getName() << "', which '" << kFoldingFunction
             << "' does not store";
    }
  }
  if (failed(checkBytesRead<ImageBufferOp>(kFoldingFunction, "the image"))) {
    return failure();
  }
  // What makes tables has run in phase `target`: they are constants after the
  // launches.
  return isFrom("target")
             ? success()
             : checkBytesRead<TableBufferOp>(kTableProgram, "the tables");
}

/// What links with the description of the program.
LogicalResult DumpCheck::checkCode() {
  ModuleOp code = codeOf(dump);
  if (!code) {
    return dump.emitError("expects the code of the program in a module '")
           << kCodeName << "'";
  }
  return target.checkCode(code);
}

LogicalResult DumpCheck::run() {
  if (failed(checkModule()) || failed(checkSignature())) {
    return failure();
  }
  if (isFrom("tile") && failed(checkFrame())) {
    return failure();
  }
  if (failed(checkWeights()) || failed(checkReads())) {
    return failure();
  }
  return isFrom("target") ? checkCode() : success();
}

/// What its phase promises holds of a dump: the phases after it look no more.
/// That of `tile` says where buffers lie, in the dumps of later phases too.
static LogicalResult checkPromise(ModuleOp dump, const Target &target) {
  PassManager manager(dump.getContext(), ModuleOp::getOperationName());
  const Phase *phase = std::min(&phaseOf(dump), findPhase("tile"));
  if (phase->build) {
    buildCheck(*phase, manager, target);
  }
  return manager.run(dump);
}

LogicalResult checkDump(ModuleOp dump, ModuleOp imported,
                        const Target &target) {
  return failed(DumpCheck(dump, imported, target).run())
             ? failure()
             : checkPromise(dump, target);
}

} // namespace hova
