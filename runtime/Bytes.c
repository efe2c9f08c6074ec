//===- Bytes.c - Checked access to the bytes of a file --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Bytes.h"

#include <string.h>

bool hova_take(hova_cursor *cursor, uint64_t size, hova_span *taken) {
  if (size > cursor->span.size - cursor->at) {
    return false;
  }
  taken->data = cursor->span.data + cursor->at;
  taken->size = size;
  cursor->at += size;
  return true;
}

bool hova_take_integer(hova_cursor *cursor, unsigned size, uint64_t *value) {
  hova_span bytes;
  if (size > 8 || !hova_take(cursor, size, &bytes)) {
    return false;
  }
  *value = 0;
  for (unsigned i = 0; i < size; ++i) {
    *value |= (uint64_t)bytes.data[i] << (8 * i);
  }
  return true;
}

int hova_peek(const hova_cursor *cursor) {
  return cursor->at < cursor->span.size ? cursor->span.data[cursor->at] : -1;
}

bool hova_take_byte(hova_cursor *cursor, char byte) {
  if (hova_peek(cursor) != (unsigned char)byte) {
    return false;
  }
  ++cursor->at;
  return true;
}

bool hova_take_text(hova_cursor *cursor, const char *text) {
  uint64_t size = strlen(text);
  if (size > cursor->span.size - cursor->at ||
      memcmp(cursor->span.data + cursor->at, text, size) != 0) {
    return false;
  }
  cursor->at += size;
  return true;
}

void hova_skip_blanks(hova_cursor *cursor) {
  for (int next = hova_peek(cursor);
       next == ' ' || next == '\t' || next == '\n' || next == '\r';
       next = hova_peek(cursor)) {
    ++cursor->at;
  }
}

bool hova_part(hova_span span, uint64_t begin, uint64_t end, hova_span *part) {
  if (begin > end || end > span.size) {
    return false;
  }
  part->data = span.data + begin;
  part->size = end - begin;
  return true;
}

bool hova_span_is(hova_span span, const char *text) {
  return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

bool hova_copy(hova_span span, void *to, uint64_t size) {
  if (size > span.size) {
    return false;
  }
  memcpy(to, span.data, size);
  return true;
}

bool hova_multiply(uint64_t a, uint64_t b, uint64_t *product) {
  return !__builtin_mul_overflow(a, b, product);
}

bool hova_add(uint64_t a, uint64_t b, uint64_t *sum) {
  return !__builtin_add_overflow(a, b, sum);
}

bool hova_take_decimal(hova_cursor *cursor, uint64_t limit, uint64_t *value) {
  hova_cursor start = *cursor;
  *value = 0;
  int next = hova_peek(cursor);
  if (next < '0' || next > '9') {
    return false;
  }
  for (; next >= '0' && next <= '9'; next = hova_peek(cursor)) {
    uint64_t digit = (uint64_t)(next - '0');
    bool leading_zero = cursor->at == start.at + 1 && *value == 0;
    if (leading_zero || !hova_multiply(*value, 10, value) ||
        !hova_add(*value, digit, value) || *value > limit) {
      *cursor = start;
      return false;
    }
    ++cursor->at;
  }
  return true;
}
