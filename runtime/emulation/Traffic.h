//===- Traffic.h - What a warp asks of memory at once ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A device serves an access of a warp as one request, and its lanes run one by
// one here. So the n-th access of each lane at a place, counted since the warp
// last met, belong together: they wait until all lanes have come, or until the
// warp meets and no other can come.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_EMULATION_TRAFFIC_H
#define HOVA_RUNTIME_EMULATION_TRAFFIC_H

#include "runtime/emulation/Emulation.h"

typedef struct block block;
typedef struct warp warp;
typedef struct traffic traffic;

/// Room for what one warp asks; null without memory.
traffic *make_traffic(void);
void free_traffic(traffic *traffic);

/// Notes that the thread accesses `bytes` from `at` on, an offset in shared
/// memory or an address of global memory, at `place`. Does nothing unless the
/// launch counts accesses.
void note_traffic(hova_emulated_thread *self, uint32_t place,
                  hova_emulation_access access, uint64_t at, uint32_t bytes);
/// No lane comes late: what waits is counted with the lanes that have come.
void settle_traffic(block *block, warp *warp);

#endif // HOVA_RUNTIME_EMULATION_TRAFFIC_H
