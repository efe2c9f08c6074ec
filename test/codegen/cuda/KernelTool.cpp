//===- KernelTool.cpp - Kernels of the CUDA target as text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// cuda-kernel product|attention|norm [--NAME=VALUE]... [--emit=mlir|nvvm|ptx]
// prints a kernel of that recipe, of sizes and a schedule as its struct names
// them (codegen/cuda/recipes/CudaKernels.h). cuda-kernel FILE.mlir takes
// functions of group operations from a file.
//
// With --emulate=DIR it runs the kernel instead, with the checks of
// docs/gpu.md. DIR has a file for each operand, named 0, 1 and so on; of the
// last, which is the result, only the size counts. --grid-x, -y and -z are the
// blocks. Each order that --orders names, as late:7 for asynchronous copies
// that land late and seed 7, is a launch, and DIR/results has the results one
// after the other. A fault is an error.

#include "Device.h"
#include "codegen/Pipeline.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/link/Ptx.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hova;

namespace {

/// `--NAME=VALUE` of the command line, each read once.
class Flags {
public:
  explicit Flags(ArrayRef<char *> arguments) {
    for (StringRef argument : arguments) {
      auto [name, value] = argument.split('=');
      values[name.drop_front(
          name.take_while([](char c) { return c == '-'; }).size())] = value;
    }
  }
  /// Sets what the command line names.
  void read(StringRef name, int64_t &value) {
    int64_t given;
    if (auto text = take(name); text && !text->getAsInteger(10, given)) {
      value = given;
    }
  }
  void read(StringRef name, bool &value) { value = take(name).has_value(); }
  std::optional<StringRef> take(StringRef name) {
    auto found = values.find(name);
    if (found == values.end()) {
      return std::nullopt;
    }
    StringRef value = found->second;
    values.erase(found);
    return value;
  }
  /// A name that nothing has read.
  std::optional<StringRef> rest() const {
    return values.empty() ? std::nullopt
                          : std::optional(values.begin()->getKey());
  }

private:
  llvm::StringMap<StringRef> values;
};

void product(ModuleOp module, Flags &flags) {
  ProductKernel own{128, 64, 128};
  flags.read("rows", own.rows);
  flags.read("inner", own.inner);
  flags.read("columns", own.columns);
  flags.read("bias", own.bias);
  flags.read("gelu", own.gelu);
  flags.read("wide", own.wide);
  flags.read("block-rows", own.blockRows);
  flags.read("block-columns", own.blockColumns);
  flags.read("row-warps", own.rowWarps);
  flags.read("column-warps", own.columnWarps);
  flags.read("step", own.step);
  flags.read("stages", own.stages);
  buildProductKernel(module, "product", own);
}

void attention(ModuleOp module, Flags &flags) {
  AttentionKernel own{1, 64, 1};
  flags.read("batch", own.batch);
  flags.read("tokens", own.tokens);
  flags.read("heads", own.heads);
  flags.read("width", own.width);
  flags.read("queries", own.queries);
  flags.read("warps", own.warps);
  flags.read("keys", own.keys);
  buildAttentionKernel(module, "attention", own);
}

void norm(ModuleOp module, Flags &flags) {
  NormKernel own{4, 128};
  flags.read("rows", own.rows);
  flags.read("columns", own.columns);
  flags.read("warps", own.warps);
  buildNormKernel(module, "norm", own);
}

int complain(const Twine &message) {
  llvm::errs() << "cuda-kernel: " << message << "\n";
  return 1;
}

/// What a kernel runs on, and in which orders.
struct Launches {
  explicit Launches(Flags &flags)
      : folder(flags.take("emulate").value_or("")),
        orders(flags.take("orders").value_or("early:0")) {
    flags.read("grid-x", grid[0]);
    flags.read("grid-y", grid[1]);
    flags.read("grid-z", grid[2]);
  }

  StringRef folder, orders;
  int64_t grid[3] = {1, 1, 1};
};

/// `late:7` of the command line.
LogicalResult readOrder(StringRef order, test::Shape &shape) {
  auto [copies, seed] = order.split(':');
  auto found = llvm::StringSwitch<std::optional<hova_emulation_copies>>(copies)
                   .Case("early", HOVA_EMULATION_EARLY)
                   .Case("late", HOVA_EMULATION_LATE)
                   .Case("mixed", HOVA_EMULATION_MIXED)
                   .Default(std::nullopt);
  if (!found || seed.getAsInteger(10, shape.seed)) {
    return failure();
  }
  shape.copies = *found;
  return success();
}

/// Operands anew, which no launch has touched.
llvm::Expected<std::vector<test::Buffer>> readOperands(StringRef folder,
                                                       unsigned count) {
  std::vector<test::Buffer> buffers;
  for (unsigned i = 0; i < count; ++i) {
    std::string name = std::to_string(i);
    auto file = llvm::MemoryBuffer::getFile(folder + "/" + name);
    if (!file) {
      return llvm::createFileError(folder + "/" + name, file.getError());
    }
    StringRef bytes = (*file)->getBuffer();
    bool isResult = i + 1 == count;
    buffers.emplace_back(
        name, isResult ? HOVA_EMULATION_OUTPUT : HOVA_EMULATION_INPUT,
        bytes.size());
    if (!isResult) {
      llvm::copy(bytes, static_cast<char *>(buffers.back().data));
    }
  }
  return buffers;
}

/// Runs the only kernel of a module in the LLVM and NVVM dialects, given as
/// text to a context of its own, as a file would be.
int emulate(ModuleOp module, const Launches &launches) {
  auto function = *module.getOps<LLVM::LLVMFuncOp>().begin();
  std::string text;
  llvm::raw_string_ostream(text) << module;
  test::Device device(text);
  if (!device.module) {
    return complain(device.errors);
  }
  test::Shape shape;
  llvm::copy(launches.grid, shape.grid.begin());
  llvm::copy(function
                 ->getAttrOfType<DenseI32ArrayAttr>(
                     NVVM::NVVMDialect::getReqntidAttrName())
                 .asArrayRef(),
             shape.block.begin());
  shape.sharedBytes =
      function->getAttrOfType<IntegerAttr>(kGroupBytesAttr).getInt();
  std::error_code error;
  llvm::raw_fd_ostream results((launches.folder + "/results").str(), error);
  if (error) {
    return complain(launches.folder + "/results: " + error.message());
  }
  for (StringRef order : llvm::split(launches.orders, ',')) {
    if (failed(readOrder(order, shape))) {
      return complain("expected orders as early:0, late:1 or mixed:2, got '" +
                      order + "'");
    }
    auto buffers = readOperands(launches.folder, function.getNumArguments());
    if (!buffers) {
      return complain(llvm::toString(buffers.takeError()));
    }
    auto report = device.run(function.getName(), shape, *buffers);
    if (report.message[0]) {
      return complain(order + ": " + report.message);
    }
    results.write(static_cast<const char *>(buffers->back().data),
                  buffers->back().bytes);
  }
  return 0;
}

int lowerAndUse(ModuleOp module, StringRef form, const Launches &launches) {
  if (form == "mlir") {
    module.print(llvm::outs());
    return 0;
  }
  PassManager manager(module.getContext());
  buildLowerToNvvm(manager);
  if (failed(manager.run(module))) {
    return 1;
  }
  if (!launches.folder.empty()) {
    return emulate(module, launches);
  }
  if (form == "nvvm") {
    module.print(llvm::outs());
    return 0;
  }
  auto text = translateToPtx(module, "sm_80");
  if (!text) {
    return complain(llvm::toString(text.takeError()));
  }
  llvm::outs() << *text;
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "usage: cuda-kernel RECIPE|FILE.mlir [--NAME=VALUE]...\n";
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  Flags flags(ArrayRef(argv, argc).drop_front(2));
  Launches launches(flags);
  StringRef form = flags.take("emit").value_or("ptx"), recipe = argv[1];
  OwningOpRef<ModuleOp> module;
  if (recipe.ends_with(".mlir")) {
    module = parseSourceFile<ModuleOp>(recipe, ParserConfig(&context));
    if (!module) {
      return 1;
    }
  } else {
    module = ModuleOp::create(UnknownLoc::get(&context));
  }
  if (recipe == "product") {
    product(*module, flags);
  } else if (recipe == "attention") {
    attention(*module, flags);
  } else if (recipe == "norm") {
    norm(*module, flags);
  }
  if (auto unknown = flags.rest()) {
    llvm::errs() << "cuda-kernel: unknown option '" << *unknown << "'\n";
    return 2;
  }
  return lowerAndUse(*module, form, launches);
}
