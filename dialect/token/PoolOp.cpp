//===- PoolOp.cpp - One row for all tokens --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Ranges.h"
#include "dialect/Shapes.h"
#include "dialect/token/TokenOps.h"

using namespace mlir;
using namespace hova;

/// What `by` is, in words.
static StringRef wantedBy(PoolKind kind) {
  switch (kind) {
  case PoolKind::first:
    return "none";
  case PoolKind::mean:
  case PoolKind::max:
    return "none or booleans";
  case PoolKind::last:
    return "booleans";
  case PoolKind::token:
    return "integers";
  }
  llvm_unreachable("unknown kind");
}

LogicalResult PoolOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() != 3) { // C1
    return emitOpError("expects x [batch, tokens, width], got ")
           << shapeText(x);
  }
  if (!agree(shapeOf(getResult()), {x[0], x[2]})) { // C1
    return emitOpError("expects a result of shape ")
           << shapeText({x[0], x[2]}) << ", got "
           << shapeText(shapeOf(getResult()));
  }
  PoolKind kind = getKind();
  bool has = getBy() != nullptr;
  bool isMask = has && getElementTypeOrSelf(getBy()).isInteger(1);
  bool fits =
      has ? kind != PoolKind::first && isMask == (kind != PoolKind::token)
          : kind != PoolKind::last && kind != PoolKind::token;
  if (!fits) { // C2
    return emitOpError("expects tokens chosen by ")
           << wantedBy(kind) << " for " << stringifyPoolKind(kind) << ", got "
           << (!has     ? "none"
               : isMask ? "booleans"
                        : "integers");
  }
  if (has && !agree(shapeOf(getBy()), {x[0], x[1]})) { // C3
    return emitOpError("expects tokens chosen by [batch, tokens] = ")
           << shapeText({x[0], x[1]}) << ", got "
           << shapeText(shapeOf(getBy()));
  }
  if (getId() && kind != PoolKind::token) { // C4
    return emitOpError("expects an id for token alone, got one for ")
           << stringifyPoolKind(kind);
  }
  return success();
}

bool PoolOp::picksToken() {
  return getKind() == PoolKind::last || getKind() == PoolKind::token;
}

bool PoolOp::movesData() {
  return getKind() == PoolKind::first || picksToken();
}

IterationSpace PoolOp::getIterationSpace() {
  IterationSpaceBuilder builder(*this);
  ArrayRef<int64_t> x = shapeOf(getX());
  SmallVector<AffineExpr> rows = builder.rows();
  AffineExpr column = builder.parallel("column", x[2]);
  AffineExpr token = getKind() == PoolKind::first
                         ? builder.constant(0)
                         : builder.reduction("token", x[1]);
  builder.operand(0, {rows[0], token, column});
  if (getBy()) {
    builder.operand(1, {rows[0], token});
  }
  builder.result({rows[0], column});
  return builder.build();
}

std::optional<RowSteps> PoolOp::getSourceRows() {
  int64_t tokens = shapeOf(getX())[1];
  // Items that have any number of tokens do not begin so many rows apart.
  return getKind() == PoolKind::first && !ShapedType::isDynamic(tokens) &&
                 !SequenceRanges::ofTokens(*this)
             ? std::optional(RowSteps{0, tokens})
             : std::nullopt;
}
