//===- Features.c - What the processor and the system offer ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A feature whose registers the operating system does not save (XCR0) counts
// as absent: using it would fault. The registers of a matrix unit, 8 KiB, it
// saves only for a process that has asked, and may refuse: a thread with an
// alternate signal stack that is too small for them is reason enough.
//
//===----------------------------------------------------------------------===//

#include "runtime/Machine.h"

#include <cpuid.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct cpuid_leaves {
  uint32_t leaf1_c, leaf7_b, leaf7_c, leaf7_d, leaf71_a, extended_c;
  uint32_t xcr0;
} cpuid_leaves;

static cpuid_leaves read_leaves(void) {
  cpuid_leaves leaves = {0};
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    leaves.leaf1_c = c;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    uint32_t subleaves = a;
    leaves.leaf7_b = b;
    leaves.leaf7_c = c;
    leaves.leaf7_d = d;
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
      leaves.leaf71_a = a;
    }
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    leaves.extended_c = c;
  }
  const uint32_t osxsave = 1u << 27;
  if (leaves.leaf1_c & osxsave) {
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(leaves.xcr0), "=d"(high) : "c"(0));
  }
  return leaves;
}

uint64_t hova_cpu_features(void) {
  const cpuid_leaves l = read_leaves();
  const uint32_t ymm = 0x6, zmm = 0xe6, tile_state = 0x60000;
  const int avx = (l.xcr0 & ymm) == ymm;
  const int avx512 = (l.xcr0 & zmm) == zmm;
  const int tiles = (l.xcr0 & tile_state) == tile_state;
  const struct {
    int bit;
    int usable;
    uint32_t word;
    unsigned place;
  } table[] = {
      {HOVA_CPU_BIT_SSE3, 1, l.leaf1_c, 0},
      {HOVA_CPU_BIT_PCLMUL, 1, l.leaf1_c, 1},
      {HOVA_CPU_BIT_SSSE3, 1, l.leaf1_c, 9},
      {HOVA_CPU_BIT_FMA, avx, l.leaf1_c, 12},
      {HOVA_CPU_BIT_CX16, 1, l.leaf1_c, 13},
      {HOVA_CPU_BIT_SSE41, 1, l.leaf1_c, 19},
      {HOVA_CPU_BIT_SSE42, 1, l.leaf1_c, 20},
      {HOVA_CPU_BIT_MOVBE, 1, l.leaf1_c, 22},
      {HOVA_CPU_BIT_POPCNT, 1, l.leaf1_c, 23},
      {HOVA_CPU_BIT_AES, 1, l.leaf1_c, 25},
      {HOVA_CPU_BIT_XSAVE, 1, l.leaf1_c, 27},
      {HOVA_CPU_BIT_AVX, avx, l.leaf1_c, 28},
      {HOVA_CPU_BIT_F16C, avx, l.leaf1_c, 29},
      {HOVA_CPU_BIT_LAHF, 1, l.extended_c, 0},
      {HOVA_CPU_BIT_LZCNT, 1, l.extended_c, 5},
      {HOVA_CPU_BIT_PRFCHW, 1, l.extended_c, 8},
      {HOVA_CPU_BIT_FSGSBASE, 1, l.leaf7_b, 0},
      {HOVA_CPU_BIT_BMI, 1, l.leaf7_b, 3},
      {HOVA_CPU_BIT_AVX2, avx, l.leaf7_b, 5},
      {HOVA_CPU_BIT_BMI2, 1, l.leaf7_b, 8},
      {HOVA_CPU_BIT_AVX512F, avx512, l.leaf7_b, 16},
      {HOVA_CPU_BIT_AVX512DQ, avx512, l.leaf7_b, 17},
      {HOVA_CPU_BIT_ADX, 1, l.leaf7_b, 19},
      {HOVA_CPU_BIT_AVX512IFMA, avx512, l.leaf7_b, 21},
      {HOVA_CPU_BIT_CLFLUSHOPT, 1, l.leaf7_b, 23},
      {HOVA_CPU_BIT_CLWB, 1, l.leaf7_b, 24},
      {HOVA_CPU_BIT_AVX512CD, avx512, l.leaf7_b, 28},
      {HOVA_CPU_BIT_SHA, 1, l.leaf7_b, 29},
      {HOVA_CPU_BIT_AVX512BW, avx512, l.leaf7_b, 30},
      {HOVA_CPU_BIT_AVX512VL, avx512, l.leaf7_b, 31},
      {HOVA_CPU_BIT_AVX512VBMI, avx512, l.leaf7_c, 1},
      {HOVA_CPU_BIT_AVX512VBMI2, avx512, l.leaf7_c, 6},
      {HOVA_CPU_BIT_GFNI, 1, l.leaf7_c, 8},
      {HOVA_CPU_BIT_VAES, avx, l.leaf7_c, 9},
      {HOVA_CPU_BIT_VPCLMULQDQ, avx, l.leaf7_c, 10},
      {HOVA_CPU_BIT_AVX512VNNI, avx512, l.leaf7_c, 11},
      {HOVA_CPU_BIT_AVX512BITALG, avx512, l.leaf7_c, 12},
      {HOVA_CPU_BIT_AVX512VPOPCNTDQ, avx512, l.leaf7_c, 14},
      {HOVA_CPU_BIT_RDPID, 1, l.leaf7_c, 22},
      {HOVA_CPU_BIT_MOVDIRI, 1, l.leaf7_c, 27},
      {HOVA_CPU_BIT_MOVDIR64B, 1, l.leaf7_c, 28},
      {HOVA_CPU_BIT_AVX512VP2INTERSECT, avx512, l.leaf7_d, 8},
      {HOVA_CPU_BIT_AMXBF16, tiles, l.leaf7_d, 22},
      {HOVA_CPU_BIT_AVX512FP16, avx512, l.leaf7_d, 23},
      {HOVA_CPU_BIT_AMXTILE, tiles, l.leaf7_d, 24},
      {HOVA_CPU_BIT_AMXINT8, tiles, l.leaf7_d, 25},
      {HOVA_CPU_BIT_AVXVNNI, avx, l.leaf71_a, 4},
      {HOVA_CPU_BIT_AVX512BF16, avx512, l.leaf71_a, 5},
  };
  _Static_assert(sizeof table / sizeof *table == HOVA_NUM_CPU_FEATURES,
                 "every feature has its place in a cpuid leaf");
  uint64_t features = 0;
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (table[i].usable && (table[i].word >> table[i].place & 1)) {
      features |= UINT64_C(1) << table[i].bit;
    }
  }
  return features;
}

/// Asks Linux for the tile registers, for all threads that the process has and
/// will have. Costs 0.1 us where it has them.
static bool ask_for_tiles(void) {
  const long request = 0x1023; // ARCH_REQ_XCOMP_PERM
  const long tile_data = 18;   // its number in XCR0
  return syscall(SYS_arch_prctl, request, tile_data) == 0;
}

uint64_t hova_usable_features(const hova_program *program) {
  const uint64_t tiles =
      HOVA_CPU(AMXTILE) | HOVA_CPU(AMXBF16) | HOVA_CPU(AMXINT8);
  uint64_t features = hova_cpu_features(), needed = 0;
  for (uint32_t i = 0; i < program->num_levels; ++i) {
    needed |= program->levels[i].features;
  }
  if ((features & needed & tiles) && !ask_for_tiles()) {
    features &= ~tiles;
  }
  return features;
}

void hova_list_features(char *text, size_t size, uint64_t features) {
  static const char *const names[] = {
#define HOVA_CPU_FEATURE_NAME(NAME, TEXT) TEXT,
      HOVA_CPU_FEATURES(HOVA_CPU_FEATURE_NAME)
#undef HOVA_CPU_FEATURE_NAME
  };
  size_t length = 0;
  text[0] = '\0';
  for (int bit = 0; bit < HOVA_NUM_CPU_FEATURES && length < size; ++bit) {
    if (features >> bit & 1) {
      length += (size_t)snprintf(text + length, size - length, "%s%s",
                                 length ? ", " : "", names[bit]);
    }
  }
}
