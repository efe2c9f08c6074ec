//===- Vocabulary.h - The words of a description --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One table of every operator: what it reads and which attributes it takes. The
// checker of descriptions and the JSON Schema are both made from it. Plugins
// add rows to it (frontend/Operator.h).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_VOCABULARY_H
#define HOVA_FRONTEND_DESCRIPTION_VOCABULARY_H

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hova::frontend {

/// The types that tensors of numbers may have beside a program, whose layers
/// compute in f32, and with integers and booleans those of inputs.
inline const std::vector<std::string> outputTypes = {"f32", "bf16", "f16"};
inline const std::vector<std::string> inputTypes = {"f32", "bf16", "f16",
                                                    "i32", "i64",  "bool"};

/// An attribute of an operator.
struct AttributeInfo {
  enum class Kind {
    Integer,
    Number,
    Boolean,
    /// One of `words`.
    Word,
    /// A boolean, or `{"if": condition, "width": integer}`.
    Gate,
    /// The path of a weight.
    Path,
    /// A list of integers, one for each axis.
    Shape,
    /// An integer for both sides of an image, or a list of two: down, across.
    Sides,
    /// An expression of a score, in a string: a number, or a boolean if it is
    /// about what is kept.
    Score,
    /// A number, or an expression of the indices of an element, in a string.
    Elements
  };
  std::string name;
  Kind kind = Kind::Integer;
  bool required = false;
  /// How the default reads in documents; empty if required.
  std::string defaultText;
  /// What a word must be one of; of other kinds, what they may be instead.
  std::vector<std::string> words;
  /// Smallest legal integer or number.
  std::optional<double> minimum;
  std::string summary;
};

/// Attributes by their kinds. Without a default text they are required.
namespace attributes {
AttributeInfo integer(std::string name, std::string defaultText,
                      std::string summary, double minimum = 1);
AttributeInfo sides(std::string name, std::string defaultText,
                    std::string summary, double minimum = 1);
AttributeInfo number(std::string name, std::string defaultText,
                     std::string summary,
                     std::optional<double> minimum = std::nullopt);
AttributeInfo boolean(std::string name, std::string defaultText,
                      std::string summary);
AttributeInfo word(std::string name, std::string defaultText,
                   std::vector<std::string> words, std::string summary);
AttributeInfo score(std::string name, std::string defaultText,
                    std::string summary);
} // namespace attributes

/// A value that an operator reads.
struct RoleInfo {
  std::string name;
  bool required = true;
  /// Takes several values.
  bool list = false;
  std::string summary;
};

/// An operator.
struct OperatorInfo {
  std::string name;
  std::string summary;
  std::vector<RoleInfo> roles;
  std::vector<AttributeInfo> attributes;
  /// Names below the layer's path of the weights that it may own.
  std::vector<std::string> weights;
  /// Whether `require` has a meaning.
  bool fusable = false;
  /// What reports call the operations of such a layer together, where no single
  /// one of the dialect stands for them.
  std::string site = {};
  /// Of an operator that offers every kind of attention: what it calls those
  /// attributes of kinds whose names have another meaning there. Its attribute
  /// "kind" has the words, and kinds add their attributes and weights
  /// (frontend/attention/AttentionKind.h).
  std::optional<std::map<std::string, std::string>> kindNames = {};
  /// The file of the plugin that brings it, which its registry fills in; empty:
  /// it is hova's.
  std::string plugin = {};

  const AttributeInfo *attribute(std::string_view name) const;
  const RoleInfo *role(std::string_view name) const;
};

/// All operators, in the order of the documentation, then those of plugins.
/// Their addresses stay.
const std::deque<OperatorInfo> &vocabulary();

/// The same for whoever adds to it, before any description is read.
std::deque<OperatorInfo> &growingVocabulary();

/// hova's own operators. Declared for the vocabulary; defined by the room that
/// has operators (frontend/BuiltInOperators.cpp).
std::vector<OperatorInfo> builtInOperators();

/// Adds an operator, before any description is read. Returns what is wrong with
/// it: a name that another operator has, or that no layer can have; a key that
/// has a meaning in every layer. Empty: it was added.
std::string addToVocabulary(OperatorInfo info);

/// Keys that every layer may have.
const std::vector<std::string> &commonLayerKeys();

/// Whether every layer may have the key, or it says what the layer is.
bool isCommonLayerKey(std::string_view key);

/// A letter, then letters, digits and underscores, as the names of layers.
bool isOperatorName(std::string_view name);

/// The operator called `name`, or null.
const OperatorInfo *findOperator(std::string_view name);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_VOCABULARY_H
