//===- KernelTool.cpp - Kernels of the CUDA target as text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// cuda-kernel product|attention|norm [--NAME=VALUE]... [--emit=mlir|nvvm|ptx]
// prints a kernel of that recipe, of sizes and a schedule as its struct names
// them (codegen/cuda/recipes/CudaKernels.h). cuda-kernel FILE.mlir takes
// functions of group operations from a file.

#include "codegen/Pipeline.h"
#include "codegen/cuda/Passes.h"
#include "codegen/cuda/link/Ptx.h"
#include "codegen/cuda/recipes/CudaKernels.h"
#include "mlir/Parser/Parser.h"
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

int print(ModuleOp module, StringRef form) {
  if (form == "mlir") {
    module.print(llvm::outs());
    return 0;
  }
  PassManager manager(module.getContext());
  buildLowerToNvvm(manager);
  if (failed(manager.run(module))) {
    return 1;
  }
  if (form == "nvvm") {
    module.print(llvm::outs());
    return 0;
  }
  auto text = translateToPtx(module, "sm_80");
  if (!text) {
    llvm::errs() << "cuda-kernel: " << llvm::toString(text.takeError()) << "\n";
    return 1;
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
  return print(*module, form);
}
