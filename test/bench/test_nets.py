# ===- test_nets.py - The networks that peers run ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Each network of tools/bench/nets, on NumPy, against hova's evaluator, at reduced sizes.

Both are float64, so that they agree to many digits. A network that computes something else
would have `./dev bench` refuse every peer.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"

sys.path.insert(0, str(SOURCE / "tools/bench"))
from layers_numpy import Layers  # noqa: E402
from nets import FAMILIES, pooling  # noqa: E402
from workload import Case  # noqa: E402

BOTH = ["horizontal=true", "vertical=true"]
BERT = ["width=24", "heads=2", "depth=2", "length=7", "vocab=50"]
TRANSLATION = ["width=24", "heads=2", "depth=2", "src_len=5", "tgt_len=4", "vocab=50"]
VIT = ["width=24", "heads=2", "depth=2", "image=64", "classes=10", "batch=2"]
SWIN = ["width=8", "heads=1", "depth=2", "window=4", "image=128", "classes=10", "batch=2"]
T2T = ["width=24", "heads=2", "depth=2", "token_width=8", "image=64", "classes=10"]
TNT = ["width=24", "heads=2", "depth=2", "word_width=8", "word_heads=2", "image=48", "batch=2"]
CAPTION = ["width=24", "heads=2", "depth=2", "regions=6", "length=5", "feature_width=12"]
LRA = ["width=24", "heads=2", "length=15", "batch=2"]
OMNI = ["width=24", "heads=2", "depth=6", "length=12", "vocab=30"]
LM = [*OMNI, "depth=3"]
DECODER = ["width=24", "heads=4", "hidden=20", "depth=2", "length=9", "vocab=50", "batch=2"]

CASES = [
    ("bert_base", BERT),
    ("minilm_l6", BERT),
    ("vanilla_hv", TRANSLATION),
    ("vanilla_hv", TRANSLATION + BOTH),
    ("vit_b16", VIT + BOTH),
    ("vit_b32", VIT),
    ("swin_t", SWIN + BOTH),
    ("swinv2_t", [*SWIN, "mask_value=-3"]),
    ("t2t_vit_14", [*T2T, "batch=2"]),
    ("t2t_vit_14", T2T + BOTH),
    ("tnt_s", TNT),
    ("tnt_s", [*TNT, "variant=v1", "stem=image_conv"]),
    ("tnt_s", [*TNT, "stem=linear"]),
    ("omninet_b16", [*VIT, "depth=4", "partition=4"]),
    ("omninet_b32", [*VIT, "partition=1"]),
    ("omninet_b32", [*VIT, "depth=4", "partition=2", "pool=after_block"]),
    ("m2", [*CAPTION, "slots=3", "batch=2", "vocab=30"]),
    ("m2", [*CAPTION, "slots=3", "vocab=30", *BOTH]),
    *(
        ("lra", [*LRA, f"task={task}", f"attention={kind}"])
        for task in ("text", "retrieval", "listops")
        for kind in ("softmax", "performer", "linformer")
    ),
    ("lra", ["width=24", "heads=2", "depth=2", "length=805", "attention=bigbird"]),
    ("lra", [*LRA, "omni=performer", "partition=2"]),
    ("lra", [*LRA, "omni=linformer"]),
    ("lm", [*LM, "attention=softmax"]),
    ("lm", [*LM, "attention=performer", "length=70"]),
    ("lm", [*LM, "attention=realformer"]),
    ("lm", [*LM, "attention=bigbird", "length=781", "batch=2"]),
    ("omninet_lm", [*OMNI, "attend=bigbird", "length=160"]),
    ("omninet_lm", [*OMNI, "attend=full"]),
    ("omninet_lm", [*OMNI, "attend=full", "partition=3", "causal=block"]),
    ("omninet_lm", [*OMNI, "attend=performer", "partition=3", "pool=after_attention"]),
    ("llama", [*DECODER, "groups=2"]),
    ("llama", [*DECODER, "theta=50.0"]),
    ("qwen3", [*DECODER, "head=8", "groups=1"]),
    ("modernbert", [*DECODER, "depth=4", "window=6", "local_theta=100.0"]),
    ("dinov2", ["width=24", "heads=2", "depth=2", "image=64", "batch=2"]),
    (
        "siglip",
        ["image_width=24", "image_heads=2", "image_depth=2", "image_hidden=20"]
        + ["image=64", "batch=2", "tower=image", "task=embed"],
    ),
    ("encoder", ["tokens=7", "width=24", "heads=3"]),
    ("token_performer", ["tokens=9", "width=8", "features=5"]),
    ("causal_performer", ["tokens=130", "width=16", "heads=2"]),
]


def description(name):
    folders = ("examples/models", "frontend/models", "tools/bench")
    files = [SOURCE / folder / f"{name}.json" for folder in folders]
    return next(file for file in files if file.exists())


def draw(generator, value):
    """No id is that of padding, so that no row is without a key."""
    if value["dtype"] == "f32":
        return generator.standard_normal(value["shape"], np.float32)
    if value["dtype"] == "bool":
        return np.ones(value["shape"], np.bool_)
    low, high = (0, 2) if value["name"] == "types" else (2, 17)
    return generator.integers(low, high, value["shape"], np.int32)


def test_every_network_is_checked():
    assert {name for name, _ in CASES} == set(FAMILIES)


@pytest.mark.parametrize(
    ("name", "settings"),
    [pytest.param(*case, id="-".join([case[0], *case[1]])) for case in CASES],
)
def test_a_network_is_what_the_description_says(name, settings, tmp_path):
    case = Case(description(name), settings, tmp_path, "f32")
    case.write_weights(HOVA)
    generator = np.random.default_rng(0)
    inputs = [draw(generator, value) for value in case.summary["inputs"]]
    command = [HOVA, "evaluate", *case.arguments, "--weights", case.weights]
    for value, array in zip(case.summary["inputs"], inputs, strict=True):
        np.save(case.input_file(value["name"]), array)
        command.append(f"--input={value['name']}={case.input_file(value['name'])}")
    evaluated = tmp_path / "evaluated"
    command += ["--output-dir", evaluated]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    family, parameters = FAMILIES[case.summary["model"]], case.parameters()
    weights = family.prepare(load_file(case.weights), parameters)
    outputs = family.forward(Layers(weights), parameters, *inputs)
    for value, array in zip(case.summary["outputs"], outputs, strict=True):
        expected = np.load(evaluated / f"{value['name']}.npy")
        np.testing.assert_allclose(array, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_an_attention_without_a_reference_is_named():
    with pytest.raises(ValueError, match="no reference for the attention sideways"):
        pooling.kind_of("sideways")
