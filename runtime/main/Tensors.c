//===- Tensors.c - Inputs and outputs of a compiled program ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Tensors.h"

#include "runtime/Arguments.h"
#include "runtime/Elements.h"
#include "runtime/HugePages.h"
#include "runtime/Npy.h"
#include "runtime/main/Files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static hova_status allocate(uint32_t count, const hova_tensor_info *infos,
                            hova_tensor **tensors, hova_error *error) {
  *tensors = calloc((size_t)count + 1, sizeof **tensors);
  if (!*tensors) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory");
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t bytes = hova_info_bytes(&infos[i]);
    bool isLarge = bytes >= HOVA_HUGE_PAGE;
    void *data = aligned_alloc(isLarge ? HOVA_HUGE_PAGE : 64,
                               (bytes + 64) & ~UINT64_C(63));
    if (!data) {
      return hova_fail(error, HOVA_OUT_OF_MEMORY,
                       "out of memory: '%s' takes %llu bytes", infos[i].name,
                       (unsigned long long)bytes);
    }
    if (isLarge) {
      hova_advise_huge_pages(data, bytes);
    }
    memset(data, 0, bytes);
    // The view is only read.
    (*tensors)[i] =
        hova_make_tensor(infos[i].name, (hova_dtype)infos[i].dtype,
                         infos[i].rank, (int64_t *)infos[i].dims, data);
  }
  return HOVA_OK;
}

hova_status hova_allocate_tensors(const hova_program *program, tensor_set *set,
                                  hova_error *error) {
  memset(set, 0, sizeof *set);
  hova_status status =
      allocate(program->num_inputs, program->inputs, &set->inputs, error);
  if (status == HOVA_OK) {
    status =
        allocate(program->num_outputs, program->outputs, &set->outputs, error);
  }
  return status;
}

void hova_free_tensors(const hova_program *program, tensor_set *set) {
  for (uint32_t i = 0; set->inputs && i < program->num_inputs; ++i) {
    free(set->inputs[i].data);
  }
  for (uint32_t i = 0; set->outputs && i < program->num_outputs; ++i) {
    free(set->outputs[i].data);
  }
  free(set->inputs);
  free(set->outputs);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// "; save it with array.astype('float32')" where the type is another one, or
/// what to do where the batch is.
static void format_hint(char *text, size_t size, const hova_tensor_info *info,
                        const hova_npy *npy) {
  hova_element expected = hova_file_element(info->dtype);
  text[0] = '\0';
  if (npy->element != expected) {
    snprintf(text, size, "; save it with array.astype('%s')",
             hova_numpy_name(expected));
  } else if (npy->rank == info->rank) {
    hova_format_batch_hint(text, size, info->rank, info->dims, npy->dims);
  }
}

/// Copies what a file holds; bf16 is read from f32, since npy has no bf16.
static hova_status copy_input(const hova_tensor_info *info, const char *path,
                              const hova_npy *npy, void *data,
                              hova_error *error) {
  bool rounded = info->dtype == HOVA_BF16;
  hova_element expected = hova_file_element(info->dtype);
  bool same_shape =
      npy->rank == info->rank &&
      (npy->rank == 0 || memcmp(npy->dims, info->dims,
                                (size_t)npy->rank * sizeof *npy->dims) == 0);
  if (npy->element != expected || !same_shape) {
    char want[192], got[192], hint[96];
    hova_format_shape(want, sizeof want, info->rank, info->dims);
    hova_format_shape(got, sizeof got, npy->rank, npy->dims);
    format_hint(hint, sizeof hint, info, npy);
    return hova_fail(error, HOVA_REJECTED,
                     "input '%s' expects %s%s, got %s%s in '%s'%s", info->name,
                     hova_dtype_name(expected), want,
                     hova_dtype_name(npy->element), got, path, hint);
  }
  if (!rounded) {
    memcpy(data, npy->data.data, npy->data.size);
    return hova_check_range(info, data, npy->count, error);
  }
  for (uint64_t i = 0; i < npy->count; ++i) {
    ((uint16_t *)data)[i] = hova_bf16_from_f32(
        (float)hova_element_value(npy->element, npy->data.data, i));
  }
  return HOVA_OK;
}

static hova_status read_input(const hova_tensor_info *info, const char *path,
                              void *data, hova_error *error) {
  // Standard input ends somewhere: at twice the bytes, so that numbers of a
  // wider type are told by their type, and a header.
  const uint64_t header = 1 << 16;
  bool streams = strcmp(path, "-") == 0;
  hova_npy npy;
  hova_status status =
      streams ? hova_npy_read(2 * hova_info_bytes(info) + header, &npy, error)
              : hova_npy_open(path, &npy, error);
  if (status == HOVA_OK) {
    status = copy_input(info, path, &npy, data, error);
    hova_npy_close(&npy);
  }
  return status;
}

/// The finaliser of splitmix64: a counter in, 64 good bits out.
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

/// Floats are uniform in [-1, 1); integers uniform in their valid range, or in
/// [0, 100) where every integer is valid.
static void invent_input(const hova_tensor_info *info, uint64_t stream,
                         void *data) {
  uint64_t count = hova_info_count(info);
  bool checked = info->lower != info->upper;
  uint64_t lower = checked ? (uint64_t)info->lower : 0;
  uint64_t range = checked ? (uint64_t)info->upper - lower : 100;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = mix(stream ^ mix(i));
    float value = (float)(int32_t)(bits >> 40) * 0x1p-23f - 1.0f;
    switch (info->dtype) {
    case HOVA_F32:
      ((float *)data)[i] = value;
      break;
    case HOVA_F64:
      ((double *)data)[i] = value;
      break;
    case HOVA_BF16:
      ((uint16_t *)data)[i] = hova_bf16_from_f32(value);
      break;
    case HOVA_F16:
      ((uint16_t *)data)[i] = hova_f16_from_f32(value);
      break;
    case HOVA_I32:
      ((int32_t *)data)[i] = (int32_t)(lower + bits % range);
      break;
    case HOVA_I64:
      ((int64_t *)data)[i] = (int64_t)(lower + bits % range);
      break;
    default:
      ((uint8_t *)data)[i] = bits & 1;
      break;
    }
  }
}

hova_status hova_fill_inputs(const hova_program *program,
                             const command_line *options, tensor_set *set,
                             hova_error *error) {
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_inputs && status == HOVA_OK; ++i) {
    if (options->inputs[i]) {
      status = read_input(&program->inputs[i], options->inputs[i],
                          set->inputs[i].data, error);
    } else {
      invent_input(&program->inputs[i], mix(options->seed) + i,
                   set->inputs[i].data);
    }
  }
  return status;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

static hova_status write_into_directory(const hova_tensor_info *info,
                                        const char *directory, const void *data,
                                        hova_error *error) {
  char *path = hova_path_in_directory(info, directory, error);
  if (!path) {
    return error->status;
  }
  hova_status status = hova_npy_write(path, (hova_element)info->dtype,
                                      info->rank, info->dims, data, error);
  free(path);
  return status;
}

hova_status hova_write_outputs(const hova_program *program,
                               const command_line *options,
                               const tensor_set *set, hova_error *error) {
  const char *directory = options->output_directory;
  hova_status status = HOVA_OK;
  for (uint32_t i = 0; i < program->num_outputs && status == HOVA_OK; ++i) {
    const hova_tensor_info *info = &program->outputs[i];
    const void *data = set->outputs[i].data;
    if (options->outputs[i]) {
      status = hova_npy_write(options->outputs[i], (hova_element)info->dtype,
                              info->rank, info->dims, data, error);
    }
    if (directory && status == HOVA_OK) {
      status = write_into_directory(info, directory, data, error);
    }
  }
  return status;
}

/// The position of the largest value of a row; NaN never wins.
static uint64_t argmax(hova_element element, const void *data, uint64_t begin,
                       uint64_t length) {
  uint64_t best = 0;
  double largest = -INFINITY;
  for (uint64_t i = 0; i < length; ++i) {
    double value = hova_element_value(element, data, begin + i);
    if (value > largest) {
      largest = value;
      best = i;
    }
  }
  return best;
}

static void print_output(const hova_tensor_info *info, const void *data) {
  const uint64_t shown_values = 8, shown_rows = 8;
  hova_element element = (hova_element)info->dtype;
  uint64_t count = hova_info_count(info);
  char shape[192];
  hova_format_shape(shape, sizeof shape, info->rank, info->dims);
  printf("%s %s%s\n  values:", info->name, hova_dtype_name(info->dtype), shape);
  for (uint64_t i = 0; i < count && i < shown_values; ++i) {
    printf(" %.6g", hova_element_value(element, data, i));
  }
  printf("%s\n", count > shown_values ? " ..." : "");
  uint64_t length = info->rank > 0 ? (uint64_t)info->dims[info->rank - 1] : 0;
  if (length < 2) {
    return;
  }
  uint64_t rows = count / length;
  printf("  argmax:");
  for (uint64_t row = 0; row < rows && row < shown_rows; ++row) {
    printf(" %llu",
           (unsigned long long)argmax(element, data, row * length, length));
  }
  printf("%s\n", rows > shown_rows ? " ..." : "");
}

void hova_print_outputs(const hova_program *program, const tensor_set *set) {
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    print_output(&program->outputs[i], set->outputs[i].data);
  }
}
