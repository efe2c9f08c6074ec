# ===- test_public_checkpoints.py - Names and shapes of public libraries -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every source that a description of examples/models knows takes what its library saves.

Inputs/public-checkpoints.json has the names and shapes, so that no framework is needed;
`./dev test --peers` compares that file with the libraries, and the values.
"""

import json
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"
MODELS = SOURCE / "examples/models"
LISTED = json.loads((Path(__file__).parent / "Inputs/public-checkpoints.json").read_text())
CASES = [(model, source) for model in LISTED for source in LISTED[model]]


def tensors(model, source):
    """Names and shapes, one by one: "blocks.{12}.x" stands for blocks.0.x to blocks.11.x."""
    shapes = {}
    for name, shape in LISTED[model][source].items():
        count = re.search(r"\{(\d+)\}", name)
        for i in range(int(count[1])) if count else [0]:
            shapes[re.sub(r"\{\d+\}", str(i), name)] = shape
    return shapes


def save_zeros(shapes, path):
    """A safetensors file whose data is a hole, which takes no room."""
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 4
        for extent in shape:
            size *= extent
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)


def check(model, path, *options):
    return subprocess.run(
        [HOVA, "check", MODELS / f"{model}.json", "--weights", path, *options],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_source_is_listed():
    described = {
        path.stem: set(json.loads(path.read_text()).get("checkpoints", {}))
        for path in MODELS.glob("*.json")
    }
    listed = {model: set(sources) for model, sources in LISTED.items()}
    assert {model: kept for model, kept in described.items() if kept} == listed


@pytest.mark.parametrize("model, source", CASES)
def test_library_is_recognised(model, source, tmp_path):
    """By itself, as this source and as no other one."""
    save_zeros(tensors(model, source), tmp_path / "model.safetensors")
    done = check(model, tmp_path / "model.safetensors")
    assert done.returncode == 0, done.stderr
    for other in LISTED[model]:
        done = check(model, tmp_path / "model.safetensors", f"--checkpoint={other}")
        assert (done.returncode == 0) == (other == source), done.stderr


@pytest.mark.parametrize("model, source", CASES)
def test_missing_tensor_is_named(model, source, tmp_path):
    shapes = tensors(model, source)
    # The last one in the file: a head, a norm or a pooler.
    missing = list(shapes)[-1]
    del shapes[missing]
    save_zeros(shapes, tmp_path / "model.safetensors")
    done = check(model, tmp_path / "model.safetensors")
    assert done.returncode == 1 and missing in done.stderr


HEADS = {
    "classifier.weight": [2, 768],
    "classifier.bias": [2],
    "cls.predictions.bias": [30522],
    "cls.predictions.transform.dense.weight": [768, 768],
}


def note(model, path, *options):
    """Which names a file that fits was read by."""
    done = check(model, path, "--format=json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["weights"]


def of_the_first_release(name):
    """As the files of BERT's authors call the norms."""
    return re.sub(
        r"LayerNorm\.(weight|bias)$",
        lambda found: "LayerNorm." + {"weight": "gamma", "bias": "beta"}[found[1]],
        name,
    )


@pytest.mark.parametrize("model", ["bert_base", "minilm_l6", "bigbird_base"])
def test_norms_may_have_gamma_and_beta(model, tmp_path):
    path = tmp_path / "model.safetensors"
    now = tensors(model, "transformers")
    then = {of_the_first_release(name): shape for name, shape in now.items()}
    assert any(name.endswith("LayerNorm.gamma") for name in then)
    save_zeros(then, path)
    assert "names of transformers" in note(model, path)
    # Only one of the two is there.
    last = next(name for name in reversed(then) if name.endswith("LayerNorm.gamma"))
    save_zeros({name: shape for name, shape in then.items() if name != last}, path)
    done = check(model, path)
    assert done.returncode == 1
    assert f'missing: "{last[: -len("gamma")]}weight"' in done.stderr


def test_prefix_of_a_wrapper_is_left_out(tmp_path):
    """As torch.compile and DistributedDataParallel save a model of theirs."""
    path = tmp_path / "model.safetensors"
    inner = tensors("vit_b16", "timm")
    save_zeros({f"module._orig_mod.{name}": shape for name, shape in inner.items()}, path)
    said = f'weights from {path} (names of timm below "module._orig_mod.")'
    assert said == note("vit_b16", path)
    done = check("vit_b16", path)
    assert done.stdout == f"{MODELS / 'vit_b16.json'}: ok\n"
    assert done.stderr == f"hova: note: {said}\n"
    assert check("vit_b16", path, "--quiet").stderr == ""


def test_size_of_the_image_is_told_by_its_positions(tmp_path):
    path = tmp_path / "model.safetensors"
    shapes = tensors("vit_b16", "timm")
    shapes["pos_embed"] = [1, 24 * 24 + 1, 768]
    save_zeros(shapes, path)
    done = check("vit_b16", path)
    assert done.returncode == 1
    assert "note: it fits with --set image=384\n" in done.stderr
    note("vit_b16", path, "--set", "image=384")


def test_small_variants_are_told_by_their_files(tmp_path):
    """BERT-Tiny of two layers, whose heads are as wide as ever; no tensor says how many."""
    path = tmp_path / "model.safetensors"
    sizes = {768: 128, 3072: 512}
    smaller = {}
    for name, shape in tensors("bert_base", "transformers").items():
        layer = re.search(r"layer\.(\d+)\.", name)
        if not layer or int(layer[1]) < 2:
            smaller[name] = [sizes.get(size, size) for size in shape]
    save_zeros(smaller, path)
    done = check("bert_base", path)
    assert done.returncode == 1
    assert "note: it fits with --set width=128 --set depth=2 --set heads=2\n" in done.stderr
    assert "no tensor says how many heads there are: check that heads is 2" in done.stderr
    fits = ("--set", "width=128", "--set", "depth=2", "--set", "heads=2")
    note("bert_base", path, *fits)
    done = check("bert_base", path, *fits[:2], "--set", "depth=12", *fits[4:])
    assert "it fits with --set depth=2, in the place of --set depth=12\n" in done.stderr


def test_bert_is_taken_out_of_models_that_hold_it(tmp_path):
    """BertForSequenceClassification has a prefix and a head, BertForMaskedLM no pooler."""
    path = tmp_path / "model.safetensors"
    bare = tensors("bert_base", "transformers")
    inner = {f"bert.{name}": shape for name, shape in bare.items()}
    save_zeros({**inner, **HEADS}, path)
    taken = note("bert_base", path)
    assert "the model has no part for classifier.bias, classifier.weight, cls.predictions" in taken
    masked = {name: shape for name, shape in inner.items() if ".pooler." not in name}
    save_zeros({**masked, **HEADS}, path)
    done = check("bert_base", path)
    assert done.returncode == 1
    assert "by the names of transformers, which fit best: it has 197 of the 199 tensors" in done.stderr
    assert done.stderr.count("missing: ") == 2
    assert "note: it fits with --set pooler=false\n" in done.stderr
    assert 'missing: "bert.pooler.dense.weight" for "pooler.weight"' in done.stderr
    done = check("bert_base", path, "--set", "pooler=false")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("model", ["vit_b16", "vit_b32", "swin_t", "swinv2_t"])
def test_a_prefix_may_be_missing(model, tmp_path):
    path = tmp_path / "model.safetensors"
    bare = {
        re.sub("^(vit|swin|swinv2)[.]", "", name): shape
        for name, shape in tensors(model, "transformers").items()
    }
    save_zeros(bare, path)
    assert "(names of transformers" in note(model, path)


def test_vit_model_has_no_head(tmp_path):
    """ViTModel: no prefix, no classifier, and a pooler of its own."""
    path = tmp_path / "model.safetensors"
    names = tensors("vit_b16", "transformers")
    bare = {n[4:]: shape for n, shape in names.items() if n.startswith("vit.")}
    save_zeros({**bare, "pooler.dense.weight": [768, 768]}, path)
    done = check("vit_b16", path)
    assert done.returncode == 1
    assert "by the names of transformers, which fit best" in done.stderr
    assert 'missing: "classifier.weight" for "head.weight"' in done.stderr
    assert "note: it fits with --set classes=0\n" in done.stderr
    taken = note("vit_b16", path, "--set", "classes=0")
    assert taken.endswith("(names of transformers; the model has no part for pooler.dense.weight)")
