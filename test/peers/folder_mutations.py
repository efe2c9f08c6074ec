# ===- folder_mutations.py - Configurations with one key changed ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every key of every family's config.json, changed to its other values and taken away.

A folder is made of a small model with random weights, as the library builds it from the changed
configuration. What hova makes of the folder is "right", within 1e-5 of the library's largest value, or
"refused" with exit status 1. Anything else is a failure: other numbers, a crash, an exit status of 70.
A configuration that the library itself cannot build or run is "illegal", and must not crash hova.

    python test/peers/folder_mutations.py --count 2000     # all that there are, in a random order
"""

import argparse
import collections
import copy
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import test_clip_folders
import torch
import transformers
from folder_families import FAMILIES
from harness import HOVA, randomise
from saved_folders import check_outputs, compile_folder, library_results
from transformers.activations import ACT2FN

# Values of keys that a kind of value does not tell.
ACTIVATIONS = sorted(ACT2FN)
MODEL_TYPES = sorted({getattr(family.library, f"{family.prefix}Config").model_type for family in FAMILIES})
VALUES = {
    "hidden_act": ACTIVATIONS,
    "hidden_activation": ACTIVATIONS,
    "activation_function": ACTIVATIONS,
    "activation": ACTIVATIONS,
    "classifier_activation": ACTIVATIONS,
    "dense_act_fn": ACTIVATIONS,
    "feed_forward_proj": ["relu", "gelu", "gated-gelu", "gated-relu", "gated-silu", "silu"],
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query"],
    "model_type": MODEL_TYPES,
    "id2label": [None, {}, {"0": "a"}, {str(i): str(i) for i in range(5)}],
    "summary_type": ["first", "last", "mean", "cls_index", "attn"],
    "pruned_heads": [{"0": [1]}, {"1": [0, 2]}],
    "depths": [[2], [1, 2], [2, 1], [2, 2, 2], [1, 1]],
    "num_heads": [[1, 2], [2, 2], [4, 2], [2], [2, 4, 4], 2, 8],
    "num_key_value_heads": [None, 1, 2, 3, 4],
    "head_dim": [None, 8, 16, 24],
    "layer_types": [["full_attention"] * 2, ["sliding_attention"] * 2, ["full_attention", "sliding_attention"], None],
    "rope_scaling": [
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "default"},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16},
    ],
    "pretrained_window_sizes": [[4, 4], [8, 8], [0, 4], [0]],
    "out_features": [["stage1"], ["stage2"]],
    "torch_dtype": ["float16", "bfloat16", "float64"],
    "dtype": ["float16", "bfloat16", "float64"],
    "problem_type": ["regression", "single_label_classification"],
    "num_labels": [1, 2, 3, 5],
    "image_size": [8, 24, 32, 48, 64, [32, 32], [32, 64]],
    "patch_size": [2, 4, 8, 16, [8, 8], [8, 4]],
    "window_size": [1, 2, 3, 7, 8, 16],
    "eos_token_id": [None, 2, 7, -1, [2]],
    "text_config_dict": [None, {}, test_clip_folders.TEXT, test_clip_folders.TEXT | {"eos_token_id": 2, "hidden_act": "gelu"}],
    "vision_config_dict": [None, {}, test_clip_folders.IMAGE, test_clip_folders.IMAGE | {"unheard_of": 1}],
    "unheard_of": [0, False, None, "word", {}, [1]],
}  # fmt: skip
REMOVED = object()


def others(key, value):
    """The other values of a key that might be legal; the library says which are."""
    if key == "architectures":
        return [None, [], ["Unheard"]]
    found = list(VALUES.get(key, []))
    if isinstance(value, bool):
        found += [not value, None]
    elif isinstance(value, int):
        found += [2 * value, value // 2, value + 1, 1, 0]
    elif isinstance(value, float):
        found += [0.5 * value, 10 * value, 0.5, 1.0, 1, 0.0]
    elif value is None:
        found += [True, 1, 0.5]
    elif isinstance(value, dict):
        found += [{"0": [0]}]
    distinct = []
    for other in found:
        if not any(type(other) is type(known) and other == known for known in [value, *distinct]):
            distinct.append(other)
    return distinct


def base(family, kind):
    """All that the library keeps of a configuration, as a folder may have it."""
    config = getattr(family.library, f"{family.prefix}Config")(**family.keys)
    keys = json.loads(config.to_json_string(use_diff=False))
    return keys | {"architectures": [family.prefix + kind]}


def paths_of(keys, path=()):
    """Keys with their values; of a configuration inside of another one each of its keys."""
    for key, value in keys.items():
        if key.endswith("_config") and isinstance(value, dict):
            yield from paths_of(value, (*path, key))
        else:
            yield (*path, key), value


def changed(keys, path, other):
    keys = copy.deepcopy(keys)
    inner = keys
    for key in path[:-1]:
        inner = inner[key]
    if other is REMOVED:
        del inner[path[-1]]
    else:
        inner[path[-1]] = other
    return keys


def cases(seed=0):
    """(family, class, path of a key, other value), each once, in an order that the seed decides."""
    found = []
    for family in FAMILIES:
        for kind in family.kinds:
            keys = base(family, kind)
            known = dict(paths_of(keys))
            absent = {("num_labels",): None, ("unheard_of",): None} | {(f"{tower}_dict",): None for tower in keys if tower.endswith("_config")}
            for path, value in (absent | known).items():
                found += [(family, kind, path, other) for other in others(path[-1], value)]
                if path in known:
                    found.append((family, kind, path, REMOVED))
    random.Random(seed).shuffle(found)
    return found


def library(family, keys, folder):
    """Writes the folder; (inputs, what the library computes), or none of a configuration that it does not take."""
    text = json.dumps(keys, indent=2)
    classes = keys.get("architectures") or [f"{family.prefix}Model"]
    usual = getattr(family.library, family.prefix + family.kinds[0])
    kind = getattr(family.library, classes[0], usual)
    (folder / "config.json").write_text(text)
    try:
        config = getattr(family.library, f"{family.prefix}Config").from_pretrained(folder)
        config._attn_implementation = "eager"
        # The other class reads what this one saves.
        known = [family.prefix + name for name in family.kinds]
        saved = (kind if classes[0] in known else usual)(config)
        randomise(saved, 0).float().save_pretrained(folder, safe_serialization=True)
        (folder / "config.json").write_text(text)
        model = kind.from_pretrained(folder, attn_implementation="eager").eval()
        model.config.architectures = classes
        given = family.inputs(model.config)
        want = library_results(family, model, given)
    except Exception:
        (folder / "config.json").write_text(text)
        return None
    is_right = all(value.size and value.any() and np.isfinite(seen(family, given, value)).all() for value in want.values())
    return (given, want) if is_right else None


def seen(family, given, value):
    """The rows of which something is expected."""
    return value[given["mask"]] if family.only_valid and value.ndim == 3 else value


def hova(*words):
    return subprocess.run([str(word) for word in (HOVA, *words)], capture_output=True, text=True, check=False)


class Mutations:
    """Runs cases. What gives the same description, weights and numbers as an earlier one is not compiled again."""

    def __init__(self, scratch):
        self.scratch = Path(scratch)
        self.known = {}
        self.compiled = 0

    def run(self, family, kind, path, other):
        """(outcome, what was said)"""
        keys = changed(base(family, kind), path, other)
        folder = self.scratch / "folder"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        computed = library(family, keys, folder)
        imported = hova("import", folder)
        if imported.returncode == 1 and imported.stderr:
            return "refused" if computed else "illegal", imported.stderr
        if imported.returncode != 0:
            return "failed", f"exit status {imported.returncode}\n{imported.stderr}"
        if not (folder / "model.safetensors").exists():
            return "illegal", "there are no tensors"
        print_of = [imported.stdout.encode(), (folder / "model.safetensors").read_bytes()]
        if computed:
            print_of += [value.tobytes() for value in computed[1].values()]
        digest = hashlib.sha256(b"|".join(print_of)).digest()
        if digest not in self.known:
            self.known[digest] = self.compile(family, folder, computed)
        return self.known[digest]

    def compile(self, family, folder, computed):
        self.compiled += 1
        given, want = computed or ({}, {})
        done = compile_folder(folder, self.scratch / "program", given)
        if done.returncode == 1:
            return "refused" if computed else "illegal", done.stderr
        if done.returncode != 0:
            return "failed", f"exit status {done.returncode}\n{done.stderr}"
        if not computed:
            return "illegal", "hova computes it"
        try:
            check_outputs(family, given, want, self.scratch)
        except AssertionError as error:
            return "wrong", str(error)
        finally:
            shutil.rmtree(self.scratch / "outputs", ignore_errors=True)
        return "right", ""


def describe(case):
    family, kind, path, other = case
    return f"{family.prefix}{kind}: {'.'.join(path)} {'removed' if other is REMOVED else '= ' + json.dumps(other)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many cases (200)")
    parser.add_argument("--start", type=int, default=0, help="the first of them (0)")
    parser.add_argument("--seed", type=int, default=0, help="decides their order (0)")
    parser.add_argument("--only", default="", help="those whose text has this")
    parser.add_argument("--verbose", action="store_true", help="say all outcomes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    outcomes = collections.Counter()
    chosen = [case for case in cases(options.seed) if options.only in describe(case)]
    with tempfile.TemporaryDirectory(prefix="mutations-") as scratch:
        mutations = Mutations(scratch)
        for case in chosen[options.start : options.start + options.count]:
            try:
                outcome, said = mutations.run(*case)
            except Exception:
                outcome, said = "failed", traceback.format_exc()
            outcomes[outcome] += 1
            if options.verbose or outcome in ("wrong", "failed"):
                print(f"{outcome}: {describe(case)}: {said.strip()}", flush=True)
        print(f"{len(chosen)} cases, {mutations.compiled} compiled: {dict(outcomes)}", flush=True)
    return 1 if outcomes["wrong"] or outcomes["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
