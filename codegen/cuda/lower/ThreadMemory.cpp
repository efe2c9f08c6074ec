//===- ThreadMemory.cpp - Tiles from and to memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A thread's part of a row of results of 16 bits is 4 bytes, and the four lanes
// of a row have 16 together: half a sector. So a warp stages 16 rows in shared
// memory and writes runs of 16 bytes a lane, whole sectors of a row each.

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/Positions.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {

/// Whether (row, column) lies inside; null if that was promised.
Value ThreadEmitter::inside(const Matrix &matrix, ArrayRef<bool> inBounds,
                            Value row, Value column) {
  Value inside;
  if (!inBounds[0]) {
    inside = isRowOf(matrix, row);
  }
  if (!inBounds[1]) {
    Value other = below(column, matrix.columns);
    inside = inside ? b.createOrFold<arith::AndIOp>(inside, other) : other;
  }
  return inside;
}

int64_t widthOf(Value matrix, Value row, Value column, int64_t rows,
                bool columnsInside, int64_t most) {
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<int64_t> strides;
  int64_t start;
  LogicalResult strided = type.getStridesAndOffset(strides, start);
  assert(succeeded(strided) && "the verifier has seen the strides");
  (void)strided;
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t rowDivisor = rows == 1 ? divisorOf(row) : 1;
  int64_t divisor = std::min({addressDivisorOf(matrix),
                              divisorOf(strides[0]) * bytes * rowDivisor,
                              divisorOf(column) * bytes});
  int64_t width = std::clamp<int64_t>(divisor / bytes, 1, most);
  return columnsInside ? width : std::min(width, divisorOf(type.getDimSize(1)));
}

LogicalResult ThreadEmitter::emitLoad(GroupLoadOp op) {
  if (isa<SlotsType>(op.getSource().getType())) {
    return emitBoxLoad(op);
  }
  TileType tile = op.getTile().getType();
  Fragment held = fragment(tile);
  FailureOr<Matrix> source = matrix(op, op.getSource());
  if (failed(source)) {
    return failure();
  }
  int64_t width =
      widthOf(op.getSource(), op.getIndices()[0], op.getIndices()[1],
              tile.rows(), op.getInBounds()[1], held.run);
  Value row = add(word(op.getIndices()[0]), held.row);
  Value column = add(word(op.getIndices()[1]), held.column);
  Value base = offset(source->base, add(mul(row, source->rowBytes),
                                        mul(column, source->elementBytes)));
  Values elements;
  for (int64_t r : held.rows) {
    for (size_t c = 0; c < held.columns.size(); c += width) {
      Value address = offset(base, r * source->rowBytes +
                                       held.columns[c] * source->elementBytes);
      Value there = inside(*source, op.getInBounds(), add(row, i32(r)),
                           add(column, i32(held.columns[c])));
      llvm::append_range(elements,
                         loadRun(*source, tile, address, there, width));
    }
  }
  parts[op.getTile()] =
      isPaired(tile) && width == 1 ? joinHalves(elements) : elements;
  return success();
}

/// `width` elements beside each other, as registers hold them; one of 16 bits
/// alone. Where they are not `there`, which null says of none, they are 0, and
/// the start of the source is read.
ThreadEmitter::Values ThreadEmitter::loadRun(const Matrix &source,
                                             TileType tile, Value address,
                                             Value there, int64_t width) {
  bool pairs = isPaired(tile) && width > 1;
  Type unit = pairs            ? b.getI32Type()
              : isPaired(tile) ? b.getI16Type()
                               : source.element;
  int64_t units = pairs ? width / 2 : width;
  Type access = units == 1 ? unit : VectorType::get({units}, unit);
  Value from = there ? select(there, address, source.base) : address;
  Value loaded =
      LLVM::LoadOp::create(b, access, from, width * source.elementBytes);
  if (there) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(access));
    loaded = select(there, loaded, zero);
  }
  if (units == 1) {
    return {loaded};
  }
  Values elements;
  for (int64_t i = 0; i < units; ++i) {
    elements.push_back(vector::ExtractOp::create(b, loaded, i));
  }
  return elements;
}

/// Two elements of 16 bits in each register, the first in the low half.
ThreadEmitter::Values ThreadEmitter::joinHalves(ArrayRef<Value> halves) {
  Values words;
  for (; !halves.empty(); halves = halves.drop_front(2)) {
    Value both = vector::FromElementsOp::create(
        b, VectorType::get({2}, halves.front().getType()),
        halves.take_front(2));
    words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), both));
  }
  return words;
}

/// An element of a table, which all threads read: whoever writes a kernel sees
/// to it that it is there.
LogicalResult ThreadEmitter::emitElementLoad(memref::LoadOp op) {
  SmallVector<int64_t> strides;
  int64_t start;
  MemRefType type = op.getMemRefType();
  if (type.getRank() != 2 || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, start))) {
    return op.emitOpError("expects a matrix with static strides, got ") << type;
  }
  FailureOr<Matrix> source = matrix(op, op.getMemRef());
  if (failed(source)) {
    return failure();
  }
  Value byte = add(mul(word(op.getIndices()[0]), source->rowBytes),
                   mul(word(op.getIndices()[1]), source->elementBytes));
  Value loaded = LLVM::LoadOp::create(
      b, op.getType(), offset(source->base, byte), source->elementBytes);
  map.map(op.getResult(), loaded);
  return success();
}

LogicalResult ThreadEmitter::emitBoxLoad(GroupLoadOp op) {
  TileType tile = op.getTile().getType();
  if (tile.getDistribution() != TileDistribution::product ||
      tile.getColumnMembers() != 1 || tile.rows() == 1 || tile.columns() == 1 ||
      !slotsOf.count(op.getSource())) {
    return op.emitOpError("expects a tile as a product leaves it, whose rows "
                          "alone are divided, and slots of this function");
  }
  const Slots &slots = slotsOf[op.getSource()];
  Value start = slotStart(slots, op.getIndices()[0]);
  parts[op.getTile()] = isPaired(tile) ? loadPairs(slots, start, tile)
                                       : loadWords(slots, start, tile);
  return success();
}

/// A box of 16 bits an element, by ldmatrix.
ThreadEmitter::Values ThreadEmitter::loadPairs(const Slots &slots, Value start,
                                               TileType tile) {
  int64_t part = tile.rows() / tile.getRowMembers();
  Value firstRow = mul(member, part);
  int64_t rows = part / kBlockRows, blocks = tile.columns() / kBlockRows;
  Values words(rows * blocks);
  for (int64_t a = 0; a < rows / 2; ++a) {
    for (int64_t k = 0; k < blocks / 2; ++k) {
      Values loaded = loadLeft(slots, start, firstRow, a, k);
      for (int64_t i = 0; i < 4; ++i) {
        words[(2 * a + i % 2) * blocks + 2 * k + i / 2] = loaded[i];
      }
    }
  }
  return words;
}

/// A box of f32. The two columns of a lane are half a chunk, and a row has its
/// chunks where the row beside it has them exchanged: so odd rows read their
/// second column first, and no bank is asked twice.
ThreadEmitter::Values ThreadEmitter::loadWords(const Slots &slots, Value start,
                                               TileType tile) {
  Fragment held = fragment(tile);
  Value chunk = div(rem(lane, kLanesOfRow), 2);
  Value odd = rem(div(lane, kLanesOfRow), 2);
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, odd, i32(0));
  Value place = add(mul(rem(lane, 2), 8), start);
  Value first = add(place, mul(odd, 4));
  Value second = arith::SubIOp::create(b, add(place, i32(4)), mul(odd, 4));
  Values elements;
  for (int64_t r : held.rows) {
    for (size_t c = 0; c < held.columns.size(); c += held.run) {
      Value byte = slotByte(slots, add(held.row, i32(r)), chunk,
                            held.columns[c] * 4 / kChunkBytes);
      auto load = [&](Value column) -> Value {
        return LLVM::LoadOp::create(b, b.getF32Type(),
                                    offset(memory, add(byte, column)), 4);
      };
      Value x = load(first), y = load(second);
      elements.append({select(isOdd, y, x), select(isOdd, x, y)});
    }
  }
  return elements;
}

bool ThreadEmitter::isStaged(GroupStoreOp op) {
  TileType tile = op.getTile().getType();
  if (tile.getDistribution() != TileDistribution::product || !isPaired(tile) ||
      tile.rows() == 1) {
    return false;
  }
  int64_t part = tile.columns() / tile.getColumnMembers();
  return (part % kSegment == 0 || part == kSegment / 2) &&
         widthOf(op.getTarget(), op.getRow(), op.getColumn(), tile.rows(),
                 op.getInBounds()[1], kChunk) == kChunk;
}

LogicalResult ThreadEmitter::emitStagedStore(GroupStoreOp op,
                                             const Matrix &target) {
  TileType tile = op.getTile().getType();
  int64_t part = tile.columns() / tile.getColumnMembers();
  int64_t partRows = tile.rows() / tile.getRowMembers();
  int64_t width = std::min(part, kSegment), chunks = width / kChunk;
  int64_t rowBytes = 2 * width, rowsAtOnce = kLanes / chunks;
  // Rows of half the banks are exchanged in pairs.
  auto exchange = [&](Value row, Value chunk) -> Value {
    Value key = chunks == 8 ? rem(row, 8) : rem(div(row, 2), 4);
    return b.createOrFold<arith::XOrIOp>(chunk, key);
  };
  Value stage = offset(memory, add(mul(member, stageBytes), i32(stageOffset)));
  Value laneRow = div(lane, kLanesOfRow);
  Value base = offset(
      stage, add(mul(laneRow, rowBytes), mul(rem(lane, kLanesOfRow), 4)));
  // Which chunk of its row a thread reads back, and writes.
  Value readRow = div(lane, chunks), readChunk = rem(lane, chunks);
  Value firstRow =
      add(word(op.getRow()),
          add(mul(div(member, tile.getColumnMembers()), partRows), readRow));
  Value firstColumn = add(word(op.getColumn()),
                          add(mul(rem(member, tile.getColumnMembers()), part),
                              mul(readChunk, kChunk)));
  Value to = offset(target.base,
                    add(mul(firstRow, target.rowBytes), mul(firstColumn, 2)));
  ArrayRef<Value> words = parts[op.getTile()];
  int64_t blocks = part / kBlockRows;
  auto vector = VectorType::get({4}, b.getI32Type());
  for (int64_t a = 0; a < partRows / 16; ++a) {
    for (int64_t first = 0; first < blocks; first += chunks) {
      for (int64_t half = 0; half < 2; ++half) {
        for (int64_t c = 0; c < chunks; ++c) {
          Value place = offset(base, mul(exchange(laneRow, i32(c)), 16));
          LLVM::StoreOp::create(b, words[(2 * a + half) * blocks + first + c],
                                offset(place, half * kBlockRows * rowBytes), 4);
        }
      }
      syncWarp();
      for (int64_t r = 0; r < 16; r += rowsAtOnce) {
        Value row = add(readRow, i32(r));
        Value from = offset(
            stage, add(mul(row, rowBytes), mul(exchange(row, readChunk), 16)));
        Value run = LLVM::LoadOp::create(b, vector, from, 16);
        Value there =
            inside(target, op.getInBounds(), add(firstRow, i32(16 * a + r)),
                   add(firstColumn, i32(kChunk * first)));
        OpBuilder::InsertionGuard guard(b);
        if (there) {
          auto choice = scf::IfOp::create(b, there);
          b.setInsertionPointToStart(choice.thenBlock());
        }
        LLVM::StoreOp::create(
            b, run, offset(to, (16 * a + r) * target.rowBytes + 16 * first),
            16);
      }
      // After the branches, and before the stage is written again.
      syncWarp();
    }
  }
  return success();
}

/// What an access writes: `width` elements from the element `first` on.
Value ThreadEmitter::accessOf(ArrayRef<Value> registers, bool paired,
                              int64_t first, int64_t width) {
  if (paired && width == 1) {
    Value both = registers[first / 2];
    if (first % 2) {
      both = arith::ShRUIOp::create(b, both, i32(16));
    }
    return arith::TruncIOp::create(b, b.getI16Type(), both);
  }
  int64_t each = paired ? 2 : 1;
  registers = registers.slice(first / each, width / each);
  return registers.size() == 1
             ? registers.front()
             : Value(vector::FromElementsOp::create(
                   b,
                   VectorType::get({int64_t(registers.size())},
                                   registers.front().getType()),
                   registers));
}

/// Whether a thread is the one that stores what others hold too: the only row
/// of a tile, or the only column; null if each element has one thread.
Value ThreadEmitter::isOwner(TileType tile) {
  bool alongRow = tile.getDistribution() == TileDistribution::row;
  Value owner;
  auto require = [&](Value number) {
    Value first = below(number, 1);
    owner = owner ? b.createOrFold<arith::AndIOp>(owner, first) : first;
  };
  if (tile.rows() == 1 && !alongRow) {
    require(div(lane, kLanesOfRow));
  }
  if (tile.rows() == 1 && tile.getRowMembers() > 1) {
    require(div(member, tile.getColumnMembers()));
  }
  if (tile.columns() == 1) {
    require(alongRow ? lane : rem(lane, kLanesOfRow));
  }
  if (tile.columns() == 1 && tile.getColumnMembers() > 1) {
    require(rem(member, tile.getColumnMembers()));
  }
  return owner;
}

/// Of a tile whose pairs of columns are stored one element at a time: lanes of
/// two rows that follow each other exchange halves of their pairs, and each has
/// one column of both rows, which `held` says then. So an access of all lanes
/// writes eight columns beside each other in four rows, not every other one in
/// eight rows, whose sectors it would ask for twice.
ThreadEmitter::Values ThreadEmitter::exchangeRows(Value tile, Fragment &held) {
  bool paired = isPaired(cast<TileType>(tile.getType()));
  Value odd = rem(div(lane, kLanesOfRow), 2);
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, odd, i32(0));
  Value half = mul(odd, 16);
  auto halfOf = [&](Value word) -> Value {
    return arith::TruncIOp::create(b, b.getI16Type(),
                                   arith::ShRUIOp::create(b, word, half));
  };
  // A lane of an even row takes the even columns, one of an odd row the odd.
  auto exchange = [&](ArrayRef<Value> pair) -> std::pair<Value, Value> {
    Value given = paired ? pair[0] : select(isOdd, pair[0], pair[1]);
    Value taken = shuffle(given, kLanesOfRow);
    Value first = select(isOdd, taken, pair.front());
    Value second = select(isOdd, pair.back(), taken);
    return paired ? std::pair(halfOf(first), halfOf(second))
                  : std::pair(first, second);
  };
  ArrayRef<Value> registers = parts[tile];
  size_t pairs = held.columns.size() / 2, each = paired ? 1 : 2;
  Values elements;
  SmallVector<int64_t> rows, columns;
  for (size_t c = 0; c < pairs; ++c) {
    columns.push_back(held.columns[2 * c]);
  }
  for (int64_t row : held.rows) {
    rows.append({row, row + 1});
    Values next;
    for (size_t c = 0; c < pairs; ++c, registers = registers.drop_front(each)) {
      auto [first, second] = exchange(registers.take_front(each));
      elements.push_back(first);
      next.push_back(second);
    }
    llvm::append_range(elements, next);
  }
  held.row = b.createOrFold<arith::SubIOp>(held.row, odd);
  held.column = add(held.column, odd);
  held.rows = rows;
  held.columns = columns;
  return elements;
}

LogicalResult ThreadEmitter::emitStore(GroupStoreOp op) {
  TileType tile = op.getTile().getType();
  FailureOr<Matrix> target = matrix(op, op.getTarget());
  if (failed(target)) {
    return failure();
  }
  if (isStaged(op)) {
    return emitStagedStore(op, *target);
  }
  Fragment held = fragment(tile);
  // Bytes are what is left of registers, one each.
  bool areBytes = target->elementBytes == 1;
  int64_t width = areBytes
                      ? 1
                      : widthOf(op.getTarget(), op.getRow(), op.getColumn(),
                                tile.rows(), op.getInBounds()[1], held.run);
  Values elements = parts[op.getTile()];
  bool paired = isPaired(tile);
  if (width == 1 && !areBytes && tile.rows() > 1 && tile.columns() > 1 &&
      tile.getDistribution() == TileDistribution::product) {
    elements = exchangeRows(op.getTile(), held);
    paired = false;
  }
  Value row = add(word(op.getRow()), held.row);
  Value column = add(word(op.getColumn()), held.column);
  Value base = offset(target->base, add(mul(row, target->rowBytes),
                                        mul(column, target->elementBytes)));
  bool branches = false;
  Value owner = isOwner(tile);
  for (auto [i, r] : llvm::enumerate(held.rows)) {
    for (size_t c = 0; c < held.columns.size(); c += width) {
      OpBuilder::InsertionGuard guard(b);
      Value there = inside(*target, op.getInBounds(), add(row, i32(r)),
                           add(column, i32(held.columns[c])));
      if (owner) {
        there = there ? b.createOrFold<arith::AndIOp>(owner, there) : owner;
      }
      if (there) {
        auto choice = scf::IfOp::create(b, there);
        b.setInsertionPointToStart(choice.thenBlock());
        branches = true;
      }
      Value stored =
          accessOf(elements, paired, i * held.columns.size() + c, width);
      if (areBytes) {
        stored = arith::TruncIOp::create(b, b.getI8Type(), stored);
      }
      LLVM::StoreOp::create(
          b, stored,
          offset(base,
                 r * target->rowBytes + held.columns[c] * target->elementBytes),
          width * target->elementBytes);
    }
  }
  if (branches) {
    syncWarp();
  }
  return success();
}

LogicalResult ThreadEmitter::emitShare(GroupShareOp op) {
  TileType tile = op.getTile().getType();
  if (tile.getColumnMembers() != 1 || !slotsOf.count(op.getSlots())) {
    return op.emitOpError("expects a tile whose rows alone are divided, and "
                          "slots of this function");
  }
  tile.getDistribution() == TileDistribution::row ? shareRuns(op)
  : isPaired(tile)                                ? sharePairs(op)
                                                  : shareWords(op);
  fenceForProducts();
  NVVM::Barrier0Op::create(b);
  return success();
}

/// The four words of a row that are written at once are a chunk, and eight rows
/// of a chunk lie in different banks.
void ThreadEmitter::sharePairs(GroupShareOp op) {
  const Slots &slots = slotsOf[op.getSlots()];
  Fragment held = fragment(op.getTile().getType());
  ArrayRef<Value> words = parts[op.getTile()];
  Value start = offset(memory, add(slotStart(slots, op.getSlot()),
                                   mul(rem(lane, kLanesOfRow), 4)));
  for (int64_t r : held.rows) {
    for (size_t c = 0; c < held.columns.size(); c += held.run) {
      Value byte = slotByte(slots, add(held.row, i32(r)), i32(0),
                            held.columns[c] / kChunk);
      LLVM::StoreOp::create(b, words.front(), offset(start, byte), 4);
      words = words.drop_front();
    }
  }
}

/// A run lies inside of a chunk, and those of a warp are of one row.
void ThreadEmitter::shareRuns(GroupShareOp op) {
  TileType tile = op.getTile().getType();
  const Slots &slots = slotsOf[op.getSlots()];
  Fragment held = fragment(tile);
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  Value start = offset(memory, slotStart(slots, op.getSlot()));
  for (auto [i, r] : llvm::enumerate(held.rows)) {
    for (size_t c = 0; c < held.columns.size(); c += held.run) {
      Value byte = boxByte(slots, add(held.row, i32(r)),
                           add(held.column, i32(held.columns[c])), bytes);
      Value run = accessOf(parts[op.getTile()], isPaired(tile),
                           i * held.columns.size() + c, held.run);
      LLVM::StoreOp::create(b, run, offset(start, byte), held.run * bytes);
    }
  }
}

/// A pair of columns lies inside of a chunk. Lanes of odd rows write the pair
/// half of the banks away, or back: so the four rows that are written at once
/// lie in different banks.
void ThreadEmitter::shareWords(GroupShareOp op) {
  const Slots &slots = slotsOf[op.getSlots()];
  Fragment held = fragment(op.getTile().getType());
  constexpr int64_t kBytes = kBankBytes, kAway = kBanks / 2;
  ArrayRef<Value> elements = parts[op.getTile()];
  Value start = offset(memory, slotStart(slots, op.getSlot()));
  Value odd = rem(div(lane, kLanesOfRow), 2);
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, odd, i32(0));
  auto vector = VectorType::get({held.run}, b.getF32Type());
  int64_t width = slots.rowBytes / kBytes;
  for (auto [i, r] : llvm::enumerate(held.rows)) {
    ArrayRef<Value> row = elements.slice(i * held.columns.size());
    for (size_t c = 0; c < held.columns.size(); c += held.run) {
      size_t away = c ^ (kAway / kBlockRows * held.run);
      Values run;
      for (int64_t e = 0; e < held.run; ++e) {
        run.push_back(select(isOdd, row[away + e], row[c + e]));
      }
      int64_t segment = held.columns[c] / width;
      Value column = add(held.column, i32(held.columns[c] % width));
      Value chunk = b.createOrFold<arith::XOrIOp>(div(column, kChunk32),
                                                  mul(odd, kAway / kChunk32));
      Value byte = slotByte(slots, add(held.row, i32(r)), chunk, 0);
      Value to = offset(start, add(byte, mul(rem(column, kChunk32), kBytes)));
      LLVM::StoreOp::create(b, vector::FromElementsOp::create(b, vector, run),
                            offset(to, segment * slots.segmentBytes()),
                            held.run * kBytes);
    }
  }
}

} // namespace hova
