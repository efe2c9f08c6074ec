//===- Program.h - A description with everything filled in ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A straight list of operations on values of known shape: blocks are expanded,
// repetitions unrolled, expressions evaluated, shapes checked. It is the trust
// boundary: nothing of a file reaches MLIR that did not pass through here, and
// the importer only spells it as IR.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_PROGRAM_H
#define HOVA_FRONTEND_ELABORATE_PROGRAM_H

#include "frontend/description/ModelSpec.h"
#include "frontend/elaborate/ScoreProgram.h"

#include <array>
#include <set>

namespace hova::frontend {

enum class DType { F32, I32, I64, Bool };

/// "f32", "i32", "i64", "bool".
const char *name(DType dtype);

using Shape = std::vector<int64_t>;

/// `[1, 197, 768]`.
std::string str(const Shape &shape);

/// Height and width of the image that tokens [batch, N, D] are the pixels or
/// patches of, row by row; 0 where they are of none.
struct Grid {
  int64_t height = 0;
  int64_t width = 0;

  explicit operator bool() const { return height > 0; }
};

struct ValueType {
  DType dtype = DType::F32;
  Shape shape;
  /// No part of the type: what windows and merging find where it is not given.
  Grid grid = {};
  /// No part of the type either: integers that are made are 0 to `below` - 1;
  /// 0 where nobody knows.
  int64_t below = 0;

  bool operator==(const ValueType &other) const {
    return dtype == other.dtype && shape == other.shape;
  }
  /// `f32 [1, 197, 768]`.
  std::string str() const;
};

/// How a weight is made where no file gives it.
struct Initializer {
  enum class Kind {
    /// Uniform within sqrt(6 / (in + out)): keeps the variance of activations.
    Glorot,
    /// Normal with standard deviation `value`.
    Normal,
    /// Uniform within `value`.
    Uniform,
    /// All elements are `value`.
    Constant,
    /// 1 with a little noise, so that a gain that is ignored shows.
    Gain,
    /// 0 with a little noise, so that a bias that is ignored shows.
    Bias,
    /// Blocks of orthogonal rows of length `value`, or of the lengths of rows
    /// of
    /// a Gaussian matrix where that is 0.
    Orthogonal,
    /// Rows of sine and cosine positions by `base`; those before row `value`
    /// are 0.
    Sinusoid,
    /// Numbers of blocks: what an attention to blocks of keys draws.
    Blocks
  };
  Kind kind = Kind::Glorot;
  double value = 0;
  double base = 10000;

  /// Whether the numbers are the same with any seed.
  bool isFixed() const {
    return kind == Kind::Constant || kind == Kind::Sinusoid;
  }

  /// `glorot`, `normal(0.02)`, `constant(1)`.
  std::string str() const;
};

/// A value of the program; operations name it by its number.
struct ProgramValue {
  ValueType type;
  /// Dotted path of what makes it.
  std::string path;
  /// The layer or input that makes it.
  reader::Range range;
};

/// What the numbers of a weight are where they are blocks of tokens.
struct BlockTable {
  int64_t blocks = 0;
  /// Whether a row may have a block twice, or one that is seen anyway.
  bool allowsRepeats = false;
  /// Whether blocks are drawn from those before the row's own.
  bool isCausal = false;
};

struct ProgramWeight {
  std::string name;
  int value = -1;
  Initializer initializer;
  bool trainable = true;
  /// Index of the layer that declared it.
  size_t layer = 0;
  std::optional<BlockTable> blockTable = {};
};

/// One operation of the dialect.
struct ProgramOperation {
  /// The dialect's name without the prefix: "linear".
  std::string mnemonic;
  std::string path;
  /// Operands with the dialect's names for them; a variadic operand repeats its
  /// name.
  std::vector<std::pair<std::string, int>> operands;
  std::map<std::string, Scalar> attributes;
  int result = -1;
  /// Index into Program::scores of what an attention says of its scores, or -1.
  int scores = -1;
  /// Index into Program::layers.
  size_t layer = 0;

  /// The operand called `name`, or -1.
  int operand(std::string_view name) const;
};

/// A layer of the description in one of its uses.
struct ProgramLayer {
  std::string path;
  /// The name of its operator.
  std::string kind;
  /// The file of the plugin that brings the operator; empty: it is hova's.
  std::string plugin = {};
  /// What reports call its operations together; empty: each speaks for itself.
  std::string site;
  reader::Range range;
  int result = -1;
};

/// The elements of a constant, row by row, with all digits: integers are exact.
struct ConstantTable {
  DType dtype = DType::F32;
  Shape shape;
  std::vector<double> elements;
  /// The least and the largest.
  double low = 0, high = 0;
};
using ConstantPtr = std::shared_ptr<const ConstantTable>;

/// The sizes that a parameter may have from run to run.
struct SizeRange {
  int64_t least = 1;
  int64_t most = 1;
  /// Of the parameter; empty where the size is fixed.
  std::string name = {};

  /// `1 to 512`.
  std::string str() const;
};

/// The sequences of a run: how many items there are, and the tokens of one. A
/// size that is fixed has one value.
struct SequenceSizes {
  SizeRange items, length;
  /// The tokens of a second sequence that each item has, if it has one.
  std::optional<SizeRange> otherLength = {};
};

/// The types of tensors of numbers beside a program: its layers compute in f32,
/// and what is wider or narrower is converted on the way in and out.
enum class TensorFloat { F32, BF16, F16 };

struct ProgramInput {
  std::string name;
  int value = -1;
  TensorFloat stored = TensorFloat::F32; ///< of numbers
  /// low <= x < high.
  std::optional<std::array<int64_t, 2>> range;
  /// Whether its tokens are those of the second sequence of an item.
  bool hasOtherTokens = false;
};

struct ProgramOutput {
  std::string name;
  int value = -1;
  TensorFloat stored = TensorFloat::F32; ///< of numbers
};

struct Program {
  std::string name;
  std::shared_ptr<const reader::Source> source;
  /// Those that are ranges have their largest value.
  std::map<std::string, Scalar> parameters;
  /// The parameters that are ranges.
  std::map<std::string, SizeRange, std::less<>> ranges;
  /// What they are of; nothing where every size is fixed.
  std::optional<SequenceSizes> sequences;
  std::vector<ProgramInput> inputs;
  std::vector<ProgramOutput> outputs;
  std::vector<ProgramValue> values;
  std::vector<ProgramWeight> weights;
  /// Position in `weights` of each name.
  std::map<std::string, size_t, std::less<>> weightIndex;
  std::vector<ProgramLayer> layers;
  /// In an order in which they can be evaluated. A value without operation is
  /// an input or a weight.
  std::vector<ProgramOperation> operations;
  std::vector<std::shared_ptr<const ScoreProgram>> scores;
  /// By the values that they are; those that are the same are one table.
  std::map<int, ConstantPtr> constants;
  /// The results of an operation besides its first, with the dialect's names
  /// for them, by the number of the first.
  std::map<int, std::vector<std::pair<std::string, int>>> furtherResults;
  /// The operands that a further result depends on, by the number of the
  /// result; one that is not here depends on all.
  std::map<int, std::set<int>> operandsOfResult;

  const std::vector<std::pair<std::string, int>> &
  furtherResultsOf(const ProgramOperation &operation) const;

  const ProgramWeight *findWeight(std::string_view name) const;

  /// Null of values that are no constants.
  const ConstantTable *findConstant(int value) const {
    auto found = constants.find(value);
    return found == constants.end() ? nullptr : found->second.get();
  }

  /// Null of operations that have no scores.
  const ScoreProgram *scoresOf(const ProgramOperation &operation) const {
    return operation.scores < 0
               ? nullptr
               : scores[static_cast<size_t>(operation.scores)].get();
  }
};

/// Values for parameters, by name; `text` is as written on a command line.
struct ParameterOverride {
  std::string name;
  std::string text;
  /// Who wants it, for messages: "--set" or a checkpoint source.
  std::string origin = "--set";
};

/// What a description may become, in units: a value that is made takes four, a
/// term of a score two, and one each is taken by a layer's turn, by every value
/// that is read, listed or handed to a block, by an argument, by eight bytes of
/// an expression that is evaluated, and by 32 bytes of a path. Far above any
/// real model (a Transformer's encoder layer takes 170), and small enough that
/// every description is checked in two seconds and 256 MiB.
constexpr int64_t maxUnits = 1780000;

/// Fills in the parameters and expands the program. Mistakes are reported to
/// `diagnostics`; mistakes in overrides as well, without a place. Returns null
/// if there was one. `units` bounds the program.
std::unique_ptr<Program>
elaborate(const ModelSpec &spec,
          const std::vector<ParameterOverride> &overrides,
          reader::Diagnostics &diagnostics, int64_t units = maxUnits);

/// That the range `name` is read where a size has to be known.
std::string readsRange(const std::string &name);

/// `NAME=VALUE` as an override; no value if there is no `=`.
std::optional<ParameterOverride> parseOverride(std::string_view text);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_PROGRAM_H
