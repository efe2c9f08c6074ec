//===- ProgramDescriptor.cpp - The constant that describes a program ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Structures are built field by field in the order of hova_runtime.h; LLVM lays
// out structures as C does.

#include "codegen/program/ProgramDescriptor.h"
#include "codegen/program/Bill.h"
#include "codegen/program/ConstantBuilder.h"
#include "codegen/program/WeightData.h"
#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/tile/ProgramAttrs.h"
#include "runtime/hova_runtime.h"

using namespace mlir;

namespace hova {

static hova_dtype dtypeOf(Type element) {
  if (element.isInteger(1)) {
    return HOVA_BOOL;
  }
  if (element.isInteger()) {
    return element.isInteger(32) ? HOVA_I32 : HOVA_I64;
  }
  return element.isF64()    ? HOVA_F64
         : element.isBF16() ? HOVA_BF16
         : element.isF16()  ? HOVA_F16
                            : HOVA_F32;
}

/// What the first axes of an input or output are.
static int32_t extentOf(func::FuncOp main, int64_t index,
                        RankedTensorType type) {
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(main);
  auto name = main.getArgAttrOfType<StringAttr>(index, kExtentAttr);
  Extent extent = name     ? extentNamed(name.getValue())
                  : ranges ? ranges->extentOf(type)
                           : Extent::fixed;
  switch (extent) {
  case Extent::fixed:
    return HOVA_FIXED;
  case Extent::items:
    return HOVA_ITEMS;
  case Extent::tokens:
    return HOVA_TOKENS;
  case Extent::otherTokens:
    return HOVA_OTHER_TOKENS;
  }
  llvm_unreachable("an extent");
}

static llvm::Constant *describeArgument(ConstantBuilder &build,
                                        func::FuncOp main, int64_t index) {
  auto types = main->getAttrOfType<ArrayAttr>(kTypesAttr);
  auto type = cast<RankedTensorType>(cast<TypeAttr>(types[index]).getValue());
  auto name = main.getArgAttrOfType<StringAttr>(index, "hova.name");
  auto range = main.getArgAttrOfType<DenseI64ArrayAttr>(index, "hova.range");
  return build.record(
      {build.text(name ? name.getValue() : "arg" + std::to_string(index)),
       build.i32(dtypeOf(type.getElementType())), build.i32(type.getRank()),
       build.dims(type.getShape()), build.i64(range ? range[0] : 0),
       build.i64(range ? range[1] : 0),
       build.i32(extentOf(main, index, type))});
}

/// A constant of the sizes that the program may be run with; null: one alone.
static llvm::Constant *describeRanges(ConstantBuilder &build,
                                      func::FuncOp main) {
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(main);
  if (!ranges) {
    return build.null();
  }
  auto names = main->getAttrOfType<ArrayAttr>(kRangeNamesAttr);
  auto nameOf = [&](size_t number) {
    StringRef name = names && number < names.size()
                         ? cast<StringAttr>(names[number]).getValue()
                         : StringRef();
    return name.empty() ? build.null() : build.text(name);
  };
  bool isOfLayers = ranges->layers > 0;
  return build.array({build.record(
      {build.i64(ranges->leastItems), build.i64(ranges->items),
       build.i64(ranges->leastTokens), build.i64(ranges->tokens),
       build.i64(isOfLayers ? 0 : ranges->leastOtherTokens),
       build.i64(isOfLayers ? 0 : ranges->otherTokens),
       build.i64(ranges->layers), nameOf(0), nameOf(1), nameOf(2)})});
}

static llvm::Constant *describeValue(ConstantBuilder &build,
                                     DictionaryAttr value) {
  auto type = cast<RankedTensorType>(value.getAs<TypeAttr>("type").getValue());
  auto integer = [&](StringRef name) {
    return value.getAs<IntegerAttr>(name).getInt();
  };
  return build.record(
      {build.text(value.getAs<StringAttr>("path").getValue()),
       build.i32(integer("kernel")), build.i32(dtypeOf(type.getElementType())),
       build.i32(type.getRank()), build.dims(type.getShape()),
       build.i64(integer("row_stride")), build.i64(integer("offset")),
       build.i32(integer("last"))});
}

static llvm::Constant *describePart(ConstantBuilder &build, DictionaryAttr part,
                                    int64_t flopsPerByte) {
  auto integer = [&](StringRef name) {
    return part.getAs<IntegerAttr>(name).getInt();
  };
  return build.record(
      {build.text(part.getAs<StringAttr>("path").getValue()),
       build.i32(integer("kernel")), build.i32(integer("stage")),
       build.i64(integer("flops")),
       build.i64(integer("flops") + integer("bytes") * flopsPerByte)});
}

static llvm::Constant *describeWeight(ConstantBuilder &build,
                                      StoreWeightOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return build.record(
      {build.text(store.getName()),
       build.i64(store->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt()),
       build.i64(llvm::divideCeil(bits, 8))});
}

static llvm::Constant *describeKernel(ConstantBuilder &build, LaunchOp launch) {
  int64_t bytes = 0;
  for (Value buffer : launch.getBuffers()) {
    auto type = cast<MemRefType>(buffer.getType());
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  return build.record({build.text(launch.getName()),
                       build.text(launch.getCallee()),
                       build.i64(launch.getFlops()), build.i64(bytes)});
}

static std::string programName(StringRef prefix) {
  return ("hova_program_" + prefix).str();
}

void addProgramDescriptor(llvm::Module &module, ModuleOp tiled,
                          const CompileOptions &options,
                          ArrayRef<LevelCode> levels, int64_t flops,
                          StringRef bill) {
  ConstantBuilder build(module);
  auto main = tiled.lookupSymbol<func::FuncOp>("main");
  auto integer = [&](StringRef name) {
    return main->getAttrOfType<IntegerAttr>(name).getInt();
  };
  SmallVector<llvm::Constant *> inputs, outputs, kernels, values, codes, parts,
      weights;
  for (int64_t i = 0, e = main.getNumArguments(); i < e; ++i) {
    (i < integer(kInputsAttr) ? inputs : outputs)
        .push_back(describeArgument(build, main, i));
  }
  int64_t executed = 0;
  for (LaunchOp launch : main.getOps<LaunchOp>()) {
    kernels.push_back(describeKernel(build, launch));
    executed += launch.getFlops();
  }
  for (Attribute value : main->getAttrOfType<ArrayAttr>(kValuesAttr)) {
    values.push_back(describeValue(build, cast<DictionaryAttr>(value)));
  }
  int64_t flopsPerByte = options.target->getTarget(0)->getFlopsPerByte();
  // A dump that was written by hand may be without.
  auto counted = main->getAttrOfType<ArrayAttr>(kPartsAttr);
  for (Attribute part : counted ? counted.getValue() : ArrayRef<Attribute>()) {
    parts.push_back(
        describePart(build, cast<DictionaryAttr>(part), flopsPerByte));
  }
  if (auto program = tiled.lookupSymbol<func::FuncOp>("weights")) {
    for (StoreWeightOp store : program.getOps<StoreWeightOp>()) {
      weights.push_back(describeWeight(build, store));
    }
  }
  for (const LevelCode &level : levels) {
    codes.push_back(build.record(
        {build.text(level.name), build.i64(level.requirements),
         level.run.empty() ? build.null() : build.function(level.run),
         level.launches.empty() ? build.null() : build.constant(level.launches),
         level.device.empty() ? build.null() : build.constant(level.device)}));
  }
  auto model = tiled->getAttrOfType<StringAttr>("hova.model");
  llvm::Constant *program = build.record(
      {build.i32(HOVA_ABI_VERSION),
       build.i32(codes.size()),
       build.text(model ? model.getValue() : options.prefix),
       build.array(codes),
       build.i32(inputs.size()),
       build.i32(outputs.size()),
       build.array(inputs),
       build.array(outputs),
       build.i64(integer(kArenaBytesAttr)),
       build.i64(integer(kImageBytesAttr)),
       build.text(weightDigest(tiled)),
       options.packArguments.empty() ? build.null()
                                     : build.text(options.packArguments),
       build.i64(flops),
       build.i64(executed),
       build.i32(kernels.size()),
       build.i32(values.size()),
       build.array(kernels),
       build.array(values),
       build.text(options.compilerVersion),
       build.text(nameOf(options.storage)),
       build.i32(parts.size()),
       build.i32(weights.size()),
       build.array(parts),
       build.array(weights),
       options.alternativePrefix.empty()
           ? build.null()
           : build.constant(programName(options.alternativePrefix)),
       bill.empty() ? build.null() : build.section(kBillSection, bill),
       describeRanges(build, main)});
  new llvm::GlobalVariable(module, program->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, program,
                           programName(options.prefix));
}

} // namespace hova
