//===- Explain.cpp - hova explain -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The verdicts on attentions and of optional passes, for people or as one JSON
// object.

#include "codegen/Pipeline.h"
#include "dialect/AttentionOps.h"
#include "passes/Verdict.h"
#include "tools/hova/CompileSettings.h"
#include "tools/hova/Files.h"
#include "tools/hova/Verbs.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace mlir;

namespace hova::tool {

namespace {

struct Site {
  std::string path;
  bool fused = false;
  std::string kernel;
  std::string why;
};

SmallVector<Site> sitesOf(ModuleOp module) {
  SmallVector<Site> sites;
  module.walk([&](SiteOpInterface op) {
    auto verdict = op->getAttrOfType<DictionaryAttr>(kVerdictAttr);
    if (!verdict) {
      return;
    }
    auto text = [&](llvm::StringRef name) {
      auto value = verdict.getAs<StringAttr>(name);
      return value ? value.str() : std::string();
    };
    auto fused = verdict.getAs<BoolAttr>("fused");
    sites.push_back({layerPath(op.getLoc()).str(), fused && fused.getValue(),
                     text("kernel"), text("why")});
  });
  return sites;
}

/// What one optional pass decided about one operation.
struct Rewrite {
  std::string path;
  std::string pass;
  bool fired = false;
  std::string why;
  std::string firesIf;
};

SmallVector<Rewrite> rewritesOf(ModuleOp module) {
  SmallVector<Rewrite> rewrites;
  module.walk([&](Operation *op) {
    auto entries = op->getAttrOfType<DictionaryAttr>(kRewritesAttr);
    for (NamedAttribute entry :
         entries ? entries.getValue() : ArrayRef<NamedAttribute>()) {
      auto verdict = cast<DictionaryAttr>(entry.getValue());
      auto firesIf = verdict.getAs<StringAttr>("fires_if");
      rewrites.push_back({layerPath(op->getLoc()).str(), entry.getName().str(),
                          verdict.getAs<BoolAttr>("fired").getValue(),
                          verdict.getAs<StringAttr>("why").str(),
                          firesIf ? firesIf.str() : std::string()});
    }
  });
  return rewrites;
}

/// "early.0.ffn and 3 more".
std::string firstAndCount(ArrayRef<std::string> paths) {
  return reader::escaped(paths.front()) +
         (paths.size() > 1
              ? " and " + std::to_string(paths.size() - 1) + " more"
              : "");
}

/// A line per pass, and below it one per reason to fire or to decline.
void explainRewrites(ModuleOp module, llvm::raw_ostream &os) {
  using Reasons = std::map<std::string, SmallVector<std::string>>;
  struct Sites {
    int64_t fired = 0, all = 0;
    Reasons reasons, declined;
  };
  std::map<std::string, Sites> passes;
  for (const Rewrite &rewrite : rewritesOf(module)) {
    Sites &sites = passes[rewrite.pass];
    ++sites.all;
    sites.fired += rewrite.fired;
    if (rewrite.fired) {
      sites.reasons[rewrite.why].push_back(rewrite.path);
    } else {
      sites.declined[rewrite.why + "; it fires if " + rewrite.firesIf]
          .push_back(rewrite.path);
    }
  }
  for (auto &[pass, sites] : passes) {
    os << pass << ": fired at " << sites.fired << " of " << sites.all
       << " sites\n";
    for (auto &[why, paths] : sites.reasons) {
      os << "  at " << firstAndCount(paths) << ": " << reader::escaped(why)
         << "\n";
    }
    for (auto &[why, paths] : sites.declined) {
      os << "  not at " << firstAndCount(paths) << ": " << reader::escaped(why)
         << "\n";
    }
  }
}

void explainJson(ModuleOp module, llvm::raw_ostream &os) {
  llvm::json::Array sites;
  for (const Site &site : sitesOf(module)) {
    sites.push_back(llvm::json::Object{{"path", site.path},
                                       {"fused", site.fused},
                                       {"kernel", site.kernel},
                                       {"why", site.why}});
  }
  llvm::json::Array rewrites;
  for (const Rewrite &rewrite : rewritesOf(module)) {
    llvm::json::Object entry{{"path", rewrite.path},
                             {"pass", rewrite.pass},
                             {"fired", rewrite.fired},
                             {"why", rewrite.why}};
    if (!rewrite.fired) {
      entry["fires_if"] = rewrite.firesIf;
    }
    rewrites.push_back(std::move(entry));
  }
  auto model = module->getAttrOfType<StringAttr>("hova.model");
  llvm::json::Object report{{"model", model.getValue()},
                            {"sites", std::move(sites)},
                            {"rewrites", std::move(rewrites)}};
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
}

} // namespace

void explainText(ModuleOp module, llvm::raw_ostream &os) {
  SmallVector<Site> sites = sitesOf(module);
  for (const Site &site : sites) {
    os << reader::escaped(site.path) << ": "
       << (site.fused ? "fused into kernel " + site.kernel : "not fused")
       << "\n  " << reader::escaped(site.why) << "\n";
  }
  int64_t fused =
      llvm::count_if(sites, [](const Site &site) { return site.fused; });
  os << fused << " of " << sites.size() << " attentions are fused\n";
  explainRewrites(module, os);
}

/// What the verdicts are read from: behind `assign` the attentions are loops.
static ModuleOp sourceOf(const Arguments &arguments, Session &session) {
  if (!session.isBehind("assign")) {
    return session.module();
  }
  printNote(arguments.model() + " holds loops; the verdicts are those of the "
                                "description behind them");
  return session.imported();
}

int runExplain(Arguments &arguments) {
  Session session(arguments);
  frontend::ModelOptions modelOptions = readModelOptions(arguments);
  bool json = arguments.word(OPT_format, {"text", "json"}) == "json";
  CompileOptions options = readCompileOptions(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  FileUses uses(arguments);
  uses.writesReports(arguments, options);
  if (int status = uses.check()) {
    return status;
  }
  TimeTrace trace(arguments);
  if (int status = session.load(modelOptions, Session::Weights::IfGiven,
                                options.storage)) {
    return status;
  }
  describeModel(arguments, session, options);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  PipelineOptions pipeline = options.pipeline();
  PhaseRange range;
  range.stopAfter = "fuse";
  range.dumpDirectory = options.dumpDirectory;
  range.origin = options.origin;
  range.configure = options.configure;
  OwningOpRef<ModuleOp> module =
      cast<ModuleOp>(sourceOf(arguments, session)->clone());
  llvm::Expected<LogicalResult> result = runPhases(*module, pipeline, range);
  if (!result) {
    return trace.finish(reportError(result.takeError()));
  }
  // A site that had to be fused and is not has its verdict too.
  (json ? explainJson : explainText)(*module, llvm::outs());
  return trace.finish(succeeded(*result) ? Ok : session.failureStatus());
}

} // namespace hova::tool
