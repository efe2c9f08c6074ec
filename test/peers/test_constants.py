# ===- test_constants.py - Tables that models compute, against libraries ------=== #
# SPDX-License-Identifier: Apache-2.0
"""The formulas of the golden cases of constants, which programs are compared with, against those
of transformers and PyTorch: rates of rotation, buckets of distances, matrices of resizing."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import interpolate
from transformers import LlamaConfig
from transformers.models.t5.modeling_t5 import T5Attention

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import constant_cases as golden

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
ROTATIONS = {
    "linear": (256, {"factor": 4.0}, golden.linear_rates(24, 4)),
    "dynamic": (32, {"factor": 2.0}, golden.ntk_rates(24, 2, 64, 32)),
    "yarn": (256, {"factor": 8.0}, golden.yarn_rates(24, 8, 256)),
    "llama3": (64, LLAMA3 | {"original_max_position_embeddings": 64},
               golden.llama_rates(24, 8, 1, 4, 64)),
    "longrope": (64, {"factor": 1.0, "short_factor": golden.SHORT, "long_factor": golden.SHORT},
                 golden.rates(24) / np.array(golden.SHORT)),
}


@pytest.mark.parametrize("kind", ROTATIONS)
def test_rates_of_rotation(kind):
    library = pytest.importorskip("transformers.modeling_rope_utils")
    trained, scaling, rates = ROTATIONS[kind]
    config = LlamaConfig(hidden_size=48, num_attention_heads=2, max_position_embeddings=trained)
    config.rope_scaling = {"rope_type": kind} | scaling
    config.rope_parameters = config.rope_scaling | {"rope_theta": 10000.0}
    found, _ = library.ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=64)
    np.testing.assert_allclose(found.numpy(), rates, rtol=2e-6)


@pytest.mark.parametrize("buckets, farthest", [(32, 128), (8, 6), (64, 1000)])
def test_buckets(buckets, farthest):
    distances = np.arange(-farthest - 9, farthest + 10)
    found = T5Attention._relative_position_bucket(
        torch.from_numpy(distances), True, buckets, farthest)
    np.testing.assert_array_equal(found.numpy(), golden.buckets(distances, buckets, farthest))


@pytest.mark.parametrize("size, result", [(4, 7), (7, 4), (14, 16), (37, 5), (5, 37)])
@pytest.mark.parametrize("mode, smooth", [("bilinear", False), ("bicubic", False), ("bicubic", True)])
def test_resizing(size, result, mode, smooth):
    pixels = torch.eye(size, dtype=torch.float64).reshape(size, 1, 1, size)
    found = interpolate(pixels, (1, result), mode=mode, antialias=smooth, align_corners=False)
    if smooth:
        matrix = golden.smooth_resizing(size, result, lambda x: golden.cubic(x, -0.5), 2)
    elif mode == "bicubic":
        matrix = golden.resizing(size, result, lambda x: golden.cubic(x, -0.75), 2)
    else:
        matrix = golden.resizing(size, result, golden.triangle, 1)
    np.testing.assert_allclose(found[:, 0, 0].numpy().T, matrix, rtol=1e-12, atol=1e-14)
