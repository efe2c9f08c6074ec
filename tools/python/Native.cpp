//===- Native.cpp - Compiled models in Python -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The extension module hova._native: a library that hova compiled, contexts of
// it, and views of arrays, over the C interface of compiled models
// (runtime/hova_runtime.h). Nothing of the compiler is here. Arrays are never
// copied: what a model cannot read or write in place, its runtime refuses.
//
// The interpreter's lock is held while arrays are looked at and released while
// a model runs.
//
//===----------------------------------------------------------------------===//

#include "runtime/hova_runtime.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nb = nanobind;
using namespace nanobind::literals;

namespace {

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// Becomes hova.Error.
struct Failure {
  hova_status status;
  std::string message;
};

/// The exit status of a program that fails so.
int exitStatus(hova_status status) {
  switch (status) {
  case HOVA_OUT_OF_MEMORY:
    return 71;
  case HOVA_IO_ERROR:
    return 74;
  case HOVA_FAULT:
    return 3;
  default:
    return 1;
  }
}

void translateFailure(const std::exception_ptr &thrown, void *) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure &failure) {
    nb::object type = nb::module_::import_("hova._errors").attr("Error");
    nb::object error =
        type(failure.message, "status"_a = exitStatus(failure.status));
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// Names of `hova_dtype`, as NumPy has them.
constexpr const char *kTypes[] = {"float32", "float64", "bfloat16", "float16",
                                  "int32",   "int64",   "bool"};

/// Name, type, shape, and the range of valid integers if not all are.
using Tensor = std::tuple<std::string, std::string, nb::tuple,
                          std::optional<std::tuple<int64_t, int64_t>>>;

std::vector<Tensor> describe(const hova_tensor_info *infos, uint32_t count) {
  std::vector<Tensor> tensors;
  for (const hova_tensor_info *info = infos; info != infos + count; ++info) {
    nb::list shape;
    for (int32_t i = 0; i < info->rank; ++i) {
      shape.append(info->dims[i]);
    }
    std::optional<std::tuple<int64_t, int64_t>> range;
    if (info->lower != info->upper) {
      range = {info->lower, info->upper};
    }
    tensors.emplace_back(info->name, kTypes[info->dtype], nb::tuple(shape),
                         range);
  }
  return tensors;
}

/// One compiled model, mapped.
///
/// The loader takes a path that it knows for the library that it has, also
/// where another file is there now. So it is told a path through a descriptor
/// of the folder, which is nobody else's as long as the library is open. And it
/// has one library for a file, which keeps its first path: so there is one
/// object for a file.
class Library {
public:
  static std::shared_ptr<Library> open(const std::string &folder,
                                       const std::string &name,
                                       const std::string &prefix) {
    // The interpreter's lock is held.
    static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Library>> known;
    struct stat file = {};
    if (::stat((folder + "/" + name).c_str(), &file) != 0) {
      throw Failure{HOVA_IO_ERROR, "cannot find '" + folder + "/" + name + "'"};
    }
    std::weak_ptr<Library> &place = known[{file.st_dev, file.st_ino}];
    std::shared_ptr<Library> library = place.lock();
    if (!library) {
      library = std::make_shared<Library>(folder, name, prefix);
      place = library;
    }
    return library;
  }
  Library(const std::string &folder, const std::string &name,
          const std::string &prefix)
      : folder(folder) {
    directory = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
      throw Failure{HOVA_IO_ERROR, "cannot open the folder '" + folder + "'"};
    }
    handle = ::dlopen((alias() + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      std::string why = readable(::dlerror());
      ::close(directory);
      throw Failure{HOVA_REJECTED, "cannot load '" + name + "': " + why};
    }
    try {
      findFunctions(prefix);
    } catch (...) {
      close();
      throw;
    }
  }
  ~Library() { close(); }
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  /// A message in which the folder is called as the caller knows it.
  std::string readable(std::string message) const {
    for (size_t at; (at = message.find(alias())) != std::string::npos;) {
      message.replace(at, alias().size(), folder + "/");
    }
    return message;
  }

  const hova_program *program = nullptr;
  hova_status (*create)(const hova_options *, hova_context **) = nullptr;
  hova_status (*run)(hova_context *, const hova_tensor *,
                     const hova_tensor *) = nullptr;
  void (*destroy)(hova_context *) = nullptr;
  const char *(*message)(const hova_context *) = nullptr;

private:
  std::string alias() const {
    return "/proc/self/fd/" + std::to_string(directory) + "/";
  }
  void close() {
    ::dlclose(handle);
    ::close(directory);
  }
  template <typename Function>
  void find(const std::string &symbol, Function &function) {
    function = reinterpret_cast<Function>(::dlsym(handle, symbol.c_str()));
    if (!function) {
      throw Failure{HOVA_REJECTED, "the library has no function " + symbol};
    }
  }
  void findFunctions(const std::string &prefix) {
    uint32_t (*version)() = nullptr;
    find(prefix + "_abi_version", version);
    if (version() != HOVA_ABI_VERSION) {
      throw Failure{HOVA_REJECTED,
                    "the model was compiled by another version of hova "
                    "(interface " +
                        std::to_string(version()) + ", expected " +
                        std::to_string(HOVA_ABI_VERSION) +
                        "): compile it again"};
    }
    const hova_program *(*describeProgram)() = nullptr;
    find(prefix + "_program", describeProgram);
    find(prefix + "_create", create);
    find(prefix + "_run", run);
    find(prefix + "_destroy", destroy);
    find(prefix + "_message", message);
    program = describeProgram();
  }

  std::string folder;
  int directory = -1;
  void *handle = nullptr;
};

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// A view, whose shape and strides are those of the array.
template <typename Array> hova_tensor viewOf(const Array &array) {
  hova_tensor tensor = {};
  tensor.data = const_cast<void *>(array.data());
  tensor.device = {array.device_type(), array.device_id()};
  tensor.ndim = static_cast<int32_t>(array.ndim());
  nb::dlpack::dtype type = array.dtype();
  tensor.dtype = {type.code, type.bits, type.lanes};
  tensor.shape = const_cast<int64_t *>(array.shape_ptr());
  tensor.strides = const_cast<int64_t *>(array.stride_ptr());
  return tensor;
}

/// Arrays for a run, held until it is done. `role` is "input" or "output".
template <typename Array> class Arguments {
public:
  Arguments(nb::sequence given, const hova_tensor_info *infos, uint32_t count,
            const char *role) {
    if (nb::len(given) != count) {
      throw Failure{HOVA_REJECTED, "the model takes " + std::to_string(count) +
                                       " " + role + "s, got " +
                                       std::to_string(nb::len(given))};
    }
    arrays.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      nb::object object = given[i];
      if (!nb::try_cast(object, arrays[i], /*convert=*/false)) {
        refuse(object, infos[i].name, role);
      }
      tensors.push_back(viewOf(arrays[i]));
    }
  }
  const hova_tensor *data() const { return tensors.data(); }

private:
  [[noreturn]] static void refuse(nb::handle object, const std::string &name,
                                  const char *role) {
    nb::ndarray<nb::ro> readable;
    std::string what = std::string(role) + " '" + name + "' ";
    if (nb::try_cast(object, readable, /*convert=*/false)) {
      throw Failure{HOVA_REJECTED, what + "is read-only"};
    }
    std::string type = nb::type_name(object.type()).c_str();
    throw Failure{HOVA_REJECTED, what +
                                     "expects a NumPy array or another object "
                                     "with __dlpack__, got " +
                                     type};
  }

  std::vector<Array> arrays;
  std::vector<hova_tensor> tensors;
};

/// What serves one caller at a time.
class Context {
public:
  Context(std::shared_ptr<Library> library, int32_t threads,
          std::optional<std::string> weights, bool checkWeights, int32_t device)
      : library(std::move(library)) {
    char message[4096] = "";
    hova_options options = {};
    options.threads = threads;
    options.weights = weights ? weights->c_str() : nullptr;
    options.check_weights = checkWeights;
    options.device = device;
    options.message = message;
    options.message_bytes = sizeof message;
    nb::gil_scoped_release unlocked;
    hova_status status = this->library->create(&options, &context);
    if (status != HOVA_OK) {
      throw Failure{status, this->library->readable(message)};
    }
  }
  ~Context() { library->destroy(context); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  void run(nb::sequence inputs, nb::sequence outputs) {
    const hova_program *program = library->program;
    Arguments<nb::ndarray<nb::ro>> read(inputs, program->inputs,
                                        program->num_inputs, "input");
    Arguments<nb::ndarray<>> written(outputs, program->outputs,
                                     program->num_outputs, "output");
    hova_status status;
    {
      nb::gil_scoped_release unlocked;
      status = library->run(context, read.data(), written.data());
    }
    if (status == HOVA_BUSY) {
      throw Failure{status, "the context runs in another thread"};
    }
    if (status != HOVA_OK) {
      throw Failure{status, library->message(context)};
    }
  }

private:
  std::shared_ptr<Library> library;
  hova_context *context = nullptr;
};

//===----------------------------------------------------------------------===//
// Bytes of arrays
//===----------------------------------------------------------------------===//

using Dense = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<nb::memview, const uint8_t, nb::ndim<1>>;

/// Kind (the code of DLPack), bits, shape and elements, row by row. An array
/// with gaps is copied, by the library that it is of.
std::tuple<int, int, nb::tuple, Bytes> bytesOf(Dense array) {
  nb::list shape;
  for (size_t i = 0; i < array.ndim(); ++i) {
    shape.append(array.shape(i));
  }
  auto *held = new Dense(array);
  nb::capsule owner(held, [](void *pointer) noexcept {
    delete static_cast<Dense *>(pointer);
  });
  return {array.dtype().code, array.dtype().bits, nb::tuple(shape),
          Bytes(static_cast<const uint8_t *>(array.data()), {array.nbytes()},
                owner)};
}

} // namespace

NB_MODULE(_native, module) {
  module.doc() = "Compiled models, over their C interface.";
  module.attr("__version__") = HOVA_VERSION;
  nb::register_exception_translator(translateFailure);
  nb::class_<Library>(module, "Library", "A compiled model, mapped.")
      .def_static("open", &Library::open, "folder"_a, "name"_a, "prefix"_a,
                  "Maps a file, once.")
      .def_prop_ro("model", [](Library &l) { return l.program->name; })
      .def_prop_ro("compiler", [](Library &l) { return l.program->compiler; })
      .def_prop_ro("dtype", [](Library &l) { return l.program->dtype; })
      .def_prop_ro("flops", [](Library &l) { return l.program->flops; })
      .def_prop_ro("arena_bytes",
                   [](Library &l) { return l.program->arena_bytes; })
      .def_prop_ro("weight_bytes",
                   [](Library &l) { return l.program->weight_bytes; })
      .def_prop_ro("inputs",
                   [](Library &l) {
                     return describe(l.program->inputs, l.program->num_inputs);
                   })
      .def_prop_ro("outputs", [](Library &l) {
        return describe(l.program->outputs, l.program->num_outputs);
      });
  nb::class_<Context>(module, "Context",
                      "Memory and threads for one run at a time.")
      .def(nb::init<std::shared_ptr<Library>, int32_t,
                    std::optional<std::string>, bool, int32_t>(),
           "library"_a, "threads"_a, "weights"_a.none(), "check_weights"_a,
           "device"_a)
      .def("run", &Context::run, "inputs"_a, "outputs"_a,
           "Runs once; arrays stand in the order of the model.");
  module.def("bytes_of", bytesOf, "array"_a,
             "Kind and bits of DLPack, shape and elements, row by row.");
}
