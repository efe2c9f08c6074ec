//===- SummaryTest.cpp - The counts of the papers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Yu and Zhang print parameters and MACs of dense layers; the rows are what
// their convention gives exactly. The other models are counted as their
// libraries count them.
//
//===----------------------------------------------------------------------===//

#include "SummaryRows.h"

#include "tools/inspect/Summary.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace hova;
using namespace hova::frontend;
using hova::test::SummaryRow;

namespace {

class Rows : public testing::TestWithParam<SummaryRow> {};

TEST_P(Rows, have_the_counts_of_the_papers) {
  const SummaryRow &row = GetParam();
  ModelOptions options;
  options.path = std::string(HOVA_MODELS "/") + row.model + ".json";
  options.overrides = row.set;
  Model model;
  std::string messages;
  llvm::raw_string_ostream errors(messages);
  ASSERT_EQ(readModel(options, model, errors), ModelStatus::Ok) << messages;
  mlir::MLIRContext context;
  inspect::Summary summary = inspect::summarize(*model.program, context);
  EXPECT_EQ(summary.trainable, row.trainable);
  EXPECT_EQ(summary.linearMacs, row.linear);
  EXPECT_EQ(summary.attentionMacs, row.attention);
  if (row.dense > 0) {
    EXPECT_EQ(summary.dense, row.dense);
  }
}

std::string nameOf(const testing::TestParamInfo<SummaryRow> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Images, Rows, testing::ValuesIn(test::imageRows()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Language, Rows,
                         testing::ValuesIn(test::languageRows()), nameOf);

} // namespace
