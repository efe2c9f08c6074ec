# ===- test_folders.py - Folders of models from Python --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder stands where a description may, with the options that only folders have."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frontend/folder"))
import folders  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    return folders.write_folder(tmp_path / "bert", folders.CONFIG, folders.tensors(folders.CONFIG))


@pytest.mark.parametrize("task, output", [(None, "hidden"), ("embed", "embedding"), ("logits", "logits")])
def test_task(folder, task, output):
    import hova

    options = {} if task is None else {"task": task}
    assert [one["name"] for one in hova.summary(folder, **options)["outputs"]] == [output]


def test_dense_layer_of_a_sentence_encoder(folder):
    import hova

    listed = {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"}
    layer = {"in_features": 32, "out_features": 20, "activation_function": "torch.nn.modules.linear.Identity"}
    files = {
        "modules.json": [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in listed.items()],
        "1_Pooling/config.json": {"pooling_mode_cls_token": True},
        "2_Dense/config.json": layer,
    }
    folders.write_folder(folder, folders.CONFIG, None, **files)
    made = {"linear.weight": np.eye(20, 32, dtype=np.float32), "linear.bias": np.full(20, 0.5, np.float32)}
    folders.save_file(made, folder / "2_Dense/model.safetensors")
    given = {name: value[:1] for name, value in folders.inputs(folders.CONFIG).items()}
    program = hova.compile(folder, set={"length": folders.LENGTH})
    want = folders.Bert(folders.CONFIG, folders.tensors(folders.CONFIG)).compute("embed", **given, pooling="first")
    with hova.load(program, threads=1) as model:
        got = model(**given)["embedding"]
    assert np.abs(got - (want[:, :20] + 0.5)).max() <= 1e-5 * np.abs(want).max()


def test_unknown_keys(folder):
    import hova

    config = json.loads((folder / "config.json").read_text()) | {"sinks": 2, "slopes": [1]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(hova.Error) as caught:
        hova.check(folder)
    assert [one.pointer for one in caught.value.diagnostics] == ["/sinks", "/slopes"]
    assert hova.check(folder, ignore_config=["sinks", "slopes"]) is not None


def test_models(folder, tmp_path):
    import hova

    with pytest.raises(hova.Error, match="cannot read this folder of descriptions"):
        hova.check(folder, models=tmp_path / "none", task="nothing")
    (tmp_path / "models").mkdir()
    text = (folders.SOURCE / "frontend/models/bert.json").read_text().replace('"name": "bert"', '"name": "mine"')
    (tmp_path / "models/mine.json").write_text(text)
    assert hova.summary(folder, models=tmp_path / "models")["model"] == "mine"
