//===- RangedLaunches.cpp - Launches of programs with ranges --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/RangedLaunches.h"
#include "dialect/Shapes.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "passes/Units.h"
#include "passes/tile/ProgramAttrs.h"

using namespace mlir;

namespace hova {

/// What the units of a kernel are as many times in a program with ranges; empty
/// where their number is that of all runs.
static StringRef extentOfUnits(KernelOp kernel) {
  Division division = divisionOf(kernel);
  if (!SequenceRanges::readFrom(kernel) || division == Division::columnStrips) {
    return "";
  }
  Value result = firstOf(kernel)->getResult(0);
  Extent extent = extentOf(result);
  if (extent == Extent::fixed) {
    return ""; // of weights alone
  }
  // Those inside of rows, as heads, are each of an item; so are rows of tokens.
  bool isTokens = division == Division::rows && shapeOf(result).size() == 3 &&
                  areTokens(extent);
  return nameOf(isTokens ? extent : Extent::items);
}

LogicalResult copyRanges(func::FuncOp main, func::FuncOp tiled) {
  std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(main);
  for (StringRef name : {kRangesAttr, kRangeNamesAttr}) {
    if (Attribute ranges = main->getAttr(name)) {
      tiled->setAttr(name, ranges);
    }
  }
  for (auto [kernel, launch] :
       llvm::zip_equal(main.getOps<KernelOp>(), tiled.getOps<LaunchOp>())) {
    StringRef extent = extentOfUnits(kernel);
    int64_t units = kernel.getUnits() ? kernel.getUnits()->count() : 0;
    if (!extent.empty() && units % ranges->items != 0) {
      return kernel.emitOpError("has ")
             << units << " units, of which each of " << ranges->items
             << " items has not as many";
    }
    if (!extent.empty()) {
      launch->setAttr(kExtentAttr, StringAttr::get(main.getContext(), extent));
    }
  }
  return success();
}

} // namespace hova
