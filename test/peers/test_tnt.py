# ===- test_tnt.py - Transformer in Transformer of timm ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""TNT-S with random weights, in both forms that timm has: the words of a patch embedded
from the patch alone and normed side by side, and the legacy one."""

import pytest
import timm
from harness import image_classes, random_image, randomise

BATCH = 2


MODELS = {
    "timm": ("tnt_s_patch16_224", "variant=2021-06, stem=patch_conv"),
    "timm_legacy": ("tnt_s_legacy_patch16_224", "variant=v1, stem=image_conv"),
}


@pytest.mark.parametrize("source", list(MODELS))
def test_checkpoint(source, compare):
    name, variant = MODELS[source]
    image = random_image(BATCH, 224)
    compare(
        "tnt_s",
        randomise(timm.create_model(name, pretrained=False), seed=3),
        f"timm {name}",
        {"image": image.numpy()},
        image_classes(image),
        settings=[f"batch={BATCH}"],
        source=source,
        variant=f"{variant}, batch={BATCH}",
    )
