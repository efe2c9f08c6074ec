//===- BlockCycles.cpp - How long a block works, as a model ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/model/BlockCycles.h"
#include "codegen/cuda/BlockWork.h"
#include "codegen/cuda/ClusterOps.h"
#include "codegen/cuda/SumOps.h"
#include "codegen/cuda/WgmmaOps.h"
#include "codegen/cuda/facts/ProductFacts.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hova {
namespace {

/// Counts what the blocks at one place of the grid do.
class BlockModel {
public:
  BlockModel(func::FuncOp kernel, const GpuFacts &gpu) : gpu(gpu) {
    for (BlockArgument argument : kernel.getArguments()) {
      if (argument.getType().isIndex()) {
        coordinates.push_back(argument);
      }
    }
  }

  std::optional<BlockCycles> count(Block &block, int64_t x) {
    isKnown = true;
    numbers.clear();
    for (auto [axis, coordinate] : llvm::enumerate(coordinates)) {
      numbers[coordinate] = axis == 0 ? x : 0;
    }
    BlockCycles cycles = cyclesOf(block);
    return isKnown ? std::optional(cycles) : std::nullopt;
  }

private:
  //===--------------------------------------------------------------------===//
  // Turns
  //===--------------------------------------------------------------------===//

  /// What an index is at this place; nothing where a run decides.
  std::optional<int64_t> numberOf(Value value) {
    if (auto known = numbers.find(value); known != numbers.end()) {
      return known->second;
    }
    std::optional<int64_t> number = fold(value);
    numbers[value] = number;
    return number;
  }

  std::optional<int64_t> fold(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() != 0 || !isMemoryEffectFree(op)) {
      return std::nullopt;
    }
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> number =
          operand.getType().isIntOrIndex() ? numberOf(operand) : std::nullopt;
      operands.push_back(
          number ? Attribute(IntegerAttr::get(operand.getType(), *number))
                 : Attribute());
    }
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.size() != 1) {
      return std::nullopt;
    }
    if (auto same = dyn_cast<Value>(results.front())) {
      return same == value ? std::nullopt : numberOf(same);
    }
    auto number = dyn_cast<IntegerAttr>(cast<Attribute>(results.front()));
    return number ? std::optional(number.getValue().getSExtValue())
                  : std::nullopt;
  }

  BlockCycles cyclesOf(Block &block) {
    BlockWork work;
    BlockCycles inside;
    for (Operation &op : block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        add(inside, cyclesOf(*loop.getBody()), turnsOf(loop));
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        add(inside, cyclesOf(branch), 1);
      } else {
        count(&op, work);
      }
    }
    add(inside, {work.cycles(true), work.cycles(false)}, 1);
    return inside;
  }

  static void add(BlockCycles &to, const BlockCycles &cycles, double times) {
    to.alone += times * cycles.alone;
    to.beside += times * cycles.beside;
  }

  double turnsOf(scf::ForOp loop) {
    std::optional<int64_t> from = numberOf(loop.getLowerBound());
    std::optional<int64_t> to = numberOf(loop.getUpperBound());
    std::optional<int64_t> step = numberOf(loop.getStep());
    if (!from || !to || !step || *step < 1) {
      isKnown = false;
      return 0;
    }
    return *to > *from ? double(llvm::divideCeil(*to - *from, *step)) : 0;
  }

  /// The branch that is taken, or the longer one.
  BlockCycles cyclesOf(scf::IfOp branch) {
    std::optional<int64_t> taken = numberOf(branch.getCondition());
    BlockCycles cycles;
    for (auto [number, region] : llvm::enumerate(branch->getRegions())) {
      bool isOther = taken && (*taken != 0) != (number == 0);
      if (region.empty() || isOther) {
        continue;
      }
      BlockCycles inside = cyclesOf(region.front());
      cycles.alone = std::max(cycles.alone, inside.alone);
      cycles.beside = std::max(cycles.beside, inside.beside);
    }
    return cycles;
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  void count(Operation *op, BlockWork &work) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](GroupProductOp op) {
          countProduct(op.getLhs(), op.getRhs(), op.getSum(), work);
        })
        .Case([&](BeginProductOp op) { countBegun(op, work); })
        .Case([&](GroupCopyOp op) { countCopy(op, work); })
        .Case([&](GroupLoadOp op) {
          countRead(op.getSource(), op.getTile(), work);
        })
        .Case([&](GroupGatherOp op) {
          countRead(op.getSource(), op.getTile(), work);
          countBody(op.getBody().front(), op.getTile(), work);
        })
        .Case([&](GroupStoreOp op) { work.addStore(bytesOf(op.getTile())); })
        .Case([&](AddPartsOp op) {
          work.addClusterSum(bytesOf(op.getTile()), double(op.countBlocks()));
        })
        .Case([&](StoreSumsOp op) { countReduction(op.getTile(), work); })
        .Case([&](LoadSumsOp op) { countLoaded(op.getTile(), work); })
        .Case([&](GroupShareOp op) {
          work.shared += bytesOf(op.getTile()) / kSharedBytesOfCycle;
        })
        .Case([&](GroupReduceOp op) { countReduction(op.getTile(), work); })
        .Case([&](GroupMapOp op) {
          countBody(op.getBody().front(), op.getResult(), work);
        });
  }

  static double elementsOf(Value tile) {
    auto type = cast<ShapedType>(tile.getType());
    return double(type.getNumElements());
  }
  static double bytesOf(Value tile) {
    return elementsOf(tile) *
           cast<ShapedType>(tile.getType()).getElementTypeBitWidth() / 8;
  }

  /// Elements of a tile that a lane of each warp works on: of a column or a row
  /// of a product, those that lanes share are computed by each.
  static double elementsOfLane(TileType tile) {
    double rows = double(tile.rows()), columns = double(tile.columns());
    bool isRow = tile.getDistribution() == TileDistribution::row;
    double besideLanes = isRow ? double(kLanes) : double(kLanesOfRow);
    double belowLanes = isRow ? 1 : double(kBlockRows);
    rows = std::max(1.0, rows / double(tile.getRowMembers()) / belowLanes);
    columns =
        std::max(1.0, columns / double(tile.getColumnMembers()) / besideLanes);
    return rows * columns;
  }

  /// So many instructions of every lane that has an element: each part of a
  /// multiprocessor begins those of a warp in a cycle.
  void issue(TileType tile, double instructions, BlockWork &work) const {
    work.issued += instructions * elementsOfLane(tile) *
                   double(tile.members()) / double(kProcessorParts);
  }

  void countBody(Block &body, Value tile, BlockWork &work) const {
    auto type = cast<TileType>(tile.getType());
    double plain = 0, special = 0;
    for (Operation &op : body.without_terminator()) {
      if (op.hasTrait<OpTrait::ConstantLike>()) {
        continue;
      }
      if (isa<ActivationOp>(op)) {
        plain += kActivationInstructions;
        special += 1;
      } else if (isa<math::Exp2Op, math::ExpOp, math::RsqrtOp, math::SqrtOp,
                     math::LogOp, math::Log2Op, math::TanhOp, arith::DivFOp>(
                     op)) {
        special += 1;
      } else if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect())) {
        plain += 1;
      }
    }
    issue(type, plain, work);
    work.special += special * elementsOfLane(type) * double(type.members()) *
                    double(kLanes) / kSpecialOfCycle;
  }

  /// Lanes that share a row exchange what they have of it.
  void countReduction(Value tile, BlockWork &work) const {
    issue(cast<TileType>(tile.getType()), 1, work);
  }

  void countLoaded(Value tile, BlockWork &work) const {
    work.outside += bytesOf(tile) / kLoadedBytesOfCycle;
  }

  void countRead(Value source, Value tile, BlockWork &work) const {
    if (isa<SlotsType>(source.getType())) {
      work.shared += bytesOf(tile) / kSharedBytesOfCycle;
    } else {
      countLoaded(tile, work);
    }
  }

  void countCopy(GroupCopyOp op, BlockWork &work) const {
    auto slots = op.getSlots().getType();
    double bytes = double(slots.rows() * slots.columns()) *
                   slots.getElementTypeBitWidth() / 8;
    work.addCopy(bytes);
  }

  static int64_t depthOf(Value lhs) {
    return cast<ShapedType>(lhs.getType()).getShape().back();
  }

  /// Each member reads its rows and its columns.
  void countProduct(Value lhs, Value rhs, Value sum, BlockWork &work) const {
    auto type = cast<TileType>(sum.getType());
    Type element = cast<ShapedType>(rhs.getType()).getElementType();
    double bytes = double(element.getIntOrFloatBitWidth()) / 8;
    double depth = double(depthOf(lhs));
    double rows = double(type.rows()), columns = double(type.columns());
    double rate = double(element.isF32() ? gpu.cycleMacs32 : gpu.cycleMacs16);
    work.products += rows * columns * depth / rate;
    double read = columns * double(type.getRowMembers());
    if (isa<SlotsType>(lhs.getType())) {
      read += rows * double(type.getColumnMembers());
    }
    work.shared += read * depth * bytes / kSharedBytesOfCycle;
    double moves = read * depth * bytes / double(kChunkBytes * kLanes);
    work.issued += moves / double(kProcessorParts);
  }

  static void countBegun(BeginProductOp op, BlockWork &work) {
    auto type = cast<TileType>(op.getSum().getType());
    work.addGroupProducts(double(type.rows()), double(type.columns()),
                          double(depthOf(op.getLhs())));
  }

  const GpuFacts &gpu;
  SmallVector<Value> coordinates;
  llvm::DenseMap<Value, std::optional<int64_t>> numbers;
  bool isKnown = true;
};

} // namespace

std::optional<BlockCycles> modelBlock(func::FuncOp kernel,
                                      const std::array<int64_t, 3> &grid,
                                      const GpuFacts &gpu) {
  BlockModel model(kernel, gpu);
  int64_t places = std::min(grid[0], kModelledPlaces);
  BlockCycles sum;
  for (int64_t place = 0; place < places; ++place) {
    std::optional<BlockCycles> cycles =
        model.count(kernel.getBody().front(),
                    place * (grid[0] - 1) / std::max<int64_t>(places - 1, 1));
    if (!cycles) {
      return std::nullopt;
    }
    sum.alone += cycles->alone / double(places);
    sum.beside += cycles->beside / double(places);
  }
  return sum;
}

double modelLaunch(const BlockCycles &cycles, int64_t blocks, int64_t resident,
                   int64_t threads, int64_t bytes, const GpuFacts &gpu) {
  int64_t most = llvm::divideCeil(blocks, gpu.processors.back());
  int64_t together = std::min(most, std::max<int64_t>(resident, 1));
  bool isAlone = together * threads / kLanes < kManyWarps;
  double block = isAlone ? cycles.alone : cycles.beside;
  // Others work while one begins and ends.
  double between = kBlockCycles / double(together);
  double longest = double(most) * block + double(most - 1) * between;
  return std::max(longest / gpu.cyclesOfTime, double(bytes) / gpu.bytesOfTime);
}

} // namespace hova
