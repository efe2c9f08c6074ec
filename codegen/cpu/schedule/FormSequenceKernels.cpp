//===- FormSequenceKernels.cpp - One kernel for short sequences -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations on sequences of 16 tokens and few channels, with an attention
// among them, become one kernel whose threads divide the sequences. Nothing in
// it depends on another sequence, so the attention needs no kernel of its own,
// and the tokens of some sequences lie in the lanes of vectors, which channels
// would leave empty (codegen/cpu/recipes/TokenLanes.h). Runs before the fusion
// of rows, which keeps kernels that are there. Does nothing to other shapes,
// other storage than f32, chains without an attention, which rows serve as
// well, and windows of images.

#include "codegen/cpu/CpuFacts.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/Recipe.h"
#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Units.h"
#include "passes/Verdict.h"
#include "passes/fuse/KernelBuilder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_FORMSEQUENCEKERNELSPASS
#include "codegen/cpu/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-form-sequence-kernels";

//===----------------------------------------------------------------------===//
// What takes part
//===----------------------------------------------------------------------===//

/// The number of sequences of a value [sequences, 16, channels] of f32 that a
/// kernel of sequences may hold; 0 for others.
static int64_t countSequences(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() != 3 ||
      !type.getElementType().isF32() ||
      type.getShape()[1] != CpuFacts::sequenceTokens ||
      type.getShape()[2] > CpuFacts::mostSequenceChannels) {
    return 0;
  }
  return type.getShape()[0];
}

static bool isVector(Value value, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getElementType().isF32() && type.getRank() == 1 &&
         type.getShape()[0] == size;
}

/// Whether element-wise operands line up: values of the result's shape, and
/// weights with an element for each channel.
static bool linesUp(Operation *op) {
  Value result = op->getResult(0);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return operand.getDefiningOp<ImageWeightOp>()
               ? isVector(operand, shapeOf(result).back())
               : operand.getType() == result.getType();
  });
}

/// Whether every operand is a value of as many sequences, or a vector or matrix
/// of weights in f32. Weights that look like sequences would be some of a batch
/// of one only, and no batch has a kernel that adds in another order.
static bool readsSequences(Operation *op, int64_t sequences) {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return operand.getDefiningOp<ImageWeightOp>()
               ? getElementTypeOrSelf(operand).isF32() &&
                     shapeOf(operand).size() <= 2
               : countSequences(operand) == sequences;
  });
}

/// The sequences that `op` works on one by one; 0 if it does not.
static int64_t countSequences(Operation *op) {
  int64_t count =
      op->getNumResults() == 1 ? countSequences(op->getResult(0)) : 0;
  if (!count || !readsSequences(op, count)) {
    return 0;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    return slice.takesColumns() ? count : 0;
  }
  bool takesPart = tokenLanesOf(op) || (isElementwise(op) && linesUp(op));
  return takesPart ? count : 0;
}

/// Whether `op` is an attention on several sequences so short that somebody may
/// ask why their tokens are not in lanes.
static bool isOnShortSequences(Operation *op) {
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  return divisionOf(op) == Division::inner && type && type.hasStaticShape() &&
         type.getRank() == 3 && type.getShape()[0] > 1 &&
         type.getShape()[1] <= CpuFacts::shortTokens;
}

/// The first reason why an attention takes no part.
static Verdict declineOf(Operation *attention) {
  Value result = attention->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(result);
  std::string name = "'" + attention->getName().getStringRef().str() + "'";
  if (shape[1] != CpuFacts::sequenceTokens) {
    return Verdict::decline("sequences of " + llvm::Twine(shape[1]) + " tokens",
                            "they have " +
                                llvm::Twine(CpuFacts::sequenceTokens));
  }
  if (!getElementTypeOrSelf(result).isF32()) {
    std::string type;
    llvm::raw_string_ostream(type) << getElementTypeOrSelf(result);
    return Verdict::decline("values of " + llvm::Twine(type), "storage of f32");
  }
  if (shape[2] > CpuFacts::mostSequenceChannels) {
    return Verdict::decline(llvm::Twine(shape[2]) + " channels",
                            "at most " +
                                llvm::Twine(CpuFacts::mostSequenceChannels));
  }
  if (!tokenLanesOf(attention)) {
    auto lanes = dyn_cast<CpuTokenLanesOpInterface>(attention);
    return Verdict::decline(name + " has no such loops as it is",
                            lanes ? *lanes.declineTokenLanes()
                                  : "its recipe has loops for tokens in lanes");
  }
  return Verdict::decline(name + " reads more than such sequences",
                          "its operands are sequences of that kind, too");
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// Operations that become one kernel.
struct Region {
  int64_t sequences = 0;
  llvm::SetVector<Operation *> ops;
  /// What depends on the region without being part of it.
  DenseSet<Operation *> after;
  /// Another region depends on it, and must not be what it depends on.
  bool isClosed = false;

  bool add(Operation *op, int64_t count) {
    bool isAfter = llvm::any_of(op->getOperands(), [&](Value operand) {
      return after.contains(operand.getDefiningOp());
    });
    if (!isAfter && !isClosed && count && (ops.empty() || count == sequences)) {
      sequences = count;
      return ops.insert(op);
    }
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      return ops.contains(operand.getDefiningOp());
    });
    if (isAfter || depends) {
      after.insert(op);
    }
    return false;
  }

  /// A kernel yields what it computes, and a slice is an address: readers
  /// outside have one of their own.
  void keepSlicesInside() {
    for (Operation *op : ops) {
      if (!isa<SliceOp>(op)) {
        continue;
      }
      OpBuilder builder(op);
      Value outside = builder.clone(*op)->getResult(0);
      op->getResult(0).replaceUsesWithIf(outside, [&](OpOperand &use) {
        return !ops.contains(use.getOwner());
      });
      if (outside.use_empty()) {
        outside.getDefiningOp()->erase();
      }
    }
    ops.remove_if([](Operation *op) {
      bool isDead = op->use_empty();
      if (isDead) {
        op->erase();
      }
      return isDead;
    });
  }

  /// Rows serve what has no attention as well, and only they are read and
  /// written where a rearrangement says: such a kernel would need a copy.
  bool isWorthAKernel() const {
    bool isRearranged = llvm::any_of(ops, [](Operation *op) {
      return llvm::any_of(op->getUsers(), llvm::IsaPred<RearrangeOp>) ||
             llvm::any_of(op->getOperands(), [](Value operand) {
               return operand.getDefiningOp<RearrangeOp>();
             });
    });
    SmallVector<Operation *> attentions;
    llvm::copy_if(ops, std::back_inserter(attentions), [](Operation *op) {
      return divisionOf(op) == Division::inner;
    });
    for (Operation *attention : attentions) {
      Verdict verdict =
          isRearranged
              ? Verdict::decline("its kernel would need a copy of rearranged "
                                 "rows",
                                 "nothing in it rearranges rows")
              : Verdict::fire(llvm::Twine(ops.size()) + " operations on " +
                              llvm::Twine(sequences) +
                              " sequences are one kernel");
      writeVerdict(attention, kPassName, verdict);
    }
    return !attentions.empty() && !isRearranged;
  }
};
} // namespace

/// All regions of a block, each as large as it gets in program order.
static SmallVector<Region> findRegions(Block &block) {
  SmallVector<Region> regions;
  for (Operation &op : block.without_terminator()) {
    int64_t count = countSequences(&op);
    bool isPlaced = false;
    for (Region &region : regions) {
      // What one region holds is after every other that it depends on.
      isPlaced |= region.add(&op, isPlaced ? 0 : count);
    }
    if (count && !isPlaced) {
      regions.emplace_back().add(&op, count);
    }
    for (Region &region : regions) {
      region.isClosed |= count && region.after.contains(&op);
    }
  }
  return regions;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// As many groups of up to four sequences as there are, all alike, and none of
/// several of `items` items.
static int64_t countGroups(int64_t sequences, int64_t items) {
  int64_t group = CpuFacts::groupSequences;
  while (sequences / items % group != 0) {
    group /= 2;
  }
  return sequences / group;
}

static bool isReadOutside(const Region &region, Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return !region.ops.contains(user);
  });
}

static void formKernel(const Region &region, int64_t items) {
  llvm::SetVector<Value> inputs;
  SmallVector<Value> results;
  for (Operation *op : region.ops) {
    for (Value operand : op->getOperands()) {
      if (!region.ops.contains(operand.getDefiningOp())) {
        inputs.insert(operand);
      }
    }
    if (isReadOutside(region, op)) {
      results.push_back(op->getResult(0));
    }
  }
  Operation *namesake = namesakeOf(region.ops.getArrayRef());
  OpBuilder builder(region.ops.back());
  StringRef path = pathOf(namesake->getLoc());
  auto kernel = KernelOp::create(
      builder, namesake->getLoc(), ValueRange(results).getTypes(),
      path.empty() ? "main" : path, inputs.getArrayRef(),
      sequenceUnits(builder.getContext(), countGroups(region.sequences, items)),
      ArrayAttr(), ArrayAttr(), ScheduleAttrInterface());
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs) {
    mapping.map(input, body.addArgument(input.getType(), input.getLoc()));
  }
  builder.setInsertionPointToStart(&body);
  for (Operation *op : region.ops) {
    builder.clone(*op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value result : results) {
    yielded.push_back(mapping.lookup(result));
  }
  YieldOp::create(builder, kernel.getLoc(), yielded);
  for (auto [old, result] : llvm::zip(results, kernel.getResults())) {
    old.replaceAllUsesWith(result);
  }
  for (Operation *op : llvm::reverse(region.ops)) {
    op->erase();
  }
}

namespace {
struct FormSequenceKernelsPass final
    : impl::FormSequenceKernelsPassBase<FormSequenceKernelsPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal() || SequenceRanges::ofTokens(main)) {
      return;
    }
    std::optional<SequenceRanges> ranges = SequenceRanges::readFrom(main);
    int64_t items = ranges ? ranges->items : 1;
    Block &block = main.getBody().front();
    bool any = false;
    for (Operation &op : block) {
      if (isOnShortSequences(&op) && !countSequences(&op)) {
        writeVerdict(&op, kPassName, declineOf(&op));
      }
    }
    for (Region &region : findRegions(block)) {
      if (region.isWorthAKernel() && region.sequences % items == 0) {
        region.keepSlicesInside();
        formKernel(region, items);
        any = true;
      }
    }
    // Readers that stood between a region's operations.
    if (any) {
      sortTopologically(&block);
    }
  }
};
} // namespace
} // namespace hova
