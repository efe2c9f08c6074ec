//===- Operator.cpp - An operator of descriptions -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/Operator.h"

namespace hova::frontend {

void OperatorRegistry::add(Operator added) {
  std::string name = added.info.name;
  added.info.plugin = plugin;
  std::string wrong = addToVocabulary(std::move(added.info));
  if (!wrong.empty()) {
    errors.push_back(std::move(wrong));
    return;
  }
  [[maybe_unused]] bool isNew =
      LayerContext::addBuilder(name, std::move(added.build));
  assert(isNew && "the vocabulary and the builders name the same operators");
  addImporters("operator '" + name + "'", added.importers);
}

void OperatorRegistry::add(AttentionKind kind,
                           const OperationImporters &importers) {
  std::string name = kind.name;
  std::string wrong = addAttentionKind(std::move(kind));
  if (!wrong.empty()) {
    errors.push_back(std::move(wrong));
    return;
  }
  addImporters("kind of attention '" + name + "'", importers);
}

void OperatorRegistry::add(ExpressionFunction function) {
  std::string wrong = addExpressionFunction(std::move(function));
  if (!wrong.empty()) {
    errors.push_back(std::move(wrong));
  }
}

void OperatorRegistry::addImporters(const std::string &owner,
                                    const OperationImporters &importers) {
  for (const auto &[mnemonic, importer] : importers) {
    llvm::StringRef dialect = llvm::StringRef(mnemonic).split('.').first;
    if (dialect == mnemonic) {
      errors.push_back(owner + " imports operation '" + mnemonic +
                       "', whose name does not begin with that of a dialect");
    } else if (!addOperationImporter(mnemonic, importer)) {
      errors.push_back(owner + " imports operation '" + mnemonic +
                       "', which another one imports already");
    }
    dialects.insert(dialect.str());
  }
}

} // namespace hova::frontend
