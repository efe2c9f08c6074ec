//===- Benchmark.cpp - What a program has measured of itself --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/verbs/Benchmark.h"
#include "codegen/JsonText.h"
#include "frontend/reader/Source.h"
#include "frontend/reader/Text.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace hova::tool {

std::optional<Peak> readPeak(const Arguments &arguments) {
  if (!arguments.has(OPT_peak)) {
    return std::nullopt;
  }
  StringRef text = arguments.value(OPT_peak);
  auto [rate, bandwidth] = text.split(',');
  Peak peak;
  auto isPositive = [](StringRef word, double &number) {
    return !word.getAsDouble(number) && std::isfinite(number) && number > 0;
  };
  bool isRead = isPositive(rate, peak.gflops) &&
                (!text.contains(',') || isPositive(bandwidth, peak.gigabytes));
  if (!isRead) {
    arguments.usageError("option '--peak' expects GFLOP/s, or GFLOP/s and "
                         "GB/s as in 117.6,40, got '" +
                         text + "'");
  }
  if (!arguments.has(OPT_benchmark_file)) {
    arguments.usageError("option '--peak' needs '--benchmark-file'");
  }
  return peak;
}

/// Prints why a file is none of a program's.
static int reject(StringRef path, const Twine &why) {
  printError("'" + reader::escaped(path.str()) + "' " + why,
             {"'PROGRAM --random-inputs=0 --benchmark --benchmark-out=FILE' "
              "writes such a file"});
  return Rejected;
}

int readBenchmark(StringRef path, std::optional<json::Object> &benchmark) {
  auto source = reader::Source::read(path.str(), kMostBenchmarkBytes);
  if (!source) {
    printError("cannot read '" + reader::escaped(path.str()) +
               "': " + StringRef(::strerror(errno)));
    return InputOutput;
  }
  // How long a longer one is, a device or a FIFO does not say.
  if (source->text().size() > kMostBenchmarkBytes) {
    return reject(path, "has more than the " + Twine(kMostBenchmarkBytes) +
                            " bytes that a benchmark has at most");
  }
  Expected<json::Value> parsed = parseJsonText(source->text());
  if (!parsed) {
    return reject(path, "is no JSON: " + toString(parsed.takeError()));
  }
  json::Object *object = parsed->getAsObject();
  json::Object *profile = object ? object->getObject("profile") : nullptr;
  if (!profile || !profile->getArray("kernels")) {
    return reject(path, "has no 'profile' with 'kernels', as the file of a "
                        "program has");
  }
  benchmark = std::move(*object);
  return Ok;
}

/// A kernel in words: its path and the function that it runs.
static std::string nameOf(const json::Value &entry) {
  const json::Object *object = entry.getAsObject();
  StringRef path = object ? object->getString("path").value_or("") : "";
  StringRef symbol = object ? object->getString("symbol").value_or("") : "";
  return "'" + reader::escaped(path.str()) + "' (" +
         reader::escaped(symbol.str()) + ")";
}

int checkBenchmark(StringRef path, const json::Object &benchmark,
                   const json::Array &launches) {
  const json::Array &timed =
      *benchmark.getObject("profile")->getArray("kernels");
  for (const auto &[number, pair] : enumerate(zip(timed, launches))) {
    std::string measured = nameOf(std::get<0>(pair));
    std::string compiled = nameOf(std::get<1>(pair));
    if (measured != compiled) {
      return reject(path, "is of another program: its kernel " + Twine(number) +
                              " is " + measured + ", and here " + compiled);
    }
  }
  if (timed.size() != launches.size()) {
    return reject(path, "is of another program: it has " + Twine(timed.size()) +
                            " kernels, and there are " +
                            Twine(launches.size()) + " here");
  }
  return Ok;
}

} // namespace hova::tool
