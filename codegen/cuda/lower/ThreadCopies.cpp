//===- ThreadCopies.cpp - cp.async and the order of its groups ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A copy is a group of cp.async, which moves 4 bytes at least: elements of 16
// bits that begin anywhere are loaded and stored. Groups end in order, so a
// token is no value at all: a wait needs only the number of copies that were
// begun after its own, and the list of pending ones gives that at compile time,
// through loops too.

#include "codegen/cuda/facts/AllGpus.h"
#include "codegen/cuda/lower/Positions.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hova {

/// Bytes that a piece of a row reads from `column` on; null: all. Bytes that
/// are not read become 0, and an address of none is not used.
Value ThreadEmitter::bytesToRead(GroupCopyOp op, const Matrix &source,
                                 int64_t bytes, Value there, Value column) {
  Value read = i32(bytes);
  if (!op.getInBounds()[1]) {
    Value other = below(column, source.columns);
    there = there ? b.createOrFold<arith::AndIOp>(there, other) : other;
    if (source.columns * source.elementBytes % bytes) {
      // The row ends within a piece.
      Value rest = arith::SubIOp::create(b, i32(source.columns), column);
      read =
          arith::MinUIOp::create(b, mul(rest, source.elementBytes), i32(bytes));
    }
  }
  return there ? select(there, read, i32(0)) : Value();
}

/// Whether a matrix of `rows` rows has the row after `position` that a thread
/// copies in a round, of which `first` is the first one and `count` are all.
Value ThreadEmitter::isRowThere(Value position, Value row, int64_t first,
                                int64_t count, const Matrix &source) {
  if (source.rowCount) {
    return isRowOf(source, add(word(position), add(row, i32(first))));
  }
  int64_t rows = source.rows;
  // The position begins a section of rows, as many as it is a multiple of. All
  // threads get the same answer unless the matrix ends within this round's part
  // of its last section: a comparison of the position alone, which the rounds
  // of a section share.
  int64_t section = divisorOf(position), end = rows % section;
  int64_t within = first % section;
  bool isInSection = within + count <= section;
  if (isInSection && (within + count <= end || end <= within)) {
    row = i32(0);
    first -= within;
    rows -= end <= within ? end : 0;
  }
  // One sum for all rounds, and none is there if the matrix ends before
  // `first`. Before the matrix the sum would be a large number.
  return isNeverNegative(position)
             ? below(add(word(position), row),
                     std::max<int64_t>(0, rows - first))
             : below(add(word(position), add(row, i32(first))), rows);
}

/// An element of 16 bits, of which there is no asynchronous copy; 0 if `read`,
/// where it is given, is 0.
void ThreadEmitter::moveElement(const Matrix &source, Value from, Value to,
                                Value read) {
  Type type = b.getI16Type();
  Value there;
  if (read) {
    there = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, read, i32(0));
  }
  Value element = LLVM::LoadOp::create(
      b, type, there ? select(there, from, source.base) : from, 2);
  if (there) {
    element = select(there, element, arith::ConstantIntOp::create(b, 0, 16));
  }
  LLVM::StoreOp::create(b, element, to, 2);
}

/// Elements of 16 bits, made f32 on the way; 0 if `read`, where it is given, is
/// 0.
void ThreadEmitter::widenPiece(const Matrix &source, Type element, Value from,
                               Value to, int64_t bytes, Value read) {
  int64_t count = bytes / source.elementBytes;
  Value there;
  if (read) {
    there = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, read, i32(0));
    from = select(there, from, source.base);
  }
  auto widened = [&](Value narrow) -> Value {
    Value wide = arith::ExtFOp::create(b, b.getF32Type(), narrow);
    return there ? select(there, wide, f32(0)) : wide;
  };
  if (count == 1) {
    Value word = LLVM::LoadOp::create(b, element, from, bytes);
    LLVM::StoreOp::create(b, widened(word), to, 4);
    return;
  }
  Type word = b.getI32Type();
  Value loaded = LLVM::LoadOp::create(
      b, count == 2 ? word : Type(VectorType::get({count / 2}, word)), from,
      bytes);
  Values elements;
  for (int64_t i = 0; i < count; ++i) {
    Value words = count == 2
                      ? loaded
                      : Value(vector::ExtractOp::create(b, loaded, i / 2));
    Value pair =
        LLVM::BitcastOp::create(b, VectorType::get({2}, element), words);
    elements.push_back(widened(vector::ExtractOp::create(b, pair, i % 2)));
  }
  Value run = vector::FromElementsOp::create(
      b, VectorType::get({count}, b.getF32Type()), elements);
  LLVM::StoreOp::create(b, run, to, 4 * count);
}

/// `bytes` at `from`, of which the first `read` are read where it is given.
void ThreadEmitter::copyPiece(const Matrix &source, Value from, Value to,
                              int64_t bytes, Value read) {
  if (bytes < kLeastCopy) {
    return moveElement(source, from, to, read);
  }
  NVVM::CpAsyncOp::create(b, to, from, bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          read);
}

/// Which rows of the source a thread copies, whose first one is `row` and the
/// others `step` after each other; none if they are these.
SmallVector<Value> ThreadEmitter::placedRows(GroupCopyOp op, Value row,
                                             int64_t step) {
  SmallVector<Value> placed;
  if (op.getRows().empty()) {
    return placed;
  }
  Block &body = op.getRows().front();
  for (int64_t first = 0; first < op.getSlots().getType().rows();
       first += step) {
    map.map(body.getArgument(0), b.createOrFold<arith::IndexCastOp>(
                                     b.getIndexType(), add(row, i32(first))));
    emitBody(body);
    placed.push_back(word(body.getTerminator()->getOperand(0)));
  }
  return placed;
}

/// Where `byte` of `row`, and of every `step`th row after it, is in a segment:
/// chunks are exchanged in the same way every eight rows.
ThreadEmitter::Values ThreadEmitter::slotPlaces(const Slots &slots, Value row,
                                                Value byte, int64_t step) {
  Value chunk = div(byte, kChunkBytes), within = rem(byte, kChunkBytes);
  Values places(kBlockRows);
  for (int64_t first = 0; first < slots.rows; first += step) {
    if (Value &place = places[first % kBlockRows]; !place) {
      Value start =
          slotByte(slots, add(row, i32(first % kBlockRows)), chunk, 0);
      place = offset(memory, add(start, within));
    }
  }
  return places;
}

LogicalResult ThreadEmitter::emitCopy(GroupCopyOp op) {
  if (!slotsOf.count(op.getSlots())) {
    return op.emitOpError("expects slots of this function");
  }
  const Slots &slots = slotsOf[op.getSlots()];
  FailureOr<Matrix> source = matrix(op, op.getSource());
  if (failed(source) ||
      (!op.getRows().empty() && failed(verifyBody(op.getRows().front())))) {
    return failure();
  }
  int64_t elementBytes = source->elementBytes;
  Type element = op.getSource().getType().getElementType();
  int64_t slotBytes = op.getSlots().getType().getElementTypeBitWidth() / 8;
  bool widens = slotBytes != elementBytes;
  // The end of a row falls within no piece that is widened.
  int64_t bytes =
      elementBytes * widthOf(op.getSource(), op.getRow(), op.getColumn(),
                             slots.rows, !widens || op.getInBounds()[1],
                             kChunkBytes / slotBytes);
  int64_t written = bytes / elementBytes * slotBytes;
  // A thread copies the same piece of every `rowsAtOnce`th row.
  int64_t pieces = slots.rowBytes / written, rowsAtOnce = threads / pieces;
  if (rowsAtOnce == 0) {
    return op.emitOpError("expects a thread for each of the ")
           << pieces << " pieces of a row of slots that are copied at once, of "
           << bytes << " bytes, got " << threads << " threads";
  }
  Value row = div(thread, pieces), piece = rem(thread, pieces);
  // What a thread adds to every copy of this matrix, and of these slots.
  Value from =
      offset(source->base, add(mul(row, source->rowBytes), mul(piece, bytes)));
  Values places = slotPlaces(slots, row, mul(piece, written), rowsAtOnce);
  Value firstRow = word(op.getRow()), firstColumn = word(op.getColumn());
  Value columnBytes = mul(firstColumn, elementBytes);
  SmallVector<Value> placed = placedRows(op, add(firstRow, row), rowsAtOnce);
  from = placed.empty()
             ? offset(from, add(mul(firstRow, source->rowBytes), columnBytes))
             : offset(source->base, add(columnBytes, mul(piece, bytes)));
  Value start = slotStart(slots, op.getSlot());
  for (Value &place : places) {
    place = place ? offset(place, start) : place;
  }
  bool branches = false;
  for (int64_t segment = 0; segment < slots.segments; ++segment) {
    for (int64_t first = 0; first < slots.rows; first += rowsAtOnce) {
      OpBuilder::InsertionGuard guard(b);
      if (first + rowsAtOnce > slots.rows) {
        auto choice = scf::IfOp::create(b, below(row, slots.rows - first));
        b.setInsertionPointToStart(choice.thenBlock());
        branches = true;
      }
      Value placedRow = placed.empty() ? Value() : placed[first / rowsAtOnce];
      Value there =
          op.getInBounds()[0] ? Value()
          : placedRow
              ? isRowOf(*source, placedRow)
              : isRowThere(op.getRow(), row, first,
                           std::min(rowsAtOnce, slots.rows - first), *source);
      Value column = add(add(firstColumn, mul(piece, bytes / elementBytes)),
                         i32(kSegment * segment));
      Value to = offset(places[first % kBlockRows],
                        segment * slots.segmentBytes() +
                            (first - first % kBlockRows) * slots.rowBytes);
      Value rowStart = placedRow
                           ? offset(from, mul(placedRow, source->rowBytes))
                           : offset(from, first * source->rowBytes);
      Value at = offset(rowStart, elementBytes * kSegment * segment);
      Value read = bytesToRead(op, *source, bytes, there, column);
      widens ? widenPiece(*source, element, at, to, bytes, read)
             : copyPiece(*source, at, to, bytes, read);
    }
  }
  if (branches) {
    syncWarp();
  }
  NVVM::CpAsyncCommitGroupOp::create(b);
  pending.push_back(op.getToken());
  return success();
}

LogicalResult ThreadEmitter::emitWait(GroupWaitOp op) {
  size_t done = 0;
  for (Value token : op.getTokens()) {
    auto found = llvm::find(pending, token);
    if (found == pending.end()) {
      return op.emitOpError("waits for a copy that is not under way");
    }
    done = std::max<size_t>(done, found - pending.begin() + 1);
  }
  // A wait for one copy is over when those before it are.
  for (Value token : ArrayRef(pending).take_front(done)) {
    if (!llvm::is_contained(op.getTokens(), token)) {
      return op.emitOpError("passes over a copy that began earlier and is "
                            "under way");
    }
  }
  if (done) {
    NVVM::CpAsyncWaitGroupOp::create(b, pending.size() - done);
  }
  pending.erase(pending.begin(), pending.begin() + done);
  fenceForProducts();
  NVVM::Barrier0Op::create(b);
  return success();
}

/// Whether a loop neither begins nor ends copies: those under way stay so.
static bool passesCopiesBy(scf::ForOp op) {
  bool carries = llvm::any_of(op.getRegionIterArgs(), [](Value argument) {
    return isa<CopyTokenType>(argument.getType());
  });
  return !carries && !op.getBody()
                          ->walk([](Operation *inside) {
                            return isa<GroupCopyOp, GroupWaitOp>(inside)
                                       ? WalkResult::interrupt()
                                       : WalkResult::advance();
                          })
                          .wasInterrupted();
}

/// Carried tokens are pending under their names inside; their order is that of
/// the copies, on the way in and on the way round.
LogicalResult ThreadEmitter::enterLoop(scf::ForOp op) {
  if (passesCopiesBy(op)) {
    return success();
  }
  for (Value &token : pending) {
    auto found = llvm::find(op.getInitArgs(), token);
    if (found == op.getInitArgs().end()) {
      return op.emitOpError("does not carry a copy that is under way");
    }
    token = op.getRegionIterArgs()[found - op.getInitArgs().begin()];
  }
  return success();
}

LogicalResult ThreadEmitter::leaveLoop(scf::ForOp op) {
  if (passesCopiesBy(op)) {
    return success();
  }
  SmallVector<Value> after;
  SmallVector<int64_t> places;
  for (Value token : pending) {
    auto found = llvm::find(op.getYieldedValues(), token);
    if (found == op.getYieldedValues().end()) {
      return op.emitOpError("does not yield a copy that is under way");
    }
    places.push_back(found - op.getYieldedValues().begin());
    after.push_back(op.getResults()[places.back()]);
  }
  SmallVector<int64_t> carried;
  for (auto [place, argument] : llvm::enumerate(op.getRegionIterArgs())) {
    if (isa<CopyTokenType>(argument.getType())) {
      carried.push_back(place);
    }
  }
  // The same copies in the same order on each turn make the counts constant.
  if (places != carried) {
    return op.emitOpError("yields other copies, or in another order, than it "
                          "takes them");
  }
  pending = after;
  return success();
}

} // namespace hova
