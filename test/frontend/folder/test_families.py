# ===- test_families.py - Every family of the library of descriptions ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder of every class of every family compiles to the numbers that the library has computed of it, f32 within
1e-5 of the largest one."""

import json

import numpy as np
import pytest
from folders import SOURCE, hova, run, write_folder
from recorded import BATCH, FILES, LENGTH, cases, inputs_of, some_of, weights_of


# Of what has tokens, all but: scores that other layers read, two towers, and images beside texts.
FIXED = {"deberta_v2", "clip", "siglip"}


def check(case, config, tmp_path, batch=BATCH, length=LENGTH):
    folder = write_folder(tmp_path / "folder", config, weights_of(case))
    given = inputs_of(case)
    sizes = [f"--set=batch={batch}"] + ([f"--set=length={length}"] if "tokens" in given else [])
    # What is asked is what a folder means: how its code is generated is asked elsewhere, and takes half of a compilation.
    done = hova("compile", folder, "-o", tmp_path / "program", "--march=x86-64-v3", "-O0", *sizes)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    got = run(tmp_path / "program", given, tmp_path / "out")
    assert got.keys() == case["results"].keys()
    for name, want in case["results"].items():
        assert list(got[name].shape) == want["shape"]
        error = np.abs(some_of(got[name], case) - np.array(want["numbers"])).max()
        assert error <= 1e-5 * want["largest"], name


@pytest.mark.parametrize("family, kind, case", [pytest.param(*case, id=case[1]) for case in cases()])
def test_class(family, kind, case, tmp_path):
    check(case, case["config"], tmp_path)


def classes_of_texts():
    """Two of each family: others differ behind the layers alone."""
    for path in FILES:
        of_family = [param for param in cases() if param[0] == path.stem and "tokens" in param[2]["inputs"]]
        yield from (pytest.param(case, id=kind) for family, kind, case in of_family[:2] if family not in FIXED)


@pytest.mark.parametrize("case", classes_of_texts())
def test_class_of_any_size(case, tmp_path):
    """One program for every number of texts and tokens, which has the same numbers."""
    check(case, case["config"], tmp_path, "1..5", "1..12")


def in_words_of_today(config):
    """The library lists what each layer of ModernBERT is, and has an object of rotations for each of both kinds."""
    config = dict(config)
    every = config.pop("global_attn_every_n_layers")
    kinds = ["sliding_attention" if i % every else "full_attention" for i in range(config["num_hidden_layers"])]
    thetas = {"full_attention": config.pop("global_rope_theta"), "sliding_attention": config.pop("local_rope_theta")}
    rotations = {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()}
    return config | {"layer_types": kinds, "rope_parameters": rotations}


@pytest.mark.parametrize("theta", [None, 300.0])
def test_words_of_today(theta, tmp_path):
    case = next(case for _, kind, case in cases() if kind == "ModernBertModel")
    if theta is None:
        return check(case, in_words_of_today(case["config"]), tmp_path)
    # Another base gives other numbers.
    config = in_words_of_today(case["config"] | {"global_rope_theta": theta})
    with pytest.raises(AssertionError, match="hidden"):
        check(case, config, tmp_path)


@pytest.mark.parametrize(
    "kind, config", [pytest.param(kind, case["config"], id=kind) for _, kind, case in cases() if "Classification" in kind]
)
@pytest.mark.parametrize("names", [{}, {"id2label": None}, {"id2label": {"0": "a", "1": "b"}}], ids=["none", "null", "two"])
def test_number_of_classes(names, kind, config, tmp_path):
    """Their names count first, as in the library, then their number."""
    changed = {key: value for key, value in config.items() if key != "id2label"} | {"num_labels": 7} | names
    folder = write_folder(tmp_path / "folder", changed, None)
    done = hova("import", folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parameters"]["classes"] == (2 if names.get("id2label") else 7)


def test_every_family_is_here():
    described = {path.stem for path in (SOURCE / "frontend/models").glob("*.json")}
    assert {path.stem for path in FILES} == described
