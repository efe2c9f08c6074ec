# ===- test_dense.py - Linear layers behind the pooling of a sentence encoder ----=== #
# SPDX-License-Identifier: Apache-2.0
"""`Dense` modules of sentence-transformers: keys of their own, and tensors in files of their own.

The numbers are compared with NumPy, f32 within 1e-5 of the largest value.
"""

import json
import subprocess

import numpy as np
import pytest
from folders import BATCH, CONFIG, LENGTH, SOURCE, Bert, hova, inputs, run, tensors, write_folder, write_shards
from safetensors.numpy import save_file

SHAPE = [f"--set=batch={BATCH}", f"--set=length={LENGTH}"]
MARCH = "--march=x86-64-v3"
TYPES = "sentence_transformers.models."
ACTIVATIONS = {
    "torch.nn.modules.linear.Identity": lambda x: x,
    "torch.nn.modules.activation.Tanh": np.tanh,
    "torch.nn.modules.activation.ReLU": lambda x: np.maximum(x, 0),
    "torch.nn.modules.activation.Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "torch.nn.SiLU": lambda x: x / (1 + np.exp(-x)),
}
TANH = "torch.nn.modules.activation.Tanh"
ONE = {"in_features": 32, "out_features": 20, "bias": True, "activation_function": TANH}


def files_of(layers, normalize, folders=None):
    """The JSON of a sentence encoder with these layers, in folders of these names."""
    folders = folders or [f"{i + 2}_Dense" for i in range(len(layers))]
    listed = [("", "Transformer"), ("1_Pooling", "Pooling"), *((name, "Dense") for name in folders)]
    listed += [(f"{len(listed)}_Normalize", "Normalize")] if normalize else []
    files = {
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": TYPES + kind} for i, (path, kind) in enumerate(listed)
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
    }
    return files | {f"{name}/config.json": layer for name, layer in zip(folders, layers)}


def tensors_of(layer, seed=3):
    random = np.random.RandomState(seed)
    made = {"linear.weight": random.randn(layer["out_features"], layer["in_features"]) * 0.3}
    if layer.get("bias", True):
        made["linear.bias"] = random.randn(layer["out_features"]) * 0.3
    return {name: value.astype(np.float32) for name, value in made.items()}


def write(folder, layers, normalize=False, weights=None, shards=False, folders=None):
    """A folder and the tensors of its layers."""
    weights = tensors(CONFIG) if weights is None else weights
    files = files_of(layers, normalize, folders)
    (write_shards if shards else write_folder)(folder, CONFIG, weights)
    write_folder(folder, CONFIG, None, **files)
    saved = [tensors_of(layer, seed) for seed, layer in enumerate(layers)]
    paths = [folder / path for path in files if path not in ("modules.json", "1_Pooling/config.json")]
    for path, made in zip(paths, saved):
        save_file(made, path.parent / "model.safetensors")
    return folder, saved


def expected(layers, saved, normalize=False):
    x = Bert(CONFIG, tensors(CONFIG)).compute("embed", **inputs(CONFIG))
    for layer, made in zip(layers, saved):
        x = x @ made["linear.weight"].astype(np.float64).T + made.get("linear.bias", 0)
        x = ACTIVATIONS[layer.get("activation_function", TANH)](x)
    return x / np.linalg.norm(x, axis=-1, keepdims=True) if normalize else x


def check_close(got, want):
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def check_program(program, want, scratch, *options):
    words = [program, *options]
    check_close(run_with(words, scratch)["embedding"], want)


def run_with(words, scratch):
    """Of a program with options of its own."""
    program, *options = words
    if not options:
        return run(program, inputs(CONFIG), scratch)
    scratch.mkdir(exist_ok=True)
    for name, value in inputs(CONFIG).items():
        np.save(scratch / f"{name}.in.npy", value)
        options += ["--input", f"{name}={scratch / name}.in.npy"]
    done = subprocess.run([program, *options, "--output-dir", scratch], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in scratch.glob("*.npy") if ".in." not in path.name}


def compiled(model, program, *options):
    done = hova("compile", model, "-o", program, MARCH, *SHAPE, *options)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return program


LAYERS = [
    *([ONE | {"activation_function": name}] for name in ACTIVATIONS),
    [ONE | {"bias": False}],
    # What is not said is what the library takes.
    [{"in_features": 32, "out_features": 20}],
    [ONE | {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}],
    [ONE | {"bias": False}, ONE | {"in_features": 20, "out_features": 48, "activation_function": "torch.nn.Identity"}],
]
ACTIVATIONS["torch.nn.Identity"] = ACTIVATIONS["torch.nn.modules.linear.Identity"]


@pytest.mark.parametrize("layers", LAYERS)
def test_numbers(layers, tmp_path):
    normalize = len(layers) > 1
    folder, saved = write(tmp_path / "folder", layers, normalize)
    check_program(compiled(folder, tmp_path / "program"), expected(layers, saved, normalize), tmp_path / "out")


def test_names_of_folders(tmp_path):
    """They say nothing, and links are followed; what is one file of the encoder may be several."""
    layers = [ONE, ONE | {"in_features": 20}]
    cache, saved = write(tmp_path / "cache", layers, True, shards=True, folders=["2_Dense_20", "b"])
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in cache.iterdir():
        (folder / path.name).symlink_to(path)
    check_program(compiled(folder, tmp_path / "program"), expected(layers, saved, True), tmp_path / "out")


def test_encoder_inside_of_another_model(tmp_path):
    """A prefix of all of its names, which no rule knows, is none of the module's."""
    weights = {f"inner.{name}": value for name, value in tensors(CONFIG).items()}
    folder, saved = write(tmp_path / "folder", [ONE], weights=weights)
    check_program(compiled(folder, tmp_path / "program"), expected([ONE], saved), tmp_path / "out")


def test_import_and_its_weights(tmp_path):
    folder, saved = write(tmp_path / "folder", [ONE], True)
    description = tmp_path / "model.json"
    assert hova("import", folder, "-o", description).returncode == 0
    program = compiled(description, tmp_path / "program", "--weights", folder / "model.safetensors")
    check_program(program, expected([ONE], saved, True), tmp_path / "out")


def test_description_of_the_family(tmp_path):
    """What lies beside the weights decides as it does for a folder."""
    folder, saved = write(tmp_path / "folder", [ONE], True)
    model = SOURCE / "frontend/models/bert.json"
    program = compiled(model, tmp_path / "program", "--set=task=embed", "--weights", folder / "model.safetensors")
    check_program(program, expected([ONE], saved, True), tmp_path / "out")


def test_packed(tmp_path):
    """An image of other tensors of the same layers."""
    folder, _ = write(tmp_path / "folder", [ONE])
    program = compiled(folder, tmp_path / "program", "--weights-mode=file")
    other = tensors_of(ONE, seed=9)
    save_file(other, folder / "2_Dense/model.safetensors")
    done = hova("weights", "pack", folder, "-o", tmp_path / "other.weights", MARCH, *SHAPE)
    assert done.returncode == 0, done.stderr
    want = expected([ONE], [other])
    check_program(program, want, tmp_path / "out", "--weights", tmp_path / "other.weights")


def test_explain(tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE])
    said = hova("explain", folder).stdout
    for words in (["sentence.dense", "[20]", "decides", "dense_widths"], ["sentence.pooling", "mean", "decides", "pooling"]):
        assert any(line.split() == words for line in said.splitlines()), said


def test_states_need_no_module(tmp_path):
    """A task without the layers reads none of their tensors."""
    folder, _ = write(tmp_path / "folder", [ONE])
    (folder / "2_Dense/model.safetensors").unlink()
    program = compiled(folder, tmp_path / "program", "--task=hidden")
    want = Bert(CONFIG, tensors(CONFIG)).compute("hidden", **inputs(CONFIG))
    check_close(run(program, inputs(CONFIG), tmp_path / "out")["hidden"], want)


# ===------------------------------------------------------------------------=== #
# What is refused
# ===------------------------------------------------------------------------=== #


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"in_features": "32"}, 'expected a number of features, got "32"'),
        ({"out_features": 0}, "expected a number of features, got 0"),
        ({"bias": 1}, "expected true or false, got 1"),
        (
            {"activation_function": "mine.Tanh"},
            'expected a class of torch.nn, one of Identity, Tanh, ReLU, GELU, Sigmoid, SiLU, got "mine.Tanh"',
        ),
        ({"module_input_name": "token_embeddings"}, 'expected "sentence_embedding", got "token_embeddings"'),
        ({"rank": 4}, 'nothing is known of key "rank" of a dense layer with the value 4'),
    ],
)
def test_configuration(changed, message, tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE])
    (folder / "2_Dense/config.json").write_text(json.dumps(ONE | changed))
    done = hova("check", folder)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{folder}/2_Dense/config.json:") and f": error: {message}\n" in done.stderr


def test_configuration_without_a_width(tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE])
    (folder / "2_Dense/config.json").write_text(json.dumps({"in_features": 32}))
    assert 'error: key "out_features" is missing\n' in hova("check", folder).stderr


def test_layers_that_do_not_follow(tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE, ONE])
    said = hova("check", folder).stderr
    assert said.startswith(f"{folder}/modules.json:")
    assert "error: the layer takes 32 features, and the one before gives 20\n" in said


def test_many_layers(tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE | {"out_features": 32}] * 17)
    assert "error: expected at most 16 Dense layers\n" in hova("check", folder).stderr


@pytest.mark.parametrize("path", ["../2_Dense", "", "1_Pooling/2_Dense", ".2_Dense", "2_Other"])
def test_folder_of_a_layer(path, tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE])
    listed = json.loads((folder / "modules.json").read_text())
    listed[2]["path"] = path
    (folder / "modules.json").write_text(json.dumps(listed))
    message = f'error: expected a folder beside this file with a config.json, got "{path}"\n'
    assert message in hova("check", folder).stderr


def test_layer_behind_unit_length(tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE], True)
    listed = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps([*listed[:2], listed[3], listed[2]]))
    message = f'error: module 3 is "{TYPES}Dense"; expected a Transformer in this folder, a Pooling, perhaps Dense layers, '
    assert message in hova("check", folder).stderr


def refused(folder):
    done = hova("check", folder, "--weights", folder / "model.safetensors")
    assert done.returncode == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"linear.weight": np.ones((20, 31), np.float32)}, '"projection.0.linear.weight"'),
        ({"linear.scale": np.ones(20, np.float32)}, 'left over: "sentence.dense.0.linear.scale" [20]'),
        ({"linear.bias": np.full(20, np.nan, np.float32)}, '2_Dense/model.safetensors: tensor "linear.bias" has the value NaN'),
    ],
)
def test_tensors(changed, message, tmp_path):
    folder, saved = write(tmp_path / "folder", [ONE])
    save_file(saved[0] | changed, folder / "2_Dense/model.safetensors")
    assert message in refused(folder)


def test_missing_tensors(tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE])
    path = folder / "2_Dense/model.safetensors"
    path.unlink()
    said = refused(folder)
    assert f'missing: "sentence.dense.0.linear.weight" for "projection.0.linear.weight"\n' in said
    assert str(path) in said


def test_tensor_of_the_name_of_another(tmp_path):
    weights = tensors(CONFIG) | {"sentence.dense.0.linear.bias": np.ones(20, np.float32)}
    folder, _ = write(tmp_path / "folder", [ONE], weights=weights)
    assert 'has another tensor of that name\n' in refused(folder)


def test_family_that_knows_no_layers(tmp_path):
    """The vector of a sentence would be another one."""
    text = json.loads((SOURCE / "frontend/models/bert.json").read_text())
    taken = text["checkpoints"]["transformers"]["config"]["set"]
    for key in ("dense_widths", "dense_biases", "dense_activations"):
        del taken[key]
    (tmp_path / "models").mkdir()
    (tmp_path / "models/bert.json").write_text(json.dumps(text))
    folder, _ = write(tmp_path / "folder", [ONE])
    models = ["--models", tmp_path / "models"]
    done = hova("check", folder, *models)
    assert done.returncode == 1
    assert 'error: the modules beside the file say that "sentence.dense" is [20], and bert does not compute it\n' in done.stderr
    assert hova("check", folder, "--task=hidden", *models).returncode == 0


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
def test_files_are_not_overwritten(file, tmp_path):
    folder, _ = write(tmp_path / "folder", [ONE])
    path = folder / "2_Dense" / file
    before = path.read_bytes()
    for model in ([folder], [SOURCE / "frontend/models/bert.json", "--weights", folder / "model.safetensors"]):
        done = hova("compile", *model, "-o", path)
        assert done.returncode == 2 and "is the same file as" in done.stderr
    assert path.read_bytes() == before
