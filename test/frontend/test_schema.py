# ===- test_schema.py - The schema and the checker agree ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Whatever `hova check` accepts is valid by `hova schema`, also after random edits.

The schema cannot know names in scope or shapes, so it may accept more; where it rejects,
the checker must reject too, or an editor would underline what is right.
"""

import copy
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
DESCRIPTIONS = sorted(
    [*SOURCE.glob("examples/*/*.json"), *SOURCE.glob("test/golden/vectors/*/model.json")]
)
EDITS = 400


@pytest.fixture(scope="module")
def validator():
    text = subprocess.run([HOVA, "schema"], capture_output=True, check=True).stdout
    schema = json.loads(text)
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


EDITORS = SOURCE / "docs/editors.md"
FENCE = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)


def fence_with(key):
    """What docs/editors.md shows of a file."""
    (found,) = [json.loads(text) for text in FENCE.findall(EDITORS.read_text()) if key in json.loads(text)]
    return found


def schema_beside(folder, path):
    """What an editor finds at a path that a file in the folder names, where `hova schema > FILE` was run as shown."""
    (written,) = re.findall(r"^hova schema > (\S+)$", EDITORS.read_text(), re.MULTILINE)
    (folder / written).parent.mkdir(parents=True, exist_ok=True)
    with open(folder / written, "wb") as file:
        subprocess.run([HOVA, "schema"], stdout=file, check=True)
    return Draft7Validator(json.loads(path.read_text()))


def misspelt(description):
    wrong = copy.deepcopy(description)
    wrong["layers"][0]["headz"] = 4
    return wrong


def test_settings_of_an_editor_lead_to_the_schema(tmp_path):
    (entry,) = fence_with("json.schemas")["json.schemas"]
    validator = schema_beside(tmp_path, tmp_path / entry["url"])
    patterns = [pattern.lstrip("/") for pattern in entry["fileMatch"]]
    meant = [path for pattern in patterns for path in SOURCE.glob(pattern)]
    assert len(meant) > 20
    for path in meant:
        validator.validate(json.loads(path.read_text()))


def test_a_description_may_name_its_schema(tmp_path):
    description = fence_with("$schema")
    # It lies beside the schema.
    validator = schema_beside(tmp_path, tmp_path / "build" / description["$schema"])
    validator.validate(description)
    (error,) = validator.iter_errors(misspelt(description))
    assert "'headz' was unexpected" in error.message or "headz" in str(error.instance)
    (tmp_path / "m.json").write_text(json.dumps(description))
    assert subprocess.run([HOVA, "check", tmp_path / "m.json", "--werror"], capture_output=True, check=False).returncode == 0


def named(path):
    return path.parent.name if path.name == "model.json" else path.stem


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=named)
def test_descriptions_are_valid(path, validator):
    validator.validate(json.loads(path.read_text()))


def places(node, found):
    """Every (container, key) below a node, the free-form metadata aside."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        if key == "metadata":
            continue
        found.append((node, key))
        if isinstance(value, (dict, list)):
            places(value, found)
    return found


def edited(description, generator):
    """One random edit: a value of another kind, a key more, less or misspelt."""
    result = copy.deepcopy(description)
    container, key = generator.choice(places(result, []))
    kind = generator.randrange(4)
    if kind == 0:
        container[key] = generator.choice(
            [0, 1, -1, 2.5, True, "x", "2*width", [], {}, None, ["x"], "relu"]
        )
    elif kind == 1:
        del container[key]
    elif kind == 2 and isinstance(container, dict):
        container[key + "s"] = container.pop(key)
    elif isinstance(container, dict):
        word = generator.choice(["heads", "bias", "repeat", "if", "init", "eps", "weights"])
        container[word] = generator.choice([1, True, "x", {}])
    return result


def test_what_the_checker_accepts_is_valid(validator, tmp_path):
    generator = random.Random(0)
    sources = [json.loads(path.read_text()) for path in DESCRIPTIONS]
    accepted = rejected = 0
    for i in range(EDITS):
        description = edited(generator.choice(sources), generator)
        path = tmp_path / "model.json"
        path.write_text(json.dumps(description))
        status = subprocess.run(
            [HOVA, "check", path], capture_output=True, check=False
        ).returncode
        assert status in (0, 1), f"edit {i}: exit status {status}"
        if status == 0:
            errors = [error.message for error in validator.iter_errors(description)]
            assert errors == [], f"edit {i}: {json.dumps(description)}"
            accepted += 1
        else:
            rejected += 1
    # Edits of both kinds, or the test shows nothing.
    assert accepted > EDITS / 20 and rejected > EDITS / 4
