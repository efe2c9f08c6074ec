//===- AllocationTest.cpp - Runs allocate nothing -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Replaces the allocation functions of this program by counting ones.
//
//===----------------------------------------------------------------------===//

#include "FixtureCall.h"

#include <atomic>

using namespace hova::test;

namespace {
std::atomic<int> allocations{0};
} // namespace

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
}

namespace {

TEST(Allocation, creating_a_context_allocates_and_running_does_not) {
  int before = allocations;
  Context fixture(3);
  EXPECT_GT(allocations, before);
  Call call;
  before = allocations;
  for (int run = 0; run < 10; ++run) {
    // Workers that slept take another way than those that still watch.
    if (run % 2 == 0) {
      sleepUntilWorkersSleep();
    }
    ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
  }
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(call.isRight());
}

TEST(Allocation, a_rejected_call_allocates_nothing) {
  Context fixture(2);
  Call call;
  call.ids[0] = FIXTURE_VOCABULARY;
  int before = allocations;
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs),
            HOVA_REJECTED);
  EXPECT_EQ(allocations, before);
}

} // namespace
