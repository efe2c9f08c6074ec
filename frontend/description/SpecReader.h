//===- SpecReader.h - From JSON to ModelSpec, internals -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files that read the parts of a description; nobody else needs
// it.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_SPECREADER_H
#define HOVA_FRONTEND_DESCRIPTION_SPECREADER_H

#include "frontend/description/ForeignWords.h"
#include "frontend/description/ModelSpec.h"

#include <set>

namespace hova::frontend {

/// What a setting may be.
enum class SettingKind { Integer, Number, Boolean, Word, Any };

/// What a name may mean at one place of the document.
struct NameScope {
  using Names = std::set<std::string, std::less<>>;

  /// Parameters; null where there are none yet. Shared, as every block has a
  /// scope.
  const Names *parameters = nullptr;
  /// Arguments and `index`.
  Names scalars;
  /// Parameters or arguments of the list that is being read, those after this
  /// place too.
  std::map<std::string, reader::Range, std::less<>> laterScalars;
  /// Values: inputs and the layers so far, with the place of each.
  std::map<std::string, reader::Range, std::less<>> values;
  /// Whether a name of a value could not be read: then any value that is not
  /// known may be that one, and nobody complains about it.
  bool lacksNames = false;
  /// The same of parameters and arguments.
  bool lacksScalars = false;
  /// All layers of the list, those after this place too.
  std::map<std::string, reader::Range, std::less<>> later;

  bool hasScalar(std::string_view name) const {
    return scalars.count(name) > 0 || (parameters && parameters->count(name));
  }
  std::vector<std::string> allScalars() const {
    std::vector<std::string> all(scalars.begin(), scalars.end());
    if (parameters) {
      all.insert(all.end(), parameters->begin(), parameters->end());
    }
    return all;
  }
};

class SpecReader {
public:
  SpecReader(reader::Diagnostics &diagnostics, ModelSpec &spec)
      : diagnostics(diagnostics), spec(spec) {}

  /// Reads the whole document; false if its outline is broken.
  bool read();

private:
  using Node = reader::Node;
  using Member = reader::Member;

  // Messages.
  reader::Diagnostic &error(const Node &node, const std::string &message);
  reader::Diagnostic &errorAt(reader::Range range, const Node &node,
                              const std::string &message);
  /// An error inside a string; `inner` counts its decoded bytes.
  reader::Diagnostic &errorInside(const Node &node, const TextError &inner);
  void suggestFor(reader::Diagnostic &diagnostic, std::string_view word,
                  const std::vector<std::string> &candidates);
  /// The same for a message that lists the candidates itself.
  void suggestNearest(reader::Diagnostic &diagnostic, std::string_view word,
                      const std::vector<std::string> &candidates);
  /// Reports and returns false if `node` is of another kind.
  bool expect(const Node &node, Node::Kind kind, const char *what);
  /// Reports keys that are not in `known`.
  void checkKeys(const Node &object, const std::vector<std::string> &known,
                 const std::string &what);
  /// Reports that `node` has not the key `key`, unless an unknown key of it was
  /// probably meant to be that one.
  void missing(const Node &node, const std::string &key,
               const std::string &message);
  /// The members of an object, each key once.
  static std::vector<const Member *> uniqueMembers(const Node &object);
  /// Reports and returns false if `count` of `what` are more than `limit`.
  bool checkCount(const Node &node, size_t count, size_t limit,
                  const char *what);
  /// Counts the terms of what the string `node` means.
  bool countTerms(const Node &node, size_t more);
  /// Then no further ones are parsed.
  bool hasManyTerms() const { return termCount > SpecLimits::terms; }
  bool checkName(std::string_view name, reader::Range range, const Node &node,
                 const char *what);

  // Leaves.
  std::optional<Setting> setting(const Node &node, SettingKind kind,
                                 const NameScope &scope,
                                 const std::vector<std::string> &words = {});
  /// One of `words`, written down: no expression stands for it.
  std::optional<std::string> wordOf(const Node &node,
                                    const std::vector<std::string> &words);
  /// The value of a parameter, of which `legal` are all if there are any.
  std::optional<Setting> parameterValue(const Node &node,
                                        const NameScope &scope,
                                        const std::vector<Scalar> &legal);
  /// A list that is written down; its elements are no expressions.
  std::optional<Setting> listSetting(const Node &node);
  /// A number, a boolean, or text as it is.
  std::optional<Scalar> plainScalar(const Node &node);
  bool checkConstant(const Node &node, SettingKind kind, const Scalar &value);
  bool checkScalars(const Node &node, const std::vector<NameUse> &names,
                    const NameScope &scope, size_t shift = 0);
  std::optional<ValueUse> valueUse(const Node &node, const NameScope &scope);
  bool checkValue(const Node &node, const Reference &reference,
                  const NameScope &scope);
  std::vector<ValueUse> valueUses(const Node &node, const NameScope &scope);
  std::optional<std::string> stringOf(const Node &node, const char *what);

  // Sections.
  void readName(const Node &root);
  void readParameters(const Node &node);
  void readParameter(const Member &member, NameScope &scope);
  void readParameterObject(const Node &node, ParameterSpec &parameter,
                           const NameScope &scope);
  void readInputs(const Node &node);
  void readInput(const Member &member, const NameScope &scope);
  void readBlocks(const Node &node);
  void readBlock(const Member &member);
  void readBlockOutputs(const Node &node, BlockSpec &block,
                        const NameScope &scope);
  void readOutputs(const Node &node, const NameScope &scope);
  void readOutput(const Member &member, const NameScope &scope);
  void checkBlockCycles();

  // Layers.
  std::vector<LayerSpec> readLayers(const Node &node, NameScope &scope);
  LayerSpec readLayer(const Node &node, NameScope &scope);
  void readOperator(const Node &node, LayerSpec &layer, const NameScope &scope);
  void readAttribute(const Member &member, const AttributeInfo &info,
                     LayerSpec &layer, const NameScope &scope);
  void readSides(const Node &node, const std::string &name, LayerSpec &layer,
                 const NameScope &scope);
  void readShape(const Node &node, std::vector<Setting> &shape,
                 const NameScope &scope);
  void readGate(const Node &node, const std::string &name, LayerSpec &layer,
                const NameScope &scope);
  void readScore(const Node &node, const std::string &name, LayerSpec &layer,
                 const NameScope &scope);
  bool checkScoreName(const Node &node, const NameUse &use,
                      const NameScope &scope);
  bool checkRead(const Node &node, const Reference &reference,
                 const NameScope &scope);
  void readElements(const Node &node, const std::string &name, LayerSpec &layer,
                    const NameScope &scope);
  std::optional<Expression> parseElements(const Node &node,
                                          const std::string &name);
  bool checkElementName(const Node &node, const NameUse &use, size_t rank,
                        const NameScope &scope);
  void readBlockUse(const Node &node, LayerSpec &layer, const NameScope &scope);
  void readConditions(const Node &node, LayerSpec &layer,
                      const NameScope &scope);
  void readBody(const Node &node, LayerSpec &layer, const NameScope &scope);
  void readCommon(const Node &node, LayerSpec &layer, const NameScope &scope);
  void unknownOperator(const Node &node);
  void unknownBlock(const Node &node);
  std::optional<Setting> readDimension(const Node &node, const NameScope &scope,
                                       const char *hint);
  void readInitializers(const Node &node, LayerSpec &layer,
                        const NameScope &scope);
  void checkBlockUses(const std::vector<LayerSpec> &layers);
  void checkRoles(const Node &node, const LayerSpec &layer);

  // Checkpoints.
  void readCheckpoints(const Node &node);
  void readCheckpoint(const Member &member);
  std::optional<RuleSpec> readRule(const Node &node, const NameScope &scope);
  std::optional<StepSpec> readStep(const Node &node, const NameScope &scope);
  std::optional<StepSpec> readNamedStep(const Node &node,
                                        const NameScope &scope);
  void readSlice(const Node &node, StepSpec &step, const NameScope &scope);
  void readAbsorb(const Node &node, StepSpec &step, const NameScope &scope);
  std::vector<Setting> readNumbers(const Node &node, const NameScope &scope,
                                   SettingKind kind = SettingKind::Integer);
  std::vector<std::string> readPatterns(const Node &node);
  void checkBrackets(const Node &node, const std::vector<std::string> &patterns,
                     bool mayList);

  // Configurations of checkpoints.
  std::optional<ConfigSpec> readConfig(const Node &node);
  std::vector<ConfigSetting> readConfigSettings(const Node &node,
                                                const char *what);
  std::optional<Scalar> plainScalarOrList(const Node &node);
  bool readConfigExpression(const Node &node, ConfigSetting &setting);
  bool readConfigExpressions(const Node &node, ConfigSetting &setting);
  bool readConfigValue(const Node &node, const ParameterSpec &parameter,
                       ConfigSetting &setting);
  void readConfigWords(const Node &node, const ParameterSpec &parameter,
                       ConfigSetting &setting);
  std::vector<std::string> readWords(const Node &node, const char *what);

  // Figures of papers.
  void readPublished(const Node &node);
  void readTable(const Node &node);
  void readCounts(const Node &node, PublishedSpec &table);
  void readRow(const Node &node, PublishedSpec &table);
  std::optional<FigureSpec> readFigure(const Node &node);
  std::optional<FigureSpec> parseFigure(const Node &node);

  /// The values of parameters that the object `node`, which is called `what`,
  /// gives.
  std::vector<std::pair<std::string, Setting>>
  readParameterValues(const Node &node, const char *what);
  NameScope parameterScope() const;
  void setBlock(const Node &node, LayerSpec &layer, const NameScope &scope);

  reader::Diagnostics &diagnostics;
  ModelSpec &spec;
  std::vector<std::string> blockNames;
  /// Keys that unknown ones were probably meant to be.
  std::set<std::pair<const Node *, std::string>> misspelt;
  /// Mistakes, those too that follow from others and are not reported: what
  /// they are in is broken all the same.
  size_t mistakesSoFar() const { return diagnostics.mistakes() + unsaid; }
  size_t unsaid = 0;
  /// False where a section is missing or no object: which names it has is then
  /// unknown, and nobody complains about them.
  bool knowsInputs = true;
  bool knowsParameters = true;
  bool knowsBlocks = true;
  NameScope::Names knownBlocks;
  NameScope::Names parameterNames;
  /// Over the whole file.
  size_t layerCount = 0;
  size_t termCount = 0;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_SPECREADER_H
