//===- TeamTest.cpp - Threads between and within runs ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FixtureCall.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace hova::test;

namespace {

TEST(Team, wakes_after_sleeping) {
  Context fixture(2);
  for (int run = 0; run < 5; ++run) {
    sleepUntilWorkersSleep();
    Call call;
    ASSERT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
    EXPECT_TRUE(call.isRight());
  }
}

TEST(Team, ends_while_workers_sleep_and_before_they_ran) {
  {
    Context unused(3);
  }
  Context fixture(3);
  sleepUntilWorkersSleep();
}

/// Runs `body` in a child and returns its exit status; 255 after a signal.
template <typename Body> int statusInChild(Body body) {
  pid_t child = ::fork();
  if (child == 0) {
    // A wait for threads that do not exist ends by this.
    ::alarm(10);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(Team, a_child_process_is_refused_and_may_make_its_own) {
  Context fixture(2);
  Call call;
  EXPECT_EQ(statusInChild([&] {
              return hova_run(fixture.context, call.inputs, call.outputs);
            }),
            HOVA_REJECTED);
  EXPECT_EQ(statusInChild([&] {
              hova_destroy(fixture.context);
              Context child(2);
              return hova_run(child.context, call.inputs, call.outputs);
            }),
            HOVA_OK);
  EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
}

TEST(Team, a_context_of_one_thread_works_in_a_child_process) {
  Context fixture(1);
  EXPECT_EQ(statusInChild([&] {
              Call call;
              return hova_run(fixture.context, call.inputs, call.outputs) !=
                         HOVA_OK ||
                     !call.isRight();
            }),
            0);
}

/// The processors of the calling thread.
cpu_set_t usableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

/// Of a program whose threads say where they may run.
cpu_set_t seen[2];
void look(void *const *, void *const *, char *, const char *, int64_t thread,
          int64_t, struct hova_team *team) {
  sched_getaffinity(0, sizeof seen[thread], &seen[thread]);
  hova_barrier(team, thread, 0);
}

TEST(Team, leaves_the_callers_processors_alone_and_the_worker_one_at_least) {
  hova_level level = {"any", 0, look, nullptr, nullptr};
  hova_program program = {};
  program.abi = HOVA_ABI_VERSION;
  program.num_levels = 1;
  program.name = "look";
  program.levels = &level;
  hova_options options = {};
  options.threads = 2;
  hova_context *context = nullptr;
  cpu_set_t before = usableProcessors();
  ASSERT_EQ(hova_create(&program, &options, &context), HOVA_OK);
  sleepUntilWorkersSleep();
  ASSERT_EQ(hova_run(context, nullptr, nullptr), HOVA_OK);
  hova_destroy(context);
  EXPECT_TRUE(CPU_EQUAL(&seen[0], &before));
  EXPECT_GE(CPU_COUNT(&seen[1]), 1);
  cpu_set_t both;
  CPU_AND(&both, &seen[1], &before);
  EXPECT_TRUE(CPU_EQUAL(&both, &seen[1]));
  int processors = CPU_COUNT(&before);
  EXPECT_EQ(CPU_COUNT(&seen[1]), processors > 1 ? processors - 1 : 1);
}

/// Kernels 0 and 1 are the first thread's alone.
void runAlone(void *const *, void *const *, char *, const char *,
              int64_t thread, int64_t, struct hova_team *team) {
  if (thread == 0) {
    hova_end_kernel(team, 0);
  }
  hova_barrier(team, thread, 1);
  hova_barrier(team, thread, 2);
}

TEST(Team, hooks_and_times_see_kernels_that_nobody_meets_after) {
  hova_level level = {"any", 0, runAlone, nullptr, nullptr};
  hova_program program = {};
  program.abi = HOVA_ABI_VERSION;
  program.num_levels = 1;
  program.name = "alone";
  program.levels = &level;
  program.num_kernels = 3;
  hova_options options = {};
  options.threads = 3;
  hova_context *context = nullptr;
  ASSERT_EQ(hova_create(&program, &options, &context), HOVA_OK);
  std::vector<int64_t> kernels;
  hova_set_hook(
      context,
      [](void *user, int64_t kernel) {
        static_cast<std::vector<int64_t> *>(user)->push_back(kernel);
      },
      &kernels);
  uint64_t times[4] = {};
  hova_set_times(context, times);
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(hova_run(context, nullptr, nullptr), HOVA_OK);
  }
  hova_destroy(context);
  EXPECT_EQ(kernels, (std::vector<int64_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(times[i], times[i + 1]);
  }
}

TEST(Team, works_where_all_threads_share_one_processor) {
  cpu_set_t before = usableProcessors();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  Context fixture(2);
  // The caller is bound after the workers started.
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  for (int run = 0; run < 20; ++run) {
    Call call;
    EXPECT_EQ(hova_run(fixture.context, call.inputs, call.outputs), HOVA_OK);
    EXPECT_TRUE(call.isRight());
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

} // namespace
