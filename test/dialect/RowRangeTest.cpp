//===- RowRangeTest.cpp - Some rows are those of all ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperationFixture.h"
#include "dialect/Interfaces.h"
#include "dialect/token/TokenOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include <map>

using namespace mlir;
using namespace hova;

namespace {

/// Rows `offset` to before `offset + count` as the operation computes them
/// alone; nothing where it declines to.
std::optional<HostTensor> computeRows(const test::OperationCase &given,
                                      int64_t offset, int64_t count) {
  test::Operation operation(given);
  auto op = cast<RowRangeOpInterface>(operation.op);
  if (op.declineRowRange(offset, count)) {
    return std::nullopt;
  }
  IRRewriter rewriter(&operation.context);
  rewriter.setInsertionPoint(op);
  Value whole = op.getRowOperand().get();
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t perRow = op.getOperandRowsPerRow();
  shape[1] = count * perRow;
  Value rows = SliceOp::create(rewriter, op.getLoc(), type.clone(shape), whole,
                               /*axis=*/1, offset * perRow);
  Operation *some = op.computeRowRange(rewriter, rows, offset, count);
  rewriter.replaceAllUsesWith(op->getResult(0), some->getResult(0));
  rewriter.eraseOp(op);
  FunctionType before = operation.main.getFunctionType();
  operation.main.setFunctionType(
      before.clone(before.getInputs(), some->getResult(0).getType()));
  EXPECT_TRUE(succeeded(verify(*operation.module))) << given.name;
  return operation.run();
}

/// Every range that is not declined, of every operation that computes ranges.
TEST(RowRanges, are_rows_of_the_whole) {
  std::map<std::string, int64_t> compared;
  for (const test::OperationCase &given : test::kOperations) {
    test::Operation operation(given);
    if (!isa<RowRangeOpInterface>(operation.op)) {
      continue;
    }
    int64_t &ranges = compared[given.name];
    HostTensor all = operation.run();
    ArrayRef<int64_t> shape = all.getShape();
    for (int64_t offset = 0; offset < shape[1]; ++offset) {
      for (int64_t count = 1; offset + count <= shape[1]; ++count) {
        auto some = computeRows(given, offset, count);
        if (!some) {
          continue;
        }
        ++ranges;
        for (int64_t i = 0; i < some->size(); ++i) {
          int64_t column = i % shape[2], row = i / shape[2] % count;
          int64_t batch = i / shape[2] / count;
          double wanted =
              all.at((batch * shape[1] + offset + row) * shape[2] + column);
          EXPECT_NEAR(some->at(i), wanted, 1e-12)
              << given.name << ": rows from " << offset << ", " << count;
        }
      }
    }
  }
  // Of blocks of two, those of the first and the last, which has one row.
  std::map<std::string, int64_t> expected = {{"additive", 6},
                                             {"attention", 6},
                                             {"attention_to_blocks", 4},
                                             {"attention_to_blocks_shared", 4},
                                             {"layer_pool", 6},
                                             {"linear_attention", 6},
                                             {"linear_attention_shared", 6}};
  EXPECT_EQ(compared, expected);
}

} // namespace
