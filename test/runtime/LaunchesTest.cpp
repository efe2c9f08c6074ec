//===- LaunchesTest.cpp - The walk through a program's launches -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernel 0 doubles units from buffer 0 to buffer 1; kernel 1 adds buffer 1
// to buffer 0 into buffer 2. Both note their share in scratch.
//
//===----------------------------------------------------------------------===//

#include "runtime/hova_runtime.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

constexpr uint64_t kUnits = 11, kArena = 128, kScratch = 64;

struct Share {
  uint64_t calls, units;
};

void call(uint64_t kernel, void *const *buffers, char *scratch, uint64_t begin,
          uint64_t end) {
  auto buffer = [&](int i) { return static_cast<float *>(buffers[i]); };
  for (uint64_t i = begin; i < end; ++i) {
    if (kernel == 0) {
      buffer(1)[i] = 2 * buffer(0)[i];
    } else {
      buffer(2)[i] = buffer(0)[i] + buffer(1)[i];
    }
  }
  auto share = reinterpret_cast<Share *>(scratch);
  ++share->calls;
  share->units += end - begin;
}

/// input -> arena at 64, twice that + weights -> output, alone and divided.
const uint64_t launches[] = {
    // count, most buffers, scratch start, scratch bytes
    4, 3, kArena, kScratch,
    // kernel, parts, units, number of buffers, buffers
    0, 2, kUnits, 2, 0 << 2 | HOVA_INPUT, 64 | HOVA_IN_ARENA, 1, 1, kUnits, 3,
    64 | HOVA_IN_ARENA, 64 | HOVA_IN_WEIGHTS, 0 << 2 | HOVA_OUTPUT, 0, 1,
    kUnits, 2, 0 << 2 | HOVA_OUTPUT, 64 | HOVA_IN_ARENA, 1, 8, kUnits, 3,
    64 | HOVA_IN_ARENA, 1 << 2 | HOVA_INPUT, 1 << 2 | HOVA_OUTPUT};

void run(void *const *inputs, void *const *outputs, char *arena,
         const char *weights, int64_t thread, int64_t threads,
         struct hova_team *team) {
  hova_run_launches(inputs, outputs, arena, weights, thread, threads, team,
                    reinterpret_cast<const hova_launches *>(launches), call);
}

struct Program {
  explicit Program(int32_t threads) {
    int64_t units = kUnits;
    for (hova_tensor_info &info : infos) {
      info = {"t", HOVA_F32, 1, &dims, 0, 0};
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
    program.scratch_bytes = kScratch;
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
    hova_options options = {};
    options.threads = threads;
    options.image = &image;
    options.image_bytes = sizeof image;
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

  Share share(int64_t thread) {
    return *reinterpret_cast<const Share *>(hova_arena_of(context) + kArena +
                                            thread * kScratch);
  }

  struct {
    alignas(64) hova_image_header header;
    char rest[HOVA_IMAGE_HEADER_BYTES - sizeof(hova_image_header)];
    float weights[32];
  } image = {};
  int64_t dims = 0;
  hova_tensor_info infos[4] = {};
  hova_level level = {"any", 0, ::run};
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

TEST(Launches, divide_into_their_parts_at_most_the_longer_shares_first) {
  Program program(3);
  program.run();
  // 6 of 11, then two launches alone, then 4 of 11.
  EXPECT_EQ(program.share(0).calls, 4u);
  EXPECT_EQ(program.share(0).units, 6u + 11 + 11 + 4);
  EXPECT_EQ(program.share(1).calls, 2u);
  EXPECT_EQ(program.share(1).units, 5u + 4);
  EXPECT_EQ(program.share(2).calls, 1u);
  EXPECT_EQ(program.share(2).units, 3u);
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
