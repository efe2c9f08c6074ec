# ===- test_unfused.py - What is fused of families at their published sizes -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Of two layers of each kind every site is fused on a CPU, with the exceptions that docs/import.md has."""

import json

import pytest
from folders import hova, write_folder

TWO = {"num_hidden_layers": 2}
BERT = TWO | {"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 100,
              "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}  # fmt: skip
LLAMA = TWO | {"model_type": "llama", "hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
               "vocab_size": 100}  # fmt: skip
QWEN = TWO | {"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
              "intermediate_size": 3072, "vocab_size": 100}  # fmt: skip
DEBERTA = TWO | {"model_type": "deberta-v2", "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 100,
                 "max_position_embeddings": 512, "relative_attention": True, "position_buckets": 256, "share_att_key": True,
                 "norm_rel_ebd": "layer_norm", "pos_att_type": "p2c|c2p", "position_biased_input": False, "type_vocab_size": 0}  # fmt: skip
DINO = TWO | {"model_type": "dinov2_with_registers", "hidden_size": 384, "num_attention_heads": 6, "image_size": 224, "patch_size": 14,
              "num_register_tokens": 4}  # fmt: skip
CLIP = {"model_type": "clip", "architectures": ["CLIPModel"], "text_config": TWO, "vision_config": TWO | {"patch_size": 32}}
CASES = {
    "bert": (BERT, {}, set()),
    "llama": (LLAMA, {}, set()),
    "qwen3": (QWEN, {}, set()),
    "modernbert": (TWO | {"model_type": "modernbert", "vocab_size": 100}, {}, set()),
    "deberta": (DEBERTA, {}, set()),
    "deberta, two texts": (DEBERTA, {"batch": 2}, {"rearrangement"}),
    "dinov2": (DINO, {}, {"rearrangement"}),
    "clip": (CLIP, {}, {"feed-forward", "patch embedding"}),
    "clip, more rows": (CLIP, {"batch": 2, "texts": 2}, {"feed-forward"}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_fused(case, tmp_path):
    config, sizes, kinds = CASES[case]
    folder = write_folder(tmp_path / "folder", config, None)
    model = tmp_path / "model.json"
    assert hova("import", folder, "-o", model).returncode == 0
    done = hova("explain", model, "--march=x86-64-v3", "--format=json", *[f"--set={name}={size}" for name, size in sizes.items()])
    assert done.returncode == 0, done.stderr
    apart = {site["kind"] for site in json.loads(done.stdout)["sites"] if not site["fused"]}
    assert apart == kinds
