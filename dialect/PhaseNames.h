//===- PhaseNames.h - What hova.phase may say -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The phases of a compilation are a table of codegen, which is above the
// dialect. A tool that has the table gives their names to the dialect, which
// then accepts no other; without them `hova.phase` is any text.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_DIALECT_PHASENAMES_H
#define HOVA_DIALECT_PHASENAMES_H

#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/STLExtras.h"
#include <string>
#include <vector>

namespace hova {

class PhaseNames final : public mlir::DialectInterface::Base<PhaseNames> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PhaseNames)

  PhaseNames(mlir::Dialect *dialect, std::vector<std::string> names)
      : Base(dialect), names(std::move(names)) {}

  bool has(llvm::StringRef name) const {
    return llvm::is_contained(names, name);
  }

private:
  std::vector<std::string> names;
};

} // namespace hova

#endif // HOVA_DIALECT_PHASENAMES_H
