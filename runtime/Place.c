//===- Place.c - Where an output goes -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOST_LINKS 40
#define MOST_TEMPORARIES 100
/// What `.` and `.99.hova-tmp` leave of a name.
#define TEMPORARY_STEM (NAME_MAX - 20)

hova_status hova_place_fail(const hova_place *place, int number,
                            hova_error *error) {
  if (strcmp(place->path, "-") == 0) {
    return hova_fail(error, HOVA_IO_ERROR, "cannot write standard output: %s",
                     strerror(number));
  }
  return hova_fail(error, HOVA_IO_ERROR, "cannot write '%s': %s", place->path,
                   strerror(number));
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Splits a path into its folder and the bytes that follow, maybe none.
static const char *split(const char *path, char folder[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  if (length == 0) {
    strcpy(folder, ".");
    return path;
  }
  memcpy(folder, path, length);
  // "/" stays, "a/" becomes "a".
  folder[length > 1 ? length - 1 : length] = '\0';
  return path + length;
}

/// Links below /proc stand for what processes have open, and cannot be
/// followed by name.
static bool is_open_file(const char *link) {
  char folder[PATH_MAX];
  struct statfs system;
  split(link, folder);
  return statfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/// Follows the links that `place->target` ends in; an error number or 0.
static int follow_links(hova_place *place) {
  for (int followed = 0; followed < MOST_LINKS; ++followed) {
    char link[PATH_MAX], folder[PATH_MAX];
    ssize_t length = readlink(place->target, link, sizeof link - 1);
    if (length < 0) {
      // No link, or nothing yet.
      return errno == EINVAL || errno == ENOENT ? 0 : errno;
    }
    link[length] = '\0';
    if (is_open_file(place->target)) {
      place->stream = true;
      return 0;
    }
    split(place->target, folder);
    int written = link[0] == '/' ? snprintf(place->target, PATH_MAX, "%s", link)
                                 : snprintf(place->target, PATH_MAX, "%s/%s",
                                            folder, link);
    if (written < 0 || written >= PATH_MAX) {
      return ENAMETOOLONG;
    }
  }
  return ELOOP;
}

/// A file that exists can be replaced if it and its folder can be written, and
/// a folder where files belong to their owners alone lets us.
static int check_replaceable(const hova_place *place, const struct stat *file,
                             const struct stat *folder) {
  if (faccessat(AT_FDCWD, place->target, W_OK, AT_EACCESS) != 0) {
    return errno;
  }
  uid_t user = geteuid();
  bool ours = user == 0 || user == file->st_uid || user == folder->st_uid;
  if ((folder->st_mode & S_ISVTX) && !ours) {
    return EPERM;
  }
  struct statx mounted;
  if (statx(AT_FDCWD, place->target, AT_SYMLINK_NOFOLLOW, 0, &mounted) == 0 &&
      (mounted.stx_attributes & STATX_ATTR_MOUNT_ROOT)) {
    return EBUSY;
  }
  return 0;
}

/// A regular file, maybe one to be made.
static int find_regular(hova_place *place, const struct stat *file) {
  char path[PATH_MAX];
  struct stat folder;
  const char *name = split(place->target, path);
  if (!*name) {
    return EISDIR;
  }
  if (strlen(name) > NAME_MAX) {
    return ENAMETOOLONG;
  }
  if (stat(path, &folder) != 0 ||
      faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0) {
    return errno;
  }
  int failure = file ? check_replaceable(place, file, &folder) : 0;
  place->identity.known = true;
  place->identity.device = file ? file->st_dev : folder.st_dev;
  place->identity.number = file ? file->st_ino : folder.st_ino;
  if (!file) {
    strcpy(place->identity.name, name);
  }
  return failure;
}

static int find(hova_place *place) {
  struct stat file;
  if (strcmp(place->path, "-") == 0) {
    strcpy(place->target, "/proc/self/fd/1");
    place->stream = true;
    return 0;
  }
  if (strlen(place->path) >= PATH_MAX) {
    return ENAMETOOLONG;
  }
  strcpy(place->target, place->path);
  int failure = follow_links(place);
  if (failure) {
    return failure;
  }
  if (stat(place->target, &file) != 0) {
    return errno == ENOENT && !place->stream ? find_regular(place, NULL)
                                             : errno;
  }
  if (S_ISDIR(file.st_mode)) {
    return EISDIR;
  }
  if (place->stream) {
    return 0;
  }
  if (S_ISREG(file.st_mode)) {
    return find_regular(place, &file);
  }
  place->stream = true;
  return faccessat(AT_FDCWD, place->target, W_OK, AT_EACCESS) != 0 ? errno : 0;
}

hova_status hova_place_find(const char *path, hova_place *place,
                            hova_error *error) {
  place->path = path;
  place->stream = false;
  place->descriptor = -1;
  place->exchanged = false;
  memset(&place->identity, 0, sizeof place->identity);
  int failure = find(place);
  return failure ? hova_place_fail(place, failure, error) : HOVA_OK;
}

hova_identity hova_identify(const char *path) {
  hova_identity identity = {0};
  struct stat file;
  if (stat(path, &file) == 0 && S_ISREG(file.st_mode)) {
    identity.known = true;
    identity.device = file.st_dev;
    identity.number = file.st_ino;
  }
  return identity;
}

bool hova_is_same_file(const hova_identity *a, const hova_identity *b) {
  return a->known && b->known && a->device == b->device &&
         a->number == b->number && strcmp(a->name, b->name) == 0;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Opening anew what this process has open, as /dev/stdout does, would write
/// over its start; and sockets cannot be opened.
static int open_stream(const hova_place *place) {
  char folder[PATH_MAX];
  const char *name = split(place->target, folder);
  char *end = NULL;
  long number = strtol(name, &end, 10);
  struct stat ours, named;
  bool is_ours = is_open_file(place->target) && *name && !*end && number >= 0 &&
                 number <= INT_MAX && fstat((int)number, &ours) == 0 &&
                 stat(place->target, &named) == 0 &&
                 ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
  return is_ours ? fcntl((int)number, F_DUPFD_CLOEXEC, 3)
                 : open(place->target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

/// Whether an open file still has its name: the name may have gone to another
/// file before this one was locked.
static bool has_name(int descriptor, const char *name) {
  struct stat named, ours;
  return lstat(name, &named) == 0 && fstat(descriptor, &ours) == 0 &&
         named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
}

/// Removes a temporary file that nobody holds; 0 or an error number. Who has
/// the lock is alone in renaming or removing the file.
static int remove_abandoned(const char *temporary) {
  int descriptor =
      open(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return errno;
  }
  struct stat file;
  bool removed = fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) &&
                 flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
                 has_name(descriptor, temporary) && unlink(temporary) == 0;
  close(descriptor);
  return removed ? 0 : EBUSY;
}

/// The name of the temporary file of this number; 0 or an error number.
static int name_temporary(hova_place *place, unsigned number) {
  char folder[PATH_MAX];
  const char *name = split(place->target, folder);
  int length = snprintf(place->temporary, PATH_MAX, "%s/.%.*s.%u.hova-tmp",
                        folder, TEMPORARY_STEM, name, number);
  return length < 0 || length >= PATH_MAX ? ENAMETOOLONG : 0;
}

/// Makes and locks the temporary file; 0 or an error number, EEXIST if another
/// process has it.
static int make_temporary(hova_place *place, unsigned mode) {
  place->descriptor =
      open(place->temporary,
           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (place->descriptor < 0) {
    return errno;
  }
  // Where a file system has no locks, nothing is ever abandoned either.
  bool locked = flock(place->descriptor, LOCK_EX | LOCK_NB) == 0;
  if ((locked || errno != EWOULDBLOCK) &&
      has_name(place->descriptor, place->temporary)) {
    return 0;
  }
  close(place->descriptor);
  place->descriptor = -1;
  return EEXIST;
}

/// The temporary file of the lowest number that is free; 0 or an error number.
static int find_temporary(hova_place *place, unsigned mode) {
  for (unsigned number = 0; number < MOST_TEMPORARIES; ++number) {
    int failure = name_temporary(place, number);
    if (!failure) {
      failure = make_temporary(place, mode);
    }
    if (failure == EEXIST && remove_abandoned(place->temporary) == 0) {
      failure = make_temporary(place, mode);
    }
    if (failure != EEXIST) {
      return failure;
    }
  }
  return EEXIST;
}

/// Several processes that were killed have left several.
static void remove_all_abandoned(const hova_place *place) {
  hova_place other = *place;
  for (unsigned number = 0;
       number < MOST_TEMPORARIES && name_temporary(&other, number) == 0;
       ++number) {
    if (strcmp(other.temporary, place->temporary) != 0 &&
        remove_abandoned(other.temporary) == ENOENT) {
      return;
    }
  }
}

hova_status hova_place_open(hova_place *place, unsigned mode,
                            hova_error *error) {
  if (place->stream) {
    place->descriptor = open_stream(place);
    return place->descriptor < 0 ? hova_place_fail(place, errno, error)
                                 : HOVA_OK;
  }
  struct stat old;
  bool replaces = stat(place->target, &old) == 0;
  // As the file was, but what can be read can be executed if that is asked.
  unsigned kept = replaces ? old.st_mode & 0777 : 0;
  kept |= mode & 0111 & (kept >> 2);
  int failure = find_temporary(place, replaces ? kept : mode);
  if (failure) {
    return hova_place_fail(place, failure, error);
  }
  if (replaces) {
    // Only root can give files away, and nobody to a group that he is not in:
    // what the old group might do is then not granted to another.
    if (fchown(place->descriptor, old.st_uid, old.st_gid) != 0 &&
        fchown(place->descriptor, (uid_t)-1, old.st_gid) != 0) {
      kept &= ~0070u;
    }
    fchmod(place->descriptor, kept);
  }
  remove_all_abandoned(place);
  return HOVA_OK;
}

//===----------------------------------------------------------------------===//
// Ending
//===----------------------------------------------------------------------===//

/// A descriptor that cannot be synchronised, such as a FIFO, needs not be.
static int synchronise(const hova_place *place) {
  return !place->stream && fsync(place->descriptor) != 0 && errno != EINVAL
             ? errno
             : 0;
}

/// Gives the temporary file the final name. If it is one of several, it changes
/// places with what had that name, where the file system can do that, so that
/// the change can be taken back.
static int put(hova_place *place, bool alone) {
  if (place->stream) {
    return 0;
  }
  if (!alone && renameat2(AT_FDCWD, place->temporary, AT_FDCWD, place->target,
                          RENAME_EXCHANGE) == 0) {
    place->exchanged = true;
    return 0;
  }
  return rename(place->temporary, place->target) != 0 ? errno : 0;
}

static void take_back(const hova_place *place) {
  if (place->exchanged) {
    rename(place->temporary, place->target);
  } else if (!place->stream && place->identity.name[0]) {
    unlink(place->target);
  }
}

static void close_place(hova_place *place) {
  // After the rename, which ends the lock: without its name it would look
  // abandoned. Nothing is lost any more, because it is synchronised.
  close(place->descriptor);
  place->descriptor = -1;
}

hova_status hova_places_keep(hova_place **places, size_t count,
                             hova_error *error) {
  hova_status status = HOVA_OK;
  for (size_t i = 0; i < count && status == HOVA_OK; ++i) {
    int failure = synchronise(places[i]);
    status = failure ? hova_place_fail(places[i], failure, error) : HOVA_OK;
  }
  size_t named = 0;
  while (named < count && status == HOVA_OK) {
    int failure = put(places[named], count == 1);
    if (failure) {
      status = hova_place_fail(places[named], failure, error);
    } else {
      ++named;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (status != HOVA_OK && i < named) {
      take_back(places[i]);
      close_place(places[i]);
      continue;
    }
    if (status == HOVA_OK && places[i]->exchanged) {
      unlink(places[i]->temporary);
    }
    if (status == HOVA_OK) {
      close_place(places[i]);
    } else {
      hova_place_discard(places[i]);
    }
  }
  return status;
}

void hova_place_discard(hova_place *place) {
  if (place->descriptor < 0) {
    return;
  }
  if (!place->stream) {
    unlink(place->temporary);
  }
  close_place(place);
}
