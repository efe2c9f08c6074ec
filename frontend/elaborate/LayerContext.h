//===- LayerContext.h - One operator in one of its uses -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a builder of an operator works with: attributes with their defaults, the
// values that it reads, weights, and operations to append. Every accessor
// reports its own mistakes and sets `failed`; a builder reads what it needs,
// gives up if something failed, checks shapes, and appends. Operators of
// plugins are built from the public part alone (frontend/Operator.h).
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

  // Attributes. The second argument is the default.
  int64_t integer(const char *name, int64_t otherwise);
  double number(const char *name, double otherwise);
  bool boolean(const char *name, bool otherwise);
  std::string word(const char *name, const char *otherwise);
  /// A shape, whose axes have at least one element; empty after a mistake.
  Shape shapeAttribute(const char *name);
  /// Whether an attribute of another kind is `word` instead.
  bool isWord(const char *name, const char *word);
  bool given(const char *name) const {
    return layer.attributes.count(name) > 0 || layer.scores.count(name) > 0;
  }

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
  /// a*b, or an error if that is no dimension.
  int64_t product(int64_t a, int64_t b);
  /// Rejects counts of multiply-accumulates that leave 64 bits.
  void checkWork(const std::vector<int64_t> &factors);

  // Results.
  /// A weight below the layer's path; `own` is its name there.
  ValueRef weight(const std::string &own, Shape shape, Initializer initializer,
                  bool trainable = true);
  /// An operation; its path is `below` that of the layer. The mnemonic of
  /// another dialect's has the dialect's name: "mine.attention". Makes nothing,
  /// and returns poison, after a mistake of the layer or where an operand has
  /// no value.
  ValueRef emit(const char *mnemonic, const std::string &below,
                Operands operands, Attributes attributes, ValueType type);
  /// Another result of the operation that was emitted last, which the dialect
  /// and readers of the layer know by `name`. It depends on the operands of the
  /// dialect's names `operands` alone, or on all if there is none.
  void addResult(const std::string &name, ValueType type,
                 std::vector<std::string> operands = {});

  // Parts that several operators have.
  ValueRef linear(ValueRef x, const std::string &below, int64_t out, bool bias);
  ValueRef norm(ValueRef x, const std::string &below, double eps);
  ValueRef sum(ValueRef lhs, ValueRef rhs, const std::string &below);
  ValueRef activation(ValueRef x, const std::string &below,
                      const std::string &kind);

private:
  /// The value of an attribute; nothing where it is not given, or after a
  /// mistake.
  std::optional<Scalar> scalar(const char *name);
  /// The builders of all operators.
  static std::map<std::string, LayerBuilder> &builders();

  bool mayBorrow(const std::string &name);
  Grid inheritedGrid(ValueRef operand, const Shape &result) const;
  struct Heads {
    int64_t count = 0;
    /// Heads of keys and values, which divide those of queries.
    int64_t keyCount = 0;
    ValueRef query, key, value;
    /// Learned rows behind those of key and value.
    ValueRef memoryKey, memoryValue;
    /// Of windows: tables that are added to scores, and which of them each
    /// window takes.
    ValueRef windowBias, windowClasses;
    /// Rows that see each other in a causal attention, 1 unless they are the
    /// states of a token; 0: not causal.
    int64_t causal = 0;
    /// What the features' eps is called, and whether "hidden" is the width of a
    /// feed-forward beside the attention.
    const char *featureEps = "eps";
    bool hasFeedForward = false;
    /// Windows of an image, which are entries of the batch.
    int64_t windows = 1;
  };
  /// What "score" and "keep" say, and the values that they read.
  struct Scores {
    std::shared_ptr<const ScoreProgram> program;
    std::vector<ValueRef> captured;
  };
  std::optional<Scores> readScores(const Heads &heads);
  std::optional<ScoreTable> findTable(const ScoreSpec &spec,
                                      const Reference &reference,
                                      std::vector<ValueRef> &captured);
  bool rejectMemoryOfScores();
  /// Heads of queries, and those of keys and values.
  Heads readHeads();
  ValueRef attend(const Heads &heads, double defaultScale);
  ValueRef attendDensely(Heads heads, const std::string &kind,
                         double defaultScale);
  bool expectEqualHeads(const Heads &heads);
  bool addMasks(const Heads &heads, Operands &masks);
  bool addTokens(Heads &heads, const std::string &kind, Operands &operands);
  ValueRef attendLinearly(const Heads &heads);
  bool normalizeHeads(Heads &heads);
  bool rejectForeign(const std::string &kind, const Heads &heads);
  void rejectMasks(std::initializer_list<const char *> roles,
                   const std::string &before, const std::string &after);
  bool projectTokens(Heads &heads);

  // Sparse attention.
  struct Blocks {
    int64_t size = 0; ///< tokens of each but the last
    int64_t count = 0;
    int64_t random = 0; ///< that a query block sees besides the others
    bool allowsRepeats = false;
  };
  void rejectBesideBlocks(const Heads &heads);
  std::optional<Blocks> sparseBlocks(const Heads &heads);
  ValueRef randomBlocks(const Blocks &blocks, const Heads &heads);
  ValueRef attendSparsely(const Heads &heads, const Blocks &blocks,
                          double defaultScale);
  /// The number of random features; 0 for none.
  int64_t featureCount() { return integer("features", 0); }
  ValueRef featureMatrix(const std::string &kernel, int64_t width);
  bool addMask(const char *role, const Heads &heads, Operands &operands);
  bool addKeyValid(const Heads &heads, Operands &operands);
  bool expectValid(const char *role, ValueRef valid, ValueRef tokens);
  bool addAdditive(Heads &heads, int64_t hidden, Operands &operands);
  bool addMemory(Heads &heads, int64_t slots);
  ValueRef reweight(ValueRef headsInput, ValueRef x, int64_t heads);
  ValueRef gate(ValueRef gated, ValueRef x, int64_t hidden);

  // States of several layers.
  std::vector<ValueRef> readStates();
  ValueRef sortStates(const std::vector<ValueRef> &states);

  // Windows.
  struct Windows {
    Grid window, shift, grid;

    /// Windows of one image.
    int64_t count() const;
    /// Tokens of a window.
    int64_t area() const { return window.height * window.width; }
  };
  std::optional<Grid> gridOf(ValueRef tokens);
  std::optional<Grid> unfoldedGrid(const Grid &image);
  std::optional<Windows> windowsOf(ValueRef tokens);
  static Attributes windowAttributes(const Windows &windows);
  ValueRef partition(ValueRef tokens, const Windows &windows);
  ValueRef reverse(ValueRef tokens, const Windows &windows);
  bool addWindowBias(const Windows &windows, Heads &heads);
  ValueRef biasTable(const Windows &windows, int64_t heads);
  ValueRef continuousBiasTable(const Windows &windows, int64_t heads);

  // One builder per operator.
  ValueRef buildLinear();
  ValueRef buildTiedLinear(ValueRef x, int64_t out);
  ValueRef buildLayerNorm();
  ValueRef buildActivation();
  ValueRef buildElementwise();
  ValueRef buildScale();
  ValueRef buildConcat();
  ValueRef buildSlice();
  ValueRef buildPad();
  ValueRef buildReshape();
  ValueRef buildWeight();
  ValueRef buildFeedForward();
  ValueRef buildEmbedding();
  ValueRef buildPositions();
  ValueRef buildPatchEmbedding();
  ValueRef buildClassToken();
  ValueRef buildPool();
  ValueRef buildPaddingMask();
  ValueRef buildMaskRows();
  ValueRef buildPositionIds();
  ValueRef buildSoftmax();
  ValueRef buildMultiHeadAttention();
  ValueRef buildAttention();
  ValueRef buildHeadReweight();
  ValueRef buildChannelGate();
  ValueRef buildOmniAttention();
  ValueRef buildMergePatches();
  ValueRef buildUnfold();
  ValueRef buildWindows();
  std::optional<int64_t> gateWidth(int64_t width);
  int64_t axisOf(ValueRef value);

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
