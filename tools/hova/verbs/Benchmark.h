//===- Benchmark.h - What a program has measured of itself ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_HOVA_VERBS_BENCHMARK_H
#define HOVA_TOOLS_HOVA_VERBS_BENCHMARK_H

#include "tools/hova/options/Arguments.h"
#include "llvm/Support/JSON.h"

namespace hova::tool {

/// Limits of a machine.
struct Peak {
  double gflops = 0;    ///< GFLOP/s
  double gigabytes = 0; ///< GB/s of memory; 0: not given
};

/// What --peak says; mistakes are in `arguments`.
std::optional<Peak> readPeak(const Arguments &arguments);

/// A benchmark of 200,000 kernels has less.
constexpr uint64_t kMostBenchmarkBytes = 256 << 20;

/// Reads what a program has written with --benchmark-out. Ok, or the status of
/// what is wrong with the file, after a message.
int readBenchmark(llvm::StringRef path,
                  std::optional<llvm::json::Object> &benchmark);

/// Whether the kernels that were timed are these (inspect::launchesJson).
int checkBenchmark(llvm::StringRef path, const llvm::json::Object &benchmark,
                   const llvm::json::Array &launches);

} // namespace hova::tool

#endif // HOVA_TOOLS_HOVA_VERBS_BENCHMARK_H
