//===- Scratch.c - Memory of the threads of a context ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/Scratch.h"
#include "runtime/Bytes.h"

#include <stddef.h>

/// The scratch of a thread shares no cache line with that of another.
#define LINE UINT64_C(64)

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

const hova_share *hova_shares_of(const hova_launch *launch) {
  const uint64_t *behind = (const uint64_t *)(launch + 1);
  return (const hova_share *)(behind + launch->num_buffers + launch->num_costs);
}

const hova_launch *hova_next_launch(const hova_launch *launch) {
  return (const hova_launch *)(hova_shares_of(launch) + launch->num_shares);
}

uint64_t hova_parts_of(const hova_launch *launch, uint64_t threads) {
  return least(launch->parts, threads);
}

uint64_t hova_units_before(uint64_t thread, uint64_t units, uint64_t parts) {
  return thread * (units / parts) + least(thread, units % parts);
}

uint64_t hova_rows_before(const hova_launch *launch, uint64_t thread,
                          uint64_t parts) {
  // Shares of equal cost may have any number of units.
  if (launch->num_costs) {
    return thread * least(launch->block, launch->units);
  }
  return launch->units / parts < launch->block
             ? hova_units_before(thread, launch->units, parts)
             : thread * launch->block;
}

/// Where the rows of a launch's shares end.
static bool measure_rows(const hova_launch *launch, uint64_t threads,
                         uint64_t *end) {
  const uint64_t *buffers = (const uint64_t *)(launch + 1);
  const hova_share *share = hova_shares_of(launch);
  uint64_t parts = hova_parts_of(launch, threads), bytes;
  uint64_t rows = hova_rows_before(launch, parts, parts);
  *end = 0;
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    if ((buffers[i] & HOVA_BUFFER_KINDS) != HOVA_IN_SHARE) {
      continue;
    }
    uint64_t row = buffers[i] & ~(uint64_t)HOVA_BUFFER_KINDS;
    if (!hova_add(share->row_bytes_before, row, &bytes) ||
        !hova_multiply(rows, bytes, &bytes) ||
        !hova_add(share->offset, bytes, &bytes)) {
      return false;
    }
    *end = bytes > *end ? bytes : *end;
    ++share;
  }
  return true;
}

/// Where scratch begins: behind the arena and the rows of all shares.
static bool measure_arena(const hova_launches *launches, uint64_t threads,
                          uint64_t arena_bytes, uint64_t *end) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  *end = arena_bytes;
  for (uint64_t i = 0; i < launches->count; ++i) {
    uint64_t rows_end;
    if (!measure_rows(launch, threads, &rows_end)) {
      return false;
    }
    *end = rows_end > *end ? rows_end : *end;
    launch = hova_next_launch(launch);
  }
  return true;
}

/// The scratch of one of `threads` threads.
static uint64_t scratch_of(const hova_launches *launches, uint64_t thread,
                           uint64_t threads) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  uint64_t most = 0;
  for (uint64_t i = 0; i < launches->count; ++i) {
    bool takes_part = thread < hova_parts_of(launch, threads);
    if (takes_part && launch->scratch_bytes > most) {
      most = launch->scratch_bytes;
    }
    launch = hova_next_launch(launch);
  }
  return most;
}

bool hova_place_scratch(const hova_launches *launches, uint64_t threads,
                        uint64_t arena_bytes, uint64_t *places, uint64_t *end) {
  *end = arena_bytes;
  bool fits = !launches || measure_arena(launches, threads, arena_bytes, end);
  for (uint64_t thread = 0; thread < threads && fits; ++thread) {
    if (places) {
      places[thread] = *end;
    }
    if (launches) {
      uint64_t own = scratch_of(launches, thread, threads);
      fits = hova_add(*end, own, end) && hova_add(*end, LINE - 1, end);
      *end &= ~(LINE - 1);
    }
  }
  if (!fits) {
    *end = UINT64_MAX;
  }
  return fits;
}

uint64_t hova_scratch_bytes(const hova_program *program,
                            const hova_level *level, int32_t threads) {
  uint64_t end;
  hova_place_scratch(level->launches, threads < 1 ? 1 : (uint64_t)threads,
                     program->arena_bytes, NULL, &end);
  return end - program->arena_bytes;
}
