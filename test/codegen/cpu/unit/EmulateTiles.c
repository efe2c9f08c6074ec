//===- EmulateTiles.c - Executes the instructions of a matrix unit --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A library to be loaded before a program (LD_PRELOAD). On a processor without
// AMX each of its instructions is an illegal one, for which Linux sends a
// signal: the handler executes it in software and goes on behind it. So what
// LLVM made of a program runs as it is, whatever the machine, and the numbers
// are those of the unit bit by bit. Written from the manual of the instructions
// alone.
//
// A program whose questions of what the processor has were replaced by two
// instructions that no processor has (tiles.py) hears that the unit is there.
//
// What a processor refuses ends the program with a sentence: a tile that is not
// configured, shapes that do not fit each other, an address without an index.
// Where HOVA_TILE_COUNTS names a file, the numbers of executed instructions are
// there at the end.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define TILES 8
#define ROWS 16
#define ROW_BYTES 64

typedef struct tile {
  uint8_t bytes[ROWS][ROW_BYTES];
} tile;

/// Of a thread. A palette of 0: nothing is configured.
typedef struct tile_state {
  uint8_t palette, rows[TILES];
  uint16_t columns[TILES]; ///< bytes of a row
  tile tiles[TILES];
} tile_state;

static __thread tile_state state;

typedef enum counted {
  CONFIGURE,
  RELEASE,
  ZERO,
  LOAD,
  LOAD_STREAM,
  STORE,
  PRODUCT,
  COUNTED
} counted;
static _Atomic uint64_t counts[COUNTED];
static const char *const names[COUNTED] = {
    "ldtilecfg",   "tilerelease", "tilezero", "tileloadd",
    "tileloaddt1", "tilestored",  "tdpbf16ps"};

/// Ends the program; only what a handler may call.
static void refuse(const char *why) {
  const char begin[] = "EmulateTiles: ";
  (void)!write(2, begin, sizeof begin - 1);
  (void)!write(2, why, strlen(why));
  (void)!write(2, "\n", 1);
  _exit(86);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// A VEX prefix of three bytes, an opcode of map 0F38 and its operands.
typedef struct instruction {
  const uint8_t *code;
  unsigned length;
  uint8_t opcode, prefix;  ///< prefix: 0 none, 1 66, 2 F3, 3 F2
  unsigned reg, rm, third; ///< numbers of tiles
  int is_memory;
  uint64_t address, stride; ///< without the index; the index times its scale
  int has_index;
} instruction;

static uint64_t register_of(const ucontext_t *context, unsigned number) {
  static const int order[16] = {
      REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)context->uc_mcontext.gregs[order[number]];
}

/// False: another instruction.
static int decode(const ucontext_t *context, instruction *found) {
  const uint8_t *code =
      (const uint8_t *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
  memset(found, 0, sizeof *found);
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) {
    return 0;
  }
  unsigned x = !(code[1] & 0x40), b = !(code[1] & 0x20);
  found->code = code;
  found->prefix = code[2] & 3;
  found->third = ~(code[2] >> 3) & 15;
  found->opcode = code[3];
  if ((code[2] & 0x84) != 0 || // W and L are 0 in all of them
      (found->opcode != 0x49 && found->opcode != 0x4b &&
       found->opcode != 0x5c)) {
    return 0;
  }
  unsigned mod = code[4] >> 6, rm = code[4] & 7;
  found->reg = code[4] >> 3 & 7;
  found->rm = rm;
  found->length = 5;
  found->is_memory = mod != 3;
  if (!found->is_memory) {
    return 1;
  }
  const uint8_t *rest = code + 5;
  uint64_t base;
  if (rm == 4) {
    uint8_t sib = *rest++;
    unsigned index = (sib >> 3 & 7) | x << 3, number = (sib & 7) | b << 3;
    if (index != 4) {
      found->has_index = 1;
      found->stride = register_of(context, index) << (sib >> 6);
    }
    base = (sib & 7) == 5 && mod == 0 ? 0 : register_of(context, number);
    if ((sib & 7) == 5 && mod == 0) {
      mod = 2; // no base, four bytes
    }
  } else if (rm == 5 && mod == 0) {
    int32_t offset;
    memcpy(&offset, rest, 4);
    found->length = 9;
    found->address =
        (uint64_t)(uintptr_t)(code + 9) + (uint64_t)(int64_t)offset;
    return 1;
  } else {
    base = register_of(context, rm | b << 3);
  }
  int64_t offset = 0;
  if (mod == 1) {
    offset = (int8_t)*rest++;
  } else if (mod == 2) {
    int32_t wide;
    memcpy(&wide, rest, 4);
    offset = wide;
    rest += 4;
  }
  found->address = base + (uint64_t)offset;
  found->length = (unsigned)(rest - code);
  return 1;
}

//===----------------------------------------------------------------------===//
// Their meaning
//===----------------------------------------------------------------------===//

static void configure(const uint8_t *from) {
  memset(&state, 0, sizeof state);
  state.palette = from[0];
  if (state.palette > 1) {
    refuse("there is one palette");
  }
  for (int i = 0; i < TILES && state.palette; ++i) {
    memcpy(&state.columns[i], from + 16 + 2 * i, 2);
    state.rows[i] = from[48 + i];
    if (state.columns[i] > ROW_BYTES || state.rows[i] > ROWS ||
        (state.columns[i] == 0) != (state.rows[i] == 0)) {
      refuse("a configuration with a tile that is too large, or has rows and "
             "no columns");
    }
  }
}

static tile *used(unsigned number) {
  if (!state.palette || state.rows[number] == 0) {
    refuse("a tile that is not configured");
  }
  return &state.tiles[number];
}

static void move(const instruction *at, counted what) {
  tile *moved = used(at->reg);
  if (!at->has_index) {
    refuse("a tile in memory without an index");
  }
  unsigned columns = state.columns[at->reg];
  if (what != STORE) {
    memset(moved, 0, sizeof *moved);
  }
  for (unsigned i = 0; i < state.rows[at->reg]; ++i) {
    uint8_t *row = (uint8_t *)(uintptr_t)(at->address + i * at->stride);
    if (what == STORE) {
      memcpy(row, moved->bytes[i], columns);
    } else {
      memcpy(moved->bytes[i], row, columns);
    }
  }
}

/// A number below the least normal one is zero.
static float normal(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  if ((bits & 0x7f800000) == 0) {
    bits &= 0x80000000;
  }
  memcpy(&x, &bits, 4);
  return x;
}

/// Number `i` of a row of bf16.
static float narrow(const uint8_t *row, unsigned i) {
  uint32_t bits = (uint32_t)row[2 * i] << 16 | (uint32_t)row[2 * i + 1] << 24;
  float x;
  memcpy(&x, &bits, 4);
  return normal(x);
}

static void product(const instruction *at) {
  tile *sums = used(at->reg);
  const tile *left = used(at->rm), *right = used(at->third);
  unsigned rows = state.rows[at->reg], columns = state.columns[at->reg] / 4;
  unsigned pairs = state.columns[at->rm] / 4;
  if (at->reg == at->rm || at->reg == at->third || at->rm == at->third ||
      state.rows[at->rm] != rows || state.rows[at->third] != pairs ||
      state.columns[at->third] != state.columns[at->reg]) {
    refuse("factors that do not fit their sums");
  }
  for (unsigned m = 0; m < rows; ++m) {
    for (unsigned n = 0; n < columns; ++n) {
      float even = 0, odd = 0, sum;
      for (unsigned k = 0; k < pairs; ++k) {
        const uint8_t *a = left->bytes[m], *b = right->bytes[k];
        even = normal(fmaf(narrow(a, 2 * k), narrow(b, 2 * n), even));
        odd = normal(fmaf(narrow(a, 2 * k + 1), narrow(b, 2 * n + 1), odd));
      }
      memcpy(&sum, sums->bytes[m] + 4 * n, 4);
      sum = normal(normal(sum) + normal(even + odd));
      memcpy(sums->bytes[m] + 4 * n, &sum, 4);
    }
  }
}

/// False: no instruction of the unit.
static int execute(const instruction *at) {
  counted what;
  if (at->opcode == 0x49 && at->is_memory && at->prefix == 0 && at->reg == 0) {
    what = CONFIGURE;
    configure((const uint8_t *)(uintptr_t)at->address);
  } else if (at->opcode == 0x49 && at->code[4] == 0xc0 && at->prefix == 0) {
    what = RELEASE;
    memset(&state, 0, sizeof state);
  } else if (at->opcode == 0x49 && !at->is_memory && at->prefix == 3 &&
             at->rm == 0) {
    what = ZERO;
    memset(used(at->reg), 0, sizeof(tile));
  } else if (at->opcode == 0x4b && at->is_memory && at->prefix != 0) {
    what = at->prefix == 1 ? LOAD_STREAM : at->prefix == 2 ? STORE : LOAD;
    move(at, what);
  } else if (at->opcode == 0x5c && !at->is_memory && at->prefix == 2) {
    what = PRODUCT;
    product(at);
  } else {
    return 0;
  }
  atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
  return 1;
}

//===----------------------------------------------------------------------===//
// What the processor has
//===----------------------------------------------------------------------===//

/// `ud2` for `cpuid`, and `ud0 %eax, %eax` for `xgetbv`, each as long as what
/// it stands for: the answers of this processor, and the unit. False: another
/// instruction.
static int ask(ucontext_t *context) {
  static const uint8_t cpuid[] = {0x0f, 0x0b}, xgetbv[] = {0x0f, 0xff, 0xc0};
  greg_t *registers = context->uc_mcontext.gregs;
  const uint8_t *code = (const uint8_t *)(uintptr_t)registers[REG_RIP];
  uint32_t a = (uint32_t)registers[REG_RAX], b = 0;
  uint32_t c = (uint32_t)registers[REG_RCX], d = 0;
  if (memcmp(code, cpuid, sizeof cpuid) == 0) {
    int has_unit = a == 7 && c == 0;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    d |= has_unit ? 1u << 22 | 1u << 24 | 1u << 25 : 0;
    registers[REG_RBX] = b;
    registers[REG_RCX] = c;
    registers[REG_RIP] += sizeof cpuid;
  } else if (memcmp(code, xgetbv, sizeof xgetbv) == 0) {
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(c));
    a |= c == 0 ? 1u << 17 | 1u << 18 : 0;
    registers[REG_RIP] += sizeof xgetbv;
  } else {
    return 0;
  }
  registers[REG_RAX] = a;
  registers[REG_RDX] = d;
  return 1;
}

static void on_illegal(int number, siginfo_t *info, void *opaque) {
  (void)info;
  ucontext_t *context = opaque;
  instruction at;
  if (ask(context)) {
    return;
  }
  if (!decode(context, &at) || !execute(&at)) {
    signal(number, SIG_DFL); // and fault again
    return;
  }
  context->uc_mcontext.gregs[REG_RIP] += at.length;
}

static void write_counts(void) {
  const char *path = getenv("HOVA_TILE_COUNTS");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) {
    return;
  }
  for (int i = 0; i < COUNTED; ++i) {
    fprintf(file, "%s %llu\n", names[i],
            (unsigned long long)atomic_load(&counts[i]));
  }
  fclose(file);
}

/// What a program installs itself gets no illegal instruction: the compiler
/// reports crashes.
int sigaction(int number, const struct sigaction *action,
              struct sigaction *before) {
  static _Atomic int is_installed;
  if (number == SIGILL && action && atomic_exchange(&is_installed, 1)) {
    action = NULL;
  }
  int (*next)(int, const struct sigaction *, struct sigaction *);
  *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
  return next(number, action, before);
}

__attribute__((constructor)) static void begin(void) {
  struct sigaction action = {0};
  action.sa_sigaction = on_illegal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, NULL);
  atexit(write_counts);
}
