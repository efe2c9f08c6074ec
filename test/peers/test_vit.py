# ===- test_vit.py - Vision Transformers of timm and transformers ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""ViT-B/16 and ViT-B/32 with random weights, saved by each of the two libraries."""

import pytest
import timm
from harness import image_classes, random_image, randomise
from transformers import ViTConfig, ViTForImageClassification

BATCH = 2


@pytest.mark.parametrize("patch", [32, 16])
@pytest.mark.parametrize("source", ["timm", "transformers"])
def test_checkpoint(source, patch, compare):
    name = f"vit_base_patch{patch}_224"
    if source == "timm":
        model = timm.create_model(name, pretrained=False)
    else:
        name = f"ViTForImageClassification(patch_size={patch})"
        model = ViTForImageClassification(ViTConfig(patch_size=patch, num_labels=1000))
    image = random_image(BATCH, 224)
    compare(
        f"vit_b{patch}",
        randomise(model, seed=patch),
        f"{source} {name}",
        {"image": image.numpy()},
        image_classes(image),
        settings=[f"batch={BATCH}"],
        source=source,
    )
