//===- FusionPolicy.cpp - Which kernels pay on a CPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/HovaCpuDialect.h"
#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"
#include "passes/fuse/Grouping.h"

using namespace mlir;

namespace hova {

LogicalResult
CpuFusionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t fewRows, int64_t leastMacs, int64_t fewUnits,
                      int64_t leastBlock, int64_t partTerms) {
  if (fewRows < 0 || leastMacs < 0 || fewUnits < 0 || leastBlock < 1 ||
      partTerms < 1) {
    return emitError() << "expects 'few_rows', 'least_macs' and 'few_units' "
                          "from 0 on, and 'least_block' and 'part_terms' from "
                          "1 on";
  }
  return success();
}

/// What a thread has of an attention are blocks of rows of one head, and what
/// reads them wants tiles of rows with all columns.
bool CpuFusionAttr::pays(const Group &kernel, Operation *op,
                         std::string *why) const {
  if (kernel.division != Division::inner) {
    return true;
  }
  if (why) {
    *why = whyNoRows(kernel.ops.front(), kernel.units);
  }
  return false;
}

bool CpuFusionAttr::dividesColumns(Operation *product, std::string *why) const {
  int64_t rows = staticSize(shapeOf(product->getResult(0)).drop_back());
  int64_t macs = *cast<CostOpInterface>(product).getLinearMacs();
  if (rows >= getFewRows() || macs < getLeastMacs()) {
    return false;
  }
  if (why) {
    std::string fewRows = std::to_string(getFewRows());
    std::string leastMacs = std::to_string(getLeastMacs());
    *why =
        ("dividing rows does not pay for '" +
         product->getName().getStringRef() + "': " + Twine(rows) +
         " rows against " + fewRows + ", and " + Twine(macs) +
         " multiply-accumulates against " + leastMacs + "; it pays from " +
         fewRows + " rows on, or below " + leastMacs + " multiply-accumulates")
            .str();
  }
  return true;
}

/// Threads that add up whole sums wait for nobody; those that read parts merge
/// them, each for itself.
std::optional<ReductionSplit>
CpuFusionAttr::chooseSplit(SplitReductionOpInterface op,
                           const Reduction &reduction, std::string *) const {
  return reduction.isAlwaysSplit ? std::optional(ReductionSplit{
                                       reduction.fitLength(getPartTerms())})
                                 : std::nullopt;
}

int64_t CpuFusionAttr::chooseBlocks(int64_t units, int64_t size) const {
  return units < getFewUnits() ? std::max<int64_t>(size / getLeastBlock(), 1)
                               : 1;
}

} // namespace hova
