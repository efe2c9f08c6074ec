# ===- test_image_folders.py - Images as their files have them ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder with an image processor, compiled with --set normalize=true: the program takes RGB as it is, and
computes what the library does by its processor and its model. Within 1e-5 of the largest value."""

import numpy as np
import pytest
import test_folders
import torch
import transformers
from harness import run_program
from saved_folders import BATCH, build, compile_folder, save

FAMILIES = {family.prefix: family for family in test_folders.FAMILIES}

PROCESSORS = {
    "ViT": "ViTImageProcessor",
    "DeiT": "DeiTImageProcessor",
    "Swin": "ViTImageProcessor",
    "Swinv2": "ViTImageProcessor",
}
CHANGES = [
    {},
    {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]},
    {"do_normalize": False},
    {"rescale_factor": 1 / 127.5},
]


@pytest.mark.parametrize("white", [1, 255])
@pytest.mark.parametrize("changed", CHANGES, ids=str)
@pytest.mark.parametrize("family", PROCESSORS)
def test_processor_and_model(family, changed, white, scratch):
    model = build(FAMILIES[family], "ForImageClassification")
    save(model, scratch / "folder")
    side = model.config.image_size
    sizes = {name: {"height": side, "width": side} for name in ("size", "crop_size")}
    processor = getattr(transformers, PROCESSORS[family])(**sizes, **changed)
    processor.save_pretrained(scratch / "folder")
    image = np.random.RandomState(2).randint(0, 256, (BATCH, side, side, 3)).astype(np.uint8)
    pixels = processor([*image], return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        want = model.double()(pixel_values=pixels.double()).logits.numpy()
    given = {"image": np.ascontiguousarray(image.transpose(0, 3, 1, 2)).astype(np.float32) * (white / 255)}
    options = ["--set=normalize=true", f"--set=white={white}"]
    done = compile_folder(scratch / "folder", scratch / "program", given, *options)
    assert done.returncode == 0, done.stderr
    got = run_program(scratch / "program", given, scratch)["logits"]
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
