//===- EmulatedProgramTest.cpp - Programs whose GPU is emulated -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "DeviceCall.h"
#include "runtime/cuda/Emulated.h"
extern "C" {
#include "runtime/cuda/Launches.h"
}

#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

using namespace hova::test;

namespace {

TEST(EmulatedProgram, runs) {
  DeviceContext program;
  ASSERT_EQ(program.status, HOVA_OK) << program.message;
  DeviceCall call;
  for (int run = 0; run < 2; ++run) {
    call.clear();
    ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
    EXPECT_TRUE(call.isRight());
  }
  EXPECT_EQ(hova_threads_of(program.context), 1);
  EXPECT_EQ(hova_memory_of(program.context), hova_program_device.arena_bytes);
}

TEST(EmulatedProgram, gives_the_same_bits_in_every_order) {
  DeviceContext program;
  ASSERT_EQ(program.status, HOVA_OK) << program.message;
  for (uint64_t seed : {1, 2, 77}) {
    DeviceCall call;
    hova_set_emulation(program.context, seed, HOVA_EMULATION_MIXED);
    ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
    EXPECT_TRUE(call.isRight()) << seed;
  }
}

TEST(EmulatedProgram, counts_what_all_launches_did) {
  DeviceContext program;
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  // One barrier in each block of the third launch.
  EXPECT_EQ(hova_emulation_counts_of(program.context).barriers,
            uint64_t{DEVICE_ROWS});
}

TEST(EmulatedProgram, takes_tensors_at_any_address_of_their_elements) {
  DeviceContext program;
  DeviceCall call;
  alignas(64) char x[sizeof call.x + 4], y[sizeof call.y + 4];
  std::memcpy(x + 4, call.x, sizeof call.x);
  call.inputs[0].data = x + 4;
  call.outputs[0].data = y + 4;
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  std::memcpy(call.y, y + 4, sizeof call.y);
  EXPECT_TRUE(call.isRight());
}

//===----------------------------------------------------------------------===//
// Refused
//===----------------------------------------------------------------------===//

TEST(EmulatedProgram, wrong_arguments_are_refused_before_any_work) {
  DeviceContext program;
  DeviceCall call;
  call.ids[3] = DEVICE_VOCABULARY;
  EXPECT_EQ(program.run(call), HOVA_REJECTED);
  EXPECT_EQ(program.message, "input 'ids' expects values from 0 to 9, got 10 "
                             "at element 3");
  call.ids[3] = 9;
  call.inputs[0].device.device_type = 2;
  EXPECT_EQ(program.run(call), HOVA_REJECTED);
  EXPECT_EQ(program.message,
            "input 'x' expects CPU memory (device type 1), got 2");
  EXPECT_TRUE(call.isUntouched());
  call.inputs[0].device.device_type = 1;
  EXPECT_EQ(program.run(call), HOVA_OK) << program.message;
}

TEST(EmulatedProgram, has_no_threads_and_no_stream) {
  hova_options options = {};
  options.threads = 2;
  EXPECT_EQ(DeviceContext(hova_program_device, options).message,
            "expects 0 or 1 threads, got 2: the kernels of this program are "
            "for a GPU");
  options.threads = 1;
  EXPECT_EQ(DeviceContext(hova_program_device, options).status, HOVA_OK);
  options.device = 1;
  EXPECT_EQ(DeviceContext(hova_program_device, options).message,
            "expects device 0 and no stream, since a GPU is emulated, got "
            "device 1");
  options.device = 0;
  options.stream = &options;
  EXPECT_EQ(DeviceContext(hova_program_device, options).status, HOVA_REJECTED);
}

TEST(EmulatedProgram, cannot_be_intercepted) {
  DeviceContext program;
  DeviceCall call;
  hova_set_intercept(
      program.context,
      [](void *, uint64_t, const hova_launch *, void *const *, uint64_t,
         uint64_t, hova_call_fn *) {},
      nullptr);
  EXPECT_EQ(program.run(call), HOVA_REJECTED);
  hova_set_intercept(program.context, nullptr, nullptr);
  EXPECT_EQ(program.run(call), HOVA_OK);
}

/// The fixture, with parts that a test changes.
struct Changed {
  hova_program program = hova_program_device;
  hova_level level = *hova_program_device.levels;
  hova_device_code code = *level.device;
  std::vector<hova_device_kernel> kernels{code.kernels, code.kernels + 3};
  std::vector<hova_device_launch> launches{code.launches, code.launches + 3};
  std::vector<hova_device_buffer> buffers{launches[0].buffers,
                                          launches[0].buffers + 3};

  /// Why no context is made of it; "" if one is.
  std::string refusal() {
    launches[0].buffers = buffers.data();
    code.kernels = kernels.data();
    code.launches = launches.data();
    level.device = &code;
    program.levels = &level;
    DeviceContext context(program);
    EXPECT_EQ(context.status,
              context.message.empty() ? HOVA_OK : HOVA_REJECTED);
    return context.message;
  }
};

TEST(EmulatedProgram, unchanged_is_accepted) {
  EXPECT_EQ(Changed().refusal(), "");
}

TEST(EmulatedProgram, grids_have_limits) {
  Changed changed;
  changed.launches[1].grid[1] = 65536;
  EXPECT_EQ(changed.refusal(),
            "program 'device': kernel 1 of 'layer.add' has a grid of 6 x 65536 "
            "x 1 blocks, and a GPU takes 1 to 2147483647 x 65535 x 65535");
  for (int axis = 0; axis < 3; ++axis) {
    Changed empty;
    empty.launches[1].grid[axis] = 0;
    EXPECT_NE(empty.refusal(), "") << axis;
    Changed large;
    large.launches[1].grid[axis] = 1u << 31;
    EXPECT_NE(large.refusal(), "") << axis;
  }
}

TEST(EmulatedProgram, malformed_kernels_and_launches_are_refused) {
  for (auto change : std::vector<void (*)(Changed &)>{
           [](Changed &c) { c.kernels[0].threads = 0; },
           [](Changed &c) { c.kernels[0].threads = 1025; },
           [](Changed &c) { c.kernels[0].shared_bytes = 1u << 31; },
           [](Changed &c) { c.code.shared_bytes = 1u << 31; },
           [](Changed &c) { c.code.shared_bytes = (50 << 10) - 1; },
           [](Changed &c) { c.kernels[0].num_buffers = 2; },
           [](Changed &c) { c.kernels[0].emulated = nullptr; },
           [](Changed &c) { c.launches[2].kernel = 3; },
           [](Changed &c) { c.code.num_launches = 2; },
           // Sizes of a run where there are no ranges.
           [](Changed &c) { c.launches[1].item_units = 1; },
           [](Changed &c) { c.launches[1].item_entries = 1; },
           [](Changed &c) { c.launches[1].of_other = 1; },
           [](Changed &c) { c.kernels[1].num_sizes = 2; },
           [](Changed &c) {
             c.code.tables = static_cast<const char *>(c.code.tables) + 4;
             c.code.table_bytes -= 4;
           },
           [](Changed &c) { c.level.features = UINT64_C(1) << 63; },
           [](Changed &c) { c.program.num_levels = 0; }}) {
    Changed changed;
    change(changed);
    EXPECT_NE(changed.refusal(), "");
  }
}

TEST(GpuLaunches, count_what_a_run_has_of_either_sequence) {
  const hova_sizes sizes = {3, 40, 70, nullptr, 9, 20, nullptr};
  hova_device_launch launch = {};
  launch.grid[0] = launch.grid[1] = launch.grid[2] = 100;
  launch.token_units = 1;
  launch.block_units = 16;
  auto blocks = [&](int axis) {
    uint32_t grid[3];
    hova_grid_of_run(&launch, &sizes, grid);
    return grid[axis];
  };
  EXPECT_EQ(blocks(0), 5u); // of 70 rows
  launch.of_other = 1;
  EXPECT_EQ(blocks(0), 2u); // of 20 rows
  launch.token_units = 0;
  launch.longest_units = 1;
  launch.item_entries = 2;
  EXPECT_EQ(blocks(0), 1u); // of 9 rows
  launch.of_other = 0;
  EXPECT_EQ(blocks(0), 3u); // of 40 rows
  EXPECT_EQ(blocks(1), 100u);
  EXPECT_EQ(blocks(2), 6u);

  hova_device_buffer buffer = {0, 300, 4, 4, HOVA_DEVICE_INPUT, 0, 0, 1};
  EXPECT_EQ(hova_buffer_of_run(&buffer, &sizes).rows, 20u);
  buffer.other_token_rows = 0;
  EXPECT_EQ(hova_buffer_of_run(&buffer, &sizes).rows, 300u);
  hova_kernel_sizes told = hova_kernel_sizes_of_run(&sizes);
  EXPECT_EQ(std::vector<uint32_t>(told.number, told.number + 3),
            (std::vector<uint32_t>{3, 70, 20}));
}

TEST(EmulatedProgram, buffers_lie_inside_of_what_there_is) {
  const uint64_t huge = std::numeric_limits<uint64_t>::max();
  for (hova_device_buffer wrong : std::vector<hova_device_buffer>{
           {64 | HOVA_IN_ARENA, 7, 20, 32, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {72 | HOVA_IN_ARENA, 1, 4, 4, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {64 | HOVA_IN_ARENA, 6, 20, 16, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {64 | HOVA_IN_ARENA, 0, 20, 32, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {64 | HOVA_IN_ARENA, 1, 0, 32, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {64 | HOVA_IN_ARENA, huge, 20, 32, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {64 | HOVA_IN_ARENA, 2, 20, huge - 8, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {(huge & ~UINT64_C(63)) | HOVA_IN_ARENA, 1, 64, 64,
            HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {64 | HOVA_IN_ARENA, 6, 20, 32, 3, 0, 0, 0},
           {HOVA_IN_WEIGHTS, 1, 4, 4, HOVA_DEVICE_STATE, 0, 0, 0},
           {HOVA_IN_WEIGHTS, 1, 65, 65, HOVA_DEVICE_INPUT, 0, 0, 0},
           {HOVA_IN_TABLES, 1, 129, 129, HOVA_DEVICE_INPUT, 0, 0, 0},
           {HOVA_INPUT, 6, 20, 20, HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {HOVA_INPUT, 7, 20, 20, HOVA_DEVICE_INPUT, 0, 0, 0},
           {2 << HOVA_BUFFER_KIND_BITS | HOVA_INPUT, 1, 4, 4, HOVA_DEVICE_INPUT,
            0, 0, 0},
           {2 << HOVA_BUFFER_KIND_BITS | HOVA_OUTPUT, 1, 4, 4,
            HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {1 << HOVA_BUFFER_KIND_BITS | HOVA_OUTPUT, 1, 24, 24,
            HOVA_DEVICE_OUTPUT, 0, 0, 0},
           {HOVA_IN_CHUNK, 1, 4, 4, HOVA_DEVICE_OUTPUT, 0, 0, 0}}) {
    Changed changed;
    changed.buffers[2] = wrong;
    EXPECT_EQ(changed.refusal(),
              "program 'device' is malformed: buffer 2 of kernel 0 of "
              "'layer.scale' is not inside of what the program has")
        << wrong.place << " " << wrong.rows;
  }
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

std::string faultOf(const hova_program &program) {
  DeviceContext context(program);
  EXPECT_EQ(context.status, HOVA_OK) << context.message;
  DeviceCall call;
  EXPECT_EQ(context.run(call), HOVA_FAULT);
  EXPECT_TRUE(call.isUntouched());
  return context.message;
}

TEST(EmulatedProgram, what_lies_between_rows_is_not_written) {
  EXPECT_EQ(faultOf(hova_program_gap),
            "'layer.scale': kernel 'spread', block (0, 0, 0), thread (0, 0, "
            "0): 'llvm.store' at \"fixture\":2:1 writes 4 bytes from byte 20 "
            "of 'layer.scale' on, whose rows have 20 bytes every 32: what lies "
            "between them is not its own");
}

TEST(EmulatedProgram, what_may_begin_early_waits) {
  EXPECT_EQ(faultOf(hova_program_hasty),
            "'layer.add': kernel 'add', block (0, 0, 0), thread (0, 0, 0): "
            "'llvm.load' at \"fixture\":1:1 reads byte 0 of 'ids' before it "
            "waits for the launches before it, which may still run");
}

TEST(EmulatedProgram, an_output_of_a_kernel_is_written_whole) {
  EXPECT_EQ(faultOf(hova_program_short),
            "'layer.scale': kernel 'spread' leaves byte 96 of 'layer.scale' "
            "unwritten");
}

TEST(EmulatedProgram, a_kernel_reads_what_an_earlier_one_has_written) {
  EXPECT_EQ(faultOf(hova_program_empty_arena),
            "'layer.add': kernel 0 is given byte 0 of 'layer.scale' to read, "
            "where no kernel before it has written");
}

TEST(EmulatedProgram, an_output_of_the_program_is_written_whole) {
  EXPECT_EQ(faultOf(hova_program_silent),
            "no kernel writes byte 0 of output 'y'");
}

//===----------------------------------------------------------------------===//
// Inside of a run
//===----------------------------------------------------------------------===//

TEST(EmulatedProgram, hooks_see_the_arena_after_each_kernel) {
  struct Seen {
    hova_context *context;
    std::vector<std::pair<int64_t, float>> values;
  };
  DeviceContext program;
  DeviceCall call;
  Seen seen = {program.context, {}};
  hova_set_hook(
      program.context,
      [](void *user, int64_t kernel) {
        auto &seen = *static_cast<Seen *>(user);
        float value = 0;
        hova_read_arena(seen.context, 64 + 32 + 4, sizeof value, &value);
        seen.values.emplace_back(kernel, value);
      },
      &seen);
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  const std::vector<std::pair<int64_t, float>> expected = {
      {0, 22.0f}, {1, 23.0f}, {2, 23.0f}};
  EXPECT_EQ(seen.values, expected);
}

TEST(EmulatedProgram, the_arena_begins_without_numbers) {
  DeviceContext program;
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK);
  float padding;
  std::memcpy(&padding, hova_arena_of(program.context) + 64 + 20,
              sizeof padding);
  EXPECT_TRUE(std::isnan(padding));
}

TEST(EmulatedProgram, nothing_is_left_over_from_the_run_before) {
  DeviceContext program;
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK);
  char *padding = const_cast<char *>(hova_arena_of(program.context)) + 64 + 20;
  std::memset(padding, 0, 4);
  ASSERT_EQ(program.run(call), HOVA_OK);
  float value;
  std::memcpy(&value, padding, sizeof value);
  EXPECT_TRUE(std::isnan(value));

  // The first kernel of the second run writes elsewhere.
  Changed changed;
  changed.program.arena_bytes = 512;
  EXPECT_EQ(changed.refusal(), "");
  DeviceContext context(changed.program);
  ASSERT_EQ(context.run(call), HOVA_OK) << context.message;
  changed.buffers[2].place = 256 | HOVA_IN_ARENA;
  EXPECT_EQ(context.run(call), HOVA_FAULT);
  EXPECT_EQ(context.message,
            "'layer.add': kernel 1 is given byte 0 of 'layer.scale' to read, "
            "where no kernel before it has written");
}

TEST(EmulatedProgram, times_and_spans_are_in_order) {
  DeviceContext program;
  DeviceCall call;
  uint64_t times[4] = {}, spans[6] = {};
  hova_set_times(program.context, times);
  hova_set_spans(program.context, spans);
  ASSERT_EQ(program.run(call), HOVA_OK);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(uint64_t{0}, times[i]);
    EXPECT_LE(times[i], spans[2 * i]);
    EXPECT_LE(spans[2 * i], spans[2 * i + 1]);
    EXPECT_LE(spans[2 * i + 1], times[i + 1]);
  }
}

TEST(EmulatedProgram, one_kernel_runs_alone_on_what_was_left) {
  DeviceContext program;
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK);
  call.ids[0] = 5;
  hova_select_kernel(program.context, 1);
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  float value;
  std::memcpy(&value, hova_arena_of(program.context) + 64, sizeof value);
  EXPECT_EQ(value, 5.0f);
  hova_select_kernel(program.context, -1);
  ASSERT_EQ(program.run(call), HOVA_OK);
  EXPECT_TRUE(call.isRight());
}

} // namespace
