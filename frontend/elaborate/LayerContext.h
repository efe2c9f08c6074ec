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
using LayerBuilder = std::function<int(LayerContext &)>;

class LayerContext {
public:
  using Operands = std::vector<std::pair<std::string, int>>;
  using Attributes = std::map<std::string, Scalar>;

  LayerContext(Elaborator &elaborator, const LayerSpec &layer,
               Environment &environment, std::string path,
               std::string weightPath, const Elaborator::Carried &carried)
      : elaborator(elaborator), layer(layer), environment(environment),
        path(std::move(path)), weightPath(std::move(weightPath)),
        carried(carried) {}

  /// Appends the layer's operations; returns its result, or poison.
  int build();

  /// Values of the layer besides its result, by the names that they are read
  /// by: `layer.name`.
  const std::vector<std::pair<std::string, int>> &moreValues() const {
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
    return layer.attributes.count(name) > 0;
  }

  // Values.
  int read(const char *role);
  /// Whether there is a value for a role that needs none.
  bool reads(const char *role) const {
    auto uses = layer.reads.find(role);
    return uses != layer.reads.end() &&
           !elaborator.isNothing(uses->second, environment);
  }
  std::vector<int> readList(const char *role);
  /// A value that may be missing, also as an empty list; poison then.
  int readOptional(const char *role);
  const ValueType &type(int value) const {
    return elaborator.program->values[static_cast<size_t>(value)].type;
  }
  const Shape &shape(int value) const { return type(value).shape; }
  int64_t width(int value) const { return shape(value).back(); }

  // Checks; each reports and returns false.
  /// `wanted` reads like `[batch, N, D]`.
  bool expectRank(const char *role, int value, size_t rank, const char *wanted);
  bool expectFloats(const char *role, int value, const char *wanted);
  bool expectIntegers(const char *role, int value, const char *wanted);
  /// Both places are shown: the one that is read and the ones in `others`.
  void shapeError(const char *role, int value, const std::string &message,
                  const std::vector<int> &others = {});
  void attributeError(const char *name, const std::string &message,
                      const std::vector<int> &others = {});
  /// Whether `heads` divides the width of `value`.
  bool splitsEvenly(const char *role, int value, int64_t heads);
  /// a*b, or an error if that is no dimension.
  int64_t product(int64_t a, int64_t b);
  /// Rejects counts of multiply-accumulates that leave 64 bits.
  void checkWork(const std::vector<int64_t> &factors);

  // Results.
  /// A weight below the layer's path; `own` is its name there.
  int weight(const std::string &own, Shape shape, Initializer initializer,
             bool trainable = true);
  /// An operation; its path is `below` that of the layer. The mnemonic of
  /// another dialect's has the dialect's name: "mine.attention".
  int emit(const char *mnemonic, const std::string &below, Operands operands,
           Attributes attributes, ValueType type);
  /// Another result of the operation that was emitted last, which the dialect
  /// and readers of the layer know by `name`.
  void addResult(const std::string &name, ValueType type);

  // Parts that several operators have.
  int linear(int x, const std::string &below, int64_t out, bool bias);
  int norm(int x, const std::string &below, double eps);
  int sum(int lhs, int rhs, const std::string &below);
  int activation(int x, const std::string &below, const std::string &kind);

private:
  /// The value of an attribute; nothing where it is not given, or after a
  /// mistake.
  std::optional<Scalar> scalar(const char *name);
  /// The builders of all operators.
  static std::map<std::string, LayerBuilder> &builders();

  bool mayBorrow(const std::string &name);
  Grid inheritedGrid(int operand, const Shape &result) const;
  struct Masks {
    int keyValid = poison;
    int mask = poison;
    int scoreBias = poison;
  };
  struct Heads {
    int64_t count = 0;
    int query = poison;
    int key = poison;
    int value = poison;
    /// Learned rows behind those of key and value.
    int memoryKey = poison;
    int memoryValue = poison;
    /// Of windows: tables that are added to scores, and which of them each
    /// window takes.
    int windowBias = poison;
    int windowClasses = poison;
    /// Rows that see each other in a causal attention, 1 unless they are the
    /// states of a token; 0: not causal.
    int64_t causal = 0;
    /// What the features' eps is called, and whether "hidden" is the width of a
    /// feed-forward beside the attention.
    const char *featureEps = "eps";
    bool hasFeedForward = false;
  };
  int attend(const Heads &heads, double defaultScale);
  int attendLinearly(const Heads &heads);
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
  int randomBlocks(const Blocks &blocks, const Heads &heads);
  int attendSparsely(const Heads &heads, const Blocks &blocks,
                     double defaultScale);
  /// The number of random features; 0 for none.
  int64_t featureCount() { return integer("features", 0); }
  int featureMatrix(const std::string &kernel, int64_t width);
  bool addMask(const char *role, const Heads &heads, Operands &operands);
  bool addKeyValid(const Heads &heads, Operands &operands);
  bool expectValid(const char *role, int valid, int tokens);
  bool addAdditive(Heads &heads, int64_t hidden, Operands &operands);
  bool addMemory(Heads &heads, int64_t slots);
  int reweight(int headsInput, int x, int64_t heads);
  int gate(int gated, int x, int64_t hidden);

  // States of several layers.
  std::vector<int> readStates();
  int sortStates(const std::vector<int> &states);

  // Windows.
  struct Windows {
    Grid window, shift, grid;

    /// Windows of one image.
    int64_t count() const;
    /// Tokens of a window.
    int64_t area() const { return window.height * window.width; }
  };
  std::optional<Grid> gridOf(int tokens);
  std::optional<Grid> unfoldedGrid(const Grid &image);
  std::optional<Windows> windowsOf(int tokens);
  static Attributes windowAttributes(const Windows &windows);
  int partition(int tokens, const Windows &windows);
  int reverse(int tokens, const Windows &windows);
  bool addWindowBias(const Windows &windows, Heads &heads);
  int biasTable(const Windows &windows, int64_t heads);
  int continuousBiasTable(const Windows &windows, int64_t heads);

  // One builder per operator.
  int buildLinear();
  int buildTiedLinear(int x, int64_t out);
  int buildLayerNorm();
  int buildActivation();
  int buildElementwise();
  int buildScale();
  int buildConcat();
  int buildSlice();
  int buildPad();
  int buildReshape();
  int buildFeedForward();
  int buildEmbedding();
  int buildPositions();
  int buildPatchEmbedding();
  int buildClassToken();
  int buildPool();
  int buildPaddingMask();
  int buildMaskRows();
  int buildPositionIds();
  int buildSoftmax();
  int buildMultiHeadAttention();
  int buildAttention();
  int buildHeadReweight();
  int buildChannelGate();
  int buildOmniAttention();
  int buildMergePatches();
  int buildUnfold();
  int buildWindows();
  std::optional<int64_t> gateWidth(int64_t width);
  int64_t axisOf(int value);

  Elaborator &elaborator;
  const LayerSpec &layer;
  Environment &environment;
  const std::string path;
  const std::string weightPath;
  const Elaborator::Carried &carried;
  std::vector<std::pair<std::string, int>> more;
  bool failed = false;
};

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_LAYERCONTEXT_H
