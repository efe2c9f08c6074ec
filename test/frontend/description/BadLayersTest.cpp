//===- BadLayersTest.cpp - Mistakes of attributes, shapes and blocks --===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "test/frontend/BadDescriptions.h"

using namespace hova::test;

namespace {

std::vector<Bad> attributes() {
  return {
      layer(
          "word_misspelt",
          R"({"name": "y", "op": "activation", "input": "x", "kind": @"gelu_erff"})",
          "unknown word \"gelu_erff\""),
      layer("word_as_number",
            R"({"name": "y", "op": "activation", "input": "x", "kind": @1})",
            "expected one word of a list, got an integer"),
      layer(
          "word_of_wrong_parameter",
          R"({"name": "y", "op": "activation", "input": "x", "kind": @"kind"})",
          "\"kind\" must be one of relu, gelu_erf"),
      layer("width_zero",
            R"({"name": "y", "op": "linear", "input": "x", "width": @0})",
            "\"width\" must be at least 1, got 0"),
      layer(
          "width_huge",
          R"({"name": "y", "op": "linear", "input": "x", "width": @4294967296})",
          "\"width\" must be at most 2147483647"),
      layer("width_real",
            R"({"name": "y", "op": "linear", "input": "x", "width": @8.0})",
            "expected an integer or an expression, got a number"),
      layer("width_not_whole",
            R"({"name": "y", "op": "linear", "input": "x", "width": @"n/3"})",
            "expected an integer, got a number (1.33333"),
      layer("width_boolean",
            R"({"name": "y", "op": "linear", "input": "x", "width": @"on"})",
            "expected an integer, got a boolean (true)"),
      layer("eps_negative",
            R"({"name": "y", "op": "layer_norm", "input": "x", "eps": @-1e-6})",
            "\"eps\" must be at least 0, got -1e-06"),
      layer(
          "bias_as_integer",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "bias": @1})",
          "expected a boolean or an expression, got an integer"),
      layer(
          "factor_beyond_f32",
          R"({"name": "y", "op": "scale", "input": "x", "by": @1e39})",
          "1e+39 is beyond the largest number of f32, 3.4028234663852886e+38"),
      layer("factor_beyond_f32_by_an_expression",
            R"({"name": "y", "op": "scale", "input": "x", "by": @"n*1e38"})",
            "4e+38 is beyond the largest number of f32"),
      layer("eps_that_vanishes_in_f32",
            R"({"name": "y", "op": "layer_norm", "input": "x", "eps": @1e-60})",
            "1e-60 is 0 in f32"),
      layer(
          "least_length_of_zero",
          R"({"name": "y", "op": "layer_norm", "kind": "l2", "input": "x", "eps": @0})",
          "\"eps\" of kind l2 is the least length, and must be above 0"),
      layer(
          "mean_of_rows_by_length",
          R"({"name": "y", "op": "layer_norm", "kind": "l2", "input": "x", "center": @true})",
          "\"center\" has no meaning for kind l2"),
      layer("norm_of_uneven_heads",
            R"({"name": "y", "op": "layer_norm", "input": "x", "heads": @3})",
            "cannot split a width of 8 into 3 heads: \"heads\" must divide the "
            "width of \"input\""),
      layer(
          "norms_of_cosines",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine", "query_norm": @"rms"})",
          "kind cosine has queries and keys of length one"),
      layer(
          "norm_of_heads_with_no_least_length",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "query_norm": "l2", "norm_eps": @0})",
          "\"norm_eps\" of kind l2 is the least length, and must be above 0"),
      layer(
          "layout_of_a_learned_table",
          R"({"name": "y", "op": "positions", "input": "x", "kind": "learned", "layout": @"split"})",
          "\"layout\" has no meaning for kind learned"),
      layer(
          "constant_in_a_layer_that_is_left_out",
          R"({"name": "y", "op": "linear", "input": "x", "width": "@1/0", "if": false})",
          "division by zero"),
      layer(
          "condition_as_number",
          R"({"name": "y", "op": "scale", "input": "x", "by": 1, "if": @"n"})",
          "expected a boolean, got an integer (4)"),
      layer(
          "repeat_negative",
          R"({"name": "y", "op": "scale", "input": "x", "by": 1, "repeat": @-1})",
          "\"repeat\" must be 0 to 200000"),
      layer(
          "repeat_bomb",
          R"({"name": "y", "op": "scale", "input": "x", "by": 1, "repeat": @1000000000})",
          "\"repeat\" must be 0 to 200000"),
      layer("repeat_of_add",
            R"({"name": "y", "op": "add", "inputs": ["x"], "repeat": @2})",
            "add cannot be repeated"),
      layer(
          "require_something_else",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "require": @"fast"})",
          "unknown word \"fast\"; expected fused"),
      layer(
          "require_of_what_is_no_site",
          R"({"name": "y", "op": "scale", "input": "x", "by": 2, @"require": "fused"})",
          "unknown key \"require\" in scale"),
      layer(
          "unknown_initialiser",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {"weight": {"kind": @"gauss"}}})",
          "unknown word \"gauss\""),
      layer(
          "initialiser_of_nothing",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {@"wieght": {"kind": "zeros"}}})",
          "unknown key \"wieght\" in \"init\" of linear"),
      layer(
          "initialiser_without_spread",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {"weight": @{"kind": "normal"}}})",
          "a normal initialiser needs \"std\""),
      layer(
          "initialiser_negative",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {"weight": {"kind": "normal", "std": @-1}}})",
          "a spread must not be negative"),
      layer(
          "shared_layer_unknown",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "weights": @"other"})",
          "no earlier layer has the path \"other\""),
      layer(
          "shared_path_with_space",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "weights": "a@ b"})",
          "a path has letters, digits"),
      layer(
          "tied_weight_unknown",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "weight": @"embed.weight"})",
          "no earlier layer has the weight \"embed.weight\""),
      layer(
          "transposed_own_weight",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "transposed": @true})",
          "\"transposed\" needs \"weight\""),
      layer(
          "gate_with_unknown_key",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "vertical": {@"hidden": 2}})",
          "unknown key \"hidden\" in \"vertical\""),
      layer(
          "gate_width_zero",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "vertical": {"width": @"n - 4"}})",
          "\"width\" must be at least 1, got 0"),
  };
}

std::vector<Bad> shapes() {
  return {
      layer("ids_as_numbers",
            R"({"name": "y", "op": "layer_norm", "input": @"ids"})",
            "expects input of numbers [.., D], got i32 [2, 4]"),
      layer(
          "numbers_as_ids",
          R"({"name": "y", "op": "embedding", "input": @"x", "vocab": 4, "width": 4})",
          "expects input of integers [batch, N], got f32 [2, 4, 8]"),
      layer("image_as_sequence",
            R"({"name": "y", "op": "class_token", "input": @"image"})",
            "expects input of shape [batch, N, D], got f32 [1, 3, 8, 8]"),
      layer(
          "sequence_as_image",
          R"({"name": "y", "op": "patch_embedding", "input": @"x", "patch": 2, "width": 4})",
          "expects input of shape [batch, channels, height, width]"),
      layer(
          "patch_does_not_divide",
          R"({"name": "y", "op": "patch_embedding", "input": "image", "patch": @3, "width": 4})",
          "patch 3 does not divide an image of 8 x 8; unfold with "
          "\"kernel\": 3 and \"stride\": 3, then linear, takes the patches "
          "that are whole"),
      layer(
          "sum_of_two_shapes",
          R"({"name": "a", "op": "linear", "input": "x", "width": 4}, {"name": "y", "op": "add", "inputs": @["x", "a"]})",
          "cannot combine shapes [2, 4, 8] and [2, 4, 4]"),
      layer(
          "heads_do_not_divide",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": @3})",
          "cannot split a width of 8 into 3 heads"),
      layer(
          "key_width_of_softmax",
          R"(@{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "head_width": 4, "key_head_width": 3})",
          "heads of one width for queries and keys, got 4 and 3 (two are "
          "allowed for kind additive)"),
      layer(
          "hidden_of_softmax",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "hidden": @3})",
          "\"hidden\" has no meaning for kind softmax"),
      layer(
          "score_bias_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "score_bias": @"x"})",
          "a performer has no scores that score_bias could change; use "
          "key_valid"),
      layer(
          "mask_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "mask": @"x"})",
          "a performer has no scores that mask could change"),
      layer(
          "memory_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "memory": @3})",
          "a performer has no softmax that the slots of a memory could take "
          "part in"),
      layer(
          "scores_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "scores": @true})",
          "a performer has no scores to give"),
      layer(
          "scores_of_windows",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "window": 2, "grid_height": 2, "scores": @true})",
          "scores inside windows have no meaning for a layer whose windows "
          "are others"),
      layer(
          "temperature_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "temperature": @2})",
          "\"temperature\" has no meaning for kind performer"),
      layer(
          "scores_that_are_not_given",
          R"({"name": "a", "op": "multi_head_attention", "input": "x", "heads": 2}, {"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "score_bias": "a.@scores"})",
          "\"a\" is not a block; it has no \"scores\""),
      layer(
          "sinusoid_of_a_vector",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {"bias": @{"kind": "sinusoid", "first": 0}}})",
          "a sinusoid initialiser needs a table, got the shape [4]"),
      layer(
          "sinusoid_from_half_a_row",
          R"({"name": "y", "op": "linear", "input": "x", "width": 4, "init": {"weight": {"kind": "sinusoid", "first": @0.5}}})",
          "\"first\" is the first row of positions, 0 to 8, got 0.5"),
      layer(
          "uniform_rows_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "empty_row": @"uniform"})",
          "a row without keys is zero for kind performer"),
      layer(
          "hidden_of_a_performer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "hidden": @4})",
          "\"hidden\" has no meaning for kind performer"),
      layer(
          "softmax_performer_without_features",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "kernel": @"softmax"})",
          "kernel softmax needs \"features\""),
      layer(
          "softmax_performer_with_no_features",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "kernel": "softmax", "features": @0})",
          "kernel softmax needs \"features\""),
      layer(
          "performer_without_a_scale",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "scale": @0})",
          "\"scale\" must be above 0 for kind performer"),
      layer(
          "performer_of_two_head_widths",
          R"(@{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "key_head_width": 3})",
          "needs heads of one width for queries and keys"),
      layer(
          "eps_of_exponential_features",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "performer", "kernel": "exp", "features": 4, "eps": @1})",
          "kernel exp adds nothing to its features"),
      layer(
          "features_of_a_softmax",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "features": @4})",
          "\"features\" has no meaning for kind softmax, only for performer"),
      layer(
          "key_valid_of_a_linformer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "linformer", "projected_tokens": 2, "key_valid": @"valid"})",
          "each key of linformer is a sum of all tokens, which no key_valid "
          "could change"),
      layer(
          "causal_linformer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "linformer", "projected_tokens": 2, "causal": @true})",
          "so it has no causal form"),
      layer(
          "causal_omni_linformer",
          R"({"name": "y", "op": "omni_attention", "inputs": ["x"], "heads": 2, "hidden": 4, "kind": "linformer", "projected_tokens": 2, "causal": @"block"})",
          "so it has no causal form"),
      layer(
          "uniform_rows_of_a_linformer",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "linformer", "projected_tokens": 2, "empty_row": @"uniform"})",
          "no row of linformer is without keys"),
      layer(
          "linformer_without_a_size",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": @"linformer"})",
          "kind linformer needs \"projected_tokens\""),
      layer(
          "linformer_of_no_tokens",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "linformer", "projected_tokens": @0})",
          "kind linformer needs \"projected_tokens\""),
      layer(
          "linformer_of_more_tokens",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "linformer", "projected_tokens": 2, "max_tokens": @3})",
          "must be at least the number of keys, 4, got 3"),
      layer(
          "projection_of_a_softmax",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "projected_tokens": @4})",
          "\"projected_tokens\" has no meaning for kind softmax, only for "
          "linformer"),
      layer(
          "memory_of_cosines",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine", "memory": @3})",
          "the slots of a memory have lengths of their own"),
      layer(
          "kernel_of_an_additive_attention",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "additive", "kernel": @"relu"})",
          "\"kernel\" has no meaning for kind additive, only for performer"),
      layer(
          "scale_of_additive",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "additive", "scale": @1})",
          "\"scale\" has no meaning for kind additive"),
      layer(
          "scale_of_cosine",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine", "scale": @1})",
          "\"scale\" has no meaning for kind cosine, whose heads learn one"),
      layer(
          "hidden_of_cosine",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine", "hidden": @5})",
          "\"hidden\" has no meaning for kind cosine"),
      layer(
          "features_of_cosine",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine", "features": @8})",
          "\"features\" has no meaning for kind cosine, only for performer"),
      layer(
          "keys_of_another_width_of_cosine",
          R"(@{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "kind": "cosine", "key_head_width": 3})",
          "needs heads of one width for queries and keys, got"),
      layer(
          "validity_of_numbers",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "key_valid": @"ids"})",
          "expects key_valid of bool [2, 4], got i32 [2, 4]"),
      layer(
          "mask_of_wrong_rank",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "mask": @"valid"})",
          "expects mask of booleans [2, 2, 4, 4]"),
      layer(
          "bias_of_booleans",
          R"({"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "score_bias": @"valid"})",
          "expects score_bias of numbers"),
      layer(
          "batches_differ",
          R"({"name": "p", "op": "patch_embedding", "input": "image", "patch": 4, "width": 8}, {"name": "y", "op": "multi_head_attention", "input": "x", "key": @"p", "heads": 2})",
          "needs one batch for all"),
      layer(
          "slice_outside",
          R"({"name": "y", "op": "slice", "input": "x", "axis": 1, "start": 2, "end": @5})",
          "the slice [2, 5) of an axis of 4"),
      layer(
          "slice_empty",
          R"({"name": "y", "op": "slice", "input": "x", "axis": 1, "start": @4})",
          "the slice [4, 4) of an axis of 4"),
      layer("axis_outside",
            R"({"name": "y", "op": "slice", "input": "x", "axis": @3})",
            "axis 3 of a value with 3 axes"),
      layer(
          "concat_of_other_rows",
          R"({"name": "a", "op": "slice", "input": "x", "axis": 1, "end": 2}, {"name": "y", "op": "concat", "inputs": @["x", "a"]})",
          "cannot join f32 [2, 4, 8] and f32 [2, 2, 8] along axis 2"),
      layer(
          "table_too_short",
          R"({"name": "y", "op": "positions", "input": "x", "kind": "learned", "length": @3})",
          "the table has 3 rows for 4 tokens"),
      layer(
          "base_below_one",
          R"({"name": "y", "op": "positions", "input": "x", "kind": "sinusoid", "base": @0.5})",
          R"("base" must be at least 1, got 0.5)"),
      layer(
          "base_of_a_learned_table",
          R"({"name": "y", "op": "positions", "input": "x", "kind": "learned", "base": @100})",
          R"("base" has no meaning for kind learned)"),
      layer(
          "split_of_odd_width",
          R"({"name": "a", "op": "linear", "input": "x", "width": 7}, {"name": "y", "op": "positions", "input": "a", "kind": "sinusoid", "layout": @"split"})",
          "layout split needs an even width"),
      layer(
          "omni_states_differ",
          R"({"name": "a", "op": "linear", "input": "x", "width": 4}, {"name": "y", "op": "omni_attention", "inputs": @["x", "a"], "heads": 2, "hidden": 4})",
          "needs states of one shape, got [2, 4, 8] and [2, 4, 4]"),
      layer(
          "reweight_of_other_tokens",
          R"({"name": "a", "op": "slice", "input": "x", "axis": 1, "end": 2}, {"name": "y", "op": "head_reweight", "input": "x", "heads_input": @"a", "heads": 2})",
          "needs the batch and tokens of its input"),
      layer(
          "tied_weight_of_other_shape",
          R"({"name": "e", "op": "embedding", "input": "ids", "vocab": 9, "width": 8}, {"name": "y", "op": "linear", "input": "e", "width": 9, "weight": @"e.weight"})",
          "the weight \"e.weight\" has shape [9, 8], but [8, 9] is needed "
          "here"),
      layer(
          "shared_weight_of_other_shape",
          R"({"name": "a", "op": "linear", "input": "x", "width": 4, "bias": false}, {"name": @"y", "op": "linear", "input": "x", "width": 5, "bias": false, "weights": "a"})",
          "the shared weight \"a.weight\" has shape [8, 4], but [8, 5] is "
          "needed here"),
      layer(
          "weights_that_fit_in_part",
          R"({"name": "a", "op": "linear", "input": "x", "width": 4, "bias": false}, {"name": "y", "op": "linear", "input": "x", "width": 4, "weights": @"a"})",
          "no earlier layer has the weight \"a.bias\", which \"y\" needs"),
      block(
          "weights_of_a_block_that_fit_in_part",
          R"("b": {"inputs": ["a"], "arguments": {"more": false}, "layers": [{"name": "l", "op": "linear", "input": "a", "width": 8}, {"name": "m", "op": "layer_norm", "input": "l", "if": "more"}], "output": "m"})",
          R"({"name": "left", "block": "b", "input": "x"}, {"name": "y", "block": "b", "input": "left", "arguments": {"more": true}, "weights": @"left"})",
          "no earlier layer has the weight \"left.m.gain\", which \"y.m\" "
          "needs"),
      layer("unused_weights",
            R"({"name": @"a", "op": "linear", "input": "x", "width": 4})" +
                std::string(last),
            "the weights of \"a\" are not used"),
      layer(
          "weight_too_large",
          R"({"name": "a", "op": "linear", "input": "x", "width": 2000000000}, @{"name": "y", "op": "linear", "input": "a", "width": 2000000000})",
          "is too large"),
      {"ids_outside_of_table",
       whole(
           R"("inputs": {"x": {"shape": [1, 2], "dtype": "i32", "range": [0, 10]}}, "layers": [{"name": "y", "op": "embedding", "input": @"x", "vocab": 9, "width": 2}], "outputs": {"o": "y"})"),
       {"has rows 0 to 8, but the ids are in [0, 10)"}},
  };
}

std::vector<Bad> blocks() {
  std::string use = R"({"name": "y", "block": "keep", "input": "x"})";
  return {
      block("unknown_block", identity,
            R"({"name": "y", "block": @"kep", "input": "x"})",
            "unknown block \"kep\""),
      block(
          "block_without_inputs",
          R"("b": @{"layers": [{"name": "l", "op": "scale", "input": "a", "by": 1}], "output": "l"})",
          R"({"name": "y", "block": "b", "input": "x"})",
          "missing key \"inputs\" in a block"),
      block(
          "block_input_missing",
          R"("b": {"inputs": ["a", "c"], "layers": [{"name": "l", "op": "add", "inputs": ["a", "c"]}], "output": "l"})",
          R"({"name": @"y", "block": "b", "inputs": {"a": "x"}})",
          "block \"b\" needs the input \"c\""),
      block(
          "block_input_unknown", identity,
          R"({"name": "y", "block": "keep", "inputs": {"a": "x", @"c": "x"}})",
          "unknown key \"c\" in the inputs of keep"),
      block("block_input_as_list", identity,
            R"({"name": "y", "block": "keep", "inputs": @["x"]})",
            "must be an object, got a list"),
      block(
          "argument_missing",
          R"("b": {"inputs": ["a"], "arguments": {"w": null}, "layers": [{"name": "l", "op": "linear", "input": "a", "width": "w"}], "output": "l"})",
          R"({"name": @"y", "block": "b", "input": "x"})",
          "block \"b\" needs the argument \"w\""),
      block(
          "argument_unknown", identity,
          R"({"name": "y", "block": "keep", "input": "x", "arguments": {@"w": 1}})",
          "unknown key \"w\" in the arguments of keep"),
      layer("unfold_of_ids",
            R"({"name": "y", "op": "unfold", "input": @"ids", "kernel": 2})",
            "expects input of numbers [batch, channels, height, width] or"),
      layer(
          "unfold_grid_of_an_image",
          R"({"name": "y", "op": "unfold", "input": "image", "kernel": 2, "grid_height": @8})",
          "\"grid_height\" has no meaning for an image that is no tokens"),
      layer(
          "reshape_to_other_size",
          R"({"name": "y", "op": "reshape", "input": "x", "shape": @[3, "n"]})",
          "the elements of f32 [2, 4, 8] do not fill [3, 4]"),
      layer(
          "reshape_to_nothing",
          R"({"name": "y", "op": "reshape", "input": "x", "shape": [@0, 64]})",
          "a dimension must be 1 to 2147483647, got 0"),
      layer("reshape_without_axes",
            R"({"name": "y", "op": "reshape", "input": "x", "shape": @[]})",
            "a shape without axes"),
      layer(
          "pad_unknown_axis",
          R"({"name": "y", "op": "pad", "input": "x", "axis": @3, "before": 1})",
          "axis 3 of a value with 3 axes"),
      layer(
          "pad_beyond_a_dimension",
          R"({"name": "y", "op": "pad", "input": "x", "before": @2147483647})",
          "an axis of 2147483655 elements; the largest is 2147483647"),
      block(
          "block_input_null",
          R"("b": {"inputs": ["a", "c"], "layers": [{"name": "l", "op": "add", "inputs": ["a", @"c"]}], "output": "l"})",
          R"({"name": "y", "block": "b", "inputs": {"a": "x", "c": null}})",
          "\"c\" has no value: it is null here, or its layer was left out"),
      block(
          "output_of_nothing",
          R"("b": {"inputs": ["a"], "layers": [{"name": "l", "op": "scale", "input": "a", "by": 1}], "outputs": {"a": "l", "c": "l"}})",
          R"({"name": "z", "block": "b", "repeat": 0, "input": "x"}, {"name": "y", "op": "scale", "input": "z.@c", "by": 1})",
          "\"z\" has no layer or output \"c\""),
      block(
          "block_without_output",
          R"("b": @{"inputs": ["a"], "layers": [{"name": "l", "op": "scale", "input": "a", "by": 1}]})",
          R"({"name": "y", "block": "b", "input": "x"})",
          "a block has either \"output\" or \"outputs\""),
      block(
          "block_sees_only_its_inputs",
          R"("b": {"inputs": ["a"], "layers": [{"name": "l", "op": "add", "inputs": ["a", "@x"]}], "output": "l"})",
          R"({"name": "y", "block": "b", "input": "x"})",
          "unknown value \"x\""),
      block(
          "block_uses_itself",
          R"("b": {"inputs": ["a"], "layers": [{"name": "l", "block": @"b", "input": "a"}], "output": "l"})",
          R"({"name": "y", "block": "b", "input": "x"})",
          "block \"b\" uses itself: b -> b"),
      block(
          "blocks_use_each_other",
          R"("b": {"inputs": ["a"], "layers": [{"name": "l", "block": "c", "input": "a"}], "output": "l"}, "c": {"inputs": ["a"], "layers": [{"name": "l", "block": @"b", "input": "a"}], "output": "l"})",
          R"({"name": "y", "op": "scale", "input": "x", "by": 1})",
          "block \"b\" uses itself: b -> c -> b"),
      block(
          "nested_bomb",
          R"("b": {"inputs": ["a"], "layers": [@{"name": "l", "op": "scale", "input": "a", "by": 1, "repeat": 1000}], "output": "l"}, "c": {"inputs": ["a"], "layers": [{"name": "l", "block": "b", "input": "a", "repeat": 1000}], "output": "l"})",
          R"({"name": "y", "block": "c", "input": "x", "repeat": 1000})",
          "the model becomes too large here"),
      block("no_such_layer_inside", identity,
            use.substr(0, use.size() - 1) +
                R"(}, {"name": "z", "op": "scale", "input": "y.@c", "by": 1})",
            "\"y\" has no layer or output \"c\""),
      block("init_on_a_block", identity,
            R"({"name": "y", "block": "keep", "input": "x", @"init": {}})",
            "unknown key \"init\" in the use of a block"),
      block(
          "mistake_inside_a_block",
          R"("b": {"inputs": ["a"], "layers": [{"name": "l", "op": "linear", "input": "a", "width": @"n/3"}], "output": "l"})",
          R"({"name": "y", "block": "b", "input": "x", "repeat": 12})",
          "expected an integer, got a number (1.33333"),
      block(
          "list_into_a_repetition", identity,
          R"({"name": "a", "op": "scale", "input": "x", "by": 1, "repeat": 2}, @{"name": "y", "block": "keep", "input": "a[*]", "repeat": 2})",
          "the first input of a repeated layer is one value"),
      block(
          "shape_changes_in_a_repetition",
          R"("b": {"inputs": ["a"], "layers": [{"name": "l", "op": "linear", "input": "a", "width": "6 - 2*index"}, {"name": "m", "op": "add", "inputs": @["a", "l"]}], "output": "m"})",
          R"({"name": "y", "block": "b", "input": "x", "repeat": 2})",
          "cannot combine shapes [2, 4, 8] and [2, 4, 6]"),
  };
}

std::vector<Bad> checkpoints() {
  auto source = [](const char *name, const std::string &text,
                   const std::string &message) {
    return Bad{name,
               whole(std::string(R"("parameters": {"n": 4}, )") + oneInput +
                     tail + ", \"checkpoints\": {\"lib\": " + text + "}"),
               {message}};
  };
  return {
      source("checkpoint_as_list", "@[]",
             "a checkpoint source must be an object"),
      source("checkpoint_without_rules", "@{}", "missing key \"rules\""),
      source("checkpoint_sets_unknown", R"({"rules": [], "set": {@"m": 1}})",
             "unknown key \"m\" in \"set\""),
      source("checkpoint_sets_expression",
             R"({"rules": [], "set": {"n": "@n"}})", "unknown name \"n\""),
      source("rule_without_source", R"({"rules": [@{"to": "a"}]})",
             "a rule has \"to\", and either"),
      source("rule_with_unknown_key",
             R"({"rules": [{"to": "a", "from": "b", @"steps": []}]})",
             "unknown key \"steps\" in a rule"),
      source("rule_with_open_brace",
             R"({"rules": [{"to": @"a.{i", "from": "b"}]})",
             "a pattern has names in braces"),
      source("rule_with_unknown_capture",
             R"({"rules": [{"to": "a.{i}", "from": @"b.{j}"}]})",
             "unknown name \"j\" in braces"),
      source("rule_with_unequal_captures",
             R"({"rules": [{"to": ["a.{i}", @"c"], "from": "b.{i}"}]})",
             "all patterns of one rule have the same names"),
      source("unknown_step",
             R"({"rules": [{"to": "a", "from": "b", "apply": [@"flip"]}]})",
             "unknown word \"flip\"; expected transpose"),
      source(
          "unknown_named_step",
          R"({"rules": [{"to": "a", "from": "b", "apply": [{@"chunk": 0}]}]})",
          "unknown key \"chunk\" in a step"),
      source(
          "two_steps_in_one",
          R"({"rules": [{"to": "a", "from": "b", "apply": [@{"split": 0, "transpose": [0]}]}]})",
          "a step has one key"),
      source(
          "reshape_by_unknown_name",
          R"({"rules": [{"to": "a", "from": "b", "apply": [{"reshape": ["@width"]}]}]})",
          "unknown name \"width\""),
      source("ignore_as_string", R"({"rules": [], "ignore": @"a"})",
             "\"ignore\" must be a list, got a string"),
  };
}

std::vector<Bad> all() {
  std::vector<Bad> cases;
  for (const auto &group : {attributes(), shapes(), blocks(), checkpoints()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  return cases;
}

class BadLayers : public BadDescriptions {};

TEST_P(BadLayers, are_rejected_at_the_place) { expectRejected(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, BadLayers, testing::ValuesIn(all()),
                         [](const auto &info) { return info.param.name; });

} // namespace
