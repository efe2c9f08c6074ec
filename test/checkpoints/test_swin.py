# ===- test_swin.py - Swin Transformers of timm and transformers --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Swin-T and SwinV2-T with random weights, saved by each of the two libraries.

Norms of SwinV2 begin as zeros, and tables and factors as constants: all are drawn anew.
"""

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
from transformers import (
    SwinConfig,
    SwinForImageClassification,
    Swinv2Config,
    Swinv2ForImageClassification,
)

BATCH = 2
SIDES = {"swin_t": 224, "swinv2_t": 256}


def timm_model(name):
    names = {"swin_t": "swin_tiny_patch4_window7_224", "swinv2_t": "swinv2_tiny_window8_256"}
    return timm.create_model(names[name], pretrained=False)


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


def logits_of(model, image):
    result = model(image.to(next(model.parameters()).dtype))
    return result if torch.is_tensor(result) else result.logits


@pytest.mark.parametrize("name", list(SIDES))
@pytest.mark.parametrize(
    "source, make", [("timm", timm_model), ("transformers", transformers_model)]
)
def test_same_logits(source, make, name, scratch):
    model = draw_windows(randomise(make(name), seed=7), seed=8)
    save_weights(model.state_dict(), scratch / "model.safetensors")
    side = SIDES[name]
    image = torch.randn(BATCH, 3, side, side, generator=torch.Generator().manual_seed(1))
    single, double = in_both_precisions(lambda m: logits_of(m, image), model)

    program, said = compile_model(
        name, scratch / "model.safetensors", scratch, [f"batch={BATCH}"]
    )
    assert source in said, "hova does not say which checkpoint source it took"
    outputs = run_program(program, {"image": image.numpy()}, scratch)
    assert_policy(outputs["logits"], single, double, "logits")
    assert np.array_equal(outputs["logits"].argmax(1), double.argmax(1))
