//===- NormalizeRotations.cpp - Partners of a rotation beside each other --===//
// SPDX-License-Identifier: Apache-2.0
//
// A rotation joins the tile of what makes its rows where partners are
// neighbours. In half of all models they stand half a head apart. A score is a
// sum over the columns of a head, whose order is no matter as long as queries
// and keys have the same: so where nothing but scores reads them, the columns
// of both projections are put in an order in which partners are neighbours,
// which is done to weights and costs nothing in a run. Elsewhere the rotation
// is written as operations that move columns, multiply and add.
//
// Besides, tables get as many columns as every tile has a part of: a table of
// 80 columns is written twice, and a tile of 32 columns lies within it.

#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/columns/ColumnOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Verdict.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"
#include "llvm/ADT/SetVector.h"
#include <numeric>

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZEROTATIONSPASS
#include "passes/normalize/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-normalize-rotations";

/// What divides the columns of a table: no tile of any target has more.
static constexpr int64_t kTileColumns = 64;

//===----------------------------------------------------------------------===//
// Columns in another order
//===----------------------------------------------------------------------===//

namespace {
/// Moves the columns of values by those operations that also weights have.
class ColumnMover {
public:
  ColumnMover(RewriterBase &rewriter, RotateOp op)
      : rewriter(rewriter), loc(op.getLoc()),
        period(shapeOf(op.getCosines())[1]),
        distance(static_cast<int64_t>(op.getDistance())) {}

  /// Of all columns that are pairs, partners beside each other.
  Value makeNeighbours(Value x) {
    return ofPairs(x, [&](Value first, Value second, int64_t pairs) {
      return concat({reshape(first, {pairs, distance, 1}),
                     reshape(second, {pairs, distance, 1})},
                    2);
    });
  }
  /// Every column in the place of its partner.
  Value exchange(Value x) {
    return ofPairs(x, [&](Value first, Value second, int64_t) {
      return concat({second, first}, 1);
    });
  }
  /// The columns of x `times` over.
  Value repeat(Value x, int64_t times) {
    SmallVector<Value> copies(times, x);
    return times == 1 ? x : concat(copies, shapeOf(x).size() - 1);
  }

private:
  using Body = llvm::function_ref<Value(Value, Value, int64_t)>;

  /// What `body` makes of the first and second columns of pairs, [runs, 1,
  /// distance] each, in their place; others stay.
  Value ofPairs(Value x, Body body) {
    SmallVector<int64_t> shape(shapeOf(x));
    int64_t periods = staticSize(shape) / period;
    int64_t runs = period / (2 * distance), paired = runs * 2 * distance;
    bool areAll = paired == period;
    Value all = areAll ? x : reshape(x, {periods, period});
    Value pairs = reshape(areAll ? x : slice(all, 1, 0, paired),
                          {periods * runs, 2, distance});
    Value first = slice(pairs, 1, 0, 1), second = slice(pairs, 1, 1, 1);
    Value moved = body(first, second, periods * runs);
    if (!areAll) {
      moved = concat({reshape(moved, {periods, paired}),
                      slice(all, 1, paired, period - paired)},
                     1);
    }
    return reshape(moved, shape);
  }

  Value reshape(Value x, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(x.getType());
    return shape == type.getShape()
               ? x
               : Value(ReshapeOp::create(rewriter, loc, type.clone(shape), x));
  }
  Value slice(Value x, int64_t axis, int64_t offset, int64_t size) {
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (shape[axis] == size) {
      return x;
    }
    shape[axis] = size;
    return SliceOp::create(rewriter, loc, type.clone(shape), x, axis, offset);
  }
  Value concat(ArrayRef<Value> parts, int64_t axis) {
    auto type = cast<RankedTensorType>(parts.front().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 0;
    for (Value part : parts) {
      shape[axis] += shapeOf(part)[axis];
    }
    return ConcatOp::create(rewriter, loc, type.clone(shape), parts, axis);
  }

  RewriterBase &rewriter;
  Location loc;
  int64_t period, distance;
};
} // namespace

//===----------------------------------------------------------------------===//
// Where the order is no matter
//===----------------------------------------------------------------------===//

static bool hasOrder(RotateOp op, RotateOp other) {
  return op.getDistance() == other.getDistance() &&
         shapeOf(op.getCosines())[1] == shapeOf(other.getCosines())[1];
}

/// The rotation that makes `value`, or what a conversion stores of it.
static RotateOp rotationOf(Value value) {
  while (auto conversion = value.getDefiningOp<ConvertOp>()) {
    value = conversion.getX();
  }
  return value.getDefiningOp<RotateOp>();
}

/// What reads the columns of `value`, in any type.
static void collectUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : value.getUses()) {
    if (auto conversion = dyn_cast<ConvertOp>(use.getOwner())) {
      collectUses(conversion.getResult(), uses);
    } else {
      uses.push_back(&use);
    }
  }
}

/// The rotation whose columns meet those of `use` in scores; null where the use
/// is another one.
static RotateOp partnerOf(OpOperand &use) {
  auto attention = dyn_cast<AttentionOp>(use.getOwner());
  if (!attention || !isa<DotAttr>(attention.getSimilarity()) ||
      attention.getMemoryKey()) {
    return {};
  }
  switch (use.getOperandNumber()) {
  case 0:
    return rotationOf(attention.getKey());
  case 1:
    return rotationOf(attention.getQuery());
  default:
    return {};
  }
}

namespace {
/// What makes the columns of queries or keys, which may be put in another
/// order: nothing else reads them, and they are computed of weights.
struct Source {
  LinearOp linear;
  LayerNormOp norm; ///< of each head; null: none
};
} // namespace

static std::optional<Source> sourceOf(RotateOp op,
                                      const WeightValues &weights) {
  auto isWeight = [&](Value value) { return !value || weights.makes(value); };
  Value x = op.getX();
  Source source;
  source.norm = x.getDefiningOp<LayerNormOp>();
  if (LayerNormOp norm = source.norm) {
    int64_t width = shapeOf(x).back() / static_cast<int64_t>(norm.getHeads());
    if (!norm->hasOneUse() || width != shapeOf(op.getCosines())[1] ||
        !isWeight(norm.getGain()) || !isWeight(norm.getBias())) {
      return std::nullopt;
    }
    x = norm.getX();
  }
  source.linear = x.getDefiningOp<LinearOp>();
  bool isMovable = source.linear && source.linear->hasOneUse() &&
                   !source.linear.getTransposed() &&
                   isWeight(source.linear.getWeight()) &&
                   isWeight(source.linear.getBias());
  return isMovable ? std::optional(source) : std::nullopt;
}

/// Those of `rotations` that scores alone read, whose other sides are of them
/// too.
static llvm::SetVector<RotateOp> findMovable(ArrayRef<RotateOp> rotations,
                                             const WeightValues &weights) {
  llvm::SetVector<RotateOp> movable;
  for (RotateOp op : rotations) {
    // The second head of an odd width begins with the second column of a pair.
    bool isEven = shapeOf(op.getCosines())[1] % 2 == 0;
    if (isEven && sourceOf(op, weights)) {
      movable.insert(op);
    }
  }
  auto isLost = [&](RotateOp op) {
    SmallVector<OpOperand *> uses;
    collectUses(op.getResult(), uses);
    return llvm::any_of(uses, [&](OpOperand *use) {
      RotateOp partner = partnerOf(*use);
      return !partner || !movable.contains(partner) || !hasOrder(op, partner);
    });
  };
  while (movable.remove_if(isLost)) {
  }
  return movable;
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

/// rotate (linear %x, %w), .. {distance = 16}
///   -> rotate (linear %x, %w in another order), ..
static Verdict orderColumns(RewriterBase &rewriter, RotateOp op,
                            const WeightValues &weights) {
  Source source = *sourceOf(op, weights);
  ColumnMover mover(rewriter, op);
  auto move = [&](Operation *owner, ValueRange values) {
    rewriter.setInsertionPoint(owner);
    for (Value value : llvm::make_filter_range(
             values, [](Value value) { return value != nullptr; })) {
      owner->replaceUsesOfWith(value, mover.makeNeighbours(value));
    }
  };
  LinearOp linear = source.linear;
  move(linear, {linear.getWeight(), linear.getBias()});
  if (LayerNormOp norm = source.norm) {
    move(norm, {norm.getGain(), norm.getBias()});
  }
  rewriter.setInsertionPoint(op);
  Value cosine = mover.makeNeighbours(op.getCosines());
  Value sine = mover.makeNeighbours(op.getSines());
  std::string apart = std::to_string(op.getDistance());
  rewriter.modifyOpInPlace(op, [&] {
    op.getCosinesMutable().assign(cosine);
    op.getSinesMutable().assign(sine);
    op.setDistance(1);
  });
  return Verdict::fire("partners that were " + apart +
                       " columns apart are neighbours: scores alone read "
                       "them, in any order of columns");
}

/// rotate %x, %c, %s -> add (multiply %x, %c), (multiply (exchanged %x), %s)
static void writeOut(RewriterBase &rewriter, RotateOp op) {
  ColumnMover mover(rewriter, op);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  int64_t times = shapeOf(op.getX()).back() / shapeOf(op.getCosines())[1];
  Value kept = MultiplyOp::create(rewriter, loc, op.getX(),
                                  mover.repeat(op.getCosines(), times));
  Value turned = MultiplyOp::create(rewriter, loc, mover.exchange(op.getX()),
                                    mover.repeat(op.getSines(), times));
  auto sum = AddOp::create(rewriter, loc, kept, turned);
  inheritSite(sum, op);
  writeVerdict(sum, kPassName,
               Verdict::decline("partners are " +
                                    llvm::Twine(op.getDistance()) +
                                    " columns apart, and their order is read",
                                "partners are neighbours, or a linear of its "
                                "own makes what is rotated, and scores with "
                                "keys that are rotated alike alone read it"));
  rewriter.replaceOp(op, sum);
}

/// Tables of so many columns that tiles lie within them.
static void lineUpTables(RewriterBase &rewriter, RotateOp op) {
  int64_t period = shapeOf(op.getCosines())[1];
  int64_t width = shapeOf(op.getX()).back();
  int64_t times = std::lcm(period, kTileColumns) / period;
  if (width % (times * period) != 0) {
    times = width / period;
  }
  if (times == 1) {
    return;
  }
  rewriter.setInsertionPoint(op);
  ColumnMover mover(rewriter, op);
  Value cosine = mover.repeat(op.getCosines(), times);
  Value sine = mover.repeat(op.getSines(), times);
  rewriter.modifyOpInPlace(op, [&] {
    op.getCosinesMutable().assign(cosine);
    op.getSinesMutable().assign(sine);
  });
}

namespace {
struct NormalizeRotationsPass final
    : impl::NormalizeRotationsPassBase<NormalizeRotationsPass> {
  using Base::Base;
  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    SmallVector<RotateOp> rotations, all;
    getOperation().walk([&](RotateOp op) {
      if (hasStaticShapes(op)) {
        all.push_back(op);
      }
    });
    llvm::copy_if(all, std::back_inserter(rotations),
                  [](RotateOp op) { return !joinsTiles(op); });
    WeightValues weights(getOperation().getBody().front());
    IRRewriter rewriter(&getContext());
    llvm::SetVector<RotateOp> movable = findMovable(rotations, weights);
    for (RotateOp op : rotations) {
      if (movable.contains(op)) {
        writeVerdict(op, kPassName, orderColumns(rewriter, op, weights));
      } else {
        llvm::erase(all, op);
        writeOut(rewriter, op);
      }
    }
    for (RotateOp op : all) {
      lineUpTables(rewriter, op);
    }
  }
};
} // namespace
} // namespace hova
