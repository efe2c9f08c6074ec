//===- Text.h - Text of files, fit for a terminal ---------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Names come from files that somebody else has written. A control character in
// one of them could clear the screen, and a mark that reorders text could make
// a message say the opposite. What is safe to print, in any script, is said
// here once, for programs and for the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_TEXT_H
#define HOVA_RUNTIME_TEXT_H

#include "runtime/Bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Takes one code point of well-formed UTF-8: shortest form, no surrogate. If
/// there is none, the cursor may stand anywhere after where it was.
bool hova_take_utf8(hova_cursor *cursor, uint32_t *code);

/// Takes one code point, or one byte that begins none, of a span that has not
/// ended. Returns whether it may be printed as it is: it is well-formed, and
/// neither a control character, nor a mark that reorders text, nor invisible.
/// `code` is U+FFFD for a byte that begins no code point.
bool hova_take_shown(hova_cursor *cursor, uint32_t *code);

/// Writes `text` to `shown`, which has `size` bytes, with what must not be
/// printed as \u202e, or as \x9b where it is a byte that begins no code point.
/// What does not fit is left out, and no code point is cut.
void hova_show(const char *text, char *shown, uint64_t size);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_TEXT_H
