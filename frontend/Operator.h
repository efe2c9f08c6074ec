//===- Operator.h - An operator of descriptions ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What makes a word of a description an operator:
//
// 1. a row of the vocabulary: the values that it reads, its attributes and
//    weights. Messages about keys, `hova schema` and the page of the language
//    come from it;
// 2. a builder, which checks shapes and appends operations to the program;
// 3. an importer per operation that the builder appends and that hova does not
//    have, which makes it in the IR. hova-tblgen writes it from the operation's
//    definition.
//
// hova's own operators are rows of the same three tables. A plugin adds its
// operators, and kinds of attention, from the function that it names in
// `hovaGetPluginInfo`:
//
//   static void addOperators(hova::frontend::OperatorRegistry &registry) {
//     registry.add({myInfo(), buildMine, {{"mine.op", importMine}}});
//     registry.add(myKind(), {{"mine.attention", importMyAttention}});
//     registry.add(ExpressionFunction{"erf", 1, erfOfFirst});
//   }
//
//   extern "C" LLVM_ATTRIBUTE_WEAK hova::frontend::PluginInfo
//   hovaGetPluginInfo() {
//     return {HOVA_PLUGIN_VERSIONS, "mine", addOperators};
//   }
//
// Its dialects, with all that is attached to their operations, it registers as
// any plugin of MLIR does (mlirGetDialectPluginInfo).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_OPERATOR_H
#define HOVA_FRONTEND_OPERATOR_H

#include "frontend/OperationImport.h"
#include "frontend/attention/AttentionKind.h"
#include "frontend/expression/Functions.h"
#include "frontend/layers/Parts.h"
#include "llvm/Config/llvm-config.h"

namespace hova::frontend {

/// By mnemonic, with the dialect's name: "mine.op".
using OperationImporters =
    std::vector<std::pair<std::string, OperationImporter>>;

struct Operator {
  OperatorInfo info;
  LayerBuilder build;
  OperationImporters importers;
};

/// Where a plugin adds its operators.
class OperatorRegistry {
public:
  /// `plugin`: what messages call whoever adds.
  explicit OperatorRegistry(std::string plugin) : plugin(std::move(plugin)) {}

  /// Adds an operator, or notes what is wrong with it.
  void add(Operator added);
  /// The same for a kind of attention, with importers of what it emits.
  void add(AttentionKind kind, const OperationImporters &importers = {});
  /// The same for a function of the expressions of parameters and constants.
  void add(ExpressionFunction function);

  /// What was wrong.
  const std::vector<std::string> &getErrors() const { return errors; }
  /// The dialects that the operators need, in the order of their names.
  const std::set<std::string> &getDialects() const { return dialects; }

private:
  void addImporters(const std::string &owner,
                    const OperationImporters &importers);

  std::string plugin;
  std::vector<std::string> errors;
  std::set<std::string> dialects;
};

/// What a plugin brings. That it was built for this hova and this LLVM was made
/// sure of before (tools/plugins/PluginStamp.h); the versions are for whoever
/// calls the function by hand.
struct PluginInfo {
  const char *hovaVersion;
  const char *llvmVersion;
  const char *name;
  void (*addOperators)(OperatorRegistry &registry);
};

} // namespace hova::frontend

/// The first two fields of a PluginInfo; HOVA_VERSION is defined by
/// hova_add_plugin of hova's CMake package.
#define HOVA_PLUGIN_VERSIONS HOVA_VERSION, LLVM_VERSION_STRING

/// What `--pass-plugin` looks for in a library.
extern "C" hova::frontend::PluginInfo hovaGetPluginInfo();

#endif // HOVA_FRONTEND_OPERATOR_H
