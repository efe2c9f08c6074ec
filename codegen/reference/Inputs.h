//===- Inputs.h - Random and edge inputs ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What verification feeds to programs: the same numbers on every machine for
// the same seed.

#ifndef HOVA_CODEGEN_REFERENCE_INPUTS_H
#define HOVA_CODEGEN_REFERENCE_INPUTS_H

#include "dialect/HostTensor.h"
#include "dialect/Storage.h"

namespace hova {

/// Random: normally distributed; ids anywhere in their range, each row with the
/// first id at its end, for up to half of it, as padding has; masks of runs
/// that are kept, kept by chance (three keys of four) or not kept. Edges:
/// magnitudes far from 1 and zeros of both signs, the first and the last id,
/// masks with whole rows false. Zeros: zeros, the first id, all masked. Large:
/// rows of zeros but one value, up to 1e18, so that scores reach 1e36 and the
/// sum of a few squares is still a number of f32; ids and masks as random ones.
enum class InputKind { Random, Edges, Zeros, Large };

/// F32. Large values leave a type of `storage` room for what a product makes of
/// them.
HostTensor makeNumbers(llvm::ArrayRef<int64_t> shape, InputKind kind,
                       uint64_t seed, Storage storage = Storage::F32);
/// I64 with lower <= id < upper.
HostTensor makeIds(llvm::ArrayRef<int64_t> shape, int64_t lower, int64_t upper,
                   InputKind kind, uint64_t seed);
/// I1.
HostTensor makeMask(llvm::ArrayRef<int64_t> shape, InputKind kind,
                    uint64_t seed);

/// How numbers of a tensor are moved: each by itself, or those of one magnitude
/// by the same share, so that what is equal stays equal.
enum class Moves { Each, Alike };

/// `tensor` with every number moved by at most four units in the last place of
/// `storage`; integers and masks as they are.
HostTensor moveByUnits(const HostTensor &tensor, uint64_t seed, Storage storage,
                       Moves moves = Moves::Each);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_INPUTS_H
