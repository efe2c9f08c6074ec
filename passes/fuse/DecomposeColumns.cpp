//===- DecomposeColumns.cpp - Store a product's columns as they are read --===//
// SPDX-License-Identifier: Apache-2.0
//
// Of a merged product with 16-bit storage some columns may be read in the
// storage type (queries, keys, values) and some in f32 (what horizontal and
// vertical attention add up). Stored in both types, each column would be
// written twice and read once.

#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_DECOMPOSECOLUMNSPASS
#include "passes/fuse/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-decompose-columns";

namespace {
/// Slices that follow each other and read one value: the product or one of its
/// conversions.
struct Run {
  Value source;
  ColumnRange columns;
  SmallVector<SliceOp> slices;
};
} // namespace

/// The slices that read `value`; nothing where something else does.
static bool collectSlices(Value value, SmallVectorImpl<SliceOp> &slices) {
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice || !slice.takesColumns()) {
      return false;
    }
    slices.push_back(slice);
  }
  return true;
}

/// The slices that read a product or its conversions, by column.
static SmallVector<Run> collectRuns(LinearOp product) {
  SmallVector<SliceOp> slices;
  for (Operation *user : product->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    auto conversion = dyn_cast<ConvertOp>(user);
    if (slice && slice.takesColumns()) {
      slices.push_back(slice);
    } else if (!conversion || !collectSlices(conversion.getResult(), slices)) {
      return {};
    }
  }
  llvm::sort(slices, [](SliceOp a, SliceOp b) {
    return a.getOffset() < b.getOffset();
  });
  SmallVector<Run> runs;
  for (SliceOp slice : slices) {
    ColumnRange columns = columnsOf(slice);
    if (runs.empty() || runs.back().source != slice.getX()) {
      runs.push_back({slice.getX(), columns, {}});
    }
    Run &run = runs.back();
    run.columns.to = std::max(run.columns.to, columns.to);
    run.slices.push_back(slice);
  }
  return runs;
}

/// What reads all columns of a product of which some are values of their own,
/// in either of its types; null where it has one type or nothing does.
static Operation *findWholeReader(LinearOp product) {
  Operation *whole = nullptr;
  bool isConverted = false, isPlain = false, isSliced = false;
  auto visit = [&](Value value) {
    for (Operation *user : value.getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      bool takesColumns = slice && slice.takesColumns();
      isSliced |= takesColumns;
      if (value == product.getResult() && isa<ConvertOp>(user)) {
        isConverted = true;
        continue;
      }
      isPlain |= value == product.getResult();
      whole = takesColumns ? whole : user;
    }
  };
  visit(product.getResult());
  for (Operation *user : product->getUsers()) {
    if (isa<ConvertOp>(user)) {
      visit(user->getResult(0));
    }
  }
  return isConverted && isPlain && isSliced ? whole : nullptr;
}

/// Whether some runs are of the product and some of a conversion.
static bool isMixed(ArrayRef<Run> runs, LinearOp product) {
  auto isPlain = [&](const Run &run) {
    return run.source == product.getResult();
  };
  return llvm::any_of(runs, isPlain) && !llvm::all_of(runs, isPlain);
}

/// Whether the runs are column groups that do not overlap.
static bool areColumnGroups(ArrayRef<Run> runs, LinearOp product,
                            int64_t groupWidth) {
  int64_t width = shapeOf(product.getResult()).back(), end = 0;
  return llvm::all_of(runs, [&](const Run &run) {
    bool fits =
        run.columns.from >= end && run.columns.isColumnGroup(width, groupWidth);
    end = run.columns.to;
    return fits;
  });
}

/// %c = convert %y ; slice %c ; slice %y
///   -> %a = slice %y ; %c = convert %a ; slice %c ; %b = slice %y ; slice %b
static void decompose(ArrayRef<Run> runs, LinearOp product) {
  OpBuilder builder(product->getContext());
  builder.setInsertionPointAfter(product);
  auto type = cast<RankedTensorType>(product.getResult().getType());
  SmallVector<int64_t> shape(type.getShape());
  llvm::SmallPtrSet<Operation *, 2> conversions;
  int64_t converted = 0;
  for (const Run &run : runs) {
    Location loc = SliceOp(run.slices.front()).getLoc();
    shape.back() = run.columns.to - run.columns.from;
    Value part =
        SliceOp::create(builder, loc, type.clone(shape), product.getResult(),
                        shape.size() - 1, run.columns.from);
    if (auto conversion = run.source.getDefiningOp<ConvertOp>()) {
      part = ConvertOp::create(
          builder, loc,
          cast<RankedTensorType>(run.source.getType()).clone(shape), part);
      inheritSite(part.getDefiningOp(), conversion);
      conversions.insert(conversion);
      converted += shape.back();
    }
    for (SliceOp slice : run.slices) {
      slice.getXMutable().assign(part);
      slice.setOffset(slice.getOffset() - run.columns.from);
    }
  }
  for (Operation *conversion : conversions) {
    conversion->erase();
  }
  writeVerdict(product, kPassName,
               Verdict::fire("stores " + llvm::Twine(converted) + " of " +
                             llvm::Twine(type.getShape().back()) +
                             " columns in the storage type alone"));
}

namespace {
struct DecomposeColumnsPass final
    : impl::DecomposeColumnsPassBase<DecomposeColumnsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<LinearOp> products;
    getOperation().walk([&](LinearOp op) { products.push_back(op); });
    for (LinearOp product : products) {
      if (Operation *whole = findWholeReader(product)) {
        writeVerdict(
            product, kPassName,
            Verdict::decline("something reads all columns: '" +
                                 whole->getName().getStringRef() + "'",
                             "slices of columns alone read the product"));
        continue;
      }
      SmallVector<Run> runs = collectRuns(product);
      if (!isMixed(runs, product)) {
        continue;
      }
      if (!areColumnGroups(runs, product, columnGroupWidth)) {
        writeVerdict(
            product, kPassName,
            Verdict::decline("columns of two types share a column group of " +
                                 llvm::Twine(columnGroupWidth),
                             "each type's are whole column groups"));
        continue;
      }
      decompose(runs, product);
    }
  }
};
} // namespace
} // namespace hova
