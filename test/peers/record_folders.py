# ===- record_folders.py - Writes test/frontend/folder/recorded ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Saves the small models of test_*_folders.py, and some of the numbers that the library computes of them, for the
tests that have no PyTorch.

usage: record_folders.py DESCRIPTION [CLASS ...]: the families (prefixes of classes) that one description is for
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import test_clip_folders
import torch
from folder_families import FAMILIES
from safetensors.numpy import load_file
from saved_folders import build, library_results, save

FOLDER = Path(__file__).resolve().parents[1] / "frontend/folder"
sys.path.append(str(FOLDER))
import recorded  # noqa: E402

# Of where they come from and how a decoder samples, which no inference reads.
LEFT_OUT = ["torch_dtype", "dtype", "transformers_version"]


def drawn(family, name, value, config):
    config = getattr(config, "text_config", config)
    if value.dtype == np.float32:
        return {"shape": list(value.shape)}
    if name == "tokens":
        pad = {} if config.pad_token_id is None else {"pad": config.pad_token_id}
        # Where a family takes the state of a text's end, its texts have ends.
        end = {"end": config.eos_token_id} if family.inputs in test_clip_folders.WITH_ENDS else {}
        return {"ids": config.vocab_size} | pad | end
    return {"ids": config.type_vocab_size} if name == "types" else {}


def record(family, kind):
    model = build(family, kind)
    with tempfile.TemporaryDirectory() as folder:
        config = save(model, Path(folder))
        path = Path(folder) / "model.safetensors"
        state = model.float().state_dict()
        with torch.no_grad():
            # Of tensors that are one, the file has one.
            for name, value in load_file(path).items():
                if value.dtype == np.float32:
                    state[name].copy_(torch.from_numpy(recorded.weight_of(name, value.shape)))
        model.save_pretrained(folder, safe_serialization=True)
        tensors = load_file(path)
    # Indices are made anew by those who read them.
    tensors = {name: value for name, value in tensors.items() if value.dtype == np.float32}
    case = {
        "config": {key: value for key, value in config.items() if key not in LEFT_OUT},
        "tensors": {name: list(value.shape) for name, value in tensors.items()},
        "only_valid": family.only_valid,
        "inputs": {name: drawn(family, name, value, model.config) for name, value in family.inputs(model.config).items()},
    }
    for name, value in recorded.weights_of(case).items():
        assert np.array_equal(value, tensors[name]), f"{name} is saved under another name than it has"
    results = library_results(family, model, recorded.inputs_of(case))
    case["results"] = {
        name: {
            "shape": list(value.shape),
            "largest": float(f"{np.abs(value).max():.6g}"),
            "numbers": [float(f"{number:.9g}") for number in recorded.some_of(value, case)],
        }
        for name, value in results.items()
    }
    return case


def written(cases):
    """Lists of numbers in one row each."""
    text = json.dumps(cases, indent=1)
    rows = json.JSONEncoder()
    for case in cases.values():
        for part in [*case["tensors"].values(), *(r["numbers"] for r in case["results"].values()),
                     *(r["shape"] for r in case["results"].values())]:  # fmt: skip
            for depth in range(3, 6):
                text = text.replace(json.dumps(part, indent=1).replace("\n", "\n" + " " * depth), rows.encode(part))
    return text + "\n"


def main(description, *prefixes):
    known = {family.prefix: family for family in FAMILIES}
    cases = {prefix + kind: record(known[prefix], kind) for prefix in prefixes for kind in known[prefix].kinds}
    (FOLDER / "recorded").mkdir(exist_ok=True)
    (FOLDER / f"recorded/{description}.json").write_text(written(cases))


if __name__ == "__main__":
    main(*sys.argv[1:])
