# ===- vision_families.py - Encoders of images of which folders are tested --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Small configurations of them, for what is done with every family (folder_families.py)."""

from saved_folders import (
    LABELS,
    Family,
    images,
    texts,
)

IMAGE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
    "id2label": LABELS,
}
SIGLIP_IMAGE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 36,
    "patch_size": 8,
}
SIGLIP_TEXT = {
    "vocab_size": 120,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 12,
}


def both(config):
    # The class that is saved decides which towers there are.
    given = images(config.vision_config)
    return given if "ForImageClassification" in config.architectures[0] else given | texts(config.text_config)


def embeddings(result):
    return {
        "image_embedding": result.vision_model_output.pooler_output,
        "text_embedding": result.text_model_output.pooler_output,
    }


FAMILIES = [
    Family(
        "Dinov2",
        IMAGE | {"mlp_ratio": 1.5},
        ["Model", "ForImageClassification"],
        [{"hidden_act": "relu"}, {"hidden_act": "gelu_new"}, {"hidden_act": "silu"}, {"layer_norm_eps": 1e-2},
         {"num_attention_heads": 8}, {"num_hidden_layers": 3}, {"qkv_bias": False}, {"patch_size": 16},
         {"image_size": 24}, {"mlp_ratio": 3}, {"mlp_ratio": 1.3}, {"use_swiglu_ffn": True},
         {"use_swiglu_ffn": True, "mlp_ratio": 4}, {"layerscale_value": 0.1}, {"drop_path_rate": 0.1},
         {"out_indices": [1]}, {"apply_layernorm": False}, {"reshape_hidden_states": False}],
        images,
    ),
    Family(
        "Dinov2WithRegisters",
        IMAGE | {"mlp_ratio": 1.5, "num_register_tokens": 3},
        ["Model", "ForImageClassification"],
        [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-2}, {"num_attention_heads": 8}, {"qkv_bias": False},
         {"patch_size": 16}, {"image_size": 24}, {"mlp_ratio": 3}, {"use_swiglu_ffn": True}, {"num_register_tokens": 1}],
        images,
    ),
    Family(
        "SiglipVision",
        SIGLIP_IMAGE,
        ["Model"],
        [{"hidden_act": "relu"}, {"hidden_act": "gelu"}, {"hidden_act": "silu"}, {"layer_norm_eps": 1e-2},
         {"num_attention_heads": 8}, {"num_hidden_layers": 3}, {"intermediate_size": 64}, {"patch_size": 12},
         {"image_size": 32}, {"vision_use_head": False}],
        images,
        lambda result: {"image_hidden": result.last_hidden_state},
    ),
    Family(
        "SiglipText",
        SIGLIP_TEXT,
        ["Model"],
        [{"hidden_act": "relu"}, {"hidden_act": "gelu"}, {"hidden_act": "silu"}, {"layer_norm_eps": 1e-2},
         {"num_attention_heads": 4}, {"num_hidden_layers": 3}, {"intermediate_size": 64}, {"eos_token_id": 2},
         {"pad_token_id": 3}, {"projection_size": 24}],
        texts,
        lambda result: {"text_hidden": result.last_hidden_state},
    ),
    Family(
        "Siglip",
        {"vision_config": SIGLIP_IMAGE, "text_config": SIGLIP_TEXT | {"hidden_size": 64}, "id2label": LABELS},
        ["Model", "ForImageClassification"],
        [{"vision_config": SIGLIP_IMAGE | {"hidden_act": "relu"}}, {"text_config": SIGLIP_TEXT | {"hidden_size": 64, "hidden_act": "gelu"}},
         {"vision_config": SIGLIP_IMAGE | {"layer_norm_eps": 1e-2}}, {"text_config": SIGLIP_TEXT | {"hidden_size": 64, "layer_norm_eps": 1e-2}},
         {"vision_config": SIGLIP_IMAGE | {"num_attention_heads": 2}},
         {"text_config": SIGLIP_TEXT | {"hidden_size": 64, "num_attention_heads": 4}}],
        both,
        embeddings,
    ),
]  # fmt: skip
