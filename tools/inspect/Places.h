//===- Places.h - Where the layers of a description are computed ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_INSPECT_PLACES_H
#define HOVA_TOOLS_INSPECT_PLACES_H

#include "frontend/elaborate/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace hova::inspect {

/// What a report is about: all of a module, or what stands at a path.
struct Scope {
  /// Dotted, as `encoder.3`; empty: everything.
  std::string path;
  /// The description, for the layers below the path.
  const frontend::Program *program = nullptr;
  /// The same as it was imported, for what it spells out; null: not known.
  mlir::ModuleOp imported;
};

/// Whether `path` is `top` or stands below it: `encoder.3.attn` below
/// `encoder.3`, and every path below the empty one.
bool isBelow(llvm::StringRef path, llvm::StringRef top);

/// `path` as it is seen from the site at `site`, with the distance from the
/// site's repetition to its own, so that two layers that are alike say the
/// same.
std::string seenFrom(llvm::StringRef site, llvm::StringRef path);

/// A line and a column of the description; a line of 0 is unknown.
struct Place {
  std::string file;
  unsigned line = 0, column = 0;
  unsigned lastLine = 0; ///< of a layer
};

/// Where in the description an operation comes from.
Place placeOf(mlir::Operation *op);

/// One layer in one of its uses.
struct LayerPlace {
  std::string path, kind;
  Place place;
  /// The kernels that compute a part of it, in their order.
  std::vector<std::string> kernels;
  /// Where there is none, what became of it.
  std::string became;
};

/// One kernel of a program.
struct KernelContents {
  std::string name;
  size_t number = 0;            ///< of its launch, from 0
  std::vector<std::string> ops; ///< paths of its operations, each once
  /// After `assign`, the same of each stage.
  std::vector<std::vector<std::string>> stages;
  /// What threads divide: names of dims and their sizes, outermost first.
  std::vector<std::pair<std::string, int64_t>> units;
  std::string schedule; ///< as dumps have it; empty: none yet
};

/// The kernels of a module after `fuse` that hold something at `top` or below.
std::vector<KernelContents> kernelsBelow(mlir::ModuleOp module,
                                         llvm::StringRef top);

/// The kernels of every path, and of all paths that it stands below.
llvm::StringMap<std::vector<std::string>> kernelsByPath(mlir::ModuleOp module);

/// The layers at `top` or below; where there is none, the one that `top` is a
/// part of.
std::vector<LayerPlace> layersBelow(mlir::ModuleOp module,
                                    const frontend::Program &program,
                                    llvm::StringRef top);

/// Whether the description has a layer, or a part of one, at `path` or below.
bool hasPath(const frontend::Program &program, llvm::StringRef path);

/// All paths that layers have, and what those stand below.
std::vector<std::string> pathsOf(const frontend::Program &program);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_PLACES_H
