# ===- test_models.py - Models on a GPU -----------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on a GPU: what each kernel leaves is compared with the reference evaluator, which shares no code with kernels. All
operators, in every type of storage; all models and variants as large as published, BigBird but for its length."""

import json

import numpy as np
import pytest
from running import DTYPES, VECTORS, options_of, outputs_of, verify
from test_gpu import DIGITS, MODELS, VARIANTS, compile_to, run
from test_published_sizes import SHORTER
from trial import run_all
from variants import variants

# Random models, other ones than those of the other suites.
FIRST, GROUP, GROUPS = 20_000, 5, 200


def published():
    for path in sorted(MODELS.glob("*.json")):
        parameters = json.loads(path.read_text(encoding="utf-8")).get("parameters", {})
        shorter = " ".join(SHORTER.get(path.stem, []))
        yield from ((path.stem, shorter, dtype) for dtype in DTYPES)
        yield from ((path.stem, " ".join(["=".join(variant), shorter]), "bf16") for variant in variants(parameters))


def test_digits_are_read(tmp_path):
    """All 400 held-out images at once, against what PyTorch computed in float32, in every type."""
    truth, labels = np.load(DIGITS / "logits.npy"), np.load(DIGITS / "labels.npy")
    for dtype in DTYPES:
        program = compile_to(tmp_path / dtype, DIGITS / "digits.json", "--target=cuda", "--set=batch=400",
                             f"--weights={DIGITS / 'weights.safetensors'}", dtype=dtype)
        logits = outputs_of(program, tmp_path / f"of-{dtype}", "--input", f"image={DIGITS / 'images.npy'}",
                            "--expected", f"logits={DIGITS / 'logits.npy'}")["logits"]
        assert (logits.argmax(1) == truth.argmax(1)).all()
        assert (logits.argmax(1) == labels).mean() >= 0.99


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", VARIANTS)
def test_bits_are_equal_from_run_to_run_and_for_an_item_at_any_place(name, dtype, tmp_path):
    """A batch of one item three times: three equal results, and those of other runs."""
    model, settings = VARIANTS[name]
    if "batch" not in json.loads(model.read_text(encoding="utf-8"))["parameters"]:
        pytest.skip("the model has no batch")
    alone = " ".join(setting for setting in settings.split() if not setting.startswith("batch="))
    program = compile_to(tmp_path / "program", model, "--target=cuda", "--init=1", *options_of(f"{alone} batch=3"), dtype=dtype)
    told = json.loads(run(program, "--describe", "--format=json"))
    given = []
    random = np.random.default_rng(7)
    for value in told["inputs"]:
        shape = [1, *value["shape"][1:]]
        if value["dtype"] == "f32":
            one = random.standard_normal(shape, np.float32)
        elif value["dtype"] == "bool":
            one = np.ones(shape, np.bool_)
        else:
            one = random.integers(value["lower"], value["upper"], shape, {"i32": np.int32, "i64": np.int64}[value["dtype"]])
        np.save(tmp_path / f"{value['name']}.npy", np.repeat(one, value["shape"][0], axis=0))
        given += ["--input", f"{value['name']}={tmp_path / value['name']}.npy"]
    first, again = (outputs_of(program, tmp_path / folder, *given) for folder in ("first", "again"))
    for output, array in first.items():
        bits = array.view(np.uint8)
        assert np.array_equal(bits, again[output].view(np.uint8))
        assert all(np.array_equal(item, bits[0]) for item in bits)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(folder.name for folder in VECTORS.iterdir()))
def test_every_operator_is_what_the_evaluator_computes(name, dtype):
    verify(VECTORS / name / "model.json", dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", VARIANTS)
def test_every_model_in_small(name, dtype):
    model, settings = VARIANTS[name]
    verify(model, dtype, *options_of(settings))


@pytest.mark.parametrize("model, settings, dtype", list(published()))
def test_every_model_as_large_as_published(model, settings, dtype):
    verify(MODELS / f"{model}.json", dtype, "--cases=1", *options_of(settings))


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_models_equal_numpy(group, tmp_path):
    first = FIRST + GROUP * group
    failed, refused = run_all(range(first, first + GROUP), tmp_path, target="cuda")
    assert not failed
    # Others are too large for a GPU, and say so.
    assert len(refused) <= 3
