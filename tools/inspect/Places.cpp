//===- Places.cpp - Where the layers of a description are computed --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A layer is computed where operations are whose path, or whose site's path, is
// the layer's or stands below it. A linear whose columns are computed with
// those of another one has no operation of its own; the verdict of the product
// names it.

#include "tools/inspect/Places.h"
#include "dialect/Interfaces.h"
#include "dialect/ProgramOps.h"
#include "dialect/Site.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace mlir;

namespace hova::inspect {

bool isBelow(StringRef path, StringRef top) {
  return top.empty() || path == top ||
         (path.consume_front(top) && path.starts_with("."));
}

Place placeOf(Operation *op) {
  auto found = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return found ? Place{found.getFilename().str(), found.getLine(),
                       found.getColumn()}
               : Place();
}

/// Whether a part of `top` is computed, or read, by this operation.
static bool isPartOf(Operation *op, StringRef top) {
  std::optional<Site> site = siteOf(op);
  return isBelow(pathOf(op->getLoc()), top) ||
         (site && isBelow(site->path, top));
}

/// The paths that a product has columns of.
static SmallVector<std::string> columnsOf(Operation *op) {
  std::optional<SiteVerdict> verdict = siteVerdictOf(op);
  return verdict ? verdict->columns : SmallVector<std::string>();
}

/// After the others, unless it is one of them or empty.
static void addOnce(std::vector<std::string> &texts, StringRef text) {
  if (!text.empty() && !llvm::is_contained(texts, text)) {
    texts.push_back(text.str());
  }
}

/// The paths that an operation of a kernel computes a part of: its own, its
/// site's, and those of its columns. None for columns that are only read.
static SmallVector<std::string> pathsOf(Operation *op) {
  // After `assign` operations stand in stages.
  if (isColumnSlice(op) || op->getNumRegions() != 0 ||
      op->hasTrait<OpTrait::IsTerminator>()) {
    return {};
  }
  std::optional<Site> site = siteOf(op);
  SmallVector<std::string> paths = columnsOf(op);
  paths.push_back(pathOf(op->getLoc()).str());
  if (site) {
    paths.push_back(site->path.str());
  }
  return paths;
}

std::vector<KernelContents> kernelsBelow(ModuleOp module, StringRef top) {
  std::vector<KernelContents> kernels;
  size_t number = 0;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  main.walk([&](KernelOp kernel) {
    std::vector<std::string> holds;
    bool isMeant = false;
    kernel.getBody().walk([&](Operation *op) {
      SmallVector<std::string> paths = pathsOf(op);
      isMeant |= llvm::any_of(
          paths, [&](const std::string &path) { return isBelow(path, top); });
      if (!paths.empty()) {
        // The site's path stands for those of its parts.
        addOnce(holds, paths.back());
        for (const std::string &column : columnsOf(op)) {
          addOnce(holds, column);
        }
      }
    });
    if (isMeant) {
      kernels.push_back({kernel.getName().str(), number, std::move(holds)});
    }
    ++number;
  });
  return kernels;
}

/// The kernels of every path, and of all paths that it stands below.
static llvm::StringMap<std::vector<std::string>>
kernelsByPath(ModuleOp module) {
  llvm::StringMap<std::vector<std::string>> kernels;
  module.lookupSymbol<func::FuncOp>("main").walk([&](KernelOp kernel) {
    kernel.getBody().walk([&](Operation *op) {
      for (StringRef path : pathsOf(op)) {
        for (; !path.empty();
             path = path.contains('.') ? path.rsplit('.').first : "") {
          addOnce(kernels[path], kernel.getName());
        }
      }
    });
  });
  return kernels;
}

/// What became of a layer that no kernel computes a part of.
static std::string whatBecame(ModuleOp module, const frontend::Program &program,
                              size_t layer) {
  StringRef path = program.layers[layer].path;
  std::string became;
  module.walk([&](Operation *op) {
    std::optional<SiteVerdict> verdict = siteVerdictOf(op);
    bool isWeight = op->getParentOfType<func::FuncOp>() &&
                    op->getParentOfType<func::FuncOp>().getName() == "weights";
    if (!isPartOf(op, path) || op->hasTrait<OpTrait::IsTerminator>() ||
        isa<func::FuncOp, KernelOp>(op)) {
      return WalkResult::advance();
    }
    if (verdict) {
      became = verdict->why;
      return WalkResult::interrupt();
    }
    if (isColumnSlice(op) && became.empty()) {
      became = "its columns are read where another layer's product has them";
    } else if (isWeight) {
      became = "computed from weights alone, while compiling";
    }
    return WalkResult::advance();
  });
  if (!became.empty()) {
    return became;
  }
  bool hasWork = llvm::any_of(
      program.operations, [&](const auto &op) { return op.layer == layer; });
  return hasWork ? "nothing is left of it: it changes no value, or no output "
                   "depends on it"
                 : "it has no operation of its own";
}

/// The index of the innermost layer that `top` is a part of.
static std::optional<size_t> layerAround(const frontend::Program &program,
                                         StringRef top) {
  std::optional<size_t> found;
  for (const frontend::ProgramOperation &op : program.operations) {
    StringRef layer = program.layers[op.layer].path;
    if (isBelow(op.path, top) && isBelow(top, layer) && !layer.empty()) {
      found = op.layer;
    }
  }
  return found;
}

std::vector<LayerPlace>
layersBelow(ModuleOp module, const frontend::Program &program, StringRef top) {
  std::vector<size_t> meant;
  for (auto [index, layer] : llvm::enumerate(program.layers)) {
    if (isBelow(layer.path, top)) {
      meant.push_back(index);
    }
  }
  if (meant.empty()) {
    if (std::optional<size_t> around = layerAround(program, top)) {
      meant.push_back(*around);
    }
  }
  StringRef file = program.source ? program.source->name() : StringRef();
  file = file.substr(file.find_last_of('/') + 1);
  llvm::StringMap<std::vector<std::string>> kernels = kernelsByPath(module);
  std::vector<LayerPlace> layers;
  for (size_t index : meant) {
    const frontend::ProgramLayer &layer = program.layers[index];
    LayerPlace place{layer.path, layer.kind, {file.str()}, {}, {}};
    if (program.source) {
      reader::Position at = program.source->position(layer.range.begin);
      place.place.line = at.line;
      place.place.column = at.column;
    }
    place.kernels = kernels.lookup(layer.path);
    if (place.kernels.empty()) {
      place.became = whatBecame(module, program, index);
    }
    layers.push_back(std::move(place));
  }
  return layers;
}

bool hasPath(const frontend::Program &program, StringRef path) {
  return llvm::any_of(
             program.layers,
             [&](const auto &layer) { return isBelow(layer.path, path); }) ||
         layerAround(program, path);
}

std::vector<std::string> pathsOf(const frontend::Program &program) {
  std::set<std::string> paths;
  for (const frontend::ProgramLayer &layer : program.layers) {
    StringRef path = layer.path;
    while (!path.empty()) {
      paths.insert(path.str());
      path = path.contains('.') ? path.rsplit('.').first : "";
    }
  }
  return {paths.begin(), paths.end()};
}

} // namespace hova::inspect
