//===- Checksum.c - CRC-32 ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Eight bytes at a time: steps[k][b] is what byte b does to the checksum when k
// zero bytes follow it, so that eight steps are eight look-ups that do not wait
// for each other. The tables are made on the stack, as no writable global may
// exist, in less time than a page takes.
//
//===----------------------------------------------------------------------===//

#include "runtime/Checksum.h"

enum { AT_ONCE = 8 };

typedef struct crc_tables {
  uint32_t steps[AT_ONCE][256];
} crc_tables;

static void make_tables(crc_tables *tables) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    tables->steps[0][byte] = crc;
  }
  for (int step = 1; step < AT_ONCE; ++step) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = tables->steps[step - 1][byte];
      tables->steps[step][byte] = crc >> 8 ^ tables->steps[0][crc & 255];
    }
  }
}

uint32_t hova_checksum(hova_span bytes) {
  crc_tables tables;
  make_tables(&tables);
  const uint8_t *at = bytes.data;
  uint32_t crc = UINT32_MAX;
  uint64_t size = bytes.size;
  for (; size >= AT_ONCE; size -= AT_ONCE, at += AT_ONCE) {
    uint32_t next = 0;
    for (int i = 0; i < AT_ONCE; ++i) {
      uint32_t old = i < 4 ? crc >> 8 * i & 255 : 0;
      next ^= tables.steps[AT_ONCE - 1 - i][at[i] ^ old];
    }
    crc = next;
  }
  for (; size > 0; --size, ++at) {
    crc = crc >> 8 ^ tables.steps[0][(*at ^ crc) & 255];
  }
  return ~crc;
}
