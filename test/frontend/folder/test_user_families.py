# ===- test_user_families.py - What a description of a family can say --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Small descriptions of a user: inputs of one tower, what null means, keys inside of objects."""

import json

import pytest
from folders import hova, write_folder

TOWERS = {
    "hova": 1,
    "name": "towers",
    "parameters": {"width": 8, "tower": {"default": "both", "values": ["both", "left", "right"]}},
    "inputs": {
        "x": {"if": "tower != 'right'", "shape": [1, "width"]},
        "z": {"if": "tower != 'left'", "shape": [2, "width"]},
    },
    "layers": [
        {"name": "left", "if": "tower != 'right'", "op": "activation", "input": "x", "kind": "relu"},
        {"name": "right", "if": "tower != 'left'", "op": "activation", "input": "z", "kind": "tanh"},
    ],
    "outputs": {
        "left": {"value": "left", "if": "tower != 'right'"},
        "right": {"value": "right", "if": "tower != 'left'"},
    },
}


def written(path, description):
    path.write_text(json.dumps(description))
    return path


@pytest.mark.parametrize("tower, inputs", [("both", ["x", "z"]), ("left", ["x"]), ("right", ["z"])])
def test_input_of_one_tower(tower, inputs, tmp_path):
    """Where its condition is false, a program has no such input, and layers of it are left out."""
    done = hova("check", written(tmp_path / "m.json", TOWERS), f"--set=tower={tower}", "--format=json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["inputs"]
    assert [one if isinstance(one, str) else one["name"] for one in found] == inputs


def test_layer_of_an_input_that_there_is_not(tmp_path):
    layers = [layer | {"if": "true"} for layer in TOWERS["layers"]]
    done = hova("check", written(tmp_path / "m.json", TOWERS | {"layers": layers}), "--set=tower=left")
    assert done.returncode == 1
    assert '"z" has no value: it is null here, or its layer was left out' in done.stderr


def test_condition_of_an_input(tmp_path):
    inputs = TOWERS["inputs"] | {"x": {"if": 3, "shape": [1, "width"]}}
    done = hova("check", written(tmp_path / "m.json", TOWERS | {"inputs": inputs}))
    assert done.returncode == 1 and "at /inputs/x/if" in done.stderr


def family(keys, **more):
    return {
        "hova": 1,
        "name": "tiny",
        "parameters": {"width": 8},
        "inputs": {"x": {"shape": [1, "width"]}},
        "layers": [{"name": "y", "op": "activation", "input": "x", "kind": "relu"}],
        "outputs": {"y": "y"},
        "checkpoints": {"library": {"config": {"model_type": ["tiny"], "set": {"width": keys}} | more, "rules": []}},
    }


def imported(tmp_path, description, config):
    models = tmp_path / "models"
    models.mkdir()
    written(models / "tiny.json", description)
    folder = write_folder(tmp_path / "folder", {"model_type": "tiny"} | config, {})
    return hova("import", folder, "--models", models)


@pytest.mark.parametrize("config, width", [({"size": None}, 5), ({"size": 6}, 6), ({}, 7)])
def test_null_stands_for_a_value(config, width, tmp_path):
    keys = {"value": "size", "default": 7, "null": 5}
    done = imported(tmp_path, family(keys), config)
    assert json.loads(done.stdout)["parameters"]["width"] == width, done.stderr


@pytest.mark.parametrize(
    "sizes, message",
    [
        ([1, [2]], 'parameter "sizes" is a list without lists in it, got [1, [2]]'),
        ([{"a": 1}], 'parameter "sizes" is a list without lists in it, got [[1]]'),
        ([1] * 1001, 'parameter "sizes" has at most 1000 elements, got 1001'),
    ],
    ids=["in a list", "in an object", "long"],
)
def test_list_that_no_description_can_have(sizes, message, tmp_path):
    description = family(8)
    description["parameters"]["sizes"] = [1]
    description["checkpoints"]["library"]["config"]["set"]["sizes"] = "sizes"
    done = imported(tmp_path, description, {"sizes": sizes})
    assert done.returncode == 1 and f"error: {message}\n" in done.stderr


def test_null_stands_for_nothing(tmp_path):
    done = imported(tmp_path, family({"value": "size", "default": 7}), {"size": None})
    assert done.returncode == 1 and 'key "size" decides parameter "width", and is null' in done.stderr


@pytest.mark.parametrize("key, known", [("use_cache", True), ("label2id", True), ("slope", False)])
def test_keys_inside_of_objects(key, known, tmp_path):
    """What no inference reads of a model, none reads of its parts."""
    done = imported(tmp_path, family("text.size"), {"text": {"size": 6, key: 1}})
    assert done.returncode == (0 if known else 1), done.stderr
    assert known or f'nothing is known of key "text.{key}"' in done.stderr


INSTEAD = {"instead_of": {"old_text": "text"}, "require": {"text.kind": ["plain"]}, "ignore": ["text.seed"]}


@pytest.mark.parametrize(
    "config, width",
    [
        ({"text": {"size": 6}}, 6),
        ({"text": {"size": 6}, "old_text": None}, 6),
        ({"text": {"size": 6}, "old_text": {"size": 5}}, 5),
        ({"old_text": {"size": 5, "kind": "plain", "seed": 3, "use_cache": True}}, 5),
        ({"text": {"size": "wide", "kind": "other", "seed": 1}, "old_text": {}}, 7),
    ],
    ids=str,
)
def test_object_in_the_place_of_another(config, width, tmp_path):
    """Whole: what it lacks has its default, whatever the other one says."""
    done = imported(tmp_path, family({"value": "text.size", "default": 7}, **INSTEAD), config)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parameters"]["width"] == width


@pytest.mark.parametrize(
    "config, message, pointer",
    [
        ({"old_text": {"kind": "other"}}, 'key "old_text.kind" is "other", and tiny computes "plain" alone', "/old_text/kind"),
        ({"old_text": {"slope": 1}}, 'nothing is known of key "old_text.slope" with the value 1', "/old_text/slope"),
        ({"text": {"slope": 1}, "old_text": {}}, 'nothing is known of key "text.slope" with the value 1', "/text/slope"),
        ({"old_text": {"size": None}}, 'key "old_text.size" decides parameter "width", and is null', "/old_text/size"),
        ({"old_text": 3}, 'nothing is known of key "old_text" with the value 3', "/old_text"),
    ],
    ids=str,
)
def test_object_in_the_place_of_another_refused(config, message, pointer, tmp_path):
    done = imported(tmp_path, family({"value": "text.size", "default": 7}, **INSTEAD), config)
    assert done.returncode == 1
    assert f": error: {message}" in done.stderr and f"at {pointer}\n" in done.stderr


def test_object_that_takes_no_place(tmp_path):
    done = imported(tmp_path, family("size", instead_of={"old_text": 3}), {"size": 6})
    assert done.returncode == 1 and "at /checkpoints/library/config/instead_of/old_text" in done.stderr


def aliased(tmp_path, config):
    keys = {"value": "text.size", "default": 7}
    description = family(keys)
    description["checkpoints"]["library"]["config"]["aliases"] = {"words": "text"}
    return imported(tmp_path, description, config)


@pytest.mark.parametrize(
    "config, width",
    [({"words": {"size": 5}}, 5), ({"words": {"size": 5}, "text": None}, 5), ({"text": {"size": 6}, "words": None}, 6),
     ({"text": {"size": 6}, "words": {"size": 6.0}}, 6), ({"text": None}, 7), ({"words": None}, 7), ({"words": {}}, 7), ({"words.size": 5}, 5)],
)  # fmt: skip
def test_other_name_of_a_key(config, width, tmp_path):
    """A key is read by any of its names; null in the place of an object is one without keys."""
    done = aliased(tmp_path, config)
    assert json.loads(done.stdout)["parameters"]["width"] == width, done.stderr


def test_both_names_of_a_key(tmp_path):
    done = aliased(tmp_path, {"words": {"size": 5}, "text": {"size": 6}})
    assert done.returncode == 1
    said = """key "words" is { "size": 5 }, and "text", which means the same, is { "size": 6 }"""
    assert said in done.stderr


def test_unknown_key_below_another_name(tmp_path):
    done = aliased(tmp_path, {"words": {"size": 5, "slope": 1}})
    assert done.returncode == 1 and 'nothing is known of key "words.slope"' in done.stderr
    assert "--ignore-config=words.slope leaves it out" in done.stderr
    folder, models = tmp_path / "folder", tmp_path / "models"
    assert hova("import", folder, "--models", models, "--ignore-config=words.slope").returncode == 0


def test_null_of_an_unknown_key(tmp_path):
    done = imported(tmp_path, family({"value": "text.size", "default": 7}), {"other": None})
    assert done.returncode == 1 and 'nothing is known of key "other"' in done.stderr


def test_aliases_are_words(tmp_path):
    description = family(8)
    description["checkpoints"]["library"]["config"]["aliases"] = {"words": 3}
    done = hova("check", written(tmp_path / "m.json", description))
    assert done.returncode == 1 and "at /checkpoints/library/config/aliases/words" in done.stderr


def test_fate_of_other_names(tmp_path):
    aliased(tmp_path, {"words": {"size": 5}, "text": None, "use_cache": True})
    said = hova("explain", tmp_path / "folder", "--models", tmp_path / "models").stdout
    lines = [line.strip() for line in said.splitlines()]
    fates = {line.split()[0]: line.split("  ")[-1].strip() for line in lines if line.startswith(("words", "text"))}
    assert fates == {"words.size": "decides width", "text": "has no keys"}


def test_base_of_angles_is_a_use(tmp_path):
    """A parameter that only an initialiser reads is no mistake."""
    description = family(8)
    description["parameters"]["theta"] = 100.0
    angles = {"kind": "sinusoid", "first": 0, "base": "theta"}
    description["layers"] = [
        {"name": "table", "op": "weight", "shape": [1, "width"], "trainable": False, "init": {"weight": angles}},
        {"name": "y", "op": "multiply", "inputs": ["x", "table"]},
    ]
    done = hova("check", written(tmp_path / "m.json", description))
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize("pairs, known", [("halves", True), ("neighbours", False)])
def test_pairs_without_a_rotation(pairs, known, tmp_path):
    """One description is for models with rotations and without: the default says nothing."""
    layers = [{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 2, "pairs": pairs}]
    description = family(8) | {"layers": layers, "inputs": {"x": {"shape": [1, 3, "width"]}}}
    done = hova("check", written(tmp_path / "m.json", description))
    assert done.returncode == (0 if known else 1), done.stderr
    assert known or '"pairs" needs "cosines" and "sines"' in done.stderr
