# ===- test_towers.py - Folders of models with towers ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Which token of a text stands for it, objects of older files, and the image size of one tower."""

import json

import numpy as np
import pytest
from folders import hova, run, write_folder
from recorded import BATCH, LENGTH, cases, inputs_of, weights_of

CASES = {kind: case for family, kind, case in cases() if family == "clip"}
TEXT = CASES["CLIPTextModelWithProjection"]


def computed(folder, given, *options):
    sizes = [f"--set=batch={BATCH}"] + ([f"--set=length={LENGTH}"] if "tokens" in given else [])
    program = folder.parent / "program"
    done = hova("compile", folder, "-o", program, "--march=x86-64-v3", *sizes, *options)
    assert done.returncode == 0, done.stderr
    return run(program, given, folder.parent / "out")


def texts():
    """The recorded ones, with the largest id not at their start."""
    given = inputs_of(TEXT)
    given["tokens"][:, 0] = 5
    return given


@pytest.mark.parametrize("end", [60, 2, 1, 40000])
def test_token_that_stands_for_a_text(end, tmp_path):
    """The first with the id, or the first of all; the largest of all where configurations have the id that was
    written into older ones by mistake."""
    folder = write_folder(tmp_path / "folder", TEXT["config"] | {"eos_token_id": end}, weights_of(TEXT))
    given = texts()
    tokens = given["tokens"]
    place = (tokens if end == 2 else tokens == end).argmax(-1)
    hidden = computed(folder, given, "--task=hidden")["text_hidden"]
    want = hidden[np.arange(BATCH), place] @ weights_of(TEXT)["text_projection.weight"].T
    got = computed(folder, given, "--task=embed")["text_embedding"]
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_texts_differ_by_their_end(tmp_path):
    tokens = texts()["tokens"]
    places = [(tokens == 60).argmax(-1), tokens.argmax(-1), (tokens == 1).argmax(-1), (tokens == 2).argmax(-1)]
    assert len({tuple(place) for place in places}) == 4


def imported(tmp_path, changed, case="CLIPModel", **files):
    return hova("import", write_folder(tmp_path / "folder", CASES[case]["config"] | changed, None, **files))


@pytest.mark.parametrize(
    "older, expected",
    [
        (None, {"text_activation": "quick_gelu", "text_width": 32, "end": 60}),
        ({"hidden_size": 48, "hidden_act": "gelu"}, {"text_activation": "gelu_erf", "text_width": 48, "end": 49407}),
        ({}, {"text_activation": "quick_gelu", "text_width": 512, "end": 49407}),
    ],
    ids=str,
)
def test_older_object_has_defaults_of_its_own(older, expected, tmp_path):
    done = imported(tmp_path, {"text_config_dict": older})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["parameters"]
    for name, want in expected.items():
        value = found[name]["default"] if isinstance(found[name], dict) else found[name]
        assert value == want, name


def test_towers_that_are_written_in_full(tmp_path):
    """Older files have the keys of every configuration once more in each tower; the class is said above."""
    config = CASES["CLIPModel"]["config"]
    full = {"architectures": None, "model_type": "clip_text_model", "is_decoder": False, "pruned_heads": {}, "top_k": 50,
            "cross_attention_hidden_size": None, "id2label": {"0": "a"}, "sep_token_id": None, "use_bfloat16": False}  # fmt: skip
    done = imported(tmp_path, {"text_config": full | config["text_config"]})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("place", ["vision_config", "vision_config_dict"])
def test_images_of_another_size_than_the_tower(place, tmp_path):
    towers = {"vision_config": CASES["CLIPModel"]["config"]["vision_config"]}
    towers[place] = towers["vision_config"] | {"image_size": 28}
    done = imported(tmp_path, towers, **{"preprocessor_config.json": {"crop_size": 36}})
    assert done.returncode == 1
    assert f'key "{place}.image_size" is 28, and preprocessor_config.json makes images of 36 by 36' in done.stderr


def test_folder_with_what_makes_features_of_samples(tmp_path):
    """Programs take features; how samples become them is not theirs."""
    config = next(case["config"] for family, kind, case in cases() if kind == "WhisperModel")
    extractor = {"feature_extractor_type": "WhisperFeatureExtractor", "sampling_rate": 16000, "hop_length": 160, "mel_filters": [[0.5]]}
    done = hova("import", write_folder(tmp_path / "folder", config, None, **{"preprocessor_config.json": extractor}))
    assert done.returncode == 0, done.stderr
