//===- Checksum.h - CRC-32 --------------------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_CHECKSUM_H
#define HOVA_RUNTIME_CHECKSUM_H

#include "runtime/Bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The CRC-32 of zlib, PNG and Ethernet (reflected polynomial 0xEDB88320) of
/// all bytes; 0 of none. Every change of up to 32 bits in a row changes it.
uint32_t hova_checksum(hova_span bytes);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_CHECKSUM_H
