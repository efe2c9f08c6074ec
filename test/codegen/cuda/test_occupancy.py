# ===- test_occupancy.py - Blocks that a multiprocessor holds at once -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compares codegen/cuda/facts with NVIDIA's calculator, of every level, for all sizes of blocks, registers and shared memory."""

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LLVM = Path(os.environ["HOVA_LLVM"])
CUDA = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/include"
SOURCE = """
#define LLVM_DISABLE_ABI_BREAKING_CHECKS_ENFORCING 1
#include "codegen/cuda/facts/Occupancy.h"
#include <cuda_occupancy.h>
#include <cstdio>

/// A device of a level, as one describes itself.
static cudaOccDeviceProp makeDevice(const hova::GpuFacts &gpu) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.capability / 10;
  device.computeMinor = gpu.capability % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = gpu.processorThreads;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = gpu.processorGroupBytes;
  device.numSms = gpu.processors.front();
  device.sharedMemPerBlockOptin = gpu.groupBytes;
  device.reservedSharedMemPerBlock = 1 << 10;
  return device;
}

static bool isNamed(const hova::Occupancy &own, const char *name) {
  for (const std::string &limit : own.limits) {
    if (limit == name) {
      return true;
    }
  }
  return false;
}

/// Whether both say the same of a kernel.
static bool agree(const hova::GpuFacts &gpu, const cudaOccDeviceProp &device, int threads, int registers, int bytes) {
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = registers;
  kernel.sharedSizeBytes = 0;
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = gpu.groupBytes;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, bytes) != CUDA_OCC_SUCCESS) {
    return false;
  }
  hova::Occupancy own = hova::getOccupancy(gpu, {threads, bytes, registers});
  unsigned factors = result.limitingFactors;
  return own.blocks == result.activeBlocksPerMultiprocessor &&
         isNamed(own, "threads") == bool(factors & OCC_LIMIT_WARPS) &&
         isNamed(own, "registers") == bool(factors & OCC_LIMIT_REGISTERS) &&
         isNamed(own, "shared memory") == bool(factors & OCC_LIMIT_SHARED_MEMORY) &&
         isNamed(own, "blocks") == bool(factors & OCC_LIMIT_BLOCKS);
}

int main() {
  int count = 0;
  for (const hova::GpuFacts *gpu : hova::getGpus()) {
    cudaOccDeviceProp device = makeDevice(*gpu);
    for (int threads = 1; threads <= 1024; threads += threads < 64 ? 1 : 31) {
      for (int registers = 1; registers <= 255; registers += 2) {
        for (int bytes = 0; bytes <= gpu->groupBytes; bytes += 1000 + (bytes > 9000) * 4040) {
          ++count;
          if (!agree(*gpu, device, threads, registers, bytes)) {
            std::printf("%s: %d threads, %d registers, %d bytes\\n", gpu->name.data(), threads, registers, bytes);
            return 1;
          }
        }
      }
    }
  }
  std::printf("%d kernels\\n", count);
  return 0;
}
"""


@pytest.mark.skipif(not (CUDA / "cuda_occupancy.h").exists(), reason="without cuda_occupancy.h: test/requirements.txt")
def test_every_kernel_has_as_many_blocks_as_nvidia_says(tmp_path):
    (tmp_path / "compare.cpp").write_text(SOURCE, encoding="utf-8")
    subprocess.run([LLVM / "bin/clang++", "-std=c++17", "-O1", "-D_GNU_SOURCE", "-I", ROOT, "-isystem", LLVM / "include", "-isystem", CUDA,
                    tmp_path / "compare.cpp", ROOT / "codegen/cuda/facts/Gpus.cpp", f"-L{LLVM}/lib", f"-Wl,-rpath,{LLVM}/lib", "-lLLVM",
                    "-o", tmp_path / "compare"], check=True)
    compared = subprocess.run([tmp_path / "compare"], capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout
    assert int(compared.stdout.split()[0]) > 100_000
