//===- Bytes.h - Checked access to the bytes of a file ----------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A file is a span (runtime/MappedFile.h), and a span is read through a cursor:
// each read returns what was asked for or fails without moving. The readers of
// this library touch file bytes in no other way, so there is one place where a
// bound can be wrong.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_BYTES_H
#define HOVA_RUNTIME_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hova_span {
  const uint8_t *data;
  uint64_t size;
} hova_span;

typedef struct hova_cursor {
  hova_span span;
  uint64_t at; ///< <= span.size
} hova_cursor;

/// Takes the next `size` bytes.
bool hova_take(hova_cursor *cursor, uint64_t size, hova_span *taken);
/// Takes a little-endian integer of 1, 2, 4 or 8 bytes.
bool hova_take_integer(hova_cursor *cursor, unsigned size, uint64_t *value);
/// Takes the next byte if it is `byte`.
bool hova_take_byte(hova_cursor *cursor, char byte);
/// Takes `text` if it comes next.
bool hova_take_text(hova_cursor *cursor, const char *text);
/// Takes every blank that comes next; JSON's (space, tab, line ends).
void hova_skip_blanks(hova_cursor *cursor);
/// The next byte, or -1 at the end.
int hova_peek(const hova_cursor *cursor);
/// The part [begin, end) of a span, if there is one.
bool hova_part(hova_span span, uint64_t begin, uint64_t end, hova_span *part);

/// Whether a span holds exactly `text`.
bool hova_span_is(hova_span span, const char *text);
/// Copies the first `size` bytes out, if there are so many.
bool hova_copy(hova_span span, void *to, uint64_t size);

/// a * b and a + b, or false where 64 bits do not hold the result.
bool hova_multiply(uint64_t a, uint64_t b, uint64_t *product);
bool hova_add(uint64_t a, uint64_t b, uint64_t *sum);

/// Takes decimal digits without sign or leading zero, at most `limit`.
bool hova_take_decimal(hova_cursor *cursor, uint64_t limit, uint64_t *value);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_BYTES_H
