//===- VerifyReport.cpp - What verification found, as text or JSON --------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/VerifyReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace hova;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
class VerifyTable final : public VerifyWriter {
public:
  VerifyTable(const TargetFacts &target, llvm::raw_ostream &os)
      : os(os), target(target) {}
  void begin(const VerifyOptions &options) override;
  void add(const VerifiedCase &tried) override;
  void end(const VerifyResult &verdict, const Fault &fault) override;
  void abandon(llvm::StringRef) override {}

private:
  void printRow(llvm::StringRef title, const Comparison &comparison);
  void printDifference(const VerifiedValue &value);
  void printOverflow(const VerifiedCase &tried);

  llvm::raw_ostream &os;
  const TargetFacts &target;
  uint64_t seed = 0;
  bool guarded = false;
  llvm::StringRef inputs;
};
} // namespace

std::unique_ptr<VerifyWriter> hova::makeVerifyTable(const TargetFacts &target,
                                                    llvm::raw_ostream &os) {
  return std::make_unique<VerifyTable>(target, os);
}

void VerifyTable::begin(const VerifyOptions &options) {
  seed = options.seed;
  os << "inputs  value                                 elements  max error  "
        "   bound  rms error     bound\n";
}

void VerifyTable::printRow(llvm::StringRef title,
                           const Comparison &comparison) {
  os << llvm::format(
      "%-7s %-36s %9lld  %9.2e %9.2e  %9.2e %9.2e  %s\n", inputs.str().c_str(),
      title.str().c_str(), static_cast<long long>(comparison.elements),
      comparison.maxError, comparison.maxBound, comparison.rmsError,
      comparison.rmsBound, comparison.within ? "ok" : "DIFFERS");
}

void VerifyTable::printDifference(const VerifiedValue &value) {
  printRow(value.title(), value.comparison);
  os << "  " << value.comparison.reason << "\n";
  if (!value.comparison.worst.empty()) {
    printWorst(value.comparison, value.shape, os);
  }
}

/// Where numbers leave the range of the type, and how many are lost by it.
void VerifyTable::printOverflow(const VerifiedCase &tried) {
  const VerifiedValue *first = nullptr;
  int64_t elements = 0;
  for (const VerifiedValue &value : tried.values) {
    first = !first && value.comparison.overflowed ? &value : first;
    elements += value.comparison.overflowed;
  }
  if (first) {
    os << "  " << elements
       << " elements are not compared, since they are no finite numbers in a "
          "plain run in the same type either, at least in some order of its "
          "additions; the first are of "
       << first->title() << "\n";
  }
}

void VerifyTable::add(const VerifiedCase &tried) {
  inputs = tried.inputs;
  if (!tried.sizes.empty()) {
    os << "with " << tried.sizes << "\n";
  }
  guarded = llvm::any_of(tried.values, [](const VerifiedValue &value) {
    return value.check == Check::Guard;
  });
  // Of the values that are right only the worst is printed.
  const VerifiedValue *worst = nullptr;
  int64_t count = 0;
  auto shareOf = [](const VerifiedValue &value) {
    double bound = value.comparison.maxBound; // of integers: 0
    return bound > 0 ? value.comparison.maxError / bound : 0;
  };
  for (const VerifiedValue &value : tried.values) {
    if (value.check != Check::Value) {
      continue;
    }
    ++count;
    if (!value.comparison.within) {
      printDifference(value);
    } else if (!worst || shareOf(value) > shareOf(*worst)) {
      worst = &value;
    }
  }
  if (worst) {
    printRow(
        ("worst of " + llvm::Twine(count) + " values between kernels").str(),
        worst->comparison);
  }
  for (const VerifiedValue &value : tried.values) {
    if (value.check != Check::Value && !value.comparison.within) {
      printDifference(value);
    } else if (value.check == Check::Output || value.check == Check::Sizes) {
      printRow(value.title(), value.comparison);
    }
  }
  printOverflow(tried);
}

void VerifyTable::end(const VerifyResult &verdict, const Fault &fault) {
  if (verdict.passed()) {
    os << "verified: " << verdict.cases
       << (verdict.cases == 1 ? " case is" : " cases are")
       << " within the numeric policy"
       << (guarded ? ", and no access leaves its buffer" : "")
       << (target.hasThreads ? "" : ", on " + target.machine.str()) << "\n";
    return;
  }
  if (!verdict.difference) {
    os << "nothing was compared: of "
       << llvm::join(verdict.neverCompared, ", of ")
       << " no element is a finite number in any case; give it weights and "
          "inputs for which it is\n";
    return;
  }
  os << "differs: " << verdict.difference->title() << "\n";
  if (!verdict.sizes.empty()) {
    os << "  with " << verdict.sizes << " (" << verdict.inputs << ") of seed "
       << seed << "; the program of these sizes alone: --set "
       << llvm::join(llvm::split(verdict.sizes, ", "), " --set ") << "\n";
    return;
  }
  os << "  in case " << verdict.caseIndex << " (" << verdict.inputs
     << ") of seed " << seed << "; again with --case=" << verdict.caseIndex
     << " --seed=" << seed << "\n";
  if (!fault.recipes.empty()) {
    os << "  recipe and evaluator of " << fault.recipes << " disagree, at "
       << fault.layer << " (pass '" << fault.pass << "')\n";
  } else if (!fault.pass.empty()) {
    os << "  pass '" << fault.pass << "' changes what the program computes";
    if (!fault.layer.empty()) {
      os << ", first at " << fault.layer;
    }
    os << "\n";
  } else if (!fault.kernel.empty()) {
    os << "  the code of kernel " << fault.kernel << " (function "
       << fault.function
       << ") does not do what its operations say; up to there every pass is "
          "right\n";
  }
  if (!fault.inside.empty()) {
    os << "  " << fault.inside << "\n";
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::StringRef nameOf(Check check) {
  switch (check) {
  case Check::Value:
    return "value";
  case Check::Output:
    return "output";
  case Check::Threads:
    return "threads";
  case Check::Guard:
    return "guard";
  case Check::Meaning:
    return "meaning";
  case Check::Sizes:
    return "sizes";
  }
  return "";
}

/// JSON has no word for what is not finite.
static llvm::json::Value number(double value) {
  return std::isfinite(value) ? llvm::json::Value(value)
                              : llvm::json::Value(nullptr);
}

static llvm::json::Object toJson(const hova_program &program,
                                 const VerifiedValue &value) {
  const Comparison &comparison = value.comparison;
  llvm::json::Object object{{"value", value.name},
                            {"check", nameOf(value.check)},
                            {"elements", comparison.elements},
                            {"compared", comparison.compared},
                            {"overflowed", comparison.overflowed},
                            {"max_error", number(comparison.maxError)},
                            {"max_bound", number(comparison.maxBound)},
                            {"rms_error", number(comparison.rmsError)},
                            {"rms_bound", number(comparison.rmsBound)},
                            {"within", comparison.within}};
  if (value.kernel >= 0) {
    object["kernel"] = program.kernels[value.kernel].path;
  }
  if (!comparison.within) {
    object["reason"] = comparison.reason;
  }
  return object;
}

namespace {
class VerifyJson final : public VerifyWriter {
public:
  VerifyJson(const hova_program &program, const TargetFacts &target,
             llvm::raw_ostream &os)
      : program(program), target(target), os(os) {}
  void begin(const VerifyOptions &options) override;
  void add(const VerifiedCase &tried) override;
  void end(const VerifyResult &verdict, const Fault &fault) override;
  void abandon(llvm::StringRef why) override;

private:
  const hova_program &program;
  const TargetFacts &target;
  llvm::raw_ostream &os;
  std::optional<llvm::json::OStream> json; ///< once something is written
};
} // namespace

std::unique_ptr<VerifyWriter> hova::makeVerifyJson(const hova_program &program,
                                                   const TargetFacts &target,
                                                   llvm::raw_ostream &os) {
  return std::make_unique<VerifyJson>(program, target, os);
}

void VerifyJson::begin(const VerifyOptions &options) {
  json.emplace(os, /*IndentSize=*/2);
  json->objectBegin();
  json->attribute("model", program.name);
  json->attribute("target", target.name);
  json->attribute("seed", static_cast<int64_t>(options.seed));
  json->attributeBegin("cases");
  json->arrayBegin();
}

void VerifyJson::add(const VerifiedCase &tried) {
  json->object([&] {
    json->attribute("case", tried.index);
    json->attribute("inputs", tried.inputs);
    if (!tried.sizes.empty()) {
      json->attribute("sizes", tried.sizes);
    }
    json->attributeArray("values", [&] {
      for (const VerifiedValue &value : tried.values) {
        json->value(toJson(program, value));
      }
    });
  });
}

void VerifyJson::abandon(llvm::StringRef why) {
  json->arrayEnd();
  json->attributeEnd();
  json->attribute("verified", false);
  json->attribute("error", why);
  json->objectEnd();
  os << "\n";
}

void VerifyJson::end(const VerifyResult &verdict, const Fault &fault) {
  json->arrayEnd();
  json->attributeEnd();
  json->attribute("verified", verdict.passed());
  if (verdict.difference) {
    llvm::json::Object difference = toJson(program, *verdict.difference);
    difference["case"] = verdict.caseIndex;
    if (!verdict.sizes.empty()) {
      difference["sizes"] = verdict.sizes;
    }
    for (auto [name, text] :
         {std::pair("pass", &fault.pass), std::pair("layer", &fault.layer),
          std::pair("recipes", &fault.recipes),
          std::pair("inside", &fault.inside)}) {
      if (!text->empty()) {
        difference[name] = *text;
      }
    }
    json->attribute("difference", std::move(difference));
  }
  if (!verdict.neverCompared.empty()) {
    json->attributeArray("never_compared", [&] {
      for (const std::string &title : verdict.neverCompared) {
        json->value(title);
      }
    });
  }
  json->objectEnd();
  os << "\n";
}
