//===- FeaturesTest.cpp - cpuid against the kernel's list -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/hova_runtime.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace {

/// The flags of the first processor in /proc/cpuinfo.
std::set<std::string> readKernelFlags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  }
  return {};
}

/// The kernel's name of a feature, where it is not LLVM's.
std::string kernelName(const std::string &name) {
  static const std::map<std::string, std::string> names = {
      {"sse3", "pni"},
      {"sse4.1", "sse4_1"},
      {"sse4.2", "sse4_2"},
      {"sahf", "lahf_lm"},
      {"lzcnt", "abm"},
      {"bmi", "bmi1"},
      {"pclmul", "pclmulqdq"},
      {"sha", "sha_ni"},
      {"prfchw", "3dnowprefetch"},
      {"avx512vbmi2", "avx512_vbmi2"},
      {"avx512vnni", "avx512_vnni"},
      {"avx512bitalg", "avx512_bitalg"},
      {"avx512vpopcntdq", "avx512_vpopcntdq"},
      {"avx512vp2intersect", "avx512_vp2intersect"},
      {"avx512bf16", "avx512_bf16"},
      {"avx512fp16", "avx512_fp16"},
      {"avxvnni", "avx_vnni"}};
  auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

TEST(Features, are_those_that_the_kernel_lists) {
  const std::set<std::string> flags = readKernelFlags();
  if (flags.empty()) {
    GTEST_SKIP() << "no /proc/cpuinfo";
  }
  const uint64_t features = hova_cpu_features();
#define CHECK_FEATURE(NAME, TEXT)                                              \
  EXPECT_EQ((features & HOVA_CPU(NAME)) != 0,                                  \
            flags.count(kernelName(TEXT)) != 0)                                \
      << TEXT;
  HOVA_CPU_FEATURES(CHECK_FEATURE)
#undef CHECK_FEATURE
}

} // namespace
