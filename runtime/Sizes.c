//===- Sizes.c - The sizes of one run -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Sizes.h"

#include <stdio.h>

int32_t hova_dims_of_run(const hova_tensor_info *info, const hova_sizes *sizes,
                         int64_t dims[HOVA_MAX_RANK]) {
  int32_t rank = 0, axis = 0;
  if (sizes->rows && info->extent == HOVA_TOKENS) {
    if (sizes->lengths) {
      dims[rank++] = sizes->rows;
    } else {
      dims[rank++] = sizes->items;
      dims[rank++] = sizes->tokens;
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
                             int64_t tokens, hova_error *error) {
  const hova_ranges *ranges = program->ranges;
  hova_status status =
      check_one("items", ranges->items, items, ranges->least_items,
                ranges->most_items, error);
  return status == HOVA_OK
             ? check_one("tokens in an item", ranges->tokens, tokens,
                         ranges->least_tokens, ranges->most_tokens, error)
             : status;
}

/// Of items that are side by side.
static hova_status add_lengths(const hova_program *program,
                               const int32_t *lengths, int64_t items,
                               hova_sizes *sizes, hova_error *error) {
  if (!program->ranges) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' takes no lengths: its shapes are fixed",
                     program->name);
  }
  if (program->ranges->least_tokens == program->ranges->most_tokens) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' takes no lengths: all items have one shape",
                     program->name);
  }
  // The number of items is checked before any of them is read.
  hova_status status =
      hova_check_sizes(program, items, program->ranges->most_tokens, error);
  sizes->lengths = lengths;
  sizes->items = items;
  for (int64_t i = 0; i < items && status == HOVA_OK; ++i) {
    status = hova_check_sizes(program, items, lengths[i], error);
    sizes->rows += lengths[i];
    sizes->tokens = lengths[i] > sizes->tokens ? lengths[i] : sizes->tokens;
  }
  return status;
}

hova_status hova_find_sizes(const hova_program *program,
                            const hova_tensor *inputs, const int32_t *lengths,
                            int64_t items, hova_sizes *sizes,
                            hova_error *error) {
  *sizes = (hova_sizes){0};
  if (lengths) {
    return add_lengths(program, lengths, items, sizes, error);
  }
  for (uint32_t i = 0; program->ranges && inputs && i < program->num_inputs;
       ++i) {
    const hova_tensor_info *info = &program->inputs[i];
    if (info->extent == HOVA_FIXED) {
      continue;
    }
    if (inputs[i].ndim != info->rank || !inputs[i].shape) {
      break; // the shape is wrong in any case, which the caller finds out
    }
    sizes->items = inputs[i].shape[0];
    // Of [items, columns] only where tokens are a fixed number.
    sizes->tokens = info->extent == HOVA_TOKENS ? inputs[i].shape[1]
                                                : program->ranges->most_tokens;
    hova_error wrong = {HOVA_OK, ""};
    if (hova_check_sizes(program, sizes->items, sizes->tokens, &wrong) !=
        HOVA_OK) {
      *sizes = (hova_sizes){0};
      return hova_fail(error, HOVA_REJECTED, "input '%s' %s", info->name,
                       wrong.text);
    }
    sizes->rows = sizes->items * sizes->tokens;
    break;
  }
  return HOVA_OK;
}

/// Where the parts of the table begin, as kernels know it (dialect/Ranges.h).
enum { ITEMS = 0, ROWS = 1, FIRST_ROWS = 2 };

uint64_t hova_sequence_words(const hova_ranges *ranges) {
  return FIRST_ROWS + (uint64_t)ranges->most_items + 1 +
         (uint64_t)ranges->most_items * (uint64_t)ranges->most_tokens;
}

void hova_write_sequences(const hova_ranges *ranges, const hova_sizes *sizes,
                          int32_t *table) {
  int32_t *firsts = table + FIRST_ROWS;
  int32_t *positions = firsts + ranges->most_items + 1;
  int32_t row = 0;
  table[ITEMS] = (int32_t)sizes->items;
  table[ROWS] = (int32_t)sizes->rows;
  for (int64_t item = 0; item <= ranges->most_items; ++item) {
    firsts[item] = row;
    int64_t count = item >= sizes->items ? 0
                    : sizes->lengths     ? sizes->lengths[item]
                                         : sizes->tokens;
    for (int32_t position = 0; position < count; ++position) {
      positions[row++] = position;
    }
  }
}
