# ===- test_tnt.py - Transformer in Transformer of timm ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""TNT-S with random weights, in both forms that timm has: the words of a patch embedded
from the patch alone and normed side by side, and the legacy one."""

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

BATCH = 2


@pytest.mark.parametrize(
    "source, name",
    [("timm", "tnt_s_patch16_224"), ("timm_legacy", "tnt_s_legacy_patch16_224")],
)
def test_same_logits(source, name, scratch):
    model = randomise(timm.create_model(name, pretrained=False), seed=3)
    save_weights(model.state_dict(), scratch / "model.safetensors")
    image = torch.randn(BATCH, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    single, double = in_both_precisions(
        lambda m: m(image.to(next(m.parameters()).dtype)), model
    )

    program, said = compile_model(
        "tnt_s", scratch / "model.safetensors", scratch, [f"batch={BATCH}"]
    )
    assert f"(names of {source})" in said
    outputs = run_program(program, {"image": image.numpy()}, scratch)
    assert_policy(outputs["logits"], single, double, "logits")
    assert np.array_equal(outputs["logits"].argmax(1), double.argmax(1))
