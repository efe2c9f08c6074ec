//===- Topics.cpp - hova help TOPIC ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/options/Topics.h"

#include "llvm/ADT/STLExtras.h"

namespace hova::tool {

static constexpr llvm::StringLiteral kExpressions =
    R"text(Where an attribute of a description is a number or a boolean, a string is an
expression: "hidden": "4*width", "if": "index % 2 == 1".

  values       integers, numbers, true, false, 'text'
  arithmetic   + - * / // % ** and -x. / is exact: 7/2 is 3.5. // and % round
               down.
  comparison   == != < <= > >=
  logic        and, or, not
  functions    if(condition, a, b), min, max, abs, sqrt, floor, ceil, log2;
               of a list: count(list), list[index]; of a parameter that may
               be a range of sizes: largest(length)
  names        parameters, arguments of the block, and index, the number of the
               repetition, from 0

A parameter is a value, an expression of the parameters before it, or an object
with its legal values, and --set NAME=VALUE overrides it:

  "parameters": {"width": 512, "hidden": "4*width",
                 "kind": {"default": "softmax", "values": ["softmax", "additive"]},
                 "heads": {"default": 8, "min": 1, "max": 64}}

Where an attribute is one word of a list, as "kind" is, the string is that word,
and any other string is an expression.

The attributes "score" and "keep" of an attention are expressions too, of a query
and a key: a number, and whether the query sees the key.

  "score": "20*tanh(score/20) - slope[head]*(query - key)",
  "keep": "key <= query and query - key < window"

  indices      batch, head, query, key, counted from 0
  sizes        heads, queries, keys
  score        the scaled similarity; not in "keep"
  functions    those above, and exp, log, tanh, sigmoid
  elements     bias[head, query - key + 31] of an input or of an earlier layer,
               with one index for each axis, which cannot leave it

The "value" of a constant is an expression of the indices of an element.

  "shape": ["length", 32], "value": "cos(row * base ** (-column / 32))"

  indices      index0, index1, ..; of two axes row and column too
  functions    those of parameters and scores, and sin, cos;
               sum(k, 8, table[row, k]) adds up for k from 0 to 7
  elements     rate[column] of an earlier constant

An error shows the column in the string. docs/description.md has sections on
parameters, on written scores and on constants.
)text";

static constexpr llvm::StringLiteral kWeights =
    R"text(--weights FILE reads a safetensors file, or the index of a sharded one: a JSON file
with a "weight_map" from tensors to the files beside it.

  names        the path of the layer and of the weight below it, as in
               encoder.3.attn.query.weight; hova summary MODEL.json --format=json
               lists them all, with their shapes
  shapes       as in the list; matrices are [in, out], so y = x W + b. PyTorch's
               are [out, in]: a checkpoint source transposes them, or you do
  types        F32, F64, F16 and BF16; a program keeps them as --dtype says
  numbers      finite, also after passes have multiplied weights with each other

A tensor that is missing, left over or of another shape is an error that lists
them all, and says with which --set the file would fit. A file with the names and
layouts of a public library fits by way of a source: hova help checkpoints.

Without --weights, weights are drawn from a seed (--init SEED), each by its name,
as the initialisers of the description say:

  "init": {"weight": {"kind": "normal", "std": 0.02}}

hova check MODEL.json --weights FILE only says whether a file fits.

A program has its weights inside, in the layout of its kernels, or beside it
(--weights-mode=file). hova weights pack makes such an image of new weights for a
program that is compiled already, which takes it as --weights IMAGE. An image has
a header with the hash of the layout, and checksums at its end.
)text";

static constexpr llvm::StringLiteral kCheckpoints =
    R"text(The section "checkpoints" of a description says how the files of public libraries
become its weights. Each source has rules; a rule makes the weights "to" out of
the tensors "from" of the file:

  "checkpoints": {
    "timm": {
      "set": {"eps": 1e-6},
      "ignore": ["*.relative_position_index"],
      "rules": [
        {"to": ["encoder.{i}.attn.query.weight",
                "encoder.{i}.attn.key.weight",
                "encoder.{i}.attn.value.weight"],
         "from": "blocks.{i}.attn.qkv.weight",
         "apply": [{"split": 0}, "transpose"]},
        {"to": "head.{what}", "from": "head.{what}"}
      ]
    }
  }

  {i}                 one part of a path, the same on both sides
  "[bert.]a.weight"   a prefix that is there if a name of the file begins so
  "apply"             steps in turn: "transpose", {"transpose": [axes]},
                      {"reshape": [sizes]}, {"concatenate": axis}, {"split": axis},
                      {"slice": {"axis": 0, "start": 0, "end": 10}},
                      {"add": number}, {"multiply": number}
  "constant"          instead of "from": the weight is this number
  "ignore"            names that the file may have besides, with *
  "set"               parameters of the description that this source needs; a
                      --set that says otherwise is an error

The first rule that fits a weight counts. hova takes the source whose names fit
the file, and says which; --checkpoint=SOURCE demands one. Save a state_dict of
PyTorch as safetensors first:

  safetensors.torch.save_file(model.state_dict(), "model.safetensors")

docs/checked-against.md lists the sources that are compared with their libraries.
)text";

static constexpr Topic topics[] = {
    {"expressions", "the language of parameters, conditions and scores",
     kExpressions},
    {"weights", "files of weights, and where the numbers come from", kWeights},
    {"checkpoints", "weights with the names of public libraries",
     kCheckpoints}};

llvm::ArrayRef<Topic> getTopics() { return topics; }

const Topic *findTopic(llvm::StringRef name) {
  const Topic *found = llvm::find_if(
      topics, [&](const Topic &topic) { return topic.name == name; });
  return found == std::end(topics) ? nullptr : found;
}

} // namespace hova::tool
