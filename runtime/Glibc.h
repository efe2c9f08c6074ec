//===- Glibc.h - The oldest C library that programs start with --*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// Programs start with glibc 2.28 and all later ones (Debian 10, Ubuntu 20.04,
// RHEL 8), wherever hova was built. A linker binds a name to its newest
// version, and a newer library lists some of what is old under a new version,
// because it moved from libpthread or libdl to libc: 2.34 of pthread_create.
// This header, which the compiler includes in front of each source of the
// runtime, binds those to the version that every library has, and puts statx
// (2.28) in the place of stat, fstat and lstat, which are functions of the
// library only since 2.33. test/runtime/test_link.py reads what programs need.
//
// Programs name libpthread.so.0, and for a GPU libdl.so.2, as libraries that
// they need (codegen/program/Link.cpp): before 2.34 these functions are there.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_GLIBC_H
#define HOVA_RUNTIME_GLIBC_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define HOVA_BIND(name, version)                                               \
  __asm__(".symver " #name "," #name "@GLIBC_" #version)

HOVA_BIND(pthread_create, 2.2.5);
HOVA_BIND(pthread_join, 2.2.5);
HOVA_BIND(pthread_sigmask, 2.2.5);
HOVA_BIND(pthread_attr_setstacksize, 2.2.5);
HOVA_BIND(pthread_setaffinity_np, 2.3.4);
HOVA_BIND(dlopen, 2.2.5);
HOVA_BIND(dlsym, 2.2.5);
HOVA_BIND(dlerror, 2.2.5);
HOVA_BIND(dlclose, 2.2.5);
HOVA_BIND(dladdr, 2.2.5);
HOVA_BIND(exp2, 2.2.5);
HOVA_BIND(log2, 2.2.5);

/// stat, fstat and lstat by `statx`: 0, or -1 and errno. The file is `path`
/// below `descriptor`, or that itself where AT_EMPTY_PATH is among the flags.
/// Only what the runtime asks for is filled in: device, number, mode, links,
/// owner, group, size and times of changes in seconds.
static inline int hova_stat(int descriptor, const char *path, int flags,
                            struct stat *info) {
  struct statx found;
  if (statx(descriptor, path, flags, STATX_BASIC_STATS, &found) != 0) {
    return -1;
  }
  memset(info, 0, sizeof *info);
  info->st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  info->st_rdev = makedev(found.stx_rdev_major, found.stx_rdev_minor);
  info->st_ino = found.stx_ino;
  info->st_mode = found.stx_mode;
  info->st_nlink = found.stx_nlink;
  info->st_uid = found.stx_uid;
  info->st_gid = found.stx_gid;
  info->st_size = (off_t)found.stx_size;
  info->st_mtime = found.stx_mtime.tv_sec;
  info->st_ctime = found.stx_ctime.tv_sec;
  return 0;
}

#define stat(path, info) hova_stat(AT_FDCWD, path, 0, info)
#define lstat(path, info) hova_stat(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, info)
#define fstat(descriptor, info) hova_stat(descriptor, "", AT_EMPTY_PATH, info)

#endif
#endif // HOVA_RUNTIME_GLIBC_H
