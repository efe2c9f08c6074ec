//===- Places.cpp - Where the layers of a description are computed --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A layer is computed where operations are whose path, or whose site's path, is
// the layer's or stands below it. A linear whose columns are computed with
// those of another one has no operation of its own; the verdict of the product
// names it.

#include "tools/inspect/Places.h"
#include "dialect/Interfaces.h"
#include "dialect/Site.h"
#include "dialect/program/ProgramOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <set>

using namespace mlir;

namespace hova::inspect {

bool isBelow(StringRef path, StringRef top) {
  return top.empty() || path == top ||
         (path.consume_front(top) && path.starts_with("."));
}

/// The number of the repetition that a path is in: 3 in `encoder.3.attn`.
static std::optional<int64_t> repetitionOf(StringRef path) {
  for (StringRef part : llvm::split(path, '.')) {
    int64_t number;
    if (!part.getAsInteger(10, number)) {
      return number;
    }
  }
  return std::nullopt;
}

std::string seenFrom(StringRef site, StringRef path) {
  std::optional<int64_t> here = repetitionOf(site);
  std::string seen;
  for (StringRef part : llvm::split(path, '.')) {
    int64_t number;
    bool isNumber =
        here && path.contains('.') && !part.getAsInteger(10, number);
    seen +=
        "." + (isNumber ? "+" + std::to_string(number - *here) : part.str());
  }
  return seen;
}

Place placeOf(Operation *op) {
  auto found = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return found ? Place{found.getFilename().str(), found.getLine(),
                       found.getColumn()}
               : Place();
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

/// What an operation adds to the list of what its kernel, or its stage, holds.
static void addHeld(std::vector<std::string> &held, Operation *op,
                    ArrayRef<std::string> paths) {
  if (!paths.empty()) {
    // The site's path stands for those of its parts.
    addOnce(held, paths.back());
    for (const std::string &column : columnsOf(op)) {
      addOnce(held, column);
    }
  }
}

static void describeLoops(KernelOp kernel, KernelContents &contents) {
  if (UnitsAttr units = kernel.getUnitsAttr()) {
    for (auto [name, size] :
         llvm::zip_equal(units.getNames(), units.getSizes())) {
      contents.units.push_back({name.str(), size});
    }
  }
  if (Attribute schedule = kernel.getScheduleAttr()) {
    llvm::raw_string_ostream(contents.schedule) << schedule;
  }
  for (StageOp stage : kernel.getBody().getOps<StageOp>()) {
    std::vector<std::string> &held = contents.stages.emplace_back();
    stage.getBody().walk(
        [&](Operation *op) { addHeld(held, op, pathsOf(op)); });
  }
}

std::vector<KernelContents> kernelsBelow(ModuleOp module, StringRef top) {
  std::vector<KernelContents> kernels;
  size_t number = 0;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  main.walk([&](KernelOp kernel) {
    KernelContents contents;
    bool isMeant = false;
    kernel.getBody().walk([&](Operation *op) {
      SmallVector<std::string> paths = pathsOf(op);
      isMeant |= llvm::any_of(
          paths, [&](const std::string &path) { return isBelow(path, top); });
      addHeld(contents.ops, op, paths);
    });
    if (isMeant) {
      contents.name = kernel.getName().str();
      contents.number = number;
      describeLoops(kernel, contents);
      kernels.push_back(std::move(contents));
    }
    ++number;
  });
  return kernels;
}

/// What this path stands below, itself included, innermost first.
static SmallVector<StringRef> pathsAround(StringRef path) {
  SmallVector<StringRef> paths;
  for (; !path.empty();
       path = path.contains('.') ? path.rsplit('.').first : "") {
    paths.push_back(path);
  }
  return paths;
}

llvm::StringMap<std::vector<std::string>> kernelsByPath(ModuleOp module) {
  llvm::StringMap<std::vector<std::string>> kernels;
  module.lookupSymbol<func::FuncOp>("main").walk([&](KernelOp kernel) {
    llvm::StringSet<> seen;
    kernel.getBody().walk([&](Operation *op) {
      for (const std::string &path : pathsOf(op)) {
        for (StringRef around : pathsAround(path)) {
          if (!seen.insert(around).second) {
            break; // and what that stands below
          }
          kernels[around].push_back(kernel.getName().str());
        }
      }
    });
  });
  for (auto &entry : kernels) {
    // Several kernels may have one name.
    llvm::StringSet<> names;
    llvm::erase_if(entry.second, [&](const std::string &name) {
      return !names.insert(name).second;
    });
  }
  return kernels;
}

namespace {
/// What became of a path; of several answers, the one of the highest kind.
struct Fate {
  enum Kind { None, Read, Constant, Judged } kind = None;
  std::string text;
};
} // namespace

/// The fate of every path with an operation, and of all that it stands below.
static llvm::StringMap<Fate> fatesByPath(ModuleOp module) {
  llvm::StringMap<Fate> fates;
  module.walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        isa<func::FuncOp, KernelOp>(op)) {
      return;
    }
    std::optional<SiteVerdict> verdict = siteVerdictOf(op);
    auto function = op->getParentOfType<func::FuncOp>();
    Fate fate;
    if (verdict) {
      fate = {Fate::Judged, verdict->why};
    } else if (function && function.getName() == "weights") {
      fate = {Fate::Constant, "computed from weights alone, while compiling"};
    } else if (isColumnSlice(op)) {
      fate = {Fate::Read,
              "its columns are read where another layer's product has them"};
    } else {
      return;
    }
    std::optional<Site> site = siteOf(op);
    for (StringRef path :
         {pathOf(op->getLoc()), site ? site->path : StringRef()}) {
      for (StringRef around : pathsAround(path)) {
        Fate &known = fates[around];
        if (fate.kind > known.kind) {
          known = fate;
        }
      }
    }
  });
  return fates;
}

/// What became of a layer that no kernel computes a part of.
static std::string whatBecame(const Fate &fate, bool hasWork) {
  if (!fate.text.empty()) {
    return fate.text;
  }
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

/// Where the innermost objects around these places end. The text is JSON that
/// has been read.
static llvm::DenseMap<size_t, size_t>
endsOfObjects(StringRef text, const std::set<size_t> &places) {
  llvm::DenseMap<size_t, size_t> ends;
  SmallVector<SmallVector<size_t>> open; // objects, with the places in each
  auto next = places.begin();
  bool isString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    while (next != places.end() && *next <= at) {
      if (!open.empty()) {
        open.back().push_back(*next);
      }
      ++next;
    }
    if (isString) {
      at += text[at] == '\\';
      isString = text[at] != '"';
    } else if (text[at] == '"') {
      isString = true;
    } else if (text[at] == '{') {
      open.emplace_back();
    } else if (text[at] == '}' && !open.empty()) {
      for (size_t place : open.pop_back_val()) {
        ends[place] = at;
      }
    }
  }
  return ends;
}

/// Where the layers are in the description: the place of a layer's name, and
/// the last line of its object.
static std::vector<Place> placesOf(const frontend::Program &program,
                                   ArrayRef<size_t> layers) {
  std::vector<Place> places(layers.size());
  if (!program.source) {
    return places;
  }
  StringRef file = program.source->name();
  std::set<size_t> begins;
  for (size_t layer : layers) {
    begins.insert(program.layers[layer].range.begin);
  }
  llvm::DenseMap<size_t, size_t> ends =
      endsOfObjects(program.source->text(), begins);
  for (auto [place, layer] : llvm::zip_equal(places, layers)) {
    size_t begin = program.layers[layer].range.begin;
    reader::Position at = program.source->position(begin);
    auto end = ends.find(begin);
    place.file = file.substr(file.find_last_of('/') + 1).str();
    place.line = at.line;
    place.column = at.column;
    place.lastLine =
        program.source->position(end == ends.end() ? begin : end->second).line;
  }
  return places;
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
  llvm::StringMap<std::vector<std::string>> kernels = kernelsByPath(module);
  llvm::StringMap<Fate> fates = fatesByPath(module);
  llvm::BitVector hasWork(program.layers.size());
  for (const frontend::ProgramOperation &op : program.operations) {
    hasWork.set(op.layer);
  }
  std::vector<LayerPlace> layers;
  for (auto [index, at] : llvm::zip_equal(meant, placesOf(program, meant))) {
    const frontend::ProgramLayer &layer = program.layers[index];
    LayerPlace place{layer.path, layer.kind, at, {}, {}};
    place.kernels = kernels.lookup(layer.path);
    if (place.kernels.empty()) {
      place.became = whatBecame(fates.lookup(layer.path), hasWork[index]);
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
