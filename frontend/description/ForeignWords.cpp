//===- ForeignWords.cpp - Words of other libraries ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/description/ForeignWords.h"

namespace hova::frontend {

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
      {"swish", "silu"},
      {"hardswish", "hard_swish"},
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
      {"cls", "first"},
      {"mul", "multiply"},
      {"sub", "subtract"},
      {"minus", "subtract"},
      {"div", "divide"},
      {"sum", "add"},
      {"residual", "add"},
      {"cat", "concat"},
      {"view", "reshape"},
      {"flatten", "reshape"},
      {"parameter", "weight"}};
  for (const auto &pair : words) {
    if (pair[0] == foreign) {
      return pair[1];
    }
  }
  return "";
}

/// Letters and digits, in lower case.
static std::string folded(std::string_view word) {
  std::string out;
  for (char c : word) {
    bool isUpper = c >= 'A' && c <= 'Z';
    bool isLower = c >= 'a' && c <= 'z', isDigit = c >= '0' && c <= '9';
    if (isUpper || isLower || isDigit) {
      out += isUpper ? static_cast<char>(c + 32) : c;
    }
  }
  return out;
}

namespace {

/// A composition that docs/description.md has as a block.
struct Composition {
  std::string_view words; ///< folded, between spaces
  const char *parts;
  const char *block;
};

constexpr Composition compositions[] = {
    {" conv2d conv convolution convolution2d ", "unfold, then linear",
     "conv2d"},
    {" batchnorm batchnorm1d batchnorm2d ",
     "multiply by a weight and add another one, which is what it does when a "
     "model runs",
     "batch_norm"},
};

struct Pointer {
  std::string_view words;
  const char *sentence;
};

constexpr Pointer pointers[] = {
    {" rmsnorm ", "write \"op\": \"layer_norm\", \"center\": false, \"bias\": "
                  "false"},
    {" l2norm unitlength ", "write \"op\": \"layer_norm\", \"kind\": \"l2\""},
    {" dropout droppath stochasticdepth ",
     "nothing is dropped when a model runs: leave the layer out"},
    {" identity noop passthrough ",
     "a layer that does nothing is left out: read its input instead"},
    {" matmul bmm einsum gemm dot ",
     "the product with a weight is linear; products of two values are what "
     "attention makes of queries and keys (\"scores\"), and of its shares and "
     "values"},
    {" transpose permute swapaxes ",
     "no value has its axes exchanged: an image [batch, channels, height, "
     "width] becomes tokens by unfold with \"kernel\": 1, heads are columns of "
     "one axis, and \"transposed\" of linear reads a weight the other way"},
    {" swiglu glu geglu reglu ",
     "a feed-forward network that a linear of its own gates is feed_forward "
     "with \"gate\": true"},
    {" rope rotary rotaryembedding rotarypositions rotarypositionalembedding ",
     "rotary positions are \"cosines\" and \"sines\" of an attention, or the "
     "operator rotate"},
    {" alibi relativepositionbias ",
     "what is added to scores is \"score_bias\" of an attention, and "
     "\"relative_bias\" inside of windows"},
};

/// The kinds of `activation` that are written as operators.
constexpr std::string_view activationWords[][2] = {{"relu", "relu"},
                                                   {"gelu", "gelu_erf"},
                                                   {"geluerf", "gelu_erf"},
                                                   {"gelutanh", "gelu_tanh"},
                                                   {"tanh", "tanh"},
                                                   {"sigmoid", "sigmoid"},
                                                   {"silu", "silu"},
                                                   {"swish", "silu"},
                                                   {"quickgelu", "quick_gelu"},
                                                   {"softplus", "softplus"},
                                                   {"relu2", "relu2"},
                                                   {"squaredrelu", "relu2"},
                                                   {"hardswish", "hard_swish"}};

bool names(std::string_view words, const std::string &word) {
  return !word.empty() &&
         words.find(" " + word + " ") != std::string_view::npos;
}

std::string composed(const std::string &word) {
  for (const Composition &composition : compositions) {
    if (names(composition.words, word)) {
      return std::string("compose it as ") + composition.parts + ": block \"" +
             composition.block +
             "\" of docs/description.md, Composed operators";
    }
  }
  return "";
}

} // namespace

std::string adviceFor(std::string_view foreign) {
  std::string word = folded(foreign);
  for (const auto &[spelling, kind] : activationWords) {
    if (word == spelling) {
      return "write \"op\": \"activation\", \"kind\": \"" + std::string(kind) +
             "\"";
    }
  }
  for (const Pointer &pointer : pointers) {
    if (names(pointer.words, word)) {
      return pointer.sentence;
    }
  }
  return composed(word);
}

} // namespace hova::frontend
