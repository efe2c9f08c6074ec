//===- DriverRuns.c - Runs on a GPU that the CUDA driver runs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A run is one graph, a chain of all launches, which is made once: the host
// neither waits nor calls between two kernels. Only a run that is looked into
// (times, hooks, one kernel alone) is launched kernel by kernel.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Driver.h"

#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

static uint32_t count_tensors(const hova_program *program) {
  return program->num_inputs + program->num_outputs;
}

static void note_tensors(hova_gpu *gpu) {
  memcpy(gpu->recorded, gpu->places->tensors,
         count_tensors(gpu->program) * sizeof *gpu->recorded);
}

static bool tensors_moved(const hova_gpu *gpu) {
  return memcmp(gpu->recorded, gpu->places->tensors,
                count_tensors(gpu->program) * sizeof *gpu->recorded) != 0;
}

/// Notes where the buffers of a launch are now.
static void place_buffers(const hova_gpu *gpu, uint32_t number) {
  const hova_device_launch *launch = &gpu->code->launches[number];
  uint32_t count = gpu->code->kernels[launch->kernel].num_buffers;
  for (uint32_t i = 0; i < count; ++i) {
    *(driver_pointer *)gpu->launches[number].call.parameters[i] =
        hova_buffer_address(gpu->places, launch->buffers[i].place);
  }
}

/// Makes the calls of all launches; memory for them is there.
static void prepare_launches(hova_gpu *gpu) {
  size_t used = 0;
  for (uint32_t n = 0; n < gpu->code->num_launches; ++n) {
    const hova_device_launch *launch = &gpu->code->launches[n];
    const hova_device_kernel *kernel = &gpu->code->kernels[launch->kernel];
    hova_driver_launch *prepared = &gpu->launches[n];
    prepared->call = (driver_kernel_node){
        .function = gpu->functions[launch->kernel],
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {kernel->threads, 1, 1},
        .shared_bytes = kernel->shared_bytes,
        .parameters = gpu->parameters + used};
    for (uint32_t i = 0; i < kernel->num_buffers; ++i, ++used) {
      gpu->parameters[used] = &gpu->addresses[used];
      prepared->has_tensors |= hova_buffer_is_tensor(&launch->buffers[i]);
    }
    for (uint32_t i = 0; i < kernel->num_sizes; ++i) {
      gpu->parameters[used++] = &gpu->sizes.number[i];
    }
    place_buffers(gpu, n);
  }
}

static bool allocate_launches(hova_gpu *gpu) {
  size_t buffers = 1; // and sizes, which need no address
  for (uint32_t i = 0; i < gpu->code->num_launches; ++i) {
    const hova_device_kernel *kernel =
        &gpu->code->kernels[gpu->code->launches[i].kernel];
    buffers += kernel->num_buffers + kernel->num_sizes;
  }
  gpu->launches =
      calloc(gpu->code->num_launches + (size_t)1, sizeof *gpu->launches);
  gpu->functions =
      calloc(gpu->code->num_kernels + (size_t)1, sizeof *gpu->functions);
  gpu->addresses = calloc(buffers, sizeof *gpu->addresses);
  gpu->parameters = calloc(buffers, sizeof *gpu->parameters);
  gpu->recorded =
      calloc(count_tensors(gpu->program) + (size_t)1, sizeof *gpu->recorded);
  return gpu->launches && gpu->functions && gpu->addresses && gpu->parameters &&
         gpu->recorded;
}

/// Whether launch `number` may begin before the one in front of it has ended:
/// its kernel waits by itself.
static bool may_overlap(const hova_gpu *gpu, uint32_t number) {
  const hova_device_launch *launch = &gpu->code->launches[number];
  return number > 0 && gpu->driver.add_edges &&
         gpu->code->kernels[launch->kernel].overlaps;
}

/// A node behind the one of the launch before, whose blocks begin when those of
/// that one have all allowed it.
static driver_result add_overlapping(hova_gpu *gpu, uint32_t number) {
  const hova_driver *driver = &gpu->driver;
  hova_driver_launch *launch = &gpu->launches[number];
  driver_result result =
      driver->add_kernel(&launch->node, gpu->graph, NULL, 0, &launch->call);
  const driver_edge edge = {.from_port = DRIVER_PROGRAMMATIC_PORT,
                            .type = DRIVER_PROGRAMMATIC_EDGE};
  return result == 0 ? driver->add_edges(gpu->graph, &launch[-1].node,
                                         &launch->node, &edge, 1)
                     : result;
}

/// A chain of all launches: each one depends on the one before. Only if
/// `overlaps` may one begin before that has ended; `edges` is how many do.
static driver_result record_graph(hova_gpu *gpu, bool overlaps,
                                  uint32_t *edges) {
  const hova_driver *driver = &gpu->driver;
  *edges = 0;
  driver_result result = driver->create_graph(&gpu->graph, 0);
  if (result != 0) {
    gpu->graph = NULL;
    return result;
  }
  const driver_node *before = NULL;
  for (uint32_t i = 0; i < gpu->code->num_launches && result == 0; ++i) {
    if (overlaps && may_overlap(gpu, i)) {
      result = add_overlapping(gpu, i);
      ++*edges;
    } else {
      result = driver->add_kernel(&gpu->launches[i].node, gpu->graph, before,
                                  before ? 1 : 0, &gpu->launches[i].call);
    }
    before = &gpu->launches[i].node;
  }
  if (result == 0) {
    result = driver->instantiate(&gpu->exec, gpu->graph, 0);
    gpu->exec = result == 0 ? gpu->exec : NULL;
  }
  return result;
}

hova_status hova_gpu_load(hova_gpu *gpu, const hova_program *program,
                          const hova_device_code *code,
                          const hova_places *places, hova_error *error) {
  gpu->program = program;
  gpu->code = code;
  gpu->places = places;
  if (!allocate_launches(gpu)) {
    return hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %u launches",
                     code->num_launches);
  }
  hova_status status = hova_driver_enter(gpu, error);
  if (status != HOVA_OK) {
    return status;
  }
  status = hova_driver_load_module(gpu, error);
  if (status == HOVA_OK) {
    prepare_launches(gpu);
    note_tensors(gpu);
    uint32_t edges;
    driver_result result = record_graph(gpu, /*overlaps=*/true, &edges);
    if (result != 0 && edges > 0) {
      // A driver that does not take such edges runs the same launches one after
      // the other.
      gpu->driver.destroy_graph(gpu->graph);
      gpu->graph = NULL;
      result = record_graph(gpu, /*overlaps=*/false, &edges);
    }
    if (result != 0) {
      status = hova_gpu_fail(gpu, result, HOVA_REJECTED, "record a run", error);
    }
  }
  hova_driver_leave(gpu);
  return status;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static bool sizes_changed(const hova_gpu *gpu, const hova_sizes *sizes) {
  hova_kernel_sizes of_run = hova_kernel_sizes_of_run(sizes);
  return memcmp(&gpu->sizes, &of_run, sizeof of_run) != 0 ||
         gpu->longest != (uint32_t)sizes->tokens ||
         gpu->longest_other != (uint32_t)sizes->other_tokens;
}

/// Gives the launches the addresses of this call's tensors, and all of them its
/// sizes where these are others. The graph that may still run has its own.
static driver_result change_launches(hova_gpu *gpu, const hova_sizes *sizes) {
  bool have_others = sizes_changed(gpu, sizes);
  gpu->sizes = hova_kernel_sizes_of_run(sizes);
  gpu->longest = (uint32_t)sizes->tokens;
  gpu->longest_other = (uint32_t)sizes->other_tokens;
  driver_result result = 0;
  for (uint32_t i = 0; i < gpu->code->num_launches && result == 0; ++i) {
    if (gpu->launches[i].has_tensors || have_others) {
      place_buffers(gpu, i);
      hova_grid_of_run(&gpu->code->launches[i], sizes,
                       gpu->launches[i].call.grid);
      result = gpu->driver.change_kernel(gpu->exec, gpu->launches[i].node,
                                         &gpu->launches[i].call);
    }
  }
  if (result == 0) {
    note_tensors(gpu);
  }
  return result;
}

static bool is_looked_into(const hova_gpu_job *job) {
  return job->watch.times || job->watch.spans || job->watch.hook ||
         job->watch.only >= 0;
}

/// Events for the start and for the end of each launch, made by the first run
/// that is timed.
static driver_result make_events(hova_gpu *gpu, hova_error *error) {
  size_t count = gpu->code->num_launches + (size_t)1;
  if (!gpu->events) {
    gpu->events = calloc(count, sizeof *gpu->events);
  }
  if (!gpu->events) {
    hova_fail(error, HOVA_OUT_OF_MEMORY, "out of memory for %zu events", count);
    return DRIVER_OUT_OF_MEMORY;
  }
  driver_result result = 0;
  for (size_t i = 0; i < count && result == 0; ++i) {
    if (!gpu->events[i]) {
      result = gpu->driver.create_event(&gpu->events[i], 0);
      gpu->events[i] = result == 0 ? gpu->events[i] : NULL;
    }
  }
  return result;
}

static driver_result launch(hova_gpu *gpu, uint32_t number) {
  const driver_kernel_node *call = &gpu->launches[number].call;
  return gpu->driver.launch_kernel(
      call->function, call->grid[0], call->grid[1], call->grid[2],
      call->block[0], call->block[1], call->block[2], call->shared_bytes,
      gpu->stream, call->parameters, NULL);
}

/// Launches kernel by kernel. Event i stands before launch i, and the one
/// after it after.
static driver_result launch_each(hova_gpu *gpu, const hova_gpu_job *job,
                                 bool timed) {
  const hova_driver *driver = &gpu->driver;
  uint32_t begin = job->watch.only >= 0 ? (uint32_t)job->watch.only : 0;
  uint32_t end = job->watch.only >= 0 ? begin + 1 : gpu->code->num_launches;
  driver_result result =
      timed ? driver->record_event(gpu->events[begin], gpu->stream) : 0;
  for (uint32_t i = begin; i < end && result == 0; ++i) {
    result = launch(gpu, i);
    if (result == 0 && timed) {
      result = driver->record_event(gpu->events[i + 1], gpu->stream);
    }
    if (result == 0 && job->watch.hook) {
      result = driver->synchronize(gpu->stream);
      if (result == 0) {
        job->watch.hook(job->watch.user, i);
      }
    }
  }
  return result;
}

/// Writes the times of a run that is done and that began at `start`.
static driver_result read_times(const hova_gpu *gpu, const hova_gpu_job *job,
                                uint64_t start) {
  uint32_t begin = job->watch.only >= 0 ? (uint32_t)job->watch.only : 0;
  uint32_t end = job->watch.only >= 0 ? begin + 1 : gpu->code->num_launches;
  uint64_t before = start;
  driver_result result = 0;
  if (job->watch.times) {
    job->watch.times[begin] = start;
  }
  for (uint32_t i = begin; i < end && result == 0; ++i) {
    float ms = 0;
    result =
        gpu->driver.elapsed_ms(&ms, gpu->events[begin], gpu->events[i + 1]);
    uint64_t after = start + (uint64_t)((double)ms * 1e6);
    if (job->watch.times) {
      job->watch.times[i + 1] = after;
    }
    if (job->watch.spans) {
      job->watch.spans[2 * i] = before;
      job->watch.spans[2 * i + 1] = after;
    }
    before = after;
  }
  return result;
}

/// Everything between entering and leaving the context.
static driver_result run(hova_gpu *gpu, const hova_gpu_job *job,
                         hova_error *error) {
  const hova_driver *driver = &gpu->driver;
  bool timed = job->watch.times || job->watch.spans;
  bool changes = tensors_moved(gpu) || sizes_changed(gpu, &job->sizes);
  driver_result result = changes ? change_launches(gpu, &job->sizes) : 0;
  if (result == 0 && timed) {
    result = make_events(gpu, error);
  }
  for (uint32_t i = 0; i < job->num_uploads && result == 0; ++i) {
    const hova_gpu_copy *copy = &job->uploads[i];
    if (copy->host) {
      result = driver->copy_to_device(copy->device, copy->host, copy->bytes,
                                      gpu->stream);
    }
  }
  uint64_t start = timed ? hova_gpu_now() : 0;
  if (result == 0) {
    result = is_looked_into(job) ? launch_each(gpu, job, timed)
                                 : driver->launch_graph(gpu->exec, gpu->stream);
  }
  for (uint32_t i = 0; i < job->num_downloads && result == 0; ++i) {
    const hova_gpu_copy *copy = &job->downloads[i];
    if (copy->host) {
      result = driver->copy_to_host(copy->host, copy->device, copy->bytes,
                                    gpu->stream);
    }
  }
  // Even after a failure: no copy may still be under way when the caller has
  // his memory again.
  if (job->wait || timed) {
    driver_result waited = driver->synchronize(gpu->stream);
    result = result == 0 ? waited : result;
  }
  return result == 0 && timed ? read_times(gpu, job, start) : result;
}

hova_status hova_gpu_run(hova_gpu *gpu, const hova_gpu_job *job,
                         hova_error *error) {
  hova_status status = hova_driver_enter(gpu, error);
  if (status != HOVA_OK) {
    return status;
  }
  error->status = HOVA_OK;
  driver_result result = run(gpu, job, error);
  hova_driver_leave(gpu);
  if (result == 0 || error->status != HOVA_OK) {
    return result == 0 ? HOVA_OK : error->status;
  }
  return hova_gpu_fail(gpu, result, HOVA_FAULT, "run the model", error);
}
