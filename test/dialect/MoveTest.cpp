//===- MoveTest.cpp - What moves data computes nothing --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperationFixture.h"
#include "dialect/Interfaces.h"
#include <set>

using namespace hova;

namespace {

/// Whether each element of the result is one of an operand, or zero.
bool isMoved(const test::Operation &operation, const HostTensor &result) {
  std::set<double> given = {0};
  for (const HostTensor &operand : operation.arguments) {
    for (int64_t i = 0; i < operand.size(); ++i) {
      given.insert(operand.at(i));
    }
  }
  for (int64_t i = 0; i < result.size(); ++i) {
    if (!given.count(result.at(i))) {
      return false;
    }
  }
  return true;
}

/// Of every operation that says so, and of no other.
TEST(Moves, are_of_elements) {
  int moves = 0;
  for (const test::OperationCase &given : test::kOperations) {
    test::Operation operation(given);
    auto move = llvm::dyn_cast<MoveOpInterface>(operation.op);
    bool saysSo = move && move.movesData();
    EXPECT_EQ(saysSo, isMoved(operation, operation.run())) << given.name;
    moves += saysSo ? 1 : 0;
  }
  EXPECT_GT(moves, 10);
}

} // namespace
