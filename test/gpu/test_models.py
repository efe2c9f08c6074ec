# ===- test_models.py - Models on a GPU -----------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`hova verify` on a GPU: what each kernel leaves is compared with the reference evaluator, which shares no code with kernels. All
operators, in every type of storage; all models and variants as large as published, BigBird but for its length."""

import json

import numpy as np
import pytest
from classify import DTYPES as DTYPES_OF_INPUTS
from running import DTYPES, VECTORS, LibraryTrial, load, options_of, outputs_of, verify
from test_gpu import DIGITS, MODELS, VARIANTS, compile_to
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
    """A batch of one item three times: three equal results, and those of another context."""
    model, settings = VARIANTS[name]
    parameters = json.loads(model.read_text(encoding="utf-8"))
    if "batch" not in parameters["parameters"]:
        pytest.skip("the model has no batch")
    alone = " ".join(setting for setting in settings.split() if not setting.startswith("batch="))
    compile_to(tmp_path / "program", model, "--target=cuda", "--emit=lib", "--init=1", *options_of(f"{alone} batch=3"), dtype=dtype)
    runs = [load(tmp_path / "program.so", parameters["name"]) for _ in range(2)]
    random = np.random.default_rng(7)
    given = {}
    for info in runs[0].inputs:
        shape, kind = [1, *info.dims[1 : info.rank]], DTYPES_OF_INPUTS[info.dtype]
        if kind is np.float32:
            one = random.standard_normal(shape, np.float32)
        elif kind is np.bool_:
            one = np.ones(shape, np.bool_)
        else:
            one = random.integers(info.lower, info.upper, shape, kind)
        given[info.name.decode()] = np.repeat(one, info.dims[0], axis=0)
    first, again = (run(**given) for run in runs)
    for run in runs:
        run.close()
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
    failed, refused = run_all(range(first, first + GROUP), tmp_path, LibraryTrial, target="cuda")
    assert not failed
    # Others are too large for a GPU, and say so.
    assert len(refused) <= 3
