//===- StagesTest.cpp - Steps of the launches of runs of few rows ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// One kernel of three stages: rows of the input doubled, into rows of the
// chunk; strips, which each add their number to all rows of that; and the sum
// of all strips of a row. A run of few rows takes one after the other.
//
//===----------------------------------------------------------------------===//

#include "runtime/hova_runtime.h"
extern "C" {
#include "runtime/cpu/Scratch.h"
}

#include <algorithm>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr uint64_t kRows = 128, kFew = 96, kStrips = 24, kArena = 128;
constexpr uint64_t kLine = 64, kRow = 128;

const uint64_t launches[] = {
    // Launches, buffers of one.
    1, 5,
    // Kernel, parts, units, buffers, scratch, block, costs, chunks, extent,
    // grain, least units, stages.
    0, 42, kRows, 5, kLine, 100, 0, 2, HOVA_TOKENS, 3, 1, 3,
    // Buffers, and places of chunks.
    HOVA_INPUT, HOVA_OUTPUT, kLine | HOVA_IN_CHUNK, kRow | HOVA_IN_CHUNK,
    HOVA_OF_STEP, kArena, 0, kArena, kLine,
    // Few rows, least work, steps.
    kFew, 500, 1,
    // Strips, least rows, part, grain, work of a row, fixed work.
    0, 0, 0, 40, 10, 400, kStrips, 2, 11, 3, 1000, 0, 0, 0, 0, 20, 10, 100,
    // Steps: first stage, end, of strips, rows, units, parts.
    0, HOVA_LAST_STAGE, 0, kRows, kRows, 42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0};

const hova_launches *largest() {
  return reinterpret_cast<const hova_launches *>(launches);
}
const hova_ranges ranges = {1, 1, 1,       kRows,    0,
                            0, 0, nullptr, "length", nullptr};

/// Steps of a run: {first stage, end, of strips, units, parts} of each.
using Steps = std::vector<std::vector<uint64_t>>;
Steps stepsOf(uint64_t rows, uint64_t threads) {
  std::vector<uint64_t> words(std::begin(launches), std::end(launches));
  auto *sized = reinterpret_cast<hova_launches *>(words.data());
  hova_sizes sizes = {};
  sizes.items = 1;
  sizes.tokens = sizes.rows = static_cast<int64_t>(rows);
  hova_size_launches(largest(), &ranges, &sizes, threads, sized);
  uint64_t count;
  const hova_step *step =
      hova_steps_of(reinterpret_cast<const hova_launch *>(sized + 1), &count);
  Steps steps;
  for (; count > 0; --count, ++step) {
    EXPECT_EQ(step->rows, rows);
    steps.push_back({step->first_stage, step->end_stage, step->of_strips,
                     step->units, step->parts});
  }
  return steps;
}

TEST(Stages, are_one_step_of_rows_where_rows_are_many) {
  EXPECT_EQ(hova_launch_bytes(largest()), sizeof launches);
  EXPECT_EQ(stepsOf(96, 8), Steps({{0, HOVA_LAST_STAGE, 0, 96, 32}}));
  EXPECT_EQ(stepsOf(128, 2), Steps({{0, HOVA_LAST_STAGE, 0, 128, 42}}));
}

TEST(Stages, are_one_step_where_nobody_divides_strips) {
  // One thread alone, and a product of too little work.
  EXPECT_EQ(stepsOf(7, 1), Steps({{0, HOVA_LAST_STAGE, 0, 7, 2}}));
  EXPECT_EQ(stepsOf(1, 8), Steps({{0, HOVA_LAST_STAGE, 0, 1, 1}}));
}

TEST(Stages, are_steps_of_their_own_where_rows_are_few) {
  // Two strips of seven rows are a part, or one of 95. Rows are divided by
  // those of a part where that pays: 400 + 10 x 95 of 500.
  EXPECT_EQ(stepsOf(7, 2),
            Steps({{0, 1, 0, 7, 1}, {1, 2, 1, 24, 12}, {2, 3, 0, 7, 1}}));
  EXPECT_EQ(stepsOf(95, 64),
            Steps({{0, 1, 0, 95, 2}, {1, 2, 1, 24, 24}, {2, 3, 0, 95, 4}}));
  EXPECT_EQ(stepsOf(2, 3),
            Steps({{0, 1, 0, 2, 1}, {1, 2, 1, 24, 4}, {2, 3, 0, 2, 1}}));
}

/// What a thread did: strips of products, and rows of products besides.
struct Done {
  uint64_t strips, rows;
};

void call(uint64_t, void *const *buffers, char *scratch, uint64_t begin,
          uint64_t end) {
  auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  auto *step = static_cast<const uint64_t *>(buffers[4]);
  // Of blocks of a hundred rows each uses those of the first.
  uint64_t first = step[2] ? 0 : begin;
  auto row = [&](int buffer, uint64_t unit) {
    uint64_t bytes = buffer == 2 ? kLine : kRow;
    uint64_t place = first + (unit - first) % 100;
    return reinterpret_cast<float *>(
        reinterpret_cast<uintptr_t>(buffers[buffer]) + place * bytes);
  };
  auto takes = [&](uint64_t stage) {
    return step[0] <= stage && stage < step[1];
  };
  auto *done = reinterpret_cast<Done *>(scratch);
  uint64_t rows = step[2] ? step[3] : end;
  for (uint64_t from = first; from < rows; from += 100) {
    for (uint64_t r = from; r < std::min(from + 100, rows); ++r) {
      if (takes(0)) {
        *row(2, r) = 2 * x[r];
      }
    }
    for (uint64_t r = from; takes(1) && r < std::min(from + 100, rows); ++r) {
      for (uint64_t s = step[2] ? begin : 0; s < (step[2] ? end : kStrips);
           ++s) {
        row(3, r)[s] = *row(2, r) + static_cast<float>(s);
        done->strips += step[2];
      }
      done->rows += !step[2];
    }
    for (uint64_t r = from; takes(2) && r < std::min(from + 100, rows); ++r) {
      y[r] = std::accumulate(row(3, r), row(3, r) + kStrips, 0.0f);
    }
  }
}

void run(void *const *inputs, void *const *outputs, char *arena,
         const char *weights, int64_t thread, int64_t threads,
         struct hova_team *team) {
  hova_run_launches(inputs, outputs, arena, weights, thread, threads, team,
                    largest(), call);
}

struct Program {
  explicit Program(int32_t threads) {
    program.abi = HOVA_ABI_VERSION;
    program.num_levels = 1;
    program.name = "stages";
    program.levels = &level;
    program.num_inputs = program.num_outputs = 1;
    program.inputs = program.outputs = &info;
    program.arena_bytes = kArena;
    program.num_kernels = 1;
    program.ranges = &ranges;
    hova_options options = {};
    options.threads = threads;
    char message[256] = "";
    options.message = message;
    options.message_bytes = sizeof message;
    EXPECT_EQ(hova_create(&program, &options, &context), HOVA_OK) << message;
  }
  ~Program() { hova_destroy(context); }

  void check(int64_t rows) {
    std::vector<float> x(rows), y(rows);
    std::iota(x.begin(), x.end(), 1.0f);
    int64_t shape[] = {1, rows};
    hova_tensor in = hova_make_tensor(nullptr, HOVA_F32, 2, shape, x.data());
    hova_tensor out = hova_make_tensor(nullptr, HOVA_F32, 2, shape, y.data());
    EXPECT_EQ(hova_run(context, &in, &out), HOVA_OK) << hova_message(context);
    for (int64_t i = 0; i < rows; ++i) {
      EXPECT_EQ(y[i], kStrips * (2 * x[i]) + kStrips * (kStrips - 1) / 2);
    }
  }

  /// What a thread has done until now: its scratch is the first that it has.
  Done done(int32_t thread, int32_t threads) const {
    std::vector<uint64_t> places(threads);
    uint64_t end;
    hova_place_scratch(largest(), threads, kArena, places.data(), &end);
    return *reinterpret_cast<const Done *>(hova_arena_of(context) +
                                           places[thread]);
  }

  const int64_t dims[2] = {1, kRows};
  hova_tensor_info info = {"x", HOVA_F32, 2, dims, 0, 0, HOVA_TOKENS};
  hova_level level = {"any", 0, run, largest(), nullptr};
  hova_program program = {};
  hova_context *context = nullptr;
};

TEST(Stages, reach_every_row_and_strip_whatever_the_number_of_threads) {
  for (int32_t threads : {1, 2, 3, 8, 64}) {
    Program program(threads);
    for (int64_t rows : {1, 7, 95, 96, 128, 2, 16, 128}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(threads) +
                   " threads");
      program.check(rows);
    }
  }
}

TEST(Stages, give_each_thread_its_strips_of_all_rows) {
  Program program(3);
  program.check(16);
  for (int32_t thread : {0, 1, 2}) {
    EXPECT_EQ(program.done(thread, 3).strips, 16 * kStrips / 3);
    EXPECT_EQ(program.done(thread, 3).rows, 0u);
  }
}

TEST(Stages, have_scratch_for_every_thread_that_has_a_strip) {
  // Fewer parts of rows than strips: the largest run has three.
  std::vector<uint64_t> words(std::begin(launches), std::end(launches));
  words[3] = 3;
  auto *few = reinterpret_cast<const hova_launches *>(words.data());
  uint64_t places[64], end;
  hova_place_scratch(few, 64, kArena, places, &end);
  EXPECT_EQ(places[kStrips] - places[kStrips - 1], kLine);
  EXPECT_EQ(end, places[kStrips]);
  // And no more parts of rows in a step than those.
  std::vector<uint64_t> copy = words;
  auto *sized = reinterpret_cast<hova_launches *>(copy.data());
  hova_sizes sizes = {};
  sizes.items = 1;
  sizes.tokens = sizes.rows = 95;
  hova_size_launches(few, &ranges, &sizes, 64, sized);
  uint64_t count;
  const hova_step *step =
      hova_steps_of(reinterpret_cast<const hova_launch *>(sized + 1), &count);
  EXPECT_EQ(step[2].parts, 3u);
}

TEST(Stages, are_whole_for_who_takes_the_place_of_calls) {
  Program program(3);
  program.check(16);
  static std::vector<uint64_t> units;
  units.clear();
  hova_set_intercept(
      program.context,
      [](void *, uint64_t, const hova_launch *, void *const *, uint64_t begin,
         uint64_t end, hova_call_fn *) {
        static std::mutex mutex;
        std::lock_guard<std::mutex> one(mutex);
        units.push_back(end - begin);
      },
      nullptr);
  int64_t shape[] = {1, 16};
  std::vector<float> values(16), sums(16);
  hova_tensor x = hova_make_tensor(nullptr, HOVA_F32, 2, shape, values.data());
  hova_tensor y = hova_make_tensor(nullptr, HOVA_F32, 2, shape, sums.data());
  EXPECT_EQ(hova_run(program.context, &x, &y), HOVA_OK);
  EXPECT_EQ(std::accumulate(units.begin(), units.end(), uint64_t(0)), 16u);
  hova_set_intercept(program.context, nullptr, nullptr);
  program.check(16);
  EXPECT_EQ(program.done(0, 3).strips, 2 * 16 * kStrips / 3);
}

} // namespace
