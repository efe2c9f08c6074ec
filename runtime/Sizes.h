//===- Sizes.h - The sizes of one run ---------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// A program with ranges is run on any number of items, each of any number of
// tokens. What they are in a run follows from the shapes of its tensors, or
// from the lengths that the caller gives with items side by side.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_SIZES_H
#define HOVA_RUNTIME_SIZES_H

#include "runtime/Elements.h"
#include "runtime/Error.h"
#include "runtime/Npy.h"

#include <stdbool.h>

/// The sequences of a run. All zero where shapes are fixed.
typedef struct hova_sizes {
  int64_t items;
  int64_t tokens; ///< of each item, or of the longest
  int64_t rows;   ///< tokens of all items together
  /// Of each item where they are side by side; null: all have `tokens`.
  const int32_t *lengths;
  /// The same of the second sequences, or of the rows of several layers, which
  /// have the first `lengths`; 0 and null where there are none.
  int64_t other_tokens;
  int64_t other_rows;
  const int32_t *other_lengths;
} hova_sizes;

/// Whether two runs of one program have the same sizes, as far as numbers tell:
/// never where items are side by side.
bool hova_same_sizes(const hova_sizes *a, const hova_sizes *b);

/// The shape that an input or output has in a run: `dims`, of which it returns
/// how many there are.
int32_t hova_dims_of_run(const hova_tensor_info *info, const hova_sizes *sizes,
                         int64_t dims[HOVA_MAX_RANK]);

/// Elements of an input or output in a run, and bytes.
uint64_t hova_count_of_run(const hova_tensor_info *info,
                           const hova_sizes *sizes);
uint64_t hova_bytes_of_run(const hova_tensor_info *info,
                           const hova_sizes *sizes);

/// `[1 to 32, 1 to 512, 384]`.
int hova_format_range_shape(char *text, size_t size,
                            const hova_program *program,
                            const hova_tensor_info *info);

/// Finds the sizes of a run by its first input whose axes are ranges, and of
/// second sequences by the first that has them, and checks them against those
/// of the program. With `lengths`, of `items` items, by them. `sizes` are zero
/// where the program has no ranges.
hova_status hova_find_sizes(const hova_program *program,
                            const hova_tensor *inputs, const int32_t *lengths,
                            int64_t items, hova_sizes *sizes,
                            hova_error *error);

/// Whether `items` items of `tokens` tokens, and of `other_tokens` in a second
/// sequence, are in the ranges of the program.
hova_status hova_check_sizes(const hova_program *program, int64_t items,
                             int64_t tokens, int64_t other_tokens,
                             hova_error *error);

/// The most tokens of a second sequence, or rows of layers, in an item; 0:
/// none.
int64_t hova_most_others(const hova_ranges *ranges);

/// What a table of sequences has, in integers of 32 bits, and what a run writes
/// into it (`hova.sequence_buffer`).
uint64_t hova_sequence_words(const hova_ranges *ranges);
void hova_write_sequences(const hova_ranges *ranges, const hova_sizes *sizes,
                          int32_t *table);

#endif // HOVA_RUNTIME_SIZES_H
