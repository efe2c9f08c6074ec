# ===- test_decoder_folders.py - Folders of decoders of text ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Families of decoders (test_folder_families.py has a folder of every class), and heads of their own."""

import pytest
from saved_folders import (
    LABELS,
    Family,
    build,
    check_saved,
    known,
    name_of,
    texts,
)

DECODER = {
    "vocab_size": 120,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 40,
    "rms_norm_eps": 1e-5,
    "pad_token_id": 0,
}
# Within these tokens some columns turn too slowly to be trained, some between, and some are as they were.
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 20}
YARN = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 8.0, "original_max_position_embeddings": 200}
LONGROPE = {"rope_type": "longrope", "factor": 2.0, "short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
KEYS = [
    {"num_attention_heads": 8}, {"num_key_value_heads": 4}, {"num_key_value_heads": 1}, {"num_hidden_layers": 3},
    {"rms_norm_eps": 1e-2}, {"rope_theta": 500.0}, {"hidden_act": "gelu"}, {"head_dim": 24}, {"attention_bias": True},
    {"attention_dropout": 0.1}, {"max_position_embeddings": 12}, {"eos_token_id": 5}, {"pad_token_id": 3},
    *({"rope_scaling": scaling} for scaling in [
        {"rope_type": "default"}, {"type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 4}, LLAMA3, YARN,
        LLAMA3 | {"low_freq_factor": 4.0, "high_freq_factor": 1.0}, YARN | {"attention_factor": 0.7}, YARN | {"attention_factor": None},
        YARN | {"beta_fast": 3.0, "beta_slow": 0.5}, YARN | {"truncate": False}, YARN | {"original_max_position_embeddings": 4},
        YARN | {"mscale": 1.0, "mscale_all_dim": 0.5}, {"rope_type": "dynamic", "factor": 2.0},
    ]),
    {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}, "max_position_embeddings": 8},
]  # fmt: skip

FAMILIES = [
    Family(
        "GPT2",
        {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 96, "vocab_size": 120, "n_positions": 40,
         "id2label": LABELS},
        ["Model", "ForTokenClassification", "LMHeadModel"],
        [{"activation_function": "relu"}, {"activation_function": "gelu"}, {"activation_function": "silu"},
         {"n_inner": None}, {"n_head": 8}, {"n_layer": 3}, {"layer_norm_epsilon": 1e-2}, {"scale_attn_weights": False},
         {"scale_attn_by_inverse_layer_idx": True}, {"add_cross_attention": True}, {"n_positions": 12},
         {"pad_token_id": 3}, {"resid_pdrop": 0.3}, {"summary_type": "last"}],
        texts,
    ),
    Family(
        "Llama", DECODER, ["Model", "ForCausalLM"],
        [*KEYS, {"rope_scaling": LONGROPE}, {"num_key_value_heads": None}, {"mlp_bias": True}, {"pretraining_tp": 2}, {"sliding_window": 3}], texts,
    ),
    Family(
        "Mistral", DECODER | {"sliding_window": 5, "head_dim": 16}, ["Model", "ForCausalLM"],
        [*KEYS, {"sliding_window": None}, {"sliding_window": 1}, {"sliding_window": 12}], texts, only_valid=True,
    ),
    Family(
        "Qwen2", DECODER, ["Model", "ForCausalLM"],
        [*KEYS, {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}, {"sliding_window": 3}], texts,
    ),
    Family(
        "Qwen3", DECODER | {"head_dim": 24}, ["Model", "ForCausalLM"],
        [*KEYS, {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}, {"sliding_window": 3}], texts,
    ),
    Family(
        "Gemma2",
        DECODER | {"head_dim": 24, "sliding_window": 5, "query_pre_attn_scalar": 10},
        ["Model", "ForCausalLM"],
        [*KEYS, {"hidden_activation": "relu"}, {"hidden_activation": "silu"}, {"query_pre_attn_scalar": 100},
         {"attn_logit_softcapping": 2.0}, {"attn_logit_softcapping": None}, {"sliding_window": 2},
         {"layer_types": ["full_attention", "sliding_attention"]}, {"layer_types": ["full_attention", "full_attention"]}],
        texts,
        only_valid=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("family", known(FAMILIES), ids=name_of)
def test_head_of_its_own(family, scratch):
    """Where the scores of words are not those of the table, the file has a matrix for them."""
    kind = next(kind for kind in family.kinds if kind.endswith(("LMHeadModel", "ForCausalLM")))
    check_saved(family, build(family, kind, tie_word_embeddings=False), scratch)
