//===- Launch.c - The blocks of a grid ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Block.h"
#include "runtime/hova_runtime.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
/// Address space of a thread: kernels keep spilled tiles there.
#define STACK_BYTES (256u << 10)
/// What a block can have on the largest devices.
#define MOST_SHARED_BYTES (227u << 10)

static bool check_launch(const hova_emulation_launch *launch,
                         hova_emulation_report *report) {
  const hova_emulated_kernel *kernel = launch->kernel;
  uint64_t threads = 1, blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (!launch->block[i] || launch->block[i] > MOST_THREADS ||
        !launch->grid[i] || launch->grid[i] > (i ? 65535u : INT32_MAX)) {
      return refuse(report,
                    "kernel '%s': a device launches 1 to 1024 threads and 1 to "
                    "65535 blocks in each dimension (2^31 - 1 blocks in x), "
                    "got (%u, %u, %u) threads in (%u, %u, %u) blocks",
                    kernel->name, launch->block[0], launch->block[1],
                    launch->block[2], launch->grid[0], launch->grid[1],
                    launch->grid[2]);
    }
    threads *= launch->block[i];
    blocks *= launch->grid[i];
  }
  if (threads > MOST_THREADS ||
      (kernel->threads && threads != kernel->threads)) {
    return refuse(report,
                  "kernel '%s': expects %s%u threads in a block, got %llu",
                  kernel->name, kernel->threads ? "" : "at most ",
                  kernel->threads ? kernel->threads : MOST_THREADS,
                  (unsigned long long)threads);
  }
  if (kernel->cluster > MOST_MEMBERS ||
      (kernel->cluster > 1 &&
       (launch->grid[2] % kernel->cluster || threads % LANES))) {
    return refuse(
        report,
        "kernel '%s': expects clusters of at most %u blocks of whole "
        "warps, which divide the grid along z, got %u of %llu threads "
        "and %u",
        kernel->name, MOST_MEMBERS, kernel->cluster,
        (unsigned long long)threads, launch->grid[2]);
  }
  if (blocks >= SEVERAL_BLOCKS) {
    return refuse(report, "kernel '%s': %llu blocks are too many to emulate",
                  kernel->name, (unsigned long long)blocks);
  }
  uint64_t shared =
      (uint64_t)kernel->shared_bytes + launch->dynamic_shared_bytes;
  uint32_t most_shared =
      launch->most_shared_bytes ? launch->most_shared_bytes : MOST_SHARED_BYTES;
  if (shared > most_shared) {
    return refuse(report,
                  "kernel '%s': a block has at most %u bytes of shared memory, "
                  "got %llu",
                  kernel->name, most_shared, (unsigned long long)shared);
  }
  if (launch->sums > HOVA_EMULATION_H100) {
    return refuse(report, "kernel '%s': there is no way to add sums number %u",
                  kernel->name, (unsigned)launch->sums);
  }
  return check_buffers(launch, report);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// All memory that blocks need, used by one after the other.
static bool make_block(block *block) {
  const hova_emulation_launch *launch = block->launch;
  const hova_emulated_kernel *kernel = launch->kernel;
  uint32_t threads = block->thread_count;
  block->warp_count = (threads + LANES - 1) / LANES;
  block->shared_bytes = kernel->shared_bytes + launch->dynamic_shared_bytes;
  block->shared_stride = (block->shared_bytes + 127) / 128 * 128;
  size_t shared = (size_t)block->shared_stride * block->member_count;
  block->stack_bytes = STACK_BYTES;
  block->clocks.agents = 2 * threads + block->warp_count;
  block->threads = calloc(threads, sizeof *block->threads);
  block->warps = calloc(block->warp_count, sizeof *block->warps);
  block->shared = malloc(shared + 1);
  block->read_until =
      calloc((size_t)threads * block->member_count, sizeof(uint32_t));
  block->stacks =
      mmap(NULL, threads * block->stack_bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!block->threads || !block->warps || !block->shared ||
      !block->read_until || block->stacks == MAP_FAILED ||
      !make_shadow(&block->shared_shadow, shared, kernel->shared_granule)) {
    return false;
  }
  for (uint32_t i = 0; i < threads; ++i) {
    // A stack that is too small ends the program instead of changing another.
    if (mprotect(block->stacks + i * block->stack_bytes, PAGE, PROT_NONE)) {
      return false;
    }
  }
  for (uint32_t w = 0; launch->counts_accesses && w < block->warp_count; ++w) {
    block->warps[w].traffic = make_traffic();
    if (!block->warps[w].traffic) {
      return false;
    }
  }
  return make_global_memory(block);
}

static void free_block(block *block) {
  for (uint32_t i = 0; block->threads && i < block->thread_count; ++i) {
    free(block->threads[i].copies);
  }
  for (uint32_t w = 0; block->warps && w < block->warp_count; ++w) {
    free_traffic(block->warps[w].traffic);
  }
  if (block->stacks && block->stacks != MAP_FAILED) {
    munmap(block->stacks, block->thread_count * block->stack_bytes);
  }
  free_products(block);
  free_global_memory(block);
  free_shadow(&block->shared_shadow);
  free_clocks(&block->clocks);
  free(block->shared);
  free(block->read_until);
  free(block->warps);
  free(block->threads);
}

/// False where the host has no memory.
static bool begin_block(block *block, uint32_t number) {
  const uint32_t *grid = block->launch->grid, *shape = block->launch->block;
  block->number = number;
  block->id[0] = number % grid[0];
  block->id[1] = number / grid[0] % grid[1];
  block->id[2] = number / grid[0] / grid[1] * block->member_count;
  block->live = block->thread_count;
  memset(block->at_barrier, 0, sizeof block->at_barrier);
  block->at_cluster = 0;
  memset(block->read_until, 0,
         (size_t)block->thread_count * block->member_count * sizeof(uint32_t));
  // Nothing is in shared memory: what is read there is no number.
  memset(block->shared, 0xFF,
         (size_t)block->shared_stride * block->member_count);
  clear_shadow(&block->shared_shadow, NOBODY);
  clock_values *known = take_clock(&block->clocks);
  if (!known) {
    block->report->out_of_memory = true;
    return false;
  }
  known->uses = block->thread_count;
  memset(known->at, 0, block->clocks.agents * sizeof known->at[0]);
  for (uint32_t i = 0; i < block->thread_count; ++i) {
    hova_emulated_thread *thread = &block->threads[i];
    *thread = (hova_emulated_thread){.block = block,
                                     .index = i,
                                     .lane = i % LANES,
                                     .member = i / block->member_threads,
                                     .known = known,
                                     .time = 1,
                                     .has_waited = !block->launch->overlaps,
                                     .copies = thread->copies,
                                     .copy_room = thread->copy_room};
    uint32_t at = i % block->member_threads;
    thread->id[0] = at % shape[0];
    thread->id[1] = at / shape[0] % shape[1];
    thread->id[2] = at / shape[0] / shape[1];
  }
  for (uint32_t w = 0; w < block->warp_count; ++w) {
    uint32_t lanes = block->thread_count - w * LANES;
    block->warps[w].all = lanes >= LANES ? UINT32_MAX : (1u << lanes) - 1;
    block->warps[w].live = block->warps[w].all;
    block->warps[w].ready = block->warps[w].all;
    block->warps[w].threads = &block->threads[w * LANES];
  }
  begin_products(block);
  return true;
}

/// Whether one of the `granule` bytes from byte `at` on lies in a row.
static bool is_asked_for(const hova_emulation_buffer *buffer, size_t at,
                         uint32_t granule) {
  return buffer->row_bytes == buffer->row_stride ||
         at % buffer->row_stride < buffer->row_bytes ||
         at % buffer->row_stride + granule > buffer->row_stride;
}

/// After the last block: whatever is an output has been written.
static bool check_outputs(block *block) {
  const hova_emulation_launch *launch = block->launch;
  for (size_t i = 0; i < launch->buffer_count; ++i) {
    const shadow *shadow = block->global[i].shadow;
    if (launch->buffers[i].use != HOVA_EMULATION_OUTPUT) {
      continue;
    }
    for (size_t c = 0; c < shadow->count; ++c) {
      if (shadow->cells[c].writer == NOBODY &&
          is_asked_for(&launch->buffers[i], c * shadow->granule,
                       shadow->granule)) {
        return refuse(
            block->report, "kernel '%s' leaves byte %zu of '%s' unwritten",
            launch->kernel->name, c * shadow->granule, launch->buffers[i].name);
      }
    }
  }
  return true;
}

/// A number that shares no factor with `count`, about a third of it.
static uint64_t stride_through(uint64_t count) {
  uint64_t stride = count / 3 + 1;
  for (;; ++stride) {
    uint64_t a = stride, b = count;
    while (b) {
      uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) {
      return stride;
    }
  }
}

static bool run_blocks(block *block) {
  const uint32_t *grid = block->launch->grid;
  uint64_t blocks =
      (uint64_t)grid[0] * grid[1] * (grid[2] / block->member_count);
  bool seeded = block->launch->seed;
  uint64_t stride = seeded ? stride_through(blocks) : 1;
  uint64_t next = blocks < UINT32_MAX ? choose(block, (uint32_t)blocks) : 0;
  for (uint64_t i = 0; i < blocks; ++i, next = (next + stride) % blocks) {
    if (!begin_block(block, (uint32_t)next)) {
      return false;
    }
    run_threads(block);
    check_products(block);
    check_reads(block);
    for (uint32_t t = 0; t < block->thread_count; ++t) {
      drop_clock(&block->clocks, block->threads[t].known);
      forget_cluster(&block->threads[t]);
      learn_fenced(&block->threads[t], NULL);
    }
    if (block->failed) {
      return false;
    }
  }
  return check_outputs(block);
}

bool hova_emulate(const hova_emulation_launch *launch,
                  hova_emulation_report *report) {
  memset(report, 0, sizeof *report);
  if (!check_launch(launch, report)) {
    return false;
  }
  const uint64_t fma = HOVA_CPU(FMA) | HOVA_CPU(AVX2);
  block block = {.launch = launch,
                 .report = report,
                 .has_fma = (hova_cpu_features() & fma) == fma};
  block.member_count = launch->kernel->cluster ? launch->kernel->cluster : 1;
  block.member_threads = launch->block[0] * launch->block[1] * launch->block[2];
  block.thread_count = block.member_threads * block.member_count;
  block.random = launch->seed * 0x9E3779B97F4A7C15u | 1;
  bool made = make_block(&block);
  bool done = made && run_blocks(&block);
  if (!made || report->out_of_memory) {
    report->out_of_memory = true;
    refuse(report, "kernel '%s': out of memory to emulate it",
           launch->kernel->name);
  }
  free_block(&block);
  return done;
}
