//===- DeviceReports.cpp - What kernels take of a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect/DeviceReports.h"
#include "tools/inspect/Places.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hova::inspect {

void keepKernelsBelow(DeviceReport &report, ModuleOp module, StringRef path) {
  llvm::StringSet<> known;
  for (const KernelContents &kernel : kernelsBelow(module, path)) {
    known.insert(kernel.name);
  }
  for (KernelUse &kernel : report.kernels) {
    llvm::erase_if(kernel.launches, [&](const std::string &launch) {
      return !known.contains(launch);
    });
  }
  llvm::erase_if(report.kernels, [](const KernelUse &kernel) {
    return kernel.launches.empty();
  });
}

/// "0 + 73728": shared memory that the code has, and that its launch adds.
static std::string sharedText(const KernelUse &kernel) {
  std::string launched = std::to_string(kernel.sharedBytes);
  return kernel.code
             ? std::to_string(kernel.code->sharedBytes) + " + " + launched
             : launched;
}

static std::string gridText(const KernelUse &kernel) {
  auto [x, y, z] = kernel.grid;
  return llvm::formatv("{0} x {1} x {2}", x, y, z);
}

/// What all launches cost before they work.
static std::string startsText(const DeviceReport &report) {
  std::string text = llvm::formatv(
      "starts of {0} launches: {1:f1} us, modelled by {2:f1} us "
      "of each",
      report.countLaunches(), report.startsTime(), report.startTime);
  if (int64_t overlapped = report.countOverlapped()) {
    text += llvm::formatv(", and {0:f1} us of the {1} that may begin before "
                          "others have ended",
                          report.overlappedStartTime, overlapped);
  }
  return text;
}

/// What launches take behind their starts; empty where none is modelled.
static std::string timesText(const DeviceReport &report) {
  int64_t launches = report.countLaunches(), unknown = report.countUnknown();
  if (unknown == launches) {
    return "";
  }
  std::string text =
      llvm::formatv("kernels behind their starts: {0:f1} us, modelled for {1} "
                    "multiprocessors of an H100",
                    report.kernelsTime(), report.processors.back());
  if (unknown) {
    text += llvm::formatv(", but for {0} whose turns a run decides", unknown);
  }
  double unexplained = report.unexplainedTime * double(launches);
  text +=
      llvm::formatv("\nwhat the model does not explain: {0:f1} us, by {1:f1} "
                    "us of each launch, "
                    "as measured on average\nall of it: {2:f1} us of a run\n",
                    unexplained, report.unexplainedTime,
                    report.startsTime() + report.kernelsTime() + unexplained);
  return text;
}

void printDeviceReport(const DeviceReport &report, llvm::raw_ostream &os) {
  if (report.assembler.empty()) {
    os << "kernels on " << report.arch
       << ", without machine code: " << report.withoutCode
       << ", so registers are unknown, and more blocks there cannot be\n";
  } else {
    os << "kernels on " << report.arch << ", machine code by "
       << report.assembler << "\n";
  }
  if (!report.withoutLoops.empty()) {
    os << "main loops are unknown: " << report.withoutLoops << "\n";
  }
  constexpr const char *row = "{0,10}{1,9}{2,11}{3,9}{4,7}{5,15}{6,8}{7,16}{8} "
                              "{9,8}{10,9}{11,8}{12,9}{13,9}{14,9}  {15,-22} "
                              "{16}\n";
  auto ofProcessors = [&](llvm::function_ref<std::string(int64_t)> text) {
    std::string all;
    for (int64_t processors : report.processors) {
      all += llvm::formatv("{0,11}", text(processors));
    }
    return all;
  };
  os << llvm::formatv(
      row, "launches", "threads", "registers", "spilled", "local", "shared",
      "blocks", "grid",
      ofProcessors([](int64_t n) { return "waves/" + std::to_string(n); }),
      "us", "MFLOP", "MB", "reads/T", "+copies", "others", "limited by",
      "kernel");
  for (const KernelUse &kernel : report.kernels) {
    auto known = [&](int64_t MachineCodeUse::*figure) {
      return kernel.code ? std::to_string((*kernel.code).*figure) : "?";
    };
    auto ofLoop = [&](double (MainLoop::*figure)() const) {
      return kernel.loop
                 ? llvm::formatv("{0:f2}", (*kernel.loop.*figure)()).str()
                 : "-";
    };
    os << llvm::formatv(
        row, kernel.launches.size(), kernel.threads,
        known(&MachineCodeUse::registers), known(&MachineCodeUse::spilledBytes),
        known(&MachineCodeUse::localBytes), sharedText(kernel), kernel.blocks,
        gridText(kernel), ofProcessors([&](int64_t n) {
          return llvm::formatv("{0:f2}", kernel.waves(n)).str();
        }),
        kernel.modelledTime
            ? llvm::formatv("{0:f1}", *kernel.modelledTime).str()
            : "-",
        llvm::formatv("{0:f1}", kernel.flops / 1e6),
        llvm::formatv("{0:f2}", kernel.bytes / 1e6),
        ofLoop(&MainLoop::readsPerT), ofLoop(&MainLoop::readsAndCopiesPerT),
        ofLoop(&MainLoop::othersPerProduct), llvm::join(kernel.limits, ", "),
        kernel.name);
  }
  os << startsText(report) << "\n" << timesText(report);
}

static llvm::json::Object kernelJson(const KernelUse &kernel,
                                     llvm::ArrayRef<int64_t> processors) {
  llvm::json::Object object{
      {"name", kernel.name},
      {"launches", llvm::json::Array(kernel.launches)},
      {"threads", kernel.threads},
      {"shared_bytes", kernel.sharedBytes},
      {kernel.code ? "blocks" : "most_blocks", kernel.blocks},
      {"limits", llvm::json::Array(kernel.limits)},
      {"grid", llvm::json::Array(kernel.grid)},
      {"flops", kernel.flops},
      {"bytes", kernel.bytes}};
  if (kernel.code) {
    object["registers"] = kernel.code->registers;
    object["spilled_bytes"] = kernel.code->spilledBytes;
    object["local_bytes"] = kernel.code->localBytes;
    object["static_shared_bytes"] = kernel.code->sharedBytes;
    llvm::json::Object waves;
    for (int64_t count : processors) {
      waves[std::to_string(count)] = kernel.waves(count);
    }
    object["waves"] = std::move(waves);
  }
  if (kernel.modelledTime) {
    object["modelled_us"] = *kernel.modelledTime;
  }
  if (kernel.loop) {
    object["main_loop"] = llvm::json::Object{
        {"products", kernel.loop->products},
        {"reads_per_t", kernel.loop->readsPerT()},
        {"reads_and_copies_per_t", kernel.loop->readsAndCopiesPerT()},
        {"other_instructions_per_product", kernel.loop->othersPerProduct()}};
  }
  return object;
}

llvm::json::Object deviceReportJson(const DeviceReport &report) {
  llvm::json::Array kernels;
  for (const KernelUse &kernel : report.kernels) {
    kernels.push_back(kernelJson(kernel, report.processors));
  }
  llvm::json::Object object{{"arch", report.arch},
                            {"kernels", std::move(kernels)},
                            {"modelled_starts_us", report.startsTime()},
                            {"overlapped_launches", report.countOverlapped()}};
  if (report.countUnknown() < report.countLaunches()) {
    object["modelled_kernels_us"] = report.kernelsTime();
    object["unexplained_us"] =
        report.unexplainedTime * double(report.countLaunches());
  }
  if (report.assembler.empty()) {
    object["without_machine_code"] = report.withoutCode;
  } else {
    object["assembler"] = report.assembler;
  }
  if (!report.withoutLoops.empty()) {
    object["without_main_loops"] = report.withoutLoops;
  }
  return object;
}

} // namespace hova::inspect
