//===- Runs.h - Which elements of a gather lie beside each other *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CUDA_LOWER_RUNS_H
#define HOVA_CODEGEN_CUDA_LOWER_RUNS_H

#include "dialect/group/GroupOps.h"

namespace hova {

/// Whether `width` columns of the tile, of which the first is a multiple of
/// width, stand in one row of the source, at columns beside each other, of
/// which the first is a multiple of width too: so one access may read them.
/// `width` is a power of two. It is found in the operations of the body, as
/// contiguity is in Triton's AxisInfo; what is not shown is not so.
bool gathersRuns(GroupGatherOp op, int64_t width);

/// Whether `width` columns of the tile, of which the first is a multiple of
/// width, are one element of the source.
bool gathersOne(GroupGatherOp op, int64_t width);

} // namespace hova

#endif // HOVA_CODEGEN_CUDA_LOWER_RUNS_H
