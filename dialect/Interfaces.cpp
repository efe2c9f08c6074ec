//===- Interfaces.cpp - Interface definitions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Interfaces.h"

#include "dialect/Interfaces.cpp.inc"
