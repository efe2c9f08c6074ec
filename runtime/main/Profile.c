//===- Profile.c - Which layer and which stage takes the time -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every path that a part of a kernel has is a place, and so is every path that
// it stands below: encoder.3.attn, encoder.3 and encoder. The time of a place
// is that of all parts at it or below.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/Profile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
  const char *path;
  size_t length; ///< of the path up to here
  size_t first;  ///< the first part that stands here
  double ms;
  uint64_t flops;
  /// The last kernel with parts here, and how many of its parts those are.
  uint32_t kernel;
  size_t count;
  bool divided; ///< whether some kernel has other parts besides
} place;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static int compare_paths(const void *a, const void *b) {
  const place *x = a, *y = b;
  size_t shorter = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->path, y->path, shorter);
  return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

/// As the kernels compute them; a place before what stands below it.
static int compare_order(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->first != y->first
             ? (x->first > y->first) - (x->first < y->first)
             : (x->length > y->length) - (x->length < y->length);
}

/// The next length at which a path may end, after `length`; 0: none.
static size_t next_end(const char *path, size_t length) {
  if (path[length] == '\0') {
    return 0;
  }
  size_t from = length ? length + 1 : 0;
  return from + strcspn(path + from, ".");
}

/// Every place once, sorted by path. Returns their number.
static size_t find_places(const hova_program *program, place *places) {
  size_t count = 0;
  for (size_t i = 0; i < program->num_parts; ++i) {
    const char *path = program->parts[i].path;
    for (size_t end = 0; (end = next_end(path, end)) != 0;) {
      places[count++] = (place){.path = path, .length = end, .first = i};
    }
  }
  if (count == 0) {
    return 0;
  }
  qsort(places, count, sizeof *places, compare_paths);
  size_t kept = 0;
  for (size_t i = 1; i < count; ++i) {
    if (compare_paths(&places[kept], &places[i]) != 0) {
      places[++kept] = places[i];
    } else if (places[i].first < places[kept].first) {
      places[kept].first = places[i].first;
    }
  }
  return kept + 1;
}

static size_t count_ends(const hova_program *program) {
  size_t count = 0;
  for (size_t i = 0; i < program->num_parts; ++i) {
    const char *path = program->parts[i].path;
    for (size_t end = 0; (end = next_end(path, end)) != 0;) {
      ++count;
    }
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// The parts of one kernel.
typedef struct range {
  size_t begin, end;
  double work;
} range;

static range parts_of(const hova_program *program, size_t begin) {
  range parts = {begin, begin, 0};
  while (parts.end < program->num_parts &&
         program->parts[parts.end].kernel == program->parts[begin].kernel) {
    parts.work += (double)program->parts[parts.end++].work;
  }
  return parts;
}

static double ms_of(const hova_program *program, const profile *measured,
                    const range *parts, size_t part) {
  double share = parts->work > 0
                     ? (double)program->parts[part].work / parts->work
                     : 1.0 / (double)(parts->end - parts->begin);
  return measured->kernel_ms[program->parts[part].kernel] * share;
}

static place *place_of(place *places, size_t count, const char *path,
                       size_t length) {
  place wanted = {.path = path, .length = length};
  return bsearch(&wanted, places, count, sizeof *places, compare_paths);
}

/// Adds the times of one kernel's parts to their places.
static void add_kernel(const hova_program *program, const profile *measured,
                       const range *parts, place *places, size_t count) {
  for (size_t i = parts->begin; i < parts->end; ++i) {
    const hova_part_info *part = &program->parts[i];
    for (size_t end = 0; (end = next_end(part->path, end)) != 0;) {
      place *at = place_of(places, count, part->path, end);
      at->count = at->count && at->kernel == part->kernel ? at->count + 1 : 1;
      at->kernel = part->kernel;
      at->ms += ms_of(program, measured, parts, i);
      at->flops += part->flops;
    }
  }
  for (size_t i = parts->begin; i < parts->end; ++i) {
    const char *path = program->parts[i].path;
    for (size_t end = 0; (end = next_end(path, end)) != 0;) {
      place *at = place_of(places, count, path, end);
      at->divided |= at->count < parts->end - parts->begin;
    }
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void write_places(writer *out, const hova_program *program,
                         const profile *measured) {
  place *places = malloc((count_ends(program) + 1) * sizeof *places);
  if (!places) {
    out->status = hova_fail(out->error, HOVA_OUT_OF_MEMORY,
                            "out of memory for a profile");
    return;
  }
  size_t count = find_places(program, places);
  for (size_t i = 0; i < program->num_parts;) {
    range parts = parts_of(program, i);
    add_kernel(program, measured, &parts, places, count);
    i = parts.end;
  }
  qsort(places, count, sizeof *places, compare_order);
  for (size_t i = 0; i < count; ++i) {
    PUT(out, "%s\n    {\"path\": ", i ? "," : "");
    char *path = strndup(places[i].path, places[i].length);
    PUT_STRING(out, path ? path : "");
    free(path);
    PUT(out, ", \"ms\": %.6f, \"flops\": %llu, \"divided\": %s}", places[i].ms,
        (unsigned long long)places[i].flops,
        places[i].divided ? "true" : "false");
  }
  free(places);
}

static void write_kernels(writer *out, const hova_program *program,
                          const profile *measured) {
  for (uint32_t i = 0; i < program->num_kernels; ++i) {
    const hova_kernel_info *kernel = &program->kernels[i];
    PUT(out, "%s\n    {\"kernel\": %u, \"path\": ", i ? "," : "", i);
    PUT_STRING(out, kernel->path);
    PUT(out, ", \"symbol\": ");
    PUT_STRING(out, kernel->symbol);
    PUT(out, ", \"ms\": %.6f, \"flops\": %llu, \"bytes\": %llu}",
        measured->kernel_ms[i], (unsigned long long)kernel->flops,
        (unsigned long long)kernel->bytes);
  }
}

/// The stage that begins with part `first`; returns the first part after it.
static size_t write_stage(writer *out, const hova_program *program,
                          const profile *measured, const range *parts,
                          size_t first) {
  const hova_part_info *stage = &program->parts[first];
  double ms = 0;
  uint64_t flops = 0;
  size_t end = first;
  while (end < parts->end && program->parts[end].stage == stage->stage) {
    ms += ms_of(program, measured, parts, end);
    flops += program->parts[end++].flops;
  }
  bool divided = end - first < parts->end - parts->begin;
  PUT(out,
      "%s\n    {\"kernel\": %u, \"stage\": %u, \"ms\": %.6f, \"flops\": "
      "%llu, \"divided\": %s, \"paths\": [",
      first ? "," : "", stage->kernel, stage->stage, ms,
      (unsigned long long)flops, divided ? "true" : "false");
  for (size_t i = first; i < end; ++i) {
    PUT(out, i > first ? ", " : "");
    PUT_STRING(out, program->parts[i].path);
  }
  PUT(out, "]}");
  return end;
}

static void write_stages(writer *out, const hova_program *program,
                         const profile *measured) {
  for (size_t i = 0; i < program->num_parts;) {
    range parts = parts_of(program, i);
    while (i < parts.end) {
      i = write_stage(out, program, measured, &parts, i);
    }
  }
}

void hova_write_profile(writer *out, const hova_program *program,
                        const profile *measured) {
  double ms = 0;
  for (uint32_t i = 0; i < program->num_kernels; ++i) {
    ms += measured->kernel_ms[i];
  }
  PUT(out,
      ", \"profile\": {\"runs\": %llu, \"ms\": %.6f, \"divided_by\": "
      "\"counted work\",\n  \"kernels\": [",
      (unsigned long long)measured->runs, ms);
  write_kernels(out, program, measured);
  PUT(out, "],\n  \"stages\": [");
  write_stages(out, program, measured);
  PUT(out, "],\n  \"layers\": [");
  write_places(out, program, measured);
  PUT(out, "]}");
}
