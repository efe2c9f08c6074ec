//===- Glibc.c - The oldest C library that the wheel starts with ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The compiler inside of the wheel needs glibc 2.28 and no later one, as its
// programs do (runtime/Glibc.h), wherever the wheel was built. The archives of
// LLVM and of the C++ library ask for functions without a version, which the
// linker binds to the newest. The definitions here are found before those of
// the C library: what only moved or got a new version since goes on to the
// version that every library has, and what is younger is made of what is older.
// test/full/python/test_package.py reads what the wheel needs, so that a symbol
// that is missing here fails.
//
//===----------------------------------------------------------------------===//

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// What is older than its version
//===----------------------------------------------------------------------===//

// `name` jumps to its version `version`; each is a section, so that the linker
// drops those that nobody calls.
#define HOVA_OLDER(name, version)                                              \
  __asm__(".symver hova_older_" #name "," #name "@GLIBC_" #version "\n"        \
          ".section .text." #name ",\"ax\",@progbits\n"                        \
          ".globl " #name "\n"                                                 \
          ".type " #name ",@function\n" #name ":\n"                            \
          ".cfi_startproc\n"                                                   \
          "  jmp *hova_older_" #name "@GOTPCREL(%rip)\n"                       \
          ".cfi_endproc\n"                                                     \
          ".size " #name ",.-" #name "\n"                                      \
          ".text\n")

// 2.29: versions of these that set no errno by way of a handler.
HOVA_OLDER(exp, 2.2.5);
HOVA_OLDER(exp2, 2.2.5);
HOVA_OLDER(log, 2.2.5);
HOVA_OLDER(log2, 2.2.5);
HOVA_OLDER(pow, 2.2.5);
// 2.32 and 2.34: moved from libpthread and libdl.
HOVA_OLDER(pthread_sigmask, 2.2.5);
HOVA_OLDER(__pthread_key_create, 2.2.5);
HOVA_OLDER(pthread_attr_setstacksize, 2.2.5);
HOVA_OLDER(pthread_create, 2.2.5);
HOVA_OLDER(pthread_detach, 2.2.5);
HOVA_OLDER(pthread_getname_np, 2.12);
HOVA_OLDER(pthread_join, 2.2.5);
HOVA_OLDER(pthread_once, 2.2.5);
HOVA_OLDER(pthread_rwlock_rdlock, 2.2.5);
HOVA_OLDER(pthread_rwlock_unlock, 2.2.5);
HOVA_OLDER(pthread_rwlock_wrlock, 2.2.5);
HOVA_OLDER(pthread_setname_np, 2.12);
HOVA_OLDER(dladdr, 2.2.5);
HOVA_OLDER(dlclose, 2.2.5);
HOVA_OLDER(dlerror, 2.2.5);
HOVA_OLDER(dlopen, 2.2.5);
HOVA_OLDER(dlsym, 2.2.5);

//===----------------------------------------------------------------------===//
// What is younger
//===----------------------------------------------------------------------===//

// Functions only since 2.33. Before, headers called these with the number of
// the layout of `struct stat`, of which x86-64 has had one.
enum { kStatLayout = 1 };
int __xstat(int layout, const char *path, struct stat *info);
int __lxstat(int layout, const char *path, struct stat *info);
int __fxstat(int layout, int descriptor, struct stat *info);
__asm__(".symver __xstat,__xstat@GLIBC_2.2.5");
__asm__(".symver __lxstat,__lxstat@GLIBC_2.2.5");
__asm__(".symver __fxstat,__fxstat@GLIBC_2.2.5");

int stat(const char *path, struct stat *info) {
  return __xstat(kStatLayout, path, info);
}
int lstat(const char *path, struct stat *info) {
  return __lxstat(kStatLayout, path, info);
}
int fstat(int descriptor, struct stat *info) {
  return __fxstat(kStatLayout, descriptor, info);
}

// 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.30: by the clock that conditions have. Where that one is set meanwhile, the
// wait may end early, which callers expect of every wait.
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           clockid_t clock, const struct timespec *end) {
  const long second = 1000000000;
  struct timespec now, there;
  if (clock_gettime(clock, &now) != 0 ||
      clock_gettime(CLOCK_REALTIME, &there) != 0) {
    return errno;
  }
  there.tv_sec += end->tv_sec - now.tv_sec;
  there.tv_nsec += end->tv_nsec - now.tv_nsec;
  if (there.tv_nsec < 0) {
    there.tv_nsec += second;
    --there.tv_sec;
  } else if (there.tv_nsec >= second) {
    there.tv_nsec -= second;
    ++there.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &there);
}

// 2.32: whether no lock is needed. False is always right.
char __libc_single_threaded = 0;

// 2.32.
const char *sigabbrev_np(int signal) {
#define NAME(name) [SIG##name] = #name
  static const char *const names[] = {
      NAME(HUP),  NAME(INT),    NAME(QUIT), NAME(ILL),   NAME(TRAP),
      NAME(ABRT), NAME(BUS),    NAME(FPE),  NAME(KILL),  NAME(USR1),
      NAME(SEGV), NAME(USR2),   NAME(PIPE), NAME(ALRM),  NAME(TERM),
      NAME(CHLD), NAME(CONT),   NAME(STOP), NAME(TSTP),  NAME(TTIN),
      NAME(TTOU), NAME(URG),    NAME(XCPU), NAME(XFSZ),  NAME(VTALRM),
      NAME(PROF), NAME(STKFLT), NAME(IO),   NAME(WINCH), NAME(PWR),
      NAME(SYS)};
#undef NAME
  const int count = sizeof names / sizeof *names;
  return signal < 0 || signal >= count ? 0 : names[signal];
}

// 2.33: LLVM prints these sizes. Older numbers are their low 32 bits.
struct mallinfo hova_older_mallinfo(void) __asm__("mallinfo");
struct mallinfo2 mallinfo2(void) {
  struct mallinfo less = hova_older_mallinfo();
  struct mallinfo2 info = {(unsigned)less.arena,    (unsigned)less.ordblks,
                           (unsigned)less.smblks,   (unsigned)less.hblks,
                           (unsigned)less.hblkhd,   (unsigned)less.usmblks,
                           (unsigned)less.fsmblks,  (unsigned)less.uordblks,
                           (unsigned)less.fordblks, (unsigned)less.keepcost};
  return info;
}

// 2.36: numbers of which LLVM makes names of temporary files.
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

//===----------------------------------------------------------------------===//
// Where functions unwind
//===----------------------------------------------------------------------===//

struct hova_search {
  uintptr_t address;
  struct dl_find_object *found;
};

static int hova_look(struct dl_phdr_info *info, size_t size, void *user) {
  struct hova_search *search = user;
  (void)size;
  const ElfW(Phdr) *table = 0;
  int is_inside = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD &&
        search->address - begin < segment->p_memsz) {
      is_inside = 1;
      search->found->dlfo_map_start = (void *)begin;
      search->found->dlfo_map_end = (void *)(begin + segment->p_memsz);
    } else if (segment->p_type == PT_GNU_EH_FRAME) {
      table = segment;
    }
  }
  if (!is_inside || !table) {
    return is_inside;
  }
  search->found->dlfo_eh_frame = (void *)(info->dlpi_addr + table->p_vaddr);
  return 1;
}

// 2.35: what the unwinder of libgcc asks, which older ones look for themselves
// in this way. 0: found. It reads the table of the object alone.
int _dl_find_object(void *address, struct dl_find_object *result) {
  *result = (struct dl_find_object){0};
  struct hova_search search = {(uintptr_t)address, result};
  dl_iterate_phdr(hova_look, &search);
  return result->dlfo_eh_frame ? 0 : -1;
}
