//===- CommandLine.c - Options of a compiled program ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Long options only, in any order, value after '=' or as the next word. An
// option given twice is an error unless it names another tensor.
//
//===----------------------------------------------------------------------===//

#include "runtime/main/CommandLine.h"

#include "runtime/main/Nearest.h"
#include "runtime/main/RunSizes.h"
#include "runtime/main/Target.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum option_id {
  OPTION_INPUT,
  OPTION_OUTPUT,
  OPTION_EXPECTED,
  OPTION_SET,
  OPTION_OUTPUT_DIR,
  OPTION_RTOL,
  OPTION_ATOL,
  OPTION_RANDOM_INPUTS,
  OPTION_DEVICE,
  OPTION_THREADS,
  OPTION_WEIGHTS,
  OPTION_CHECK_WEIGHTS,
  OPTION_BENCHMARK,
  OPTION_WARMUP,
  OPTION_REPETITIONS,
  OPTION_BENCHMARK_OUT,
  OPTION_KERNEL,
  OPTION_COLD,
  OPTION_TRACE,
  OPTION_DESCRIBE,
  OPTION_FORMAT,
  OPTION_VERSION,
  OPTION_HELP,
  NUM_OPTIONS
} option_id;

typedef struct option_info {
  const char *flag;
  const char *value; ///< its name in the help; null: a switch
  const char *help;
} option_info;

static const option_info infos[NUM_OPTIONS] = {
    [OPTION_INPUT] = {"--input", "NAME=FILE.npy", "read an input"},
    [OPTION_OUTPUT] = {"--output", "NAME=FILE.npy", "write an output"},
    [OPTION_EXPECTED] = {"--expected", "NAME=FILE.npy",
                         "compare an output; exit status 3 if it differs"},
    [OPTION_SET] = {"--set", "NAME=VALUE",
                    "the size of the inputs that are not given"},
    [OPTION_OUTPUT_DIR] = {"--output-dir", "DIR",
                           "write every output as DIR/NAME.npy"},
    [OPTION_RTOL] = {"--rtol", "R", "relative tolerance (f32: 1e-3)"},
    [OPTION_ATOL] = {"--atol", "A",
                     "absolute tolerance (f32: 1e-4; of the largest value: "
                     "bf16 2e-2, f16 3e-3)"},
    [OPTION_RANDOM_INPUTS] = {"--random-inputs", "SEED",
                              "fill every input that is not given"},
    [OPTION_DEVICE] = {"--device", "TARGET[:N]",
                       "run on cpu or on cuda, of several GPUs on number N "
                       "(default: the first target that is there, GPU 0)"},
    [OPTION_THREADS] = {"--threads", "N",
                        "threads (default: usable processors)"},
    [OPTION_WEIGHTS] = {"--weights", "FILE",
                        "packed weights made by 'hova weights pack'"},
    [OPTION_CHECK_WEIGHTS] = {"--check-weights", NULL,
                              "read all weights first and compare their "
                              "checksum (default: if others may write to "
                              "the file)"},
    [OPTION_BENCHMARK] = {"--benchmark", NULL, "measure the latency"},
    [OPTION_WARMUP] = {"--warmup", "N", "runs before measuring (default 3)"},
    [OPTION_REPETITIONS] = {"--repetitions", "N", "measured runs (default 20)"},
    [OPTION_BENCHMARK_OUT] =
        {"--benchmark-out", "FILE.json",
         "write the measurement, and a profile of layers and "
         "kernels"},
    [OPTION_KERNEL] = {"--kernel", "PATH",
                       "measure this kernel alone, data in the caches"},
    [OPTION_COLD] = {"--cold", NULL, "the same, data in memory only"},
    [OPTION_TRACE] =
        {"--trace", "FILE.json",
         "write when each thread, or a GPU, ran each kernel in the last "
         "run"},
    [OPTION_DESCRIBE] = {"--describe", NULL, "print what the program is"},
    [OPTION_FORMAT] = {"--format", "text|json", "how --describe prints it"},
    [OPTION_VERSION] = {"--version", NULL,
                        "print model, compiler, levels and hash"},
    [OPTION_HELP] = {"--help", NULL, "print this text, as -h does"},
};

/// The kernels of a GPU know of no threads and caches of the processor.
static bool needs_processor(int id) {
  return id == OPTION_THREADS || id == OPTION_COLD;
}

/// The program for this kind of machine, of those that are linked together;
/// null: there is none.
static const hova_program *find_program(const hova_program *program,
                                        bool for_gpu) {
  while (program && hova_is_for_gpu(program) != for_gpu) {
    program = program->alternative;
  }
  return program;
}

void hova_print_options(const hova_program *program) {
  for (int i = 0; i < NUM_OPTIONS; ++i) {
    if ((needs_processor(i) && !find_program(program, false)) ||
        (i == OPTION_SET && !program->ranges)) {
      continue;
    }
    char left[64];
    snprintf(left, sizeof left, "%s %s", infos[i].flag,
             infos[i].value ? infos[i].value : "");
    printf("  %-28s %s\n", left, infos[i].help);
  }
}

static hova_status usage(hova_error *error, const char *flag, const char *what,
                         const char *found) {
  return hova_fail(error, HOVA_REJECTED, "%s expects %s, got '%s'", flag, what,
                   found);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static hova_status parse_count(const char *flag, const char *text,
                               uint64_t least, uint64_t most, uint64_t *value,
                               hova_error *error) {
  char *end = NULL;
  errno = 0;
  *value = strtoull(text, &end, 10);
  // strtoull accepts blanks and signs.
  bool digits = text[0] >= '0' && text[0] <= '9' && *end == '\0';
  if (!digits || errno || *value < least || *value > most) {
    char what[80];
    snprintf(what, sizeof what, "an integer from %llu to %llu",
             (unsigned long long)least, (unsigned long long)most);
    return usage(error, flag, what, text);
  }
  return HOVA_OK;
}

static hova_status parse_tolerance(const char *flag, const char *text,
                                   double *value, hova_error *error) {
  char *end = NULL;
  *value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(*value) || *value < 0) {
    return usage(error, flag, "a number that is not negative", text);
  }
  return HOVA_OK;
}

static void list_names(char *text, size_t size, uint32_t count,
                       const hova_tensor_info *infos_of) {
  size_t length = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < count && length < size; ++i) {
    length += (size_t)snprintf(text + length, size - length, "%s%s",
                               i ? ", " : "", infos_of[i].name);
  }
}

/// Whether the first `length` bytes of `text` look like a name of a description
/// rather than like the start of a path.
static bool is_name(const char *text, size_t length) {
  for (size_t i = 0; i < length; ++i) {
    char c = text[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(c >= '0' && c <= '9' && i > 0)) {
      return false;
    }
  }
  return length > 0;
}

/// A misspelt name is not the start of a file's name.
static hova_status unknown_name(const char *flag, const char *text,
                                size_t length, uint32_t count,
                                const hova_tensor_info *tensors,
                                hova_error *error) {
  nearest_name nearest = hova_start_nearest(text, length);
  for (uint32_t i = 0; i < count; ++i) {
    hova_offer_nearest(&nearest, tensors[i].name);
  }
  char names[300];
  list_names(names, sizeof names, count, tensors);
  return hova_fail(
      error, HOVA_REJECTED,
      "%s: unknown name '%.*s'; %s%s%s (a file that is called so is ./%s)",
      flag, (int)length, text, nearest.name ? "did you mean '" : "there is ",
      nearest.name ? nearest.name : names, nearest.name ? "'?" : "", text);
}

/// Notes NAME=FILE, or FILE alone where there is one tensor.
static hova_status note_file(const char *flag, const char *text, uint32_t count,
                             const hova_tensor_info *tensors,
                             const char **files, hova_error *error) {
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : 0;
  uint32_t index = count;
  const char *file = text;
  for (uint32_t i = 0; equals && i < count; ++i) {
    if (strlen(tensors[i].name) == length &&
        memcmp(tensors[i].name, text, length) == 0) {
      index = i;
      file = equals + 1;
    }
  }
  if (index == count && equals && is_name(text, length)) {
    return unknown_name(flag, text, length, count, tensors, error);
  }
  if (index == count && count == 1) {
    index = 0;
  }
  if (index == count || !*file) {
    char names[300], what[360];
    list_names(names, sizeof names, count, tensors);
    snprintf(what, sizeof what, "NAME=FILE.npy with NAME one of: %s", names);
    return usage(error, flag, what, text);
  }
  if (files[index]) {
    return hova_fail(error, HOVA_REJECTED, "%s is given twice for '%s'", flag,
                     tensors[index].name);
  }
  files[index] = file;
  return HOVA_OK;
}

int64_t hova_find_kernel(const hova_program *program, const char *path) {
  for (uint32_t i = 0; i < program->num_kernels; ++i) {
    if (strcmp(program->kernels[i].path, path) == 0) {
      return i;
    }
  }
  return -1;
}

/// Which of several programs runs is not known yet.
static hova_status note_kernel(const char *flag, const char *path,
                               const hova_program *program, const char **kernel,
                               hova_error *error) {
  for (; program; program = program->alternative) {
    if (hova_find_kernel(program, path) >= 0) {
      *kernel = path;
      return HOVA_OK;
    }
  }
  return usage(error, flag, "the path of a kernel, as --trace lists them",
               path);
}

/// `cpu`, `cuda` or `cuda:1`.
static hova_status note_device(const char *flag, const char *text,
                               const hova_program *program,
                               command_line *options, hova_error *error) {
  char what[96] = "";
  const char *colon = strchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  for (const hova_program *at = program; at; at = at->alternative) {
    const char *target = hova_program_target(at);
    snprintf(what + strlen(what), sizeof what - strlen(what), "%s%s",
             what[0] ? " or " : "", target);
    // A processor has no number, nor has what it emulates.
    bool has_number = hova_is_for_gpu(at) && !hova_is_emulated(at);
    if (strlen(target) == length && memcmp(target, text, length) == 0 &&
        (!colon || has_number)) {
      options->target = target;
    }
  }
  uint64_t number = 0;
  if (!options->target) {
    return usage(error, flag, what, text);
  }
  hova_status status =
      colon ? parse_count(flag, colon + 1, 0, INT32_MAX, &number, error)
            : HOVA_OK;
  options->device = (int32_t)number;
  return status;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static hova_status apply(option_id id, const char *text,
                         const hova_program *program, command_line *options,
                         hova_error *error) {
  const char *flag = infos[id].flag;
  uint64_t count = 0;
  hova_status status = HOVA_OK;
  switch (id) {
  case OPTION_INPUT:
    return note_file(flag, text, program->num_inputs, program->inputs,
                     options->inputs, error);
  case OPTION_OUTPUT:
    return note_file(flag, text, program->num_outputs, program->outputs,
                     options->outputs, error);
  case OPTION_EXPECTED:
    return note_file(flag, text, program->num_outputs, program->outputs,
                     options->expected, error);
  case OPTION_SET:
    return hova_note_size(flag, text, program, options, error);
  case OPTION_RTOL:
    return parse_tolerance(flag, text, &options->rtol, error);
  case OPTION_ATOL:
    return parse_tolerance(flag, text, &options->atol, error);
  case OPTION_RANDOM_INPUTS:
    options->random_inputs = true;
    return parse_count(flag, text, 0, UINT64_MAX, &options->seed, error);
  case OPTION_DEVICE:
    return note_device(flag, text, program, options, error);
  case OPTION_THREADS:
    status = parse_count(flag, text, 1, 1024, &count, error);
    options->threads = (int32_t)count;
    return status;
  case OPTION_WARMUP:
    return parse_count(flag, text, 0, 1000000000, &options->warmup, error);
  case OPTION_REPETITIONS:
    return parse_count(flag, text, 1, 10000000, &options->repetitions, error);
  case OPTION_OUTPUT_DIR:
    options->output_directory = text;
    return HOVA_OK;
  case OPTION_WEIGHTS:
    options->weights = text;
    return HOVA_OK;
  case OPTION_CHECK_WEIGHTS:
    options->check_weights = true;
    return HOVA_OK;
  case OPTION_BENCHMARK_OUT:
    options->benchmark_out = text;
    options->benchmark = true;
    return HOVA_OK;
  case OPTION_TRACE:
    options->trace = text;
    return HOVA_OK;
  case OPTION_KERNEL:
    options->benchmark = true;
    return note_kernel(flag, text, program, &options->kernel, error);
  case OPTION_COLD:
    options->cold = true;
    return HOVA_OK;
  case OPTION_BENCHMARK:
    options->benchmark = true;
    return HOVA_OK;
  case OPTION_DESCRIBE:
    options->describe = true;
    return HOVA_OK;
  case OPTION_FORMAT:
    options->format = text;
    return strcmp(text, "json") == 0 || strcmp(text, "text") == 0
               ? HOVA_OK
               : usage(error, flag, "text or json", text);
  case OPTION_VERSION:
    options->version = true;
    return HOVA_OK;
  default:
    options->help = true;
    return HOVA_OK;
  }
}

/// The option whose flag is the first `length` bytes of `word`.
static option_id find_option(const char *word, size_t length) {
  if (length == 2 && memcmp(word, "-h", 2) == 0) {
    return OPTION_HELP;
  }
  int id = 0;
  while (id < NUM_OPTIONS && (strlen(infos[id].flag) != length ||
                              memcmp(infos[id].flag, word, length) != 0)) {
    ++id;
  }
  return (option_id)id;
}

static hova_status unknown_option(const char *word, size_t length,
                                  hova_error *error) {
  if (word[0] != '-') {
    return hova_fail(error, HOVA_REJECTED,
                     "unexpected '%s'; a file is given with an option, such as "
                     "--input NAME=FILE.npy",
                     word);
  }
  nearest_name nearest = hova_start_nearest(word, length);
  for (int id = 0; id < NUM_OPTIONS; ++id) {
    hova_offer_nearest(&nearest, infos[id].flag);
  }
  if (!nearest.name) {
    return hova_fail(error, HOVA_REJECTED,
                     "unknown option '%s'; --help lists the options", word);
  }
  return hova_fail(error, HOVA_REJECTED,
                   "unknown option '%s'; did you mean '%s'?", word,
                   nearest.name);
}

static bool may_repeat(option_id id) { return id <= OPTION_SET; }

/// Parses the option at argv[*at] and moves past its value.
static hova_status parse_option(int argc, char **argv, int *at,
                                const hova_program *program, uint32_t *seen,
                                command_line *options, hova_error *error) {
  const char *word = argv[*at];
  const char *equals = strchr(word, '=');
  size_t length = equals ? (size_t)(equals - word) : strlen(word);
  option_id id = find_option(word, length);
  if (id == NUM_OPTIONS) {
    return unknown_option(word, length, error);
  }
  if (!may_repeat(id) && (*seen >> id & 1)) {
    return hova_fail(error, HOVA_REJECTED, "%s is given twice", infos[id].flag);
  }
  *seen |= 1u << id;
  const char *value = equals ? equals + 1 : NULL;
  if (!infos[id].value && value) {
    return hova_fail(error, HOVA_REJECTED, "%s takes no value", infos[id].flag);
  }
  if (infos[id].value && !value) {
    value = *at + 1 < argc ? argv[++*at] : NULL;
  }
  if (infos[id].value && (!value || !*value)) {
    return hova_fail(error, HOVA_REJECTED, "%s expects a value: %s",
                     infos[id].flag, infos[id].value);
  }
  return apply(id, value, program, options, error);
}

static hova_status check_processor(const command_line *options, uint32_t seen,
                                   const hova_program *program,
                                   hova_error *error) {
  const hova_program *processors = find_program(program, false);
  bool may_choose = processors && find_program(program, true);
  bool is_chosen =
      processors &&
      (options->target ? strcmp(options->target, "cpu") == 0 : !may_choose);
  for (int id = 0; id < NUM_OPTIONS && !is_chosen; ++id) {
    // Threads are for the processor where it is taken, and only there.
    if (!(seen >> id & 1) || !needs_processor(id) ||
        (id == OPTION_THREADS && may_choose && !options->target)) {
      continue;
    }
    return processors
               ? hova_fail(error, HOVA_REJECTED,
                           "%s is for kernels that run on a processor: it "
                           "needs --device=cpu",
                           infos[id].flag)
               : hova_fail(error, HOVA_REJECTED,
                           "%s is for programs whose kernels run on a "
                           "processor, and those of this one are for a GPU: "
                           "leave it out",
                           infos[id].flag);
  }
  return HOVA_OK;
}

/// A kernel alone leaves no outputs, and nothing else is measured cold.
static hova_status check_kernel(const command_line *options,
                                const hova_program *program,
                                hova_error *error) {
  if (!options->kernel) {
    return options->cold
               ? hova_fail(error, HOVA_REJECTED, "--cold needs --kernel PATH")
               : HOVA_OK;
  }
  bool wants_outputs = options->output_directory || options->trace;
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    wants_outputs |= options->outputs[i] || options->expected[i];
  }
  return wants_outputs ? hova_fail(error, HOVA_REJECTED,
                                   "--kernel measures one kernel: there are "
                                   "no outputs and no trace")
                       : HOVA_OK;
}

/// An option without an effect is a mistake in the command.
static hova_status check_effects(const command_line *options, uint32_t seen,
                                 hova_error *error) {
  static const struct {
    option_id option, needs;
  } needs[] = {{OPTION_WARMUP, OPTION_BENCHMARK},
               {OPTION_REPETITIONS, OPTION_BENCHMARK},
               {OPTION_RTOL, OPTION_EXPECTED},
               {OPTION_ATOL, OPTION_EXPECTED},
               {OPTION_FORMAT, OPTION_DESCRIBE}};
  if (options->benchmark) {
    seen |= 1u << OPTION_BENCHMARK;
  }
  for (size_t i = 0; i < sizeof needs / sizeof *needs; ++i) {
    if ((seen >> needs[i].option & 1) && !(seen >> needs[i].needs & 1)) {
      return hova_fail(error, HOVA_REJECTED, "%s needs %s",
                       infos[needs[i].option].flag, infos[needs[i].needs].flag);
    }
  }
  for (int id = 0; options->describe && id < OPTION_DESCRIBE; ++id) {
    if (seen >> id & 1) {
      return hova_fail(error, HOVA_REJECTED,
                       "--describe runs nothing: leave out %s", infos[id].flag);
    }
  }
  return HOVA_OK;
}

static bool is_stream(const char *path) {
  return path && strcmp(path, "-") == 0;
}

static uint32_t count_streams(const char **files, uint32_t count) {
  uint32_t streams = 0;
  for (uint32_t i = 0; i < count; ++i) {
    streams += is_stream(files[i]);
  }
  return streams;
}

/// Standard output takes one file, and then no text; standard input is read
/// once.
static hova_status check_streams(command_line *options,
                                 const hova_program *program,
                                 hova_error *error) {
  uint32_t tensors = count_streams(options->outputs, program->num_outputs);
  uint32_t files =
      tensors + is_stream(options->trace) + is_stream(options->benchmark_out);
  bool prints_text = options->benchmark && !is_stream(options->benchmark_out);
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    prints_text |= options->expected[i] != NULL;
  }
  if (count_streams(options->inputs, program->num_inputs) > 1) {
    return hova_fail(error, HOVA_REJECTED,
                     "standard input can be one input alone");
  }
  if (files > 1 || (files == 1 && prints_text)) {
    return hova_fail(error, HOVA_REJECTED,
                     "standard output can be one file alone, and no report");
  }
  if (tensors == 1 && isatty(STDOUT_FILENO)) {
    return hova_fail(error, HOVA_REJECTED,
                     "--output: standard output is a terminal, and tensors are "
                     "no text; name a file, or redirect it");
  }
  options->prints_file = files == 1;
  return HOVA_OK;
}

hova_status hova_parse_command_line(int argc, char **argv,
                                    const hova_program *program,
                                    command_line *options, hova_error *error) {
  *options =
      (command_line){.rtol = NAN, .atol = NAN, .warmup = 3, .repetitions = 20};
  size_t files = (size_t)program->num_inputs + 2 * (size_t)program->num_outputs;
  options->inputs = calloc(files + 1, sizeof *options->inputs);
  if (!options->inputs) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory");
  }
  options->outputs = options->inputs + program->num_inputs;
  options->expected = options->outputs + program->num_outputs;
  uint32_t seen = 0;
  hova_status status = HOVA_OK;
  for (int at = 1; at < argc && status == HOVA_OK; ++at) {
    status = parse_option(argc, argv, &at, program, &seen, options, error);
  }
  if (status == HOVA_OK) {
    status = check_processor(options, seen, program, error);
  }
  if (status == HOVA_OK) {
    status = check_kernel(options, program, error);
  }
  if (status == HOVA_OK) {
    status = check_effects(options, seen, error);
  }
  if (status == HOVA_OK) {
    status = check_streams(options, program, error);
  }
  for (uint32_t i = 0; i < program->num_inputs && status == HOVA_OK; ++i) {
    if (!options->inputs[i] && !options->random_inputs &&
        !hova_only_prints(options)) {
      status = hova_fail(error, HOVA_REJECTED,
                         "input '%s' is not given: use --input %s=FILE.npy or "
                         "--random-inputs SEED",
                         program->inputs[i].name, program->inputs[i].name);
    }
  }
  return status == HOVA_OK ? hova_require_sizes(program, options, error)
                           : status;
}

void hova_free_command_line(command_line *options) { free(options->inputs); }
