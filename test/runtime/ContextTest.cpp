//===- ContextTest.cpp - Runs and wrong calls -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FixtureCall.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#include <xmmintrin.h>

using namespace hova::test;

namespace {

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, give_the_same_numbers_run_after_run) {
  Context fixture(GetParam());
  EXPECT_EQ(hova_threads_of(fixture.context), GetParam());
  for (int run = 0; run < 200; ++run) {
    Call call;
    call.x[run % FIXTURE_SIZE] = static_cast<float>(run) * 0.5f;
    ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
    ASSERT_TRUE(call.isRight()) << run;
  }
}

// More threads than processors, and more than there is work.
INSTANTIATE_TEST_SUITE_P(Context, Threads, testing::Values(1, 2, 3, 8, 40));

TEST(Context, contexts_run_beside_each_other) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      Context fixture(2);
      for (int run = 0; run < 100; ++run) {
        Call call;
        wrong +=
            hova_run(fixture.context, call.inputs, call.outputs) != HOVA_OK ||
            !call.isRight();
      }
    });
  }
  for (std::thread &caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Context, picks_the_first_level_that_the_machine_has) {
  Context fixture;
  EXPECT_STREQ(hova_level_of(fixture.context)->name, "x86-64");
}

TEST(Context, says_which_level_is_missing) {
  char message[512] = "";
  hova_options options = {};
  options.message = message;
  options.message_bytes = sizeof message;
  hova_context *context = nullptr;
  EXPECT_EQ(hova_create(&hova_program_future, &options, &context),
            HOVA_REJECTED);
  EXPECT_EQ(context, nullptr);
  EXPECT_NE(std::string(message).find("needs a processor of level future"),
            std::string::npos)
      << message;
}

TEST(Context, gives_the_hook_each_value_while_it_exists) {
  Context fixture(3);
  struct Seen {
    hova_context *context;
    std::vector<int64_t> kernels;
    std::vector<float> copy;
  } seen = {fixture.context, {}, {}};
  hova_set_hook(
      fixture.context,
      [](void *user, int64_t kernel) {
        auto &seen = *static_cast<Seen *>(user);
        seen.kernels.push_back(kernel);
        const hova_value_info &value = hova_program_of(seen.context)->values[0];
        if (value.kernel == kernel) {
          seen.copy.resize(FIXTURE_SIZE);
          hova_read_arena(seen.context, value.offset,
                          FIXTURE_SIZE * sizeof(float), seen.copy.data());
        }
      },
      &seen);
  Call call;
  ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_EQ(seen.kernels, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(seen.copy, std::vector<float>(call.x, call.x + FIXTURE_SIZE));
  EXPECT_TRUE(call.isRight());

  hova_set_hook(fixture.context, nullptr, nullptr);
  ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_EQ(seen.kernels.size(), 2u);
}

TEST(Context, times_rise_from_kernel_to_kernel) {
  Context fixture(2);
  uint64_t times[3] = {};
  hova_set_times(fixture.context, times);
  Call call;
  ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_GT(times[0], 0u);
  EXPECT_LE(times[0], times[1]);
  EXPECT_LE(times[1], times[2]);
}

TEST(Context, the_arena_is_aligned_and_zero) {
  Context fixture;
  const char *arena = hova_arena_of(fixture.context);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena) % (2u << 20), 0u);
  for (uint64_t i = 0; i < hova_program_weightless.arena_bytes; ++i) {
    ASSERT_EQ(arena[i], 0);
  }
}

TEST(Context, keeps_the_callers_rounding_mode) {
  Context fixture;
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // flush subnormals
  Call call;
  call.x[FIXTURE_SIZE - 1] = 1e-42f;
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0x8040, 0x8040u);
  EXPECT_EQ(call.y[0], 1e-42f);
}

TEST(Context, a_second_caller_is_told_that_it_is_busy) {
  Context fixture(2);
  struct Inner {
    hova_context *context;
    hova_status status;
  } inner = {fixture.context, HOVA_OK};
  hova_set_hook(
      fixture.context,
      [](void *user, int64_t) {
        auto &inner = *static_cast<Inner *>(user);
        Call call;
        inner.status = hova_run(inner.context, call.inputs, call.outputs);
      },
      &inner);
  Call call;
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_EQ(inner.status, HOVA_BUSY);
}

TEST(Context, dense_strides_and_offsets_are_accepted) {
  Context fixture;
  Call call;
  call.inputs[0].strides = call.strides;
  call.outputs[0].strides = call.strides;
  call.inputs[1].data = reinterpret_cast<char *>(call.ids) - 16;
  call.inputs[1].byte_offset = 16;
  call.inputs[2].name = nullptr;
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK)
      << hova_message(fixture.context);
  EXPECT_TRUE(call.isRight());
}

TEST(Context, a_message_ends_with_the_next_good_call) {
  Context fixture;
  Call call;
  call.ids[0] = -1;
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs),
            HOVA_REJECTED);
  EXPECT_STRNE(hova_message(fixture.context), "");
  call.ids[0] = 0;
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_STREQ(hova_message(fixture.context), "");
}

//===----------------------------------------------------------------------===//
// Wrong calls
//===----------------------------------------------------------------------===//

struct Wrong {
  const char *name;
  std::function<void(Call &)> change;
  const char *message;
};

class WrongCall : public testing::TestWithParam<Wrong> {};

TEST_P(WrongCall, is_rejected_before_anything_is_written) {
  Context fixture(2);
  Call call;
  GetParam().change(call);
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs),
            HOVA_REJECTED);
  EXPECT_TRUE(call.isUntouched());
  EXPECT_NE(std::string(hova_message(fixture.context)).find(GetParam().message),
            std::string::npos)
      << hova_message(fixture.context);
}

const Wrong wrongCalls[] = {
    {"null_input", [](Call &c) { c.inputs[0].data = nullptr; },
     "input 'x' has no data"},
    {"null_output", [](Call &c) { c.outputs[1].data = nullptr; },
     "output 'kept' has no data"},
    {"other_name", [](Call &c) { c.inputs[0].name = "z"; },
     "input 'x' expected at this position, got 'z'"},
    {"swapped_inputs", [](Call &c) { std::swap(c.inputs[1], c.inputs[2]); },
     "input 'ids' expected at this position, got 'mask'"},
    {"gpu_memory", [](Call &c) { c.inputs[0].device.device_type = 2; },
     "expects CPU memory"},
    {"other_bits", [](Call &c) { c.inputs[0].dtype.bits = 64; },
     "input 'x' expects f32, got f64"},
    {"other_code", [](Call &c) { c.inputs[1].dtype.code = 1; },
     "input 'ids' expects i64, got u64"},
    {"complex_code",
     [](Call &c) {
       c.inputs[0].dtype.code = 5;
       c.inputs[0].dtype.bits = 64;
     },
     "input 'x' expects f32, got complex64"},
    {"bool_code",
     [](Call &c) {
       c.inputs[0].dtype.code = 6;
       c.inputs[0].dtype.bits = 8;
     },
     "input 'x' expects f32, got bool"},
    {"unknown_code", [](Call &c) { c.inputs[0].dtype.code = 200; },
     "input 'x' expects f32, got type code 200 with 32 bits and 1 lanes"},
    {"other_lanes", [](Call &c) { c.outputs[0].dtype.lanes = 4; },
     "output 'y' expects f32, got type code 2 with 32 bits and 4 lanes"},
    {"other_rank", [](Call &c) { c.inputs[0].ndim = 1; },
     "expects shape [4, 8], got [4]"},
    {"negative_rank", [](Call &c) { c.inputs[0].ndim = -1; },
     "expects shape [4, 8]"},
    {"huge_rank", [](Call &c) { c.inputs[0].ndim = 1 << 30; },
     "expects shape [4, 8], got none"},
    {"other_dim", [](Call &c) { c.matrix[1] = 9; },
     "input 'x' expects shape [4, 8], got [4, 9]"},
    {"other_batch", [](Call &c) { c.matrix[0] = 6; },
     "got [6, 8]; --set batch=6 compiles the model for as many"},
    {"no_shape", [](Call &c) { c.inputs[0].shape = nullptr; },
     "expects shape [4, 8], got none"},
    {"transposed",
     [](Call &c) {
       c.strides[0] = 1;
       c.strides[1] = FIXTURE_ROWS;
       c.inputs[0].strides = c.strides;
     },
     "input 'x' expects dense row-major memory"},
    {"padded_output",
     [](Call &c) {
       c.strides[0] = FIXTURE_COLUMNS + 1;
       c.outputs[0].strides = c.strides;
     },
     "output 'y' expects dense row-major memory"},
    {"unaligned_input", [](Call &c) { c.inputs[0].byte_offset = 2; },
     "input 'x' expects data aligned to 4 bytes"},
    {"unaligned_output",
     [](Call &c) { c.outputs[0].data = (char *)c.outputs[0].data + 1; },
     "output 'y' expects data aligned to 4 bytes"},
    {"output_is_an_input", [](Call &c) { c.outputs[0].data = c.x; },
     "output 'y' overlaps input 'x'"},
    {"output_reaches_into_an_input",
     [](Call &c) { c.outputs[1].data = c.x + FIXTURE_SIZE - 1; },
     "output 'kept' overlaps input 'x'"},
    {"outputs_overlap", [](Call &c) { c.outputs[1].data = c.y + 5; },
     "output 'kept' overlaps output 'y'"},
    {"negative_id", [](Call &c) { c.ids[3] = -1; },
     "input 'ids' expects values from 0 to 9, got -1 at element 3"},
    {"id_at_the_limit", [](Call &c) { c.ids[1] = FIXTURE_VOCABULARY; },
     "input 'ids' expects values from 0 to 9, got 10 at element 1"},
    {"id_of_64_bits", [](Call &c) { c.ids[0] = INT64_C(1) << 32; },
     "got 4294967296 at element 0"},
    {"boolean_of_two", [](Call &c) { c.mask[2] = 2; },
     "input 'mask' expects values from 0 to 1, got 2 at element 2"},
};
INSTANTIATE_TEST_SUITE_P(Context, WrongCall, testing::ValuesIn(wrongCalls),
                         [](auto &info) { return info.param.name; });

TEST(Context, null_arrays_and_contexts_are_rejected) {
  Context fixture;
  Call call;
  EXPECT_EQ(hova_run(fixture.context, nullptr, call.outputs), HOVA_REJECTED);
  EXPECT_EQ(hova_run(fixture.context, call.inputs, nullptr), HOVA_REJECTED);
  EXPECT_EQ(hova_run(nullptr, call.inputs, call.outputs), HOVA_REJECTED);
  EXPECT_STREQ(hova_message(nullptr), "expects a context, got null");
  EXPECT_STREQ(hova_target(nullptr), "expects a context, got null");
  hova_destroy(nullptr);
}

} // namespace
