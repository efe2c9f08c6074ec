//===- CompiledProgram.cpp - A compiled shared library, loaded ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/CompiledProgram.h"
#include "dialect/Storage.h"
#include <cstring>
#include <dlfcn.h>
#include <utility>
#include <vector>

using namespace hova;

using Element = HostTensor::Element;

/// Finds `prefix_name`; where it is missing, `missing` names the first.
template <typename Function>
static void findFunction(void *library, llvm::StringRef prefix,
                         llvm::StringRef name, Function &function,
                         std::string &missing) {
  std::string symbol = (prefix + "_" + name).str();
  function = reinterpret_cast<Function>(dlsym(library, symbol.c_str()));
  if (!function && missing.empty()) {
    missing = symbol;
  }
}

llvm::Expected<CompiledProgram> CompiledProgram::load(llvm::StringRef path,
                                                      llvm::StringRef prefix) {
  CompiledProgram result;
  result.library = dlopen(path.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!result.library) {
    return llvm::createStringError("cannot load the compiled library: %s",
                                   dlerror());
  }
  const hova_program *(*describe)() = nullptr;
  const hova_inspection *(*inspect)() = nullptr;
  std::string missing;
  findFunction(result.library, prefix, "program", describe, missing);
  findFunction(result.library, prefix, "create", result.create, missing);
  findFunction(result.library, prefix, "run", result.runFunction, missing);
  findFunction(result.library, prefix, "destroy", result.destroy, missing);
  findFunction(result.library, prefix, "message", result.message, missing);
  findFunction(result.library, prefix, "inspection", inspect, missing);
  if (!missing.empty()) {
    return llvm::createStringError("the compiled library has no function '%s'",
                                   missing.c_str());
  }
  result.program = describe();
  result.inspection = inspect();
  if (result.program->abi != HOVA_ABI_VERSION) {
    return llvm::createStringError(
        "the compiled library has interface version %u, expected %u",
        result.program->abi, static_cast<unsigned>(HOVA_ABI_VERSION));
  }
  return std::move(result);
}

CompiledProgram::CompiledProgram(CompiledProgram &&other)
    : library(other.library), program(other.program),
      inspection(other.inspection), create(other.create),
      runFunction(other.runFunction), destroy(other.destroy),
      message(other.message), started(other.started) {
  other.library = nullptr;
  other.started = nullptr;
}

void CompiledProgram::stop() {
  if (started) {
    destroy(std::exchange(started, nullptr));
  }
}

CompiledProgram::~CompiledProgram() {
  stop();
  if (library) {
    dlclose(library);
  }
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static int64_t elementBytes(int32_t dtype) {
  switch (dtype) {
  case HOVA_BOOL:
    return 1;
  case HOVA_BF16:
  case HOVA_F16:
    return 2;
  case HOVA_F32:
  case HOVA_I32:
    return 4;
  }
  return 8;
}

Storage hova::storageOf(int32_t dtype) {
  return dtype == HOVA_BF16  ? Storage::BF16
         : dtype == HOVA_F16 ? Storage::F16
                             : Storage::F32;
}

int64_t hova::storedBytes(const hova_tensor_info &info) {
  int64_t bytes = elementBytes(info.dtype);
  for (int64_t dim : llvm::ArrayRef(info.dims, info.rank)) {
    bytes *= dim;
  }
  return bytes;
}

namespace {
/// Memory of one input or output in the program's type, and the view of it.
struct Buffer {
  std::vector<int64_t> dims;
  std::vector<char> bytes;
  hova_tensor tensor;

  Buffer(const hova_tensor_info &info, llvm::ArrayRef<int64_t> shape)
      : dims(shape.begin(), shape.end()) {
    // A result that is not written is NaN, and no boolean.
    int64_t elements = std::accumulate(dims.begin(), dims.end(), int64_t(1),
                                       std::multiplies<>());
    bytes.resize(elements * elementBytes(info.dtype) + 1, '\xff');
    tensor = hova_make_tensor(info.name, static_cast<hova_dtype>(info.dtype),
                              static_cast<int32_t>(dims.size()), dims.data(),
                              bytes.data());
  }
};

/// The first axes of a run of a program with ranges, by what they are of: those
/// of the first input that has them.
class Sizes {
public:
  Sizes(const hova_program &program, llvm::ArrayRef<HostTensor> inputs) {
    for (uint32_t i = 0; program.ranges && i < program.num_inputs; ++i) {
      const hova_tensor_info &info = program.inputs[i];
      llvm::ArrayRef<int64_t> shape = inputs[i].getShape();
      int64_t count = countAxes(info.extent);
      if (count > 0 && static_cast<int32_t>(shape.size()) == info.rank) {
        axes.try_emplace(info.extent, shape.take_front(count));
        axes.try_emplace(HOVA_ITEMS, shape.take_front(1));
      }
    }
  }

  llvm::SmallVector<int64_t> shapeOf(const hova_tensor_info &info) const {
    llvm::SmallVector<int64_t> shape(info.dims, info.dims + info.rank);
    auto found = axes.find(info.extent);
    if (found != axes.end()) {
      llvm::copy(found->second, shape.begin());
    }
    return shape;
  }

private:
  /// Items, and their tokens.
  static int64_t countAxes(int32_t extent) {
    return extent == HOVA_FIXED ? 0 : extent == HOVA_ITEMS ? 1 : 2;
  }
  std::map<int32_t, llvm::ArrayRef<int64_t>> axes;
};

/// The values of one run, taken between kernels.
struct Capture {
  const hova_program *program;
  const hova_inspection *inspection;
  hova_context *context;
  std::map<uint32_t, HostTensor> *values;
  std::vector<char> bytes; ///< of the last value
  hova_status status = HOVA_OK;
};
} // namespace

/// Copies host values into a buffer of type `dtype`.
static bool fill(Buffer &buffer, int32_t dtype, const HostTensor &from) {
  auto as = [&](auto zero) {
    using T = decltype(zero);
    T *out = reinterpret_cast<T *>(buffer.bytes.data());
    for (int64_t i = 0, e = from.size(); i < e; ++i) {
      out[i] = from.getElement() == Element::I64
                   ? static_cast<T>(from.as<int64_t>()[i])
                   : static_cast<T>(from.at(i));
    }
    return true;
  };
  switch (dtype) {
  case HOVA_BF16:
  case HOVA_F16: {
    auto *out = reinterpret_cast<uint16_t *>(buffer.bytes.data());
    for (int64_t i = 0, e = from.size(); i < e; ++i) {
      out[i] = encode16(static_cast<float>(from.at(i)), storageOf(dtype));
    }
    return true;
  }
  case HOVA_F32:
    return as(float());
  case HOVA_F64:
    return as(double());
  case HOVA_I32:
    return as(int32_t());
  case HOVA_I64:
    return as(int64_t());
  case HOVA_BOOL:
    return as(uint8_t());
  }
  return false;
}

/// The type of host values that hold those of a program without loss.
static Element elementOf(int32_t dtype) {
  switch (dtype) {
  case HOVA_F64:
    return Element::F64;
  case HOVA_I32:
  case HOVA_I64:
    return Element::I64;
  case HOVA_BOOL:
    return Element::I1;
  }
  return Element::F32;
}

HostTensor hova::readStored(const char *from, int32_t dtype,
                            llvm::ArrayRef<int64_t> shape, int64_t rowStride) {
  HostTensor result(elementOf(dtype), shape);
  int64_t width = shape.empty() ? 1 : shape.back();
  int64_t pitch = rowStride * elementBytes(dtype);
  auto copy = [&](auto stored, auto kept, auto convert) {
    auto *to = result.mutableAs<decltype(kept)>();
    for (int64_t i = 0, e = result.size(); i < e; ++i) {
      const char *row = from + i / width * pitch;
      std::memcpy(&stored, row + i % width * sizeof stored, sizeof stored);
      to[i] = convert(stored);
    }
  };
  auto same = [](auto value) { return value; };
  switch (dtype) {
  case HOVA_F32:
    copy(float(), float(), same);
    break;
  case HOVA_F64:
    copy(double(), double(), same);
    break;
  case HOVA_I32:
    copy(int32_t(), int64_t(), same);
    break;
  case HOVA_I64:
    copy(int64_t(), int64_t(), same);
    break;
  case HOVA_BOOL:
    copy(uint8_t(), uint8_t(), same);
    break;
  case HOVA_BF16:
  case HOVA_F16: {
    copy(uint16_t(), float(),
         [&](uint16_t bits) { return decode16(bits, storageOf(dtype)); });
    break;
  }
  }
  return result;
}

HostTensor hova::readStored(const char *from, const hova_tensor_info &info) {
  llvm::ArrayRef<int64_t> shape(info.dims, info.rank);
  return readStored(from, info.dtype, shape, shape.empty() ? 1 : shape.back());
}

/// Bytes from the first element of a value of the arena to its last.
static int64_t spanOf(const hova_value_info &info) {
  int64_t width = info.dims[info.rank - 1], rows = 1;
  for (int64_t dim : llvm::ArrayRef(info.dims, info.rank - 1)) {
    rows *= dim;
  }
  return rows == 0 ? 0
                   : ((rows - 1) * info.row_stride + width) *
                         elementBytes(info.dtype);
}

static void capture(void *user, int64_t kernel) {
  auto &state = *static_cast<Capture *>(user);
  for (uint32_t index = 0; index < state.program->num_values; ++index) {
    const hova_value_info &info = state.program->values[index];
    if (info.kernel != kernel || info.rank == 0 || state.status != HOVA_OK) {
      continue;
    }
    state.bytes.resize(spanOf(info));
    state.status = state.inspection->read_arena(
        state.context, info.offset, state.bytes.size(), state.bytes.data());
    if (state.status == HOVA_OK) {
      (*state.values)[index] = readStored(
          state.bytes.data(), info.dtype,
          llvm::ArrayRef<int64_t>(info.dims, info.rank), info.row_stride);
    }
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

llvm::Expected<llvm::SmallVector<HostTensor>>
CompiledProgram::run(llvm::ArrayRef<HostTensor> inputs, int32_t threads,
                     const RunHooks &hooks) {
  std::vector<Buffer> buffers;
  std::vector<hova_tensor> given, wanted;
  Sizes sizes(*program, inputs);
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    const hova_tensor_info &info = program->inputs[i];
    Buffer &buffer = buffers.emplace_back(info, sizes.shapeOf(info));
    if (inputs[i].getShape() != llvm::ArrayRef<int64_t>(buffer.dims) ||
        !fill(buffer, program->inputs[i].dtype, inputs[i])) {
      return llvm::createStringError("input '%s' has another shape or type",
                                     program->inputs[i].name);
    }
    given.push_back(buffer.tensor);
  }
  std::vector<Buffer> results;
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    const hova_tensor_info &info = program->outputs[i];
    wanted.push_back(results.emplace_back(info, sizes.shapeOf(info)).tensor);
  }
  char text[1024] = "";
  hova_options options = {};
  bool isForGpu = program->num_levels && program->levels[0].device;
  options.threads = isForGpu ? 0 : threads;
  options.message = text;
  options.message_bytes = sizeof text;
  hova_context *context = std::exchange(started, nullptr);
  if (hova_status status = context ? HOVA_OK : create(&options, &context)) {
    return llvm::createStringError(
        status == HOVA_OUT_OF_MEMORY ? std::errc::not_enough_memory
                                     : std::errc::invalid_argument,
        "the compiled program does not start: %s", text);
  }
  // What is read without having been written is NaN, not what an earlier kernel
  // or run, or the system, has left there.
  bool ran = inspection->poison(context) == HOVA_OK;
  Capture state{program, inspection, context, hooks.values, {}};
  inspection->set_hook(context, hooks.values ? capture : nullptr, &state);
  inspection->set_intercept(context, hooks.intercept, hooks.interceptor);
  if (inspection->set_order && threads > 1) {
    inspection->set_order(context, threads);
  }
  if (inspection->set_sums) {
    inspection->set_sums(context, sums);
  }
  if (inspection->set_approximations) {
    inspection->set_approximations(context, approximations);
  }
  hova_status status =
      ran ? runFunction(context, given.data(), wanted.data()) : HOVA_REJECTED;
  ran = status == HOVA_OK && state.status == HOVA_OK;
  std::string reason = message(context);
  // A GPU starts in a third of a second, and there is no other way to run on
  // it.
  if (ran && isForGpu && !inspection->set_order) {
    started = context;
  } else {
    destroy(context);
  }
  if (!ran) {
    return llvm::createStringError(
        status == HOVA_OUT_OF_MEMORY ? std::errc::not_enough_memory
                                     : std::errc::invalid_argument,
        "the compiled program fails: %s", reason.c_str());
  }
  llvm::SmallVector<HostTensor> outputs;
  for (auto [i, result] : llvm::enumerate(results)) {
    outputs.push_back(readStored(result.bytes.data(), program->outputs[i].dtype,
                                 result.dims,
                                 result.dims.empty() ? 1 : result.dims.back()));
  }
  return outputs;
}
