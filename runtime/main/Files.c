//===- Files.c - The files of a command line ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Files.h"

#include "runtime/FileUses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// Names come from the model; as a file name one must not leave the directory.
static bool is_file_name(const char *name) {
  return *name && *name != '.' && !strchr(name, '/');
}

char *hova_path_in_directory(const hova_tensor_info *info,
                             const char *directory, hova_error *error) {
  static const char suffix[] = ".npy";
  if (!is_file_name(info->name)) {
    hova_fail(error, HOVA_REJECTED, "output '%s' is no file name: use --output",
              info->name);
    return NULL;
  }
  size_t folder = strlen(directory), name = strlen(info->name);
  char *path = malloc(folder + 1 + name + sizeof suffix);
  if (!path) {
    hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for a path");
    return NULL;
  }
  memcpy(path, directory, folder);
  path[folder] = '/';
  memcpy(path + folder + 1, info->name, name);
  memcpy(path + folder + 1 + name, suffix, sizeof suffix);
  return path;
}

typedef struct use_list {
  hova_file_use *uses;
  size_t count;
} use_list;

static void add(use_list *list, const char *path, const char *what,
                bool written) {
  if (path) {
    list->uses[list->count++] =
        (hova_file_use){.path = path, .what = what, .written = written};
  }
}

/// The files that the command line names; those in the output directory are
/// `in_directory`.
static void list_uses(const hova_program *program, const command_line *options,
                      const char *weights, char **in_directory,
                      use_list *list) {
  add(list, "/proc/self/exe", "this program", false);
  add(list, weights, "the weights", false);
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    add(list, options->inputs[i], "--input", false);
  }
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    add(list, options->expected[i], "--expected", false);
    add(list, options->outputs[i], "--output", true);
    add(list, in_directory[i], "--output-dir", true);
  }
  add(list, options->trace, "--trace", true);
  add(list, options->benchmark_out, "--benchmark-out", true);
}

static hova_status check(const hova_program *program,
                         const command_line *options, const char *weights,
                         hova_error *error) {
  size_t most = (size_t)program->num_inputs + 3 * (size_t)program->num_outputs;
  use_list list = {calloc(most + 4, sizeof *list.uses), 0};
  char **paths = calloc((size_t)program->num_outputs + 1, sizeof *paths);
  hova_status status = list.uses && paths ? HOVA_OK
                                          : hova_fail(error, HOVA_OUT_OF_MEMORY,
                                                      "out of memory");
  for (uint32_t i = 0; options->output_directory && status == HOVA_OK &&
                       i < program->num_outputs;
       ++i) {
    paths[i] = hova_path_in_directory(&program->outputs[i],
                                      options->output_directory, error);
    status = paths[i] ? HOVA_OK : error->status;
  }
  if (status == HOVA_OK) {
    list_uses(program, options, weights, paths, &list);
    status = hova_check_files(list.uses, list.count, error);
  }
  for (uint32_t i = 0; paths && i < program->num_outputs; ++i) {
    free(paths[i]);
  }
  free(paths);
  free(list.uses);
  return status;
}

hova_status hova_claim_files(const hova_program *program,
                             const command_line *options, const char *weights,
                             bool *made_directory, hova_error *error) {
  const char *directory = options->output_directory;
  *made_directory = directory && mkdir(directory, 0777) == 0;
  if (directory && !*made_directory && errno != EEXIST) {
    return hova_fail(error, HOVA_IO_ERROR, "cannot make directory '%s': %s",
                     directory, strerror(errno));
  }
  hova_status status = check(program, options, weights, error);
  if (status != HOVA_OK && *made_directory) {
    rmdir(directory);
  }
  return status;
}
