//===- ModelTargets.cpp - Descriptions and the weights that fit them ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "Targets.h"
#include "dialect/HovaDialect.h"
#include "frontend/Import.h"
#include "frontend/weights/Checkpoint.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/Safetensors.h"

#include <cassert>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace hova::fuzz {

using namespace hova::frontend;

namespace {

/// Above these, an input is slow and tells nothing new.
constexpr size_t mostOperations = 500;
constexpr size_t mostBytes = size_t(1) << 20;

struct Description {
  std::unique_ptr<ModelSpec> spec;
  std::unique_ptr<Program> program;

  explicit Description(std::string_view text) {
    reader::Diagnostics diagnostics(
        std::make_shared<reader::Source>("fuzz.json", std::string(text)));
    spec = readModelSpec(diagnostics);
    if (spec) {
      program = elaborate(*spec, {}, diagnostics);
    }
    assert(!program == diagnostics.hasErrors());
    std::ostringstream out;
    diagnostics.print(out);
  }
};

/// The largest number of a text, at most mostBytes: what a header may mean as
/// the end of its data.
size_t largestNumber(std::string_view text) {
  size_t largest = 0, number = 0;
  for (char c : text) {
    number = c >= '0' && c <= '9'
                 ? std::min(number * 10 + size_t(c - '0'), mostBytes)
                 : 0;
    largest = std::max(largest, number);
  }
  return largest;
}

std::string withData(std::string_view header) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) +
         std::string(header) + std::string(largestNumber(header), '\1');
}

/// A file in memory, under a name.
class MemoryFile {
public:
  explicit MemoryFile(const std::string &content)
      : descriptor(memfd_create("fuzz", MFD_CLOEXEC)) {
    [[maybe_unused]] ssize_t written =
        write(descriptor, content.data(), content.size());
    assert(written == ssize_t(content.size()));
  }
  ~MemoryFile() { close(descriptor); }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  const int descriptor;
};

void readAll(const TensorFile &file) {
  for (const auto &entry : file.entries()) {
    llvm::Expected<HostTensor> tensor = file.load(entry.first);
    if (!tensor) {
      llvm::consumeError(tensor.takeError());
    }
  }
}

} // namespace

void readDescription(std::string_view input) {
  Description description(input);
  if (!description.program ||
      description.program->operations.size() > mostOperations) {
    return;
  }
  // A context keeps every attribute it has seen; a new one now and then.
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0) {
    mlir::DialectRegistry registry;
    registry.insert<HovaDialect, mlir::func::FuncDialect>();
    context = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
  }
  ImportedProgram imported = importProgram(*description.program, *context);
  [[maybe_unused]] bool valid = succeeded(mlir::verify(*imported.module));
  assert(valid && "an accepted description makes valid IR");
}

void readCheckpoint(std::string_view input) {
  constexpr std::string_view separator = "\n---\n";
  size_t split = input.find(separator);
  if (split == std::string_view::npos) {
    return;
  }
  Description description(input.substr(0, split));
  if (!description.program) {
    return;
  }
  MemoryFile content(withData(input.substr(split + separator.size())));
  llvm::Expected<TensorFile> file = TensorFile::open(content.path());
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  std::vector<const CheckpointSpec *> sources = {nullptr};
  for (const CheckpointSpec &source : description.spec->checkpoints) {
    sources.push_back(&source);
  }
  const Program &program = *description.program;
  for (const CheckpointSpec *source : sources) {
    CheckpointPlan plan = planCheckpoint(program, source, *file);
    if (!plan.problems.empty()) {
      continue;
    }
    auto weights = frontend::readCheckpoint(program, plan, *file);
    for (const ProgramWeight &weight : program.weights) {
      const Shape &shape = program.values[size_t(weight.value)].type.shape;
      int64_t elements = 1;
      for (int64_t dimension : shape) {
        elements *= dimension;
      }
      if (elements > int64_t(mostBytes)) {
        continue; // a constant, which may be of any size
      }
      llvm::Expected<HostTensor> tensor = weights->load(weight.name);
      if (tensor) {
        assert(tensor->getShape() == llvm::ArrayRef<int64_t>(shape));
      } else {
        llvm::consumeError(tensor.takeError());
      }
    }
  }
}

void readSafetensors(std::string_view input) {
  std::string file =
      input.substr(0, 1) == "{" ? withData(input) : std::string(input);
  hova_safetensors tensors;
  hova_error error = {};
  hova_span span = {reinterpret_cast<const uint8_t *>(file.data()),
                    file.size()};
  if (hova_safetensors_parse(span, "fuzz", &tensors, &error) != HOVA_OK) {
    assert(error.text[0] != '\0');
    return;
  }
  for (uint64_t i = 0; i < tensors.count; ++i) {
    const hova_safetensors_entry &entry = tensors.entries[i];
    assert(hova_safetensors_find(&tensors, entry.name) == &entry);
    assert(hova_safetensors_data(&tensors, &entry).size == entry.bytes);
  }
  hova_safetensors_close(&tensors);
  MemoryFile content(file);
  llvm::Expected<TensorFile> opened = TensorFile::open(content.path());
  assert(opened && "both readers accept the same files");
  readAll(*opened);
}

void readIndex(std::string_view input) {
  // Two shards with a tensor each, and the index beside them.
  static const std::string folder = [] {
    char name[] = "/tmp/hova-fuzz-XXXXXX";
    std::string made = mkdtemp(name);
    std::ofstream(made + "/one.safetensors") << withData(
        R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})");
    std::ofstream(made + "/two.safetensors") << withData(
        R"({"b": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}})");
    return made;
  }();
  static const bool removed = [] {
    return std::atexit([] {
             for (const char *name : {"one.safetensors", "two.safetensors",
                                      "model.safetensors.index.json"}) {
               std::remove((folder + "/" + name).c_str());
             }
             rmdir(folder.c_str());
           }) == 0;
  }();
  (void)removed;
  std::string path = folder + "/model.safetensors.index.json";
  std::ofstream(path, std::ios::binary) << input;
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  readAll(*file);
}

} // namespace hova::fuzz
