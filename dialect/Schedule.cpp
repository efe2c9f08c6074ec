//===- Schedule.cpp - What a target decides about a kernel ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Schedule.h"

#include "dialect/ScheduleInterfaces.cpp.inc"
