# ===- test_shapes.py - Shapes that fit no tile ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs of odd shapes against the evaluator, on each level and thread count.

Classic mistakes hide where sizes do not divide: one token, prime lengths, head counts and
widths that no tile has, fewer keys than queries, masks of every broadcast shape, rows
without a key. Every model here is a set of small, independent cases with an output each.
"""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test"))
from campaigns import share  # noqa: E402

BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
LEVELS = ["native", "x86-64-v3"]
EVERY_LEVEL = ["native", "x86-64-v4", "x86-64-v3"]


class Model:
    """Collects cases: layers whose inputs and output are their own."""

    def __init__(self):
        self.inputs, self.layers, self.outputs = {}, [], {}

    def input(self, shape, dtype="f32"):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = {"shape": list(shape), "dtype": dtype}
        return name

    def layer(self, op, **keys):
        name = f"layer{len(self.layers)}"
        self.layers.append({"name": name, "op": op, **keys})
        return name

    def output(self, value):
        self.outputs[f"y{len(self.outputs)}"] = value

    def attention(self, q_len, kv_len, heads, width, value_width, batch=2, **keys):
        """One attention; keys whose value is (shape, dtype) become inputs."""
        for key, value in keys.items():
            if isinstance(value, tuple):
                keys[key] = self.input(*value)
        self.output(
            self.layer(
                "attention",
                query=self.input((batch, q_len, heads * width)),
                key=self.input((batch, kv_len, heads * width)),
                value=self.input((batch, kv_len, heads * value_width)),
                heads=heads,
                **keys,
            )
        )

    def write(self, folder, name):
        path = folder / f"{name}.json"
        description = {"hova": 1, "name": name, "inputs": self.inputs}
        description |= {"layers": self.layers, "outputs": self.outputs}
        path.write_text(json.dumps(description))
        return path


def attention_widths():
    model = Model()
    for width in (1, 6, 7, 64, 100):
        model.attention(13, 50, 3, width, width)
    for heads, width, value_width in ((1, 100, 1), (28, 6, 7), (28, 1, 1)):
        model.attention(5, 9, heads, width, value_width)
    return model


def attention_lengths():
    model = Model()
    for length in (1, 7, 13, 50, 333):
        model.attention(length, length, 1, 6, 40, batch=3)
    for kv_len in (1, 2, 15, 16, 17, 31, 32, 33):
        model.attention(5, kv_len, 2, 7, 5)
    return model


def attention_causal():
    model = Model()
    lengths = ((5, 9), (9, 5), (50, 13), (13, 50), (33, 33), (1, 7), (7, 1), (70, 40))
    for (q_len, kv_len), empty in product(lengths, ("zero", "uniform")):
        model.attention(q_len, kv_len, 3, 6, 7, causal=True, empty_row=empty)
    return model


def attention_masks():
    model = Model()
    batch, heads, q_len, kv_len = 3, 2, 5, 37
    valid = ((batch, kv_len), "bool")
    for empty in ("zero", "uniform"):
        keys = {"batch": batch, "empty_row": empty}
        for b, h, q in product((1, batch), (1, heads), (1, q_len)):
            mask = ((b, h, q, kv_len), "bool")
            model.attention(q_len, kv_len, heads, 6, 7, mask=mask, **keys)
        model.attention(q_len, kv_len, heads, 6, 7, key_valid=valid, **keys)
        model.attention(q_len, 1, heads, 6, 7, key_valid=((batch, 1), "bool"), **keys)
        for length, causal in product((70, 333), (False, True)):
            padding = ((batch, length), "bool")
            masks = {"key_valid": padding, "causal": causal}
            model.attention(length, length, heads, 6, 7, **masks, **keys)
        mask = ((1, 1, 1, kv_len), "bool")
        bias = ((batch, 1, q_len, kv_len), "f32")
        keys |= {"key_valid": valid, "mask": mask, "score_bias": bias, "causal": True}
        model.attention(q_len, kv_len, heads, 6, 7, **keys)
    return model


def attention_biases():
    model = Model()
    batch, heads, q_len, kv_len = 3, 2, 5, 37
    for b, h, q in product((1, batch), (1, heads), (1, q_len)):
        bias = ((b, h, q, kv_len), "f32")
        model.attention(q_len, kv_len, heads, 6, 7, batch=batch, score_bias=bias)
    for scale in (-0.5, 0, 2):
        model.attention(q_len, kv_len, heads, 6, 7, scale=scale)
    return model


def multi_head_attention():
    model = Model()
    additive = {"kind": "additive"}
    both = {"horizontal": True, "vertical": True}
    widths = {"head_width": 7, "value_head_width": 9, "width": 5}
    for tokens, width, heads, keys in (
        (1, 40, 1, {}),
        (7, 6, 3, {"horizontal": True}),
        (13, 100, 4, {"vertical": True}),
        (50, 84, 28, both),
        (33, 40, 5, additive),
        (13, 6, 1, {**additive, "key_head_width": 7, "head_width": 5, "hidden": 4}),
        (9, 12, 2, {**widths, **both}),
    ):
        x = model.input((3, tokens, width))
        model.output(model.layer("multi_head_attention", input=x, heads=heads, **keys))
    return model


def rows():
    model = Model()
    for tokens, width in ((1, 40), (7, 100), (13, 6), (50, 1), (333, 33)):
        x = model.input((3, tokens, width))
        norm = model.layer("layer_norm", input=x)
        keys = {"hidden": 2 * width + 1, "activation": "gelu_erf"}
        hidden = model.layer("feed_forward", input=norm, **keys)
        added = model.layer("add", inputs=[x, hidden])
        linear = model.layer("linear", input=added, width=33)
        token = model.layer("class_token", input=added)
        placed = model.layer("positions", input=token, kind="learned")
        rest = model.layer("slice", input=placed, axis=1, start=1)
        model.output(model.layer("concat", inputs=[rest, linear]))
        model.output(model.layer("pool", input=linear, kind="mean"))
        model.output(model.layer("pool", input=placed, kind="first"))
    return model


def axes():
    """Of every number of axes that a value may have."""
    model = Model()
    for rank in range(1, 9):
        shape = (2,) * (rank - 1) + (6,)
        x, y = model.input(shape), model.input(shape)
        model.output(model.layer("scale", input=x, by=2))
        model.output(model.layer("softmax", input=x))
        model.output(model.layer("layer_norm", input=x))
        model.output(model.layer("activation", input=x, kind="gelu_tanh"))
        model.output(model.layer("linear", input=x, width=5))
        model.output(model.layer("feed_forward", input=x, hidden=7))
        model.output(model.layer("add", inputs=[x, y]))
        model.output(model.layer("multiply", inputs=[x, y]))
        if rank > 1:
            model.output(model.layer("concat", inputs=[x, y]))
            model.output(model.layer("slice", input=x, start=1))
    return model


def omni():
    model = Model()
    for tokens, width, heads, causal in (
        (7, 6, 3, "none"),
        (13, 10, 1, "flattened"),
        (1, 28, 28, "block"),
    ):
        states = [model.input((3, tokens, width)) for _ in range(3)]
        keys = {"heads": heads, "hidden": 2 * width + 1, "causal": causal}
        model.output(model.layer("omni_attention", inputs=states, **keys))
    return model


MODELS = [
    attention_widths,
    attention_lengths,
    attention_causal,
    attention_masks,
    attention_biases,
    multi_head_attention,
    rows,
    axes,
    omni,
]


def run(*command):
    command = [str(part) for part in command]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def succeed(*command):
    done = run(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def verify(model, level, folder, dtype="f32"):
    path = model().write(folder, model.__name__)
    done = run(HOVA, "verify", path, f"--march={level}", f"--dtype={dtype}")
    if "needs a processor of level" in done.stderr:
        pytest.skip(f"this machine does not run {level}")
    differences = [line for line in done.stdout.splitlines() if "DIFFERS" in line]
    assert done.returncode == 0, "\n".join(differences) + done.stderr


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_program_equals_the_evaluator(model, level, tmp_path):
    verify(model, level, tmp_path)


# f16 is converted by the same instructions on both levels of AVX-512.
STORED = [("bf16", level) for level in EVERY_LEVEL] + [("f16", level) for level in LEVELS]


def stored_runs():
    """Three of the runs for each model, in turn, so that each run has several models."""
    for i, model in enumerate(MODELS):
        for j in range(3):
            dtype, level = STORED[(3 * i + j) % len(STORED)]
            yield pytest.param(model, dtype, level, id=f"{model.__name__}-{dtype}-{level}")


@pytest.mark.parametrize(("model", "dtype", "level"), share(stored_runs(), of=2))
def test_stored_numbers_equal_the_evaluator(model, dtype, level, tmp_path):
    verify(model, level, tmp_path, dtype)


@pytest.mark.parametrize(
    "model",
    [attention_widths, multi_head_attention, rows],
    ids=lambda model: model.__name__,
)
def test_levels_share_narrow_panels(model, tmp_path):
    """AVX-512 code on the weight panels of AVX2, where the machine has both."""
    verify(model, "x86-64-v4,x86-64-v3", tmp_path)


# Each model on one of the levels, in turn.
DIVIDED = [
    pytest.param(model, level, id=f"{model.__name__}-{level}")
    for number, model in enumerate(MODELS)
    for level in (LEVELS if number % 2 else LEVELS[::-1])
]


@pytest.mark.parametrize("model, level", share(DIVIDED, of=2))
def test_threads_do_not_change_a_bit(model, level, tmp_path):
    """More threads divide rows into other blocks, with other code for their heights.

    Models as small as these are not divided otherwise.
    """
    program = tmp_path / "program"
    path = model().write(tmp_path, model.__name__)
    divide = "before-target(hova-lower-launches{suffix=_0 least-work=0})"
    compile_it = (HOVA, "compile", path, f"--march={level}", "-o", program)
    succeed(*compile_it, f"--pass-pipeline={divide}")
    outputs = {}
    for threads in (1, 2, 3, 5, 8):
        out = tmp_path / str(threads)
        keys = ["--random-inputs", 1, "--threads", threads, "--output-dir", out]
        succeed(program, *keys)
        outputs[threads] = {p.name: p.read_bytes() for p in sorted(out.iterdir())}
    assert outputs[1]
    for threads, values in outputs.items():
        assert values == outputs[1], f"{threads} threads"


def specials():
    """A model, and one set of inputs for it per place of a NaN or an infinity."""
    model = Model()
    x = model.input((2, 13, 37))
    model.output(model.layer("layer_norm", input=x))
    model.output(model.layer("linear", input=x, width=35))
    for kind in ("relu", "gelu_erf", "gelu_tanh", "tanh", "sigmoid", "silu", "quick_gelu", "softplus", "relu2", "hard_swish"):
        model.output(model.layer("activation", input=x, kind=kind))
    model.output(model.layer("pool", input=x, kind="mean"))
    heads = model.input((2, 13, 21))
    keys = {"input": x, "heads_input": heads, "heads": 3}
    model.output(model.layer("head_reweight", **keys))
    shapes = {"query": (2, 5, 12), "key": (2, 19, 12), "value": (2, 19, 14)}
    keys = {key: model.input(shape) for key, shape in shapes.items()} | {"heads": 2}
    bias, valid = model.input((1, 2, 5, 19)), model.input((2, 19), "bool")
    mask = model.input((1, 1, 5, 19), "bool")
    for masks in (
        {},
        {"causal": True},
        {"score_bias": bias},
        {"mask": mask},
        {"key_valid": valid},
        {"key_valid": valid, "empty_row": "uniform"},
    ):
        model.output(model.layer("attention", **keys, **masks))
    # Its heads meet in the block-diagonal matrices of queries and keys.
    model.output(model.layer("attention", **keys, kind="additive", hidden=3))

    draw = np.random.default_rng(0)
    plain = {
        name: draw.normal(size=entry["shape"]).astype(np.float32)
        for name, entry in model.inputs.items()
    }
    plain[valid] = np.ones((2, 19), bool)
    plain[valid][0, 7] = plain[valid][1] = False
    plain[mask] = np.ones((1, 1, 5, 19), bool)
    plain[mask][0, 0, 2, 3] = plain[mask][0, 0, 4] = False
    nan, inf = np.nan, np.inf
    places = [
        (x, (0, 3, 36), nan),
        (x, (1, 12, 0), inf),
        (x, (1, 4, 32), -inf),
        (heads, (0, 3, 8), nan),
        (keys["query"], (0, 2, 1), nan),
        (keys["key"], (0, 7, 3), nan),  # where it is valid, and where it is not
        (keys["key"], (0, 7, 3), inf),
        (keys["value"], (0, 7, 3), nan),
        (keys["value"], (0, 18, 0), -inf),
        (bias, (0, 0, 1), -inf),
        (bias, (0, 1, 2, 4), inf),
    ]
    cases = []
    for name, place, value in places:
        case = {name: array.copy() for name, array in plain.items()}
        case[name][place] = value
        cases.append(case)
    return model, cases


@pytest.mark.parametrize("level", LEVELS)
def test_nan_and_infinity_are_where_the_evaluator_has_them(level, tmp_path):
    model, cases = specials()
    path, program = model.write(tmp_path, "specials"), tmp_path / "program"
    succeed(HOVA, "compile", path, f"--march={level}", "-o", program)
    for case in cases:
        inputs = []
        for name, value in case.items():
            np.save(tmp_path / f"{name}.npy", value)
            inputs += ["--input", f"{name}={tmp_path / name}.npy"]
        succeed(program, *inputs, "--output-dir", tmp_path / "got")
        succeed(HOVA, "evaluate", path, *inputs, "--output-dir", tmp_path / "want")
        for name in model.outputs:
            got = np.load(tmp_path / f"got/{name}.npy")
            want = np.load(tmp_path / f"want/{name}.npy")
            # Not finite in the same places, and close to each other elsewhere.
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=name)
