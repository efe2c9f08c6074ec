//===- Elaborator.h - From ModelSpec to Program, internals ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Walks the layers as a program runs: a scope binds names to results, a
// repetition instantiates its layer again and again, and operators append
// operations. After a mistake the result is *poison* (ValueRef.h): whatever
// reads it stays quiet, so that one mistake gives one message and independent
// mistakes are all found.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_ELABORATOR_H
#define HOVA_FRONTEND_ELABORATE_ELABORATOR_H

#include "frontend/elaborate/Program.h"
#include "frontend/elaborate/ValueRef.h"

#include <set>

namespace hova::frontend {

struct Entity;
struct IntegerSpan;
class ScoreBuilder;
struct ScoreTable;
using EntityPtr = std::shared_ptr<Entity>;
using ScopeMap = std::map<std::string, EntityPtr, std::less<>>;

/// What is taken from the units of a description (maxUnits).
constexpr int64_t unitsOfValue = 4;
constexpr int64_t unitsOfTerm = 2;
constexpr size_t expressionBytesOfUnit = 8;
constexpr size_t pathBytesOfUnit = 32;

/// What a name is bound to: a value, the results of a repetition, a list, or
/// the inside of a block.
struct Entity {
  ValueRef value;
  /// A list has no value of its own.
  bool isList = false;
  bool indexable = false;
  std::vector<EntityPtr> elements;
  /// Named outputs of a block; null if it has none.
  std::shared_ptr<ScopeMap> outputs;
  /// Everything inside of a block.
  std::shared_ptr<ScopeMap> inside;
};

/// What all constants of a program may take together: elements, each once if
/// constants are the same, and terms that are evaluated for them.
struct ConstantBudget {
  static constexpr int64_t mostElements = int64_t(1) << 22;
  static constexpr int64_t mostSteps = int64_t(1) << 25;
  int64_t elementsLeft = mostElements;
  int64_t stepsLeft = mostSteps;
};

/// Where a layer is expanded.
struct Environment {
  ScopeMap *scope = nullptr;
  /// Arguments of the block, null outside of one; every layer has its own
  /// environment, so they are shared.
  std::shared_ptr<const std::map<std::string, Scalar, std::less<>>> arguments;
  /// The number of the repetition, inside of one.
  std::optional<Scalar> index;
  /// Ends with a dot unless empty.
  std::string path;
  std::string weightPath;
  bool trainable = true;
  /// The layer whose `weights` name those of another one; null where weights
  /// are own ones.
  const LayerSpec *borrower = nullptr;
  std::vector<const BlockSpec *> blocks;
};

class Elaborator {
public:
  Elaborator(const ModelSpec &spec, reader::Diagnostics &diagnostics,
             int64_t units)
      : spec(spec), diagnostics(diagnostics),
        program(std::make_unique<Program>()), mostUnits(units),
        unitsLeft(units) {}

  std::unique_ptr<Program> run(const std::vector<ParameterOverride> &overrides);

private:
  friend class LayerContext;
  /// What takes the place of the inputs of a repeated layer, by role.
  using Carried = std::map<std::string, ValueRef>;

  // Parameters and inputs.
  void fillParameters(const std::vector<ParameterOverride> &overrides);
  bool dependsOnKnown(const Setting &setting) const;
  std::optional<Scalar> overridden(const ParameterSpec &parameter,
                                   const ParameterOverride &value);
  bool checkParameter(const ParameterSpec &parameter, const Scalar &value,
                      const std::string &prefix);
  void addInput(const InputSpec &input, Environment &environment);
  // Parameters that are ranges (Ranges.cpp).
  /// Whether a command line gives a range.
  static bool isRange(const ParameterOverride &given);
  /// The largest value of a range: that of a command line, or (null) of the
  /// parameter itself. Nothing after a mistake.
  std::optional<Scalar> largestOf(const ParameterSpec &parameter,
                                  const ParameterOverride *given);
  /// The name of the range that an input's dimension is; empty: it is none.
  std::string rangeNameOf(const Setting &dimension);
  /// The value of an expression in a run whose range has this size; nothing if
  /// it has none.
  std::optional<Scalar> valueWith(const Expression &expression,
                                  const std::string &range, int64_t size);
  /// Whether a dimension is the range that counts the items of a run, and how
  /// many these are at most.
  bool areItems(const Setting &dimension);
  int64_t mostItems() const;
  /// Its name; empty where there is none, or tokens are a range, too.
  std::string rangeOfItemsAlone() const {
    return axisRanges[1].empty() ? axisRanges[0] : "";
  }
  /// Says what the axes of an input that are ranges are of.
  void addRangedAxes(const InputSpec &input, const ValueType &type);
  /// Whether the sizes that every input says of sequences agree.
  void checkRanges();
  /// The same where items alone are a range.
  void checkRangeOfItems();
  /// What is wrong with the axes of an input beside a range of tokens; empty:
  /// nothing. `lengths` are the ranges or numbers of tokens so far.
  std::string addSequence(const InputSpec &input, ProgramInput &made,
                          std::vector<SizeRange> &lengths);
  /// The sizes of an axis of an input.
  SizeRange sizesOf(const InputSpec &input, const ProgramInput &made,
                    size_t axis);

  void checkOutput(const ValueUse &use, ValueRef value);
  void checkOutputType(size_t output, ValueRef value);
  void addOutputs(const Environment &environment);
  void checkUnusedWeights();
  void checkConstantOutputs();

  // Layers.
  void expandLayers(const std::vector<LayerSpec> &layers,
                    Environment &environment);
  EntityPtr expandLayer(const LayerSpec &layer, Environment &environment);
  EntityPtr passThrough(const LayerSpec &layer, Environment &environment);
  EntityPtr passOn(const LayerSpec &layer, const std::vector<ValueUse> &uses,
                   Environment &environment);
  void repeatLayer(const LayerSpec &layer, Environment &environment,
                   int64_t count, Entity &entity);
  EntityPtr expandOnce(const LayerSpec &layer, Environment &environment,
                       const std::string &path, const Carried &carried);
  EntityPtr expandBlock(const LayerSpec &layer, Environment &environment,
                        const std::string &path, const std::string &weightPath,
                        const Carried &carried);
  bool bindInputs(const LayerSpec &layer, const BlockSpec &block,
                  Environment &environment, const Carried &carried,
                  ScopeMap &inner);
  bool bindArguments(const LayerSpec &layer, const BlockSpec &block,
                     Environment &environment, Environment &inner);
  Carried carriedFrom(const LayerSpec &layer, const Entity &entity,
                      Environment &environment);
  std::optional<std::string> weightPathOf(const LayerSpec &layer,
                                          Environment &environment,
                                          const std::string &path);
  const BlockSpec *blockOf(const LayerSpec &layer, Environment &environment);

  // Names of values.
  struct Resolved {
    std::vector<ValueRef> values;
    bool isList = false;
    /// The one thing that is named, if it is one.
    EntityPtr entity;
  };
  std::optional<Resolved> resolve(const ValueUse &use,
                                  const Environment &environment);
  bool select(const ValueUse &use, const Reference::Accessor &accessor,
              const Environment &environment, std::vector<EntityPtr> &items);
  bool selectMember(const ValueUse &use, const Reference::Accessor &accessor,
                    std::vector<EntityPtr> &items);
  bool selectRange(const ValueUse &use, const Reference::Accessor &accessor,
                   const Environment &environment, const EntityPtr &item,
                   std::vector<EntityPtr> &selected);
  /// Whether `null` is read, or the name of what is nothing.
  bool isNothing(const std::vector<ValueUse> &uses,
                 const Environment &environment) const;
  /// One value; a list is an error.
  ValueRef resolveOne(const ValueUse &use, const Environment &environment);

  // Expressions.
  std::optional<Scalar> evaluate(const Setting &setting,
                                 const Environment &environment);
  std::optional<int64_t> integer(const Setting &setting,
                                 const Environment &environment);
  std::optional<double> number(const Setting &setting,
                               const Environment &environment);
  std::optional<bool> boolean(const Setting &setting,
                              const Environment &environment);
  Lookup lookup(const Environment &environment) const;
  std::optional<std::string> evaluatePath(const PathTemplate &path,
                                          const reader::Node &node,
                                          const Environment &environment);

  // Values and weights.
  ValueRef addValue(ValueType type, std::string path, reader::Range range);
  ValueRef addWeight(const std::string &name, Shape shape,
                     const Initializer &initializer, bool trainable,
                     reader::Range range);
  /// The value itself. One that a mistake has made unknown has eight axes of
  /// one element: any axis and any width can be asked for, and nothing comes of
  /// it, for what reads it makes nothing.
  const ProgramValue &valueOf(ValueRef value) const;
  /// Says what the numbers of a weight are.
  void describeBlockTable(ValueRef value, BlockTable table);
  /// The weight that `path` means in `environment`: below the block first,
  /// then from the top; with the names of shared weights followed.
  const ProgramWeight *findSharedWeight(const std::string &path,
                                        const Environment &environment) const;
  bool checkSize(const Shape &shape, const reader::Node &node);
  /// The range of integers, where it is known.
  std::optional<IntegerSpan> spanOf(ValueRef value) const;

  /// Takes units from what is left. Reports once that nothing is; then layers
  /// are no longer expanded.
  bool spend(int64_t units, const reader::Node &node);
  bool spendPath(const std::string &path, const reader::Node &node) {
    return spend(static_cast<int64_t>(path.size() / pathBytesOfUnit), node);
  }
  /// For the string at `node`.
  bool spendExpression(const reader::Node &node) {
    return spend(static_cast<int64_t>(node.text.size() / expressionBytesOfUnit),
                 node);
  }

  bool spendExpression(const ValueUse &use) {
    size_t bytes = use.reference.end - use.reference.begin;
    return spend(static_cast<int64_t>(bytes / expressionBytesOfUnit),
                 *use.node);
  }

  // Messages.
  reader::Diagnostic &errorAt(const ValueUse &use, const std::string &message);
  reader::Diagnostic &error(const reader::Node &node,
                            const std::string &message,
                            const std::string &subject = "");
  reader::Diagnostic &errorInside(const reader::Node &node,
                                  const TextError &inner);
  void noteValue(reader::Diagnostic &diagnostic, ValueRef value);

  const ModelSpec &spec;
  reader::Diagnostics &diagnostics;
  std::unique_ptr<Program> program;
  /// Where each output of the program is named.
  std::vector<const reader::Node *> outputUses;
  /// Whether what the path names belongs to a layer that a mistake has kept
  /// from being built.
  bool isUnbuilt(std::string_view path, const Environment &environment) const;

  /// Paths of layers and where their weights are.
  std::map<std::string, std::string, std::less<>> weightPaths;
  /// Paths of layers that a mistake has kept from being built.
  std::set<std::string, std::less<>> unbuilt;
  ConstantBudget constantBudget;
  /// A range that something else than the shape of an input has read.
  mutable std::string rangeRead;
  /// A range and what its size is taken for (valueWith).
  std::optional<std::pair<std::string, Scalar>> assumed;
  /// The ranges that the first two axes of inputs are: items, tokens, and
  /// tokens of a second sequence.
  std::array<std::string, 3> axisRanges;
  /// Those that were computed, by what makes them.
  std::map<std::string, ConstantPtr, std::less<>> constants;
  const int64_t mostUnits;
  int64_t unitsLeft;
  bool exhausted = false;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_ELABORATOR_H
