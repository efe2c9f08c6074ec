//===- StandInKernels.c - What kernels do on the stand-in -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the tests of this folder are functions below. Kernels of a
// compiled program are known by their PTX alone: a command that the environment
// names executes them, an interpreter that shares no code with hova.
//
//===----------------------------------------------------------------------===//

#include "StandInMachine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void run_spread(float *const *parameters) {
  const float *x = parameters[0], *w = parameters[1];
  for (int i = 0; i < 30; ++i) {
    parameters[2][i / 5 * 8 + i % 5] = x[i] * w[0];
  }
}

static void run_add(float *const *parameters) {
  const int64_t *ids = (const int64_t *)(const void *)parameters[0];
  for (int i = 0; i < 30; ++i) {
    parameters[1][i / 5 * 8 + i % 5] += (float)ids[i / 5];
  }
}

static void run_gather(float *const *parameters) {
  const int32_t *table = (const int32_t *)(const void *)parameters[1];
  for (int i = 0; i < 30; ++i) {
    parameters[2][i] = parameters[0][table[i / 5] * 8 + i % 5];
  }
  memcpy(parameters[3], parameters[0], 20);
}

static const kernel kernels[] = {{"spread", 3, run_spread, NULL, 0},
                                 {"add", 2, run_add, NULL, 0},
                                 {"gather", 4, run_gather, NULL, 0}};

//===----------------------------------------------------------------------===//
// Kernels that are PTX
//===----------------------------------------------------------------------===//

static void write_file(const char *path, const void *from, size_t bytes) {
  FILE *file = fopen(path, "wb");
  demand(file && fwrite(from, 1, bytes, file) == bytes && fclose(file) == 0,
         path, "is not written");
}

/// Allocations that arguments lie in, one after the other.
typedef struct pieces {
  object *memory[MOST_PARAMETERS];
  size_t begin[MOST_PARAMETERS]; ///< of each
  int count;
  size_t bytes;
} pieces;

/// The number of the piece that an argument lies in, which may be a new one.
static int find_piece(pieces *all, device_address argument, const char *call) {
  object *memory = memory_at(argument);
  demand(memory, call, "an argument is no device memory");
  int piece = 0;
  while (piece < all->count && all->memory[piece] != memory) {
    ++piece;
  }
  if (piece == all->count) {
    all->memory[piece] = memory;
    all->begin[piece] = all->bytes;
    all->bytes += memory->bytes;
    ++all->count;
  }
  return piece;
}

static FILE *open_file(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  demand(file, path, "is not opened");
  return file;
}

/// What is kept of a piece: its memory, or what of it is under way.
static char *bytes_of(object *memory, bool marks) {
  return marks ? memory->under_way : memory->memory;
}

static void write_pieces(const char *path, const pieces *all, bool marks) {
  FILE *file = open_file(path, "wb");
  for (int i = 0; i < all->count; ++i) {
    object *memory = all->memory[i];
    demand(fwrite(bytes_of(memory, marks), 1, memory->bytes, file) ==
               memory->bytes,
           path, "is not written");
  }
  demand(fclose(file) == 0, path, "is not written");
}

static void read_pieces(const char *path, const pieces *all, bool marks) {
  FILE *file = open_file(path, "rb");
  for (int i = 0; i < all->count; ++i) {
    object *memory = all->memory[i];
    demand(fread(bytes_of(memory, marks), 1, memory->bytes, file) ==
               memory->bytes,
           path, "is not read");
  }
  fclose(file);
}

/// A launch that begins when all before it have ended finds nothing under way.
static void begin_marks(bool overlaps) {
  for (object *at = machine.objects; at; at = at->next) {
    if (at->kind == MEMORY && at->alive && !at->under_way) {
      at->under_way = calloc(at->bytes + 1, 1);
    } else if (at->kind == MEMORY && at->alive && !overlaps) {
      memset(at->under_way, 0, at->bytes);
    }
  }
}

/// Leaves PTX, arguments, the memory that holds them and which of its bytes are
/// under way in the folder STAND_IN_LAUNCHES, runs STAND_IN_INTERPRETER there,
/// and takes both back.
static void interpret(const call *made) {
  const char *folder = getenv("STAND_IN_LAUNCHES");
  const char *command = getenv("STAND_IN_INTERPRETER");
  const char *name = made->kernel->name;
  demand(folder && command, name, "nobody interprets PTX here");
  pieces all = {.count = 0};
  char ptx[256], launch[256], image[256], marks[256], line[1024], text[1024];
  snprintf(ptx, sizeof ptx, "%s/ptx", folder);
  snprintf(launch, sizeof launch, "%s/launch", folder);
  snprintf(image, sizeof image, "%s/memory", folder);
  snprintf(marks, sizeof marks, "%s/under-way", folder);
  begin_marks(made->overlaps);
  int length =
      snprintf(text, sizeof text, "%s %u %u %u %u %u %u %u %d", name,
               made->grid[0], made->grid[1], made->grid[2], made->block[0],
               made->block[1], made->block[2], made->shared, made->overlaps);
  for (int i = 0; i < made->kernel->parameters; ++i) {
    int piece = find_piece(&all, made->arguments[i], name);
    size_t offset = (size_t)(bytes_at(made->arguments[i], 1, name) -
                             all.memory[piece]->memory);
    length += snprintf(text + length, sizeof text - (size_t)length, " %zu %zu",
                       all.begin[piece] + offset,
                       all.begin[piece] + all.memory[piece]->bytes);
    demand((size_t)length < sizeof text, name, "too many arguments");
  }
  for (int i = 0; i < made->kernel->numbers; ++i) {
    length += snprintf(text + length, sizeof text - (size_t)length, " %u -1",
                       made->numbers[i]);
    demand((size_t)length < sizeof text, name, "too many arguments");
  }
  write_file(ptx, made->kernel->ptx, strlen(made->kernel->ptx));
  write_file(launch, text, (size_t)length);
  write_pieces(image, &all, false);
  write_pieces(marks, &all, true);
  snprintf(line, sizeof line, "%s '%s'", command, folder);
  demand(system(line) == 0, name, "the interpreter failed");
  read_pieces(image, &all, false);
  read_pieces(marks, &all, true);
}

/// A kernel with the parameters that its entry has.
static const kernel *make_kernel(const char *name, const char *ptx) {
  char entry[256];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char *at = strstr(ptx, entry);
  if (!at) {
    return NULL;
  }
  const char *end = strchr(at, '{');
  demand(end, name, "PTX without a body");
  kernel *made = calloc(1, sizeof *made);
  made->name = strdup(name);
  made->ptx = ptx;
  while ((at = strstr(at + 1, ".param")) && at < end) {
    bool is_number = strncmp(at, ".param .u32", 11) == 0;
    demand(!made->numbers || is_number, name, "a number before an address");
    made->parameters += !is_number;
    made->numbers += is_number;
  }
  demand(made->parameters <= MOST_PARAMETERS, name, "too many parameters");
  return made;
}

const kernel *find_kernel(const char *name, const char *ptx) {
  char entry[256];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  if (ptx && !strstr(ptx, entry)) {
    return NULL;
  }
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
    if (strcmp(kernels[i].name, name) == 0) {
      return &kernels[i];
    }
  }
  return ptx ? make_kernel(name, ptx) : NULL;
}

bool kernel_waits(const char *name, const char *ptx) {
  char entry[256];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  const char *at = strstr(ptx, entry);
  const char *end = at ? strstr(at, "\n}") : NULL;
  const char *wait = at ? strstr(at, "griddepcontrol.wait;") : NULL;
  return end && wait && wait < end;
}

void run_call(const call *made) {
  float *parameters[MOST_PARAMETERS];
  for (int i = 0; i < made->kernel->parameters; ++i) {
    demand(made->arguments[i] % 16 == 0, made->kernel->name,
           "an argument is not aligned to 16 bytes");
    parameters[i] =
        (float *)(void *)bytes_at(made->arguments[i], 4, made->kernel->name);
  }
  if (made->kernel->run) {
    made->kernel->run(parameters);
  } else {
    interpret(made);
  }
}
