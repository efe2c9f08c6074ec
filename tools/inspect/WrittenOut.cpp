//===- WrittenOut.cpp - Sites that a description spells out ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect/WrittenOut.h"
#include "dialect/Interfaces.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "passes/Verdict.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <set>

using namespace mlir;

namespace hova::inspect {

/// Whether `op` is a linear that is no part of another operator.
static LinearOp plainLinear(Operation *op) {
  auto linear = dyn_cast_or_null<LinearOp>(op);
  return linear && !op->hasAttr(kSiteAttr) ? linear : LinearOp();
}

namespace {
/// What stands between the linears at both ends.
struct Inside {
  llvm::SetVector<Operation *> elementwise;
  llvm::SetVector<LinearOp> first;
};
} // namespace

/// Walks from the input of the last linear up to those at the beginning;
/// nothing where something else is on the way.
static std::optional<Inside> insideOf(LinearOp last) {
  Inside inside;
  SmallVector<Value> values = {last.getX()};
  while (!values.empty()) {
    Operation *maker = values.pop_back_val().getDefiningOp();
    if (isa_and_nonnull<WeightOp>(maker)) {
      continue; // of an element-wise operation: a scale
    }
    if (LinearOp linear = plainLinear(maker)) {
      inside.first.insert(linear);
      continue;
    }
    if (!joinsTiles(maker) || maker->hasAttr(kSiteAttr)) {
      return std::nullopt;
    }
    if (inside.elementwise.insert(maker)) {
      values.append(maker->operand_begin(), maker->operand_end());
    }
  }
  return inside;
}

/// Whether nothing else reads what passes from the first linears to the last.
static bool isClosed(const Inside &inside, LinearOp last) {
  auto isRead = [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return user == last || inside.elementwise.contains(user);
    });
  };
  return llvm::all_of(inside.elementwise, isRead) &&
         llvm::all_of(inside.first,
                      [&](LinearOp linear) { return isRead(linear); });
}

/// What it is called; empty where it is none.
static StringRef kindOf(const Inside &inside) {
  auto has = [&](auto isMeant) {
    return llvm::any_of(inside.elementwise, isMeant);
  };
  bool isOfOneInput = llvm::all_equal(llvm::map_range(
      inside.first, [](LinearOp linear) { return linear.getX(); }));
  if (inside.first.size() == 1 && has(llvm::IsaPred<ActivationOp>)) {
    return "feed-forward";
  }
  if (inside.first.size() == 2 && isOfOneInput &&
      has(llvm::IsaPred<MultiplyOp>)) {
    return "gated feed-forward";
  }
  return "";
}

/// `ffn` of `ffn.gate` and `ffn.active.out`; that of the last where they share
/// nothing.
static std::string pathAround(ArrayRef<std::string> parts) {
  StringRef around = parts.back();
  while (!around.empty() && !llvm::all_of(parts, [&](const std::string &part) {
    return isBelow(part, around);
  })) {
    around = around.contains('.') ? around.rsplit('.').first : "";
  }
  return around.empty() ? parts.back() : around.str();
}

/// The site that ends with `last`, if one does.
static std::optional<WrittenSite> writtenSiteAt(LinearOp last) {
  std::optional<Inside> inside =
      plainLinear(last) ? insideOf(last) : std::nullopt;
  StringRef kind = inside ? kindOf(*inside) : "";
  if (kind.empty() || !isClosed(*inside, last)) {
    return std::nullopt;
  }
  SmallVector<Operation *> ops(inside->first.begin(), inside->first.end());
  ops.append(inside->elementwise.begin(), inside->elementwise.end());
  ops.push_back(last);
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  WrittenSite site;
  for (Operation *op : ops) {
    site.parts.push_back(pathOf(op->getLoc()).str());
  }
  site.kind = kind.str();
  site.path = pathAround(site.parts);
  site.place = placeOf(last);
  return site;
}

/// The reasons of all sites why a neighbour is in another kernel, by the paths
/// that the site has: its own and those of its columns.
static llvm::StringMap<std::vector<WrittenSite::Apart>>
reasonsByPath(ModuleOp module) {
  llvm::StringMap<std::vector<WrittenSite::Apart>> reasons;
  module.walk([&](Operation *op) {
    std::optional<SiteVerdict> verdict = siteVerdictOf(op);
    std::optional<Site> site = siteOf(op);
    if (!verdict || !site) {
      return;
    }
    SmallVector<std::string> paths = verdict->columns;
    paths.push_back(site->path.str());
    for (const SiteVerdict::Neighbour &neighbour : verdict->apart) {
      for (const std::string &path : paths) {
        reasons[path].push_back(
            {site->path.str(), neighbour.path, neighbour.why});
      }
    }
  });
  return reasons;
}

/// Adds what became of the site.
static void
judge(WrittenSite &site,
      const llvm::StringMap<std::vector<std::string>> &kernels,
      const llvm::StringMap<std::vector<WrittenSite::Apart>> &reasons) {
  std::set<std::string> told;
  for (const std::string &part : site.parts) {
    for (const std::string &kernel : kernels.lookup(part)) {
      if (!llvm::is_contained(site.kernels, kernel)) {
        site.kernels.push_back(kernel);
      }
    }
    for (const WrittenSite::Apart &apart : reasons.lookup(part)) {
      if (llvm::is_contained(site.parts, apart.neighbour) &&
          told.insert(apart.path + " " + apart.neighbour).second) {
        site.apart.push_back(apart);
      }
    }
  }
}

/// Whether the parts are those of one layer: an operator spells out inside what
/// its description does not.
static bool isOneLayer(const WrittenSite &site,
                       const llvm::StringSet<> &layers) {
  auto layerOf = [&](StringRef path) {
    while (!path.empty() && !layers.contains(path)) {
      path = path.contains('.') ? path.rsplit('.').first : "";
    }
    return path;
  };
  return llvm::all_equal(llvm::map_range(site.parts, layerOf));
}

std::vector<WrittenSite> writtenSitesOf(ModuleOp module, const Scope &scope) {
  std::vector<WrittenSite> sites;
  if (!scope.imported) {
    return sites;
  }
  llvm::StringSet<> layers;
  for (const frontend::ProgramLayer &layer : scope.program->layers) {
    layers.insert(layer.path);
  }
  ModuleOp imported = scope.imported;
  llvm::StringMap<std::vector<std::string>> kernels = kernelsByPath(module);
  llvm::StringMap<std::vector<WrittenSite::Apart>> reasons =
      reasonsByPath(module);
  imported.walk([&](LinearOp last) {
    std::optional<WrittenSite> site = writtenSiteAt(last);
    auto isMeant = [&](StringRef part) { return isBelow(part, scope.path); };
    if (site && llvm::any_of(site->parts, isMeant) &&
        !isOneLayer(*site, layers)) {
      judge(*site, kernels, reasons);
      sites.push_back(std::move(*site));
    }
  });
  return sites;
}

} // namespace hova::inspect
