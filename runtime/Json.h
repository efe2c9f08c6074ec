//===- Json.h - Strings of a JSON header ------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_JSON_H
#define HOVA_RUNTIME_JSON_H

#include "runtime/Bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Takes a JSON string and writes its text as UTF-8 of at most `limit` bytes
/// and a terminator to `text`, which has limit + 1 bytes. Fails on anything
/// that is not a string, is longer, is not UTF-8 (also after escapes) or holds
/// a control character.
bool hova_take_json_string(hova_cursor *cursor, char *text, uint64_t limit,
                           uint64_t *length);

/// Takes a JSON string without keeping it; control characters may be escaped.
bool hova_skip_json_string(hova_cursor *cursor);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_JSON_H
