//===- Sizes.c - The sizes of one run -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Sizes.h"

#include <stdio.h>

int32_t hova_dims_of_run(const hova_tensor_info *info, const hova_sizes *sizes,
                         int64_t dims[HOVA_MAX_RANK]) {
  int32_t rank = 0, axis = 0;
  bool is_other = info->extent == HOVA_OTHER_TOKENS;
  if (sizes->rows && (is_other || info->extent == HOVA_TOKENS)) {
    if (sizes->lengths) {
      dims[rank++] = is_other ? sizes->other_rows : sizes->rows;
    } else {
      dims[rank++] = sizes->items;
      dims[rank++] = is_other ? sizes->other_tokens : sizes->tokens;
    }
    axis = 2;
  } else if (sizes->rows && info->extent == HOVA_ITEMS) {
    dims[rank++] = sizes->items;
    axis = 1;
  }
  for (; axis < info->rank; ++axis) {
    dims[rank++] = info->dims[axis];
  }
  return rank;
}

uint64_t hova_count_of_run(const hova_tensor_info *info,
                           const hova_sizes *sizes) {
  int64_t dims[HOVA_MAX_RANK];
  uint64_t count = 0;
  hova_count_elements(hova_dims_of_run(info, sizes, dims), dims, &count);
  return count;
}

uint64_t hova_bytes_of_run(const hova_tensor_info *info,
                           const hova_sizes *sizes) {
  return hova_count_of_run(info, sizes) *
         hova_element_bytes((hova_element)info->dtype);
}

/// `1 to 32`, or one number where there is one.
static int format_range(char *text, size_t size, int64_t least, int64_t most) {
  return least == most ? snprintf(text, size, "%lld", (long long)most)
                       : snprintf(text, size, "%lld to %lld", (long long)least,
                                  (long long)most);
}

int hova_format_range_shape(char *text, size_t size,
                            const hova_program *program,
                            const hova_tensor_info *info) {
  const hova_ranges *ranges = program->ranges;
  size_t length = 0;
  int written = snprintf(text, size, "[");
  for (int32_t axis = 0; axis < info->rank && written >= 0; ++axis) {
    length += (size_t)written;
    if (length >= size) {
      return (int)length;
    }
    if (axis > 0) {
      length += (size_t)snprintf(text + length, size - length, ", ");
      if (length >= size) {
        return (int)length;
      }
    }
    int64_t least = info->dims[axis], most = least;
    if (ranges && axis == 0 && info->extent != HOVA_FIXED) {
      least = ranges->least_items;
      most = ranges->most_items;
    } else if (ranges && axis == 1 && info->extent == HOVA_TOKENS) {
      least = ranges->least_tokens;
      most = ranges->most_tokens;
    } else if (ranges && axis == 1 && info->extent == HOVA_OTHER_TOKENS) {
      least = ranges->least_other_tokens;
      most = ranges->most_other_tokens;
    }
    written = format_range(text + length, size - length, least, most);
  }
  length += written > 0 ? (size_t)written : 0;
  return length < size
             ? (int)length + snprintf(text + length, size - length, "]")
             : (int)length;
}

static hova_status check_one(const char *what, const char *name, int64_t size,
                             int64_t least, int64_t most, hova_error *error) {
  if (size >= least && size <= most) {
    return HOVA_OK;
  }
  char range[64];
  format_range(range, sizeof range, least, most);
  return hova_fail(error, HOVA_REJECTED, "expects %s %s%s%s%s, got %lld", range,
                   what, name ? " ('" : "", name ? name : "", name ? "')" : "",
                   (long long)size);
}

hova_status hova_check_sizes(const hova_program *program, int64_t items,
                             int64_t tokens, int64_t other_tokens,
                             hova_error *error) {
  const hova_ranges *ranges = program->ranges;
  hova_status status =
      check_one("items", ranges->items, items, ranges->least_items,
                ranges->most_items, error);
  if (status == HOVA_OK) {
    status = check_one("tokens in an item", ranges->tokens, tokens,
                       ranges->least_tokens, ranges->most_tokens, error);
  }
  return status == HOVA_OK
             ? check_one("tokens in the second sequence of an item",
                         ranges->other_tokens, other_tokens,
                         ranges->least_other_tokens, ranges->most_other_tokens,
                         error)
             : status;
}

bool hova_same_sizes(const hova_sizes *a, const hova_sizes *b) {
  return !a->lengths && !b->lengths && a->items == b->items &&
         a->tokens == b->tokens && a->other_tokens == b->other_tokens;
}

int64_t hova_most_others(const hova_ranges *ranges) {
  return ranges->layers ? ranges->layers * ranges->most_tokens
                        : ranges->most_other_tokens;
}

/// The rows of layers follow from the tokens.
static void add_rows_of_layers(const hova_ranges *ranges, hova_sizes *sizes) {
  if (ranges->layers) {
    sizes->other_tokens = ranges->layers * sizes->tokens;
    sizes->other_rows = ranges->layers * sizes->rows;
  }
}

/// Of items that are side by side.
static hova_status add_lengths(const hova_program *program,
                               const int32_t *lengths, int64_t items,
                               hova_sizes *sizes, hova_error *error) {
  const hova_ranges *ranges = program->ranges;
  if (!ranges) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' takes no lengths: its shapes are fixed",
                     program->name);
  }
  if (ranges->least_tokens == ranges->most_tokens &&
      ranges->least_other_tokens == ranges->most_other_tokens) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' takes no lengths: all items have one shape",
                     program->name);
  }
  // The number of items is checked before any of them is read.
  hova_status status = hova_check_sizes(program, items, ranges->most_tokens,
                                        ranges->most_other_tokens, error);
  const int32_t *others =
      ranges->most_other_tokens && status == HOVA_OK ? lengths + items : NULL;
  sizes->lengths = lengths;
  sizes->other_lengths = others;
  sizes->items = items;
  for (int64_t i = 0; i < items && status == HOVA_OK; ++i) {
    int64_t other = others ? others[i] : 0;
    status = hova_check_sizes(program, items, lengths[i], other, error);
    sizes->rows += lengths[i];
    sizes->tokens = lengths[i] > sizes->tokens ? lengths[i] : sizes->tokens;
    sizes->other_rows += other;
    sizes->other_tokens =
        other > sizes->other_tokens ? other : sizes->other_tokens;
  }
  add_rows_of_layers(ranges, sizes);
  return status;
}

/// The first input with this extent, or (HOVA_FIXED) with any but a fixed one;
/// null: there is none.
static const hova_tensor *find_input(const hova_program *program,
                                     const hova_tensor *inputs, int32_t extent,
                                     const hova_tensor_info **info) {
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    *info = &program->inputs[i];
    int32_t found = (*info)->extent;
    if (extent == HOVA_FIXED ? found != HOVA_FIXED : found == extent) {
      return &inputs[i];
    }
  }
  return NULL;
}

hova_status hova_find_sizes(const hova_program *program,
                            const hova_tensor *inputs, const int32_t *lengths,
                            int64_t items, hova_sizes *sizes,
                            hova_error *error) {
  *sizes = (hova_sizes){0};
  if (lengths) {
    return add_lengths(program, lengths, items, sizes, error);
  }
  const hova_ranges *ranges = program->ranges;
  if (!ranges || !inputs) {
    return HOVA_OK;
  }
  // Of what no input has, there is a fixed number.
  hova_sizes of_run = {
      0, ranges->most_tokens, 0, NULL, ranges->most_other_tokens, 0, NULL};
  const int32_t extents[] = {HOVA_FIXED, HOVA_TOKENS, HOVA_OTHER_TOKENS};
  int64_t *found[] = {&of_run.items, &of_run.tokens, &of_run.other_tokens};
  for (int i = 0; i < 3; ++i) {
    const hova_tensor_info *info = NULL;
    const hova_tensor *input = find_input(program, inputs, extents[i], &info);
    if (i == 0 && !input) {
      return HOVA_OK;
    }
    // What is wrong with such a shape, the caller finds out.
    if (input && (input->ndim != info->rank || !input->shape)) {
      return HOVA_OK;
    }
    hova_error wrong = {HOVA_OK, ""};
    if (input) {
      *found[i] = input->shape[i == 0 ? 0 : 1];
    }
    if (hova_check_sizes(program, of_run.items, of_run.tokens,
                         of_run.other_tokens, &wrong) != HOVA_OK) {
      return hova_fail(error, HOVA_REJECTED, "input '%s' %s", info->name,
                       wrong.text);
    }
  }
  of_run.rows = of_run.items * of_run.tokens;
  of_run.other_rows = of_run.items * of_run.other_tokens;
  add_rows_of_layers(ranges, &of_run);
  *sizes = of_run;
  return HOVA_OK;
}

/// Where the parts of the table begin, as kernels know it (dialect/Ranges.h).
enum { ITEMS = 0, ROWS = 1, FIRST_ROWS = 2 };

/// Words of the table of items that have so many tokens at most.
static uint64_t words_of(const hova_ranges *ranges, int64_t most_tokens) {
  return FIRST_ROWS + (uint64_t)ranges->most_items + 1 +
         (uint64_t)ranges->most_items * (uint64_t)most_tokens;
}

uint64_t hova_sequence_words(const hova_ranges *ranges) {
  int64_t others = hova_most_others(ranges);
  return words_of(ranges, ranges->most_tokens) +
         (others ? words_of(ranges, others) : 0);
}

/// The table of one sequence of each item: of `tokens`, or of `times` as many
/// as `lengths` says.
static void write_table(const hova_ranges *ranges, int64_t items, int64_t rows,
                        int64_t tokens, const int32_t *lengths, int64_t times,
                        int32_t *table) {
  int32_t *firsts = table + FIRST_ROWS;
  int32_t *positions = firsts + ranges->most_items + 1;
  int32_t row = 0;
  table[ITEMS] = (int32_t)items;
  table[ROWS] = (int32_t)rows;
  for (int64_t item = 0; item <= ranges->most_items; ++item) {
    firsts[item] = row;
    int64_t count = item >= items ? 0
                    : lengths     ? times * lengths[item]
                                  : tokens;
    for (int32_t position = 0; position < count; ++position) {
      positions[row++] = position;
    }
  }
}

void hova_write_sequences(const hova_ranges *ranges, const hova_sizes *sizes,
                          int32_t *table) {
  write_table(ranges, sizes->items, sizes->rows, sizes->tokens, sizes->lengths,
              1, table);
  if (hova_most_others(ranges)) {
    bool are_of_layers = ranges->layers > 0;
    write_table(ranges, sizes->items, sizes->other_rows, sizes->other_tokens,
                are_of_layers ? sizes->lengths : sizes->other_lengths,
                are_of_layers ? ranges->layers : 1,
                table + words_of(ranges, ranges->most_tokens));
  }
}
