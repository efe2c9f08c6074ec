//===- ModelFacts.h - What the model of times goes by -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Rates of a multiprocessor are those of NVIDIA's CUDA C++ programming guide.
// What is fitted was fitted to the times of an H100, of products and of
// attention (docs/rationale/modelled-times.md).

#ifndef HOVA_CODEGEN_CUDA_FACTS_MODELFACTS_H
#define HOVA_CODEGEN_CUDA_FACTS_MODELFACTS_H

#include "codegen/cuda/facts/AllGpus.h"

namespace hova {

/// Bytes of shared memory that a multiprocessor moves in a cycle.
inline constexpr double kSharedBytesOfCycle = double(kBanks * kBankBytes);
/// Bytes that come into it by cp.async, of which the second cache gives so many
/// at most; and that its threads load themselves, as long as they wait for
/// them, and store. The second is fitted.
inline constexpr double kCopiedBytesOfCycle = 64, kLoadedBytesOfCycle = 12,
                        kStoredBytesOfCycle = 64;
/// Powers, roots and quotients of a multiprocessor in a cycle.
inline constexpr double kSpecialOfCycle = 16;
/// Instructions of an activation beside its special function.
inline constexpr double kActivationInstructions = 16;
/// Other instructions of a group of warps for each of its products.
inline constexpr double kBesideGroupProduct = 14.5;

/// Of what takes less time than the longest, the share that is not hidden
/// behind it: where a block is alone, and beside others. Fitted.
inline constexpr double kOthersAlone = 0.21, kOthersBeside = 0.11;
/// The same where products go on while warps issue others. Not measured.
inline constexpr double kUnderWayAlone = 0.1, kUnderWayBeside = 0.02;

/// Bytes of shared memory that a block reads of others in a cycle, and cycles
/// of a meeting of its cluster. Not measured here: published measurements of an
/// H100 have 3.3 TB/s of all multiprocessors, and 180 cycles for a load.
inline constexpr double kClusterBytesOfCycle = 12, kMeetingCycles = 300;

/// Places of the grid that are looked at, at most, where turns depend on it.
inline constexpr int64_t kModelledPlaces = 16;

/// Microseconds of a launch that the model does not explain: what graphs of an
/// H100 took longer than that, divided by their launches, on average.
inline constexpr double kUnexplainedTime = 0.6;

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_FACTS_MODELFACTS_H
