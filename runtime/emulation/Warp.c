//===- Warp.c - Instructions that a warp executes together ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Which lane holds which element is written from the tables of the PTX ISA,
// sections "shfl.sync", "Matrix Fragments for mma.m16n8k16 with floating point
// type" and "ldmatrix", and from nothing that the compiler has. Sections are
// named, since their numbers differ between versions.

#include "runtime/emulation/Block.h"

#include <string.h>

static hova_emulated_thread *lanes_of(const hova_emulated_thread *self) {
  return warp_of(self)->threads;
}

void hova_emulated_warp_sync(hova_self *self, uint32_t place,
                             const uint32_t *operands, uint32_t *results) {
  if (!meet(self, place, operands[0], operands, results)) {
    return;
  }
  block *block = self->block;
  hova_emulated_thread *lanes = lanes_of(self);
  uint32_t mask = self->mask;
  clock_values *known =
      join_known(lanes, LANES, mask, (uint32_t)__builtin_popcount(mask));
  known->at[products_of(self)] = warp_of(self)->ended;
  clock_values *fenced = join_fenced(lanes, LANES, mask, known->uses);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    hova_emulated_thread *lane = &lanes[__builtin_ctz(rest)];
    learn_fenced(lane, fenced);
    known->at[lane->index] = lane->time++;
    known->at[block->thread_count + lane->index] = lane->landed;
    drop_clock(&block->clocks, lane->known);
    lane->known = known;
  }
  release_lanes(self);
}

/// The lane whose value comes to `lane`, or `lane` itself and `valid` 0.
static uint32_t source_lane(uint32_t lane, uint32_t kind, uint32_t offset,
                            uint32_t segments, uint32_t *valid) {
  uint32_t clamp = segments & 31, segment = segments >> 8 & 31;
  uint32_t first = lane & segment, last = first | (clamp & ~segment);
  int32_t source;
  offset &= 31;
  switch (kind) {
  case 0:
    source = (int32_t)(lane ^ offset);
    *valid = source <= (int32_t)last;
    break;
  case 1:
    source = (int32_t)lane - (int32_t)offset;
    *valid = source >= (int32_t)last;
    break;
  case 2:
    source = (int32_t)(lane + offset);
    *valid = source <= (int32_t)last;
    break;
  default:
    source = (int32_t)(first | (offset & ~segment));
    *valid = source <= (int32_t)last;
  }
  return *valid ? (uint32_t)source : lane;
}

void hova_emulated_shuffle(hova_self *self, uint32_t place,
                           const uint32_t *operands, uint32_t *results,
                           uint32_t kind) {
  if (!meet(self, place, operands[0], operands, results)) {
    return;
  }
  hova_emulated_thread *lanes = lanes_of(self);
  for (uint32_t rest = self->mask; rest; rest &= rest - 1) {
    hova_emulated_thread *lane = &lanes[__builtin_ctz(rest)];
    uint32_t valid;
    uint32_t from = source_lane(lane->lane, kind, lane->operands[2],
                                lane->operands[3], &valid);
    if (!(self->mask >> from & 1)) {
      fault(lane, place, "takes a value from lane %u, which takes no part",
            from);
    }
    lane->results[0] = lanes[from].operands[1];
    lane->results[1] = valid;
  }
  release_lanes(self);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// Turns for eight rows of 16 bytes: words of the same of 32 banks take turns,
/// unless they are the same word.
static uint32_t wavefronts(const uint32_t *rows) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < 8; ++i) {
    uint32_t here = 1;
    for (uint32_t j = 0; j < i; ++j) {
      here += rows[j] != rows[i] && rows[j] / 16 % 8 == rows[i] / 16 % 8;
    }
    most = here > most ? here : most;
  }
  return most;
}

void hova_emulated_ldmatrix(hova_self *self, uint32_t place,
                            const uint32_t *operands, uint32_t *results,
                            uint32_t count, uint32_t transposed) {
  if (!meet(self, place, UINT32_MAX, operands, results)) {
    return;
  }
  hova_emulated_thread *lanes = lanes_of(self);
  hova_emulation_counts *counts = &self->block->report->counts;
  for (uint32_t m = 0; m < count; ++m) {
    uint16_t matrix[8][8];
    uint32_t rows[8];
    for (uint32_t r = 0; r < 8; ++r) {
      hova_emulated_thread *lane = &lanes[8 * m + r];
      rows[r] = lane->operands[0];
      memcpy(matrix[r], read_shared(lane, lane->index, place, rows[r], 16, 16),
             16);
    }
    counts->matrix_wavefronts += wavefronts(rows);
    ++counts->matrix_wavefronts_least;
    for (uint32_t i = 0; i < LANES; ++i) {
      uint32_t r = i / 4, c = 2 * (i % 4);
      uint32_t low = transposed ? matrix[c][r] : matrix[r][c];
      uint32_t high = transposed ? matrix[c + 1][r] : matrix[r][c + 1];
      lanes[i].results[m] = low | high << 16;
    }
  }
  release_lanes(self);
}

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

void set_halves(float *low, float *high, uint32_t word, uint32_t is_f16) {
  *low =
      is_f16 ? hova_emulated_f32_of_f16((uint16_t)word) : from_bits(word << 16);
  *high = is_f16 ? hova_emulated_f32_of_f16((uint16_t)(word >> 16))
                 : from_bits(word & 0xFFFF0000u);
}

void hova_emulated_mma(hova_self *self, uint32_t place,
                       const uint32_t *operands, uint32_t *results,
                       uint32_t is_f16) {
  if (!meet(self, place, UINT32_MAX, operands, results)) {
    return;
  }
  hova_emulated_thread *lanes = lanes_of(self);
  _Alignas(32) float left[16][16], right[16][8], sums[16][8];
  for (uint32_t lane = 0; lane < LANES; ++lane) {
    const uint32_t *words = lanes[lane].operands;
    uint32_t group = lane / 4, pair = 2 * (lane % 4);
    for (uint32_t w = 0; w < 4; ++w) {
      // a0 a1 | a2 a3 eight rows below | a4 a5 eight k further | both
      float *at = &left[group + 8 * (w % 2)][pair + 8 * (w / 2)];
      set_halves(&at[0], &at[1], words[w], is_f16);
    }
    for (uint32_t w = 0; w < 2; ++w) {
      set_halves(&right[pair + 8 * w][group], &right[pair + 8 * w + 1][group],
                 words[4 + w], is_f16);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      sums[group + 8 * (i / 2)][pair + i % 2] = from_bits(words[6 + i]);
    }
  }
  multiply(self->block->launch->sums, self->block->has_fma, left, right, sums);
  for (uint32_t lane = 0; lane < LANES; ++lane) {
    uint32_t group = lane / 4, pair = 2 * (lane % 4);
    for (uint32_t i = 0; i < 4; ++i) {
      float sum = sums[group + 8 * (i / 2)][pair + i % 2];
      uint32_t bits = 0x7FFFFFFF;
      if (sum == sum) {
        memcpy(&bits, &sum, sizeof bits);
      }
      lanes[lane].results[i] = bits;
    }
  }
  ++self->block->report->counts.products;
  release_lanes(self);
}
