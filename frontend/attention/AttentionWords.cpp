//===- AttentionWords.cpp - What layers of attention may say --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/attention/Kinds.h"
#include "frontend/description/OperatorWords.h"

namespace hova::frontend {

using namespace words;

namespace {

/// What makes scores and weights; its words and what they mean come from the
/// kinds (AttentionKind.h).
AttributeInfo kindAttribute() { return word("kind", "softmax", {}, ""); }

/// The operator with every kind whose attributes it has room for.
OperatorInfo withKinds(OperatorInfo op,
                       std::map<std::string, std::string> names = {}) {
  op.kindNames = std::move(names);
  for (const AttentionKind &kind : attentionKinds()) {
    offerKind(op, kind);
  }
  return op;
}

/// What an attention makes of the similarity of a query and a key.
Attributes scoreAttributes() {
  return {
      score("score", "score",
            "the score of a query and a key, an expression of score, batch, "
            "head, query, key and elements of values"),
      score("keep", "true",
            "whether a query sees a key, an expression as in score"),
  };
}

/// The attributes and values that every attention takes.
Attributes attentionAttributes() {
  Attributes known = {
      integer("heads", "", "number of heads"),
      integer("key_value_heads", "heads",
              "heads of keys and values, each of which consecutive heads of "
              "queries share"),
      kindAttribute(),
      number("scale", "1/sqrt(head_width)", "factor on the scores (softmax)"),
      boolean("causal", "false", "query i sees key j if j <= i + Nk - Nq"),
      word("normalize", "softmax", {"softmax", "sum", "none"},
           "how scores become weights: by a softmax, over the sum of their "
           "row, or as they are"),
      word("empty_row", "zero", {"zero", "uniform"},
           "the result where every key is masked: zero, or the mean of all "
           "values"),
      integer("memory", "0",
              "learned keys and values after the others, which no mask hides",
              0),
      number("temperature", "1", "divides the scores in front of the softmax",
             1e-30),
      boolean("scores", "false",
              "give the scores in front of masks too, read as NAME.scores"),
  };
  return joined(std::move(known), scoreAttributes());
}

/// Weights of an attention of whatever kind.
std::vector<std::string> attentionWeights() {
  return {"memory.key", "memory.value"};
}

/// What query_norm and key_norm may be.
const std::vector<std::string> &headNorms() {
  static const std::vector<std::string> kinds = {"none", "layer", "rms", "l2"};
  return kinds;
}

/// Weights of the linears around an attention.
std::vector<std::string> projectionWeights() {
  return {"query.weight", "query.bias", "key.weight",    "key.bias",
          "value.weight", "value.bias", "output.weight", "output.bias"};
}

Roles maskRoles() {
  return {
      {"key_valid", false, false,
       "[batch, Nk] booleans; false keys are never attended to"},
      {"mask", false, false,
       "booleans, true = attend; [batch, heads, Nq, Nk], where all axes but "
       "the last may be 1"},
      {"score_bias", false, false,
       "numbers added to the scores, shaped as mask; none where it is a list "
       "of "
       "results that is empty"},
  };
}

/// The angles by which queries and keys are rotated.
Roles rotaryRoles(bool required) {
  return {{"cosines", required, false,
           "[N, pairs] cosines of the angles by which the pairs of every head "
           "are rotated at each token"},
          {"sines", required, false, "[N, pairs] sines of the same angles"}};
}

AttributeInfo rotaryPairs() {
  return word("pairs", "halves", {"halves", "neighbours"},
              "columns of a head that are rotated together: one of each half, "
              "or neighbours");
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
      joined(maskRoles(), rotaryRoles(/*required=*/false)));
  op.attributes = joined(
      attentionAttributes(),
      Attributes{
          integer("head_width", "width of the query / heads",
                  "width of one head's query"),
          integer("key_head_width", "head_width",
                  "width of one head's key, of a kind that allows another one"),
          integer("value_head_width", "head_width",
                  "width of one head's value"),
          integer("width", "width of the query", "width of the result"),
          boolean("bias", "true", "biases of the three input projections"),
          boolean("key_bias", "bias", "bias of the key projection"),
          boolean("output_bias", "bias", "bias of the output projection"),
          word("query_norm", "none", headNorms(),
               "norm of each head of the projected queries, as of layer_norm"),
          word("key_norm", "query_norm", headNorms(),
               "the same of the projected keys"),
          number("norm_eps", "1e-6, of l2 1e-12", "eps of both", 0),
          boolean("norm_bias", "true", "biases of both, where they are layer"),
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
          rotaryPairs(),
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
  op.weights = joined(attentionWeights(), projectionWeights());
  op.weights = joined(
      op.weights,
      {"horizontal.head", "horizontal.input", "horizontal.score",
       "horizontal.score_bias", "relative_bias", "relative_bias.hidden.weight",
       "relative_bias.hidden.bias", "relative_bias.output.weight",
       "query_norm.gain", "query_norm.bias", "key_norm.gain", "key_norm.bias",
       "vertical.input", "vertical.output", "vertical.gate",
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
  Attributes known = {
      integer("heads", "", "number of heads"),
      integer("head_width", "D / heads", "width of one head"),
      kindAttribute(),
      number("scale", "1/sqrt(head_width)", "factor on the scores (softmax)"),
      integer("hidden", "", "width of the feed-forward's hidden layer"),
      word("activation", "relu", activations(), "of the feed-forward"),
      number("eps", "1e-6", "of both norms", 0),
      word("norm", "pre_ln", {"pre_ln", "res_post"},
           "norm before each sublayer, or on its result"),
      word("pool", "after_block", {"after_block", "after_attention"},
           "where the maximum over the states is taken"),
      word("causal", "none", {"none", "flattened", "block"},
           "a triangle on the token-major order, or on whole tokens"),
      boolean("bias", "true", "biases of the four projections"),
  };
  op.attributes = joined(std::move(known), scoreAttributes());
  op.weights = joined(std::vector<std::string>{"norm1.gain", "norm1.bias"},
                      projectionWeights());
  op.weights = joined(op.weights,
                      {"norm2.gain", "norm2.bias", "feed_forward.hidden.weight",
                       "feed_forward.hidden.bias", "feed_forward.output.weight",
                       "feed_forward.output.bias"});
  return op;
}

} // namespace

std::vector<OperatorInfo> attentionOperators() {
  return {
      withKinds(fusable(multiHeadAttention())),
      withKinds(fusable(attention())),
      fusable({"rotate",
               "rotary positions: pairs of columns of every head, turned by "
               "the angles of their token",
               joined(Roles{input("[batch, N, heads*width]")},
                      rotaryRoles(/*required=*/true)),
               {integer("heads", "", "number of heads"), rotaryPairs()},
               {}},
              "rotation"),
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
      // "eps" is that of its norms, "hidden" that of its feed-forward.
      withKinds(fusable(omniAttention(), "omni"), {{"eps", "feature_eps"}}),
  };
}

} // namespace hova::frontend
