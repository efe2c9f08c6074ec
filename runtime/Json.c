//===- Json.c - Strings of a JSON header ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Json.h"

#include "runtime/Text.h"

static bool take_hex4(hova_cursor *cursor, uint32_t *value) {
  *value = 0;
  for (int i = 0; i < 4; ++i) {
    int next = hova_peek(cursor);
    uint32_t digit;
    if (next >= '0' && next <= '9') {
      digit = (uint32_t)(next - '0');
    } else if ((next | 0x20) >= 'a' && (next | 0x20) <= 'f') {
      digit = (uint32_t)((next | 0x20) - 'a' + 10);
    } else {
      return false;
    }
    *value = *value << 4 | digit;
    ++cursor->at;
  }
  return true;
}

/// Takes what follows a backslash. Halves of a surrogate pair must be two.
static bool take_escape(hova_cursor *cursor, uint32_t *code) {
  static const char from[] = "\"\\/bfnrt";
  static const char to[] = "\"\\/\b\f\n\r\t";
  for (int i = 0; from[i]; ++i) {
    if (hova_take_byte(cursor, from[i])) {
      *code = (uint32_t)to[i];
      return true;
    }
  }
  if (!hova_take_byte(cursor, 'u') || !take_hex4(cursor, code)) {
    return false;
  }
  if (*code < 0xd800 || *code > 0xdfff) {
    return true;
  }
  uint32_t low;
  if (*code > 0xdbff || !hova_take_text(cursor, "\\u") ||
      !take_hex4(cursor, &low) || low < 0xdc00 || low > 0xdfff) {
    return false;
  }
  *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
  return true;
}

/// Takes one character of a string, decoded.
static bool take_character(hova_cursor *cursor, uint32_t *code) {
  if (hova_take_byte(cursor, '\\')) {
    return take_escape(cursor, code);
  }
  return hova_take_utf8(cursor, code) && *code >= 0x20;
}

/// Writes a character as UTF-8; returns its length, 1 to 4.
static unsigned encode_utf8(uint32_t code, unsigned char bytes[4]) {
  if (code < 0x80) {
    bytes[0] = (unsigned char)code;
    return 1;
  }
  unsigned length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (unsigned i = length - 1; i > 0; --i) {
    bytes[i] = (unsigned char)(0x80 | (code & 0x3f));
    code >>= 6;
  }
  bytes[0] = (unsigned char)((0xf00u >> length & 0xf0u) | code);
  return length;
}

bool hova_take_json_string(hova_cursor *cursor, char *text, uint64_t limit,
                           uint64_t *length) {
  *length = 0;
  if (!hova_take_byte(cursor, '"')) {
    return false;
  }
  while (!hova_take_byte(cursor, '"')) {
    uint32_t code;
    unsigned char bytes[4];
    // C0, DEL and C1 controls.
    if (!take_character(cursor, &code) || code < 0x20 ||
        (code >= 0x7f && code < 0xa0)) {
      return false;
    }
    unsigned size = encode_utf8(code, bytes);
    if (size > limit - *length) {
      return false;
    }
    for (unsigned i = 0; i < size; ++i) {
      text[(*length)++] = (char)bytes[i];
    }
  }
  text[*length] = '\0';
  return true;
}

bool hova_skip_json_string(hova_cursor *cursor) {
  uint32_t code;
  if (!hova_take_byte(cursor, '"')) {
    return false;
  }
  while (!hova_take_byte(cursor, '"')) {
    if (!take_character(cursor, &code)) {
      return false;
    }
  }
  return true;
}
