//===- Stages.h - Divides the operations of a kernel into stages ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_CPU_SCHEDULE_STAGES_H
#define HOVA_CODEGEN_CPU_SCHEDULE_STAGES_H

#include "dialect/program/ProgramOps.h"

namespace hova {

struct CpuFacts;

/// Makes the region of `kernel` a list of stages, whose results have layouts.
/// Its units are known.
void formStages(KernelOp kernel, const CpuFacts &facts);

} // namespace hova

#endif // HOVA_CODEGEN_CPU_SCHEDULE_STAGES_H
