//===- Explain.cpp - hova explain -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The verdicts that `fuse` has written, for people or as one JSON object.

#include "codegen/Pipeline.h"
#include "dialect/AttentionOps.h"
#include "passes/fuse/Verdict.h"
#include "tools/hova/CompileSettings.h"
#include "tools/hova/Verbs.h"
#include "llvm/Support/JSON.h"

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
  module.walk([&](AttentionOp op) {
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

void explainJson(ModuleOp module, llvm::raw_ostream &os) {
  llvm::json::Array sites;
  for (const Site &site : sitesOf(module)) {
    sites.push_back(llvm::json::Object{{"path", site.path},
                                       {"fused", site.fused},
                                       {"kernel", site.kernel},
                                       {"why", site.why}});
  }
  auto model = module->getAttrOfType<StringAttr>("hova.model");
  llvm::json::Object report{{"model", model.getValue()},
                            {"sites", std::move(sites)}};
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(report)));
}

} // namespace

void explainText(ModuleOp module, llvm::raw_ostream &os) {
  SmallVector<Site> sites = sitesOf(module);
  for (const Site &site : sites) {
    os << site.path << ": "
       << (site.fused ? "fused into kernel " + site.kernel : "not fused")
       << "\n  " << site.why << "\n";
  }
  int64_t fused =
      llvm::count_if(sites, [](const Site &site) { return site.fused; });
  os << fused << " of " << sites.size() << " attentions are fused\n";
}

int runExplain(const Arguments &arguments) {
  frontend::ModelOptions options = readModelOptions(arguments);
  bool json = arguments.word(OPT_format, {"text", "json"}) == "json";
  checkTarget(arguments);
  if (arguments.failed()) {
    return *arguments.failed();
  }
  Session session(arguments);
  if (int status = session.load(options, Session::Weights::Closed)) {
    return status;
  }
  PhaseRange range;
  range.stopAfter = "fuse";
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(session.module()->clone());
  llvm::Expected<LogicalResult> result =
      runPhases(*module, PipelineOptions(), range);
  if (!result) {
    return reportError(result.takeError());
  }
  // A site that had to be fused and is not has its verdict too.
  (json ? explainJson : explainText)(*module, llvm::outs());
  return succeeded(*result) ? Ok : session.failureStatus();
}

} // namespace hova::tool
