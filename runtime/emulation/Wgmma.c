//===- Wgmma.c - Asynchronous products of warp groups ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which lane holds which sum, and where shared memory has the elements of an
// operand, is written from the PTX ISA, sections "Register Fragments for
// wgmma.mma_async.m64nNk16" and "Shared Memory Matrix Layout", and from nothing
// that the compiler has.
//
// Each warp of a group multiplies its own 16 rows, and waits for itself alone.
// Products take place when they are begun, when a wait ends them, or one or the
// other, as copies do; those that add to the same sums keep their order. Until
// then a lane has no number in the place of a sum, but a word that names it:
// who computes with that computes with what is no number.

#include "runtime/emulation/Block.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 16u
#define WARPS 4u
#define ROWS_OF_WARP 16u
#define DEPTH 16u
#define COLUMNS 8u
/// A word that names sums: no number, as no instruction leaves it.
#define NAME 0xFFA00000u
#define MOST_NAMES (1u << 13)

typedef struct product {
  uint32_t group, sums; ///< number of its group; which sums
  uint32_t left, right; ///< first bytes of the operands in shared memory
  uint32_t begin;       ///< where that of the block begins
  uint32_t row_bytes;
  bool in_registers, is_f16;
  uint32_t words[LANES][MOST_WORDS]; ///< of a left operand in registers
} product;

typedef struct sums {
  uint32_t count, waiting; ///< words of a lane; products that do not yet
  bool used;
  uint32_t words[LANES][MOST_SUMS];
} sums;

//===----------------------------------------------------------------------===//
// What is fenced
//===----------------------------------------------------------------------===//

void learn_fenced(hova_emulated_thread *self, clock_values *known) {
  if (self->fenced) {
    drop_clock(&self->block->clocks, self->fenced);
  }
  self->fenced = known;
}

clock_values *join_fenced(hova_emulated_thread *first, uint32_t count,
                          uint32_t mask, uint32_t uses) {
  block *block = first->block;
  clock_values *joined = NULL, *last = NULL;
  for (uint32_t i = 0; i < count; ++i) {
    const hova_emulated_thread *thread = &first[i];
    if (!(mask >> i % LANES & 1) || !thread->fenced) {
      continue;
    }
    if (!joined) {
      joined = take_clock(&block->clocks);
      if (!joined) {
        lack_memory(first);
      }
      joined->uses = uses;
      memset(joined->at, 0, block->clocks.agents * sizeof joined->at[0]);
    }
    // Threads that have met share one.
    if (thread->fenced != last) {
      last = thread->fenced;
      raise_clocks(&block->clocks, joined, last);
    }
    raise_clock(&joined->at[thread->index], thread->fenced_time);
    raise_clock(&joined->at[block->thread_count + thread->index],
                thread->fenced_landed);
  }
  return joined;
}

void hova_emulated_fence_proxy(hova_self *self, uint32_t place) {
  (void)place;
  ++self->known->uses;
  learn_fenced(self, self->known);
  // What it writes from now on is not fenced.
  self->fenced_time = self->time++;
  self->fenced_landed = self->landed;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void begin_products(block *block) {
  for (uint32_t w = 0; w < block->warp_count; ++w) {
    warp *warp = &block->warps[w];
    warp->begun = warp->ended = warp->product_count = 0;
    warp->begun_hash = 0;
    for (uint32_t s = 0; s < warp->sums_count; ++s) {
      warp->sums[s].used = false;
    }
  }
}

void check_products(block *block) {
  for (uint32_t w = 0; !block->failed && w < block->warp_count; ++w) {
    const warp *warp = &block->warps[w],
               *first = &block->warps[w / WARPS * WARPS];
    if (warp->ended != warp->begun) {
      report_fault(warp->threads, warp->last_place,
                   "is never waited for by its warp, which has ended");
    } else if (warp->begun_hash != first->begun_hash) {
      report_fault(warp->threads,
                   warp->begun ? warp->last_place : first->last_place,
                   "is not executed alike by the four warps of a group");
    }
  }
}

void free_products(block *block) {
  for (uint32_t w = 0; block->warps && w < block->warp_count; ++w) {
    free(block->warps[w].products);
    free(block->warps[w].sums);
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The number of the sums that all lanes name at `first`; MOST_NAMES: they have
/// numbers there.
static uint32_t find_sums(hova_emulated_thread *self, uint32_t place,
                          uint32_t first, uint32_t count) {
  const warp *warp = warp_of(self);
  uint32_t word = warp->threads[0].operands[first];
  uint32_t number = (word & ~NAME) / MOST_SUMS;
  bool is_name = (word & NAME) == NAME && word % MOST_SUMS == 0 &&
                 number < warp->sums_count && warp->sums[number].used &&
                 warp->sums[number].count == count;
  for (uint32_t l = 0; is_name && l < LANES; ++l) {
    for (uint32_t i = 0; i < count; ++i) {
      if (warp->threads[l].operands[first + i] != word + i) {
        fault(&warp->threads[l], place,
              "takes sums that are under way in other registers");
      }
    }
  }
  return is_name ? number : MOST_NAMES;
}

static void name_sums(const warp *warp, uint32_t number) {
  for (uint32_t l = 0; l < LANES; ++l) {
    for (uint32_t i = 0; i < warp->sums[number].count; ++i) {
      warp->threads[l].results[i] = NAME | (number * MOST_SUMS + i);
    }
  }
}

/// Room for one more of `size` bytes in an array of `count`.
static void *grow(hova_emulated_thread *self, void *array, uint32_t count,
                  uint32_t *room, size_t size) {
  if (count < *room) {
    return array;
  }
  uint32_t more = *room ? 2 * *room : 4;
  void *grown = realloc(array, more * size);
  if (!grown) {
    lack_memory(self);
  }
  *room = more;
  return grown;
}

/// Sums of the words that the lanes have at `first`.
static uint32_t take_sums(hova_emulated_thread *self, uint32_t place,
                          uint32_t first, uint32_t count) {
  warp *warp = warp_of(self);
  uint32_t number = 0;
  while (number < warp->sums_count && warp->sums[number].used) {
    ++number;
  }
  if (number == MOST_NAMES) {
    fault(self, place, "has more than %u tiles of sums under way", MOST_NAMES);
  }
  if (number == warp->sums_count) {
    warp->sums = grow(self, warp->sums, warp->sums_count, &warp->sums_room,
                      sizeof *warp->sums);
    ++warp->sums_count;
  }
  sums *sums = &warp->sums[number];
  sums->count = count;
  sums->waiting = 0;
  sums->used = true;
  for (uint32_t l = 0; l < LANES; ++l) {
    memcpy(sums->words[l], warp->threads[l].operands + first,
           count * sizeof(uint32_t));
  }
  return number;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Element k of a row of an operand, whose rows of 128 bytes exchange chunks of
/// 16 bytes by three bits of their address, and those of 64 bytes by two.
static float element_at(const block *block, const product *product,
                        uint32_t first, uint32_t row, uint32_t k) {
  uint32_t at = first + row * product->row_bytes + 2 * k;
  at ^= (at >> 7 & (product->row_bytes == 128 ? 7 : 3)) << 4;
  uint16_t bits;
  memcpy(&bits, block->shared + product->begin + at, sizeof bits);
  if (product->is_f16) {
    return hova_emulated_f32_of_f16(bits);
  }
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static void set_left(const block *block, const product *product, uint32_t first,
                     uint32_t step, float left[16][16]) {
  if (!product->in_registers) {
    for (uint32_t r = 0; r < ROWS_OF_WARP; ++r) {
      for (uint32_t k = 0; k < DEPTH; ++k) {
        left[r][k] = element_at(block, product, first, r, DEPTH * step + k);
      }
    }
    return;
  }
  for (uint32_t l = 0; l < LANES; ++l) {
    for (uint32_t w = 0; w < 4; ++w) {
      // a0 a1 | a2 a3 eight rows below | a4 a5 eight k further | both
      float *at = &left[l / 4 + 8 * (w % 2)][2 * (l % 4) + 8 * (w / 2)];
      set_halves(&at[0], &at[1], product->words[l][4 * step + w],
                 product->is_f16);
    }
  }
}

/// Adds a product to the words of sums.
static void add_product(block *block, uint32_t number, const product *product,
                        sums *sums) {
  uint32_t first =
      product->left + number % WARPS * ROWS_OF_WARP * product->row_bytes;
  uint32_t steps = product->row_bytes / (2 * DEPTH);
  _Alignas(32) float left[16][16], right[16][8], tile[16][8];
  for (uint32_t step = 0; step < steps; ++step) {
    set_left(block, product, first, step, left);
    for (uint32_t c = 0; c < sums->count / 4; ++c) {
      for (uint32_t k = 0; k < DEPTH; ++k) {
        for (uint32_t j = 0; j < COLUMNS; ++j) {
          right[k][j] = element_at(block, product, product->right,
                                   COLUMNS * c + j, DEPTH * step + k);
        }
      }
      for (uint32_t l = 0; l < LANES; ++l) {
        for (uint32_t i = 0; i < 4; ++i) {
          memcpy(&tile[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2],
                 &sums->words[l][4 * c + i], sizeof(float));
        }
      }
      multiply(block->launch->sums, block->has_fma, left, right, tile);
      for (uint32_t l = 0; l < LANES; ++l) {
        for (uint32_t i = 0; i < 4; ++i) {
          float sum = tile[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2];
          uint32_t bits = 0x7FFFFFFF;
          if (sum == sum) {
            memcpy(&bits, &sum, sizeof bits);
          }
          sums->words[l][4 * c + i] = bits;
        }
      }
    }
  }
}

/// The pointer that all lanes have.
static uint32_t common_pointer(hova_emulated_thread *self, uint32_t place,
                               uint32_t operand, uint32_t row_bytes) {
  hova_emulated_thread *lanes = warp_of(self)->threads;
  uint32_t pointer = lanes[0].operands[operand];
  for (uint32_t l = 1; l < LANES; ++l) {
    if (lanes[l].operands[operand] != pointer) {
      fault(&lanes[l], place, "takes another operand than lane 0 of its warp");
    }
  }
  if (pointer % (8 * row_bytes)) {
    fault(self, place,
          "takes an operand from byte %u of shared memory on, which is no "
          "multiple of the %u of eight rows",
          pointer, 8 * row_bytes);
  }
  return pointer;
}

/// Rows of an operand are read until a wait. Lanes take turns: each knows what
/// it has met.
static void read_rows(hova_emulated_thread *self, uint32_t place,
                      uint32_t first, uint32_t rows, uint32_t row_bytes) {
  hova_emulated_thread *lanes = warp_of(self)->threads;
  for (uint32_t r = 0; r < rows; ++r) {
    hova_emulated_thread *lane = &lanes[r % LANES];
    uint32_t at = first + r * row_bytes;
    read_shared(lane, products_of(lane), place, at, row_bytes, row_bytes);
    check_fenced(&self->block->shared_shadow, lane, place,
                 shared_begin(self) + at, row_bytes);
  }
}

/// What the four warps of a group must do alike, as one number.
static void note_begun(warp *warp, uint32_t place, const product *product) {
  const uint32_t parts[] = {place, product->in_registers ? 0 : product->left,
                            product->right};
  for (int i = 0; i < 3; ++i) {
    warp->begun_hash = (warp->begun_hash ^ (parts[i] + 1)) * 1099511628211u;
  }
  warp->last_place = place;
  ++warp->begun;
}

void hova_emulated_wgmma(hova_self *self, uint32_t place,
                         const uint32_t *operands, uint32_t *results,
                         uint32_t count, uint32_t row_bytes,
                         uint32_t in_registers, uint32_t is_f16) {
  if (!meet(self, place, UINT32_MAX, operands, results)) {
    return;
  }
  block *block = self->block;
  warp *warp = warp_of(self);
  uint32_t number = self->index % block->member_threads / LANES;
  if (number / WARPS * WARPS + WARPS > block->member_threads / LANES) {
    fault(self, place,
          "needs four warps of a group, which the block does not "
          "have from warp %u on",
          number / WARPS * WARPS);
  }
  uint32_t left_words = in_registers ? row_bytes / 8 : 1;
  product product = {.group = warp->begun + 1,
                     .begin = shared_begin(self),
                     .row_bytes = row_bytes,
                     .in_registers = in_registers,
                     .is_f16 = is_f16};
  product.right = common_pointer(self, place, left_words, row_bytes);
  read_rows(self, place, product.right, 2 * count, row_bytes);
  if (in_registers) {
    for (uint32_t l = 0; l < LANES; ++l) {
      memcpy(product.words[l], warp->threads[l].operands,
             left_words * sizeof(uint32_t));
    }
  } else {
    product.left = common_pointer(self, place, 0, row_bytes);
    read_rows(self, place,
              product.left + number % WARPS * ROWS_OF_WARP * row_bytes,
              ROWS_OF_WARP, row_bytes);
  }
  note_begun(warp, place, &product);
  uint32_t which = find_sums(self, place, left_words + 1, count);
  if (which == MOST_NAMES) {
    which = take_sums(self, place, left_words + 1, count);
  }
  sums *sums = &warp->sums[which];
  hova_emulation_copies when = block->launch->copies;
  bool early = when == HOVA_EMULATION_EARLY ||
               (when == HOVA_EMULATION_MIXED && choose(block, 2));
  block->report->counts.products += count / 4 * (row_bytes / (2 * DEPTH));
  if (early && !sums->waiting) {
    add_product(block, number, &product, sums);
  } else {
    product.sums = which;
    ++sums->waiting;
    warp->products = grow(self, warp->products, warp->product_count,
                          &warp->product_room, sizeof *warp->products);
    warp->products[warp->product_count++] = product;
  }
  name_sums(warp, which);
  release_lanes(self);
}

void hova_emulated_wgmma_wait(hova_self *self, uint32_t place,
                              const uint32_t *operands, uint32_t *results,
                              uint32_t count, uint32_t under_way) {
  if (!meet(self, place, UINT32_MAX, operands, results)) {
    return;
  }
  warp *warp = warp_of(self);
  uint32_t ended = warp->begun > under_way ? warp->begun - under_way : 0;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < warp->product_count; ++i) {
    product *product = &warp->products[i];
    if (product->group <= ended) {
      sums *sums = &warp->sums[product->sums];
      add_product(self->block, self->index / LANES, product, sums);
      --sums->waiting;
    } else {
      warp->products[kept++] = *product;
    }
  }
  warp->product_count = kept;
  warp->ended = ended > warp->ended ? ended : warp->ended;
  uint32_t which = find_sums(self, place, 0, count);
  if (which == MOST_NAMES) {
    for (uint32_t l = 0; l < LANES; ++l) {
      memcpy(warp->threads[l].results, warp->threads[l].operands,
             count * sizeof(uint32_t));
    }
  } else if (under_way) {
    name_sums(warp, which);
  } else {
    for (uint32_t l = 0; l < LANES; ++l) {
      memcpy(warp->threads[l].results, warp->sums[which].words[l],
             count * sizeof(uint32_t));
    }
    warp->sums[which].used = false;
  }
  release_lanes(self);
}
