//===- RunSizes.c - The sizes of an executable's run ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/RunSizes.h"

#include "runtime/Npy.h"
#include "runtime/Sizes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A number from 1 to 2^31 - 1, or 0 where it is none.
static int64_t parse_size(const char *text) {
  char *end = NULL;
  bool is_number = *text >= '0' && *text <= '9';
  errno = 0;
  long long size = is_number ? strtoll(text, &end, 10) : 0;
  return is_number && *end == '\0' && errno == 0 && size <= INT32_MAX ? size
                                                                      : 0;
}

hova_status hova_note_size(const char *flag, const char *text,
                           const hova_program *program, command_line *options,
                           hova_error *error) {
  const hova_ranges *ranges = program->ranges;
  if (!ranges) {
    return hova_fail(error, HOVA_REJECTED,
                     "%s %s: the sizes of this program are fixed; compile it "
                     "for a range, as by 'hova compile --set length=1..512'",
                     flag, text);
  }
  const char *names[] = {ranges->items, ranges->tokens, ranges->other_tokens};
  int64_t *sizes[] = {&options->items, &options->tokens,
                      &options->other_tokens};
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : 0;
  for (int i = 0; i < 3; ++i) {
    if (!names[i] || strlen(names[i]) != length ||
        memcmp(names[i], text, length) != 0) {
      continue;
    }
    if (*sizes[i]) {
      return hova_fail(error, HOVA_REJECTED, "%s is given twice for '%s'", flag,
                       names[i]);
    }
    *sizes[i] = parse_size(equals + 1);
    return *sizes[i]
               ? HOVA_OK
               : hova_fail(error, HOVA_REJECTED,
                           "%s expects a number from 1 to 2147483647, got "
                           "'%s'",
                           flag, equals + 1);
  }
  char known[256] = "";
  size_t end = 0;
  for (int i = 0; i < 3 && end < sizeof known; ++i) {
    end += names[i] ? (size_t)snprintf(known + end, sizeof known - end, "%s%s",
                                       end ? ", " : "", names[i])
                    : 0;
  }
  return hova_fail(error, HOVA_REJECTED,
                   "%s expects NAME=VALUE with NAME one of: %s, got '%s'", flag,
                   known, text);
}

/// Items and tokens, 0 where nothing is known yet.
typedef struct found_sizes {
  int64_t items, tokens, other_tokens;
} found_sizes;

/// The tokens that an input with this extent says; null: it says none.
static int64_t *tokens_in(found_sizes *found, int32_t extent) {
  return extent == HOVA_TOKENS         ? &found->tokens
         : extent == HOVA_OTHER_TOKENS ? &found->other_tokens
                                       : NULL;
}

/// Whether an input with this extent says nothing that is not known.
static bool is_known(found_sizes *found, int32_t extent) {
  const int64_t *tokens = tokens_in(found, extent);
  return found->items && (!tokens || *tokens);
}

/// The first axes of a file, as far as they are not known. What else is wrong
/// with it whoever reads it finds out.
static hova_status read_sizes(const hova_program *program, const char *path,
                              const hova_tensor_info *info, found_sizes *found,
                              hova_error *error) {
  hova_npy npy;
  hova_status status = hova_npy_open(path, &npy, error);
  if (status != HOVA_OK) {
    return status;
  }
  if (npy.rank == info->rank) {
    int64_t *tokens = tokens_in(found, info->extent);
    found->items = found->items ? found->items : npy.dims[0];
    if (tokens && !*tokens) {
      *tokens = npy.dims[1];
    }
  } else {
    char shape[128];
    hova_format_range_shape(shape, sizeof shape, program, info);
    status = hova_fail(error, HOVA_REJECTED,
                       "input '%s' expects the shape %s, '%s' has %d axes",
                       info->name, shape, path, (int)npy.rank);
  }
  hova_npy_close(&npy);
  return status;
}

hova_status hova_require_sizes(const hova_program *program,
                               const command_line *options, hova_error *error) {
  const hova_ranges *ranges = program->ranges;
  if (!ranges || hova_only_prints(options)) {
    return HOVA_OK;
  }
  // What the files will say, without a look into them.
  found_sizes found = {0, 0, 0};
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    const char *path = options->inputs[i];
    int32_t extent = program->inputs[i].extent;
    if (path && strcmp(path, "-") != 0 && extent != HOVA_FIXED) {
      int64_t *tokens = tokens_in(&found, extent);
      found.items = 1;
      if (tokens) {
        *tokens = 1;
      }
    }
  }
  const char *const names[] = {ranges->items, ranges->tokens,
                               ranges->other_tokens};
  const int64_t given[] = {options->items + found.items,
                           options->tokens + found.tokens,
                           options->other_tokens + found.other_tokens};
  for (int i = 0; i < 3; ++i) {
    if (names[i] && !given[i]) {
      return hova_fail(error, HOVA_REJECTED,
                       "the size '%s' is not given: use --set %s=VALUE, or "
                       "--input NAME=FILE.npy",
                       names[i], names[i]);
    }
  }
  return HOVA_OK;
}

/// A size by its name, of which the command line says `given`, and a file
/// `found`.
static hova_status settle(const char *name, int64_t fixed, int64_t given,
                          int64_t found, int64_t *size, hova_error *error) {
  *size = !name ? fixed : found ? found : given;
  if (given && found && given != found) {
    return hova_fail(error, HOVA_REJECTED,
                     "--set %s=%lld, but an input has %lld", name,
                     (long long)given, (long long)found);
  }
  return HOVA_OK;
}

static hova_status find_sizes(const hova_program *program,
                              const command_line *options, hova_sizes *sizes,
                              hova_error *error) {
  found_sizes found = {0, 0, 0};
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_inputs && status == HOVA_OK; ++i) {
    const hova_tensor_info *info = &program->inputs[i];
    const char *path = options->inputs[i];
    // Standard input is read once, and its shape is known then.
    if (path && strcmp(path, "-") != 0 && info->extent != HOVA_FIXED &&
        !is_known(&found, info->extent)) {
      status = read_sizes(program, path, info, &found, error);
    }
  }
  const hova_ranges *ranges = program->ranges;
  if (status == HOVA_OK) {
    status = settle(ranges->items, ranges->most_items, options->items,
                    found.items, &sizes->items, error);
  }
  if (status == HOVA_OK) {
    status = settle(ranges->tokens, ranges->most_tokens, options->tokens,
                    found.tokens, &sizes->tokens, error);
  }
  if (status == HOVA_OK) {
    status = settle(ranges->other_tokens, ranges->most_other_tokens,
                    options->other_tokens, found.other_tokens,
                    &sizes->other_tokens, error);
  }
  if (status == HOVA_OK) {
    status = hova_check_sizes(program, sizes->items, sizes->tokens,
                              sizes->other_tokens, error);
  }
  sizes->rows = sizes->items * sizes->tokens;
  sizes->other_rows = sizes->items * sizes->other_tokens;
  return status;
}

hova_status hova_size_program(const hova_program *program,
                              const command_line *options, sized_program *sized,
                              hova_error *error) {
  *sized = (sized_program){*program, NULL};
  if (!program->ranges) {
    return HOVA_OK;
  }
  hova_sizes sizes = {0};
  hova_status status = find_sizes(program, options, &sizes, error);
  if (status != HOVA_OK) {
    return status;
  }
  size_t count = (size_t)program->num_inputs + program->num_outputs;
  size_t bytes = sizeof(hova_tensor_info) + HOVA_MAX_RANK * sizeof(int64_t);
  sized->memory = calloc(count + 1, bytes);
  if (!sized->memory) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory");
  }
  hova_tensor_info *infos = sized->memory;
  int64_t *dims = (int64_t *)(infos + count);
  for (size_t i = 0; i < count; ++i) {
    infos[i] = i < program->num_inputs
                   ? program->inputs[i]
                   : program->outputs[i - program->num_inputs];
    int64_t *of_run = dims + i * HOVA_MAX_RANK;
    infos[i].rank = hova_dims_of_run(&infos[i], &sizes, of_run);
    infos[i].dims = of_run;
  }
  sized->program.inputs = infos;
  sized->program.outputs = infos + program->num_inputs;
  return HOVA_OK;
}

void hova_free_sized_program(sized_program *sized) { free(sized->memory); }
