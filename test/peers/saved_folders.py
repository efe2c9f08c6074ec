# ===- saved_folders.py - Models as transformers saves them ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Small models of a family at random weights, saved as folders, and what the library makes of them.

A family is the prefix of its classes, what its configuration gets, the classes, and keys with other
legal values, each of which makes a program that is right, or an error.
"""

import json
import subprocess
from dataclasses import dataclass, field

import numpy as np
import torch
import transformers
from harness import HOVA, like, randomise, run_program

BATCH, LENGTH = 3, 12
LABELS = {i: str(i) for i in range(3)}
NAMED = {
    "image": "pixel_values",
    "features": "input_features",
    "tokens": "input_ids",
    "mask": "attention_mask",
    "types": "token_type_ids",
}


@dataclass
class Family:
    prefix: str
    keys: dict
    kinds: list
    changes: list = field(default_factory=list)
    # Arrays by the names of the program's inputs, made of a configuration.
    inputs: object = None
    # Tensors by the names of the program's outputs, of what the library gives; else there is one output.
    outputs: object = None
    # Where a row of padding sees no token, the library makes a mean of what is hidden: these are not compared.
    only_valid: bool = False
    # What the program is a part of the model for: of the model and what is passed to it.
    compute: object = None
    # The library makes a mask with numbers that float64 is not accepted for.
    in_single: bool = False
    # Where its classes are.
    library: object = transformers


def known(families):
    """Those that the installed library has: it gets new ones with time."""
    return [family for family in families if hasattr(family.library, f"{family.prefix}Config")]


def cases(families):
    return [(family, kind) for family in known(families) for kind in family.kinds]


def changes(families):
    return [(family, change) for family in known(families) for change in family.changes]


def name_of(value):
    """How a case is called in reports."""
    if isinstance(value, Family):
        return value.prefix
    if isinstance(value, dict):
        return ",".join(f"{key}={changed}" for key, changed in value.items())
    return str(value)


def texts(config, types=False):
    """Random ids; rows that are full, padded, and one token long. Where padding has an id, it stands in padding,
    and once among the tokens."""
    random = np.random.RandomState(1)
    tokens = random.randint(1, config.vocab_size, (BATCH, LENGTH)).astype(np.int32)
    mask = np.arange(LENGTH) < np.array([LENGTH, LENGTH - 5, 1])[:, None]
    if config.pad_token_id is not None:
        tokens[~mask] = config.pad_token_id
        tokens[0, 4] = config.pad_token_id
    given = {"tokens": tokens, "mask": mask}
    if types:
        given["types"] = random.randint(0, config.type_vocab_size, (BATCH, LENGTH)).astype(np.int32)
    return given


def images(config):
    random = np.random.RandomState(1)
    side = config.image_size
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return {"image": random.randn(BATCH, config.num_channels, height, width).astype(np.float32)}


def call(model, passed):
    return model(**passed, return_dict=True)


def build(family, kind, seed=0, **changed):
    config = getattr(family.library, f"{family.prefix}Config")(**(family.keys | changed))
    config._attn_implementation = "eager"
    return randomise(getattr(family.library, family.prefix + kind)(config), seed)


def compute(family, model, given):
    """Tensors by the names of the outputs, in the precision that the model is in."""
    passed = {NAMED[name]: torch.from_numpy(value) for name, value in given.items()}
    passed = {name: like(value, model) if value.is_floating_point() else value.long() for name, value in passed.items()}
    with torch.no_grad():
        result = (family.compute or call)(model, passed)
    if "logits" in result:
        return {"logits": result.logits}
    return {"hidden": result.last_hidden_state} if family.outputs is None else family.outputs(result)


def library_results(family, model, given):
    """By the names of the outputs, in float64; in float32 where rows see no token, since the largest number of float64,
    by which the library hides tokens, is infinite in its softmax, and where the library cannot make that number."""
    model.to(torch.float32 if family.only_valid or family.in_single else torch.float64)
    return {name: value.numpy() for name, value in compute(family, model, given).items()}


def save(model, folder):
    model.float().save_pretrained(folder, safe_serialization=True)
    return json.loads((folder / "config.json").read_text())


def parameters_of(config, scratch):
    """How many numbers the description has that is imported for a configuration."""
    (scratch / "config.json").write_text(config.to_json_string())
    subprocess.run([HOVA, "import", scratch, "-o", scratch / "model.json"], check=True)
    command = [HOVA, "summary", scratch / "model.json", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["parameters"]["trainable"]


def numbers_in(module):
    return sum(value.numel() for value in module.parameters())


def compile_folder(folder, program, given, *options):
    sizes = [f"--set=batch={BATCH}"] + ([f"--set=length={LENGTH}"] if "tokens" in given else [])
    command = [HOVA, "compile", folder, "-o", program, *sizes, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def check_program(family, model, scratch):
    """The program's outputs are the library's, each within 1e-5 of its largest value."""
    given = family.inputs(model.config)
    check_outputs(family, given, library_results(family, model, given), scratch)


def check_outputs(family, given, want, scratch):
    got = run_program(scratch / "program", given, scratch)
    assert got.keys() == want.keys()
    for name, value in want.items():
        assert got[name].shape == value.shape
        if family.only_valid and value.ndim == 3:
            got[name], value = got[name][given["mask"]], value[given["mask"]]
        assert np.abs(got[name] - value).max() <= 1e-5 * np.abs(value).max(), name


def check_saved(family, model, scratch, *options):
    """The folder becomes a program with the library's numbers."""
    save(model, scratch / "folder")
    done = compile_folder(scratch / "folder", scratch / "program", family.inputs(model.config), *options)
    assert done.returncode == 0, done.stderr
    assert not done.stderr or "warning" not in done.stderr, done.stderr
    check_program(family, model, scratch)


def check_right_or_refused(family, changed, scratch):
    """A program has the library's numbers, or there is none, and an error that names a changed key."""
    model = build(family, family.kinds[0], **changed)
    save(model, scratch / "folder")
    done = compile_folder(scratch / "folder", scratch / "program", family.inputs(model.config))
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 0:
        check_program(family, model, scratch)
    else:
        print(done.stderr)
        assert "config.json" in done.stderr
