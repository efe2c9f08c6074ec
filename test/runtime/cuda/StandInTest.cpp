//===- StandInTest.cpp - The stand-in for a driver notices misuse ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// What DriverTest.cpp says of runtime/cuda rests on this.
//
//===----------------------------------------------------------------------===//

#include "StandInDriver.h"

#include <functional>
#include <gtest/gtest.h>
#include <unistd.h>
#include <vector>

extern "C" {
unsigned cuMemAlloc_v2(unsigned long long *address, size_t bytes);
unsigned cuMemFree_v2(unsigned long long address);
unsigned cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from,
                              size_t bytes, void *stream);
unsigned cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                            unsigned *options, void **values);
unsigned cuModuleUnload(void *module);
unsigned cuModuleGetFunction(void **function, void *module, const char *name);
unsigned cuFuncSetAttribute(void *function, unsigned attribute, int value);
unsigned cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, void *stream,
                        void **parameters, void **extra);
unsigned cuGraphCreate(void **graph, unsigned flags);
unsigned cuGraphDestroy(void *graph);
unsigned cuGraphInstantiateWithFlags(void **exec, void *graph,
                                     unsigned long long flags);
unsigned cuGraphLaunch(void *exec, void *stream);
unsigned cuEventCreate(void **event, unsigned flags);
unsigned cuEventElapsedTime(float *ms, void *from, void *to);
}

namespace {

const char *const kText =
    "//\n.version 7.0\n.target sm_80\n.visible .entry spread()\n";

/// A process that has done everything right so far.
struct Application {
  Application() {
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent_v2(context);
    cuStreamCreate(&stream, 0);
    cuMemAlloc_v2(&memory, 256);
    cuModuleLoadDataEx(&module, kText, 0, nullptr, nullptr);
    cuModuleGetFunction(&function, module, "spread");
    cuFuncSetAttribute(function, /*carveout=*/9, 100);
    cuGraphCreate(&graph, 0);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
  }
  void launch(unsigned blocks, unsigned threads, unsigned shared,
              unsigned long long address) {
    void *parameters[] = {&address, &address, &address};
    cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, stream,
                   parameters, nullptr);
  }
  void *context = nullptr, *stream = nullptr, *module = nullptr;
  void *function = nullptr, *graph = nullptr, *exec = nullptr;
  unsigned long long memory = 0;
};

struct Misuse {
  const char *name;
  std::function<void(Application &)> misuse;
  const char *message;
};

const char kHost[512] = {};

const std::vector<Misuse> kMisuses = {
    {"memory_freed_twice",
     [](Application &a) {
       cuMemFree_v2(a.memory);
       cuMemFree_v2(a.memory);
     },
     "cuMemFree_v2: 0x.* is no memory, or was freed already"},
    {"copy_out_of_bounds",
     [](Application &a) {
       cuMemcpyHtoDAsync_v2(a.memory + 8, kHost, 249, a.stream);
     },
     "cuMemcpyHtoDAsync_v2: 249 bytes at 0x.* are no device memory"},
    {"copy_to_what_was_freed",
     [](Application &a) {
       cuMemFree_v2(a.memory);
       cuMemcpyHtoDAsync_v2(a.memory, kHost, 4, a.stream);
     },
     "are no device memory"},
    {"copy_to_the_host_itself",
     [](Application &a) {
       cuMemcpyHtoDAsync_v2(reinterpret_cast<uintptr_t>(kHost), kHost, 4,
                            a.stream);
     },
     "are no device memory"},
    {"freed_while_it_is_in_use",
     [](Application &a) {
       cuMemcpyHtoDAsync_v2(a.memory, kHost, 4, a.stream);
       cuMemFree_v2(a.memory);
     },
     "cuMemFree_v2: while something is in the queue"},
    {"more_shared_memory_than_was_asked_for",
     [](Application &a) { a.launch(1, 32, (48 << 10) + 1, a.memory); },
     "cuLaunchKernel: more shared memory than was asked for"},
    {"no_grid", [](Application &a) { a.launch(0, 32, 0, a.memory); },
     "cuLaunchKernel: the grid is no grid"},
    {"no_block", [](Application &a) { a.launch(1, 1025, 0, a.memory); },
     "cuLaunchKernel: the block is no block"},
    {"another_share_of_shared_memory",
     [](Application &a) {
       cuFuncSetAttribute(a.function, /*carveout=*/9, 50);
       a.launch(1, 32, 0, a.memory);
     },
     "cuLaunchKernel: another share of shared memory"},
    {"argument_of_the_host",
     [](Application &a) {
       a.launch(1, 32, 0, reinterpret_cast<uintptr_t>(kHost));
     },
     "cuLaunchKernel: 1 bytes at 0x.* are no device memory"},
    {"function_after_its_module",
     [](Application &a) {
       cuModuleUnload(a.module);
       a.launch(1, 32, 0, a.memory);
     },
     "cuLaunchKernel: uses what was given back"},
    {"graph_destroyed_twice",
     [](Application &a) {
       cuGraphDestroy(a.graph);
       cuGraphDestroy(a.graph);
     },
     "cuGraphDestroy: uses what was given back"},
    {"graph_for_an_exec",
     [](Application &a) { cuGraphLaunch(a.graph, a.stream); },
     "cuGraphLaunch: 0x.* is no graph exec"},
    {"stream_after_its_end",
     [](Application &a) {
       cuStreamDestroy_v2(a.stream);
       cuGraphLaunch(a.exec, a.stream);
       cuStreamSynchronize(a.stream);
     },
     "cuStreamSynchronize: uses what was given back"},
    {"no_context",
     [](Application &a) {
       cuCtxPopCurrent_v2(&a.context);
       cuMemFree_v2(a.memory);
     },
     "cuMemFree_v2: without a current context"},
    {"popped_too_often",
     [](Application &a) {
       cuCtxPopCurrent_v2(&a.context);
       cuCtxPopCurrent_v2(&a.context);
     },
     "cuCtxPopCurrent_v2: popped more often than pushed"},
    {"event_that_has_not_happened",
     [](Application &) {
       void *event = nullptr;
       float ms;
       cuEventCreate(&event, 0);
       cuEventElapsedTime(&ms, event, event);
     },
     "cuEventElapsedTime: has not happened"},
};

void PrintTo(const Misuse &misuse, std::ostream *os) { *os << misuse.name; }

class StandIn : public testing::TestWithParam<Misuse> {};

TEST_P(StandIn, ends_the_process_at) {
  EXPECT_DEATH(
      {
        Application application;
        GetParam().misuse(application);
      },
      GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Each, StandIn, testing::ValuesIn(kMisuses),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(StandInEnd, tells_what_was_not_given_back) {
  EXPECT_EXIT(
      {
        Application application;
        exit(0);
      },
      testing::ExitedWithCode(99), "objects were not given back");
}

TEST(StandInEnd, performs_nothing_before_somebody_waits) {
  EXPECT_EXIT(
      {
        Application a;
        const int written = 5;
        int read = 0;
        cuMemcpyHtoDAsync_v2(a.memory, &written, 4, a.stream);
        stand_in_read(&read, reinterpret_cast<void *>(a.memory), 4);
        bool early = read == written;
        cuStreamSynchronize(a.stream);
        stand_in_read(&read, reinterpret_cast<void *>(a.memory), 4);
        _exit(!early && read == written ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

} // namespace
