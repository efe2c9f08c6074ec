//===- Scratch.c - Memory of the threads of a context ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cpu/Scratch.h"
#include "runtime/Bytes.h"

#include <stddef.h>

/// The scratch of a thread shares no cache line with that of another.
#define LINE UINT64_C(64)

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

const hova_chunk *hova_chunks_of(const hova_launch *launch) {
  const uint64_t *after = (const uint64_t *)(launch + 1);
  return (const hova_chunk *)(after + launch->num_buffers + launch->num_costs);
}

const hova_launch *hova_next_launch(const hova_launch *launch) {
  return (const hova_launch *)(hova_chunks_of(launch) + launch->num_chunks);
}

uint64_t hova_launch_bytes(const hova_launches *launches) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  for (uint64_t i = 0; i < launches->count; ++i) {
    launch = hova_next_launch(launch);
  }
  return (uint64_t)((const char *)launch - (const char *)launches);
}

void hova_size_launches(const hova_launches *launches,
                        const hova_ranges *ranges, const hova_sizes *sizes,
                        hova_launches *sized) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  hova_launch *to = (hova_launch *)(sized + 1);
  uint64_t items = (uint64_t)ranges->most_items;
  // By hova_extent: what the units are so many times, at most and in the run.
  const uint64_t most[] = {1, items, items * (uint64_t)ranges->most_tokens,
                           items * (uint64_t)ranges->most_other_tokens};
  const uint64_t of_run[] = {1, (uint64_t)sizes->items, (uint64_t)sizes->rows,
                             (uint64_t)sizes->other_rows};
  for (uint64_t i = 0; i < launches->count; ++i) {
    if (launch->extent != HOVA_FIXED) {
      to->units = launch->units / most[launch->extent] * of_run[launch->extent];
      uint64_t parts = to->units / launch->grain;
      to->parts = to->units < launch->least || parts == 0 ? 1 : parts;
    }
    launch = hova_next_launch(launch);
    to = (hova_launch *)hova_next_launch(to);
  }
}

uint64_t hova_parts_of(const hova_launch *launch, uint64_t threads) {
  return least(launch->parts, threads);
}

uint64_t hova_units_before(uint64_t thread, uint64_t units, uint64_t parts) {
  return thread * (units / parts) + least(thread, units % parts);
}

/// What the first `units` units cost.
static uint64_t cost_before(const hova_launch *launch, const uint64_t *costs,
                            uint64_t units) {
  uint64_t count = launch->num_costs, rest = units % count;
  return units / count * costs[count - 1] + (rest ? costs[rest - 1] : 0);
}

/// The number of units whose cost is nearest to that of the parts before
/// `thread`.
static uint64_t units_of_cost(const hova_launch *launch, const uint64_t *costs,
                              uint64_t thread, uint64_t parts) {
  uint64_t wanted = cost_before(launch, costs, launch->units) * thread / parts;
  uint64_t low = 0, high = launch->units;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (cost_before(launch, costs, middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool nearer = low > 0 && wanted - cost_before(launch, costs, low - 1) <
                               cost_before(launch, costs, low) - wanted;
  return nearer ? low - 1 : low;
}

uint64_t hova_chunk_start(const hova_launch *launch, uint64_t thread,
                          uint64_t parts) {
  const uint64_t *after = (const uint64_t *)(launch + 1);
  return launch->num_costs
             ? units_of_cost(launch, after + launch->num_buffers, thread, parts)
             : hova_units_before(thread, launch->units, parts);
}

/// Rows of each buffer that the chunks before `thread` have together.
static uint64_t rows_before(const hova_launch *launch, uint64_t thread,
                            uint64_t parts) {
  // Chunks of equal cost may have any number of units.
  if (launch->num_costs) {
    return thread * least(launch->block, launch->units);
  }
  return launch->units / parts < launch->block
             ? hova_units_before(thread, launch->units, parts)
             : thread * launch->block;
}

hova_chunk_rows hova_rows_of_chunk(const hova_launch *launch, uint64_t thread,
                                   uint64_t parts) {
  return (hova_chunk_rows){rows_before(launch, thread, parts),
                           rows_before(launch, parts, parts)};
}

uint64_t hova_chunk_place(const hova_chunk *chunk, uint64_t row_bytes,
                          hova_chunk_rows rows) {
  return chunk->offset + rows.all * chunk->row_bytes_before +
         rows.before * row_bytes;
}

/// The bytes of a row of buffer `i`; 0 where it is none of a chunk.
static uint64_t row_bytes_of(const hova_launch *launch, uint64_t i) {
  uint64_t buffer = ((const uint64_t *)(launch + 1))[i];
  return (buffer & HOVA_BUFFER_KINDS) == HOVA_IN_CHUNK
             ? buffer & ~(uint64_t)HOVA_BUFFER_KINDS
             : 0;
}

/// Where the rows of a launch's chunks end.
static bool measure_rows(const hova_launch *launch, uint64_t threads,
                         uint64_t *end) {
  const hova_chunk *chunk = hova_chunks_of(launch);
  uint64_t parts = hova_parts_of(launch, threads), bytes;
  hova_chunk_rows after = hova_rows_of_chunk(launch, parts, parts);
  *end = 0;
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    uint64_t row = row_bytes_of(launch, i);
    if (row == 0) {
      continue;
    }
    if (!hova_add(chunk->row_bytes_before, row, &bytes) ||
        !hova_multiply(after.all, bytes, &bytes) ||
        !hova_add(chunk->offset, bytes, &bytes)) {
      return false;
    }
    bytes = hova_chunk_place(chunk, row, after);
    *end = bytes > *end ? bytes : *end;
    ++chunk;
  }
  return true;
}

/// Where scratch begins: after the arena and the rows of all chunks.
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
      uint64_t offset = scratch_of(launches, thread, threads);
      fits = hova_add(*end, offset, end) && hova_add(*end, LINE - 1, end);
      *end &= ~(LINE - 1);
    }
  }
  if (!fits) {
    *end = UINT64_MAX;
  }
  return fits;
}

/// Whether two buffers of a launch have rows at one place.
static bool rows_meet(const hova_launch *launch, uint64_t parts) {
  hova_chunk_rows begin = {0, hova_rows_of_chunk(launch, parts, parts).all};
  hova_chunk_rows end = {begin.all, begin.all};
  const hova_chunk *chunks = hova_chunks_of(launch), *other = chunks;
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    uint64_t row = row_bytes_of(launch, i);
    const hova_chunk *chunk = chunks;
    for (uint64_t j = 0; row && j < i; ++j) {
      uint64_t before = row_bytes_of(launch, j);
      if (before &&
          hova_chunk_place(chunk, before, begin) <
              hova_chunk_place(other, row, end) &&
          hova_chunk_place(other, row, begin) <
              hova_chunk_place(chunk, before, end)) {
        return true;
      }
      chunk += before != 0;
    }
    other += row != 0;
  }
  return false;
}

/// Whether a thread's rows are as many as it uses, and its own.
static bool rows_suffice(const hova_launch *launch, uint64_t thread,
                         uint64_t parts) {
  uint64_t begin = hova_chunk_start(launch, thread, parts);
  uint64_t end = hova_chunk_start(launch, thread + 1, parts);
  uint64_t first = rows_before(launch, thread, parts);
  uint64_t next = rows_before(launch, thread + 1, parts);
  return begin <= end && first <= next &&
         next - first >= least(end - begin, launch->block);
}

static bool chunks_fit(const hova_launch *launch, uint64_t threads,
                       uint64_t arena) {
  uint64_t parts = hova_parts_of(launch, threads), count = 0;
  for (uint64_t i = 0; i < launch->num_buffers; ++i) {
    uint64_t row = row_bytes_of(launch, i), distance;
    if (row == 0) {
      continue;
    }
    if (count++ == launch->num_chunks ||
        !hova_multiply(launch->units, row, &distance) || distance > arena) {
      return false;
    }
  }
  if (count != launch->num_chunks || rows_meet(launch, parts)) {
    return false;
  }
  // Equal chunks without rows are right for any numbers.
  bool given = count || launch->num_costs;
  if (given && (hova_chunk_start(launch, 0, parts) != 0 ||
                hova_chunk_start(launch, parts, parts) != launch->units)) {
    return false;
  }
  for (uint64_t thread = 0; given && thread < parts; ++thread) {
    if (!rows_suffice(launch, thread, parts)) {
      return false;
    }
  }
  return true;
}

bool hova_chunks_fit(const hova_launches *launches, uint64_t threads,
                     uintptr_t arena, uint64_t *number) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  for (*number = 0; *number < launches->count; ++*number) {
    if (!chunks_fit(launch, threads, arena)) {
      return false;
    }
    launch = hova_next_launch(launch);
  }
  return true;
}

uint64_t hova_scratch_bytes(const hova_program *program,
                            const hova_level *level, int32_t threads) {
  uint64_t end;
  hova_place_scratch(level->launches, threads < 1 ? 1 : (uint64_t)threads,
                     program->arena_bytes, NULL, &end);
  return end - program->arena_bytes;
}
