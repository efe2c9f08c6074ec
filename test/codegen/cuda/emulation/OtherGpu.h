//===- OtherGpu.h - A level that only tests know ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_CODEGEN_CUDA_EMULATION_OTHERGPU_H
#define HOVA_TEST_CODEGEN_CUDA_EMULATION_OTHERGPU_H

#include "codegen/cuda/facts/GpuFacts.h"

namespace hova::test {

/// Its row, which is known from then on.
const GpuFacts &getOtherGpu();

} // namespace hova::test

#endif // HOVA_TEST_CODEGEN_CUDA_EMULATION_OTHERGPU_H
