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

const hova_stages *hova_stages_of(const hova_launch *launch) {
  return launch->num_stages ? (const hova_stages *)(hova_chunks_of(launch) +
                                                    launch->num_chunks)
                            : NULL;
}

static const hova_stage *first_stage(const hova_stages *stages) {
  return (const hova_stage *)(stages + 1);
}

const hova_step *hova_steps_of(const hova_launch *launch, uint64_t *count) {
  const hova_stages *stages = hova_stages_of(launch);
  *count = stages ? stages->num_steps : 1;
  return stages ? (const hova_step *)(first_stage(stages) + launch->num_stages)
                : NULL;
}

const hova_launch *hova_next_launch(const hova_launch *launch) {
  uint64_t steps;
  return launch->num_stages
             ? (const hova_launch *)(hova_steps_of(launch, &steps) +
                                     launch->num_stages)
             : (const hova_launch *)(hova_chunks_of(launch) +
                                     launch->num_chunks);
}

uint64_t hova_launch_bytes(const hova_launches *launches) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  for (uint64_t i = 0; i < launches->count; ++i) {
    launch = hova_next_launch(launch);
  }
  return (uint64_t)((const char *)launch - (const char *)launches);
}

/// Whether the threads of a run with so many rows divide a stage's columns.
static bool divides_strips(const hova_stage *stage, uint64_t rows) {
  return stage->strips && rows >= stage->least_rows;
}

static hova_step step_of_strips(const hova_stage *stage, uint64_t number,
                                uint64_t rows) {
  uint64_t grain = (stage->part + rows - 1) / rows;
  uint64_t parts = stage->strips / grain;
  return (hova_step){.first_stage = number,
                     .end_stage = number + 1,
                     .of_strips = 1,
                     .rows = rows,
                     .units = stage->strips,
                     .parts = parts ? parts : 1};
}

/// The stages from `first` up to the next whose columns are divided. There are
/// no more than `most` parts, whose threads have scratch.
static hova_step step_of_rows(const hova_launch *launch, uint64_t first,
                              uint64_t most) {
  const hova_stages *stages = hova_stages_of(launch);
  const hova_stage *stage = first_stage(stages);
  uint64_t end = first, grain = UINT64_MAX, work = 0, rows = launch->units;
  for (; end < launch->num_stages && !divides_strips(&stage[end], rows);
       ++end) {
    grain = least(grain, stage[end].grain);
    work += rows * stage[end].row_work + stage[end].fixed_work;
  }
  uint64_t parts = work < stages->least_work ? 1 : least(rows / grain, most);
  return (hova_step){.first_stage = first,
                     .end_stage = end,
                     .rows = rows,
                     .units = rows,
                     .parts = parts ? parts : 1};
}

/// Whether a run takes the stages of a launch one after the other: threads
/// would read all weights of its products for a few rows each.
static bool takes_stages(const hova_launch *launch, uint64_t threads) {
  const hova_stages *stages = hova_stages_of(launch);
  bool divides = false;
  for (uint64_t i = 0; i < launch->num_stages; ++i) {
    divides |= divides_strips(&first_stage(stages)[i], launch->units);
  }
  return threads > 1 && divides && launch->units < stages->few;
}

/// Writes the steps of a launch whose units are those of the run, of which the
/// largest has `most` parts.
static void write_steps(hova_launch *launch, uint64_t most, uint64_t threads) {
  uint64_t rows = launch->units, count;
  hova_stages *stages = (hova_stages *)hova_stages_of(launch);
  hova_step *step = (hova_step *)hova_steps_of(launch, &count);
  bool takes = takes_stages(launch, threads);
  stages->num_steps = takes ? 0 : 1;
  if (!takes) {
    step->units = step->rows = rows;
    step->parts = launch->parts;
    step->first_stage = step->of_strips = 0;
    step->end_stage = HOVA_LAST_STAGE;
  }
  for (uint64_t stage = 0; takes && stage < launch->num_stages;) {
    const hova_stage *at = &first_stage(stages)[stage];
    *step = divides_strips(at, rows) ? step_of_strips(at, stage, rows)
                                     : step_of_rows(launch, stage, most);
    stage = step->end_stage;
    ++stages->num_steps;
    ++step;
  }
}

void hova_size_launches(const hova_launches *launches,
                        const hova_ranges *ranges, const hova_sizes *sizes,
                        uint64_t threads, hova_launches *sized) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  hova_launch *to = (hova_launch *)(sized + 1);
  uint64_t items = (uint64_t)ranges->most_items;
  // By hova_extent: what the units are so many times, at most and in the run.
  const uint64_t most[] = {1, items, items * (uint64_t)ranges->most_tokens,
                           items * (uint64_t)hova_most_others(ranges)};
  const uint64_t of_run[] = {1, (uint64_t)sizes->items, (uint64_t)sizes->rows,
                             (uint64_t)sizes->other_rows};
  for (uint64_t i = 0; i < launches->count; ++i) {
    if (launch->extent != HOVA_FIXED) {
      to->units = launch->units / most[launch->extent] * of_run[launch->extent];
      uint64_t parts = to->units / launch->grain;
      to->parts = to->units < launch->least || parts == 0 ? 1 : parts;
      if (to->num_stages) {
        write_steps(to, launch->parts, threads);
      }
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

/// Parts of a launch in any run, at most.
static uint64_t most_parts_of(const hova_launch *launch) {
  const hova_stages *stages = hova_stages_of(launch);
  uint64_t most = launch->parts;
  for (uint64_t i = 0; i < launch->num_stages; ++i) {
    uint64_t strips = first_stage(stages)[i].strips;
    most = strips > most ? strips : most;
  }
  return most;
}

/// The scratch of one of `threads` threads.
static uint64_t scratch_of(const hova_launches *launches, uint64_t thread) {
  const hova_launch *launch = (const hova_launch *)(launches + 1);
  uint64_t most = 0;
  for (uint64_t i = 0; i < launches->count; ++i) {
    bool takes_part = thread < most_parts_of(launch);
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
      uint64_t offset = scratch_of(launches, thread);
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
