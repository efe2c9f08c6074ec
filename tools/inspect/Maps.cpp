//===- Maps.cpp - What attention attends to, for an input -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// No operation hands out the shares that it mixes by, but each tells them: an
// attention whose values are the unit vectors of its keys has its weights as
// the result, and what scales a value is the result divided by the value.

#include "tools/inspect/Maps.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Base64.h"
#include <cmath>

using namespace mlir;

namespace hova::inspect {

namespace {

/// Numbers of all maps together: a byte each.
constexpr int64_t kMostNumbers = 6'000'000;

/// Numbers by plane, row and column.
struct Map {
  StringRef kind, plane, row, column;
  int64_t planes = 1, rows = 0, columns = 0;
  std::vector<double> values = {};
  std::vector<std::string> names = {};

  void allocate() { values.assign(planes * rows * columns, 0); }
};

using Known = llvm::DenseMap<Value, HostTensor>;

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Of every head, row `i` is the unit vector `first + i`.
HostTensor unitVectors(ArrayRef<int64_t> rows, int64_t heads, int64_t columns,
                       int64_t first) {
  SmallVector<int64_t> shape(rows);
  shape.push_back(heads * columns);
  HostTensor units(HostTensor::Element::F64, shape);
  int64_t all = units.size() / (heads * columns);
  for (int64_t row = 0; row < all; ++row) {
    for (int64_t head = 0; head < heads; ++head) {
      int64_t column = first + row % rows.back();
      units.mutableAs<double>()[(row * heads + head) * columns + column] = 1;
    }
  }
  return units;
}

FailureOr<Map> weightsOf(AttentionOp op, const Known &known) {
  ArrayRef<int64_t> key = known.at(op.getKey()).getShape();
  int64_t slots =
      op.getMemoryKey() ? known.at(op.getMemoryKey()).getShape()[0] : 0;
  int64_t columns = key[1] + slots, heads = op.getHeads();
  int64_t keyHeads = op.getKeyValueHeads().value_or(heads);
  // Values of their own: queries, keys and values may be one value.
  Block block;
  OwningOpRef<AttentionOp> owner(cast<AttentionOp>(op->clone()));
  AttentionOp attention = *owner;
  Known operands = known;
  auto replace = [&](MutableOperandRange operand, HostTensor by) {
    Value value = block.addArgument(operand[0].get().getType(), op.getLoc());
    operand.assign(value);
    operands[value] = std::move(by);
  };
  replace(attention.getValueMutable(),
          unitVectors({key[0], key[1]}, keyHeads, columns, 0));
  if (slots) {
    replace(attention.getMemoryValueMutable(),
            unitVectors({slots}, keyHeads, columns, key[1]));
  }
  SmallVector<HostTensor> given, results;
  for (Value operand : attention->getOperands()) {
    given.push_back(operands.at(operand));
  }
  if (failed(attention.evaluate(given, results))) {
    return failure();
  }
  int64_t batch = results[0].getShape()[0], queries = results[0].getShape()[1];
  Map map{"attention", "head", "query", "key", batch * heads, queries, columns};
  map.allocate();
  // [batch, query, head, key] there.
  for (int64_t i = 0, e = results[0].size(); i < e; ++i) {
    int64_t column = i % columns, head = i / columns % heads;
    int64_t row = i / columns / heads % queries;
    int64_t entry = i / columns / heads / queries;
    map.values[((entry * heads + head) * queries + row) * columns + column] =
        results[0].at(i);
  }
  return map;
}

//===----------------------------------------------------------------------===//
// Heads, channels, layers
//===----------------------------------------------------------------------===//

/// Each of `parts` equal parts of a row was scaled by one number: `result` by
/// `source`, of the first batch entry. Of a part that is all zeros nobody
/// knows.
Map scalesOf(const HostTensor &source, const HostTensor &result,
             int64_t parts) {
  int64_t rows = source.getShape()[1], width = source.getShape()[2] / parts;
  Map map{"", "", "token", "", 1, rows, parts};
  map.allocate();
  for (int64_t i = 0; i < rows * parts; ++i) {
    double product = 0, square = 0;
    for (int64_t c = i * width; c < (i + 1) * width; ++c) {
      product += result.at(c) * source.at(c);
      square += source.at(c) * source.at(c);
    }
    map.values[i] = square > 0 ? product / square : 0;
  }
  return map;
}

/// The share of channels in which each layer's state is the largest.
Map sharesOf(LayerPoolOp op, const HostTensor &states) {
  int64_t layers = op.getLayers(), width = states.getShape()[2];
  Map map{"layers", "", "token", "layer", 1, states.getShape()[1] / layers,
          layers};
  map.allocate();
  for (int64_t token = 0; token < map.rows; ++token) {
    for (int64_t channel = 0; channel < width; ++channel) {
      auto at = [&](int64_t layer) {
        return states.at((token * layers + layer) * width + channel);
      };
      int64_t largest = 0;
      for (int64_t layer = 1; layer < layers; ++layer) {
        largest = at(layer) > at(largest) ? layer : largest;
      }
      map.values[token * layers + largest] += 1.0 / static_cast<double>(width);
    }
  }
  return map;
}

/// The paths of the states that the layer of `pool` reads.
std::vector<std::string> stateNames(LayerPoolOp pool) {
  std::vector<std::string> names;
  std::optional<Site> site = siteOf(pool);
  pool->getParentOp()->walk([&](IndexSortOp sort) {
    std::optional<Site> other = siteOf(sort);
    if (site && other && site->path == other->path) {
      names.clear();
      for (Value state : sort->getOperands()) {
        Operation *maker = state.getDefiningOp();
        names.push_back(maker ? pathOf(maker->getLoc()).str() : "");
      }
    }
  });
  return names;
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

/// How many numbers the map of an operation has; 0: it has none.
int64_t numbersOf(Operation *op) {
  auto sizeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  };
  auto dimOf = [](Value value, unsigned axis) {
    return cast<RankedTensorType>(value.getType()).getDimSize(axis);
  };
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    int64_t slots =
        attention.getMemoryKey() ? dimOf(attention.getMemoryKey(), 0) : 0;
    return dimOf(attention.getQuery(), 0) * attention.getHeads() *
           dimOf(attention.getQuery(), 1) *
           (dimOf(attention.getKey(), 1) + slots);
  }
  return isa<HeadReweightOp, ChannelGateOp, LayerPoolOp>(op)
             ? sizeOf(op->getResult(0))
             : 0;
}

/// The map of an operation whose operands are known, and whose result is this.
FailureOr<Map> mapOf(Operation *op, const Known &known,
                     const HostTensor &result) {
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    return weightsOf(attention, known);
  }
  if (auto heads = dyn_cast<HeadReweightOp>(op)) {
    Map map = scalesOf(known.at(heads.getHeadsIn()), result, heads.getHeads());
    map.kind = "heads";
    map.column = "head";
    return map;
  }
  if (auto gate = dyn_cast<ChannelGateOp>(op)) {
    const HostTensor &source = known.at(gate.getY());
    Map map = scalesOf(source, result, source.getShape()[2]);
    map.kind = "gate";
    map.column = "channel";
    return map;
  }
  auto pool = cast<LayerPoolOp>(op);
  Map map = sharesOf(pool, known.at(pool.getX()));
  map.names = stateNames(pool);
  return map;
}

llvm::json::Object toJson(StringRef path, const Map &map) {
  double largest = 0;
  for (double value : map.values) {
    largest = std::isfinite(value) ? std::max(largest, value) : largest;
  }
  std::string bytes;
  for (double value : map.values) {
    double scaled = largest > 0 && value > 0 ? 255 * value / largest : 0;
    bytes += static_cast<char>(
        static_cast<unsigned char>(std::lround(std::min(scaled, 255.0))));
  }
  return llvm::json::Object{{"path", path.str()},
                            {"kind", map.kind},
                            {"plane", map.plane},
                            {"row", map.row},
                            {"column", map.column},
                            {"planes", map.planes},
                            {"rows", map.rows},
                            {"columns", map.columns},
                            {"largest", largest},
                            {"names", llvm::json::Array(map.names)},
                            {"values", llvm::encodeBase64(bytes)}};
}

} // namespace

FailureOr<llvm::json::Object> mapsJson(ModuleOp imported,
                                       const WeightLookup &weights,
                                       ArrayRef<HostTensor> inputs) {
  auto main = imported.lookupSymbol<func::FuncOp>("main");
  llvm::json::Array maps, leftOut;
  llvm::DenseSet<Operation *> shown;
  llvm::DenseSet<Value> wanted;
  int64_t numbers = 0;
  main.walk([&](Operation *op) {
    int64_t count = numbersOf(op);
    if (count && numbers + count > kMostNumbers) {
      leftOut.push_back(pathOf(op->getLoc()).str());
    } else if (count) {
      numbers += count;
      shown.insert(op);
      wanted.insert(op->operand_begin(), op->operand_end());
    }
  });
  Known known;
  for (auto [argument, input] : llvm::zip_equal(main.getArguments(), inputs)) {
    known[argument] = input;
  }
  bool hasFailed = false;
  Evaluator evaluator(weights);
  evaluator.setObserver([&](OpResult result, const HostTensor &tensor) {
    if (wanted.contains(result)) {
      known[result] = tensor;
    }
    if (result.getResultNumber() == 0 && shown.contains(result.getOwner())) {
      FailureOr<Map> map = mapOf(result.getOwner(), known, tensor);
      hasFailed |= failed(map);
      if (succeeded(map)) {
        maps.push_back(toJson(pathOf(result.getOwner()->getLoc()), *map));
      }
    }
  });
  if (failed(evaluator.run(main, inputs)) || hasFailed) {
    return failure();
  }
  return llvm::json::Object{{"maps", std::move(maps)},
                            {"left_out", std::move(leftOut)}};
}

} // namespace hova::inspect
