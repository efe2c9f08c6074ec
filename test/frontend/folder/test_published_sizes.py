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
PUBLISHED = {
    "deberta-v3-base": (DEBERTA, 183831552),
    "deberta-v3-large": (DEBERTA | {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
                                    "intermediate_size": 4096}, 434012160),
    "deberta-v2-xlarge": (DEBERTA | {"hidden_size": 1536, "num_hidden_layers": 24, "num_attention_heads": 24, "attention_head_size": 64,
                                     "intermediate_size": 6144, "conv_kernel_size": 3, "conv_act": "gelu"}, 884593152),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters(name, tmp_path):
    config, parameters = PUBLISHED[name]
    folder = write_folder(tmp_path / "folder", config, None)
    done = hova("import", folder, "-o", tmp_path / "model.json")
    assert done.returncode == 0, done.stderr
    report = json.loads(hova("summary", tmp_path / "model.json", "--format=json").stdout)
    assert report["parameters"]["trainable"] == parameters
