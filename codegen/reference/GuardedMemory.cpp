//===- GuardedMemory.cpp - Memory whose neighbourhood faults --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/GuardedMemory.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

using namespace hova;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr unsigned char kPattern = 0xff;
/// Inaccessible on each side at least: a stray address is far more often near
/// than far. It is address space, not memory.
static constexpr int64_t kLeastGuard = 1 << 20;

llvm::Expected<GuardedMemory>
GuardedMemory::create(int64_t bytes, int64_t alignment, Flush flush) {
  int64_t page = sysconf(_SC_PAGESIZE);
  int64_t inner = llvm::alignTo(std::max<int64_t>(bytes, 1), page);
  GuardedMemory memory;
  memory.guardBytes = std::max(kLeastGuard, inner);
  memory.mappingBytes = inner + 2 * memory.guardBytes;
  memory.size = bytes;
  void *mapping = mmap(nullptr, memory.mappingBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping != MAP_FAILED) {
    memory.mapping = static_cast<char *>(mapping);
  }
  if (!memory.mapping ||
      mprotect(memory.accessible(), inner, PROT_READ | PROT_WRITE) != 0) {
    return llvm::createStringError(std::errc::not_enough_memory,
                                   "out of memory for guard pages around %lld "
                                   "bytes",
                                   static_cast<long long>(bytes));
  }
  int64_t offset = flush == Flush::Front ? 0 : inner - bytes;
  memory.start = memory.accessible() + offset / alignment * alignment;
  memset(memory.accessible(), kPattern, inner);
  return memory;
}

GuardedMemory::GuardedMemory(GuardedMemory &&other)
    : mapping(other.mapping), guardBytes(other.guardBytes),
      mappingBytes(other.mappingBytes), start(other.start), size(other.size) {
  other.mapping = nullptr;
}

GuardedMemory::~GuardedMemory() {
  if (mapping) {
    munmap(mapping, mappingBytes);
  }
}

char *GuardedMemory::accessible() const { return mapping + guardBytes; }

int64_t GuardedMemory::accessibleBytes() const {
  return mappingBytes - 2 * guardBytes;
}

void GuardedMemory::makeReadOnly() {
  // A failure leaves the block writable, which only hides a mistake.
  [[maybe_unused]] int failure =
      mprotect(accessible(), accessibleBytes(), PROT_READ);
}

std::optional<int64_t> GuardedMemory::findOverwritten() const {
  auto overwritten = [](char byte) {
    return static_cast<unsigned char>(byte) != kPattern;
  };
  // The one nearest to the block, after it or before.
  const char *end = accessible() + accessibleBytes();
  const char *after =
      std::find_if(static_cast<const char *>(start) + size, end, overwritten);
  if (after != end) {
    return after - start;
  }
  for (const char *before = start; before != accessible();) {
    if (overwritten(*--before)) {
      return before - start;
    }
  }
  return std::nullopt;
}

bool GuardedMemory::surrounds(const void *address) const {
  auto *byte = static_cast<const char *>(address);
  return byte >= mapping && byte < mapping + mappingBytes;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

namespace {
/// Where this thread goes on after a fault.
struct Trap {
  sigjmp_buf resume;
  MemoryFault fault;
};
} // namespace

static thread_local Trap *activeTrap = nullptr;
/// The process's own handler.
static struct sigaction otherAction;

static void onFault(int number, siginfo_t *info, void *context) {
  if (!activeTrap) {
    // Not ours: it comes again at once, and the process's handler reports it.
    sigaction(number, &otherAction, nullptr);
    return;
  }
  // Bit 1 of the processor's error code tells writes from reads.
  auto *machine = static_cast<ucontext_t *>(context);
  bool writes = machine->uc_mcontext.gregs[REG_ERR] & 2;
  activeTrap->fault = {static_cast<char *>(info->si_addr), writes};
  siglongjmp(activeTrap->resume, 1);
}

std::optional<MemoryFault>
hova::catchFault(llvm::function_ref<void()> function) {
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &otherAction);
  Trap trap;
  activeTrap = &trap;
  bool faulted = sigsetjmp(trap.resume, /*savesigs=*/1) != 0;
  if (!faulted) {
    function();
  }
  activeTrap = nullptr;
  sigaction(SIGSEGV, &otherAction, nullptr);
  return faulted ? std::optional(trap.fault) : std::nullopt;
}
