//===- TileSteps.cpp - Operations on tiles --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the descriptions in codegen/cpu/TileOps.td say, and the activations.

#include "codegen/cpu/TileOps.h"
#include "codegen/reference/interpret/Frame.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/evaluate/Evaluate.h"
#include <cmath>

using namespace mlir;

namespace hova {

/// Rows and columns of a tile.
static std::pair<int64_t, int64_t> shapeOf(Type tile) {
  ArrayRef<int64_t> shape = cast<VectorType>(tile).getShape();
  return {shape[0], shape[1]};
}

namespace {
/// Where the rows of a tile begin in a buffer: one after the other from the
/// first on, or where a table says.
class TileRows {
public:
  /// `place`: the operand that is the first row, with the column after it;
  /// `table`: the one
  /// that is a table, if it is there.
  TileRows(const Frame &frame, const Step &step, const View &view,
           unsigned place, unsigned table)
      : step(step), view(view), first(indexOf(frame, view, step, place)),
        row(frame.integer(step, place)),
        table(table < step.op->getNumOperands() ? &frame.view(step, table)
                                                : nullptr) {}

  /// The first byte of `count` elements of row `i`; null: outside of the
  /// buffer or the table.
  uint8_t *at(int64_t i, int64_t count) const {
    int64_t tileRow = row + i;
    if (table) {
      const uint8_t *number =
          elementsOf(*table, tileRow * table->strides[1], 1, step);
      if (!number) {
        return nullptr;
      }
      tileRow = readElement(table->kind, number).integer;
    }
    return elementsOf(view, first + (tileRow - row) * view.strides[0], count,
                      step);
  }

private:
  const Step &step;
  const View &view;
  int64_t first, row;
  const View *table;
};
} // namespace

static LogicalResult runTileLoad(Frame &frame, const Step &step) {
  auto op = cast<TileLoadOp>(step.op);
  const View &view = frame.view(step, 0);
  auto [rows, columns] = shapeOf(op.getTile().getType());
  int64_t valid = op.getColumns().value_or(columns);
  TileRows source(frame, step, view, /*place=*/1, /*table=*/3);
  std::vector<Lane> &tile = frame.out(step);
  for (int64_t i = 0; i < rows; ++i) {
    const uint8_t *row = source.at(i, valid);
    if (!row) {
      return failure();
    }
    MutableArrayRef<Lane> lanes(tile.data() + i * columns, columns);
    readElements(view.kind, row, lanes.take_front(valid));
    for (Lane &lane : lanes.drop_front(valid)) {
      lane.number = 0;
    }
  }
  return success();
}

static LogicalResult runTileStore(Frame &frame, const Step &step) {
  auto op = cast<TileStoreOp>(step.op);
  const View &view = frame.view(step, 1);
  auto [rows, columns] = shapeOf(op.getTile().getType());
  int64_t valid = op.getColumns().value_or(columns);
  int64_t bytes = bytesOf(view.kind);
  TileRows target(frame, step, view, /*place=*/2, /*table=*/4);
  const std::vector<Lane> &tile = frame.in(step, 0);
  for (int64_t i = 0; i < rows; ++i) {
    uint8_t *row = target.at(i, valid);
    if (!row) {
      return failure();
    }
    for (int64_t j = 0; j < valid; ++j) {
      writeElement(view.kind, tile[i * columns + j], row + j * bytes);
    }
  }
  return success();
}

namespace {
/// The right operand of a product: rows of numbers, or of pairs of them.
struct RightRows {
  const View &view;
  int64_t first;
  int64_t columns; ///< that are read
  Kind kind;       ///< of a number; half as wide as an element of pairs

  bool hasPairs() const { return kind != view.kind; }
  /// Number `k` of every column. False: outside of the buffer.
  bool read(int64_t k, const Step &step, std::vector<Lane> &row) const {
    int64_t stride = view.strides[view.strides.size() - 2];
    const uint8_t *memory = elementsOf(
        view, first + (hasPairs() ? k / 2 : k) * stride, columns, step);
    if (!memory) {
      return false;
    }
    if (!hasPairs()) {
      readElements(kind, memory, MutableArrayRef(row).take_front(columns));
      return true;
    }
    int64_t bytes = bytesOf(kind);
    for (int64_t j = 0; j < columns; ++j) {
      row[j] = readElement(kind, memory + (2 * j + k % 2) * bytes);
    }
    return true;
  }
};
} // namespace

static LogicalResult runTileProduct(Frame &frame, const Step &step) {
  auto op = cast<TileProductOp>(step.op);
  auto operandOf = [](OperandRange range) {
    return range.getBeginOperandIndex();
  };
  auto [rows, columns] = shapeOf(op.getTile().getType());
  const View &left = frame.view(step, 0);
  int64_t leftFirst = indexOf(frame, left, step, 1);
  unsigned right = operandOf(op.getODSOperands(3));
  unsigned indices = operandOf(op.getODSOperands(4));
  int64_t depth = frame.integer(step, operandOf(op.getODSOperands(5)));
  const View &rightView = frame.view(step, right);
  int64_t valid = op.getColumns().value_or(columns);
  RightRows rightRows{rightView, indexOf(frame, rightView, step, indices),
                      valid,
                      rightView.kind == Kind::I32 ? left.kind : rightView.kind};
  std::vector<Lane> row(columns);
  std::vector<Lane> &tile = frame.out(step);
  Lane zero;
  zero.number = 0;
  if (op.getInit()) {
    tile = frame.in(step, operandOf(op.getODSOperands(8)));
  } else {
    tile.assign(tile.size(), zero);
  }
  for (int64_t k = 0; k < depth; ++k) {
    if (!rightRows.read(k, step, row)) {
      return failure();
    }
    for (int64_t i = 0; i < rows; ++i) {
      const uint8_t *element = elementsOf(
          left, leftFirst + i * left.strides[0] + k * left.strides[1], 1, step);
      if (!element) {
        return failure();
      }
      double factor = readElement(left.kind, element).number;
      Lane *sums = tile.data() + i * columns;
      for (int64_t j = 0; j < rightRows.columns; ++j) {
        sums[j].number =
            static_cast<float>(sums[j].number + factor * row[j].number);
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks of the matrix unit
//===----------------------------------------------------------------------===//

/// The unit has no number below the least normal one.
static float withoutDenormals(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                : value;
}

static float factorAt(Kind kind, const uint8_t *memory, int64_t i) {
  return withoutDenormals(
      static_cast<float>(readElement(kind, memory + i * bytesOf(kind)).number));
}

/// 32 steps of k: even ones and odd ones have a chain of multiply-adds each.
static float stepOf(const uint8_t *left, ArrayRef<const uint8_t *> right,
                    int64_t column) {
  float chains[] = {0, 0};
  for (int64_t k = 0; k < BlockProductOp::stepDepth; ++k) {
    float &chain = chains[k % 2];
    chain = withoutDenormals(std::fma(
        factorAt(Kind::BF16, left, k),
        factorAt(Kind::BF16, right[k / 2], 2 * column + k % 2), chain));
  }
  return withoutDenormals(chains[0] + chains[1]);
}

static LogicalResult runMeanwhile(Frame &frame, BlockProductOp op,
                                  const Step &step) {
  if (!op.getTurns()) {
    return success();
  }
  unsigned operand = op.getODSOperands(11).getBeginOperandIndex();
  Block &body = op.getMeanwhile().front();
  for (int64_t i = 0, e = frame.integer(step, operand); i < e; ++i) {
    frame.setInteger(frame.slotOf(body.getArgument(0)), i);
    if (failed(frame.runBlock(body))) {
      return failure();
    }
  }
  return success();
}

static LogicalResult runBlockProduct(Frame &frame, const Step &step) {
  auto op = cast<BlockProductOp>(step.op);
  auto operand = [&](unsigned number) {
    return op.getODSOperands(number).getBeginOperandIndex();
  };
  const View sums = frame.view(step, operand(0));
  const View left = frame.view(step, operand(3));
  const View right = frame.view(step, operand(6));
  int64_t sum = indexOf(frame, sums, step, operand(1));
  int64_t leftFirst = indexOf(frame, left, step, operand(4));
  int64_t rightFirst = indexOf(frame, right, step, operand(7));
  int64_t rows = frame.integer(step, operand(8));
  int64_t height = frame.integer(step, operand(9));
  int64_t depth = frame.integer(step, operand(10));
  int64_t columns = op.getColumns(), width = BlockProductOp::stepDepth;
  if (height < 1 || height > 16 || rows < height || rows > 2 * height ||
      depth % width != 0) {
    return op.emitError("expects tiles of 1 to 16 rows, of which one or two "
                        "cover the block, and a depth in steps of ")
           << width << ", got " << rows << " rows by " << height << " and "
           << depth;
  }
  int64_t rightStride = right.strides[right.strides.size() - 2];
  for (int64_t i = 0; i < rows; ++i) {
    uint8_t *row = elementsOf(sums, sum + i * sums.strides[0], columns, step);
    const uint8_t *leftRow =
        elementsOf(left, leftFirst + i * left.strides[0], depth, step);
    if (!row || !leftRow) {
      return failure();
    }
    for (int64_t j = 0; j < columns && !op.getAdded(); ++j) {
      writeElement(sums.kind, Lane(), row + j * bytesOf(sums.kind));
    }
    for (int64_t k = 0; k < depth; k += width) {
      SmallVector<const uint8_t *> pairs;
      for (int64_t pair = k / 2; pair < (k + width) / 2; ++pair) {
        pairs.push_back(
            elementsOf(right, rightFirst + pair * rightStride, columns, step));
        if (!pairs.back()) {
          return failure();
        }
      }
      for (int64_t j = 0; j < columns; ++j) {
        uint8_t *element = row + j * bytesOf(sums.kind);
        float before = withoutDenormals(
            static_cast<float>(readElement(sums.kind, element).number));
        Lane after;
        after.number = withoutDenormals(
            before + stepOf(leftRow + k * bytesOf(left.kind), pairs, j));
        writeElement(sums.kind, after, element);
      }
    }
  }
  return runMeanwhile(frame, op, step);
}

static LogicalResult runTileRows(Frame &frame, const Step &step) {
  SmallVector<std::vector<double>> numbers;
  SmallVector<ArrayRef<double>> operands;
  for (unsigned i = 0; i < step.operands.size(); ++i) {
    bool isNumber = isFloat(kindOf(step.op->getOperand(i).getType()));
    std::vector<double> &row = numbers.emplace_back();
    for (const Lane &lane : frame.in(step, i)) {
      row.push_back(isNumber ? lane.number : static_cast<double>(lane.integer));
    }
  }
  llvm::append_range(operands, numbers);
  std::vector<Lane> &tile = frame.out(step);
  std::vector<double> result(tile.size());
  cast<TileRowsOpInterface>(step.op).evaluateTile(operands, result);
  for (auto [lane, number] : llvm::zip(tile, result)) {
    lane.number = roundTo(Kind::F32, number);
  }
  return success();
}

static LogicalResult runPairDot(Frame &frame, const Step &step) {
  const std::vector<Lane> &a = frame.in(step, 0), &b = frame.in(step, 1);
  const std::vector<Lane> &sums = frame.in(step, 2);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    double sum = sums[i].number;
    for (size_t k = 2 * i; k < 2 * i + 2; ++k) {
      sum = roundTo(Kind::F32, sum + a[k].number * b[k].number);
    }
    y[i].number = sum;
  }
  return success();
}

static LogicalResult runExp2(Frame &frame, const Step &step) {
  int64_t offset = cast<Exp2Op>(step.op).getExponentOffset();
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].number = roundTo(Kind::F32, std::exp2(x[i].number + offset));
  }
  return success();
}

static LogicalResult runLookup(Frame &frame, const Step &step) {
  SmallVector<float> table(
      cast<LookupOp>(step.op).getTable().getValues<float>());
  const std::vector<Lane> &index = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].number = table[index[i].integer & (table.size() - 1)];
  }
  return success();
}

static LogicalResult runActivation(Frame &frame, const Step &step) {
  const std::vector<Lane> &x = frame.in(step, 0);
  std::vector<Lane> &y = frame.out(step);
  int64_t count = x.size();
  HostTensor values(HostTensor::Element::F64, count);
  for (size_t i = 0; i < x.size(); ++i) {
    values.mutableAs<double>()[i] = x[i].number;
  }
  values = evaluateActivation(cast<ActivationOp>(step.op).getKind(), values,
                              HostTensor::Element::F64);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i].number = roundTo(step.to, values.as<double>()[i]);
  }
  return success();
}

StepFunction findTileStep(Operation *op) {
  return isa<TileRowsOpInterface>(op) ? runTileRows : nullptr;
}

void addTileSteps(StepTable &table) {
  table["hova_cpu.tile_load"] = runTileLoad;
  table["hova_cpu.tile_store"] = runTileStore;
  table["hova_cpu.tile_product"] = runTileProduct;
  table["hova_cpu.block_product"] = runBlockProduct;
  table["hova_cpu.pair_dot"] = runPairDot;
  table["hova.exp2"] = runExp2;
  table["hova_cpu.lookup"] = runLookup;
  table["hova.activation"] = runActivation;
}

} // namespace hova
