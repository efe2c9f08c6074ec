//===- DriverTest.cpp - Programs for a GPU, on a stand-in for its driver --===//
// SPDX-License-Identifier: Apache-2.0
//
// StandInDriver.c ends the process where the driver is used in a way that it
// must not be. No GPU has a part in any of this.
//
//===----------------------------------------------------------------------===//

#include "DeviceCall.h"
#include "StandInDriver.h"

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace hova::test;

namespace {

class Driver : public testing::Test {
protected:
  void SetUp() override {
    stand_in_set_device(80, 1 << 20, 1);
    stand_in_fail(nullptr, 0, 0);
    stand_in_break(0);
  }
  void TearDown() override { EXPECT_EQ(stand_in_live(), 0); }
};

/// Memory of the device.
struct DeviceMemory {
  explicit DeviceMemory(size_t bytes) : data(stand_in_allocate(bytes)) {}
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory() { stand_in_free(data); }
  void *data;
};

/// A call whose tensors are all in device memory.
struct DeviceTensors {
  DeviceCall call;
  DeviceMemory x{sizeof call.x}, ids{sizeof call.ids}, y{sizeof call.y},
      first{sizeof call.first};

  DeviceTensors() {
    stand_in_write(x.data, call.x, sizeof call.x);
    stand_in_write(ids.data, call.ids, sizeof call.ids);
    put(call.inputs[0], x.data);
    put(call.inputs[1], ids.data);
    put(call.outputs[0], y.data);
    put(call.outputs[1], first.data);
  }
  static void put(hova_tensor &tensor, void *data) {
    tensor.device.device_type = 2;
    tensor.data = data;
  }
  bool isRight() {
    stand_in_read(call.y, y.data, sizeof call.y);
    stand_in_read(call.first, first.data, sizeof call.first);
    return call.isRight();
  }
};

/// A stream of the caller, in a context that the caller keeps.
struct Stream {
  Stream() {
    EXPECT_EQ(cuInit(0), 0u);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), 0u);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), 0u);
    EXPECT_EQ(cuStreamCreate(&stream, 0), 0u);
    cuCtxPopCurrent_v2(&context);
  }
  ~Stream() {
    cuCtxPushCurrent_v2(context);
    EXPECT_EQ(cuStreamDestroy_v2(stream), 0u);
    cuCtxPopCurrent_v2(&context);
    cuDevicePrimaryCtxRelease_v2(0);
  }
  void wait() {
    cuCtxPushCurrent_v2(context);
    EXPECT_EQ(cuStreamSynchronize(stream), 0u);
    cuCtxPopCurrent_v2(&context);
  }
  hova_options options() const {
    hova_options options = {};
    options.stream = stream;
    return options;
  }
  void *context = nullptr, *stream = nullptr;
};

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

TEST_F(Driver, runs_host_tensors) {
  DeviceContext program;
  ASSERT_EQ(program.status, HOVA_OK) << program.message;
  DeviceCall call;
  for (int run = 0; run < 2; ++run) {
    call.clear();
    ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
    EXPECT_TRUE(call.isRight());
  }
  EXPECT_EQ(hova_arena_of(program.context), nullptr);
}

TEST_F(Driver, a_run_is_one_launch_of_a_graph_and_one_wait) {
  DeviceContext program;
  DeviceCall call;
  auto counts = [] {
    return std::vector<int>{
        stand_in_calls("cuGraphLaunch"),
        stand_in_calls("cuLaunchKernel"),
        stand_in_calls("cuStreamSynchronize"),
        stand_in_calls("cuMemAlloc_v2"),
        stand_in_calls("cuGraphInstantiateWithFlags"),
        stand_in_calls("cuGraphExecKernelNodeSetParams_v2")};
  };
  std::vector<int> before = counts();
  ASSERT_EQ(program.run(call), HOVA_OK);
  std::vector<int> after = counts();
  for (size_t i = 0; i < after.size(); ++i) {
    after[i] -= before[i];
  }
  EXPECT_EQ(after, (std::vector<int>{1, 0, 1, 0, 0, 0}));
}

TEST_F(Driver, two_contexts_do_not_know_of_each_other) {
  DeviceContext one, other;
  ASSERT_EQ(other.status, HOVA_OK) << other.message;
  DeviceCall first, second;
  second.ids[0] = 8;
  ASSERT_EQ(one.run(first), HOVA_OK);
  ASSERT_EQ(other.run(second), HOVA_OK);
  EXPECT_TRUE(first.isRight());
  EXPECT_TRUE(second.isRight());
  hova_destroy(one.context);
  one.context = nullptr;
  ASSERT_EQ(other.run(second), HOVA_OK);
}

TEST_F(Driver, uses_device_tensors_where_they_are) {
  DeviceContext program;
  DeviceTensors one, other;
  other.call.x[2][3] = -7;
  stand_in_write(other.x.data, other.call.x, sizeof other.call.x);
  for (DeviceTensors *tensors : {&one, &other, &one}) {
    int copies = stand_in_calls("cuMemcpyHtoDAsync_v2") +
                 stand_in_calls("cuMemAlloc_v2");
    ASSERT_EQ(program.run(tensors->call), HOVA_OK) << program.message;
    EXPECT_TRUE(tensors->isRight());
    EXPECT_EQ(stand_in_calls("cuMemcpyHtoDAsync_v2") +
                  stand_in_calls("cuMemAlloc_v2"),
              copies);
  }
  // The graph has gone back to the places of tensors of the host.
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK);
  EXPECT_TRUE(call.isRight());
}

TEST_F(Driver, mixes_device_and_host_tensors) {
  DeviceContext program;
  DeviceTensors tensors;
  DeviceCall host;
  tensors.call.inputs[1] = host.inputs[1];
  tensors.call.outputs[1] = host.outputs[1];
  ASSERT_EQ(program.run(tensors.call), HOVA_OK) << program.message;
  EXPECT_EQ(host.first[2], host.sum(0, 2));
  EXPECT_TRUE(tensors.isRight() ||
              std::memcmp(tensors.call.first, host.first, 20) != 0);
  std::memcpy(tensors.call.first, host.first, sizeof host.first);
  EXPECT_TRUE(tensors.call.isRight());
}

TEST_F(Driver, device_tensors_are_looked_at_before_any_work) {
  DeviceContext program;
  DeviceTensors tensors;
  tensors.call.ids[3] = 10;
  stand_in_write(tensors.ids.data, tensors.call.ids, sizeof tensors.call.ids);
  int launches = stand_in_calls("cuGraphLaunch");
  EXPECT_EQ(program.run(tensors.call), HOVA_REJECTED);
  EXPECT_EQ(program.message, "input 'ids' expects values from 0 to 9, got 10 "
                             "at element 3");
  tensors.call.inputs[1].data = static_cast<char *>(tensors.ids.data) + 8;
  EXPECT_EQ(program.run(tensors.call), HOVA_REJECTED);
  EXPECT_EQ(program.message, "input 'ids' expects data aligned to 16 bytes");
  tensors.call.inputs[1].data = tensors.call.ids;
  EXPECT_EQ(program.run(tensors.call), HOVA_REJECTED);
  EXPECT_EQ(program.message, "input 'ids' expects memory of device 0, and its "
                             "address is none there");
  tensors.call.inputs[1].device.device_id = 1;
  EXPECT_EQ(program.run(tensors.call), HOVA_REJECTED);
  EXPECT_EQ(program.message, "input 'ids' expects memory of device 0, got that "
                             "of device 1");
  tensors.call.inputs[1].device.device_type = 10;
  EXPECT_EQ(program.run(tensors.call), HOVA_REJECTED);
  EXPECT_EQ(program.message, "input 'ids' expects CPU or CUDA memory (device "
                             "type 1 or 2), got 10");
  EXPECT_EQ(stand_in_calls("cuGraphLaunch"), launches);
}

TEST_F(Driver, a_stream_of_the_caller_is_not_waited_for) {
  Stream stream;
  DeviceTensors tensors, later;
  {
    DeviceContext program(hova_program_device, stream.options());
    ASSERT_EQ(program.status, HOVA_OK) << program.message;
    later.call.ids[1] = tensors.call.ids[1] = 6;
    stand_in_write(later.ids.data, later.call.ids, sizeof later.call.ids);
    stand_in_write(tensors.ids.data, later.call.ids, sizeof later.call.ids);
    // Integers are checked on the host, which waits; what comes after does
    // not.
    ASSERT_EQ(program.run(tensors.call), HOVA_OK) << program.message;
    EXPECT_FALSE(tensors.isRight());
    ASSERT_EQ(program.run(later.call), HOVA_OK);
    EXPECT_TRUE(tensors.isRight());
    EXPECT_FALSE(later.isRight());
    stream.wait();
    EXPECT_TRUE(later.isRight());
    // A tensor of the host is there when the call returns.
    DeviceCall host;
    ASSERT_EQ(program.run(host), HOVA_OK);
    EXPECT_TRUE(host.isRight());
    ASSERT_EQ(program.run(tensors.call), HOVA_OK);
  }
  // A context waits for its runs before it goes.
  EXPECT_TRUE(tensors.isRight());
}

TEST_F(Driver, hooks_times_and_single_kernels) {
  DeviceContext program;
  DeviceCall call;
  std::vector<int64_t> seen;
  uint64_t times[4] = {}, spans[6] = {};
  hova_set_hook(
      program.context,
      [](void *user, int64_t kernel) {
        static_cast<std::vector<int64_t> *>(user)->push_back(kernel);
      },
      &seen);
  hova_set_times(program.context, times);
  hova_set_spans(program.context, spans);
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  EXPECT_TRUE(call.isRight());
  EXPECT_EQ(seen, (std::vector<int64_t>{0, 1, 2}));
  for (uint64_t i = 0; i < 3; ++i) {
    // Each kernel takes half a millisecond of the stand-in's clock.
    EXPECT_EQ(times[i + 1] - times[0], (i + 1) * 500000);
    EXPECT_EQ(spans[2 * i], times[i]);
    EXPECT_EQ(spans[2 * i + 1], times[i + 1]);
  }
  hova_set_hook(program.context, nullptr, nullptr);
  hova_set_times(program.context, nullptr);
  hova_set_spans(program.context, nullptr);
  hova_select_kernel(program.context, 2);
  int launches = stand_in_calls("cuLaunchKernel");
  ASSERT_EQ(program.run(call), HOVA_OK);
  EXPECT_EQ(stand_in_calls("cuLaunchKernel"), launches + 1);
  EXPECT_TRUE(call.isRight());
}

TEST_F(Driver, the_arena_is_read_after_a_kernel_and_a_failure_is_told) {
  struct Seen {
    hova_context *context;
    std::vector<float> values;
    std::vector<hova_status> statuses;
  };
  DeviceContext program;
  DeviceCall call;
  Seen seen = {program.context, {}, {}};
  hova_set_hook(
      program.context,
      [](void *user, int64_t) {
        auto &seen = *static_cast<Seen *>(user);
        float value = 0;
        seen.statuses.push_back(
            hova_read_arena(seen.context, 64 + 32 + 4, sizeof value, &value));
        seen.values.push_back(value);
      },
      &seen);
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  EXPECT_EQ(seen.values, (std::vector<float>{22, 23, 23}));
  stand_in_fail("cuMemcpyDtoHAsync_v2", 1, 700);
  float value;
  EXPECT_EQ(hova_read_arena(program.context, 64, sizeof value, &value),
            HOVA_FAULT);
  EXPECT_EQ(std::string(hova_message(program.context))
                .rfind("cannot read the arena on Stand-in GPU", 0),
            0u);
}

TEST_F(Driver, nothing_of_a_run_is_left_after_poison) {
  DeviceContext program;
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  ASSERT_EQ(hova_poison(program.context), HOVA_OK);
  uint32_t word = 0;
  for (uint64_t at : {64, 64 + 32 + 4}) {
    ASSERT_EQ(hova_read_arena(program.context, at, sizeof word, &word),
              HOVA_OK);
    EXPECT_EQ(word, 0xffffffffu);
  }
  call.clear();
  ASSERT_EQ(program.run(call), HOVA_OK) << program.message;
  EXPECT_TRUE(call.isRight());
  stand_in_fail("cuMemcpyHtoDAsync_v2", 1, 700);
  EXPECT_EQ(hova_poison(program.context), HOVA_REJECTED);
  EXPECT_EQ(std::string(hova_message(program.context))
                .rfind("cannot fill its memory on Stand-in GPU", 0),
            0u);
}

//===----------------------------------------------------------------------===//
// What a machine lacks
//===----------------------------------------------------------------------===//

/// Why no context is made; "" if one is.
std::string refusal(const hova_program &program = hova_program_device,
                    hova_options options = {}) {
  DeviceContext context(program, options);
  EXPECT_EQ(context.status, context.message.empty() ? HOVA_OK : HOVA_REJECTED);
  return context.message;
}

TEST_F(Driver, an_old_device_is_refused_before_any_memory_is_taken) {
  stand_in_set_device(75, 1 << 20, 1);
  int taken = stand_in_calls("cuMemAlloc_v2");
  EXPECT_EQ(refusal(), "program 'device' needs a GPU of compute capability "
                       "8.0; Stand-in GPU has 7.5");
  EXPECT_EQ(stand_in_calls("cuMemAlloc_v2"), taken);
  EXPECT_EQ(stand_in_calls("cuDevicePrimaryCtxRelease_v2"),
            stand_in_calls("cuDevicePrimaryCtxRetain"));
  stand_in_set_device(90, 1 << 20, 1);
  EXPECT_EQ(refusal(), "");
}

TEST_F(Driver, too_little_memory_is_refused) {
  stand_in_set_device(80, 700, 1);
  EXPECT_EQ(refusal(),
            "Stand-in GPU has too little memory: the program takes 1792 bytes, "
            "and 700 of 700 are free");
}

TEST_F(Driver, devices_are_counted) {
  hova_options options = {};
  options.device = 1;
  EXPECT_EQ(refusal(hova_program_device, options),
            "expects a device from 0 to 0, got 1");
  options.device = -1;
  EXPECT_EQ(refusal(hova_program_device, options),
            "expects a device from 0 to 0, got -1");
  stand_in_set_device(80, 1 << 20, 0);
  EXPECT_EQ(refusal(), "found no NVIDIA GPU, which kernels for a GPU need");
}

/// The fixture with other code.
struct Changed {
  hova_program program = hova_program_device;
  hova_level level = *hova_program_device.levels;
  hova_device_code code = *level.device;
  std::vector<hova_device_kernel> kernels{code.kernels, code.kernels + 3};

  std::string refusal() {
    code.kernels = kernels.data();
    level.device = &code;
    program.levels = &level;
    return ::refusal(program);
  }
};

TEST_F(Driver, what_its_compiler_says_of_a_text_is_told) {
  Changed changed;
  changed.code.ptx = "//\n.version 7.0\nnonsense";
  EXPECT_EQ(changed.refusal(),
            "cannot load the kernels on Stand-in GPU: a test wants it so "
            "(CUDA_ERROR_TEST); its compiler says: ptxas application ptx "
            "input, line 3 fatal   : Parsing error");
  changed.code.ptx = nullptr;
  EXPECT_EQ(changed.refusal(),
            "program 'device' has no kernels for Stand-in GPU");
}

TEST_F(Driver, machine_code_is_taken_for_later_ones_of_its_major_number) {
  static const char cubin[] = "\177ELF";
  Changed changed;
  changed.code.ptx = nullptr;
  changed.code.cubin = cubin;
  changed.code.cubin_bytes = sizeof cubin;
  EXPECT_EQ(changed.refusal(), "");
  changed.code.shared_bytes = 99 << 10;
  stand_in_set_device(89, 1 << 20, 1);
  EXPECT_EQ(changed.refusal(), "");
  stand_in_set_device(90, 1 << 20, 1);
  EXPECT_NE(changed.refusal(), "");
  // Where the driver does not like it there is the text.
  stand_in_set_device(80, 1 << 20, 1);
  changed.code.ptx = hova_program_device.levels->device->ptx;
  stand_in_fail("cuModuleLoadDataEx", 1, 209);
  EXPECT_EQ(changed.refusal(), "");
}

TEST_F(Driver, kernels_need_no_more_than_a_block_has) {
  Changed changed;
  changed.kernels[2].shared_bytes = changed.code.shared_bytes = (163 << 10) + 1;
  EXPECT_EQ(changed.refusal(),
            "program 'device' needs a GPU with 166913 bytes of shared memory "
            "in a block, for kernel 'gather'; Stand-in GPU has 166912");
  changed.kernels[2].shared_bytes = 163 << 10;
  EXPECT_EQ(changed.refusal(), "");
  changed.kernels[0].threads = 288;
  EXPECT_NE(changed.refusal().find("'spread' needs 288 threads"),
            std::string::npos);
  changed.kernels[0].threads = 32;
  changed.kernels[0].name = "scatter";
  EXPECT_EQ(changed.refusal(), "kernel 'scatter': cannot prepare it on "
                               "Stand-in GPU: a test wants it so "
                               "(CUDA_ERROR_TEST)");
}

TEST_F(Driver, threads_are_refused) {
  hova_options options = {};
  options.threads = 4;
  EXPECT_EQ(refusal(hova_program_device, options),
            "expects 0 or 1 threads, got 4: the kernels of this program are "
            "for a GPU");
}

//===----------------------------------------------------------------------===//
// Every call fails once
//===----------------------------------------------------------------------===//

const char *const kCalls[] = {"cuInit",
                              "cuDeviceGetCount",
                              "cuDeviceGet",
                              "cuDeviceGetName",
                              "cuDeviceGetAttribute",
                              "cuDevicePrimaryCtxRetain",
                              "cuCtxPushCurrent_v2",
                              "cuMemAlloc_v2",
                              "cuMemcpyHtoDAsync_v2",
                              "cuMemcpyDtoHAsync_v2",
                              "cuPointerGetAttribute",
                              "cuModuleLoadDataEx",
                              "cuModuleGetFunction",
                              "cuFuncGetAttribute",
                              "cuFuncSetAttribute",
                              "cuStreamCreate",
                              "cuStreamSynchronize",
                              "cuGraphCreate",
                              "cuGraphAddKernelNode_v2",
                              "cuGraphInstantiateWithFlags",
                              "cuGraphExecKernelNodeSetParams_v2",
                              "cuGraphLaunch",
                              "cuLaunchKernel",
                              "cuEventCreate",
                              "cuEventRecord",
                              "cuEventElapsedTime"};

class DriverCall : public testing::TestWithParam<const char *> {
protected:
  void TearDown() override {
    stand_in_fail(nullptr, 0, 0);
    EXPECT_EQ(stand_in_live(), 0);
  }
};

/// A context, a run of host tensors, one of device tensors, and a timed one;
/// what failed.
hova_status useEverything(std::string &message) {
  DeviceContext program;
  message = program.message;
  if (program.status != HOVA_OK) {
    EXPECT_EQ(program.status, HOVA_REJECTED) << message;
    return program.status;
  }
  DeviceTensors tensors;
  DeviceCall call;
  uint64_t times[4] = {};
  for (int round = 0; round < 3; ++round) {
    hova_set_times(program.context, round == 2 ? times : nullptr);
    hova_status status = program.run(round == 1 ? tensors.call : call);
    if (status != HOVA_OK) {
      message = program.message;
      // Once it works again, so does the context.
      EXPECT_EQ(program.run(round == 1 ? tensors.call : call), HOVA_OK)
          << program.message;
      return status;
    }
    EXPECT_TRUE(round == 1 ? tensors.isRight() : call.isRight());
    call.clear();
  }
  return HOVA_OK;
}

TEST_P(DriverCall, that_fails_is_told_and_leaves_nothing_behind) {
  stand_in_set_device(80, 1 << 20, 1);
  std::string message;
  int before = stand_in_calls(GetParam());
  ASSERT_EQ(useEverything(message), HOVA_OK) << message;
  int calls = stand_in_calls(GetParam()) - before;
  // The last of these is that of closing, which has nobody to tell. A driver
  // that cannot make its context current gives nothing back either.
  const std::string name = GetParam();
  calls -= name == "cuStreamSynchronize" || name == "cuCtxPushCurrent_v2";
  ASSERT_GT(calls, 0);
  for (int at = 1; at <= calls; ++at) {
    for (unsigned code : {700u, 999u}) {
      stand_in_fail(GetParam(), at, code);
      hova_status status = useEverything(message);
      EXPECT_TRUE(status == HOVA_REJECTED || status == HOVA_FAULT)
          << at << " " << status;
      const char *said = code == 700
                             ? "an illegal memory access was encountered "
                               "(CUDA_ERROR_ILLEGAL_ADDRESS)"
                             : "the driver has no words for it (error 999)";
      EXPECT_NE(message.find(said), std::string::npos) << at << message;
      EXPECT_EQ(stand_in_live(), 0) << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, DriverCall, testing::ValuesIn(kCalls),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

TEST_F(Driver, a_fault_of_a_kernel_is_told_and_nothing_is_written) {
  DeviceContext program;
  DeviceCall call;
  stand_in_fail("cuStreamSynchronize", 1, 700);
  EXPECT_EQ(program.run(call), HOVA_FAULT);
  EXPECT_EQ(program.message,
            "cannot run the model on Stand-in GPU: an illegal memory access "
            "was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)");
  stand_in_break(700);
  EXPECT_NE(program.run(call), HOVA_OK);
  stand_in_break(0);
  // The stand-in has forgotten nothing; a driver would have lost all of it.
  ASSERT_EQ(program.run(call), HOVA_OK);
}

TEST_F(Driver, a_child_of_fork_is_told_that_it_has_no_gpu) {
  DeviceContext program;
  DeviceCall call;
  ASSERT_EQ(program.run(call), HOVA_OK);
  pid_t child = fork();
  if (child == 0) {
    int before = stand_in_calls("cuCtxPushCurrent_v2");
    bool right = program.run(call) == HOVA_REJECTED &&
                 program.message.find("before a fork()") != std::string::npos;
    hova_destroy(program.context);
    _exit(right && stand_in_calls("cuCtxPushCurrent_v2") == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(program.run(call), HOVA_OK);
}

} // namespace
