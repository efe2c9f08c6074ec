//===- Help.h - What a compiled program says of itself ----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_HELP_H
#define HOVA_RUNTIME_MAIN_HELP_H

#include "runtime/main/CommandLine.h"

/// One screen of help on standard output; `name` is what the program was called
/// by.
void hova_print_help(const hova_program *program, const char *name);

#endif // HOVA_RUNTIME_MAIN_HELP_H
