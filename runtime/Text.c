//===- Text.c - Text of files, fit for a terminal -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Text.h"

#include <stdio.h>
#include <string.h>

bool hova_take_utf8(hova_cursor *cursor, uint32_t *code) {
  static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
  uint64_t lead, next;
  if (!hova_take_integer(cursor, 1, &lead)) {
    return false;
  }
  if (lead < 0x80) {
    *code = (uint32_t)lead;
    return true;
  }
  int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  if (lead < 0xc2 || lead > 0xf4) {
    return false;
  }
  *code = (uint32_t)lead & (0x3fu >> more);
  for (int i = 0; i < more; ++i) {
    if (!hova_take_integer(cursor, 1, &next) || (next & 0xc0) != 0x80) {
      return false;
    }
    *code = *code << 6 | (uint32_t)(next & 0x3f);
  }
  return *code >= smallest[more] && *code <= 0x10ffff &&
         (*code < 0xd800 || *code > 0xdfff);
}

/// Controls, marks that reorder text, and what is invisible: they would let a
/// file forge what a terminal shows.
static bool is_unsafe(uint32_t code) {
  static const uint32_t ranges[][2] = {
      {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
      {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
      {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xfff9, 0xfffd}, {0xe0000, 0xe0fff}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i) {
    if (code >= ranges[i][0] && code <= ranges[i][1]) {
      return true;
    }
  }
  return false;
}

bool hova_take_shown(hova_cursor *cursor, uint32_t *code) {
  uint64_t begin = cursor->at;
  if (hova_take_utf8(cursor, code)) {
    return !is_unsafe(*code);
  }
  cursor->at = begin + 1;
  *code = 0xfffd;
  return false;
}

void hova_show(const char *text, char *shown, uint64_t size) {
  hova_cursor cursor = {{(const uint8_t *)text, strlen(text)}, 0};
  uint64_t length = 0;
  while (cursor.at < cursor.span.size) {
    uint64_t begin = cursor.at;
    uint32_t code;
    char escape[16];
    const char *piece = text + begin;
    bool plain = hova_take_shown(&cursor, &code);
    uint64_t taken = cursor.at - begin;
    if (!plain) {
      bool is_byte = code == 0xfffd && taken == 1;
      int written =
          is_byte ? snprintf(escape, sizeof escape, "\\x%02x",
                             (unsigned)(unsigned char)*piece)
                  : snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code);
      piece = escape;
      taken = (uint64_t)written;
    }
    if (length + taken >= size) {
      break;
    }
    memcpy(shown + length, piece, taken);
    length += taken;
  }
  shown[length] = '\0';
}
