//===- RaceTest.cpp - Many contexts, callers and runs ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For ThreadSanitizer (./dev test --full): the order of threads is as various
// as it can be had. Workers watch, sleep and wake; contexts come and go.
//
//===----------------------------------------------------------------------===//

#include "FixtureCall.h"

#include <vector>

using namespace hova::test;

namespace {

constexpr int kCallers = 3, kContexts = 100, kRuns = 400;

/// Now and then a pause: none, shorter than workers watch, longer.
void pauseSometimes(int run) {
  if (run % 50 == 7) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  } else if (run % 100 == 11) {
    sleepUntilWorkersSleep();
  }
}

TEST(Race, contexts_come_and_go) {
  for (int i = 0; i < kContexts; ++i) {
    Context fixture(2 + i % 3);
    if (i % 2) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    Call call;
    ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
    EXPECT_TRUE(call.isRight());
  }
}

TEST(Race, callers_have_contexts_of_their_own) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([caller] {
      Context fixture(1 + caller);
      for (int run = 0; run < kRuns; ++run) {
        pauseSometimes(run + caller);
        Call call;
        EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs),
                  HOVA_OK);
        EXPECT_TRUE(call.isRight());
      }
    });
  }
  for (std::thread &caller : callers) {
    caller.join();
  }
}

TEST(Race, callers_share_a_context_in_turn) {
  Context fixture(3);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&fixture, caller] {
      for (int run = 0; run < kRuns; ++run) {
        pauseSometimes(run + caller);
        Call call;
        hova_status status;
        while ((status = hova_run(fixture.context, call.inputs,
                                  call.outputs)) == HOVA_BUSY) {
          std::this_thread::yield();
        }
        EXPECT_EQ(status, HOVA_OK);
        EXPECT_TRUE(call.isRight());
      }
    });
  }
  for (std::thread &caller : callers) {
    caller.join();
  }
}

} // namespace
