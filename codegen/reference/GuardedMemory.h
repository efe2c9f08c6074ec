//===- GuardedMemory.h - Memory whose neighbourhood faults ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A block of memory with inaccessible pages on both sides, flush against one of
// them. What alignment leaves over between the block and a page holds a pattern
// (bytes of 0xff, which are NaN as numbers of any width) that is checked.

#ifndef HOVA_CODEGEN_REFERENCE_GUARDEDMEMORY_H
#define HOVA_CODEGEN_REFERENCE_GUARDEDMEMORY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>

namespace hova {

class GuardedMemory {
public:
  /// The end of a block that lies at an inaccessible page.
  enum class Flush { Front, Back };

  /// Filled with the pattern. The back is flush up to `alignment`.
  static llvm::Expected<GuardedMemory> create(int64_t bytes, int64_t alignment,
                                              Flush flush);
  GuardedMemory(GuardedMemory &&other);
  GuardedMemory &operator=(GuardedMemory &&) = delete;
  ~GuardedMemory();

  char *data() const { return start; }
  int64_t bytes() const { return size; }

  void makeReadOnly();

  /// Where the pattern around the block was overwritten, as an offset from its
  /// start; none if it was not.
  std::optional<int64_t> findOverwritten() const;

  /// Whether an address is in the block, what is left over or the pages.
  bool surrounds(const void *address) const;

private:
  GuardedMemory() = default;
  char *accessible() const;
  int64_t accessibleBytes() const;

  char *mapping = nullptr;
  int64_t guardBytes = 0, mappingBytes = 0;
  char *start = nullptr;
  int64_t size = 0;
};

/// An access to memory that a process may not touch.
struct MemoryFault {
  char *address;
  bool writes;
};

/// Calls `function`; the fault that ended it, if one did. Objects that it made
/// are then not destroyed: it is meant for generated code.
std::optional<MemoryFault> catchFault(llvm::function_ref<void()> function);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_GUARDEDMEMORY_H
