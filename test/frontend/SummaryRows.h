//===- SummaryRows.h - Rows of the papers' tables ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_FRONTEND_SUMMARYROWS_H
#define HOVA_TEST_FRONTEND_SUMMARYROWS_H

#include "frontend/elaborate/Program.h"

namespace hova::test {

/// What a model has, in one of its variants.
struct SummaryRow {
  const char *name;
  const char *model;
  std::vector<frontend::ParameterOverride> set;
  int64_t trainable;
  /// 0: not published.
  int64_t dense;
  int64_t linear;
  int64_t attention;
};

std::vector<SummaryRow> imageRows();
std::vector<SummaryRow> languageRows();

constexpr int64_t squared(int64_t x) { return x * x; }

} // namespace hova::test

#endif // HOVA_TEST_FRONTEND_SUMMARYROWS_H
