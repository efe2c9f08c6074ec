//===- Main.c - A compiled program ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parses the command line, runs the model once (or as often as a measurement
// asks for), and writes, compares or summarises its outputs.
//
//===----------------------------------------------------------------------===//

#include "runtime/Process.h"
#include "runtime/main/Compare.h"
#include "runtime/main/Entry.h"
#include "runtime/main/Files.h"
#include "runtime/main/Help.h"
#include "runtime/main/Profile.h"
#include "runtime/main/Report.h"
#include "runtime/main/RunSizes.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// Runs that are made for the times of kernels, at most.
enum { MOST_PROFILED = 10 };

static int exit_status(hova_status status) {
  switch (status) {
  case HOVA_OK:
    return EXIT_OK;
  case HOVA_OUT_OF_MEMORY:
    return EXIT_NO_MEMORY;
  case HOVA_IO_ERROR:
    return EXIT_IO;
  case HOVA_FAULT:
    return EXIT_NUMBERS_DIFFER;
  default:
    return EXIT_REJECTED;
  }
}

/// A mapped file shrank or its disk failed. Only system calls are safe here.
static void end_on_sigbus(int number, siginfo_t *info, void *context) {
  (void)context;
  if (hova_report_lost_file("error: ", info->si_addr)) {
    _exit(EXIT_IO);
  }
  // The same again, without this handler.
  signal(number, SIG_DFL);
}

static void prepare_process(void) {
  hova_open_standard_files();
  hova_report_size_limit();
  struct sigaction action = {.sa_sigaction = end_on_sigbus,
                             .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
}

/// The file that the weights are read from; null: they are embedded, or there
/// are none. `beside` has room for its name.
static hova_status find_weights(const command_line *options,
                                char beside[PATH_MAX + 16],
                                const char **weights, hova_error *error) {
  uint64_t bytes = 0;
  for (const hova_program *at = &hova_linked_program; at;
       at = at->alternative) {
    bytes |= at->weight_bytes;
  }
  *weights = options->weights;
  if (*weights || hova_weights_bytes != 0 || bytes == 0) {
    return HOVA_OK;
  }
  ssize_t length = readlink("/proc/self/exe", beside, PATH_MAX);
  if (length < 0 || length >= PATH_MAX) {
    return hova_fail(error, HOVA_IO_ERROR,
                     "cannot find this program's own path: use --weights");
  }
  memcpy(beside + length, ".weights", sizeof ".weights");
  *weights = beside;
  return HOVA_OK;
}

static hova_status create(const command_line *options, const char *weights,
                          hova_context **context, hova_error *error) {
  hova_options chosen = {.threads = options->threads,
                         .check_weights = options->check_weights,
                         .weights = weights,
                         .target = options->target,
                         .device = options->device,
                         .message = error->text,
                         .message_bytes = sizeof error->text};
  if (!weights && hova_weights_bytes != 0) {
    chosen.image = hova_weights_begin;
    chosen.image_bytes = hova_weights_bytes;
  }
  hova_status status = hova_create(&hova_linked_program, &chosen, context);
  if (status == HOVA_OK && error->text[0]) {
    // Which of several machines was taken, and why.
    fprintf(stderr, "note: %s\n", error->text);
    error->text[0] = '\0';
  }
  return status;
}

static double milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/// Some more runs, in which every kernel is timed; the latencies are those of
/// runs that read no clock in between.
static hova_status measure_kernels(hova_context *context,
                                   const command_line *options,
                                   const tensor_set *set, profile *measured,
                                   hova_error *error) {
  uint32_t kernels = hova_program_of(context)->num_kernels;
  uint64_t *times = calloc((size_t)kernels + 1, sizeof *times);
  measured->kernel_ms = calloc((size_t)kernels + 1, sizeof(double));
  if (!times || !measured->kernel_ms) {
    free(times);
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for a profile");
  }
  measured->runs = options->repetitions < MOST_PROFILED ? options->repetitions
                                                        : MOST_PROFILED;
  // A trace is of the last measured run.
  hova_set_spans(context, NULL);
  hova_set_times(context, times);
  hova_status status = HOVA_OK;
  for (uint64_t i = 0; i < measured->runs && status == HOVA_OK; ++i) {
    if (options->cold) {
      hova_flush_caches(context);
    }
    status = hova_run(context, set->inputs, set->outputs);
    for (uint32_t k = 0; k < kernels; ++k) {
      measured->kernel_ms[k] +=
          (double)(times[k + 1] - times[k]) * 1e-6 / (double)measured->runs;
    }
  }
  hova_set_times(context, NULL);
  free(times);
  return status == HOVA_OK
             ? status
             : hova_fail(error, status, "%s", hova_message(context));
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// Runs repeatedly, one kernel alone if the options ask; else the last run
/// leaves its outputs.
static hova_status measure(hova_context *context, const command_line *options,
                           const tensor_set *set, hova_error *error) {
  double *times = malloc(options->repetitions * sizeof *times);
  if (!times) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY,
                     "out of memory for %llu repetitions",
                     (unsigned long long)options->repetitions);
  }
  hova_status status = HOVA_OK;
  int64_t kernel = -1;
  if (options->kernel) {
    kernel = hova_find_kernel(hova_program_of(context), options->kernel);
    if (kernel < 0) {
      free(times);
      return hova_fail(error, HOVA_REJECTED,
                       "target %s, on which the model runs here, has no kernel "
                       "'%s'",
                       hova_target(context), options->kernel);
    }
    // Once the whole model: the kernel's operands are then in the arena.
    status = hova_run(context, set->inputs, set->outputs);
    hova_select_kernel(context, kernel);
  }
  for (uint64_t i = 0; i < options->warmup && status == HOVA_OK; ++i) {
    status = hova_run(context, set->inputs, set->outputs);
  }
  for (uint64_t i = 0; i < options->repetitions && status == HOVA_OK; ++i) {
    if (options->cold) {
      hova_flush_caches(context);
    }
    double start = milliseconds_now();
    status = hova_run(context, set->inputs, set->outputs);
    times[i] = milliseconds_now() - start;
  }
  if (status != HOVA_OK) {
    free(times);
    return hova_fail(error, status, "%s", hova_message(context));
  }
  qsort(times, options->repetitions, sizeof *times, compare_doubles);
  latencies measured = {times, options->repetitions, kernel};
  if (!options->prints_file) {
    hova_print_latencies(context, measured);
  }
  if (options->benchmark_out) {
    profile profile = {NULL, 0};
    if (kernel < 0) {
      status = measure_kernels(context, options, set, &profile, error);
    }
    if (status == HOVA_OK) {
      status = hova_write_latencies(context, measured, &profile,
                                    options->benchmark_out, error);
    }
    free(profile.kernel_ms);
  }
  free(times);
  return status;
}

/// Runs as the options ask, with a trace if they want one.
static hova_status run(hova_context *context, const command_line *options,
                       const tensor_set *set, hova_error *error) {
  trace_times times = {NULL, NULL};
  hova_status status = HOVA_OK;
  if (options->trace) {
    status = hova_start_trace(context, &times, error);
  }
  if (status != HOVA_OK) {
    // Said already.
  } else if (options->benchmark) {
    status = measure(context, options, set, error);
  } else {
    status = hova_run(context, set->inputs, set->outputs);
    if (status != HOVA_OK) {
      hova_fail(error, status, "%s", hova_message(context));
    }
  }
  if (options->trace && status == HOVA_OK) {
    status = hova_write_trace(context, &times, options->trace, error);
  }
  hova_free_trace(&times);
  return status;
}

/// Whether the options ask for nothing but to see the outputs.
static bool wants_summary(const command_line *options) {
  bool wants = !options->output_directory && !options->benchmark &&
               !options->prints_file;
  for (uint32_t i = 0; i < hova_linked_program.num_outputs; ++i) {
    wants &= !options->outputs[i] && !options->expected[i];
  }
  return wants;
}

/// Everything after the command line and its files.
static hova_status execute(const command_line *options, const char *weights,
                           bool *equal, hova_error *error) {
  sized_program sized;
  const hova_program *program = &sized.program;
  hova_context *context = NULL;
  tensor_set set = {NULL, NULL};
  hova_status status =
      hova_size_program(&hova_linked_program, options, &sized, error);
  if (status == HOVA_OK) {
    status = create(options, weights, &context, error);
  }
  if (status == HOVA_OK) {
    status = hova_allocate_tensors(program, &set, error);
  }
  if (status == HOVA_OK) {
    status = hova_fill_inputs(program, options, &set, error);
  }
  if (status == HOVA_OK) {
    status = run(context, options, &set, error);
  }
  if (status == HOVA_OK) {
    status = hova_write_outputs(program, options, &set, error);
  }
  if (status == HOVA_OK && wants_summary(options)) {
    hova_print_outputs(program, &set);
  }
  if (status == HOVA_OK) {
    status = hova_compare_outputs(program, options, &set, equal, error);
  }
  hova_free_tensors(program, &set);
  hova_free_sized_program(&sized);
  hova_destroy(context);
  return status;
}

/// What was printed must have arrived: a full disk is not success.
static int close_output(int result) {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "error: cannot write standard output\n");
    return EXIT_IO;
  }
  return result;
}

/// Runs the model; an exit status.
static int run_model(const command_line *options, hova_error *error) {
  char beside[PATH_MAX + 16];
  const char *weights;
  bool made_directory = false, equal = true;
  hova_status status = find_weights(options, beside, &weights, error);
  if (status == HOVA_OK) {
    status = hova_claim_files(&hova_linked_program, options, weights,
                              &made_directory, error);
    if (status == HOVA_REJECTED) {
      return EXIT_USAGE;
    }
  }
  if (status == HOVA_OK) {
    status = execute(options, weights, &equal, error);
  }
  if (status != HOVA_OK && made_directory) {
    // Unless an output has arrived in it already.
    rmdir(options->output_directory);
  }
  return status == HOVA_OK && !equal ? EXIT_NUMBERS_DIFFER
                                     : exit_status(status);
}

/// Runs the model, or prints what the options ask for; an exit status.
static int obey(const command_line *options, const char *name,
                hova_error *error) {
  const hova_program *program = &hova_linked_program;
  if (options->help) {
    hova_print_help(program, name);
  } else if (options->version) {
    hova_print_version(program);
  } else if (options->describe && options->format &&
             strcmp(options->format, "json") == 0) {
    return exit_status(
        hova_print_description_json(program, hova_weights_bytes, error));
  } else if (options->describe) {
    hova_print_description(program, hova_weights_bytes);
  } else {
    return run_model(options, error);
  }
  return EXIT_OK;
}

int main(int argc, char **argv) {
  prepare_process();
  hova_error error = {HOVA_OK, ""};
  command_line options;
  hova_status status = hova_parse_command_line(argc, argv, &hova_linked_program,
                                               &options, &error);
  int result = EXIT_OK;
  if (status == HOVA_OK) {
    // Without a name there is no word to print in examples.
    result = obey(&options, argc > 0 ? argv[0] : "PROGRAM", &error);
  } else {
    result = status == HOVA_REJECTED ? EXIT_USAGE : exit_status(status);
  }
  hova_free_command_line(&options);
  bool failed = result == EXIT_NUMBERS_DIFFER ? error.status == HOVA_FAULT
                                              : result != EXIT_OK;
  if (failed) {
    fflush(stdout);
    fprintf(stderr, "error: %s\n", error.text);
    return result;
  }
  return close_output(result);
}
