//===- DeviceReport.h - What kernels take of a GPU ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_DEVICEREPORT_H
#define HOVA_CODEGEN_PROGRAM_DEVICEREPORT_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hova {

/// What an assembler reports of the machine code of a kernel.
struct MachineCodeUse {
  int64_t registers = 0;    ///< of a thread
  int64_t spilledBytes = 0; ///< stored and loaded because registers are short
  int64_t localBytes = 0;   ///< of a thread's own memory
  int64_t sharedBytes = 0;  ///< of a block, besides those of its launch
};

/// What one turn of a kernel's main loop does: of the loops that multiply
/// matrices on tensor cores the innermost.
///
/// T is the time of a product of 16 x 8 x 16.
struct MainLoop {
  int64_t products = 0;
  int64_t reads = 0;   ///< loads of 512 bytes of shared memory by a warp
  int64_t copies = 0;  ///< of 512 bytes into it
  int64_t others = 0;  ///< all other instructions
  double moveTime = 0; ///< of a read or a copy, where T is 1

  double readsPerT() const { return perT(reads); }
  double readsAndCopiesPerT() const { return perT(reads + copies); }
  /// All but products, for each of these.
  double othersPerProduct() const {
    return double(reads + copies + others) / double(products);
  }

private:
  double perT(int64_t moves) const {
    return moveTime * double(moves) / double(products);
  }
};

/// What a kernel takes of a GPU.
struct KernelUse {
  std::string name;
  /// What the launches compute: paths of the description, in their order.
  std::vector<std::string> launches;
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< that a launch gives to a block
  std::optional<MachineCodeUse> code;
  /// Where its machine code was read and multiplies matrices.
  std::optional<MainLoop> loop;
  /// Of a multiprocessor at once; without machine code the most that there can
  /// be.
  int64_t blocks = 0;
  std::vector<std::string> limits; ///< what a further block is short of
  /// Of a launch: its blocks, floating-point operations, and bytes of its
  /// buffers, each counted once.
  std::array<int64_t, 3> grid = {};
  int64_t flops = 0, bytes = 0;
  /// Microseconds of a launch behind its start, modelled; nothing where the
  /// number of turns is not known, or no such GPU.
  std::optional<double> modelledTime;
  /// Whether a launch may begin before those in front of it have ended.
  bool overlaps = false;

  /// How often as many multiprocessors are full.
  double waves(int64_t processors) const {
    return blocks == 0 ? 0
                       : double(grid[0]) * grid[1] * grid[2] /
                             double(blocks * processors);
  }
};

/// The kernels of a program, in the order of their first launches.
struct DeviceReport {
  std::string arch;
  /// What made the machine code, as in "ptxas 13.0.88", and its file. Both are
  /// empty where there is none.
  std::string assembler, assemblerPath;
  /// Why there is none, as the end of a sentence.
  std::string withoutCode;
  /// Why main loops are not known, in the same way; empty if they are, or if
  /// nobody asked.
  std::string withoutLoops;
  std::vector<KernelUse> kernels;
  /// Multiprocessors of the GPUs whose waves are told.
  std::vector<int64_t> processors;
  /// What a launch costs before its first block works, in microseconds: one
  /// that begins after others, and one that may begin before they have ended.
  /// Both are modelled.
  double startTime = 0, overlappedStartTime = 0;
  /// Of each launch what nothing explains, as it was measured, in microseconds.
  double unexplainedTime = 0;

  /// Of these launches, and of those of them that may begin early: the first
  /// one has none in front of it.
  int64_t countLaunches() const;
  int64_t countOverlapped() const;
  /// Of all launches behind their starts, and how many of these no model has.
  double kernelsTime() const;
  int64_t countUnknown() const;
  double startsTime() const {
    return double(countLaunches() - countOverlapped()) * startTime +
           double(countOverlapped()) * overlappedStartTime;
  }
};

inline int64_t DeviceReport::countLaunches() const {
  int64_t count = 0;
  for (const KernelUse &kernel : kernels) {
    count += int64_t(kernel.launches.size());
  }
  return count;
}

inline int64_t DeviceReport::countOverlapped() const {
  int64_t count = 0;
  for (const KernelUse &kernel : kernels) {
    count += kernel.overlaps ? int64_t(kernel.launches.size()) : 0;
  }
  return count < countLaunches() || count == 0 ? count : count - 1;
}

inline double DeviceReport::kernelsTime() const {
  double time = 0;
  for (const KernelUse &kernel : kernels) {
    time += kernel.modelledTime.value_or(0) * double(kernel.launches.size());
  }
  return time;
}

inline int64_t DeviceReport::countUnknown() const {
  int64_t count = 0;
  for (const KernelUse &kernel : kernels) {
    count += kernel.modelledTime ? 0 : int64_t(kernel.launches.size());
  }
  return count;
}

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_DEVICEREPORT_H
