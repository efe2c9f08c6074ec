//===- Checksum.c - CRC-32 ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Eight bytes at a time: steps[k][b] is what byte b does to the checksum when k
// zero bytes follow it, so that eight steps are eight look-ups that do not wait
// for each other. That of a byte is the sum, modulo 2, of those of its bits, so
// the tables are constants of the program and 64 numbers here: callers may have
// a small stack, and no writable global may exist.
//
//===----------------------------------------------------------------------===//

#include "runtime/Checksum.h"

enum { AT_ONCE = 8 };

/// The entry of `byte`, whose lowest bit counts `a` and whose highest one `h`.
#define ENTRY(byte, a, b, c, d, e, f, g, h)                                    \
  ((byte & 1 ? a : 0u) ^ (byte & 2 ? b : 0u) ^ (byte & 4 ? c : 0u) ^           \
   (byte & 8 ? d : 0u) ^ (byte & 16 ? e : 0u) ^ (byte & 32 ? f : 0u) ^         \
   (byte & 64 ? g : 0u) ^ (byte & 128 ? h : 0u))
#define FOUR(byte, ...)                                                        \
  ENTRY((byte), __VA_ARGS__), ENTRY((byte + 1), __VA_ARGS__),                  \
      ENTRY((byte + 2), __VA_ARGS__), ENTRY((byte + 3), __VA_ARGS__)
#define SIXTEEN(byte, ...)                                                     \
  FOUR(byte, __VA_ARGS__), FOUR(byte + 4, __VA_ARGS__),                        \
      FOUR(byte + 8, __VA_ARGS__), FOUR(byte + 12, __VA_ARGS__)
#define SIXTY_FOUR(byte, ...)                                                  \
  SIXTEEN(byte, __VA_ARGS__), SIXTEEN(byte + 16, __VA_ARGS__),                 \
      SIXTEEN(byte + 32, __VA_ARGS__), SIXTEEN(byte + 48, __VA_ARGS__)
#define STEP(...)                                                              \
  {SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__),                    \
   SIXTY_FOUR(128, __VA_ARGS__), SIXTY_FOUR(192, __VA_ARGS__)}

/// From the highest bit of the first table down, and on in the next one, each
/// number is the one before times x, modulo the polynomial.
static const uint32_t steps[AT_ONCE][256] = {
    STEP(0x77073096, 0xEE0E612C, 0x076DC419, 0x0EDB8832, 0x1DB71064, 0x3B6E20C8,
         0x76DC4190, 0xEDB88320),
    STEP(0x191B3141, 0x32366282, 0x646CC504, 0xC8D98A08, 0x4AC21251, 0x958424A2,
         0xF0794F05, 0x3B83984B),
    STEP(0x01C26A37, 0x0384D46E, 0x0709A8DC, 0x0E1351B8, 0x1C26A370, 0x384D46E0,
         0x709A8DC0, 0xE1351B80),
    STEP(0xB8BC6765, 0xAA09C88B, 0x8F629757, 0xC5B428EF, 0x5019579F, 0xA032AF3E,
         0x9B14583D, 0xED59B63B),
    STEP(0x3D6029B0, 0x7AC05360, 0xF580A6C0, 0x30704BC1, 0x60E09782, 0xC1C12F04,
         0x58F35849, 0xB1E6B092),
    STEP(0xCB5CD3A5, 0x4DC8A10B, 0x9B914216, 0xEC53826D, 0x03D6029B, 0x07AC0536,
         0x0F580A6C, 0x1EB014D8),
    STEP(0xA6770BB4, 0x979F1129, 0xF44F2413, 0x33EF4E67, 0x67DE9CCE, 0xCFBD399C,
         0x440B7579, 0x8816EAF2),
    STEP(0xCCAA009E, 0x4225077D, 0x844A0EFA, 0xD3E51BB5, 0x7CBB312B, 0xF9766256,
         0x299DC2ED, 0x533B85DA),
};

uint32_t hova_checksum(hova_span bytes) {
  const uint8_t *at = bytes.data;
  uint32_t crc = UINT32_MAX;
  uint64_t size = bytes.size;
  for (; size >= AT_ONCE; size -= AT_ONCE, at += AT_ONCE) {
    uint32_t next = 0;
    for (int i = 0; i < AT_ONCE; ++i) {
      uint32_t old = i < 4 ? crc >> 8 * i & 255 : 0;
      next ^= steps[AT_ONCE - 1 - i][at[i] ^ old];
    }
    crc = next;
  }
  for (; size > 0; --size, ++at) {
    crc = crc >> 8 ^ steps[0][(*at ^ crc) & 255];
  }
  return ~crc;
}
