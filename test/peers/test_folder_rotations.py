# ===- test_folder_rotations.py - Tables of rotations, against the library -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Cosines and sines of stretched rotations, as a folder's description computes them of its configuration, against the
library's functions in float64: within a unit in the last place of f32, also where an angle is thousands of turns."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

sys.path.append(str(Path(__file__).resolve().parents[1] / "frontend/folder"))
import folders  # noqa: E402

LENGTH = 5000
SIZES = {"hidden_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "vocab_size": 50,
         "num_hidden_layers": 1, "intermediate_size": 32, "max_position_embeddings": 2048, "rope_theta": 500.0}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
KINDS = [
    {"rope_type": "default"}, {"rope_type": "linear", "factor": 2.5}, {"rope_type": "dynamic", "factor": 2.0}, LLAMA3,
    LLAMA3 | {"low_freq_factor": 0.5, "high_freq_factor": 40.0}, LLAMA3 | {"low_freq_factor": 8.0, "high_freq_factor": 2.0},
    YARN, YARN | {"attention_factor": 0.8}, YARN | {"factor": 0.5}, YARN | {"beta_fast": 4.0, "beta_slow": 2.0}, YARN | {"truncate": False},
    YARN | {"beta_fast": 1.0, "beta_slow": 32.0}, YARN | {"original_max_position_embeddings": None}, YARN | {"beta_fast": 1e-3, "beta_slow": 1e-3},
]  # fmt: skip
CASES = [("Llama", kind) for kind in KINDS]
CASES += [(family, kind) for family in ("Mistral", "Qwen2", "Qwen3", "Gemma2") for kind in (LLAMA3, YARN)]


def named(value):
    return ",".join(f"{key}={one}" for key, one in value.items()) if isinstance(value, dict) else value


@pytest.mark.parametrize("family, scaling", CASES, ids=named)
def test_tables(family, scaling, scratch, monkeypatch):
    config = getattr(transformers, f"{family}Config")(**SIZES, rope_scaling=scaling)
    keys = SIZES | {"model_type": config.model_type, "rope_scaling": scaling}
    got = folders.rotations(folders.write_folder(scratch / "folder", keys, None), LENGTH, scratch)

    # The functions compute in the type that PyTorch calls float.
    monkeypatch.setattr(torch, "float", torch.float64)
    monkeypatch.setattr(torch, "float32", torch.float64)
    rates, amplitude = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, torch.device("cpu"), seq_len=LENGTH)
    angles = np.outer(np.arange(LENGTH), rates.numpy())
    assert rates.dtype == torch.float64
    np.testing.assert_allclose(got["cosines"], amplitude * np.cos(angles), rtol=1.2e-7, atol=1e-11)
    np.testing.assert_allclose(got["sines"], amplitude * np.sin(angles), rtol=1.2e-7, atol=1e-11)
