//===- Verdicts.cpp - What became of the sites of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect/Verdicts.h"
#include "frontend/reader/Text.h"
#include "passes/Verdict.h"
#include "tools/inspect/DeviceReports.h"
#include "tools/inspect/Places.h"
#include "tools/inspect/WrittenOut.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;

namespace hova::inspect {

namespace {

struct JudgedSite {
  std::string kind, path;
  Place place;
  SiteVerdict verdict;
  std::optional<ScoreTileCounts> tiles;
};

std::vector<JudgedSite> sitesOf(ModuleOp module, const Scope &scope) {
  std::vector<JudgedSite> sites;
  module.walk([&](Operation *op) {
    std::optional<SiteVerdict> verdict = siteVerdictOf(op);
    std::optional<Site> site = siteOf(op);
    auto isMeant = [&](StringRef path) { return isBelow(path, scope.path); };
    if (verdict && site &&
        (isMeant(site->path) || llvm::any_of(verdict->columns, isMeant))) {
      sites.push_back({site->kind.str(), site->path.str(), placeOf(op),
                       *verdict, scoreTilesOf(op)});
    }
  });
  return sites;
}

/// What one pass decided about one operation.
struct Rewrite {
  std::string path, pass;
  bool fired = false;
  std::string why, firesIf;
};

SmallVector<Rewrite> rewritesOf(ModuleOp module, const Scope &scope) {
  SmallVector<Rewrite> rewrites;
  module.walk([&](Operation *op) {
    auto entries = op->getAttrOfType<DictionaryAttr>(kRewritesAttr);
    if (!isBelow(pathOf(op->getLoc()), scope.path)) {
      return;
    }
    for (NamedAttribute entry :
         entries ? entries.getValue() : ArrayRef<NamedAttribute>()) {
      auto verdict = cast<DictionaryAttr>(entry.getValue());
      auto firesIf = verdict.getAs<StringAttr>("fires_if");
      rewrites.push_back({pathOf(op->getLoc()).str(), entry.getName().str(),
                          verdict.getAs<BoolAttr>("fired").getValue(),
                          verdict.getAs<StringAttr>("why").str(),
                          firesIf ? firesIf.str() : std::string()});
    }
  });
  return rewrites;
}

/// A line about the tiles of scores; empty where nothing is known.
std::string tilesText(const std::optional<ScoreTileCounts> &tiles) {
  if (!tiles) {
    return "";
  }
  return llvm::formatv("  of {0} tiles of a head's scores, {1} queries x {2} "
                       "keys, {3} are skipped, {4} evaluate conditions, {5} "
                       "have none to evaluate\n",
                       tiles->skipped + tiles->mixed + tiles->whole,
                       tiles->queries, tiles->keys, tiles->skipped,
                       tiles->mixed, tiles->whole)
      .str();
}

/// Equal for sites of which the same is said.
std::string keyOf(const JudgedSite &site) {
  const SiteVerdict &verdict = site.verdict;
  std::string key = site.kind + (verdict.fused ? "+" : "-") + verdict.why;
  auto add = [&](StringRef title, ArrayRef<std::string> paths) {
    key += title;
    for (const std::string &path : paths) {
      key += seenFrom(site.path, path) + ",";
    }
  };
  add(";", site.path);
  add(";", verdict.kernels);
  add(";", verdict.columns);
  add(";", verdict.joined);
  add(";", verdict.writers);
  for (const SiteVerdict::Neighbour &neighbour : verdict.apart) {
    add(neighbour.why, neighbour.path);
  }
  return key + tilesText(site.tiles);
}

/// "early.0.ffn and 3 more".
std::string firstAndCount(ArrayRef<std::string> paths) {
  return reader::escaped(paths.front()) +
         (paths.size() > 1
              ? " and " + std::to_string(paths.size() - 1) + " more"
              : "");
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

std::string listed(ArrayRef<std::string> paths) {
  return reader::escaped(llvm::join(paths, ", "));
}

/// "kernel a", "kernels a, b".
std::string named(StringRef what, ArrayRef<std::string> paths) {
  return (what + (paths.size() > 1 ? "s " : " ") + listed(paths)).str();
}

void printSite(const JudgedSite &site, ArrayRef<std::string> alike,
               llvm::raw_ostream &os) {
  const SiteVerdict &verdict = site.verdict;
  os << site.kind << ' ' << firstAndCount(alike) << ": ";
  if (verdict.kernels.empty()) {
    os << "needs no kernel";
  } else {
    os << (verdict.fused ? "fused in " : "not fused, in ")
       << named("kernel", verdict.kernels);
  }
  os << "\n";
  if (!verdict.why.empty()) {
    os << "  " << reader::escaped(verdict.why) << "\n";
  }
  os << tilesText(site.tiles);
  if (!verdict.writers.empty()) {
    os << "  written by " << named("kernel", verdict.writers) << "\n";
  }
  if (!verdict.columns.empty()) {
    os << "  columns of its product: " << listed(verdict.columns) << "\n";
  }
  if (!verdict.joined.empty()) {
    os << "  with " << listed(verdict.joined) << "\n";
  }
  llvm::MapVector<StringRef, SmallVector<std::string>> reasons;
  for (const SiteVerdict::Neighbour &neighbour : verdict.apart) {
    reasons[neighbour.why].push_back(neighbour.path);
  }
  for (auto &[why, paths] : reasons) {
    os << "  not with " << listed(paths) << ": " << reader::escaped(why.str())
       << "\n";
  }
}

void printSites(ModuleOp module, const Scope &scope, llvm::raw_ostream &os) {
  std::vector<JudgedSite> sites = sitesOf(module, scope);
  std::map<std::string, SmallVector<std::string>> alike;
  for (const JudgedSite &site : sites) {
    alike[keyOf(site)].push_back(site.path);
  }
  for (const JudgedSite &site : sites) {
    ArrayRef<std::string> paths = alike[keyOf(site)];
    if (paths.front() == site.path) {
      printSite(site, paths, os);
    }
  }
  int64_t fused = llvm::count_if(
      sites, [](const JudgedSite &site) { return site.verdict.fused; });
  os << fused << " of " << sites.size() << " sites are fused\n";
}

/// Equal for written sites of which the same is said.
std::string keyOf(const WrittenSite &site) {
  std::string key = site.kind;
  for (const auto *paths : {&site.parts, &site.kernels}) {
    key += ";";
    for (const std::string &path : *paths) {
      key += seenFrom(site.path, path) + ",";
    }
  }
  for (const WrittenSite::Apart &apart : site.apart) {
    key += seenFrom(site.path, apart.path) + apart.why;
  }
  return key;
}

/// A paragraph per site that the description spells out.
void printWrittenSites(ModuleOp module, const Scope &scope,
                       llvm::raw_ostream &os) {
  std::vector<std::vector<WrittenSite>> groups; // of sites that are alike
  std::map<std::string, size_t> places;
  for (WrittenSite &site : writtenSitesOf(module, scope)) {
    size_t place = places.try_emplace(keyOf(site), groups.size()).first->second;
    groups.resize(std::max(groups.size(), place + 1));
    groups[place].push_back(std::move(site));
  }
  for (const std::vector<WrittenSite> &sites : groups) {
    const WrittenSite &site = sites.front();
    SmallVector<std::string> paths;
    for (const WrittenSite &one : sites) {
      paths.push_back(one.path);
    }
    os << site.kind << ' ' << firstAndCount(paths) << ", written out as "
       << listed(site.parts) << ": "
       << (site.kernels.empty() ? "needs no kernel"
           : site.isFused()     ? "fused in "
                                : "not fused, in ")
       << (site.kernels.empty() ? "" : named("kernel", site.kernels)) << "\n";
    for (const WrittenSite::Apart &apart : site.apart) {
      os << "  " << reader::escaped(apart.path) << " not with "
         << reader::escaped(apart.neighbour) << ": "
         << reader::escaped(apart.why) << "\n";
    }
  }
}

/// A line per layer, and one per kernel.
void printPlaces(ModuleOp module, const Scope &scope, llvm::raw_ostream &os) {
  for (const LayerPlace &layer :
       layersBelow(module, *scope.program, scope.path)) {
    os << "layer " << reader::escaped(layer.path) << " ("
       << reader::escaped(layer.kind) << ", "
       << reader::escaped(layer.place.file) << ':' << layer.place.line << ':'
       << layer.place.column << "): "
       << (layer.kernels.empty() ? layer.became
                                 : "in " + named("kernel", layer.kernels))
       << "\n";
  }
  for (const KernelContents &kernel : kernelsBelow(module, scope.path)) {
    os << "kernel " << kernel.number << ' ' << reader::escaped(kernel.name)
       << " holds " << listed(kernel.ops) << "\n";
  }
}

/// A line per pass, and below it one per reason to fire or to decline.
void printRewrites(ModuleOp module, const Scope &scope, llvm::raw_ostream &os) {
  using Reasons = std::map<std::string, SmallVector<std::string>>;
  struct Sites {
    int64_t fired = 0, all = 0;
    Reasons reasons, declined;
  };
  std::map<std::string, Sites> passes;
  for (const Rewrite &rewrite : rewritesOf(module, scope)) {
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

llvm::json::Array jsonTexts(ArrayRef<std::string> texts) {
  llvm::json::Array array;
  for (const std::string &text : texts) {
    array.push_back(text);
  }
  return array;
}

/// Where in the description something stands, if that is known.
void addPlace(llvm::json::Object &entry, const Place &place) {
  if (place.line) {
    entry["file"] = place.file;
    entry["line"] = place.line;
    entry["column"] = place.column;
  }
}

void addPlaces(llvm::json::Object &report, ModuleOp module,
               const Scope &scope) {
  llvm::json::Array layers, kernels;
  for (const LayerPlace &layer :
       layersBelow(module, *scope.program, scope.path)) {
    llvm::json::Object entry{{"path", layer.path},
                             {"kind", layer.kind},
                             {"kernels", jsonTexts(layer.kernels)},
                             {"became", layer.became}};
    addPlace(entry, layer.place);
    if (layer.place.lastLine) {
      entry["last_line"] = layer.place.lastLine;
    }
    layers.push_back(std::move(entry));
  }
  for (const KernelContents &kernel : kernelsBelow(module, scope.path)) {
    llvm::json::Array units, stages;
    for (const auto &[name, size] : kernel.units) {
      units.push_back(llvm::json::Object{{"dim", name}, {"size", size}});
    }
    for (const std::vector<std::string> &stage : kernel.stages) {
      stages.push_back(jsonTexts(stage));
    }
    kernels.push_back(llvm::json::Object{{"name", kernel.name},
                                         {"number", kernel.number},
                                         {"holds", jsonTexts(kernel.ops)},
                                         {"units", std::move(units)},
                                         {"schedule", kernel.schedule},
                                         {"stages", std::move(stages)}});
  }
  report["layers"] = std::move(layers);
  report["kernels"] = std::move(kernels);
}

} // namespace

void printVerdicts(ModuleOp module, const Scope &scope, llvm::raw_ostream &os) {
  if (!scope.path.empty()) {
    printPlaces(module, scope, os);
  }
  printSites(module, scope, os);
  printWrittenSites(module, scope, os);
  printRewrites(module, scope, os);
}

llvm::json::Object verdictsJson(ModuleOp module, const Scope &scope,
                                const DeviceReport *device) {
  llvm::json::Array sites;
  for (const JudgedSite &site : sitesOf(module, scope)) {
    const SiteVerdict &verdict = site.verdict;
    llvm::json::Array apart;
    for (const SiteVerdict::Neighbour &neighbour : verdict.apart) {
      apart.push_back(
          llvm::json::Object{{"path", neighbour.path}, {"why", neighbour.why}});
    }
    llvm::json::Object entry{{"path", site.path},
                             {"kind", site.kind},
                             {"fused", verdict.fused},
                             {"why", verdict.why},
                             {"kernels", jsonTexts(verdict.kernels)},
                             {"columns", jsonTexts(verdict.columns)},
                             {"joined", jsonTexts(verdict.joined)},
                             {"apart", std::move(apart)}};
    addPlace(entry, site.place);
    if (site.tiles) {
      entry["score_tiles"] =
          llvm::json::Object{{"queries", site.tiles->queries},
                             {"keys", site.tiles->keys},
                             {"skipped", site.tiles->skipped},
                             {"mixed", site.tiles->mixed},
                             {"whole", site.tiles->whole}};
    }
    if (verdict.kernels.empty()) {
      entry["writers"] = jsonTexts(verdict.writers);
    }
    sites.push_back(std::move(entry));
  }
  llvm::json::Array rewrites;
  for (const Rewrite &rewrite : rewritesOf(module, scope)) {
    llvm::json::Object entry{{"path", rewrite.path},
                             {"pass", rewrite.pass},
                             {"fired", rewrite.fired},
                             {"why", rewrite.why}};
    if (!rewrite.fired) {
      entry["fires_if"] = rewrite.firesIf;
    }
    rewrites.push_back(std::move(entry));
  }
  llvm::json::Array written;
  for (const WrittenSite &site : writtenSitesOf(module, scope)) {
    llvm::json::Array apart;
    for (const auto &[path, neighbour, why] : site.apart) {
      apart.push_back(llvm::json::Object{
          {"path", path}, {"neighbour", neighbour}, {"why", why}});
    }
    llvm::json::Object entry{{"path", site.path},
                             {"kind", site.kind},
                             {"parts", jsonTexts(site.parts)},
                             {"kernels", jsonTexts(site.kernels)},
                             {"fused", site.isFused()},
                             {"apart", std::move(apart)}};
    addPlace(entry, site.place);
    written.push_back(std::move(entry));
  }
  auto model = module->getAttrOfType<StringAttr>("hova.model");
  llvm::json::Object report{{"model", model.getValue().str()},
                            {"sites", std::move(sites)},
                            {"written_out", std::move(written)},
                            {"rewrites", std::move(rewrites)}};
  if (!scope.path.empty()) {
    report["path"] = scope.path;
  }
  addPlaces(report, module, scope);
  if (device) {
    report["device"] = deviceReportJson(*device);
  }
  return report;
}

llvm::json::Array briefVerdicts(ModuleOp module) {
  llvm::json::Array sites;
  for (const JudgedSite &site : sitesOf(module, Scope())) {
    llvm::json::Object entry{{"path", site.path},
                             {"kind", site.kind},
                             {"fused", site.verdict.fused}};
    if (!site.verdict.why.empty()) {
      entry["why"] = site.verdict.why;
    }
    sites.push_back(std::move(entry));
  }
  return sites;
}

} // namespace hova::inspect
