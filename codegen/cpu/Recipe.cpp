//===- Recipe.cpp - The loops of an operation on a CPU --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/Recipe.h"

#include "codegen/cpu/Recipe.cpp.inc"
