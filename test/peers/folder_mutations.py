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
import test_sound_folders
import torch
import transformers
from harness import HOVA, randomise, run_program
from saved_folders import library_results
from transformers.activations import ACT2FN

BATCH, LENGTH = 3, 12
BOUND = 1e-5
LABELS = {"id2label": {str(i): f"label {i}" for i in range(3)}, "label2id": {f"label {i}": i for i in range(3)}}
TEXT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 60,
    "max_position_embeddings": 24,
} | LABELS
IMAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 16,
    "patch_size": 8,
} | LABELS
WINDOWS = {
    "image_size": 32,
    "patch_size": 4,
    "embed_dim": 16,
    "depths": [2, 2],
    "num_heads": [2, 4],
    "window_size": 4,
} | LABELS
TEXT_CLASSES = ["Model", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"]
IMAGE_CLASSES = ["Model", "ForImageClassification"]
# By the prefix of the classes: what is passed to the configuration, and the classes.
FAMILIES = {
    "Bert": (TEXT, TEXT_CLASSES),
    "Electra": (TEXT | {"embedding_size": 16}, TEXT_CLASSES),
    "ViT": (IMAGE, IMAGE_CLASSES),
    "DeiT": (IMAGE, [*IMAGE_CLASSES, "ForImageClassificationWithTeacher"]),
    "Swin": (WINDOWS, IMAGE_CLASSES),
    "Swinv2": (WINDOWS, IMAGE_CLASSES),
}
# Those that say themselves what they read and give.
WITH_INPUTS = {family.prefix: family for family in [*test_clip_folders.FAMILIES, *test_sound_folders.FAMILIES]}
FAMILIES |= {prefix: (family.keys | LABELS, family.kinds) for prefix, family in WITH_INPUTS.items()}
# Values of keys that a kind of value does not tell.
VALUES = {
    "hidden_act": sorted(ACT2FN),
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query"],
    "model_type": ["bert", "electra", "vit", "deit", "swin", "swinv2", "roberta"],
    "id2label": [None, {}, {"0": "a"}, {str(i): str(i) for i in range(5)}],
    "summary_type": ["first", "last", "mean", "cls_index", "attn"],
    "pruned_heads": [{"0": [1]}, {"1": [0, 2]}],
    "depths": [[2], [1, 2], [2, 1], [2, 2, 2], [1, 1]],
    "num_heads": [[1, 2], [2, 2], [4, 2], [2], [2, 4, 4]],
    "pretrained_window_sizes": [[4, 4], [8, 8], [0, 4], [0]],
    "out_features": [["stage1"], ["stage2"]],
    "torch_dtype": ["float16", "bfloat16", "float64"],
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
    config = getattr(transformers, f"{family}Config")(**FAMILIES[family][0])
    keys = json.loads(config.to_json_string(use_diff=False))
    return keys | {"architectures": [family + kind]}


def paths(keys):
    """The keys, and with dots those of towers."""
    for key, value in keys.items():
        yield key
        if key.endswith("_config") and isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in value)


def holder(keys, path):
    """The object that has the key, and its name there."""
    tower, _, key = path.rpartition(".")
    return keys[tower] if tower else keys, key


def cases(seed=0):
    """(family, class, key, other value), each once, in an order that the seed decides."""
    found = []
    for family, (_, kinds) in FAMILIES.items():
        for kind in kinds:
            keys = base(family, kind)
            absent = {"num_labels", "unheard_of"} | {f"{tower}_dict" for tower in keys if tower.endswith("_config")}
            for path in [*paths(keys), *sorted(absent - keys.keys())]:
                inside, key = holder(keys, path)
                found += [(family, kind, path, other) for other in others(key, inside.get(key))]
                if key in inside:
                    found.append((family, kind, path, REMOVED))
    random.Random(seed).shuffle(found)
    return found


def inputs_of(config):
    draw = np.random.RandomState(1)
    if not hasattr(config, "vocab_size"):
        side = config.image_size
        height, width = side if isinstance(side, (list, tuple)) else (side, side)
        return {"image": draw.randn(BATCH, config.num_channels, height, width).astype(np.float32)}
    lengths = np.array([LENGTH, LENGTH - 5, 1])
    return {
        "tokens": draw.randint(0, config.vocab_size, (BATCH, LENGTH)).astype(np.int32),
        "mask": np.arange(LENGTH) < lengths[:, None],
        "types": draw.randint(0, config.type_vocab_size, (BATCH, LENGTH)).astype(np.int32),
    }


def library_result(model, given):
    named = {"image": "pixel_values", "tokens": "input_ids", "mask": "attention_mask", "types": "token_type_ids"}
    passed = {named[name]: torch.from_numpy(value) for name, value in given.items()}
    passed = {name: value.double() if name == "pixel_values" else value.long() for name, value in passed.items()}
    with torch.no_grad():
        result = model.double()(**passed, return_dict=True)
    return {"": (result.logits if "logits" in result else result.last_hidden_state).numpy()}


def library(family, keys, folder):
    """Writes the folder; (inputs, what the library computes), or none of a configuration that it does not take."""
    text = json.dumps(keys, indent=2)
    classes = keys.get("architectures") or [f"{family}Model"]
    kind = getattr(transformers, classes[0], getattr(transformers, f"{family}Model"))
    (folder / "config.json").write_text(text)
    try:
        config = getattr(transformers, f"{family}Config").from_pretrained(folder)
        config._attn_implementation = "eager"
        # The other class reads what this one saves.
        saved = base_class(family, classes[0])(config)
        randomise(saved, 0).float().save_pretrained(folder, safe_serialization=True)
        (folder / "config.json").write_text(text)
        model = kind.from_pretrained(folder, attn_implementation="eager").eval()
        described = WITH_INPUTS.get(family)
        given = described.inputs(config) if described else inputs_of(config)
        want = library_results(described, model, given) if described else library_result(model, given)
    except Exception:
        (folder / "config.json").write_text(text)
        return None
    is_any = all(value.size and np.isfinite(value).all() and value.any() for value in want.values())
    return (given, want) if is_any else None


def base_class(family, name):
    known = [family + kind for kind in FAMILIES[family][1]]
    return getattr(transformers, name if name in known else f"{family}Model")


def hova(*words):
    return subprocess.run([str(word) for word in (HOVA, *words)], capture_output=True, text=True, check=False)


class Mutations:
    """Runs cases. What gives the same description, weights and numbers as an earlier one is not compiled again."""

    def __init__(self, scratch):
        self.scratch = Path(scratch)
        self.known = {}
        self.compiled = 0

    def run(self, family, kind, key, other):
        """(outcome, what was said)"""
        keys = base(family, kind)
        inside, name = holder(keys, key)
        if other is REMOVED:
            del inside[name]
        else:
            inside[name] = other
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
            self.known[digest] = self.compile(folder, computed)
        return self.known[digest]

    def compile(self, folder, computed):
        self.compiled += 1
        given, want = computed or (None, None)
        program = self.scratch / "program"
        sizes = [f"--set=batch={BATCH}"] + ([f"--set=length={LENGTH}"] if given and "tokens" in given else [])
        done = hova("compile", folder, "-o", program, *sizes)
        if done.returncode == 1:
            return "refused" if computed else "illegal", done.stderr
        if done.returncode != 0:
            return "failed", f"exit status {done.returncode}\n{done.stderr}"
        if not computed:
            return "illegal", "hova computes it"
        try:
            got = run_program(program, given, self.scratch)
        except AssertionError as error:
            return "wrong", f"the program takes other inputs: {error}"
        shutil.rmtree(self.scratch / "outputs")
        if "" in want:
            # Where the only output has no name, it is as good as any.
            got = {"": value for value in got.values()}
        if got.keys() != want.keys():
            return "wrong", f"{sorted(got)} in the place of {sorted(want)}"
        if any(got[name].shape != value.shape for name, value in want.items()):
            return "wrong", f"{[value.shape for value in got.values()]} in the place of {[value.shape for value in want.values()]}"
        error = max(np.abs(got[name] - value).max() / np.abs(value).max() for name, value in want.items())
        return "right" if error <= BOUND else "wrong", f"error {error:.1e}"


def describe(case):
    family, kind, key, other = case
    return f"{family}{kind}: {key} {'removed' if other is REMOVED else '= ' + json.dumps(other)}"


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
