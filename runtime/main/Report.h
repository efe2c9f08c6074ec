//===- Report.h - What a program is and how fast ----------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_REPORT_H
#define HOVA_RUNTIME_MAIN_REPORT_H

#include "runtime/main/CommandLine.h"

struct profile;

/// Measured latencies of a context, sorted, in milliseconds.
typedef struct latencies {
  const double *sorted;
  uint64_t count;
  int64_t kernel; ///< what was measured; negative: the whole model
} latencies;

/// Prints name, levels, inputs, outputs and sizes. Needs no context, so that
/// it also works on a machine that cannot run the program.
void hova_print_description(const hova_program *program,
                            uint64_t embedded_bytes);

/// The same as one JSON object.
hova_status hova_print_description_json(const hova_program *program,
                                        uint64_t embedded_bytes,
                                        hova_error *error);
/// Prints which program this is: model, compiler, levels and hash.
void hova_print_version(const hova_program *program);

void hova_print_latencies(const hova_context *context, latencies measured);

/// Writes the measurement as JSON, with what `profile` holds.
hova_status hova_write_latencies(const hova_context *context,
                                 latencies measured,
                                 const struct profile *profile,
                                 const char *path, hova_error *error);

/// What hova_set_times and hova_set_spans fill.
typedef struct trace_times {
  uint64_t *kernels, *spans;
} trace_times;

/// Makes the next runs fill `times`, which hova_free_trace frees, whatever the
/// result.
hova_status hova_start_trace(hova_context *context, trace_times *times,
                             hova_error *error);
void hova_free_trace(trace_times *times);

/// Writes what each thread did in the last run as trace events.
hova_status hova_write_trace(const hova_context *context,
                             const trace_times *times, const char *path,
                             hova_error *error);

#endif // HOVA_RUNTIME_MAIN_REPORT_H
