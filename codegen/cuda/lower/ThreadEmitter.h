//===- ThreadEmitter.h - Tiles as registers of threads --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group is a block of threads, a member a warp, a lane a thread. Of a tile a
// thread holds a small matrix, its fragment. Along `product`, thread l of a
// warp holds
//
//   rows     16 a + l / 4 + 8 h      a < rows / 16,    h < 2
//   columns  8 c + 2 (l % 4) + e     c < columns / 8,  e < 2
//
// of its member's part: mma.sync leaves its sums there, and wants a left
// operand of 16 bits there. Along `row` it holds all rows and runs of up to 4
// columns. Elements of 16 bits are held in pairs, the even column in the low
// half; runs of one column stay elements of 16 bits.

#ifndef HOVA_CODEGEN_CUDA_LOWER_THREADEMITTER_H
#define HOVA_CODEGEN_CUDA_LOWER_THREADEMITTER_H

#include "codegen/cuda/ClusterOps.h"
#include "codegen/cuda/SumOps.h"
#include "codegen/cuda/WgmmaOps.h"
#include "dialect/group/GroupOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hova {

/// Which elements of a tile a thread holds: rows `row + rows[r]`, columns
/// `column + columns[c]`.
struct Fragment {
  mlir::Value row, column;
  llvm::SmallVector<int64_t> rows, columns;
  /// Columns that lie beside each other from every multiple of it on.
  int64_t run = 1;
};

/// Elements that one access may move, `most` or the largest power of two below
/// it, of `rows` rows of a matrix from (row, column) on. Accesses lie whole
/// inside or outside of the matrix, and on addresses of their size.
int64_t widthOf(mlir::Value matrix, mlir::Value row, mlir::Value column,
                int64_t rows, bool columnsInside, int64_t most);

/// An error on the first operation of a body that threads cannot do for each
/// element by itself.
mlir::LogicalResult verifyBody(mlir::Block &body);

/// Rewrites one function of group operations as a kernel of threads. The
/// function takes matrices and then the coordinates of its group in the grid,
/// up to three of type index; the kernel takes the matrices' addresses. What
/// cannot be lowered is an error on its operation.
class ThreadEmitter {
public:
  explicit ThreadEmitter(mlir::func::FuncOp from);
  mlir::LogicalResult emit();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  /// Group memory of a `hova.group_alloc`. A box is cut into segments of at
  /// most 64 columns; a row of a segment has `rowBytes`, whose chunks of 16
  /// bytes are exchanged so that eight rows of a chunk lie in different banks.
  struct Slots {
    int64_t offset = 0, rows = 0, rowBytes = 0, segments = 0;
    int64_t segmentBytes() const { return rows * rowBytes; }
    int64_t bytes() const { return segments * segmentBytes(); }
    int64_t chunks() const { return rowBytes / 16; }
  };

  /// A matrix in global memory: where row 0 and column 0 are.
  struct Matrix {
    mlir::Value base;
    int64_t rows, columns, rowBytes, elementBytes;
    mlir::Type element;
    /// How many rows there are where the type does not say it; `rows` are those
    /// that there may be.
    mlir::Value rowCount = {};
  };

  // Scalars, 32 bits wide.
  mlir::Value i32(int64_t value);
  mlir::Value f32(double value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y);
  mlir::Value div(mlir::Value x, int64_t y);
  mlir::Value rem(mlir::Value x, int64_t y);
  mlir::Value below(mlir::Value x, int64_t extent);
  mlir::Value isRowOf(const Matrix &matrix, mlir::Value row);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// The 32 bits of an index of the original function.
  mlir::Value word(mlir::Value index);
  mlir::Type pointer(unsigned space);
  mlir::Value offset(mlir::Value base, mlir::Value bytes);
  mlir::Value offset(mlir::Value base, int64_t bytes);

  // Functions and regions (ThreadEmitter.cpp).
  mlir::LogicalResult declare();
  int64_t leastBlocks();
  void createKernel();
  mlir::LogicalResult emitOps(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation &op);
  mlir::LogicalResult emitLoop(mlir::scf::ForOp op);
  mlir::LogicalResult emitWhere(GroupWhereOp op);
  /// A loop that nobody unrolls.
  mlir::scf::ForOp createLoop(mlir::Value from, mlir::Value to,
                              mlir::Value step, mlir::ValueRange inits);
  mlir::LogicalResult emitSubview(mlir::memref::SubViewOp op);
  Fragment fragment(TileType type);
  /// Whether two elements of a row share a register.
  bool isPaired(TileType type) const;
  llvm::SmallVector<mlir::Type> partTypes(mlir::Type old);
  mlir::FailureOr<Matrix> matrix(mlir::Operation *op, mlir::Value source);
  void syncWarp();

  // Memory (ThreadMemory.cpp).
  mlir::LogicalResult emitLoad(GroupLoadOp op);
  mlir::LogicalResult emitBoxLoad(GroupLoadOp op);
  Values loadPairs(const Slots &slots, mlir::Value start, TileType tile);
  Values loadWords(const Slots &slots, mlir::Value start, TileType tile);
  Values loadRun(const Matrix &source, TileType tile, mlir::Value address,
                 mlir::Value there, int64_t width);
  mlir::LogicalResult emitElementLoad(mlir::memref::LoadOp op);
  mlir::LogicalResult emitStore(GroupStoreOp op);
  Values exchangeRows(mlir::Value tile, Fragment &held);
  mlir::LogicalResult emitShare(GroupShareOp op);
  void sharePairs(GroupShareOp op);
  void shareWords(GroupShareOp op);
  void shareRuns(GroupShareOp op);
  mlir::Value isOwner(TileType tile);
  mlir::LogicalResult emitStagedStore(GroupStoreOp op, const Matrix &target);
  mlir::Value inside(const Matrix &matrix, llvm::ArrayRef<bool> inBounds,
                     mlir::Value row, mlir::Value column);
  Values joinHalves(llvm::ArrayRef<mlir::Value> halves);
  mlir::Value accessOf(llvm::ArrayRef<mlir::Value> registers, bool paired,
                       int64_t first, int64_t width);
  /// Whether results of 16 bits go through shared memory, so that a warp
  /// writes whole sectors.
  bool isStaged(GroupStoreOp op);

  // Elements from anywhere (ThreadGathers.cpp).
  mlir::LogicalResult emitGather(GroupGatherOp op);
  mlir::LogicalResult emitBoxGather(GroupGatherOp op);
  void gatherFrom(GroupGatherOp op, const Matrix &source, int64_t divisor,
                  llvm::function_ref<Values(mlir::Value row, mlir::Value column,
                                            int64_t width)>
                      load);
  mlir::Value asRegister(mlir::Value x);

  // Copies (ThreadCopies.cpp).
  mlir::LogicalResult emitCopy(GroupCopyOp op);
  mlir::Value isRowThere(mlir::Value position, mlir::Value row, int64_t first,
                         int64_t count, const Matrix &source);
  mlir::Value bytesToRead(GroupCopyOp op, const Matrix &source, int64_t bytes,
                          mlir::Value there, mlir::Value column);
  Values slotPlaces(const Slots &slots, mlir::Value row, mlir::Value byte,
                    int64_t step);
  llvm::SmallVector<mlir::Value> placedRows(GroupCopyOp op, mlir::Value row,
                                            int64_t step);
  void copyPiece(const Matrix &source, mlir::Value from, mlir::Value to,
                 int64_t bytes, mlir::Value read);
  void moveElement(const Matrix &source, mlir::Value from, mlir::Value to,
                   mlir::Value read);
  void widenPiece(const Matrix &source, mlir::Type element, mlir::Value from,
                  mlir::Value to, int64_t bytes, mlir::Value read);
  mlir::LogicalResult emitWait(GroupWaitOp op);
  mlir::LogicalResult enterLoop(mlir::scf::ForOp op);
  mlir::LogicalResult leaveLoop(mlir::scf::ForOp op);

  // Products (ThreadProducts.cpp).
  mlir::LogicalResult emitProduct(GroupProductOp op);
  mlir::LogicalResult verifyProduct(GroupProductOp op);
  Values leftOperand(GroupProductOp op, int64_t a, int64_t k);
  Values rightOperand(GroupProductOp op, int64_t k, int64_t n);
  /// Byte of (row, chunk + firstChunk) in a segment; the xor that exchanges
  /// chunks is made before any loop. `row` and `chunk` are fixed for a thread.
  mlir::Value slotByte(const Slots &slots, mlir::Value row, mlir::Value chunk,
                       int64_t firstChunk);
  /// Byte of (row, column) in a box, or in all that follow each other.
  mlir::Value boxByte(const Slots &slots, mlir::Value row, mlir::Value column,
                      int64_t elementBytes);
  /// Of the first slot without one.
  mlir::Value slotStart(const Slots &slots, mlir::Value slot);
  /// Four 8x8 blocks from the places that the lanes point to.
  Values loadMatrices(mlir::Value address, bool transposed);
  /// The registers of rows from 16 a and columns from 16 k of a box.
  Values loadLeft(const Slots &slots, mlir::Value start, mlir::Value firstRow,
                  int64_t a, int64_t k);

  // Products under way (ThreadWgmma.cpp).
  mlir::LogicalResult emitBeginProduct(BeginProductOp op);
  mlir::LogicalResult emitEndProducts(EndProductsOp op);
  /// The same registers as an instruction of a warp group numbers them, or as a
  /// fragment does.
  static Values inOrderOfGroup(llvm::ArrayRef<mlir::Value> sums);
  static Values inOrderOfFragment(mlir::ValueRange sums);
  /// What a thread has stored and copied becomes visible to products that are
  /// under way, where the kernel has any.
  void fenceForProducts();

  // Products of f32 (ThreadFmaProducts.cpp).
  Values multiplyAdd(mlir::Type element, llvm::ArrayRef<mlir::Value> lhs,
                     llvm::ArrayRef<mlir::Value> rhs,
                     llvm::ArrayRef<mlir::Value> sums);
  mlir::LogicalResult emitSumByProducts(GroupReduceOp op);
  mlir::LogicalResult emitFmaProduct(GroupProductOp op);
  Values addTurn(GroupProductOp op, int64_t segment, mlir::Value turn,
                 mlir::ValueRange registers, mlir::ValueRange old);
  Values leftElements(GroupProductOp op, int64_t segment, mlir::Value turn,
                      mlir::ValueRange registers);
  Values loadRow(const Slots &slots, mlir::Value start, mlir::Value row,
                 int64_t constant, int64_t segment, mlir::Value turn);
  Values loadColumns(const Slots &slots, mlir::Value start, size_t columns,
                     int64_t segment, mlir::Value turn, int64_t k);
  Values exchangeColumn(mlir::ValueRange registers, size_t rows, int64_t k);
  Values loadRun(mlir::Value address, int64_t count);

  // Sums of rows that groups pass on (ThreadSums.cpp).
  mlir::LogicalResult emitStoreSums(StoreSumsOp op);
  mlir::LogicalResult emitLoadSums(LoadSumsOp op);
  /// The sum over `lanes` lanes beside each other, which all of them have.
  mlir::Value addLanes(mlir::Value x, int64_t lanes);

  // Sums that blocks of a cluster add (ThreadClusters.cpp).
  mlir::LogicalResult emitAddParts(AddPartsOp op);
  void setCluster();
  void meetCluster();

  // Elements (ThreadElements.cpp).
  mlir::LogicalResult emitReduce(GroupReduceOp op);
  mlir::LogicalResult emitTranspose(GroupTransposeOp op);
  mlir::LogicalResult emitExchange(GroupExchangeOp op);
  mlir::LogicalResult emitHalf(GroupHalfOp op);
  mlir::LogicalResult emitMap(GroupMapOp op);
  mlir::Value mapElement(GroupMapOp op, const Fragment &held, size_t r,
                         size_t c);
  /// Gives a body its position: element (r, c) of a thread's fragment.
  void placeBody(mlir::Block &body, const Fragment &held, size_t r, size_t c);
  void emitBody(mlir::Block &body);
  mlir::Value element(mlir::Value tile, size_t r, size_t c);
  mlir::Value scalar(mlir::Value value);
  mlir::Value pack(mlir::Value low, mlir::Value high);
  mlir::Value shuffle(mlir::Value x, int64_t distance);

  mlir::func::FuncOp from;
  mlir::ImplicitLocOpBuilder b;
  mlir::LLVM::LLVMFuncOp to;
  mlir::IRMapping map;
  /// What tiles became.
  llvm::DenseMap<mlir::Value, Values> parts;
  llvm::DenseMap<mlir::Value, Slots> slotsOf;
  /// Tokens of copies that may be under way, the oldest first.
  llvm::SmallVector<mlir::Value> pending;
  mlir::Value thread, lane, member, memory;
  mlir::Value warpGroup; ///< null unless there are products under way
  int64_t threads = 0, groupBytes = 0;
  int64_t clusterBlocks = 1;
  bool multipliesF32 = false, multipliesUnderWay = false;
  /// Of a lane: sums of a product, and what it multiplies from registers.
  int64_t productElements = 0;
  /// Where columns are exchanged for rows.
  int64_t columnOffset = 0;
  /// Where each warp stages what it stores, and bytes for each.
  int64_t stageOffset = 0, stageBytes = 0;
};

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_THREADEMITTER_H
