# ===- test_folders.py - A model's folder becomes a right program ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Folders compile to what an independent NumPy model computes, f32 within 1e-5 of the largest value."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from folders import (
    BATCH,
    CONFIG,
    LENGTH,
    Bert,
    hova,
    inputs,
    run,
    tensors,
    write_folder,
    write_shards,
)

SHAPE = [f"--set=batch={BATCH}", f"--set=length={LENGTH}"]
LABELS = {str(i): f"label {i}" for i in range(3)}
POOLING = {
    "word_embedding_dimension": 32,
    "pooling_mode_cls_token": False,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_max_tokens": False,
    "pooling_mode_mean_sqrt_len_tokens": False,
}


def modules(*names):
    return [
        {"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"}
        for i, name in enumerate(names)
    ]


def check_close(got, want):
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def compile_and_compare(folder, config, weights, task, output, *options, **how):
    program = folder.parent / "program"
    done = hova("compile", folder, "-o", program, "--march=x86-64-v3", *SHAPE, *options)
    assert done.returncode == 0, done.stderr
    given = inputs(config)
    got = run(program, given, folder.parent / "out")
    assert list(got) == [output]
    check_close(got[output], Bert(config, weights).compute(task, **given, **how))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"hidden_act": "relu"},
        {"hidden_act": "gelu_new"},
        {"layer_norm_eps": 1e-2},
        {"num_attention_heads": 8},
        {"num_hidden_layers": 1},
    ],
)
def test_keys_decide(changed, tmp_path):
    """What no tensor shows is read from the configuration."""
    config = CONFIG | changed
    weights = tensors(config)
    folder = write_folder(tmp_path / "folder", config, weights)
    compile_and_compare(folder, config, weights, "hidden", "hidden")


@pytest.mark.parametrize(
    "architecture, task",
    [
        ("BertForSequenceClassification", "classify"),
        ("BertForTokenClassification", "tokens"),
        ("BertForMaskedLM", "logits"),
    ],
)
def test_architecture_is_the_task(architecture, task, tmp_path):
    config = CONFIG | {"architectures": [architecture], "id2label": LABELS}
    weights = tensors(config)
    folder = write_folder(tmp_path / "folder", config, weights)
    compile_and_compare(folder, config, weights, task, "logits")


@pytest.mark.parametrize(
    "labels, classes",
    [
        ({}, 2),
        ({"num_labels": 3}, 3),
        ({"id2label": None, "num_labels": 3}, 3),
        ({"id2label": LABELS}, 3),
        ({"id2label": LABELS, "num_labels": 5}, 3),
    ],
    ids=["neither", "number", "number and null", "names", "names before number"],
)
def test_number_of_classes(labels, classes, tmp_path):
    """Names of classes count, then their number, then what the library takes."""
    config = CONFIG | {"architectures": ["BertForSequenceClassification"]} | labels
    weights = tensors(config)
    weights |= {f"classifier.{name}": weights[f"classifier.{name}"][:classes] for name in ("weight", "bias")}
    folder = write_folder(tmp_path / "folder", config, weights)
    compile_and_compare(folder, config, weights, "classify", "logits")


# What the keys of older files and the words of newer ones call a pooling.
POOLINGS = {
    "first": ("pooling_mode_cls_token", "cls"),
    "last": ("pooling_mode_lasttoken", "lasttoken"),
    "mean": ("pooling_mode_mean_tokens", "mean"),
    "weighted_mean": ("pooling_mode_weightedmean_tokens", "weightedmean"),
}


@pytest.mark.parametrize("form", ["key", "word", "list"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_sentence_encoder(pooling, form, tmp_path):
    weights = tensors(CONFIG)
    normalize = form != "word"
    key, word = POOLINGS[pooling]
    pooled = {
        "key": POOLING | {"pooling_mode_mean_tokens": False} | {key: True},
        "word": {"embedding_dimension": 32, "pooling_mode": word, "include_prompt": True},
        # Where there are words, keys count for nothing.
        "list": {"pooling_mode": [word], "pooling_mode_max_tokens": True},
    }[form]
    names = ["Transformer", "Pooling"] + (["Normalize"] if normalize else [])
    files = {"modules.json": modules(*names), "1_Pooling/config.json": pooled}
    folder = write_folder(tmp_path / "folder", CONFIG, weights, **files)
    compile_and_compare(
        folder, CONFIG, weights, "embed", "embedding", pooling=pooling, normalize=normalize
    )


def test_task_is_chosen(tmp_path):
    """The saved class has a head; its states are asked for."""
    config = CONFIG | {"architectures": ["BertForQuestionAnswering"]}
    weights = tensors(config)
    folder = write_folder(tmp_path / "folder", config, weights)
    compile_and_compare(folder, config, weights, "hidden", "hidden", "--task=hidden")


def test_sharded(tmp_path):
    """Shards by their index; links of a cache are followed."""
    weights = tensors(CONFIG)
    cache = write_shards(tmp_path / "cache", CONFIG, weights)
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in cache.iterdir():
        (folder / path.name).symlink_to(path)
    compile_and_compare(folder, CONFIG, weights, "hidden", "hidden")


def test_image_of_another_program_says_how_one_is_made(tmp_path):
    """By the folder, with its task: neither its description nor a shard makes one alone."""
    folder = write_shards(tmp_path / "folder", CONFIG, tensors(CONFIG))
    march = "--march=x86-64-v3"
    for task in ("hidden", "logits"):
        done = hova(
            "compile", folder, f"--task={task}", march, "-o", tmp_path / task, "--weights-mode=file"
        )
        assert done.returncode == 0, done.stderr
    image = tmp_path / "logits.weights"
    wanted = image.read_bytes()
    image.unlink()
    words = [tmp_path / "logits", "--weights", tmp_path / "hidden.weights", "--random-inputs", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    suggestion = done.stderr.split("with: hova ")[1].split()
    assert suggestion == ["weights", "pack", "folder", "--task=logits", march, "-o", "IMAGE"]
    suggestion[2], suggestion[-1] = folder, image
    assert hova(*suggestion).returncode == 0
    assert image.read_bytes() == wanted
    again = tmp_path / "again"
    index = folder / "model.safetensors.index.json"
    done = hova("compile", f"--reproduce={tmp_path / 'logits'}", "--weights", index, "-o", again)
    assert done.returncode == 0, done.stderr
    assert again.read_bytes() == (tmp_path / "logits").read_bytes()


def test_image_of_weights_in_several_files_is_made_of_their_index(tmp_path):
    folder = write_shards(tmp_path / "folder", CONFIG, tensors(CONFIG))
    description, index = tmp_path / "model.json", folder / "model.safetensors.index.json"
    assert hova("import", folder, "-o", description).returncode == 0
    for task in ("hidden", "logits"):
        words = [f"--set=task={task}", "--march=x86-64-v3", "--weights", index, "--weights-mode=file"]
        assert hova("compile", description, *words, "-o", tmp_path / task).returncode == 0
    words = [tmp_path / "logits", "--weights", tmp_path / "hidden.weights", "--random-inputs", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    suggestion = done.stderr.split("with: hova ")[1].split()
    assert suggestion[-4:] == ["--weights", index.name, "-o", "IMAGE"]


def test_import_writes_the_description(tmp_path):
    """It has the parameters, needs no configuration, and makes the same numbers."""
    config = CONFIG | {"hidden_act": "relu", "layer_norm_eps": 1e-3}
    weights = tensors(config)
    folder = write_folder(tmp_path / "folder", config, weights)
    done = hova("import", folder, "-o", tmp_path / "model.json")
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "model.json").read_text())
    parameters = written["parameters"]
    assert parameters["width"] == 32 and parameters["eps"] == 1e-3
    assert parameters["activation"]["default"] == "relu"
    assert set(written["checkpoints"]["transformers"]) == {"ignore", "rules"}
    program = tmp_path / "program"
    shutil.copy(folder / "model.safetensors", tmp_path / "alone.safetensors")
    done = hova(
        "compile", tmp_path / "model.json", "--weights", tmp_path / "alone.safetensors",
        "-o", program, "--march=x86-64-v3", *SHAPE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    given = inputs(config)
    got = run(program, given, tmp_path / "out")
    check_close(got["hidden"], Bert(config, weights).compute("hidden", **given))


@pytest.mark.parametrize("verb", ["check", "summary", "explain"])
def test_verbs_take_folders(verb, tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG))
    done = hova(verb, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_verify_takes_folders(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG))
    done = hova("verify", folder, "--cases=1", "--march=x86-64-v3", *SHAPE)
    assert done.returncode == 0, done.stderr + done.stdout


def test_explain_says_what_keys_do(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG))
    said = hova("explain", folder).stdout
    for key, value, fate in [
        ("hidden_size", "32", "decides width"),
        ("position_embedding_type", '"absolute"', "as bert requires"),
        ("pad_token_id", "0", "ignored by bert"),
        ("transformers_version", '"4.46.3"', "no inference reads it"),
        ("model_type", '"bert"', "chooses bert"),
        ("architectures", '[ "BertModel" ]', "says what is computed"),
    ]:
        line = next(line for line in said.splitlines() if line.split()[:1] == [key])
        assert line.split(None, 1)[1].split("  ")[0] == value and line.endswith(f"  {fate}")


def test_check_calls_the_folder_by_its_name(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG))
    assert hova("check", folder).stdout == f"{folder}: ok\n"
    assert json.loads(hova("check", folder, "--format=json").stdout)["file"] == str(folder)


def test_task_is_that_of_the_command_line(tmp_path):
    config = CONFIG | {"architectures": ["BertForMaskedLM"]}
    folder = write_folder(tmp_path / "folder", config, tensors(CONFIG))
    for options, outputs in [([], ["logits"]), (["--task=hidden"], ["hidden"]), (["--task=embed"], ["embedding"])]:
        report = json.loads(hova("check", folder, *options, "--format=json").stdout)
        assert list(report["outputs"]) == outputs or [one["name"] for one in report["outputs"]] == outputs


@pytest.mark.parametrize(
    "config, width",
    [({"a": {"size": 4}}, 4), ({"a.size": 6}, 6), ({"a.size": 6, "a": {"size": 4}}, None), ({}, 8)],
    ids=["in an object", "with a dot", "both", "neither"],
)
def test_keys_of_a_family_of_the_user(config, width, tmp_path):
    """A name with a dot is a key of an object, or a key with a dot; where both are, the other one is unknown."""
    family = {
        "hova": 1,
        "name": "tiny",
        "parameters": {"width": 8},
        "inputs": {"x": {"shape": [1, "width"]}},
        "layers": [{"name": "y", "op": "activation", "input": "x", "kind": "relu"}],
        "outputs": {"y": "y"},
        "checkpoints": {
            "library": {
                "config": {"model_type": ["tiny"], "set": {"width": {"value": "a.size", "default": 8}}},
                "rules": [],
            }
        },
    }
    (tmp_path / "models").mkdir()
    (tmp_path / "models/tiny.json").write_text(json.dumps(family))
    folder = write_folder(tmp_path / "folder", {"model_type": "tiny"} | config, {})
    done = hova("import", folder, "--models", tmp_path / "models")
    if width is None:
        assert done.returncode == 1 and "at /a/size" in done.stderr
    else:
        assert json.loads(done.stdout)["parameters"]["width"] == width, done.stderr
