//===- DriverDevice.h - The CUDA driver's device, for tests -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// With HOVA_TEST_DRIVER=1 every launch of these tests that the emulation has no
// fault in is made a second time, by the driver that `libcuda.so.1` is, and
// must leave the same bits. So on a machine with a GPU the tests of
// instructions compare each of them with the hardware; test_driver_device.py
// does the same with the stand-in of test/runtime, which interprets PTX.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TEST_CODEGEN_CUDA_EMULATION_DRIVERDEVICE_H
#define HOVA_TEST_CODEGEN_CUDA_EMULATION_DRIVERDEVICE_H

#include "Device.h"

namespace hova::test {

/// The first device of the driver; null without HOVA_TEST_DRIVER.
class DriverDevice {
public:
  static DriverDevice *get();
  ~DriverDevice();

  /// How `mma.sync` adds there, by the device's compute capability.
  hova_emulation_sums getSums() const;

  /// Launches a kernel of PTX on copies of the buffers that `memory` holds, and
  /// writes back what is there then. Says what failed, or nothing.
  std::string run(const std::string &ptx, const std::string &kernel,
                  const Shape &shape, std::vector<Bytes> &memory);

private:
  DriverDevice();
  struct State;
  std::unique_ptr<State> state;
};

} // namespace hova::test

#endif // HOVA_TEST_CODEGEN_CUDA_EMULATION_DRIVERDEVICE_H
