//===- Process.c - What a process prepares for ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Process.h"
#include "runtime/Text.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void hova_open_standard_files(void) {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (fcntl(number, F_GETFD) < 0) {
      // The wrong way round, so that nothing seems to be read or written. The
      // lowest free number is the one that is closed.
      open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void hova_report_size_limit(void) { signal(SIGXFSZ, SIG_IGN); }

//===----------------------------------------------------------------------===//
// Lost files
//===----------------------------------------------------------------------===//
//
// In a handler nothing may allocate or take a lock: the list of mappings is
// read with system calls alone.

/// A line of the list: two addresses, four more fields, the name.
typedef struct mapping {
  char text[PATH_MAX + 128];
  size_t length;
} mapping;

static uint64_t take_hexadecimal(const char **at) {
  uint64_t value = 0;
  for (;; ++*at) {
    char c = **at;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
    if (digit < 0) {
      return value;
    }
    value = value << 4 | (uint64_t)digit;
  }
}

/// The name of the file if the mapping holds the address, else null.
static char *name_at(mapping *line, uint64_t address) {
  const char *at = line->text;
  uint64_t begin = take_hexadecimal(&at);
  uint64_t end = *at == '-' ? (++at, take_hexadecimal(&at)) : 0;
  // What is not of a file has no name or one in brackets.
  char *name = strchr(line->text, '/');
  return begin <= address && address < end ? name : NULL;
}

static void write_name(const char *prefix, char *name) {
  // A terminal would obey what is not printable.
  hova_cursor cursor = {{(const uint8_t *)name, strlen(name)}, 0};
  while (cursor.at < cursor.span.size) {
    uint64_t begin = cursor.at;
    uint32_t code;
    if (!hova_take_shown(&cursor, &code)) {
      memset(name + begin, '?', cursor.at - begin);
    }
  }
  const char *const parts[] = {prefix, "cannot read '", name,
                               "': it was cut off, or its disk failed, while "
                               "it was read\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    ssize_t written = write(STDERR_FILENO, parts[i], strlen(parts[i]));
    (void)written;
  }
}

bool hova_report_lost_file(const char *prefix, const void *address) {
  int list = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  mapping line = {.length = 0};
  char chunk[1024];
  char *name = NULL;
  ssize_t size;
  while (!name && (size = read(list, chunk, sizeof chunk)) > 0) {
    for (ssize_t i = 0; i < size && !name; ++i) {
      if (chunk[i] != '\n') {
        line.text[line.length] = chunk[i];
        line.length += line.length + 1 < sizeof line.text;
        continue;
      }
      line.text[line.length] = '\0';
      line.length = 0;
      name = name_at(&line, (uintptr_t)address);
    }
  }
  close(list);
  if (name) {
    write_name(prefix, name);
  }
  return name != NULL;
}
