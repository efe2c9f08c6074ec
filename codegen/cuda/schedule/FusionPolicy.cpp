//===- FusionPolicy.cpp - Which kernels pay on a GPU ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/HovaCudaDialect.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "codegen/cuda/recipes/linear_attention/FeatureWriter.h"
#include "dialect/Interfaces.h"
#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/Storage.h"
#include "passes/Columns.h"
#include "passes/fuse/Grouping.h"

using namespace mlir;

namespace hova {

/// Whether `value` is computed in the group, or a slice of what is.
static bool isOfGroup(const Group &kernel, Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isColumnSlice(op) && !llvm::is_contained(kernel.ops, op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  return op && llvm::is_contained(kernel.ops, op);
}

/// Adds `op` to columns, after the slices that it reads of the kernel's
/// values. Returns whether it computes columns of the first operation.
static bool addColumns(StageColumns &columns, const Group &kernel,
                       Operation *op) {
  for (Value operand : op->getOperands()) {
    Operation *slice = operand.getDefiningOp();
    if (slice && isColumnSlice(slice) && isOfGroup(kernel, operand) &&
        !addColumns(columns, kernel, slice)) {
      return false;
    }
  }
  if (!columns.find(op)) {
    return false;
  }
  columns.add(op);
  return true;
}

/// Whether what `op` reads of the kernel's tile are the same columns of it, or
/// of both halves where a tile holds these: other parts of a row lie in other
/// threads.
static bool readsColumnsAlike(const Group &kernel, Operation *op) {
  ArrayRef<Operation *> ops = kernel.ops;
  Operation *anchor = tileAnchorOf(ops);
  StageColumns columns(holdsHalves(anchor));
  bool isScaled = anchor != ops.front();
  return llvm::all_of(ops.drop_front(isScaled),
                      [&](Operation *inside) {
                        return summedColumnsOf(inside) ||
                               addColumns(columns, kernel, inside);
                      }) &&
         addColumns(columns, kernel, op);
}

/// Whether operands of `op` but the first are there before the kernel begins.
static bool readsOthersFromMemory(const Group &kernel, Operation *op) {
  return llvm::none_of(llvm::drop_begin(op->getOperands()), [&](Value operand) {
    return isOfGroup(kernel, operand);
  });
}

/// Whether `op` works on whole rows of the kernel's tile, which a block can
/// have.
static bool joinsWholeRows(const Group &kernel, Operation *op) {
  Operation *anchor = tileAnchorOf(kernel.ops);
  return joinsRows(op) && canHoldRows(anchor) &&
         llvm::is_contained(kernel.ops, op->getOperand(0).getDefiningOp()) &&
         readsOthersFromMemory(kernel, op) &&
         shapeOf(op->getResult(0)).back() ==
             shapeOf(anchor->getResult(0)).back();
}

/// Whether `op` leaves sums of columns of the kernel's tile, in which they lie
/// where they lie in the row.
static bool joinsSums(const Group &kernel, Operation *op) {
  Operation *anchor = tileAnchorOf(kernel.ops);
  Value summed = op->getOperand(0);
  return summedColumnsOf(op) && anchor == kernel.ops.front() &&
         llvm::is_contained(kernel.ops, summed.getDefiningOp()) &&
         shapeOf(summed).back() == shapeOf(anchor->getResult(0)).back();
}

bool CudaFusionAttr::pays(const Group &kernel, Operation *op,
                          std::string *why) const {
  if (kernel.division == Division::inner) {
    if (joinsHeads(op) && holdsHeads(kernel.ops.front())) {
      return true;
    }
    if (why) {
      *why = whyNoRows(kernel.ops.front(), kernel.units);
    }
    return false;
  }
  bool reads = llvm::any_of(op->getOperands(), [&](Value operand) {
    return isOfGroup(kernel, operand);
  });
  bool joins = reads && (joinsTiles(op) || (joinsElements(op) &&
                                            readsOthersFromMemory(kernel, op)));
  if (joinsSums(kernel, op) || joinsWholeRows(kernel, op) ||
      (joins && readsColumnsAlike(kernel, op))) {
    return true;
  }
  if (kernel.ops.size() == 1 && scalingOf(op) == kernel.ops.front()) {
    return true;
  }
  Operation *first = tileAnchorOf(kernel.ops);
  StringRef anchor = first->getName().getStringRef();
  if (why && joins) {
    *why = ("'" + op->getName().getStringRef() +
            "' reads different columns of the tile of '" + anchor +
            "', which lie in different threads; it joins if they are the same" +
            (holdsHalves(first) ? " or in the same place of both halves" : ""))
               .str();
  } else if (why) {
    *why = ("'" + op->getName().getStringRef() +
            "' is not element-wise on the tile of '" + anchor +
            "', the only one that a block of threads holds; it joins if it is")
               .str();
  }
  return false;
}

/// Whether what joins kernels of whole rows reads what becomes of `value`
/// element by element, with what is there before `product`: the kernel adds
/// parts of rows as it reads.
static bool isReadByRows(Value value, Operation *product) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    bool isNext = llvm::all_of(user->getOperands(), [&](Value operand) {
      Operation *other = operand.getDefiningOp();
      return operand == value || !other || other->isBeforeInBlock(product);
    });
    return isNext &&
           (joinsRows(user) ||
            (joinsTiles(user) && isReadByRows(user->getResult(0), product)));
  });
}

/// The type of what is multiplied, if anything is.
static Type typeOfFactors(Operation *op) {
  return getElementTypeOrSelf(op->getNumOperands() > 0 ? op->getOperand(0)
                                                       : op->getResult(0));
}

/// Sums are reckoned as those of a product with as many rows, columns and
/// terms, whatever the operation: of one that a library brings nothing else is
/// known. Columns that are read apart stay its own, and what takes factors has
/// them in one kernel.
std::optional<ReductionSplit>
CudaFusionAttr::chooseSplit(SplitReductionOpInterface op,
                            const Reduction &reduction,
                            std::string *why) const {
  if (reduction.isAlwaysSplit) {
    // Rows of a causal one that a block of threads holds read one part by its
    // scores. Tensor cores have ten times the rate of multiply-adds of f32.
    return ReductionSplit{
        reduction.fitLength(reduction.isCausal ? kSumsRows : kPartTerms),
        /*mergesApart=*/true,
        /*isNarrow=*/storageOf(typeOfFactors(op)) != Storage::F32};
  }
  // The parts of few rows would be those of other sums than of many.
  bool isOfAnySize = SequenceRanges::readFrom(op).has_value();
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(result);
  if (shape.empty() || isOfAnySize || scalingOf(op) ||
      llvm::any_of(result.getUsers(), isColumnSlice)) {
    return std::nullopt;
  }
  int64_t rows = staticSize(shape.drop_back()), columns = shape.back();
  std::string idle = ("tiles of " + Twine(rows) + " x " + Twine(columns) +
                      " leave multiprocessors idle")
                         .str();
  auto recipe = dyn_cast<CudaRecipeOpInterface>(op.getOperation());
  CudaScheduleAttr cluster;
  if (getClusters() && reduction.isSum && recipe) {
    cluster = chooseClusterProduct(gpuOf(op), typeOfFactors(op), rows,
                                   reduction.terms, columns, reduction.unit);
  }
  if (cluster && recipe.takesSchedule(cluster)) {
    if (why) {
      *why = idle + ", and blocks of a cluster add them";
    }
    ReductionSplit split{reduction.terms / cluster.getCluster()};
    split.isInside = true;
    return split;
  }
  int64_t parts = chooseProductParts(
      gpuOf(op), typeOfFactors(op), rows, reduction.terms, columns,
      reduction.isSum && isReadByRows(result, op), reduction.unit);
  if (parts == 1) {
    return std::nullopt;
  }
  if (why) {
    *why = idle;
  }
  return ReductionSplit{reduction.terms / parts, /*mergesApart=*/true};
}

/// A norm of rows that parts of a product are added to has a launch in any
/// case. In f16 rows that are not normalised may leave the range. Levels share
/// an image of weights, so it is reckoned for the one that has all tiles.
int64_t CudaFusionAttr::chooseSquareColumns(Operation *product) const {
  ArrayRef<int64_t> shape = shapeOf(product->getResult(0));
  Type factors = typeOfFactors(product);
  if (!factors.isBF16() || shape.back() > kMostRowColumns ||
      scalingOf(product)) {
    return 0;
  }
  int64_t rows = staticSize(shape.drop_back());
  int64_t inner = shapeOf(product->getOperand(0)).back();
  // The least cluster has two blocks, which take whole turns.
  bool mayCluster =
      getClusters() && inner % (2 * productStep(factors, inner)) == 0;
  bool staysWhole = mayCluster || SequenceRanges::readFrom(product).has_value();
  int64_t parts = staysWhole ? 1
                             : chooseProductParts(gpuOf(product), factors, rows,
                                                  inner, shape.back(),
                                                  /*sumsAreFree=*/false);
  return parts == 1 ? kSquareColumns : 0;
}

/// A copy would be a launch.
bool CudaFusionAttr::addressesRows() const { return true; }

} // namespace hova
