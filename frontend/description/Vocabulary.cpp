//===- Vocabulary.cpp - The words of a description ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/Vocabulary.h"

#include <algorithm>
#include <cctype>

namespace hova::frontend {

namespace attributes {

using Kind = AttributeInfo::Kind;

AttributeInfo integer(std::string name, std::string defaultText,
                      std::string summary, double minimum) {
  bool isRequired = defaultText.empty();
  return {std::move(name),
          Kind::Integer,
          isRequired,
          std::move(defaultText),
          {},
          minimum,
          std::move(summary)};
}

AttributeInfo number(std::string name, std::string defaultText,
                     std::string summary, std::optional<double> minimum) {
  bool isRequired = defaultText.empty();
  return {std::move(name),        Kind::Number, isRequired,
          std::move(defaultText), {},           minimum,
          std::move(summary)};
}

AttributeInfo boolean(std::string name, std::string defaultText,
                      std::string summary) {
  return {std::move(name), Kind::Boolean,     false, std::move(defaultText), {},
          std::nullopt,    std::move(summary)};
}

AttributeInfo word(std::string name, std::string defaultText,
                   std::vector<std::string> words, std::string summary) {
  bool isRequired = defaultText.empty();
  return {std::move(name),        Kind::Word,       isRequired,
          std::move(defaultText), std::move(words), std::nullopt,
          std::move(summary)};
}

} // namespace attributes

namespace {

using Kind = AttributeInfo::Kind;
using Attributes = std::vector<AttributeInfo>;
using Roles = std::vector<RoleInfo>;

using namespace attributes;

const std::vector<std::string> activations = {"relu", "gelu_erf", "gelu_tanh",
                                              "tanh", "sigmoid"};

AttributeInfo axis() {
  return integer("axis", "-1", "counted from 0, or from the end if negative",
                 -8);
}

AttributeInfo gridHeight() {
  return integer("grid_height", "as it was embedded",
                 "rows of the image that the tokens are of");
}

RoleInfo input(std::string summary) {
  return {"input", true, false, std::move(summary)};
}

/// What a performer's features are made of; `eps` is what is added to them.
Attributes featureAttributes(const char *eps) {
  return {
      word("kernel", "softmax with features, else relu",
           {"softmax", "relu", "exp"},
           "features of a performer: positive ones near the softmax, rectified "
           "ones, or exponentials without a maximum"),
      integer("features", "0",
              "number of a performer's random features; 0 (relu): the columns "
              "of a head are its features",
              0),
      number(eps, "1e-6; 1e-3 (relu)", "added to a performer's features", 0),
      number("stabilizer", "1e-6 (softmax)",
             "denominators of a performer that are not above it grow by twice "
             "of it",
             0),
      number("denominator_eps", "1e-8 (exp)",
             "added to a performer's denominators", 0),
  };
}

/// An attribute that may be one of some words instead.
AttributeInfo orWord(AttributeInfo info, std::vector<std::string> words) {
  info.words = std::move(words);
  return info;
}

template <typename T>
std::vector<T> joined(std::vector<T> a, const std::vector<T> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// What a Linformer's keys and values are projected to.
Attributes projectionAttributes() {
  return {
      integer("projected_tokens", "0",
              "sums of all tokens that a linformer's keys and values become",
              0),
      integer("max_tokens", "Nk",
              "rows of a linformer's projection, of which the first Nk are "
              "used"),
      boolean("shared_projection", "true",
              "one projection for keys and values of a linformer"),
  };
}

/// The attributes and values that every attention takes.
Attributes attentionAttributes() {
  Attributes own = {
      integer("heads", "", "number of heads"),
      word("kind", "softmax",
           {"softmax", "cosine", "additive", "performer", "linformer"},
           "scaled dot product, cosine with a learned factor for each head, "
           "Bahdanau's additive form, products of features, or scaled dot "
           "product with few projected keys"),
      integer("hidden", "head_width", "width of the additive tanh layer"),
      number("scale", "1/sqrt(head_width)", "factor on the scores (softmax)"),
      boolean("causal", "false", "query i sees key j if j <= i + Nk - Nq"),
      word("empty_row", "zero", {"zero", "uniform"},
           "the result where every key is masked: zero, or the mean of all "
           "values"),
      integer("memory", "0",
              "learned keys and values behind the others, which no mask hides",
              0),
      number("temperature", "1", "divides the scores in front of the softmax",
             1e-30),
      boolean("scores", "false",
              "give the scores in front of masks too, read as NAME.scores"),
  };
  return joined(joined(std::move(own), featureAttributes("eps")),
                projectionAttributes());
}

/// Weights of an attention of whatever kind.
std::vector<std::string> attentionWeights() {
  return {"logit_scale",     "additive.query",   "additive.key",
          "additive.vector", "features",         "token_projection",
          "key_projection",  "value_projection", "memory.key",
          "memory.value"};
}

Roles maskRoles() {
  return {
      {"key_valid", false, false,
       "[batch, Nk] booleans; false keys are never attended to"},
      {"mask", false, false,
       "booleans, true = attend; [batch, heads, Nq, Nk], where all axes but "
       "the last may be 1"},
      {"score_bias", false, false,
       "numbers added to the scores, shaped as mask, or none: an empty list"},
  };
}

/// An operator whose fusion can be demanded.
OperatorInfo fusable(OperatorInfo op, std::string site = "") {
  op.fusable = true;
  op.site = std::move(site);
  return op;
}

OperatorInfo multiHeadAttention() {
  OperatorInfo op;
  op.name = "multi_head_attention";
  op.summary = "projections, attention, output projection";
  op.roles = joined(
      Roles{{"input", false, false, "query and key, where those are not given"},
            {"query", false, false, "[batch, Nq, Dq]"},
            {"key", false, false, "[batch, Nk, Dk]"},
            {"value", false, false, "[batch, Nk, Dv]; the key unless given"}},
      maskRoles());
  op.attributes = joined(
      attentionAttributes(),
      Attributes{
          integer("head_width", "width of the query / heads",
                  "width of one head's query"),
          integer("key_head_width", "head_width",
                  "width of one head's key (differs only if additive)"),
          integer("value_head_width", "head_width",
                  "width of one head's value"),
          integer("width", "width of the query", "width of the result"),
          boolean("bias", "true", "biases of the three input projections"),
          boolean("key_bias", "bias", "bias of the key projection"),
          boolean("output_bias", "bias", "bias of the output projection"),
          integer("window", "none",
                  "attend inside windows of this side; the input's tokens are "
                  "those of an image"),
          integer("shift", "0",
                  "roll the image by this much before it is cut into windows",
                  0),
          orWord(boolean("relative_bias", "false",
                         "a number for each head and difference of two "
                         "positions in a window, added to the scores: learned, "
                         "or computed of the difference by a learned network"),
                 {"continuous"}),
          integer("relative_bias_hidden", "512",
                  "width of that network's hidden layer"),
          integer("pretrained_window", "the window",
                  "side of the windows that it was trained with; 0: those that "
                  "there are",
                  0),
          orWord(number("mask_value", "-100",
                        "added to scores of tokens that were no neighbours "
                        "before the roll; \"-inf\" hides them"),
                 {"-inf"}),
          word("clamp", "both", {"both", "per_axis"},
               "where an image is no larger than a window: it is one window "
               "and is not rolled, or this holds for each axis by itself"),
          gridHeight(),
          boolean("horizontal", "false",
                  "reweight the heads of each token (horizontal attention)"),
          {"vertical",
           Kind::Gate,
           false,
           "false",
           {},
           std::nullopt,
           "gate the channels of each token (vertical attention)"},
      });
  op.weights = joined(attentionWeights(), {"query.weight",
                                           "query.bias",
                                           "key.weight",
                                           "key.bias",
                                           "value.weight",
                                           "value.bias",
                                           "output.weight",
                                           "output.bias",
                                           "horizontal.head",
                                           "horizontal.input",
                                           "horizontal.score",
                                           "horizontal.score_bias",
                                           "relative_bias",
                                           "relative_bias.hidden.weight",
                                           "relative_bias.hidden.bias",
                                           "relative_bias.output.weight",
                                           "vertical.input",
                                           "vertical.output",
                                           "vertical.gate",
                                           "vertical.gate_bias"});
  return op;
}

OperatorInfo attention() {
  OperatorInfo op;
  op.name = "attention";
  op.summary = "attention on projected queries, keys and values";
  op.roles =
      joined(Roles{{"query", true, false, "[batch, Nq, heads*query_width]"},
                   {"key", true, false, "[batch, Nk, heads*key_width]"},
                   {"value", true, false, "[batch, Nk, heads*value_width]"}},
             maskRoles());
  op.attributes = attentionAttributes();
  op.weights = attentionWeights();
  return op;
}

OperatorInfo omniAttention() {
  OperatorInfo op;
  op.name = "omni_attention";
  op.summary = "one block over the tokens of several states together, then "
               "the maximum over the states";
  op.roles = {{"inputs", true, true, "K states [batch, N, D]"}};
  Attributes own = {
      integer("heads", "", "number of heads"),
      integer("head_width", "D / heads", "width of one head"),
      word("kind", "softmax", {"softmax", "performer", "linformer"},
           "scaled dot product, products of features, or scaled dot product "
           "with few projected keys"),
      number("scale", "1/sqrt(head_width)", "factor on the scores (softmax)"),
      integer("hidden", "", "width of the feed-forward's hidden layer"),
      word("activation", "relu", activations, "of the feed-forward"),
      number("eps", "1e-6", "of both norms", 0),
      word("norm", "pre_ln", {"pre_ln", "res_post"},
           "norm before each sublayer, or on its result"),
      word("pool", "after_block", {"after_block", "after_attention"},
           "where the maximum over the states is taken"),
      word("causal", "none", {"none", "flattened", "block"},
           "a triangle on the token-major order, or on whole tokens"),
      boolean("bias", "true", "biases of the four projections"),
  };
  op.attributes =
      joined(joined(std::move(own), featureAttributes("feature_eps")),
             projectionAttributes());
  op.weights = {"norm1.gain",
                "norm1.bias",
                "query.weight",
                "query.bias",
                "key.weight",
                "key.bias",
                "value.weight",
                "value.bias",
                "output.weight",
                "output.bias",
                "norm2.gain",
                "norm2.bias",
                "feed_forward.hidden.weight",
                "feed_forward.hidden.bias",
                "feed_forward.output.weight",
                "feed_forward.output.bias",
                "features",
                "token_projection",
                "key_projection",
                "value_projection"};
  return op;
}

std::vector<OperatorInfo> denseOperators() {
  return {
      fusable({"linear",
               "product of every row with a matrix, plus a bias",
               {input("[.., in]")},
               {integer("width", "", "columns of the result"),
                boolean("bias", "true", "add a bias"),
                {"weight",
                 Kind::Path,
                 false,
                 "an own weight",
                 {},
                 std::nullopt,
                 "path of an existing weight to use"},
                boolean("transposed", "false", "that weight is [out, in]")},
               {"weight", "bias"}}),
      fusable({"layer_norm",
               "every row to zero mean and unit variance, then gain and bias",
               {input("[.., D]")},
               {number("eps", "1e-5", "added to the variance", 0)},
               {"gain", "bias"}}),
      fusable({"softmax",
               "every row to shares that add up to one",
               {input("[.., D]")},
               {boolean("log", "false", "give their logarithms")},
               {}}),
      {"activation",
       "an element-wise function",
       {input("any shape")},
       {word("kind", "", activations, "the function")},
       {}},
      {"add",
       "the sum of the inputs",
       {{"inputs", true, true,
         "values of one shape; later ones may lack leading axes, or have one "
         "column"}},
       {},
       {}},
      {"multiply",
       "the product of the inputs, element by element",
       {{"inputs", true, true,
         "values of one shape; later ones may lack leading axes, or have one "
         "column"}},
       {},
       {}},
      {"scale",
       "multiplication by a constant",
       {input("any shape")},
       {number("by", "", "the factor")},
       {}},
      fusable({"concat",
               "the inputs joined along one axis",
               {{"inputs", true, true, "values that differ in that axis only"}},
               {axis()},
               {}}),
      {"slice",
       "a range of one axis",
       {input("any shape")},
       {axis(), integer("start", "0", "first element", 0),
        integer("end", "all", "behind the last element", 1)},
       {}},
      fusable({"pad",
               "zeros in front of an axis and behind it",
               {input("any shape")},
               {axis(), integer("before", "0", "elements in front", 0),
                integer("after", "0", "elements behind", 0)},
               {}}),
      fusable(
          {"reshape",
           "the same elements, row by row, in other axes",
           {input("any shape")},
           {{"shape", Kind::Shape, true, "", {}, 1, "the axes of the result"}},
           {}}),
      fusable(
          {"feed_forward",
           "linear, activation, linear",
           {input("[.., D]")},
           {integer("hidden", "", "width between the two linears"),
            word("activation", "relu", activations, "between the two linears"),
            integer("width", "D", "columns of the result"),
            boolean("bias", "true", "biases of both linears")},
           {"hidden.weight", "hidden.bias", "output.weight", "output.bias"}},
          "feed-forward"),
  };
}

std::vector<OperatorInfo> tokenOperators() {
  return {
      {"embedding",
       "rows of a table, chosen by ids",
       {input("[batch, N] integers")},
       {integer("vocab", "", "rows of the table"),
        integer("width", "", "columns of the table")},
       {"weight"}},
      {"positions",
       "input + the first rows of a position table",
       {input("[batch, N, D]")},
       {word("kind", "", {"sinusoid", "learned"}, "fixed or trained table"),
        word("layout", "interleaved", {"interleaved", "split"},
             "sines and cosines in turn, or sines first"),
        integer("length", "N", "rows of the table")},
       {"weight"}},
      fusable({"patch_embedding",
               "linear map of non-overlapping image patches to tokens",
               {input("[batch, channels, height, width]")},
               {integer("patch", "", "side of a patch in pixels"),
                integer("width", "", "columns of the result"),
                boolean("bias", "true", "add a bias")},
               {"weight", "bias"}}),
      fusable({"class_token",
               "a learned token put before the others",
               {input("[batch, N, D]")},
               {},
               {"weight"}}),
      fusable({"unfold",
               "what a square sees of an image, place by place, as rows",
               {input("[batch, channels, height, width], or tokens "
                      "[batch, N, D] of an image")},
               {integer("kernel", "", "side of the square in pixels"),
                integer("stride", "1", "pixels from one place to the next"),
                integer("padding", "0", "zeros around the image", 0),
                integer("within", "the image",
                        "side of squares that the image is cut into first, "
                        "each an image with borders of its own"),
                gridHeight()},
               {}}),
      fusable({"windows",
               "an image of tokens cut into windows, each a sequence",
               {input("[batch, N, D]")},
               {integer("window", "",
                        "side of a window, which divides the image's"),
                gridHeight()},
               {}}),
      fusable({"merge_patches",
               "the tokens of every 2 x 2 block of an image side by side",
               {input("[batch, N, D]; the result is [batch, N/4, 4*D]")},
               {gridHeight()},
               {}}),
      {"pool",
       "one row for all tokens",
       {input("[batch, N, D]")},
       {word("kind", "", {"first", "mean"}, "the first token, or the mean")},
       {}},
      {"padding_mask",
       "which tokens are not padding",
       {input("[batch, N] integers")},
       {integer("pad", "0", "the id of padding", -9223372036854775807.0),
        boolean("class_token", "false",
                "one more in front, for a class token, which counts where the "
                "first token does")},
       {}},
      {"mask_rows",
       "the rows of masked tokens set to 0",
       {input("[batch, N, D]"),
        {"valid", true, false, "[batch, N] booleans; false rows become 0"}},
       {},
       {}},
      {"position_ids",
       "the number of every token, from 1, and 0 for masked ones",
       {{"valid", true, false, "[batch, N] booleans"}},
       {},
       {}},
  };
}

std::vector<OperatorInfo> attentionOperators() {
  return {
      fusable(multiHeadAttention()),
      fusable(attention()),
      fusable({"head_reweight",
               "horizontal attention by itself: a softmax over the heads of a "
               "token",
               {input("[batch, N, D]"),
                {"heads_input", true, false, "[batch, N, heads*value_width]"}},
               {integer("heads", "", "number of heads")},
               {"horizontal.head", "horizontal.input", "horizontal.score",
                "horizontal.score_bias"}}),
      fusable(
          {"channel_gate",
           "vertical attention by itself: a sigmoid gate per token and channel",
           {input("[batch, N, D]"), {"gated", true, false, "[batch, N, E]"}},
           {integer("width", "E/4", "width of the hidden layer")},
           {"vertical.input", "vertical.output", "vertical.gate",
            "vertical.gate_bias"}}),
      fusable(omniAttention(), "omni"),
  };
}

} // namespace

const AttributeInfo *OperatorInfo::attribute(std::string_view name) const {
  for (const AttributeInfo &info : attributes) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

const RoleInfo *OperatorInfo::role(std::string_view name) const {
  for (const RoleInfo &info : roles) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

/// All operators, while plugins may still add some.
static std::deque<OperatorInfo> &growingVocabulary() {
  static std::deque<OperatorInfo> operators = [] {
    std::vector<OperatorInfo> own = joined(
        joined(denseOperators(), tokenOperators()), attentionOperators());
    return std::deque<OperatorInfo>(own.begin(), own.end());
  }();
  return operators;
}

const std::deque<OperatorInfo> &vocabulary() { return growingVocabulary(); }

/// As the names of layers: a letter, then letters, digits and underscores.
static bool isName(const std::string &name) {
  auto isLegal = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), isLegal);
}

std::string addToVocabulary(OperatorInfo info) {
  if (!isName(info.name)) {
    return "an operator is named by a letter, then letters, digits and "
           "underscores, got '" +
           info.name + "'";
  }
  if (findOperator(info.name)) {
    return "there is an operator '" + info.name + "' already";
  }
  std::vector<std::string> taken = commonLayerKeys();
  taken.insert(taken.end(), {"op", "block", "require"});
  std::vector<std::string> keys;
  for (const RoleInfo &role : info.roles) {
    keys.push_back(role.name);
  }
  for (const AttributeInfo &attribute : info.attributes) {
    keys.push_back(attribute.name);
  }
  for (const std::string &key : keys) {
    if (std::find(taken.begin(), taken.end(), key) != taken.end()) {
      return "operator '" + info.name + "' gives the key '" + key +
             "' a second meaning";
    }
    taken.push_back(key);
  }
  growingVocabulary().push_back(std::move(info));
  return "";
}

const std::vector<std::string> &commonLayerKeys() {
  static const std::vector<std::string> keys = {"name",    "if",   "repeat",
                                                "weights", "init", "trainable"};
  return keys;
}

const OperatorInfo *findOperator(std::string_view name) {
  for (const OperatorInfo &info : vocabulary()) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

std::string_view canonicalWord(std::string_view foreign) {
  static constexpr std::string_view words[][2] = {
      {"num_heads", "heads"},
      {"num_attention_heads", "heads"},
      {"d_model", "width"},
      {"hidden_size", "width"},
      {"out_features", "width"},
      {"embed_dim", "width"},
      {"units", "width"},
      {"intermediate_size", "hidden"},
      {"d_ff", "hidden"},
      {"mlp_dim", "hidden"},
      {"layer_norm_eps", "eps"},
      {"epsilon", "eps"},
      {"vocab_size", "vocab"},
      {"hidden_act", "activation"},
      {"type", "op"},
      {"use_bias", "bias"},
      {"qkv_bias", "bias"},
      {"out_bias", "output_bias"},
      {"patch_size", "patch"},
      {"kernel_size", "kernel"},
      {"num_layers", "repeat"},
      {"factor", "by"},
      {"size", "shape"},
      {"key_padding_mask", "key_valid"},
      {"attention_mask", "key_valid"},
      {"dim", "axis"},
      {"args", "arguments"},
      {"log_softmax", "softmax"},
      {"memory_slots", "memory"},
      {"params", "parameters"},
      {"gelu", "gelu_erf"},
      {"gelu_new", "gelu_tanh"},
      {"layernorm", "layer_norm"},
      {"mha", "multi_head_attention"},
      {"multihead_attention", "multi_head_attention"},
      {"self_attention", "multi_head_attention"},
      {"mlp", "feed_forward"},
      {"ffn", "feed_forward"},
      {"dense", "linear"},
      {"concatenate", "concat"},
      {"cls_token", "class_token"},
      {"float32", "f32"},
      {"int32", "i32"},
      {"int64", "i64"},
      {"dot_product", "softmax"},
      {"cosine_similarity", "cosine"},
      {"bahdanau", "additive"},
      {"average", "mean"},
      {"cls", "first"}};
  for (const auto &pair : words) {
    if (pair[0] == foreign) {
      return pair[1];
    }
  }
  return "";
}

} // namespace hova::frontend
