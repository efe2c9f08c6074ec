# ===- test_published_sizes.py - Configurations as they are published -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What is published beside checkpoints is read, and the description has as many parameters as the library's model."""

import json

import pytest
from folders import hova, write_folder

DEBERTA = {
    "model_type": "deberta-v2", "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "initializer_range": 0.02, "max_position_embeddings": 512, "relative_attention": True, "position_buckets": 256,
    "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p", "layer_norm_eps": 1e-7,
    "max_relative_positions": -1, "position_biased_input": False, "type_vocab_size": 0, "vocab_size": 128100,
    "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12, "intermediate_size": 3072,
}  # fmt: skip
NOMIC = {
    "activation_function": "swiglu", "architectures": ["NomicBertModel"], "attn_pdrop": 0.0, "auto_map": {"AutoModel": "a--b.C"},
    "bos_token_id": None, "causal": False, "dense_seq_output": True, "embd_pdrop": 0.0, "eos_token_id": None,
    "fused_bias_fc": True, "fused_dropout_add_ln": True, "initializer_range": 0.02, "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 2048, "mlp_fc1_bias": False, "mlp_fc2_bias": False, "model_type": "nomic_bert", "n_embd": 768,
    "n_head": 12, "n_inner": 3072, "n_layer": 12, "n_positions": 8192, "pad_vocab_size_multiple": 64, "parallel_block": False,
    "parallel_block_tied_norm": False, "prenorm": False, "qkv_proj_bias": False, "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.0, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
    "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True, "summary_activation": None, "summary_first_dropout": 0.0, "summary_proj_to_labels": True,
    "summary_type": "cls_index", "summary_use_proj": True, "torch_dtype": "float32", "type_vocab_size": 2, "use_cache": True,
    "use_flash_attn": True, "use_rms_norm": False, "use_xentropy": True, "vocab_size": 30528,
}  # fmt: skip
# Since the library has the class, files say everything a second time in its words.
TWICE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "silu",
         "layer_norm_eps": 1e-12, "max_position_embeddings": 2048, "pad_token_id": 0,
         "rope_parameters": {"rope_theta": 1000.0, "rope_type": "default"}}  # fmt: skip
PUBLISHED = {
    "deberta-v3-base": (DEBERTA, 183831552),
    "deberta-v3-large": (DEBERTA | {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                                    "intermediate_size": 4096}, 434012160),
    "deberta-v2-xlarge": (DEBERTA | {"hidden_size": 1536, "num_hidden_layers": 24, "num_attention_heads": 24, "attention_head_size": 64,
                                     "intermediate_size": 6144, "conv_kernel_size": 3, "conv_act": "gelu"}, 884593152),
    "nomic-embed-text-v1": (NOMIC | {"rotary_scaling_factor": 2}, 136731648),
    "nomic-embed-text-v1.5": (NOMIC | TWICE, 136731648),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters(name, tmp_path):
    config, parameters = PUBLISHED[name]
    folder = write_folder(tmp_path / "folder", config, None)
    done = hova("import", folder, "-o", tmp_path / "model.json")
    assert done.returncode == 0, done.stderr
    report = json.loads(hova("summary", tmp_path / "model.json", "--format=json").stdout)
    assert report["parameters"]["trainable"] == parameters


@pytest.mark.parametrize("key, value", [("hidden_size", 512), ("hidden_act", "gelu"), ("rope_parameters", {"rope_theta": 500.0}),
                                        ("rope_parameters", {"rope_type": "linear", "factor": 2.0})])  # fmt: skip
def test_two_words_that_differ(key, value, tmp_path):
    folder = write_folder(tmp_path / "folder", NOMIC | TWICE | {key: value}, None)
    done = hova("import", folder)
    assert done.returncode == 1 and f"at /{key}" in done.stderr
