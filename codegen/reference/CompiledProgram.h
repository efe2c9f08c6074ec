//===- CompiledProgram.h - A compiled shared library, loaded --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What verification and bisection need of a compiled program: run it on host
// tensors, with the values that each kernel leaves in the arena.

#ifndef HOVA_CODEGEN_REFERENCE_COMPILEDPROGRAM_H
#define HOVA_CODEGEN_REFERENCE_COMPILEDPROGRAM_H

#include "dialect/HostTensor.h"
#include "dialect/Storage.h"
#include "runtime/emulation/Emulation.h"
#include "runtime/hova_runtime.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace hova {

/// What else a run does.
struct RunHooks {
  /// Receives every value of the arena as it was when its kernel ended, by its
  /// index in `hova_program::values`.
  std::map<uint32_t, HostTensor> *values = nullptr;
  /// Called in the place of every kernel, with `interceptor` (hova_runtime.h).
  hova_intercept_fn *intercept = nullptr;
  void *interceptor = nullptr;
};

/// What numbers of a type (hova_dtype) are rounded to; F32 for all but those of
/// 16 bits.
Storage storageOf(int32_t dtype);
/// A tensor in a program's memory, of type `dtype` (hova_dtype), whose rows
/// start every `rowStride` elements, as host values: numbers F32, or F64 where
/// the program's are, integers I64, booleans I1 with their byte as it is.
HostTensor readStored(const char *from, int32_t dtype,
                      llvm::ArrayRef<int64_t> shape, int64_t rowStride);
/// Bytes of an input or output in a program's memory.
int64_t storedBytes(const hova_tensor_info &info);
/// What such bytes are: the same of a dense tensor.
HostTensor readStored(const char *from, const hova_tensor_info &info);

class CompiledProgram {
public:
  /// Loads the library at `path` whose functions start with `prefix`.
  static llvm::Expected<CompiledProgram> load(llvm::StringRef path,
                                              llvm::StringRef prefix);
  CompiledProgram(CompiledProgram &&other);
  CompiledProgram &operator=(CompiledProgram &&) = delete;
  ~CompiledProgram();

  const hova_program &description() const { return *program; }

  /// Gives back what runs on a GPU keep for the next one.
  void stop();

  /// Chooses how the matrix products of an emulated GPU add in all runs.
  void setSums(hova_emulation_sums way) { sums = way; }
  /// The same of what its `approx` instructions compute.
  void setApproximations(hova_emulation_approximations way) {
    approximations = way;
  }

  /// Runs on `inputs` (program order; ids I64, masks I1, numbers of any
  /// floating-point type, rounded to the program's) with `threads` threads. A
  /// program for a GPU has none; beyond 1 the number chooses another order of
  /// its blocks, warps and copies, where it is emulated. One with ranges runs
  /// on any sizes in them, which its first input says.
  /// Outputs are as `readStored` has them.
  llvm::Expected<llvm::SmallVector<HostTensor>>
  run(llvm::ArrayRef<HostTensor> inputs, int32_t threads,
      const RunHooks &hooks = RunHooks());

private:
  CompiledProgram() = default;

  void *library = nullptr;
  const hova_program *program = nullptr;
  const hova_inspection *inspection = nullptr;
  hova_emulation_sums sums = HOVA_EMULATION_IN_ORDER;
  hova_emulation_approximations approximations = HOVA_EMULATION_NEAREST;
  hova_status (*create)(const hova_options *, hova_context **) = nullptr;
  hova_status (*runFunction)(hova_context *, const hova_tensor *,
                             const hova_tensor *) = nullptr;
  void (*destroy)(hova_context *) = nullptr;
  const char *(*message)(const hova_context *) = nullptr;
  /// What the next run takes, where one was kept.
  hova_context *started = nullptr;
};

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_COMPILEDPROGRAM_H
