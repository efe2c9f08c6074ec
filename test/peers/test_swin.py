# ===- test_swin.py - Swin Transformers of timm and transformers --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Swin-T and SwinV2-T with random weights, saved by each of the two libraries.

Norms of SwinV2 begin as zeros, and tables and factors as constants: all are drawn anew.
"""

import pytest
import timm
import torch
from harness import image_classes, random_image, randomise
from transformers import (
    SwinConfig,
    SwinForImageClassification,
    Swinv2Config,
    Swinv2ForImageClassification,
)

BATCH = 2
SIDES = {"swin_t": 224, "swinv2_t": 256}
NAMES = {"swin_t": "swin_tiny_patch4_window7_224", "swinv2_t": "swinv2_tiny_window8_256"}


def timm_model(name):
    return timm.create_model(NAMES[name], pretrained=False)


def transformers_model(name):
    if name == "swin_t":
        return SwinForImageClassification(SwinConfig(num_labels=1000))
    config = Swinv2Config(image_size=256, window_size=8, num_labels=1000)
    return Swinv2ForImageClassification(config)


def draw_windows(model, seed):
    """What `randomise` takes for matrices: factors on both sides of their bound, and
    biases that tell positions apart.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = torch.randn(value.shape, generator=generator)
            if name.endswith("logit_scale"):
                value.copy_(3 + noise)
            elif name.endswith("relative_position_bias_table"):
                value.copy_(noise)
            elif value.dim() == 2 and value.shape[1] == 2:  # of a difference of positions
                value.copy_(2 * noise)
    return model


@pytest.mark.parametrize("name", list(SIDES))
@pytest.mark.parametrize("source", ["timm", "transformers"])
def test_checkpoint(source, name, compare):
    model = timm_model(name) if source == "timm" else transformers_model(name)
    against = NAMES[name] if source == "timm" else type(model).__name__
    image = random_image(BATCH, SIDES[name])
    compare(
        name,
        draw_windows(randomise(model, seed=7), seed=8),
        f"{source} {against}",
        {"image": image.numpy()},
        image_classes(image),
        settings=[f"batch={BATCH}"],
        source=source,
    )
