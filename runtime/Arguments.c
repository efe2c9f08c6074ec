//===- Arguments.c - Checks of a program and the tensors of a call --------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Arguments.h"

#include "runtime/Elements.h"
#include "runtime/Npy.h"

#include <stdio.h>
#include <string.h>

/// Axes that an extent is said of.
static int32_t axes_of(int32_t extent) {
  return extent == HOVA_OTHER_TOKENS ? 2 : extent;
}

/// Whether name, type and shape of an input or output can be what a compiler
/// emitted.
static bool info_is_valid(const hova_tensor_info *info) {
  uint64_t count, bytes;
  return info->name && info->dtype >= 0 && info->dtype <= HOVA_BOOL &&
         info->rank >= 0 && info->rank <= HOVA_MAX_RANK &&
         (info->dims || info->rank == 0) && info->extent >= HOVA_FIXED &&
         info->extent <= HOVA_OTHER_TOKENS &&
         info->rank >= axes_of(info->extent) &&
         hova_count_elements(info->rank, info->dims, &count) &&
         !__builtin_mul_overflow(
             count, hova_element_bytes((hova_element)info->dtype), &bytes);
}

/// Whether they can be what a compiler emitted: rows have numbers of 32 bits.
static bool ranges_are_valid(const hova_ranges *ranges) {
  return ranges->least_items >= 1 && ranges->least_tokens >= 1 &&
         ranges->least_items <= ranges->most_items &&
         ranges->least_tokens <= ranges->most_tokens &&
         ranges->most_items <= INT32_MAX / ranges->most_tokens &&
         (ranges->most_other_tokens == 0 ||
          (ranges->least_other_tokens >= 1 &&
           ranges->least_other_tokens <= ranges->most_other_tokens &&
           ranges->most_items <= INT32_MAX / ranges->most_other_tokens)) &&
         ranges->layers >= 0 &&
         (ranges->layers == 0 ||
          (ranges->most_other_tokens == 0 &&
           ranges->layers <=
               INT32_MAX / (ranges->most_items * ranges->most_tokens)));
}

uint64_t hova_info_count(const hova_tensor_info *info) {
  uint64_t count = 0;
  hova_count_elements(info->rank, info->dims, &count);
  return count;
}

uint64_t hova_info_bytes(const hova_tensor_info *info) {
  return hova_info_count(info) * hova_element_bytes((hova_element)info->dtype);
}

hova_status hova_check_program(const hova_program *program, hova_error *error) {
  if (!program || program->abi != HOVA_ABI_VERSION) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects a program of interface version %d, got %d",
                     HOVA_ABI_VERSION, program ? (int)program->abi : -1);
  }
  for (uint32_t i = 0; i < program->num_inputs + program->num_outputs; ++i) {
    const hova_tensor_info *info =
        i < program->num_inputs ? &program->inputs[i]
                                : &program->outputs[i - program->num_inputs];
    if (!info_is_valid(info)) {
      return hova_fail(error, HOVA_REJECTED,
                       "input or output %u of program '%s' is malformed", i,
                       program->name);
    }
  }
  if (program->ranges && !ranges_are_valid(program->ranges)) {
    return hova_fail(error, HOVA_REJECTED,
                     "the ranges of program '%s' are malformed", program->name);
  }
  return HOVA_OK;
}

static hova_status check_shape(const hova_tensor_info *info,
                               const hova_sizes *sizes,
                               const hova_tensor *tensor, const char *role,
                               hova_error *error) {
  int64_t dims[HOVA_MAX_RANK];
  int32_t rank = hova_dims_of_run(info, sizes, dims);
  bool equal = tensor->ndim == rank && (tensor->shape || !rank);
  for (int32_t i = 0; equal && i < rank; ++i) {
    equal = tensor->shape[i] == dims[i];
  }
  if (equal) {
    return HOVA_OK;
  }
  char expected[192], found[192], hint[96] = "";
  hova_format_shape(expected, sizeof expected, rank, dims);
  bool printable = tensor->shape && tensor->ndim >= 0 && tensor->ndim <= 64;
  hova_format_shape(found, sizeof found, printable ? tensor->ndim : 0,
                    tensor->shape);
  if (tensor->shape && tensor->ndim == rank && !sizes->rows) {
    hova_format_batch_hint(hint, sizeof hint, rank, dims, tensor->shape);
  }
  return hova_fail(error, HOVA_REJECTED, "%s '%s' expects shape %s, got %s%s",
                   role, info->name, expected,
                   printable || tensor->ndim == 0 ? found : "none", hint);
}

/// A dim of 1 has no step, so its stride may be anything.
static bool is_dense(const hova_tensor *tensor) {
  int64_t step = 1;
  for (int32_t i = tensor->ndim - 1; tensor->strides && i >= 0; --i) {
    if (tensor->shape[i] != 1 && tensor->strides[i] != step) {
      return false;
    }
    step *= tensor->shape[i];
  }
  return true;
}

/// "f64", "u8", as far as a type has such a name; otherwise what DLPack says.
static const char *format_type(char *text, size_t size, hova_data_type type) {
  static const char *const kinds[] = {
      [0] = "i", [1] = "u", [2] = "f", [4] = "bf", [5] = "complex"};
  const char *kind =
      type.code < sizeof kinds / sizeof *kinds ? kinds[type.code] : NULL;
  if (type.code == 6 && type.bits == 8 && type.lanes == 1) {
    snprintf(text, size, "bool");
  } else if (kind && type.lanes == 1) {
    snprintf(text, size, "%s%u", kind, type.bits);
  } else {
    snprintf(text, size, "type code %u with %u bits and %u lanes", type.code,
             type.bits, type.lanes);
  }
  return text;
}

/// Everything about one tensor that does not depend on its contents.
static hova_status check_tensor(const hova_tensor_info *info,
                                const hova_sizes *sizes,
                                enum hova_memory_kind memory,
                                const hova_tensor *tensor, const char *role,
                                void **data, hova_error *error) {
  uint64_t bytes = hova_element_bytes((hova_element)info->dtype);
  if (tensor->name && strcmp(tensor->name, info->name) != 0) {
    return hova_fail(error, HOVA_REJECTED,
                     "%s '%s' expected at this position, got '%s'", role,
                     info->name, tensor->name);
  }
  int32_t kind = tensor->device.device_type;
  bool is_known = kind == HOVA_CPU_MEMORY || kind == HOVA_CUDA_MEMORY;
  if (!is_known || !(kind & (int32_t)memory)) {
    static const char *const kinds[] = {
        [HOVA_CPU_MEMORY] = "CPU memory (device type 1)",
        [HOVA_CUDA_MEMORY] = "CUDA memory (device type 2)",
        [HOVA_CPU_OR_CUDA_MEMORY] = "CPU or CUDA memory (device type 1 or 2)"};
    return hova_fail(error, HOVA_REJECTED, "%s '%s' expects %s, got %d", role,
                     info->name, kinds[memory], kind);
  }
  hova_data_type expected =
      hova_make_tensor(NULL, (hova_dtype)info->dtype, 0, NULL, NULL).dtype;
  if (tensor->dtype.code != expected.code ||
      tensor->dtype.bits != expected.bits || tensor->dtype.lanes != 1) {
    char found[64];
    return hova_fail(error, HOVA_REJECTED, "%s '%s' expects %s, got %s", role,
                     info->name, hova_dtype_name(info->dtype),
                     format_type(found, sizeof found, tensor->dtype));
  }
  hova_status status = check_shape(info, sizes, tensor, role, error);
  if (status != HOVA_OK) {
    return status;
  }
  if (!is_dense(tensor)) {
    return hova_fail(error, HOVA_REJECTED,
                     "%s '%s' expects dense row-major memory; copy it", role,
                     info->name);
  }
  if (!tensor->data) {
    return hova_fail(error, HOVA_REJECTED, "%s '%s' has no data", role,
                     info->name);
  }
  *data = (char *)tensor->data + tensor->byte_offset;
  uint64_t alignment = kind == HOVA_CUDA_MEMORY ? HOVA_CUDA_ALIGNMENT : bytes;
  if ((uintptr_t)*data % alignment != 0) {
    return hova_fail(error, HOVA_REJECTED,
                     "%s '%s' expects data aligned to %llu bytes", role,
                     info->name, (unsigned long long)alignment);
  }
  return HOVA_OK;
}

/// The index of the first value outside [lower, upper), or `count`. Without
/// exits, so that it is vectorised: block by block.
#define HOVA_FIND_OUTSIDE(NAME, TYPE)                                          \
  static uint64_t NAME(const TYPE *values, uint64_t count, int64_t lower,      \
                       int64_t upper) {                                        \
    for (uint64_t begin = 0; begin < count; begin += 4096) {                   \
      uint64_t end = count - begin < 4096 ? count : begin + 4096;              \
      int outside = 0;                                                         \
      for (uint64_t i = begin; i < end; ++i) {                                 \
        outside |= (values[i] < lower) | (values[i] >= upper);                 \
      }                                                                        \
      for (uint64_t i = begin; outside && i < end; ++i) {                      \
        if (values[i] < lower || values[i] >= upper) {                         \
          return i;                                                            \
        }                                                                      \
      }                                                                        \
    }                                                                          \
    return count;                                                              \
  }
HOVA_FIND_OUTSIDE(find_outside_i32, int32_t)
HOVA_FIND_OUTSIDE(find_outside_i64, int64_t)
HOVA_FIND_OUTSIDE(find_outside_bool, uint8_t)
#undef HOVA_FIND_OUTSIDE

bool hova_has_range(const hova_tensor_info *info) {
  return info->dtype == HOVA_BOOL ||
         (info->lower != info->upper &&
          (info->dtype == HOVA_I32 || info->dtype == HOVA_I64));
}

hova_status hova_check_range(const hova_tensor_info *info, const void *data,
                             uint64_t count, hova_error *error) {
  int64_t lower = info->lower, upper = info->upper;
  uint64_t at = count;
  if (info->dtype == HOVA_BOOL) {
    lower = 0;
    upper = 2;
    at = find_outside_bool(data, count, lower, upper);
  } else if (lower != upper && info->dtype == HOVA_I32) {
    at = find_outside_i32(data, count, lower, upper);
  } else if (lower != upper && info->dtype == HOVA_I64) {
    at = find_outside_i64(data, count, lower, upper);
  }
  if (at == count) {
    return HOVA_OK;
  }
  long long value =
      info->dtype == HOVA_BOOL  ? (long long)((const uint8_t *)data)[at]
      : info->dtype == HOVA_I32 ? (long long)((const int32_t *)data)[at]
                                : (long long)((const int64_t *)data)[at];
  return hova_fail(
      error, HOVA_REJECTED,
      "input '%s' expects values from %lld to %lld, got %lld at element %llu",
      info->name, (long long)lower, (long long)upper - 1, value,
      (unsigned long long)at);
}

static bool overlap(const void *a, uint64_t a_bytes, const void *b,
                    uint64_t b_bytes) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y + b_bytes && y < x + a_bytes;
}

/// Checks output `index` against the inputs and the outputs before it.
static hova_status check_overlap(const hova_program *program,
                                 const hova_sizes *sizes, uint32_t index,
                                 void *const *input_data,
                                 void *const *output_data, hova_error *error) {
  const hova_tensor_info *info = &program->outputs[index];
  uint64_t bytes = hova_bytes_of_run(info, sizes);
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    if (overlap(output_data[index], bytes, input_data[i],
                hova_bytes_of_run(&program->inputs[i], sizes))) {
      return hova_fail(error, HOVA_REJECTED,
                       "output '%s' overlaps input '%s' in memory", info->name,
                       program->inputs[i].name);
    }
  }
  for (uint32_t i = 0; i < index; ++i) {
    if (overlap(output_data[index], bytes, output_data[i],
                hova_bytes_of_run(&program->outputs[i], sizes))) {
      return hova_fail(error, HOVA_REJECTED,
                       "output '%s' overlaps output '%s' in memory", info->name,
                       program->outputs[i].name);
    }
  }
  return HOVA_OK;
}

hova_status hova_check_arguments(const hova_program *program,
                                 const hova_sizes *sizes,
                                 enum hova_memory_kind memory,
                                 const hova_tensor *inputs,
                                 const hova_tensor *outputs, void **input_data,
                                 void **output_data, hova_error *error) {
  if ((!inputs && program->num_inputs) || (!outputs && program->num_outputs)) {
    return hova_fail(error, HOVA_REJECTED,
                     "expects %u inputs and %u outputs, got a null pointer",
                     program->num_inputs, program->num_outputs);
  }
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_inputs && status == HOVA_OK; ++i) {
    status = check_tensor(&program->inputs[i], sizes, memory, &inputs[i],
                          "input", &input_data[i], error);
  }
  for (uint32_t i = 0; i < program->num_outputs && status == HOVA_OK; ++i) {
    status = check_tensor(&program->outputs[i], sizes, memory, &outputs[i],
                          "output", &output_data[i], error);
    if (status == HOVA_OK) {
      status = check_overlap(program, sizes, i, input_data, output_data, error);
    }
  }
  return status;
}

hova_status hova_check_contents(const hova_program *program,
                                const hova_sizes *sizes,
                                void *const *input_data, hova_error *error) {
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_inputs && status == HOVA_OK; ++i) {
    const hova_tensor_info *info = &program->inputs[i];
    status = hova_check_range(info, input_data[i],
                              hova_count_of_run(info, sizes), error);
  }
  return status;
}
