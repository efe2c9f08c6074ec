//===- DeviceFixture.c - A small program for a GPU ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// As the code generator would emit it, with kernels written by hand: for
// runtime/emulation where EMULATED is defined (one call for each access, as
// codegen/cuda/lower makes them), else as PTX that nothing here can execute and
// that StandInDriver.c knows by the names of its kernels.
//
//===----------------------------------------------------------------------===//

#include "DeviceFixture.h"

#ifdef EMULATED
#include "runtime/emulation/Calls.h"
#define PTX 0
#else
#define PTX                                                                    \
  "//\n.version 7.0\n.target sm_80\n.address_size 64\n"                        \
  ".visible .entry spread()\n.visible .entry add()\n.visible .entry "          \
  "gather()\n"
#define WAITING_PTX                                                            \
  "//\n.version 8.0\n.target sm_90\n.address_size 64\n"                        \
  ".visible .entry spread()\n{\ngriddepcontrol.wait;\n}\n"                     \
  ".visible .entry add()\n{\ngriddepcontrol.wait;\n}\n"                        \
  ".visible .entry gather()\n{\ngriddepcontrol.wait;\n}\n"
#endif

enum { ROW_BYTES = DEVICE_COLUMNS * 4, PADDED_BYTES = DEVICE_STRIDE * 4 };

static const int64_t matrix[] = {DEVICE_ROWS, DEVICE_COLUMNS};
static const int64_t rows[] = {DEVICE_ROWS};
static const int64_t columns[] = {DEVICE_COLUMNS};
static const hova_tensor_info inputs[] = {
    {"x", HOVA_F32, 2, matrix, 0, 0, HOVA_FIXED},
    {"ids", HOVA_I64, 1, rows, 0, DEVICE_VOCABULARY, HOVA_FIXED}};
static const hova_tensor_info outputs[] = {
    {"y", HOVA_F32, 2, matrix, 0, 0, HOVA_FIXED},
    {"first", HOVA_F32, 1, columns, 0, 0, HOVA_FIXED}};
static const hova_kernel_info kernel_infos[] = {
    {"layer.scale", "spread", 30, 240},
    {"layer.add", "add", 30, 240},
    {"layer.gather", "gather", 0, 240}};
static const hova_value_info values[] = {
    {"layer.scale", 0, HOVA_F32, 2, matrix, DEVICE_STRIDE, 64, 1},
    {"layer.add", 1, HOVA_F32, 2, matrix, DEVICE_STRIDE, 64, 2}};
static const hova_part_info parts[] = {{"layer.scale", 0, 0, 30, 30},
                                       {"layer.add", 1, 0, 30, 30},
                                       {"layer.gather", 2, 0, 0, 30}};
static const hova_weight_info weights[] = {{"layer.w", 0, 64}};
/// After a first line, so that a table begins after the start of all.
static const _Alignas(64) int32_t tables[32] = {[16] = 3, 0, 5, 1, 4, 2};

#define PLACE(KIND, AT) ((uint64_t)(AT) | (KIND))
#define TENSOR(KIND, INDEX) PLACE(KIND, (INDEX) << HOVA_BUFFER_KIND_BITS)
#define ARENA(ROWS, USE) {PLACE(HOVA_IN_ARENA, 64), ROWS, 20, 32, USE, 0, 0, 0}
#define X                                                                      \
  {TENSOR(HOVA_INPUT, 0), DEVICE_ROWS, 20, 20, HOVA_DEVICE_INPUT, 0, 0, 0}
#define W {PLACE(HOVA_IN_WEIGHTS, 0), 1, 4, 4, HOVA_DEVICE_INPUT, 0, 0, 0}
#define IDS                                                                    \
  {TENSOR(HOVA_INPUT, 1), DEVICE_ROWS, 8, 8, HOVA_DEVICE_INPUT, 0, 0, 0}
#define TABLE                                                                  \
  {PLACE(HOVA_IN_TABLES, 64), DEVICE_ROWS, 4, 4, HOVA_DEVICE_INPUT, 0, 0, 0}
#define Y                                                                      \
  {TENSOR(HOVA_OUTPUT, 0), DEVICE_ROWS, 20, 20, HOVA_DEVICE_OUTPUT, 0, 0, 0}
#define FIRST {TENSOR(HOVA_OUTPUT, 1), 1, 20, 20, HOVA_DEVICE_OUTPUT, 0, 0, 0}

static const hova_device_buffer spread_buffers[] = {
    X, W, ARENA(DEVICE_ROWS, HOVA_DEVICE_OUTPUT)};
static const hova_device_buffer add_buffers[] = {
    IDS, ARENA(DEVICE_ROWS, HOVA_DEVICE_STATE)};
static const hova_device_buffer gather_buffers[] = {
    ARENA(DEVICE_ROWS, HOVA_DEVICE_INPUT), TABLE, Y, FIRST};

#ifdef EMULATED

//===----------------------------------------------------------------------===//
// Kernels, a thread each
//===----------------------------------------------------------------------===//

static const char place_text[] = "llvm.load\0\"fixture\":1:1\0"
                                 "llvm.store\0\"fixture\":2:1\0"
                                 "nvvm.barrier0\0\"fixture\":3:1";
static const uint32_t place_offsets[] = {0, 10, 24, 35, 49, 63};
enum { LOAD, STORE, BARRIER };
enum { TID = 0, CTAID = 6 };

static uint64_t address_of(const void *const *arguments, int index) {
  return *(const uint64_t *)arguments[index];
}

static float load(hova_self *self, uint64_t address) {
  return *(const float *)hova_emulated_load_global(self, LOAD, address, 4, 4);
}

static void store(hova_self *self, uint64_t address, float value) {
  *(float *)hova_emulated_store_global(self, STORE, address, 4, 4) = value;
}

/// A thread has a row, a block half of them. `columns` of a row are written.
static void spread_columns(hova_self *self, const void *const *arguments,
                           uint64_t written) {
  uint64_t x = address_of(arguments, 0), w = address_of(arguments, 1);
  uint64_t copy = address_of(arguments, 2);
  uint64_t thread = hova_emulated_register(self, TID);
  uint64_t row = hova_emulated_register(self, CTAID) * 3 + thread;
  for (uint64_t c = 0; thread < 3 && c < written; ++c) {
    store(self, copy + row * PADDED_BYTES + 4 * c,
          load(self, x + row * ROW_BYTES + 4 * (c % DEVICE_COLUMNS)) *
              load(self, w));
  }
}

static void spread(hova_self *self, const void *const *arguments) {
  spread_columns(self, arguments, DEVICE_COLUMNS);
}

static void spread_too_far(hova_self *self, const void *const *arguments) {
  spread_columns(self, arguments, DEVICE_COLUMNS + 1);
}

/// A block has a row, a thread a column.
static void add(hova_self *self, const void *const *arguments) {
  uint64_t ids = address_of(arguments, 0), copy = address_of(arguments, 1);
  uint64_t column = hova_emulated_register(self, TID);
  uint64_t row = hova_emulated_register(self, CTAID);
  if (column >= DEVICE_COLUMNS) {
    return;
  }
  int64_t id = *(const int64_t *)hova_emulated_load_global(self, LOAD,
                                                           ids + 8 * row, 8, 8);
  uint64_t at = copy + row * PADDED_BYTES + 4 * column;
  store(self, at, load(self, at) + (float)id);
}

/// A block has a row, which y and z of the grid say, and which goes through
/// shared memory.
static void gather(hova_self *self, const void *const *arguments) {
  uint64_t copy = address_of(arguments, 0), table = address_of(arguments, 1);
  uint64_t y = address_of(arguments, 2), first = address_of(arguments, 3);
  uint64_t thread = hova_emulated_register(self, TID);
  uint64_t row = hova_emulated_register(self, CTAID + 1) +
                 3 * hova_emulated_register(self, CTAID + 2);
  uint64_t column = thread;
  bool works = column < DEVICE_COLUMNS && row < DEVICE_ROWS;
  if (works) {
    int32_t from = *(const int32_t *)hova_emulated_load_global(
        self, LOAD, table + 4 * row, 4, 4);
    *(float *)hova_emulated_store_shared(self, STORE, 4 * column, 4, 4) =
        load(self, copy + (uint64_t)from * PADDED_BYTES + 4 * column);
  }
  hova_emulated_barrier(self, BARRIER);
  if (works) {
    // From the other end, so that threads read what others wrote.
    uint64_t other = DEVICE_COLUMNS - 1 - column;
    store(
        self, y + row * ROW_BYTES + 4 * other,
        *(const float *)hova_emulated_load_shared(self, LOAD, 4 * other, 4, 4));
  }
  if (works && row == 0) {
    store(self, first + 4 * column, load(self, copy + 4 * column));
  }
}

static const uint32_t pointers[4] = {0, 0, 0, 0};

#define KERNEL(NAME, ENTRY, PARAMETERS)                                        \
  static const hova_emulated_kernel emulated_##ENTRY = {                       \
      NAME, ENTRY, place_text, place_offsets, pointers, PARAMETERS, 0, 0,      \
      4,    4,     1};
KERNEL("spread", spread, 3)
KERNEL("spread", spread_too_far, 3)
KERNEL("add", add, 2)
KERNEL("gather", gather, 4)
#define CODE_OF(ENTRY) &emulated_##ENTRY
#else
#define CODE_OF(ENTRY) 0
#endif

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static const hova_device_kernel kernels[] = {
    {"spread", 32, 0, 3, CODE_OF(spread), 0, 0, 0, 0, 0},
    {"add", 32, 0, 2, CODE_OF(add), 0, 0, 0, 0, 0},
    {"gather", 64, 50 << 10, 4, CODE_OF(gather), 0, 0, 0, 0, 0}};

static const hova_device_launch launches[] = {
    {0, {2, 1, 1}, spread_buffers, 0, 0, 0, 0, 0, 0},
    {1, {DEVICE_ROWS, 1, 1}, add_buffers, 0, 0, 0, 0, 0, 0},
    {2, {1, 3, 2}, gather_buffers, 0, 0, 0, 0, 0, 0}};

#define CODE(KERNELS, LAUNCHES, COUNT)                                         \
  {80,  UINT32_MAX, 163 << 10, 3,      COUNT,         KERNELS, LAUNCHES,       \
   PTX, 0,          0,         tables, sizeof tables, 0}
#define LEVEL(CODE) {"sm_80", 0, 0, 0, &CODE}

#define PROGRAM(NAME, LEVEL, INPUTS, OUTPUTS, WEIGHT_BYTES, NUM_KERNELS,       \
                KERNELS, ALTERNATIVE)                                          \
  {HOVA_ABI_VERSION,                                                           \
   1,                                                                          \
   NAME,                                                                       \
   &LEVEL,                                                                     \
   INPUTS,                                                                     \
   OUTPUTS,                                                                    \
   inputs,                                                                     \
   outputs,                                                                    \
   64 + DEVICE_ROWS * PADDED_BYTES,                                            \
   WEIGHT_BYTES,                                                               \
   "0123abcd",                                                                 \
   "device.json --target=cuda",                                                \
   60,                                                                         \
   60,                                                                         \
   NUM_KERNELS,                                                                \
   2,                                                                          \
   KERNELS,                                                                    \
   values,                                                                     \
   "hova test",                                                                \
   "f32",                                                                      \
   NUM_KERNELS,                                                                \
   WEIGHT_BYTES ? 1 : 0,                                                       \
   parts,                                                                      \
   weights,                                                                    \
   ALTERNATIVE,                                                                \
   NULL,                                                                       \
   NULL}

static const hova_device_code code = CODE(kernels, launches, 3);
static const hova_level level = LEVEL(code);
const hova_program hova_program_device =
    PROGRAM("device", level, 2, 2, DEVICE_WEIGHT_BYTES, 3, kernel_infos, 0);

#ifndef EMULATED
static const hova_device_kernel overlapping_kernels[] = {
    {"spread", 32, 0, 3, 0, 0, 0, 0, 1, 0},
    {"add", 32, 0, 2, 0, 0, 0, 0, 1, 0},
    {"gather", 64, 50 << 10, 4, 0, 0, 0, 0, 1, 0}};
static const hova_device_code overlapping_code = {
    90,       UINT32_MAX,  163 << 10, 3, 3,      overlapping_kernels,
    launches, WAITING_PTX, 0,         0, tables, sizeof tables,
    0};
static const hova_level overlapping_level = {"sm_90", 0, 0, 0,
                                             &overlapping_code};
const hova_program hova_program_overlapping = PROGRAM(
    "device", overlapping_level, 2, 2, DEVICE_WEIGHT_BYTES, 3, kernel_infos, 0);
#endif

#ifdef WITH_PROCESSOR
/// The same on a processor, whose one kernel does all.
static void run_all(void *const *in, void *const *out, char *arena,
                    const char *image, int64_t thread, int64_t threads,
                    struct hova_team *team) {
  static const int order[] = {3, 0, 5, 1, 4, 2};
  const float *x = in[0], *w = (const float *)(const void *)image;
  const int64_t *ids = in[1];
  float *y = out[0], *first = out[1];
  (void)arena;
  (void)threads;
  for (int i = 0; thread == 0 && i < DEVICE_ROWS * DEVICE_COLUMNS; ++i) {
    int column = i % DEVICE_COLUMNS, row = order[i / DEVICE_COLUMNS];
    y[i] = x[row * DEVICE_COLUMNS + column] * w[0] + (float)ids[row];
    first[column] = x[column] * w[0] + (float)ids[0];
  }
  hova_barrier(team, thread, 0);
}
static const hova_kernel_info all_infos[] = {{"layer.all", "all", 60, 480}};
static const hova_level processor_level = {"x86-64", 0, run_all, 0, 0};
static const hova_program on_processor = PROGRAM(
    "device", processor_level, 2, 2, DEVICE_WEIGHT_BYTES, 1, all_infos, 0);
const hova_program hova_program_both = PROGRAM(
    "device", level, 2, 2, DEVICE_WEIGHT_BYTES, 3, kernel_infos, &on_processor);
#endif

#ifdef EMULATED
static const hova_device_kernel far_kernels[] = {
    {"spread", 32, 0, 3, CODE_OF(spread_too_far), 0, 0, 0, 0, 0},
    {"add", 32, 0, 2, CODE_OF(add), 0, 0, 0, 0, 0},
    {"gather", 64, 50 << 10, 4, CODE_OF(gather), 0, 0, 0, 0, 0}};
static const hova_device_code gap_code = CODE(far_kernels, launches, 3);
static const hova_level gap_level = LEVEL(gap_code);
const hova_program hova_program_gap =
    PROGRAM("gap", gap_level, 2, 2, DEVICE_WEIGHT_BYTES, 3, kernel_infos, 0);

/// Of which none waits.
static const hova_device_kernel hasty_kernels[] = {
    {"spread", 32, 0, 3, CODE_OF(spread), 0, 0, 0, 0, 0},
    {"add", 32, 0, 2, CODE_OF(add), 0, 0, 0, 1, 0},
    {"gather", 64, 50 << 10, 4, CODE_OF(gather), 0, 0, 0, 0, 0}};
static const hova_device_code hasty_code = CODE(hasty_kernels, launches, 3);
static const hova_level hasty_level = LEVEL(hasty_code);
const hova_program hova_program_hasty = PROGRAM(
    "hasty", hasty_level, 2, 2, DEVICE_WEIGHT_BYTES, 3, kernel_infos, 0);

static const hova_device_launch short_launches[] = {
    {0, {1, 1, 1}, spread_buffers, 0, 0, 0, 0, 0, 0},
    {1, {DEVICE_ROWS, 1, 1}, add_buffers, 0, 0, 0, 0, 0, 0},
    {2, {1, 3, 2}, gather_buffers, 0, 0, 0, 0, 0, 0}};
static const hova_device_code short_code = CODE(kernels, short_launches, 3);
static const hova_level short_level = LEVEL(short_code);
const hova_program hova_program_short = PROGRAM(
    "short", short_level, 2, 2, DEVICE_WEIGHT_BYTES, 3, kernel_infos, 0);

static const hova_device_code late_code = CODE(kernels, launches + 1, 2);
static const hova_level late_level = LEVEL(late_code);
const hova_program hova_program_empty_arena = PROGRAM(
    "empty", late_level, 2, 2, DEVICE_WEIGHT_BYTES, 2, kernel_infos + 1, 0);

static const hova_device_code silent_code = CODE(kernels, launches, 2);
static const hova_level silent_level = LEVEL(silent_code);
const hova_program hova_program_silent = PROGRAM(
    "silent", silent_level, 2, 2, DEVICE_WEIGHT_BYTES, 2, kernel_infos, 0);
#endif
