//===- Machines.c - The machines that a program is linked with ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each runtime (CMakeLists.txt), with definitions of what it
// has.
//
//===----------------------------------------------------------------------===//

#include "runtime/Machine.h"

const hova_machine *const hova_machines[] = {
#ifdef HOVA_HAS_GPU
    &hova_gpu_machine,
#endif
#ifdef HOVA_HAS_CPU
    &hova_cpu_machine,
#endif
    NULL};
