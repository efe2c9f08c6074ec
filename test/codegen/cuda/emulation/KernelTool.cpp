//===- KernelTool.cpp - Kernels of the CUDA target as text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// cuda-kernel product|attention|norm [--NAME=VALUE]... [--emit=mlir|nvvm|ptx]
// prints the kernel that the phases of the CUDA target make of an operation of
// these sizes, with the schedule that the options name, or the recipe's own.
// cuda-kernel FILE.mlir does the same to the operations of a function @main,
// which must become one kernel; its function is @kernel. --emit=launch names
// the operation that the kernel begins with and the extents of its grid. PTX is
// for --arch=sm_80. A file
// without @main has functions of group operations, or what these are lowered
// to. A file - is standard input.
// cuda-kernel recipes lists the operations that kernels can begin with.
//
// cuda-kernel serve DIR does this for any number of command lines, a JSON array
// of words in each line of standard input, each in a process of its own, which
// has the libraries from the start: to load them takes longer than most calls.
// What it reads and says is in DIR/in, DIR/out and DIR/err, and the answer is
// a line with its exit status, or the negative number of a signal.
//
// On a level where a launch may begin before others have ended, kernels wait
// for these, and --settled=1,2 names the operands that none writes. A kernel is
// then emulated as one that begins so.
//
// With --emulate=DIR it runs the kernel instead, with the checks of
// docs/gpu.md. DIR has a file for each operand, named 0, 1 and so on; of the
// last --results=1 only the sizes count. --grid-x, -y and -z are the blocks.
// Each order that --orders names, as late:7 for asynchronous copies that land
// late and seed 7, is a launch, and DIR/results has the results one after the
// other. --sums=in-order, a100 or h100 is how mma.sync adds, and
// --approximations=nearest, above, below or either where results of `approx`
// instructions lie. With --counts it
// prints what the last launch has done. A fault is an error. Where
// HOVA_TEST_DRIVER is set, a device makes each launch, too, and what it leaves
// of the results is in DIR/device (DriverDevice.h).

#include "Device.h"
#include "Flags.h"
#include "codegen/Pipeline.h"
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/DeviceProgram.h"
#include "codegen/cuda/LaunchOps.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/Recipe.h"
#include "codegen/cuda/link/Ptx.h"
#include "codegen/cuda/lower/ThreadEmitter.h"
#include "codegen/targets/Registration.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace hova;
using hova::test::Flags;

namespace {

//===----------------------------------------------------------------------===//
// Kernels as operations of hova
//===----------------------------------------------------------------------===//

/// `y = f(x wT + bias)`: x is rows x inner, w columns x inner, both bf16; bias
/// has a f32 for each column; y is bf16, or f32 if `wide`; f is GELU or
/// nothing.
std::string product(Flags &flags) {
  int64_t rows = 128, inner = 64, columns = 128;
  bool bias, gelu, wide;
  flags.read("rows", rows);
  flags.read("inner", inner);
  flags.read("columns", columns);
  flags.read("bias", bias);
  flags.read("gelu", gelu);
  flags.read("wide", wide);
  std::string text = llvm::formatv(R"(
    !x = tensor<{0}x{1}xbf16>
    !w = tensor<{2}x{1}xbf16>
    !b = tensor<{2}xf32>
    !y = tensor<{0}x{2}xf32>
    !n = tensor<{0}x{2}xbf16>
    func.func @main(%x: !x, %w: !w{3}) -> {4} {{
      %0 = hova.linear %x, %w {5} {{transposed} : !x, !w {6} -> !y
  )",
                                   rows, inner, columns, bias ? ", %b: !b" : "",
                                   wide ? "!y" : "!n", bias ? "bias(%b)" : "",
                                   bias ? ", !b" : "");
  text += gelu ? "%1 = hova.activation gelu_erf %0 : !y\n" : "";
  std::string last = gelu ? "%1" : "%0";
  return text + (wide ? "return " + last + " : !y }"
                      : "%2 = hova.convert " + last +
                            " : !y -> !n\n return %2 : !n }");
}

/// `o = softmax(q kT / sqrt(width)) v` for each head. Queries, keys and values
/// are columns of one matrix of bf16 for each sequence.
std::string attention(Flags &flags) {
  int64_t batch = 1, tokens = 64, heads = 1, width = 64;
  flags.read("batch", batch);
  flags.read("tokens", tokens);
  flags.read("heads", heads);
  flags.read("width", width);
  return llvm::formatv(R"(
    !q = tensor<{0}x{1}x{2}xbf16>
    !o = tensor<{0}x{1}x{3}xbf16>
    func.func @main(%x: !q) -> !o {{
      %q = hova.slice %x {{axis = 2 : i64, offset = 0 : i64} : !q -> !o
      %k = hova.slice %x {{axis = 2 : i64, offset = {3} : i64} : !q -> !o
      %v = hova.slice %x {{axis = 2 : i64, offset = {4} : i64} : !q -> !o
      %o = hova.attention %q, %k, %v {{heads = {5} : i64}
          : (!o, !o, !o) -> !o scores {{
      ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
        %scale = hova.number {6}
        %score = arith.mulf %raw, %scale : f32
        %all = arith.constant true
        hova.score_yield %score kept %all
      }
      return %o : !o
    })",
                       batch, tokens, 3 * heads * width, heads * width,
                       2 * heads * width, heads,
                       llvm::format("%.17e", 1 / std::sqrt(double(width))));
}

/// Layer norm of rows of f32, in bf16.
std::string norm(Flags &flags) {
  int64_t rows = 4, columns = 128;
  flags.read("rows", rows);
  flags.read("columns", columns);
  return llvm::formatv(R"(
    !x = tensor<{0}x{1}xf32>
    !n = tensor<{0}x{1}xbf16>
    !b = tensor<{1}xf32>
    func.func @main(%x: !x, %g: !b, %b: !b) -> !n {{
      %y = hova.layer_norm %x, %g, %b {{eps = 1.0e-6 : f64} : !x, !b
      %n = hova.convert %y : !x -> !n
      return %n : !n
    })",
                       rows, columns);
}

/// The schedule that the command line asks for, by the names of its recipe.
CudaScheduleAttr readSchedule(Flags &flags, CudaScheduleAttr chosen) {
  int64_t rows = chosen.getRows(), columns = chosen.getColumns();
  int64_t rowWarps = chosen.getRowWarps();
  int64_t columnWarps = chosen.getColumnWarps();
  int64_t step = chosen.getStep(), stages = chosen.getStages();
  int64_t underWay = chosen.getUnderWay(), cluster = chosen.getCluster();
  flags.read("block-rows", rows);
  flags.read("queries", rows);
  flags.read("block-columns", columns);
  flags.read("row-warps", rowWarps);
  flags.read("warps", rowWarps);
  flags.read("column-warps", columnWarps);
  flags.read("step", step);
  flags.read("keys", step);
  flags.read("stages", stages);
  flags.read("under-way", underWay);
  flags.read("cluster", cluster);
  return CudaScheduleAttr::get(chosen.getContext(), rows, columns, rowWarps,
                               columnWarps, step, stages, underWay, cluster);
}

LogicalResult runPhase(ModuleOp module, StringRef name, const GpuFacts &gpu) {
  // What is asked for is one kernel.
  PassSelection passes;
  passes.without = {"hova-split-reductions"};
  PipelineOptions options{std::make_shared<CudaTarget>(gpu, gpu,
                                                       gpu.hasClusters), passes,
                          nullptr};
  PassManager manager(module.getContext());
  buildPhase(*findPhase(name), manager, options);
  return manager.run(module);
}

int complain(const Twine &message) {
  llvm::errs() << "cuda-kernel: " << message << "\n";
  return 1;
}

/// Functions of group operations, and how the one kernel of a program that they
/// are is launched.
struct Kernel {
  OwningOpRef<ModuleOp> module;
  std::string anchor;
  CudaLaunchAttr shape;
};

/// Leaves of a module with a function @main the function of the one kernel that
/// this becomes, under another name.
LogicalResult makeKernel(Kernel &made, StringRef name, Flags &flags) {
  ModuleOp module = *made.module;
  if (failed(runPhase(module, "fuse", gpuOf(module))) ||
      failed(runPhase(module, "assign", gpuOf(module)))) {
    return failure();
  }
  module->walk([&](KernelOp kernel) {
    kernel.setScheduleAttr(
        readSchedule(flags, cast<CudaScheduleAttr>(kernel.getScheduleAttr())));
  });
  module->walk([&](StageOp stage) {
    made.anchor = stage.getAnchor()->getName().getStringRef();
  });
  if (failed(runPhase(module, "tile", gpuOf(module)))) {
    return failure();
  }
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto launches = llvm::to_vector(main.getOps<LaunchOp>());
  if (launches.size() != 1) {
    complain("expected a function 'main' that becomes one kernel, got " +
             Twine(launches.size()));
    return failure();
  }
  made.shape = cast<CudaLaunchAttr>(launches.front().getShape());
  auto kernel = module.lookupSymbol<func::FuncOp>(launches.front().getCallee());
  // What describes the program and makes its weights is none of the kernel.
  for (Operation &op :
       llvm::make_early_inc_range(module.getBody()->getOperations())) {
    if (&op != kernel) {
      op.erase();
    }
  }
  module->removeAttr("hova.phase");
  kernel.setName(name);
  kernel.setPublic();
  return success();
}

/// The names of all operations that a kernel can begin with, in order.
int listRecipes(MLIRContext &context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.hasInterface<CudaRecipeOpInterface>() ||
        name.hasInterface<TileOpInterface>()) {
      names.push_back(name.getStringRef());
    }
  }
  llvm::sort(names);
  for (StringRef name : names) {
    llvm::outs() << name << "\n";
  }
  return 0;
}

/// Says of functions of group operations that their launches may begin before
/// others have ended, on a level where that is so.
LogicalResult noteSettled(ModuleOp module, StringRef names) {
  SmallVector<int64_t> numbers;
  for (StringRef name : llvm::split(names, ',')) {
    if (!names.empty() && name.getAsInteger(10, numbers.emplace_back())) {
      complain("expected numbers of operands, got '" + names + "'");
      return failure();
    }
  }
  if (gpuOf(module).overlapsLaunches) {
    for (auto function : module.getOps<func::FuncOp>()) {
      function->setAttr(kSettledAttr,
                        DenseI64ArrayAttr::get(module.getContext(), numbers));
    }
  }
  return success();
}

/// What a kernel runs on, and in which orders.
struct Launches {
  /// The grid is that of the command line, else that of `shape`, if any.
  Launches(Flags &flags, CudaLaunchAttr shape)
      : folder(flags.take("emulate").value_or("")),
        orders(flags.take("orders").value_or("early:0")),
        sums(flags.take("sums").value_or("in-order")),
        approximations(flags.take("approximations").value_or("nearest")) {
    flags.read("counts", counts);
    flags.read("results", results);
    if (shape) {
      llvm::copy(ArrayRef<int64_t>{shape.getX(), shape.getY(), shape.getZ()},
                 grid);
    }
    flags.read("grid-x", grid[0]);
    flags.read("grid-y", grid[1]);
    flags.read("grid-z", grid[2]);
  }

  StringRef folder, orders, sums, approximations;
  int64_t grid[3] = {1, 1, 1}, results = 1;
  bool counts;
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

LogicalResult readSums(StringRef text, test::Shape &shape) {
  auto found = llvm::StringSwitch<std::optional<hova_emulation_sums>>(text)
                   .Case("in-order", HOVA_EMULATION_IN_ORDER)
                   .Case("a100", HOVA_EMULATION_A100)
                   .Case("h100", HOVA_EMULATION_H100)
                   .Default(std::nullopt);
  shape.sums = found.value_or(shape.sums);
  return success(found.has_value());
}

LogicalResult readApproximations(StringRef text, test::Shape &shape) {
  auto found =
      llvm::StringSwitch<std::optional<hova_emulation_approximations>>(text)
          .Case("nearest", HOVA_EMULATION_NEAREST)
          .Case("above", HOVA_EMULATION_ABOVE)
          .Case("below", HOVA_EMULATION_BELOW)
          .Case("either", HOVA_EMULATION_EITHER)
          .Default(std::nullopt);
  shape.approximations = found.value_or(shape.approximations);
  return success(found.has_value());
}

/// A line for each number; of accesses as requests, used and least.
void printCounts(const hova_emulation_counts &counts) {
  llvm::outs() << "warp instructions: " << counts.warp_instructions
               << "\nproducts: " << counts.products
               << "\nbarriers: " << counts.barriers
               << "\ncopied bytes: " << counts.copied_bytes
               << "\nwavefronts of ldmatrix: " << counts.matrix_wavefronts_least
               << " " << counts.matrix_wavefronts << " "
               << counts.matrix_wavefronts_least << "\n";
  static const char *const kNames[HOVA_EMULATION_ACCESSES] = {
      "wavefronts of loads and stores", "wavefronts of copies",
      "sectors of loads", "sectors of stores", "sectors of copies"};
  for (auto [name, traffic] : llvm::zip(kNames, counts.accesses)) {
    llvm::outs() << name << ": " << traffic.requests << " " << traffic.used
                 << " " << traffic.least << "\n";
  }
}

/// Operands anew, which no launch has touched.
llvm::Expected<std::vector<test::Buffer>>
readOperands(StringRef folder, int64_t count, int64_t results) {
  std::vector<test::Buffer> buffers;
  for (int64_t i = 0; i < count; ++i) {
    std::string name = std::to_string(i);
    auto file = llvm::MemoryBuffer::getFile(folder + "/" + name);
    if (!file) {
      return llvm::createFileError(folder + "/" + name, file.getError());
    }
    StringRef bytes = (*file)->getBuffer();
    bool isResult = i + results >= count;
    buffers.emplace_back(
        name, isResult ? HOVA_EMULATION_OUTPUT : HOVA_EMULATION_INPUT,
        bytes.size());
    if (!isResult) {
      llvm::copy(bytes, static_cast<char *>(buffers.back().data));
    }
  }
  return buffers;
}

/// What a driver's device left, launch after launch, as DIR/device.
int writeWhatWasLeft(const test::Bytes &bytes, StringRef folder) {
  std::error_code error;
  std::string path = (folder + "/device").str();
  llvm::raw_fd_ostream results(path, error);
  if (error) {
    return complain(path + ": " + error.message());
  }
  results.write(bytes.data(), bytes.size());
  return 0;
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
  if (failed(readSums(launches.sums, shape))) {
    return complain("expected sums in-order, a100 or h100, got '" +
                    launches.sums + "'");
  }
  if (failed(readApproximations(launches.approximations, shape))) {
    return complain("expected approximations nearest, above, below or either, "
                    "got '" +
                    launches.approximations + "'");
  }
  llvm::copy(launches.grid, shape.grid.begin());
  llvm::copy(function
                 ->getAttrOfType<DenseI32ArrayAttr>(
                     NVVM::NVVMDialect::getReqntidAttrName())
                 .asArrayRef(),
             shape.block.begin());
  shape.sharedBytes =
      function->getAttrOfType<IntegerAttr>(kGroupBytesAttr).getInt();
  shape.countsAccesses = launches.counts;
  std::optional<ArrayRef<int64_t>> settled = settledOf(function);
  shape.overlaps = settled.has_value();
  hova_emulation_counts counts = {};
  std::error_code error;
  llvm::raw_fd_ostream results((launches.folder + "/results").str(), error);
  if (error) {
    return complain(launches.folder + "/results: " + error.message());
  }
  test::Bytes ofDevice;
  for (StringRef order : llvm::split(launches.orders, ',')) {
    if (failed(readOrder(order, shape))) {
      return complain("expected orders as early:0, late:1 or mixed:2, got '" +
                      order + "'");
    }
    auto buffers = readOperands(launches.folder, function.getNumArguments(),
                                launches.results);
    if (!buffers) {
      return complain(llvm::toString(buffers.takeError()));
    }
    for (int64_t number : settled.value_or(ArrayRef<int64_t>())) {
      (*buffers)[number].settled = true;
    }
    std::vector<test::Bytes> left;
    auto report = device.run(function.getName(), shape, *buffers, &left);
    if (report.message[0]) {
      return complain(order + ": " + report.message);
    }
    for (const test::Buffer &buffer :
         ArrayRef(*buffers).take_back(launches.results)) {
      results.write(static_cast<const char *>(buffer.data), buffer.bytes);
    }
    size_t first = left.empty() ? 0 : left.size() - launches.results;
    for (const test::Bytes &bytes : ArrayRef(left).drop_front(first)) {
      llvm::append_range(ofDevice, bytes);
    }
    counts = report.counts;
  }
  if (!ofDevice.empty() && writeWhatWasLeft(ofDevice, launches.folder) != 0) {
    return 1;
  }
  if (launches.counts) {
    printCounts(counts);
  }
  return 0;
}

int lowerAndUse(ModuleOp module, StringRef form, const Launches &launches) {
  if (form == "mlir") {
    module.print(llvm::outs());
    return 0;
  }
  PassManager manager(module.getContext());
  buildLowerToNvvm(
      [&](std::unique_ptr<Pass> pass) { manager.addPass(std::move(pass)); });
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
  auto text = translateToPtx(module, gpuOf(module));
  if (!text) {
    return complain(llvm::toString(text.takeError()));
  }
  llvm::outs() << *text;
  return 0;
}

} // namespace

/// One command line, whose first word is a recipe or a file.
static int run(MLIRContext &context, ArrayRef<const char *> words) {
  Flags flags(words.drop_front());
  StringRef form = flags.take("emit").value_or("ptx"), recipe = words.front();
  if (recipe == "recipes") {
    return listRecipes(context);
  }
  auto write = llvm::StringSwitch<std::string (*)(Flags &)>(recipe)
                   .Case("product", product)
                   .Case("attention", attention)
                   .Case("norm", norm)
                   .Default(nullptr);
  Kernel kernel;
  kernel.module =
      write ? parseSourceString<ModuleOp>(write(flags), &context)
            : parseSourceFile<ModuleOp>(recipe, ParserConfig(&context));
  std::optional<StringRef> gpu = flags.take("gpu");
  if (gpu && !findGpu(*gpu)) {
    return complain("expected one of " + getGpuNames() + ", got " + *gpu);
  }
  if (kernel.module && (gpu || !kernel.module.get()->hasAttr(kGpuAttr))) {
    StringRef name = gpu.value_or(getGpus().front()->name);
    kernel.module.get()->setAttr(kGpuAttr, StringAttr::get(&context, name));
  }
  if (!kernel.module ||
      (kernel.module->lookupSymbol<func::FuncOp>("main") &&
       failed(makeKernel(kernel, write ? recipe : "kernel", flags)))) {
    return 1;
  }
  StringRef settled = flags.take("settled").value_or("");
  if (failed(noteSettled(*kernel.module, settled))) {
    return 1;
  }
  Launches launches(flags, kernel.shape);
  if (auto unknown = flags.rest()) {
    llvm::errs() << "cuda-kernel: unknown option '" << *unknown << "'\n";
    return 2;
  }
  if (form == "launch") {
    llvm::outs() << kernel.anchor;
    for (int64_t extent : launches.grid) {
      llvm::outs() << " " << extent;
    }
    llvm::outs() << "\n";
    return 0;
  }
  return lowerAndUse(*kernel.module, form, launches);
}

/// The status of a command line in a process that reads and writes files of
/// `folder`; nothing if none can be made.
static std::optional<int> runApart(MLIRContext &context, StringRef folder,
                                   ArrayRef<const char *> words) {
  pid_t child = fork();
  if (child < 0) {
    return std::nullopt;
  }
  if (child == 0) {
    auto reopen = [&](const char *name, const char *mode, FILE *stream) {
      return std::freopen((folder + "/" + name).str().c_str(), mode, stream);
    };
    bool isOpen = reopen("in", "r", stdin) && reopen("out", "w", stdout) &&
                  reopen("err", "w", stderr);
    std::exit(isOpen ? run(context, words) : 74);
  }
  int status;
  if (waitpid(child, &status, 0) != child) {
    return std::nullopt;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int serve(MLIRContext &context, StringRef folder) {
  // No thread is in another process.
  context.disableMultithreading();
  for (std::string line; std::getline(std::cin, line);) {
    auto words = llvm::json::parse<std::vector<std::string>>(line);
    if (!words || words->empty()) {
      llvm::consumeError(words.takeError());
      llvm::errs() << "cuda-kernel: expects an array of words in each line\n";
      return 2;
    }
    std::optional<int> status =
        runApart(context, folder,
                 llvm::map_to_vector(*words, [](const std::string &word) {
                   return word.c_str();
                 }));
    if (!status) {
      llvm::errs() << "cuda-kernel: cannot make a process\n";
      return 71;
    }
    llvm::outs() << *status << "\n";
    llvm::outs().flush();
  }
  return 0;
}

int main(int argc, char **argv) {
  ArrayRef<const char *> words = ArrayRef(argv, argc).drop_front();
  bool serves = !words.empty() && StringRef(words.front()) == "serve";
  if (words.empty() || (serves && words.size() != 2)) {
    llvm::errs() << "usage: cuda-kernel RECIPE|FILE.mlir [--NAME=VALUE]...\n"
                    "       cuda-kernel serve DIR\n";
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  return serves ? serve(context, words[1]) : run(context, words);
}
