//===- IterationSpace.cpp - How an operation iterates ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/IterationSpace.h"
#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// IterationSpace
//===----------------------------------------------------------------------===//

bool IterationSpace::dividesRows() const {
  ArrayRef<AffineExpr> axes = results.front().getResults();
  if (axes.empty()) {
    return units.empty();
  }
  return axes.size() - 1 == units.size() &&
         llvm::all_of(llvm::zip(axes.drop_back(), units), [](auto pair) {
           auto dim = dyn_cast<AffineDimExpr>(std::get<0>(pair));
           return dim && dim.getPosition() == std::get<1>(pair);
         });
}

bool IterationSpace::readsSameRow(unsigned index) const {
  AffineMap operand = operands[index], result = results.front();
  if (!operand || operand.getNumResults() != result.getNumResults()) {
    return false;
  }
  return !result.getNumResults() ||
         operand.getResults().drop_back() == result.getResults().drop_back();
}

bool IterationSpace::readsAlike(unsigned index, ArrayRef<unsigned> over) const {
  AffineMap map = operands[index];
  return map && llvm::none_of(over, [&](unsigned dim) {
           return map.isFunctionOfDim(dim);
         });
}

int64_t IterationSpace::countUnits() const {
  int64_t count = 1;
  for (unsigned dim : units) {
    count *= ShapedType::isDynamic(dims[dim].size) ? 0 : dims[dim].size;
  }
  return count;
}

namespace {
/// Which dims of a reader are those of what it reads, by the expressions that
/// say where an element stands.
class DimMatch {
public:
  DimMatch(const IterationSpace &space, const IterationSpace &reader)
      : space(space), reader(reader), dims(space.dims.size()) {}
  bool match(AffineExpr mine, AffineExpr other);
  std::optional<unsigned> of(unsigned dim) const { return dims[dim]; }

private:
  const IterationSpace &space, &reader;
  SmallVector<std::optional<unsigned>> dims;
};
} // namespace

bool DimMatch::match(AffineExpr mine, AffineExpr other) {
  if (mine.getKind() != other.getKind()) {
    return false;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(mine)) {
    unsigned number = cast<AffineDimExpr>(other).getPosition();
    std::optional<unsigned> &known = dims[dim.getPosition()];
    bool isNew = !known;
    known = isNew ? number : *known;
    return *known == number &&
           space.dims[dim.getPosition()].size == reader.dims[number].size;
  }
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(mine)) {
    auto same = cast<AffineBinaryOpExpr>(other);
    return match(binary.getLHS(), same.getLHS()) &&
           match(binary.getRHS(), same.getRHS());
  }
  return mine == other;
}

bool keepsUnits(const IterationSpace &space, const IterationSpace &reader,
                unsigned index) {
  AffineMap written = space.results.front(), read = reader.operands[index];
  if (!read || read.getNumResults() != written.getNumResults()) {
    return false;
  }
  DimMatch dims(space, reader);
  for (auto [mine, other] :
       llvm::zip(written.getResults(), read.getResults())) {
    if (!dims.match(mine, other)) {
      return false;
    }
  }
  return llvm::all_of(space.units, [&](unsigned unit) {
    std::optional<unsigned> dim = dims.of(unit);
    return dim && reader.dims[*dim].type == utils::IteratorType::parallel;
  });
}

//===----------------------------------------------------------------------===//
// IterationSpaceBuilder
//===----------------------------------------------------------------------===//

IterationSpaceBuilder::IterationSpaceBuilder(Operation *op) : op(op) {
  operands.resize(op->getNumOperands());
}

AffineExpr IterationSpaceBuilder::addDim(StringRef name, int64_t size,
                                         utils::IteratorType type) {
  space.dims.push_back({name, size, type});
  return getAffineDimExpr(space.dims.size() - 1, op->getContext());
}

/// What the axes of a result before its last are called, by their number: of
/// the most that a tensor has, each has a name of its own.
static StringRef nameOfAxis(size_t axis, size_t count) {
  if (axis + 1 == count) {
    return count == 1 ? "row" : "token";
  }
  constexpr StringLiteral names[] = {"batch", "outer", "inner",
                                     "axis3", "axis4", "axis5"};
  return names[std::min(axis, std::size(names) - 1)];
}

SmallVector<AffineExpr> IterationSpaceBuilder::rows() {
  SmallVector<AffineExpr> axes;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  shape = shape.empty() ? shape : shape.drop_back();
  for (auto [axis, size] : llvm::enumerate(shape)) {
    axes.push_back(parallel(nameOfAxis(axis, shape.size()), size));
  }
  setUnits(axes);
  return axes;
}

AffineExpr IterationSpaceBuilder::constant(int64_t value) {
  return getAffineConstantExpr(value, op->getContext());
}

void IterationSpaceBuilder::setUnits(ArrayRef<AffineExpr> dims) {
  space.units.clear();
  for (AffineExpr dim : dims) {
    space.units.push_back(cast<AffineDimExpr>(dim).getPosition());
  }
}

void IterationSpaceBuilder::setBlockDim(AffineExpr dim) {
  space.blockDim = cast<AffineDimExpr>(dim).getPosition();
}

IterationSpace IterationSpaceBuilder::build() {
  auto mapOf = [&](ArrayRef<AffineExpr> axes) {
    return AffineMap::get(space.dims.size(), 0, axes, op->getContext());
  };
  for (const std::optional<Axes> &axes : operands) {
    space.operands.push_back(axes ? mapOf(*axes) : AffineMap());
  }
  for (const Axes &axes : results) {
    space.results.push_back(mapOf(axes));
  }
  return std::move(space);
}

//===----------------------------------------------------------------------===//
// Common kinds
//===----------------------------------------------------------------------===//

IterationSpace elementwiseSpace(Operation *op) {
  IterationSpaceBuilder builder(op);
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  SmallVector<AffineExpr> axes = builder.rows();
  if (!shape.empty()) {
    axes.push_back(builder.parallel("column", shape.back()));
  }
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    ArrayRef<int64_t> sizes = shapeOf(operand);
    SmallVector<AffineExpr> read(ArrayRef(axes).take_back(sizes.size()));
    if (!sizes.empty() && sizes.back() == 1) {
      read.back() = builder.constant(0); // a column for all columns
    }
    for (auto [axis, size, expr] :
         llvm::zip(sizes, shape.take_back(sizes.size()), read)) {
      if (axis == 1 && size != 1) {
        expr = builder.constant(0); // a row for all rows
      }
    }
    builder.operand(index, read);
  }
  builder.result(axes);
  IterationSpace space = builder.build();
  space.ignoresPosition = isa<TileOpInterface>(op);
  return space;
}

IterationSpace rowSpace(Operation *op, unsigned count) {
  IterationSpaceBuilder builder(op);
  SmallVector<AffineExpr> rows = builder.rows();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    ArrayRef<int64_t> shape = shapeOf(operand);
    SmallVector<AffineExpr> axes;
    if (index < count) {
      axes = rows;
      axes.push_back(builder.reduction("inner", shape.back()));
    } else {
      for (int64_t size : shape) {
        axes.push_back(builder.reduction("all", size));
      }
    }
    builder.operand(index, axes);
  }
  SmallVector<AffineExpr> axes = rows;
  axes.push_back(builder.parallel("column", shapeOf(op->getResult(0)).back()));
  builder.result(axes);
  return builder.build();
}

} // namespace hova
