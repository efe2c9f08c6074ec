//===- Compare.c - Outputs against expected files -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/main/Compare.h"

#include "runtime/Npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUM_WORST 5

typedef struct difference {
  uint64_t index;
  double got, want;
  double excess; ///< |got - want| over what is allowed; NaN: infinite
} difference;

typedef struct comparison {
  uint64_t differing;
  double largest_absolute; ///< among finite elements
  double largest_share;    ///< of what is allowed, among finite elements
  uint32_t num_worst;
  difference worst[NUM_WORST]; ///< worst first
} comparison;

/// 0 for equal, infinity for what no tolerance allows.
static double excess_of(double got, double want, double rtol, double atol) {
  if (got == want || (isnan(got) && isnan(want))) {
    return 0;
  }
  if (!isfinite(got) || !isfinite(want)) {
    return INFINITY;
  }
  double allowed = atol + rtol * fabs(want);
  return allowed > 0 ? fabs(got - want) / allowed : INFINITY;
}

typedef struct tolerance {
  double rtol, atol;
} tolerance;

/// What the options leave open follows from the type of the program: rounding
/// to 16 bits changes a number by a share of the largest one, not of itself.
static tolerance tolerance_for(const hova_program *program,
                               const hova_tensor_info *info,
                               const hova_npy *npy,
                               const command_line *options) {
  // Nothing rounds an integer or a boolean, and a row number that is one off is
  // wrong however large it is.
  if (!hova_element_is_float((hova_element)info->dtype)) {
    return (tolerance){0, 0};
  }
  tolerance chosen = {1e-3, 1e-4};
  bool is_bf16 = strcmp(program->dtype, "bf16") == 0;
  if (is_bf16 || strcmp(program->dtype, "f16") == 0) {
    double largest = 0;
    for (uint64_t i = 0; i < npy->count; ++i) {
      double want = fabs(hova_element_value(npy->element, npy->data.data, i));
      largest = isfinite(want) ? fmax(largest, want) : largest;
    }
    chosen = (tolerance){0, (is_bf16 ? 2e-2 : 3e-3) * largest};
  }
  return (tolerance){isnan(options->rtol) ? chosen.rtol : options->rtol,
                     isnan(options->atol) ? chosen.atol : options->atol};
}

static void note_difference(comparison *result, difference found) {
  ++result->differing;
  uint32_t at = result->num_worst;
  if (at == NUM_WORST) {
    if (found.excess <= result->worst[NUM_WORST - 1].excess) {
      return;
    }
    --at;
  } else {
    ++result->num_worst;
  }
  for (; at > 0 && result->worst[at - 1].excess < found.excess; --at) {
    result->worst[at] = result->worst[at - 1];
  }
  result->worst[at] = found;
}

static comparison compare(const hova_tensor_info *info, const void *data,
                          const hova_npy *npy, tolerance allowed) {
  comparison result = {0};
  for (uint64_t i = 0; i < npy->count; ++i) {
    difference found = {i,
                        hova_element_value((hova_element)info->dtype, data, i),
                        hova_element_value(npy->element, npy->data.data, i), 0};
    found.excess = excess_of(found.got, found.want, allowed.rtol, allowed.atol);
    if (found.excess > 1) {
      note_difference(&result, found);
    }
    if (isfinite(found.got) && isfinite(found.want)) {
      result.largest_absolute =
          fmax(result.largest_absolute, fabs(found.got - found.want));
      result.largest_share = fmax(result.largest_share, found.excess);
    }
  }
  return result;
}

/// Writes a flat index as "[0, 17]".
static void format_index(char *text, size_t size, const hova_tensor_info *info,
                         uint64_t index) {
  int64_t indices[HOVA_MAX_RANK];
  for (int32_t i = info->rank - 1; i >= 0; --i) {
    indices[i] = (int64_t)(index % (uint64_t)info->dims[i]);
    index /= (uint64_t)info->dims[i];
  }
  hova_format_shape(text, size, info->rank, indices);
}

static void print_comparison(const hova_tensor_info *info, uint64_t count,
                             const comparison *result, tolerance allowed) {
  // Relative to what is allowed: near zero, where `atol` allows it, an element
  // may differ by more than `rtol` of itself.
  printf("%s: %llu of %llu elements differ (rtol %g, atol %g; largest "
         "difference %.3g, at most %.3g times the atol + rtol * |want| that is "
         "allowed)\n",
         info->name, (unsigned long long)result->differing,
         (unsigned long long)count, allowed.rtol, allowed.atol,
         result->largest_absolute, result->largest_share);
  for (uint32_t i = 0; i < result->num_worst; ++i) {
    const difference *found = &result->worst[i];
    char index[192];
    format_index(index, sizeof index, info, found->index);
    double absolute = fabs(found->got - found->want);
    printf("  %s%s got %.9g want %.9g abs %.3g rel %.3g\n", info->name, index,
           found->got, found->want, absolute, absolute / fabs(found->want));
  }
}

static hova_status compare_output(const hova_program *program,
                                  const hova_tensor_info *info,
                                  const char *path, const void *data,
                                  const command_line *options, bool *equal,
                                  hova_error *error) {
  hova_npy npy;
  hova_status status = hova_npy_open(path, &npy, error);
  if (status != HOVA_OK) {
    return status;
  }
  bool same_kind = hova_element_is_float(npy.element) ==
                   hova_element_is_float((hova_element)info->dtype);
  bool same_shape =
      npy.rank == info->rank &&
      (npy.rank == 0 ||
       memcmp(npy.dims, info->dims, (size_t)npy.rank * sizeof *npy.dims) == 0);
  if (same_kind && same_shape) {
    tolerance allowed = tolerance_for(program, info, &npy, options);
    comparison result = compare(info, data, &npy, allowed);
    print_comparison(info, npy.count, &result, allowed);
    *equal &= result.differing == 0;
  } else {
    char want[192], got[192];
    hova_format_shape(want, sizeof want, npy.rank, npy.dims);
    hova_format_shape(got, sizeof got, info->rank, info->dims);
    status = hova_fail(error, HOVA_REJECTED,
                       "output '%s' is %s%s, but '%s' holds %s%s", info->name,
                       hova_dtype_name(info->dtype), got, path,
                       hova_dtype_name(npy.element), want);
  }
  hova_npy_close(&npy);
  return status;
}

hova_status hova_compare_outputs(const hova_program *program,
                                 const command_line *options,
                                 const tensor_set *set, bool *equal,
                                 hova_error *error) {
  hova_status status = HOVA_OK;
  *equal = true;
  for (uint32_t i = 0; i < program->num_outputs && status == HOVA_OK; ++i) {
    if (options->expected[i]) {
      status =
          compare_output(program, &program->outputs[i], options->expected[i],
                         set->outputs[i].data, options, equal, error);
    }
  }
  return status;
}
