//===- FusionPolicy.cpp - Which joins pay on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/FusionPolicy.h"

#include "passes/fuse/FusionPolicy.cpp.inc"
