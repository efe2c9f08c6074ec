# ===- test_images.py - What images are before a model reads them ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""With --set normalize=true a program takes colours as they are: mean and deviation are in its weights."""

import json

import numpy as np
import pytest
from folders import hova, run, write_folder

CONFIG = {
    "architectures": ["ViTModel"],
    "hidden_act": "gelu",
    "hidden_size": 16,
    "image_size": 8,
    "intermediate_size": 24,
    "layer_norm_eps": 1e-12,
    "model_type": "vit",
    "num_attention_heads": 2,
    "num_channels": 3,
    "num_hidden_layers": 1,
    "patch_size": 4,
    "qkv_bias": True,
}
PROCESSOR = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.4, 0.5, 0.6],
    "image_processor_type": "ViTImageProcessor",
    "image_std": [0.1, 0.25, 0.3],
    "resample": 2,
    "rescale_factor": 1 / 255,
    "size": {"height": 8, "width": 8},
}


def tensors():
    random = np.random.RandomState(0)
    width, hidden = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    made = {
        "embeddings.cls_token": random.randn(1, 1, width),
        "embeddings.position_embeddings": random.randn(1, 5, width),
        "embeddings.patch_embeddings.projection.weight": random.randn(width, 3, 4, 4) * 0.2,
        "embeddings.patch_embeddings.projection.bias": random.randn(width),
    }
    for name, rows, columns in [
        ("attention.attention.query", width, width),
        ("attention.attention.key", width, width),
        ("attention.attention.value", width, width),
        ("attention.output.dense", width, width),
        ("intermediate.dense", hidden, width),
        ("output.dense", width, hidden),
    ]:
        made[f"encoder.layer.0.{name}.weight"] = random.randn(rows, columns) * 0.3
        made[f"encoder.layer.0.{name}.bias"] = random.randn(rows)
    for name in ("encoder.layer.0.layernorm_before", "encoder.layer.0.layernorm_after", "layernorm"):
        made[f"{name}.weight"] = 1 + 0.3 * random.randn(width)
        made[f"{name}.bias"] = random.randn(width)
    return {name: value.astype(np.float32) for name, value in made.items()}


def computed(folder, image, *settings):
    program = folder.parent / "program"
    words = [f"--set={setting}" for setting in ("batch=2", *settings)]
    done = hova("compile", folder, "-o", program, "--march=x86-64-v3", *words)
    assert done.returncode == 0, done.stderr
    return run(program, {"image": image.astype(np.float32)}, folder.parent / "out")["hidden"]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"do_normalize": False},
        {"do_rescale": False},
        {"rescale_factor": 0.25},
        {"image_mean": 0.5, "image_std": 0.25},
        {"image_mean": None, "image_std": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("white", [1, 255])
def test_colours_as_they_are(changed, white, tmp_path):
    processor = PROCESSOR | changed
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(), **{"preprocessor_config.json": processor})
    image = np.random.RandomState(3).randint(0, 256, (2, 3, 8, 8)).astype(np.float64)

    def channels(key, otherwise):
        value = processor[key] if processor["do_normalize"] else otherwise
        return np.broadcast_to(0.5 if value is None else value, 3)[:, None, None]

    scaled = image * (processor["rescale_factor"] if processor["do_rescale"] else 1)
    normal = (scaled - channels("image_mean", 0)) / channels("image_std", 1)
    want = computed(folder, normal)
    got = computed(folder, image * white / 255, "normalize=true", f"white={white}")
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_images_are_normalised_by_others_unless_asked(tmp_path):
    """The same weights with a processor and without."""
    images = []
    for name, files in [("with", {"preprocessor_config.json": PROCESSOR}), ("without", {})]:
        folder = write_folder(tmp_path / name, CONFIG, tensors(), **files)
        image = tmp_path / f"{name}.weights"
        assert hova("weights", "pack", folder, "-o", image).returncode == 0
        images.append(image.read_bytes())
    assert images[0] == images[1]


@pytest.mark.parametrize(
    "changed, file, message",
    [
        ({"size": {"height": 16, "width": 16}}, "config.json",
         'key "image_size" is 8, and preprocessor_config.json makes images of 16 by 16'),
        ({"size": 16}, "config.json", 'key "image_size" is 8, and preprocessor_config.json makes images of 16 by 16'),
        ({"size": 16, "do_center_crop": True, "crop_size": {"height": 4, "width": 4}}, "config.json",
         'key "image_size" is 8, and preprocessor_config.json makes images of 4 by 4'),
        ({"size": "large"}, "preprocessor_config.json", 'expected the size of an image, got "large"'),
        ({"image_mean": [0.5]}, "preprocessor_config.json",
         "expected a number for each of three channels, got [ 0.5 ]"),
        ({"do_flip_channel_order": True}, "preprocessor_config.json",
         'nothing is known of key "do_flip_channel_order" of an image processor with the value true'),
    ],
    ids=str,
)  # fmt: skip
def test_refused(changed, file, message, tmp_path):
    files = {"preprocessor_config.json": PROCESSOR | changed}
    folder = write_folder(tmp_path / "folder", CONFIG, None, **files)
    done = hova("check", folder)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{folder}/{file}:") and f": error: {message}\n" in done.stderr


@pytest.mark.parametrize(
    "changed",
    [{"size": {"shortest_edge": 16}}, {"do_resize": False, "size": 16}, {"do_flip_channel_order": False}],
    ids=str,
)
def test_open_sizes_and_steps_left_out(changed, tmp_path):
    files = {"preprocessor_config.json": PROCESSOR | changed}
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(), **files)
    done = hova("check", folder)
    assert done.returncode == 0, done.stderr


def test_size_is_that_of_the_processor_where_any_does(tmp_path):
    """Windows have places of their own, so that the model is made for the images."""
    config = {"model_type": "swin", "image_size": 32, "embed_dim": 8, "depths": [1], "num_heads": [2], "window_size": 4}
    files = {"preprocessor_config.json": PROCESSOR | {"size": 64}}
    folder = write_folder(tmp_path / "folder", config, None, **files)
    done = hova("import", folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parameters"]["image"] == 64


def test_processor_is_not_overwritten(tmp_path):
    files = {"preprocessor_config.json": PROCESSOR}
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(), **files)
    done = hova("import", folder, "-o", folder / "preprocessor_config.json")
    assert done.returncode == 2 and "is the same file as" in done.stderr
