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

static const kernel kernels[] = {{"spread", 3, run_spread, NULL},
                                 {"add", 2, run_add, NULL},
                                 {"gather", 4, run_gather, NULL}};

//===----------------------------------------------------------------------===//
// Kernels that are PTX
//===----------------------------------------------------------------------===//

static void write_file(const char *path, const void *from, size_t bytes) {
  FILE *file = fopen(path, "wb");
  demand(file && fwrite(from, 1, bytes, file) == bytes && fclose(file) == 0,
         path, "is not written");
}

/// Leaves PTX, arguments and the memory that holds them in the folder
/// STAND_IN_LAUNCHES, runs STAND_IN_INTERPRETER there, and takes the memory
/// back.
static void interpret(const call *made) {
  const char *folder = getenv("STAND_IN_LAUNCHES");
  const char *command = getenv("STAND_IN_INTERPRETER");
  demand(folder && command, made->kernel->name, "nobody interprets PTX here");
  const object *memory = memory_at(made->arguments[0]);
  demand(memory, made->kernel->name, "an argument is no device memory");
  char ptx[256], launch[256], image[256], line[1024], text[1024];
  snprintf(ptx, sizeof ptx, "%s/ptx", folder);
  snprintf(launch, sizeof launch, "%s/launch", folder);
  snprintf(image, sizeof image, "%s/memory", folder);
  int length =
      snprintf(text, sizeof text, "%s %u %u %u %u %u %u %u", made->kernel->name,
               made->grid[0], made->grid[1], made->grid[2], made->block[0],
               made->block[1], made->block[2], made->shared);
  for (int i = 0; i < made->kernel->parameters; ++i) {
    size_t offset =
        (size_t)(bytes_at(made->arguments[i], 1, made->kernel->name) -
                 memory->memory);
    demand(offset < memory->bytes, made->kernel->name,
           "arguments in two pieces of memory");
    length +=
        snprintf(text + length, sizeof text - (size_t)length, " %zu", offset);
  }
  demand((size_t)length < sizeof text, made->kernel->name, "name");
  write_file(ptx, made->kernel->ptx, strlen(made->kernel->ptx));
  write_file(launch, text, (size_t)length);
  write_file(image, memory->memory, memory->bytes);
  snprintf(line, sizeof line, "%s '%s'", command, folder);
  demand(system(line) == 0, made->kernel->name, "the interpreter failed");
  FILE *file = fopen(image, "rb");
  demand(file &&
             fread(memory->memory, 1, memory->bytes, file) == memory->bytes &&
             fclose(file) == 0,
         image, "is not read");
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
    ++made->parameters;
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
