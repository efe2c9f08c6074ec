//===- LaunchesTest.cpp - The walk through a program's launches -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernel 0 doubles units from buffer 0 to buffer 1; kernel 1 adds buffer 1
// to buffer 0 into buffer 2. Both note their chunk in scratch. Kernel 2 takes
// units in blocks from buffer 0, doubled through rows of its chunk in buffer 2,
// to buffer 1; the rows of all blocks are those of the first.
//
//===----------------------------------------------------------------------===//

#include "ImageChecksum.h"
#include "runtime/hova_runtime.h"
extern "C" {
#include "runtime/cpu/Scratch.h"
}

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kUnits = 11, kArena = 128, kLine = 64;
constexpr uint64_t kRow = 1024, kBlock = 4;

struct Chunk {
  uint64_t calls, units;
};

void call(uint64_t kernel, void *const *buffers, char *scratch, uint64_t begin,
          uint64_t end) {
  auto buffer = [&](int i) { return static_cast<float *>(buffers[i]); };
  auto row = [&](uint64_t unit) {
    uintptr_t rows = reinterpret_cast<uintptr_t>(buffers[2]);
    uint64_t place = kernel == 3 ? unit : begin + (unit - begin) % kBlock;
    return reinterpret_cast<float *>(rows + place * kRow);
  };
  for (uint64_t i = begin; i < end; ++i) {
    if (kernel == 0) {
      buffer(1)[i] = 2 * buffer(0)[i];
    } else if (kernel == 3) {
      *row(i) = 2 * buffer(0)[i];
    } else if (kernel == 2) {
      std::fill_n(row(i), kRow / sizeof(float), 2 * buffer(0)[i]);
      buffer(1)[i] = row(i)[kRow / sizeof(float) - 1];
    } else {
      buffer(2)[i] = buffer(0)[i] + buffer(1)[i];
    }
  }
  // Lines of the second buffer must not lie in rows of the first.
  for (uint64_t i = begin; kernel == 3 && i < end; ++i) {
    std::fill_n(buffer(3) + i * kLine / sizeof(float), kLine / sizeof(float),
                -1.0f);
  }
  for (uint64_t i = begin; kernel == 3 && i < end; ++i) {
    buffer(1)[i] = *row(i);
  }
  auto chunk = reinterpret_cast<Chunk *>(scratch);
  ++chunk->calls;
  chunk->units += end - begin;
}

constexpr uint64_t numbered(uint64_t number, uint64_t kind) {
  return number << HOVA_BUFFER_KIND_BITS | kind;
}

/// input -> arena at 64, twice that + weights -> output, alone and divided.
const uint64_t launches[] = {
    // count, most buffers
    4, 3,
    // kernel, parts, units, number of buffers, bytes of scratch, block, number
    // of costs, number of chunks, extent, grain, least units, number of stages,
    // buffers
    0, 2, kUnits, 2, sizeof(Chunk), kUnits, 0, 0, 0, 0, 0, 0, HOVA_INPUT,
    64 | HOVA_IN_ARENA,
    //
    1, 1, kUnits, 3, sizeof(Chunk), kUnits, 0, 0, 0, 0, 0, 0,
    64 | HOVA_IN_ARENA, 64 | HOVA_IN_WEIGHTS, HOVA_OUTPUT,
    //
    0, 1, kUnits, 2, sizeof(Chunk), kUnits, 0, 0, 0, 0, 0, 0, HOVA_OUTPUT,
    64 | HOVA_IN_ARENA,
    //
    1, 8, kUnits, 3, sizeof(Chunk), kUnits, 0, 0, 0, 0, 0, 0,
    64 | HOVA_IN_ARENA, numbered(1, HOVA_INPUT), numbered(1, HOVA_OUTPUT)};

/// input + table -> output; the table is after the launches.
struct TableLaunches {
  alignas(64) uint64_t launches[24];
  alignas(64) float table[kUnits];
};
const TableLaunches tables = [] {
  TableLaunches data = {{1, 3, 1, 2, kUnits, 3, sizeof(Chunk), kUnits, 0, 0, 0,
                         0, 0, 0, HOVA_INPUT,
                         offsetof(TableLaunches, table) | HOVA_IN_TABLES,
                         HOVA_OUTPUT},
                        {}};
  for (uint64_t i = 0; i < kUnits; ++i) {
    data.table[i] = 50.0f * i;
  }
  return data;
}();

/// input -> output by rows of chunks.
const uint64_t chunks[] = {
    2, 3,
    //
    2, 3, kUnits, 3, sizeof(Chunk), kBlock, 0, 1, 0, 0, 0, 0, HOVA_INPUT,
    HOVA_OUTPUT, kRow | HOVA_IN_CHUNK, 64, 0,
    //
    2, 3, kUnits, 3, sizeof(Chunk), kBlock, 0, 1, 0, 0, 0, 0,
    numbered(1, HOVA_INPUT), numbered(1, HOVA_OUTPUT), kRow | HOVA_IN_CHUNK,
    kArena, 0};

/// The same by two buffers of rows, the second after all rows of the first.
const uint64_t chunksOfTwo[] = {
    1, 4,
    //
    3, 3, kUnits, 4, sizeof(Chunk), kUnits, 0, 2, 0, 0, 0, 0, HOVA_INPUT,
    HOVA_OUTPUT, kRow | HOVA_IN_CHUNK, kLine | HOVA_IN_CHUNK, 64, 0, 64, kRow};

/// Like `launches`' first, by costs 9, 1 and 1, which repeat.
constexpr uint64_t kCostly = 9;
const uint64_t costs[] = {
    1,          2,           0, kCostly, kCostly, 2, sizeof(Chunk),
    kCostly,    3,           0, 0,       0,       0, 0,
    HOVA_INPUT, HOVA_OUTPUT, 9, 10,      11};

template <const uint64_t *data>
void run(void *const *inputs, void *const *outputs, char *arena,
         const char *weights, int64_t thread, int64_t threads,
         struct hova_team *team) {
  hova_run_launches(inputs, outputs, arena, weights, thread, threads, team,
                    reinterpret_cast<const hova_launches *>(data), call);
}

template <const uint64_t *data>
const hova_level levelOf = {"any", 0, ::run<data>,
                            reinterpret_cast<const hova_launches *>(data),
                            nullptr};

/// `tables`, whose launches are no array of their own.
const hova_level tableLevel = {
    "any", 0,
    [](void *const *inputs, void *const *outputs, char *arena,
       const char *weights, int64_t thread, int64_t threads,
       struct hova_team *team) {
      hova_run_launches(
          inputs, outputs, arena, weights, thread, threads, team,
          reinterpret_cast<const hova_launches *>(tables.launches), call);
    },
    reinterpret_cast<const hova_launches *>(tables.launches), nullptr};

struct Program {
  explicit Program(int32_t threads,
                   const hova_level &chosen = levelOf<launches>)
      : level(chosen) {
    int64_t units = kUnits;
    for (hova_tensor_info &info : infos) {
      info = {"t", HOVA_F32, 1, &dims, 0, 0, HOVA_FIXED};
    }
    dims = units;
    program.abi = HOVA_ABI_VERSION;
    program.num_levels = 1;
    program.name = "launches";
    program.levels = &level;
    program.num_inputs = program.num_outputs = 2;
    program.inputs = infos;
    program.outputs = infos + 2;
    program.arena_bytes = kArena;
    program.weight_bytes = sizeof image.weights;
    program.num_kernels = 4;
    image.header = {{'H', 'O', 'V', 'A', 'I', 'M', 'G', '1'},
                    HOVA_ABI_VERSION,
                    HOVA_IMAGE_HEADER_BYTES,
                    sizeof image.weights,
                    {},
                    {}};
    for (uint64_t i = 0; i < kUnits; ++i) {
      image.weights[16 + i] = 100.0f;
    }
    image.trailer = hova::test::sealOf(&image, sizeof image.weights);
    hova_options options = {};
    options.threads = threads;
    options.image = &image;
    options.image_bytes = offsetof(Image, trailer) + sizeof image.trailer;
    char message[256] = "";
    options.message = message;
    options.message_bytes = sizeof message;
    EXPECT_EQ(hova_create(&program, &options, &context), HOVA_OK) << message;
  }
  ~Program() { hova_destroy(context); }

  /// Both outputs.
  std::vector<float> run() {
    std::vector<float> x(kUnits), y(kUnits), out(2 * kUnits);
    for (uint64_t i = 0; i < kUnits; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = 1000.0f;
    }
    auto tensor = [&](float *data) {
      return hova_make_tensor(nullptr, HOVA_F32, 1, &dims, data);
    };
    hova_tensor inputs[] = {tensor(x.data()), tensor(y.data())};
    hova_tensor outputs[] = {tensor(out.data()), tensor(out.data() + kUnits)};
    EXPECT_EQ(hova_run(context, inputs, outputs), HOVA_OK)
        << hova_message(context);
    return out;
  }

  /// Of launches that need no more than a line of each thread.
  Chunk chunk(int64_t thread) {
    return *reinterpret_cast<const Chunk *>(hova_arena_of(context) + kArena +
                                            thread * kLine);
  }

  struct Image {
    alignas(64) hova_image_header header;
    char rest[HOVA_IMAGE_HEADER_BYTES - sizeof(hova_image_header)];
    float weights[32];
    hova_image_trailer trailer;
  } image = {};
  int64_t dims = 0;
  hova_tensor_info infos[4] = {};
  hova_level level;
  hova_program program = {};
  hova_context *context = nullptr;
};

TEST(Launches, reach_every_unit_once_whatever_the_number_of_threads) {
  for (int32_t threads : {1, 2, 3, 5, 13}) {
    Program program(threads);
    std::vector<float> out = program.run();
    for (uint64_t i = 0; i < kUnits; ++i) {
      float first = 2 * static_cast<float>(i) + 100;
      EXPECT_EQ(out[i], first) << threads << " threads";
      EXPECT_EQ(out[kUnits + i], 2 * first + 1000) << threads << " threads";
    }
  }
}

TEST(Launches, divide_into_their_parts_at_most_the_longer_chunks_first) {
  Program program(3);
  program.run();
  // 6 of 11, then two launches alone, then 4 of 11.
  EXPECT_EQ(program.chunk(0).calls, 4u);
  EXPECT_EQ(program.chunk(0).units, 6u + 11 + 11 + 4);
  EXPECT_EQ(program.chunk(1).calls, 2u);
  EXPECT_EQ(program.chunk(1).units, 5u + 4);
  EXPECT_EQ(program.chunk(2).calls, 1u);
  EXPECT_EQ(program.chunk(2).units, 3u);
}

TEST(Launches, give_each_chunk_rows_of_its_own) {
  for (int32_t threads : {1, 2, 3, 13}) {
    Program program(threads, levelOf<chunks>);
    std::vector<float> out = program.run();
    for (uint64_t i = 0; i < kUnits; ++i) {
      EXPECT_EQ(out[i], 2 * static_cast<float>(i)) << threads << " threads";
      EXPECT_EQ(out[kUnits + i], 2000.0f) << threads << " threads";
    }
  }
}

TEST(Launches, lay_rows_of_one_buffer_after_those_of_another) {
  for (int32_t threads : {1, 2, 3, 13}) {
    Program program(threads, levelOf<chunksOfTwo>);
    std::vector<float> out = program.run();
    for (uint64_t i = 0; i < kUnits; ++i) {
      EXPECT_EQ(out[i], 2 * static_cast<float>(i)) << threads << " threads";
    }
  }
}

/// What a level with these launches takes besides an arena of kArena bytes.
uint64_t scratchOf(const uint64_t *data, int32_t threads) {
  hova_program program = {};
  program.arena_bytes = kArena;
  hova_level level = {"any", 0, nullptr,
                      reinterpret_cast<const hova_launches *>(data), nullptr};
  return hova_scratch_bytes(&program, &level, threads);
}

TEST(Launches, take_memory_for_the_chunks_that_there_are) {
  // Scratch and four rows of each chunk.
  constexpr uint64_t ofChunk = kLine + kBlock * kRow;
  EXPECT_EQ(scratchOf(chunks, 1), ofChunk);
  EXPECT_EQ(scratchOf(chunks, 2), 2 * ofChunk);
  // The chunks are of 4, 4 and 3 units.
  EXPECT_EQ(scratchOf(chunks, 3), 3 * ofChunk - kRow);
  // Who has no part needs nothing.
  EXPECT_EQ(scratchOf(chunks, 64), 3 * ofChunk - kRow);
  EXPECT_EQ(scratchOf(launches, 1), kLine);
  EXPECT_EQ(scratchOf(launches, 64), 8 * kLine);
  Program program(3, levelOf<chunks>);
  EXPECT_EQ(hova_memory_of(program.context), kArena + 3 * ofChunk - kRow);
}

TEST(Launches, take_none_where_the_run_tells_of_none) {
  hova_program program = {};
  hova_level level = {"any", 0, nullptr, nullptr, nullptr};
  EXPECT_EQ(hova_scratch_bytes(&program, &level, 64), 0u);
}

TEST(Launches, find_tables_after_them) {
  for (int32_t threads : {1, 2, 5}) {
    Program program(threads, tableLevel);
    std::vector<float> out = program.run();
    for (uint64_t i = 0; i < kUnits; ++i) {
      EXPECT_EQ(out[i], 51.0f * i);
    }
  }
}

TEST(Launches, are_as_many_as_the_items_and_tokens_of_a_run) {
  // Three units an item, one a token, and always as many.
  const uint64_t data[] = {3, 1,
                           //
                           7, 4, 12, 1, 0, 12, 0, 0, HOVA_ITEMS, 1, 1, 0, 5,
                           //
                           8, 4, 40, 1, 0, 8, 0, 0, HOVA_TOKENS, 8, 20, 0, 6,
                           //
                           9, 2, 3, 1, 0, 3, 0, 0, HOVA_FIXED, 0, 0, 0, 7};
  auto *largest = reinterpret_cast<const hova_launches *>(data);
  EXPECT_EQ(hova_launch_bytes(largest), sizeof data);
  const hova_ranges ranges = {1, 4, 1, 10, 0, 0, 0, nullptr, nullptr, nullptr};
  struct Expected {
    uint64_t items, tokens;
    std::vector<uint64_t> units, parts;
  };
  for (const Expected &run :
       std::vector<Expected>{{4, 40, {12, 40, 3}, {12, 5, 2}},
                             {2, 20, {6, 20, 3}, {6, 2, 2}},
                             {2, 19, {6, 19, 3}, {6, 1, 2}},
                             {1, 1, {3, 1, 3}, {3, 1, 2}}}) {
    std::vector<uint64_t> words(std::begin(data), std::end(data));
    auto *sized = reinterpret_cast<hova_launches *>(words.data());
    hova_sizes sizes = {};
    sizes.items = static_cast<int64_t>(run.items);
    sizes.rows = static_cast<int64_t>(run.tokens);
    hova_size_launches(largest, &ranges, &sizes, 1, sized);
    const hova_launch *launch =
        reinterpret_cast<const hova_launch *>(sized + 1);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(launch->kernel, 7 + i);
      EXPECT_EQ(launch->units, run.units[i]) << i;
      EXPECT_EQ(launch->parts, run.parts[i]) << i;
      launch = hova_next_launch(launch);
    }
  }
}

TEST(Launches, count_the_tokens_of_a_second_sequence) {
  // Two units for each of 4 x 5 other tokens, and one for each of 4 x 10.
  const uint64_t data[] = {2, 1,
                           //
                           7, 5, 40, 1, 0, 8, 0, 0, HOVA_OTHER_TOKENS, 8, 1, 0,
                           3,
                           //
                           8, 5, 40, 1, 0, 8, 0, 0, HOVA_TOKENS, 8, 1, 0, 5};
  auto *largest = reinterpret_cast<const hova_launches *>(data);
  const hova_ranges ranges = {1, 4, 1, 10, 1, 5, 0, nullptr, nullptr, nullptr};
  hova_sizes sizes = {};
  sizes.items = 3;
  sizes.rows = 25;
  sizes.other_rows = 7;
  std::vector<uint64_t> words(std::begin(data), std::end(data));
  auto *sized = reinterpret_cast<hova_launches *>(words.data());
  hova_size_launches(largest, &ranges, &sizes, 1, sized);
  auto *launch = reinterpret_cast<const hova_launch *>(sized + 1);
  EXPECT_EQ(launch->units, 14u);
  EXPECT_EQ(launch->parts, 1u);
  launch = hova_next_launch(launch);
  EXPECT_EQ(launch->units, 25u);
  EXPECT_EQ(launch->parts, 3u);
}

TEST(Launches, take_no_rows_beyond_those_of_chunks) {
  // A row for each unit of a chunk, after the arena, and 4 bytes of scratch.
  const uint64_t data[] = {
      1,      1, 0, 7, 7, 1, 4, 100, 0, 1, 0, 0, 0, 0, kRow | HOVA_IN_CHUNK,
      kArena, 0};
  EXPECT_EQ(scratchOf(data, 1), 7 * kRow + kLine);
  EXPECT_EQ(scratchOf(data, 2), 7 * kRow + 2 * kLine);
  EXPECT_EQ(scratchOf(data, 64), 7 * kRow + 7 * kLine);
}

TEST(Launches, take_rows_for_every_unit_where_costs_divide_them) {
  // One chunk may have all nine units, whatever the other has.
  const uint64_t data[] = {
      1, 1,  0,  2,      9, 1, 4, 100, 3, 1, 0, 0, 0, 0, kRow | HOVA_IN_CHUNK,
      9, 10, 11, kArena, 0};
  EXPECT_EQ(scratchOf(data, 1), 9 * kRow + kLine);
  EXPECT_EQ(scratchOf(data, 2), 2 * (9 * kRow + kLine));
}

TEST(Launches, take_the_place_of_values_that_are_not_alive) {
  // Two rows of a line, of which the second is after the arena.
  const uint64_t data[] = {
      1,          1, 0, 2, 2, 1, 4, 2, 0, 1, 0, 0, 0, 0, 64 | HOVA_IN_CHUNK,
      kArena / 2, 0};
  EXPECT_EQ(scratchOf(data, 1), kLine + kLine);
  const uint64_t inside[] = {
      1,          1, 0, 1, 1, 1, 4, 1, 0, 1, 0, 0, 0, 0, 64 | HOVA_IN_CHUNK,
      kArena / 2, 0};
  EXPECT_EQ(scratchOf(inside, 1), kLine);
}

TEST(Launches, take_rows_one_after_the_other_or_in_gaps) {
  // Of four rows, three lines and a line stand after the arena; between them
  // in the list is a buffer within it.
  const uint64_t data[] = {1, 3,
                           //
                           0, 1, 4, 3, 4, 4, 0, 3, 0, 0, 0, 0,
                           //
                           192 | HOVA_IN_CHUNK, 64 | HOVA_IN_CHUNK,
                           64 | HOVA_IN_CHUNK,
                           //
                           kArena, 0, 0, 0, kArena, 192};
  EXPECT_EQ(scratchOf(data, 1), 4 * (192 + 64) + kLine);
}

TEST(Launches, say_when_the_rows_of_chunks_are_beyond_memory) {
  const uint64_t row = UINT64_C(1) << 62;
  const uint64_t data[] = {
      1, 1, 0, 1, 64, 1, 64, 64, 0, 1, 0, 0, 0, 0, row | HOVA_IN_CHUNK, 0, 0};
  EXPECT_EQ(scratchOf(data, 1), UINT64_MAX - kArena);
  hova_level level = {"any", 0, run<launches>,
                      reinterpret_cast<const hova_launches *>(data), nullptr};
  hova_program program = {};
  program.abi = HOVA_ABI_VERSION;
  program.num_levels = 1;
  program.name = "large";
  program.levels = &level;
  hova_context *context = nullptr;
  EXPECT_EQ(hova_create(&program, nullptr, &context), HOVA_OUT_OF_MEMORY);
}

/// Whether a context for three threads can be created. A refusal names the
/// second launch.
bool divides(const std::vector<uint64_t> &launch) {
  std::vector<uint64_t> data = {2, 2, 0, 1, 1, 0, 4, 1, 0, 0, 0, 0, 0, 0};
  data.insert(data.end(), launch.begin(), launch.end());
  hova_level level = {"any", 0, run<launches>,
                      reinterpret_cast<const hova_launches *>(data.data()),
                      nullptr};
  hova_program program = {};
  program.abi = HOVA_ABI_VERSION;
  program.num_levels = 1;
  program.name = "rows";
  program.levels = &level;
  program.arena_bytes = kArena;
  char message[256] = "";
  hova_options options = {};
  options.threads = 3;
  options.message = message;
  options.message_bytes = sizeof message;
  hova_context *context = nullptr;
  hova_status status = hova_create(&program, &options, &context);
  hova_destroy(context);
  if (status == HOVA_REJECTED) {
    EXPECT_STREQ(message, "program 'rows' is malformed: kernel 1 cannot be "
                          "divided among 3 threads");
  }
  return status == HOVA_OK;
}

/// A launch with two buffers of rows, and places for so many.
std::vector<uint64_t> launchOfTwo(uint64_t places, uint64_t offset,
                                  uint64_t before) {
  return {3,
          3,
          kUnits,
          2,
          4,
          kUnits,
          0,
          places,
          0,
          0,
          0,
          0,
          kRow | HOVA_IN_CHUNK,
          kLine | HOVA_IN_CHUNK,
          64,
          0,
          offset,
          before,
          kArena << 20,
          0};
}

TEST(Launches, are_refused_where_rows_of_two_buffers_meet) {
  EXPECT_TRUE(divides(launchOfTwo(2, 64, kRow)));
  EXPECT_TRUE(divides(launchOfTwo(2, 64 + kUnits * kRow, 0)));
  EXPECT_FALSE(divides(launchOfTwo(2, 64 + kUnits * kRow - kLine, 0)));
  EXPECT_FALSE(divides(launchOfTwo(2, 64, 0)));
}

TEST(Launches, are_refused_where_buffers_and_places_differ_in_number) {
  EXPECT_FALSE(divides(launchOfTwo(1, 64, kRow)));
  EXPECT_FALSE(divides(launchOfTwo(3, 64, kRow)));
}

TEST(Launches, are_refused_where_row_0_would_have_no_address) {
  auto launch = [](uint64_t units) {
    return std::vector<uint64_t>{
        3, 3, units, 1, 4, 1, 0, 1, 0, 0, 0, 0, kRow | HOVA_IN_CHUNK, 64, 0};
  };
  EXPECT_TRUE(divides(launch(UINT64_C(1) << 20)));
  EXPECT_FALSE(divides(launch(UINT64_C(1) << 53)));
  EXPECT_FALSE(divides(launch(UINT64_C(1) << 60)));
}

TEST(Launches, are_refused_where_costs_leave_units_out) {
  auto launch = [](uint64_t second, uint64_t last) {
    return std::vector<uint64_t>{0, 3, 4, 0, 4,  4,      4,  0,
                                 0, 0, 0, 0, 36, second, 55, last};
  };
  EXPECT_TRUE(divides(launch(54, 60)));
  // What more units cost is not less.
  EXPECT_FALSE(divides(launch(54, 48)));
}

/// The units of each chunk.
std::vector<uint64_t> divideCosts(int32_t threads) {
  std::vector<uint64_t> units;
  Program program(threads, levelOf<costs>);
  program.run();
  for (int32_t thread = 0; thread < threads; ++thread) {
    units.push_back(program.chunk(thread).units);
  }
  return units;
}

TEST(Launches, divide_the_cost_where_units_differ) {
  using Units = std::vector<uint64_t>;
  // 9 1 1 9 1 1 9 1 1 cost 33: the half is nearest after the fourth...
  EXPECT_EQ(divideCosts(1), Units({9}));
  EXPECT_EQ(divideCosts(2), Units({4, 5}));
  // ...and thirds are those that repeat.
  EXPECT_EQ(divideCosts(3), Units({3, 3, 3}));
}

TEST(Launches, reach_every_unit_once_where_costs_leave_chunks_empty) {
  for (int32_t threads : {1, 2, 3, 5, 7, 9, 13}) {
    Program program(threads, levelOf<costs>);
    std::vector<float> out = program.run();
    for (uint64_t i = 0; i < kCostly; ++i) {
      EXPECT_EQ(out[i], 2 * static_cast<float>(i)) << threads << " threads";
    }
    uint64_t units = 0;
    for (int32_t thread = 0; thread < std::min(threads, 9); ++thread) {
      units += program.chunk(thread).units;
      EXPECT_LE(program.chunk(thread).calls, 1u);
    }
    EXPECT_EQ(units, kCostly);
  }
}

TEST(Launches, tell_hooks_and_times_the_end_of_each) {
  Program program(3);
  std::vector<int64_t> kernels;
  hova_set_hook(
      program.context,
      [](void *user, int64_t kernel) {
        static_cast<std::vector<int64_t> *>(user)->push_back(kernel);
      },
      &kernels);
  uint64_t times[5] = {};
  hova_set_times(program.context, times);
  program.run();
  EXPECT_EQ(kernels, (std::vector<int64_t>{0, 1, 2, 3}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(times[i], times[i + 1]);
  }
}

} // namespace
