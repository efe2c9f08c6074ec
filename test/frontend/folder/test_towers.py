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


@pytest.mark.parametrize("end", [60, 2, 1, 40000])
def test_token_that_stands_for_a_text(end, tmp_path):
    """The first with the id, or the first of all; the largest of all where configurations have the id that was
    written into older ones by mistake."""
    folder = write_folder(tmp_path / "folder", TEXT["config"] | {"eos_token_id": end}, weights_of(TEXT))
    given = inputs_of(TEXT)
    tokens = given["tokens"]
    place = (tokens if end == 2 else tokens == end).argmax(-1)
    hidden = computed(folder, given, "--task=hidden")["text_hidden"]
    want = hidden[np.arange(BATCH), place] @ weights_of(TEXT)["text_projection.weight"].T
    got = computed(folder, given, "--task=embed")["text_embedding"]
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_texts_differ_by_their_end(tmp_path):
    tokens = inputs_of(TEXT)["tokens"]
    places = [(tokens == 60).argmax(-1), tokens.argmax(-1), (tokens == 1).argmax(-1)]
    assert len({tuple(place) for place in places}) == 3


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
