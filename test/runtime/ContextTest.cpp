//===- ContextTest.cpp - Create, run and what they reject -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Fixture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>
#include <xmmintrin.h>

namespace {

/// Arguments of the fixture that are right until a test changes them.
struct Call {
  alignas(64) float x[FIXTURE_SIZE];
  alignas(64) int64_t ids[FIXTURE_ROWS] = {0, 1, 2, 9};
  alignas(64) uint8_t mask[FIXTURE_ROWS] = {1, 0, 1, 1};
  alignas(64) float y[FIXTURE_SIZE];
  alignas(64) int32_t kept = -1;
  int64_t matrix[2] = {FIXTURE_ROWS, FIXTURE_COLUMNS};
  int64_t rows[1] = {FIXTURE_ROWS};
  int64_t strides[2] = {FIXTURE_COLUMNS, 1};
  hova_tensor inputs[3];
  hova_tensor outputs[2];

  Call() {
    for (int i = 0; i < FIXTURE_SIZE; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = -1;
    }
    inputs[0] = hova_make_tensor("x", HOVA_F32, 2, matrix, x);
    inputs[1] = hova_make_tensor("ids", HOVA_I64, 1, rows, ids);
    inputs[2] = hova_make_tensor("mask", HOVA_BOOL, 1, rows, mask);
    outputs[0] = hova_make_tensor("y", HOVA_F32, 2, matrix, y);
    outputs[1] = hova_make_tensor("kept", HOVA_I32, 0, nullptr, &kept);
  }

  bool isRight() const {
    for (int i = 0; i < FIXTURE_SIZE; ++i) {
      float expected = x[FIXTURE_SIZE - 1 - i] +
                       static_cast<float>(ids[i / FIXTURE_COLUMNS]);
      if (y[i] != expected) {
        return false;
      }
    }
    return kept == 3;
  }

  bool isUntouched() const {
    for (float value : y) {
      if (value != -1) {
        return false;
      }
    }
    return kept == -1;
  }
};

/// A context of the program without weights.
struct Context {
  hova_context *context = nullptr;

  explicit Context(int32_t threads = 1) {
    hova_options options = {};
    options.threads = threads;
    EXPECT_EQ(hova_create(&hova_program_weightless, &options, &context),
              HOVA_OK);
  }
  ~Context() { hova_destroy(context); }
};

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
          auto *data = reinterpret_cast<const float *>(
              hova_arena_of(seen.context) + value.offset);
          seen.copy.assign(data, data + FIXTURE_SIZE);
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
     "input 'x' expects f32"},
    {"other_code", [](Call &c) { c.inputs[1].dtype.code = 1; },
     "input 'ids' expects i64"},
    {"other_lanes", [](Call &c) { c.outputs[0].dtype.lanes = 4; },
     "output 'y' expects f32"},
    {"other_rank", [](Call &c) { c.inputs[0].ndim = 1; },
     "expects shape [4, 8], got [4]"},
    {"negative_rank", [](Call &c) { c.inputs[0].ndim = -1; },
     "expects shape [4, 8]"},
    {"huge_rank", [](Call &c) { c.inputs[0].ndim = 1 << 30; },
     "expects shape [4, 8], got none"},
    {"other_dim", [](Call &c) { c.matrix[1] = 9; },
     "input 'x' expects shape [4, 8], got [4, 9]"},
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
  hova_destroy(nullptr);
}

//===----------------------------------------------------------------------===//
// Creation and images
//===----------------------------------------------------------------------===//

constexpr uint64_t kImageBytes = HOVA_IMAGE_HEADER_BYTES + FIXTURE_WEIGHT_BYTES;

struct Image {
  alignas(64) char bytes[kImageBytes + 64] = {};

  Image() {
    hova_image_header header = {};
    std::memcpy(header.magic, HOVA_IMAGE_MAGIC, 8);
    header.abi = HOVA_ABI_VERSION;
    header.header_bytes = HOVA_IMAGE_HEADER_BYTES;
    header.weight_bytes = FIXTURE_WEIGHT_BYTES;
    std::strcpy(header.id, "0123abcd");
    std::strcpy(header.model, "fixture");
    set(header);
    const float w = 2;
    std::memcpy(bytes + HOVA_IMAGE_HEADER_BYTES, &w, sizeof w);
  }
  hova_image_header get() const {
    hova_image_header header;
    std::memcpy(&header, bytes, sizeof header);
    return header;
  }
  void set(const hova_image_header &header) {
    std::memcpy(bytes, &header, sizeof header);
  }
};

hova_status create(const hova_options &given, std::string &message,
                   hova_context **context,
                   const hova_program *program = &hova_program_fixture) {
  char text[640] = "";
  hova_options options = given;
  options.message = text;
  options.message_bytes = sizeof text;
  hova_status status = hova_create(program, &options, context);
  message = text;
  return status;
}

TEST(Image, in_memory_is_used) {
  Image image;
  hova_options options = {};
  options.image = image.bytes;
  options.image_bytes = kImageBytes;
  hova_context *context = nullptr;
  std::string message;
  ASSERT_EQ(create(options, message, &context), HOVA_OK) << message;
  Call call;
  ASSERT_EQ(hova_run(context, call.inputs, call.outputs), HOVA_OK);
  EXPECT_EQ(call.y[0], 2 * call.x[FIXTURE_SIZE - 1]);
  hova_destroy(context);
}

struct WrongImageCase {
  const char *name;
  std::function<void(Image &, hova_options &)> change;
  const char *message;
};

class WrongImage : public testing::TestWithParam<WrongImageCase> {};

TEST_P(WrongImage, is_rejected) {
  Image image;
  hova_options options = {};
  options.image = image.bytes;
  options.image_bytes = kImageBytes;
  GetParam().change(image, options);
  hova_context *context = nullptr;
  std::string message;
  EXPECT_EQ(create(options, message, &context), HOVA_REJECTED);
  EXPECT_EQ(context, nullptr);
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

template <typename Change> auto changeHeader(Change change) {
  return [change](Image &image, hova_options &) {
    hova_image_header header = image.get();
    change(header);
    image.set(header);
  };
}

const WrongImageCase wrongImages[] = {
    {"none", [](Image &, hova_options &o) { o.image = nullptr; },
     "needs a weight image"},
    {"empty", [](Image &, hova_options &o) { o.image_bytes = 0; },
     "is not a weight image"},
    {"no_magic", [](Image &i, hova_options &) { i.bytes[7] = '2'; },
     "hova weights pack fixture.json --march=x86-64 -o IMAGE"},
    {"safetensors",
     [](Image &i, hova_options &) {
       std::memcpy(i.bytes, "\x10\0\0\0\0\0\0\0{", 9);
     },
     "is a safetensors file, not a weight image"},
    {"header_cut_off",
     [](Image &, hova_options &o) {
       o.image_bytes = HOVA_IMAGE_HEADER_BYTES - 1;
     },
     "is cut off"},
    {"cut_off", [](Image &, hova_options &o) { --o.image_bytes; },
     "has another size"},
    {"too_long", [](Image &, hova_options &o) { o.image_bytes += 64; },
     "has another size"},
    {"other_size", changeHeader([](auto &h) { h.weight_bytes = 128; }),
     "has another size"},
    {"other_version", changeHeader([](auto &h) { ++h.abi; }),
     "another version of hova"},
    {"other_layout", changeHeader([](auto &h) { h.id[0] = '9'; }),
     "in another layout"},
    {"longer_id", changeHeader([](auto &h) { h.id[8] = '0'; }),
     "in another layout"},
    {"other_model", changeHeader([](auto &h) {
       h.id[0] = '9';
       h.model[0] = 'F';
     }),
     "weights of another model"},
    {"unaligned", [](Image &i, hova_options &o) { o.image = i.bytes + 32; },
     "aligned to 64 bytes"},
};
INSTANTIATE_TEST_SUITE_P(Context, WrongImage, testing::ValuesIn(wrongImages),
                         [](auto &info) { return info.param.name; });

TEST(Create, rejects_what_is_out_of_range) {
  hova_context *context = nullptr;
  std::string message;
  hova_options options = {};
  for (int32_t threads : {-1, 1025}) {
    options.threads = threads;
    EXPECT_EQ(create(options, message, &context, &hova_program_weightless),
              HOVA_REJECTED);
    EXPECT_NE(message.find("expects 0 to 1024 threads"), std::string::npos);
  }
  EXPECT_EQ(create({}, message, &context, nullptr), HOVA_REJECTED);
  EXPECT_EQ(create({}, message, nullptr, &hova_program_weightless),
            HOVA_REJECTED);
  hova_program other = hova_program_weightless;
  ++other.abi;
  EXPECT_EQ(create({}, message, &context, &other), HOVA_REJECTED);
  EXPECT_NE(message.find("interface version"), std::string::npos);
}

TEST(Create, an_arena_beyond_memory_is_said) {
  hova_program large = hova_program_weightless;
  for (uint64_t bytes : {UINT64_C(1) << 55, ~UINT64_C(0)}) {
    large.arena_bytes = bytes;
    hova_context *context = nullptr;
    std::string message;
    EXPECT_EQ(create({}, message, &context, &large), HOVA_OUT_OF_MEMORY);
    EXPECT_NE(message.find(std::to_string(bytes)), std::string::npos)
        << message;
  }
}

TEST(Create, uses_the_usable_processors_by_default) {
  hova_context *context = nullptr;
  std::string message;
  ASSERT_EQ(create({}, message, &context, &hova_program_weightless), HOVA_OK);
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(hova_threads_of(context), CPU_COUNT(&set));
  hova_destroy(context);
}

TEST(Create, leaves_no_thread_behind) {
  for (int i = 0; i < 200; ++i) {
    Context fixture(8);
    Call call;
    ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  }
}

} // namespace
