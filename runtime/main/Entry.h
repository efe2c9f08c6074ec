//===- Entry.h - What the linker provides -----------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// An executable or shared library holds one program. When it is linked, the
// names below are bound to its description and to its embedded packed weights
// (empty where these are a file of their own).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_MAIN_ENTRY_H
#define HOVA_RUNTIME_MAIN_ENTRY_H

#include "runtime/hova_runtime.h"

#define HOVA_HIDDEN __attribute__((visibility("hidden")))

extern const hova_program hova_linked_program HOVA_HIDDEN;
extern const char hova_weights_begin[] HOVA_HIDDEN;
/// Bytes of the embedded image, 0 where there is none. A number, since the end
/// of the image may be too far away for a symbol.
extern const uint64_t hova_weights_bytes HOVA_HIDDEN;

#endif // HOVA_RUNTIME_MAIN_ENTRY_H
