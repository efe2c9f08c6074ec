//===- LayerContext.h - One operator in one of its uses -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a builder of an operator works with: attributes with their defaults, the
// values that it reads, weights, and operations to append. Every accessor
// reports its own mistakes, after which the layer has failed; a builder reads
// what it needs, gives up if something failed, checks shapes, and appends. A
// builder is a free function: hova's are in frontend/layers and
// frontend/attention, by subject, and those of plugins use nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_LAYERCONTEXT_H
#define HOVA_FRONTEND_ELABORATE_LAYERCONTEXT_H

#include "frontend/elaborate/Elaborator.h"

#include <functional>

namespace hova::frontend {

class LayerContext;

/// Appends the operations of a layer; returns its result, or poison after a
/// mistake, which was reported.
using LayerBuilder = std::function<ValueRef(LayerContext &)>;

/// The builders of hova's own operators, by their names. Declared for whoever
/// builds layers; defined by the room that has operators
/// (frontend/BuiltInOperators.cpp).
std::map<std::string, LayerBuilder> builtInBuilders();

/// What a kind of attention says of scores by itself, in the language of
/// "score" and "keep"; what the layer says comes after it: its "score" is what
/// this one gives, and a key is kept where both keep it.
struct KindScores {
  /// Empty: the similarity with its factor, and every key.
  std::string score, keep;
  /// What other names in them mean: numbers, and values whose elements they
  /// read.
  std::map<std::string, Scalar> numbers = {};
  std::map<std::string, ValueRef> values = {};

  bool isEmpty() const { return score.empty() && keep.empty(); }
};

/// What an attention says of its scores without an expression. Values are
/// absent where there is none, and have the shapes that ScoreBuilder asks for.
struct BuiltInScores {
  /// A factor on the similarity, and a divisor in front of a softmax.
  double scale = 1, temperature = 1;
  /// Rows that see each other in a causal attention; 0: not causal.
  int64_t causal = 0;
  /// Numbers that are added, and which of their first axis a batch entry has.
  ValueRef bias = {}, biasEntries = {};
  /// Booleans of keys, and of pairs of a query and a key.
  ValueRef valid = {}, mask = {};
};

/// What is said of scores, and the values that they read.
struct LayerScores {
  std::shared_ptr<const ScoreProgram> program;
  std::vector<ValueRef> captured;
  /// Those of them that scores depend on in front of masks.
  std::vector<ValueRef> ofScores;
};

/// How a description calls the items of a run, and how many there are at most.
struct ItemsOfRun {
  std::string name;
  int64_t most;
};

class LayerContext {
public:
  using Operands = std::vector<std::pair<std::string, ValueRef>>;
  using Attributes = std::map<std::string, Scalar>;

  LayerContext(Elaborator &elaborator, const LayerSpec &layer,
               Environment &environment, std::string path,
               std::string weightPath, const Elaborator::Carried &carried)
      : elaborator(elaborator), layer(layer), environment(environment),
        path(std::move(path)), weightPath(std::move(weightPath)),
        carried(carried) {}

  /// Appends the layer's operations; returns its result, or poison.
  ValueRef build();

  /// Values of the layer besides its result, by the names that they are read
  /// by: `layer.name`.
  const std::vector<std::pair<std::string, ValueRef>> &moreValues() const {
    return more;
  }

  /// Adds the builder of an operator, by its name. False where there is one.
  static bool addBuilder(const std::string &name, LayerBuilder builder);

  /// Whether something was wrong so far.
  bool hasFailed() const { return failed; }
  /// Gives up, after a mistake that was reported.
  void fail() { failed = true; }

  /// The operator that the layer is a use of.
  const OperatorInfo &op() const { return *layer.op; }

  // Attributes. The second argument is the default.
  int64_t integer(const char *name, int64_t otherwise);
  /// The same of a number of items, which may be those of any run.
  int64_t items(const char *name, int64_t otherwise);
  /// The items of a program in which they alone are a range.
  std::optional<ItemsOfRun> itemsOfRun() const;
  /// Whether the first dimension of a shape is that range.
  bool beginsWithItems(const char *name) const;
  /// An integer for both sides of an image, or two.
  Grid sides(const char *name, int64_t otherwise);
  double number(const char *name, double otherwise);
  bool boolean(const char *name, bool otherwise);
  std::string word(const char *name, const char *otherwise);
  /// A shape, whose axes have at least one element; empty after a mistake.
  Shape shapeAttribute(const char *name);
  /// Whether an attribute of another kind is `word` instead.
  bool isWord(const char *name, const char *word);
  /// The width that a gate asks for, `otherwise` where it gives none, or
  /// nothing where it is off.
  std::optional<int64_t> gate(const char *name, int64_t otherwise);
  bool given(const char *name) const {
    return layer.attributes.count(name) > 0 || layer.shapes.count(name) > 0 ||
           layer.scores.count(name) > 0 || layer.paths.count(name) > 0;
  }
  /// Whether an attribute or a value is given and is not what it would be
  /// without: its default, or a count of 0.
  bool says(const char *name);

  // Values.
  ValueRef read(const char *role);
  /// Whether there is a value for a role that needs none.
  bool reads(const char *role) const {
    auto uses = layer.reads.find(role);
    return uses != layer.reads.end() &&
           !elaborator.isNothing(uses->second, environment);
  }
  std::vector<ValueRef> readList(const char *role);
  /// A value that may be missing, also as an empty list; absent then, and
  /// poison after a mistake.
  ValueRef readOptional(const char *role);
  /// Of a value that a mistake has made unknown: eight axes of one element, so
  /// that whatever a builder asks next has an answer; `emit` makes nothing
  /// then.
  const ValueType &type(ValueRef value) const {
    return elaborator.valueOf(value).type;
  }
  const Shape &shape(ValueRef value) const { return type(value).shape; }
  int64_t width(ValueRef value) const { return shape(value).back(); }

  // Checks; each reports and returns false. Of poison they say nothing: its
  // mistake has been reported.
  /// `wanted` reads like `[batch, N, D]`.
  bool expectRank(const char *role, ValueRef value, size_t rank,
                  const char *wanted);
  bool expectFloats(const char *role, ValueRef value, const char *wanted);
  bool expectIntegers(const char *role, ValueRef value, const char *wanted);
  /// Both places are shown: the one that is read and the ones in `others`.
  void shapeError(const char *role, ValueRef value, const std::string &message,
                  const std::vector<ValueRef> &others = {});
  void attributeError(const char *name, const std::string &message,
                      const std::vector<ValueRef> &others = {});
  /// Whether `heads` divides the width of `value`.
  bool splitsEvenly(const char *role, ValueRef value, int64_t heads);
  /// Booleans for the tokens [batch, N, D].
  bool expectValid(const char *role, ValueRef valid, ValueRef tokens);
  /// Integers that are rows of a table; what an input says of its range, or is
  /// told here.
  bool expectRows(const char *role, ValueRef ids, int64_t rows);
  /// a*b, or an error if that is no dimension.
  int64_t product(int64_t a, int64_t b);
  /// Rejects counts of multiply-accumulates that leave 64 bits.
  void checkWork(const std::vector<int64_t> &factors);

  // Results.
  /// A weight below the layer's path; `below` is its name there.
  ValueRef weight(const std::string &below, Shape shape,
                  Initializer initializer, bool trainable = true);
  /// A weight of an earlier layer, whose path is an attribute; poison after a
  /// mistake.
  ValueRef sharedWeight(const char *name);
  /// The path that such an attribute names; empty after a mistake.
  std::string sharedPath(const char *name);
  /// A value whose elements the layer says, as an expression of their
  /// indices: numbers or integers, as `type` is. Poison after a mistake.
  ValueRef constant(ValueType type);
  /// A frozen weight whose numbers are those of blocks of tokens.
  ValueRef blockTable(const std::string &below, Shape shape, BlockTable table);
  /// An operation; its path is `below` that of the layer. The mnemonic of
  /// another dialect's has the dialect's name: "mine.attention". Makes nothing,
  /// and returns poison, after a mistake of the layer or where an operand has
  /// no value.
  ValueRef emit(const char *mnemonic, const std::string &below,
                Operands operands, Attributes attributes, ValueType type);
  /// Another result of the operation that was emitted last, which the dialect
  /// and readers of the layer know by `name`. It depends on the `operands`
  /// alone, or on all if there is none.
  void addResult(const std::string &name, ValueType type,
                 const std::vector<ValueRef> &operands = {});

  /// What is built in, what the kind, and what "score" and "keep" say of
  /// queries and keys; nothing after a mistake.
  std::optional<LayerScores> readScores(ScoreExtents extents,
                                        const KindScores &kind = {},
                                        const BuiltInScores &builtIn = {});
  /// Gives the scores to the operation that was emitted last, whose operands
  /// "captured" are their values.
  void attachScores(const LayerScores &scores);

private:
  /// An integer of an attribute, within its bounds.
  int64_t integerOf(const Setting &setting, const char *name,
                    int64_t otherwise);
  /// The elements of a constant; null after a mistake.
  ConstantPtr elementsOf(const ScoreSpec &spec, const ValueType &type);
  ConstantPtr constantNamed(const ScoreSpec &spec, const Reference &reference);
  /// The value of an attribute; nothing where it is not given, or after a
  /// mistake.
  std::optional<Scalar> scalar(const char *name);
  /// The builders of all operators.
  static std::map<std::string, LayerBuilder> &builders();

  /// A mistake of whoever wrote the builder, which the description is not.
  void builderError(const std::string &mistake);
  /// Whether the operator declares the role that its builder reads.
  bool expectRole(const char *role);

  bool mayBorrow(const std::string &name);
  Grid inheritedGrid(ValueRef operand, const Shape &result) const;
  ScoreTable capture(ValueRef value, std::string name,
                     std::vector<ValueRef> &captured);
  bool addKindScores(const KindScores &kind, ScoreBuilder &builder,
                     std::vector<ValueRef> &captured);
  bool addLayerScores(ScoreBuilder &builder, std::vector<ValueRef> &captured);
  bool isDefault(const char *name);
  std::optional<Initializer> initializerOf(const InitializerSpec &spec,
                                           const Shape &shape,
                                           Initializer initializer);

  Elaborator &elaborator;
  const LayerSpec &layer;
  Environment &environment;
  const std::string path;
  const std::string weightPath;
  const Elaborator::Carried &carried;
  std::vector<std::pair<std::string, ValueRef>> more;
  bool failed = false;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_LAYERCONTEXT_H
