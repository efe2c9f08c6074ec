//===- OverlapTest.cpp - Launches that begin before others have ended -----===//
// SPDX-License-Identifier: Apache-2.0
//
// StandInDriver.c looks at the edges of a graph. No GPU has a part in this.

#include "DeviceCall.h"
#include "StandInDriver.h"

#include <algorithm>

using namespace hova::test;

namespace {

class Overlap : public testing::Test {
protected:
  void SetUp() override {
    stand_in_set_device(90, 1 << 20, 1);
    stand_in_fail(nullptr, 0, 0);
  }
  void TearDown() override {
    stand_in_set_device(80, 1 << 20, 1);
    EXPECT_EQ(stand_in_live(), 0);
  }
};

/// Programmatic edges that making a context of a program adds to its graph,
/// after which two runs are right.
int edgesOf(const hova_program &program) {
  int before = stand_in_calls("cuGraphAddDependencies_v2");
  DeviceContext made(program);
  EXPECT_EQ(made.status, HOVA_OK) << made.message;
  int edges = stand_in_calls("cuGraphAddDependencies_v2") - before;
  DeviceCall call;
  for (int run = 0; run < 2 && made.context; ++run) {
    call.clear();
    EXPECT_EQ(made.run(call), HOVA_OK) << made.message;
    EXPECT_TRUE(call.isRight());
  }
  return edges;
}

TEST_F(Overlap, kernels_that_wait_have_programmatic_edges) {
  EXPECT_EQ(edgesOf(hova_program_overlapping), 2);
}

TEST_F(Overlap, others_have_ordinary_ones) {
  EXPECT_EQ(edgesOf(hova_program_device), 0);
}

/// A program with one kernel that says something else.
struct Changed {
  hova_program program = hova_program_overlapping;
  hova_device_code code = *hova_program_overlapping.levels->device;
  hova_level level = *hova_program_overlapping.levels;
  hova_device_kernel kernels[3];

  Changed() {
    std::copy(code.kernels, code.kernels + 3, kernels);
    code.kernels = kernels;
    level.device = &code;
    program.levels = &level;
  }
};

TEST_F(Overlap, each_kernel_decides_on_the_edge_before_it) {
  Changed changed;
  changed.kernels[2].overlaps = 0;
  EXPECT_EQ(edgesOf(changed.program), 1);
}

TEST_F(Overlap, a_driver_that_refuses_such_edges_runs_one_after_the_other) {
  stand_in_fail("cuGraphAddDependencies_v2", 2, 801);
  EXPECT_EQ(edgesOf(hova_program_overlapping), 2);
}

TEST_F(Overlap, a_graph_that_cannot_be_made_at_all_is_an_error) {
  stand_in_fail("cuGraphCreate", 1, 999);
  DeviceContext made(hova_program_overlapping);
  EXPECT_EQ(made.status, HOVA_REJECTED);
}

TEST_F(Overlap, a_kernel_without_a_wait_is_noticed) {
  Changed changed;
  std::string ptx = changed.code.ptx;
  size_t last = ptx.rfind("griddepcontrol.wait;");
  ptx.erase(last, std::string("griddepcontrol.wait;").size());
  changed.code.ptx = ptx.c_str();
  EXPECT_DEATH(DeviceContext made(changed.program),
               "a kernel that does not wait stands behind a programmatic edge");
}

TEST_F(Overlap, a_device_before_9_0_is_noticed) {
  Changed changed;
  changed.code.capability = 80;
  std::string ptx = changed.code.ptx;
  ptx.replace(ptx.find("sm_90"), 5, "sm_80");
  changed.code.ptx = ptx.c_str();
  stand_in_set_device(80, 1 << 20, 1);
  EXPECT_DEATH(DeviceContext made(changed.program),
               "a programmatic edge before 9.0");
}

} // namespace
