//===- ModelSpec.h - A description as it is written -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The shape of the document: every key is known, every expression and every
// name of a value is parsed, every name in them is in scope. What they mean
// (shapes, counts, repetitions) is the Program, made from this with parameters
// filled in.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_MODELSPEC_H
#define HOVA_FRONTEND_DESCRIPTION_MODELSPEC_H

#include "frontend/description/ConfigSpec.h"
#include "frontend/description/Vocabulary.h"
#include "frontend/expression/Expression.h"
#include "frontend/reader/Json.h"

#include <map>
#include <memory>

namespace hova::frontend {

/// The value that is written down; nothing for null, lists and objects.
std::optional<Scalar> plainValue(const reader::Node &node);

/// Blocks inside blocks: deeper than any paper, shallow enough for the stack.
constexpr size_t maxBlockDepth = 64;

/// The most that a description may write down of one thing: far more than any
/// model has, and little enough for the memory that a check may take.
struct SpecLimits {
  /// Layers and terms of expressions count over the whole file.
  static constexpr size_t layers = 65536;
  static constexpr size_t terms = 250000;
  static constexpr size_t parameters = 10000;
  /// Of the model; each is an argument of its function.
  static constexpr size_t inputs = 1024;
  static constexpr size_t outputs = 1024;
  static constexpr size_t blocks = 10000;
  /// Inputs, arguments and outputs of one block.
  static constexpr size_t blockEntries = 128;
  static constexpr size_t sources = 16;
  /// Rules of one source, and what one rule lists.
  static constexpr size_t rules = 10000;
  static constexpr size_t ruleEntries = 1000;
  /// Legal values of one parameter.
  static constexpr size_t values = 1000;
  static constexpr size_t nameBytes = 255;
  /// Published tables, rows of one, and parameters that one row names: a row is
  /// a program of its own where it is compared.
  static constexpr size_t tables = 8;
  static constexpr size_t rows = 32;
  static constexpr size_t rowParameters = 16;
};

/// A number, boolean or word: written down, or an expression.
struct Setting {
  const reader::Node *node = nullptr;
  std::optional<Scalar> literal;
  std::optional<Expression> expression;
};

/// What is said of a dimension that is left open.
constexpr const char *dimensionHint =
    "name a parameter, such as \"batch\", in the shape, and choose it with "
    "--set batch=8, or --set batch=1..8 for any number of these";

/// Where a value is read.
struct ValueUse {
  const reader::Node *node = nullptr;
  Reference reference;

  /// As it is written.
  std::string text() const {
    return node->text.substr(reference.begin, reference.end - reference.begin);
  }
  /// Whether the string has nothing else.
  bool isWhole() const {
    return reference.begin == 0 && reference.end == node->text.size();
  }
};

/// What an attention says of its scores, or a constant of its elements.
struct ScoreSpec {
  const reader::Node *node = nullptr;
  Expression expression;
};

struct ParameterSpec {
  std::string name;
  reader::Range nameRange;
  Setting value;
  /// The legal values; empty if any.
  std::vector<Scalar> values;
  std::optional<double> minimum;
  std::optional<double> maximum;
  /// Whether every value from `minimum` to `maximum` may come in a run: there
  /// is no default.
  bool isRange = false;

  /// Why the parameter cannot have the value `given`; empty if it can.
  std::string problemWith(const Scalar &given) const;
};

struct InputSpec {
  std::string name;
  reader::Range nameRange;
  const reader::Node *node = nullptr;
  /// Where it is false, a program has no such input.
  std::optional<Setting> condition;
  std::vector<Setting> shape;
  std::string dtype;    ///< one of `inputTypes`
  bool isTyped = false; ///< whether the description says that
  /// low <= x < high.
  std::optional<std::pair<Setting, Setting>> range;
  /// A mistake has been reported inside; the same below.
  bool broken = false;
};

/// `{"kind": "normal", "std": 0.02}`.
struct InitializerSpec {
  const reader::Node *node = nullptr;
  std::string kind;
  std::optional<Setting> value;
  /// Of a sinusoid.
  std::optional<Setting> base;
};

/// `"vertical": true` or `{"if": ..., "width": ...}`.
struct GateSpec {
  std::optional<Setting> condition;
  std::optional<Setting> width;
};

struct LayerSpec {
  std::string name;
  reader::Range nameRange;
  const reader::Node *node = nullptr;

  /// Exactly one of `op` and `block`.
  const OperatorInfo *op = nullptr;
  std::optional<Setting> block;

  /// What an operator reads, by role; what a block reads, by input ("" for
  /// the first, where `input` was used), where no use is `null`: nothing.
  std::map<std::string, std::vector<ValueUse>> reads;
  std::map<std::string, Setting> attributes;
  /// Attributes that are shapes.
  std::map<std::string, std::vector<Setting>> shapes;
  /// Attributes that are expressions of a score.
  std::map<std::string, ScoreSpec> scores;
  /// What a constant says of its elements; null of other layers.
  std::shared_ptr<const ScoreSpec> elements;
  std::map<std::string, GateSpec> gates;
  /// Attributes that are paths of weights.
  std::map<std::string, std::pair<const reader::Node *, PathTemplate>> paths;
  std::map<std::string, Setting> arguments;

  std::optional<Setting> condition;
  std::optional<Setting> repeat;
  const reader::Node *weightsNode = nullptr;
  std::optional<PathTemplate> weights;
  std::map<std::string, InitializerSpec> initializers;
  std::optional<Setting> trainable;
  bool requireFused = false;
  bool broken = false;
};

struct BlockSpec {
  std::string name;
  reader::Range nameRange;
  const reader::Node *node = nullptr;
  std::vector<std::string> inputs;
  /// Name and default; without one the argument must be given.
  std::vector<std::pair<std::string, std::optional<Setting>>> arguments;
  std::vector<LayerSpec> layers;
  /// `output` is one entry with an empty name.
  std::vector<std::pair<std::string, ValueUse>> outputs;
  bool broken = false;
};

/// One step of a checkpoint rule.
struct StepSpec {
  enum class Kind {
    Transpose,
    Reshape,
    Slice,
    Concatenate,
    Split,
    Add,
    Multiply,
    Absorb
  };
  Kind kind = Kind::Transpose;
  const reader::Node *node = nullptr;
  /// Axes of a transposition (empty: the last two), dimensions of a reshape,
  /// the one number that is added to every element or multiplied with it, or
  /// factors of channels and, after them, as many summands.
  std::vector<Setting> numbers;
  /// Axis of slice, concatenate and split.
  std::optional<Setting> axis;
  std::optional<Setting> start;
  std::optional<Setting> end;
};

struct RuleSpec {
  const reader::Node *node = nullptr;
  std::vector<std::string> to;
  std::vector<std::string> from;
  std::vector<StepSpec> steps;
  std::optional<Setting> constant;
};

struct CheckpointSpec {
  std::string name;
  const reader::Node *node = nullptr;
  std::vector<std::pair<std::string, Setting>> set;
  std::vector<std::string> ignore;
  std::vector<RuleSpec> rules;
  /// What of a configuration beside the tensors decides parameters.
  std::optional<ConfigSpec> config;
};

/// A count as a paper prints it, such as `46.7M`.
struct FigureSpec {
  std::string text;
  /// Digits after the point.
  int decimals = 0;
  /// How often a factor of a thousand (or 1024) is left out: 2 for M.
  int thousands = 0;
  /// Why another number is expected of the program; empty if none is.
  std::string differs;
};

/// What a paper says of one variant of the model.
struct PublishedRowSpec {
  std::string name;
  /// The parameters of the variant; all others have their defaults.
  std::vector<std::pair<std::string, Setting>> when;
  std::optional<FigureSpec> parameters;
  std::optional<FigureSpec> macs;
};

/// A table of a paper, whose rows are counted in one way.
struct PublishedSpec {
  enum class Parameters { Trainable, Dense, All };
  enum class Macs { All, Linear, WithNorms };
  std::string source;
  Parameters parameters = Parameters::Trainable;
  Macs macs = Macs::All;
  /// Whether M and G are 2^20 and 2^30 instead of 10^6 and 10^9.
  bool binary = false;
  std::vector<PublishedRowSpec> rows;

  /// The words of descriptions for these, in the order of the enumerations.
  static const std::vector<std::string> parameterWords;
  static const std::vector<std::string> macWords;
  static const std::vector<std::string> unitWords;
  /// A regular expression for figures.
  static const char *const figurePattern;
};

struct ModelSpec {
  std::shared_ptr<const reader::Source> source;
  std::shared_ptr<const reader::Document> document;

  std::string name;
  std::vector<ParameterSpec> parameters;
  /// Position in `parameters` of each name.
  std::map<std::string, size_t, std::less<>> parameterIndex;
  std::vector<InputSpec> inputs;
  std::vector<BlockSpec> blocks;
  /// Position in `blocks` of each name.
  std::map<std::string, size_t, std::less<>> blockIndex;
  std::vector<LayerSpec> layers;
  std::vector<std::pair<std::string, ValueUse>> outputs;
  std::vector<reader::Range> outputRanges;
  /// Of each output, when it is one; none: always.
  std::vector<std::optional<Setting>> outputConditions;
  /// Of each output, one of `outputTypes`; empty: as the value is.
  std::vector<std::string> outputDtypes;
  /// Of inputs and outputs whose type is not said, by the command line.
  std::string tensors;
  std::vector<CheckpointSpec> checkpoints;
  std::vector<PublishedSpec> published;

  const BlockSpec *findBlock(std::string_view name) const;
  const ParameterSpec *findParameter(std::string_view name) const;
  const CheckpointSpec *findCheckpoint(std::string_view name) const;
};

/// Reads the source of `diagnostics`. Mistakes are reported there; the result
/// is null if any of them makes the rest meaningless, and may be used for
/// messages only as soon as there is one.
std::unique_ptr<ModelSpec> readModelSpec(reader::Diagnostics &diagnostics);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_MODELSPEC_H
