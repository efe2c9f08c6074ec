//===- DriverDevice.cpp - The CUDA driver's device, for tests -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DriverDevice.h"
#include "runtime/cuda/DriverCalls.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

namespace hova::test {

struct DriverDevice::State {
  hova_driver driver = {};
  driver_device device = 0;
  driver_context context = nullptr;
  driver_stream stream = nullptr;
};

/// Names the call that failed.
static std::string failed(const hova_driver &driver, driver_result result,
                          const char *what) {
  const char *name = "unknown";
  driver.error_name(result, &name);
  return std::string("the driver cannot ") + what + ": " + name;
}

DriverDevice::DriverDevice() : state(new State) {
  hova_error error = {};
  if (hova_driver_open(&state->driver, &error) != HOVA_OK) {
    llvm::report_fatal_error(error.text);
  }
  const hova_driver &driver = state->driver;
  if (driver.find_device(&state->device, 0) ||
      driver.retain_context(&state->context, state->device) ||
      driver.push_context(state->context) ||
      driver.create_stream(&state->stream, 0)) {
    llvm::report_fatal_error("HOVA_TEST_DRIVER is set and no device starts");
  }
}

DriverDevice::~DriverDevice() {
  const hova_driver &driver = state->driver;
  driver_context context;
  driver.destroy_stream(state->stream);
  driver.pop_context(&context);
  driver.release_context(state->device);
  hova_driver_close(&state->driver);
}

DriverDevice *DriverDevice::get() {
  if (!std::getenv("HOVA_TEST_DRIVER")) {
    return nullptr;
  }
  static DriverDevice device;
  return &device;
}

hova_emulation_sums DriverDevice::getSums() const {
  constexpr int kHopper = 9;
  int major = 0;
  if (state->driver.device_attribute(&major, DRIVER_CAPABILITY_MAJOR,
                                     state->device)) {
    llvm::report_fatal_error("the device has no compute capability");
  }
  return major < kHopper ? HOVA_EMULATION_A100 : HOVA_EMULATION_H100;
}

std::string DriverDevice::run(const std::string &ptx, const std::string &kernel,
                              const Shape &shape, std::vector<Bytes> &memory) {
  const hova_driver &driver = state->driver;
  driver_module module;
  driver_function function;
  if (driver_result result =
          driver.load_module(&module, ptx.c_str(), 0, nullptr, nullptr)) {
    return failed(driver, result, "load the kernel");
  }
  if (driver_result result =
          driver.find_function(&function, module, kernel.c_str())) {
    return failed(driver, result, "find the kernel");
  }
  if (driver_result result =
          driver.set_function_attribute(function, DRIVER_DYNAMIC_SHARED_BYTES,
                                        static_cast<int>(shape.sharedBytes))) {
    return failed(driver, result, "give a block its shared memory");
  }
  if (driver_result result = driver.set_function_attribute(
          function, DRIVER_SHARED_CARVEOUT, 100)) {
    return failed(driver, result, "give a multiprocessor its shared memory");
  }
  std::vector<size_t> places;
  size_t bytes = 0;
  for (const Bytes &buffer : memory) {
    places.push_back(bytes);
    bytes += llvm::alignTo(buffer.size() + 1, 256);
  }
  driver_pointer base;
  if (driver_result result = driver.allocate(&base, bytes)) {
    return failed(driver, result, "allocate memory");
  }
  std::vector<driver_pointer> addresses;
  for (size_t place : places) {
    addresses.push_back(base + place);
  }
  std::vector<void *> parameters;
  for (auto [buffer, address] : llvm::zip(memory, addresses)) {
    driver.copy_to_device(address, buffer.data(), buffer.size(), state->stream);
    parameters.push_back(&address);
  }
  driver_result result = driver.launch_kernel(
      function, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
      shape.block[1], shape.block[2], shape.sharedBytes, state->stream,
      parameters.data(), nullptr);
  for (auto [buffer, address] : llvm::zip(memory, addresses)) {
    driver.copy_to_host(buffer.data(), address, buffer.size(), state->stream);
  }
  driver_result ended = driver.synchronize(state->stream);
  driver.free(base);
  driver.unload_module(module);
  if (result || ended) {
    return failed(driver, result ? result : ended, "run the kernel");
  }
  return "";
}

} // namespace hova::test
