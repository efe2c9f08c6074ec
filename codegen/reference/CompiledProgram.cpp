//===- CompiledProgram.cpp - A compiled shared library, loaded ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/CompiledProgram.h"
#include "dialect/Storage.h"
#include "dialect/evaluate/Evaluate.h"
#include <cstring>
#include <dlfcn.h>
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
  std::string missing;
  findFunction(result.library, prefix, "program", describe, missing);
  findFunction(result.library, prefix, "create", result.create, missing);
  findFunction(result.library, prefix, "run", result.runFunction, missing);
  findFunction(result.library, prefix, "destroy", result.destroy, missing);
  findFunction(result.library, prefix, "message", result.message, missing);
  if (!missing.empty()) {
    return llvm::createStringError("the compiled library has no function '%s'",
                                   missing.c_str());
  }
  result.program = describe();
  if (result.program->abi != HOVA_ABI_VERSION) {
    return llvm::createStringError(
        "the compiled library has interface version %u, expected %u",
        result.program->abi, static_cast<unsigned>(HOVA_ABI_VERSION));
  }
  return std::move(result);
}

CompiledProgram::CompiledProgram(CompiledProgram &&other)
    : library(other.library), program(other.program), create(other.create),
      runFunction(other.runFunction), destroy(other.destroy),
      message(other.message) {
  other.library = nullptr;
}

CompiledProgram::~CompiledProgram() {
  if (library) {
    dlclose(library);
  }
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {
/// Memory of one input or output in the program's type, and the view of it.
struct Buffer {
  std::vector<int64_t> dims;
  std::vector<char> bytes;
  hova_tensor tensor;

  explicit Buffer(const hova_tensor_info &info)
      : dims(info.dims, info.dims + info.rank) {
    int64_t count = 1;
    for (int64_t dim : dims) {
      count *= dim;
    }
    // A result that is not written is NaN.
    bytes.resize(count * elementBytes(info.dtype) + 1, '\xff');
    tensor = hova_make_tensor(info.name, static_cast<hova_dtype>(info.dtype),
                              info.rank, dims.data(), bytes.data());
  }

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
};

/// What is read without having been written is NaN, not what an earlier kernel
/// or run, or the system, has left there. The arena is the context's to write.
static void poison(hova_context *context) {
  std::memset(const_cast<char *>(hova_arena_of(context)), 0xff,
              hova_memory_of(context));
}

/// The values of one run, taken between kernels.
struct Capture {
  const hova_program *program;
  const char *arena;
  std::map<uint32_t, HostTensor> *values;
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

/// One row of a stored value, as numbers.
static bool readRow(const char *from, int64_t width, int32_t dtype, float *to) {
  if (dtype == HOVA_F32) {
    std::memcpy(to, from, width * sizeof(float));
    return true;
  }
  if (dtype != HOVA_BF16 && dtype != HOVA_F16) {
    return false;
  }
  Storage storage = dtype == HOVA_BF16 ? Storage::BF16 : Storage::F16;
  for (int64_t i = 0; i < width; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = decode16(bits, storage);
  }
  return true;
}

static void capture(void *user, int64_t kernel) {
  auto &state = *static_cast<Capture *>(user);
  for (uint32_t index = 0; index < state.program->num_values; ++index) {
    const hova_value_info &info = state.program->values[index];
    if (info.kernel != kernel || info.rank == 0) {
      continue;
    }
    llvm::ArrayRef<int64_t> shape(info.dims, info.rank);
    HostTensor value(Element::F32, shape);
    int64_t pitch = info.row_stride * Buffer::elementBytes(info.dtype);
    bool isFloat = true;
    for (int64_t row = 0, e = rowCount(shape); isFloat && row < e; ++row) {
      isFloat =
          readRow(state.arena + info.offset + row * pitch, shape.back(),
                  info.dtype, value.mutableAs<float>() + row * shape.back());
    }
    if (isFloat) {
      (*state.values)[index] = value;
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
  for (uint32_t i = 0; i < program->num_inputs; ++i) {
    Buffer &buffer = buffers.emplace_back(program->inputs[i]);
    if (inputs[i].getShape() != llvm::ArrayRef<int64_t>(buffer.dims) ||
        !fill(buffer, program->inputs[i].dtype, inputs[i])) {
      return llvm::createStringError("input '%s' has another shape or type",
                                     program->inputs[i].name);
    }
    given.push_back(buffer.tensor);
  }
  std::vector<Buffer> results;
  for (uint32_t i = 0; i < program->num_outputs; ++i) {
    if (program->outputs[i].dtype != HOVA_F32) {
      return llvm::createStringError("output '%s' is not f32",
                                     program->outputs[i].name);
    }
    wanted.push_back(results.emplace_back(program->outputs[i]).tensor);
  }
  char text[1024] = "";
  hova_options options = {};
  options.threads = threads;
  options.message = text;
  options.message_bytes = sizeof text;
  hova_context *context = nullptr;
  if (hova_status status = create(&options, &context)) {
    return llvm::createStringError(
        status == HOVA_OUT_OF_MEMORY ? std::errc::not_enough_memory
                                     : std::errc::invalid_argument,
        "the compiled program does not start: %s", text);
  }
  poison(context);
  Capture state{program, hova_arena_of(context), hooks.values};
  if (hooks.values) {
    hova_set_hook(context, capture, &state);
  }
  hova_set_intercept(context, hooks.intercept, hooks.interceptor);
  bool ran = runFunction(context, given.data(), wanted.data()) == HOVA_OK;
  std::string reason = message(context);
  destroy(context);
  if (!ran) {
    return llvm::createStringError("the compiled program fails: %s",
                                   reason.c_str());
  }
  llvm::SmallVector<HostTensor> outputs;
  for (Buffer &result : results) {
    HostTensor &output = outputs.emplace_back(Element::F32, result.dims);
    std::memcpy(output.mutableData(), result.bytes.data(), output.size() * 4);
  }
  return outputs;
}
