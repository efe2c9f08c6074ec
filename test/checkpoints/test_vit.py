# ===- test_vit.py - Vision Transformers of timm and transformers ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""ViT-B/16 and ViT-B/32 with random weights, saved by each of the two libraries."""

import numpy as np
import pytest
import timm
import torch
from harness import (
    assert_policy,
    compile_model,
    in_both_precisions,
    randomise,
    run_program,
    save_weights,
)
from transformers import ViTConfig, ViTForImageClassification

BATCH = 2


def timm_model(patch):
    return timm.create_model(f"vit_base_patch{patch}_224", pretrained=False)


def transformers_model(patch):
    return ViTForImageClassification(ViTConfig(patch_size=patch, num_labels=1000))


def logits_of(model, image):
    result = model(image.to(next(model.parameters()).dtype))
    return result if torch.is_tensor(result) else result.logits


@pytest.mark.parametrize("patch", [32, 16])
@pytest.mark.parametrize(
    "source, make", [("timm", timm_model), ("transformers", transformers_model)]
)
def test_same_logits(source, make, patch, scratch):
    model = randomise(make(patch), seed=patch)
    save_weights(model.state_dict(), scratch / "model.safetensors")
    image = torch.randn(BATCH, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    single, double = in_both_precisions(lambda m: logits_of(m, image), model)

    program, said = compile_model(
        f"vit_b{patch}", scratch / "model.safetensors", scratch, [f"batch={BATCH}"]
    )
    assert source in said, "hova does not say which checkpoint source it took"
    outputs = run_program(program, {"image": image.numpy()}, scratch)
    assert_policy(outputs["logits"], single, double, "logits")
    assert np.array_equal(outputs["logits"].argmax(1), double.argmax(1))
