//===- NormalizeNorms.cpp - Norms behind the products that read them ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A norm between two products reads whole rows, and a block of threads that
// computes a product has some columns. But
//
//   norm(s) W = ((s gain) W) / sqrt(mean(s^2) + eps) + (bias W)
//
// for rows s whose mean is 0: whoever makes s sums up squares of its columns,
// and who reads the norm divides. Nothing is rounded more than before: s times
// the gain is, in the place of the norm.
//
// That s has no mean is arranged, not subtracted: a mean that is larger than
// the deviations would take the digits of a rounded s. Rows to which products
// are added stay centred where the rows that they begin with and the rows of
// the weights are, and norms do not notice.

#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/dense/NormOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "passes/fuse/FusionPolicy.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZENORMSPASS
#include "passes/normalize/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-normalize-norms";

/// Whether `op` gives some of the rows of its operand, as they are.
static bool movesRows(Operation *op) {
  auto slice = dyn_cast_or_null<SliceOp>(op);
  auto pool = dyn_cast_or_null<PoolOp>(op);
  return (slice && !slice.takesColumns()) ||
         (pool && pool.getKind() == PoolKind::first);
}

static bool isOfWholeRows(LayerNormOp norm) {
  return norm.getHeads() == 1 && norm.getKind() != NormKind::l2;
}

namespace {
/// Residual streams: values of which products are a part.
class Streams {
public:
  explicit Streams(Block &block) : weights(block) {}

  const WeightValues &getWeights() const { return weights; }
  /// The product that is a summand of `sum`; null: none is that can be
  /// centred.
  LinearOp productIn(Value sum) const;
  /// Whether all that read `value` compute the same if a number is added to
  /// each of its rows.
  bool isShiftable(Value value);
  /// What takes the place of a shiftable value, whose mean is 0.
  Value center(Value value);

private:
  bool isProduct(Value value) const;
  bool isMember(Value value);
  void centerProduct(LinearOp product);
  /// `value`, computed without the mean of its rows, behind it.
  Value centerAfter(Value value);

  WeightValues weights;
  DenseMap<Value, bool> shiftable;
  DenseMap<Value, Value> centered;
};

/// A product that reads a norm, by rows of it.
struct NormReader {
  LinearOp product;
  /// What stands between, from the norm on.
  SmallVector<Operation *> path;
};
} // namespace

bool Streams::isProduct(Value value) const {
  auto linear = value.getDefiningOp<LinearOp>();
  return linear && value.hasOneUse() && !linear.getTransposed() &&
         weights.makes(linear.getWeight()) && hasStaticShapes(linear) &&
         (!linear.getBias() || weights.makes(linear.getBias()));
}

LinearOp Streams::productIn(Value sum) const {
  auto add = sum.getDefiningOp<AddOp>();
  if (!add || add.getLhs().getType() != add.getRhs().getType() ||
      !getElementTypeOrSelf(sum).isF32()) {
    return {};
  }
  for (Value summand : {add.getRhs(), add.getLhs()}) {
    if (isProduct(summand)) {
      return summand.getDefiningOp<LinearOp>();
    }
  }
  return {};
}

bool Streams::isShiftable(Value value) {
  if (auto known = shiftable.find(value); known != shiftable.end()) {
    return known->second;
  }
  bool result = llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto norm = dyn_cast<LayerNormOp>(user)) {
      return isOfWholeRows(norm) && norm.getKind() == NormKind::standard;
    }
    auto add = dyn_cast<AddOp>(user);
    bool isStream = add ? add.getLhs().getType() == add.getRhs().getType()
                        : movesRows(user);
    return isStream && isShiftable(user->getResult(0));
  });
  return shiftable[value] = result;
}

/// Whether `value` is centred where what it is made of is.
bool Streams::isMember(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isShiftable(value) &&
         (movesRows(op) ? isMember(op->getOperand(0))
                        : productIn(value) != nullptr);
}

Value Streams::centerAfter(Value value) {
  Value &known = centered[value];
  if (!known) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    known = CenterOp::create(builder, value.getLoc(), value.getType(), value);
    weights.add(known.getDefiningOp());
  }
  return known;
}

void Streams::centerProduct(LinearOp product) {
  product.getWeightMutable().assign(centerAfter(product.getWeight()));
  if (Value bias = product.getBias()) {
    product.getBiasMutable().assign(centerAfter(bias));
  }
}

Value Streams::center(Value value) {
  if (auto known = centered.find(value); known != centered.end()) {
    return known->second;
  }
  if (!isMember(value)) {
    return centerAfter(value);
  }
  centered[value] = value;
  for (OpOperand &operand : value.getDefiningOp()->getOpOperands()) {
    if (isProduct(operand.get())) {
      centerProduct(operand.get().getDefiningOp<LinearOp>());
    } else {
      operand.set(center(operand.get()));
    }
  }
  return value;
}

/// Whether all that read rows of `value`, which are those of a norm or became
/// of it by `path`, are products; appends them.
static bool collectReaders(Value value, const WeightValues &weights,
                           SmallVector<Operation *> path,
                           SmallVectorImpl<NormReader> &readers) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto linear = dyn_cast<LinearOp>(user)) {
      bool isReader = use.getOperandNumber() == 0 &&
                      weights.makes(linear.getWeight()) &&
                      getElementTypeOrSelf(linear.getResult()).isF32() &&
                      (!linear.getBias() || weights.makes(linear.getBias()));
      readers.push_back({linear, path});
      return isReader;
    }
    if (!isa<ConvertOp>(user) && !movesRows(user)) {
      return false;
    }
    SmallVector<Operation *> next = path;
    next.push_back(user);
    return collectReaders(user->getResult(0), weights, std::move(next),
                          readers);
  });
}

namespace {
/// One norm, while it becomes what its readers do.
class NormMover {
public:
  NormMover(LayerNormOp norm, int64_t columns)
      : norm(norm), builder(norm), width(shapeOf(norm.getX()).back()) {
    Value x = norm.getX();
    SmallVector<int64_t> shape(shapeOf(x));
    shape.back() = llvm::divideCeilSigned(width, columns);
    auto squares =
        RowSquaresOp::create(builder, norm.getLoc(),
                             RankedTensorType::get(shape, builder.getF32Type()),
                             x, builder.getI64IntegerAttr(columns));
    inheritSite(squares, norm);
    Value scaled = norm.getGain()
                       ? Value(MultiplyOp::create(builder, norm.getLoc(), x,
                                                  norm.getGain()))
                       : x;
    known[norm.getResult()] = {scaled, squares};
  }

  void moveBehind(const NormReader &reader, size_t count);

private:
  /// Rows as they are multiplied, and sums of their squares.
  struct Rows {
    Value scaled, squares;
  };
  Rows rowsBehind(ArrayRef<Operation *> path);
  /// The bias that is added behind the product; null: none.
  Value biasOf(LinearOp product);

  LayerNormOp norm;
  OpBuilder builder;
  int64_t width;
  DenseMap<Value, Rows> known;
};
} // namespace

NormMover::Rows NormMover::rowsBehind(ArrayRef<Operation *> path) {
  Rows rows = known.lookup(norm.getResult());
  for (Operation *op : path) {
    Rows &next = known[op->getResult(0)];
    if (!next.scaled) {
      builder.setInsertionPoint(op);
      auto moved = [&](Value value) {
        Operation *clone = builder.clone(*op);
        clone->setOperand(0, value);
        auto type = cast<RankedTensorType>(op->getResult(0).getType());
        SmallVector<int64_t> shape(type.getShape());
        shape.back() = shapeOf(value).back();
        clone->getResult(0).setType(RankedTensorType::get(
            shape, isa<ConvertOp>(op) ? type.getElementType()
                                      : getElementTypeOrSelf(value)));
        return clone->getResult(0);
      };
      next = {moved(rows.scaled),
              isa<ConvertOp>(op) ? rows.squares : moved(rows.squares)};
    }
    rows = next;
  }
  return rows;
}

Value NormMover::biasOf(LinearOp product) {
  if (!norm.getBias()) {
    return product.getBias();
  }
  int64_t out = shapeOf(product.getResult()).back();
  auto type = RankedTensorType::get(out, builder.getF32Type());
  return LinearOp::create(builder, product.getLoc(), type, norm.getBias(),
                          product.getWeight(), product.getBias(),
                          product.getTransposed());
}

void NormMover::moveBehind(const NormReader &reader, size_t count) {
  LinearOp product = reader.product;
  Rows rows = rowsBehind(reader.path);
  builder.setInsertionPointAfter(product);
  Value bias = biasOf(product);
  auto divided = DivideByRmsOp::create(
      builder, product.getLoc(), product.getType(), product, rows.squares, bias,
      norm.getEpsAttr(), builder.getI64IntegerAttr(width));
  inheritSite(divided, product);
  product.getResult().replaceAllUsesExcept(divided, divided);
  product.getXMutable().assign(rows.scaled);
  product.getBiasMutable().clear();
  inheritVerdicts(divided, product);
  writeVerdict(divided, kPassName,
               Verdict::fire("the norm is applied behind " + Twine(count) +
                             (count == 1 ? " product" : " products") +
                             ", to rows whose squares are summed as they are "
                             "made"));
}

namespace {
struct NormalizeNormsPass final
    : impl::NormalizeNormsPassBase<NormalizeNormsPass> {
  using Base::Base;
  LogicalResult initialize(MLIRContext *context) override {
    if (columns < 0) {
      return emitError(UnknownLoc::get(context),
                       "expects 'columns' from 0 on, got ")
             << int64_t(columns);
    }
    auto parsed = parseFusionPolicy(policy, context);
    asked = parsed.value_or(FusionPolicyAttrInterface());
    return parsed;
  }

  void runOnOperation() override {
    if (getOperation().isExternal() || getOperation().getName() != "main" ||
        (!asked && columns == 0)) {
      return;
    }
    Streams streams(getOperation().getBody().front());
    SmallVector<Chosen> all;
    for (auto norm : getOperation().getOps<LayerNormOp>()) {
      if (std::optional<Chosen> chosen = choose(norm, streams)) {
        all.push_back(std::move(*chosen));
      }
    }
    // Rows are centred before anything reads them in another way.
    for (Chosen &chosen : all) {
      if (chosen.norm.getKind() == NormKind::standard) {
        streams.center(chosen.norm.getX());
      }
    }
    for (const Chosen &chosen : all) {
      NormMover mover(chosen.norm, chosen.columns);
      for (const NormReader &reader : chosen.readers) {
        mover.moveBehind(reader, chosen.readers.size());
      }
    }
    eraseUnread(getOperation().getBody().front());
  }

private:
  struct Chosen {
    LayerNormOp norm;
    int64_t columns;
    SmallVector<NormReader> readers;
  };

  int64_t columnsFor(LinearOp product) const {
    return columns > 0 ? int64_t(columns) : asked.chooseSquareColumns(product);
  }

  std::optional<Chosen> choose(LayerNormOp norm, Streams &streams) const {
    LinearOp product = streams.productIn(norm.getX());
    int64_t squares = product && isOfWholeRows(norm) ? columnsFor(product) : 0;
    if (squares == 0) {
      return std::nullopt; // nothing that is to be told of every norm
    }
    Chosen chosen{norm, squares, {}};
    if (!collectReaders(norm.getResult(), streams.getWeights(), {},
                        chosen.readers) ||
        chosen.readers.empty()) {
      writeVerdict(norm, kPassName,
                   Verdict::decline("something else than products with weights "
                                    "reads the norm",
                                    "nothing else does"));
      return std::nullopt;
    }
    if (norm.getKind() == NormKind::standard &&
        !streams.isShiftable(norm.getX())) {
      writeVerdict(norm, kPassName,
                   Verdict::decline("something else than norms reads the rows, "
                                    "so that they keep their mean",
                                    "nothing else does"));
      return std::nullopt;
    }
    return chosen;
  }

  static void eraseUnread(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
      }
    }
  }

  FusionPolicyAttrInterface asked;
};
} // namespace
} // namespace hova
