//===- Published.h - What papers print of a model, and what it is ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TOOLS_INSPECT_PUBLISHED_H
#define HOVA_TOOLS_INSPECT_PUBLISHED_H

#include "tools/inspect/Summary.h"

namespace hova::inspect {

/// A printed figure and the program's own.
struct FigureComparison {
  /// "parameters" or "macs".
  std::string quantity;
  const frontend::FigureSpec *published = nullptr;
  /// The exact count, and as the paper would print it.
  int64_t count = 0;
  std::string ours;

  bool agrees() const { return ours == published->text; }
  /// It differs, and the description says why.
  bool isKnown() const { return !agrees() && !published->differs.empty(); }
};

/// One row of a published table.
struct PublishedComparison {
  const frontend::PublishedSpec *table = nullptr;
  const frontend::PublishedRowSpec *row = nullptr;
  std::vector<FigureComparison> figures;
};

/// `count` in the unit and with the decimals of a figure, rounded.
std::string printedLike(const frontend::FigureSpec &figure, bool binary,
                        int64_t count);

/// Counts the variants that the description has figures of: all of them, or the
/// one that overrides of parameters ask for. Returns false after an error of a
/// variant.
bool comparePublished(const frontend::Model &model,
                      const frontend::ModelOptions &options,
                      mlir::MLIRContext &context,
                      std::vector<PublishedComparison> &rows,
                      llvm::raw_ostream &errors);

void printPublishedText(const std::vector<PublishedComparison> &rows,
                        const frontend::Model &model, llvm::raw_ostream &out);
void printPublishedJson(const std::vector<PublishedComparison> &rows,
                        const frontend::Model &model, llvm::raw_ostream &out);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_PUBLISHED_H
