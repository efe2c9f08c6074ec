//===- IdleKeys.cpp - Keys that no inference reads ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What libraries write into every configuration: where a model comes from, how
// it was trained, what its results are called, and how a decoder samples. A key
// that any family reads while it computes is not here, however rare that is:
// `pad_token_id` decides positions of some, `tie_word_embeddings` a head.
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/KeyReader.h"
#include "frontend/reader/Text.h"

#include <algorithm>

namespace hova::frontend {

namespace {

constexpr std::string_view idleKeys[] = {
    // Where it comes from, and how it is loaded.
    "_attn_implementation*", "_commit_hash", "_name_or_path", "dtype",
    "torch_dtype", "torchscript", "transformers_version", "use_bfloat16",
    // What is returned beside the results.
    "output_attentions", "output_hidden_states", "return_dict",
    "use_return_dict",
    // How results are called, and what text becomes before it is tokens.
    "finetuning_task", "label2id", "prefix", "problem_type",
    "task_specific_params", "tokenizer_class",
    // Training.
    "*_dropout", "*_dropout_prob", "attention_dropout", "classifier_dropout",
    "drop_path_rate", "dropout", "gradient_checkpointing", "initializer_factor",
    "initializer_range", "layerdrop", "tf_legacy_loss",
    // The same numbers in other memory.
    "chunk_size_feed_forward", "use_cache",
    // How a decoder samples.
    "bad_words_ids", "begin_suppress_tokens", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "forced_bos_token_id",
    "forced_eos_token_id", "length_penalty", "max_length", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams",
    "num_return_sequences", "output_scores", "remove_invalid_values",
    "repetition_penalty", "return_dict_in_generate", "suppress_tokens",
    "temperature", "top_k", "top_p", "typical_p"};

} // namespace

bool isIdleKey(std::string_view key) {
  return std::any_of(std::begin(idleKeys), std::end(idleKeys),
                     [&](std::string_view pattern) {
                       return reader::matchGlob(pattern, key);
                     });
}

} // namespace hova::frontend
