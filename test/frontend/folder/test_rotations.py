# ===- test_rotations.py - Stretched rotations of decoders ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Tables of rotations that a folder's description makes of its configuration, against the formulas of the papers in NumPy,
and configurations that are refused."""

import json
import sys

import numpy as np
import pytest
from folders import SOURCE, hova, rotations, write_folder

sys.path.append(str(SOURCE / "test/golden"))
import constant_cases as golden  # noqa: E402

KEYS = {"hidden_size": 48, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 24, "num_hidden_layers": 1,
        "intermediate_size": 16, "vocab_size": 20, "max_position_embeddings": 32}  # fmt: skip
TYPES = ["llama", "mistral", "qwen2", "qwen3", "gemma2"]
LENGTH = 64
YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 256}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}


def ramped(fast, slow, trained):
    """YaRN's rates between columns that are no integers, and end at the last one."""
    first, last = (24 * np.log(trained / (turns * 2 * np.pi)) / (2 * np.log(10000.0)) for turns in (fast, slow))
    share = np.clip((np.arange(12) - max(first, 0)) / (min(last, 23) - max(first, 0)), 0, 1)
    return golden.rates(24) * (1 - share + share / 8)


CASES = {
    "none": (None, golden.rates(24), 1),
    "default": ({"rope_type": "default"}, golden.rates(24), 1),
    "linear": ({"type": "linear", "factor": 4}, golden.linear_rates(24, 4), 1),
    "dynamic": ({"rope_type": "dynamic", "factor": 2.0}, golden.ntk_rates(24, 2, 64, 32), 1),
    "llama3": (LLAMA3, golden.llama_rates(24, 8, 1, 4, 64), 1),
    "yarn": (YARN, golden.yarn_rates(24, 8, 256), 1 + 0.1 * np.log(8)),
    "yarn with a factor": (YARN | {"attention_factor": 0.5}, golden.yarn_rates(24, 8, 256), 0.5),
    "yarn without integers": (YARN | {"truncate": False}, ramped(32, 1, 256), 1 + 0.1 * np.log(8)),
    "yarn beyond all columns": (YARN | {"truncate": False, "beta_fast": 1e6, "original_max_position_embeddings": 10**10},
                                ramped(1e6, 1, 10**10), 1 + 0.1 * np.log(8)),
    "yarn with edges": (YARN | {"beta_fast": 4.0, "beta_slow": 2.0}, golden.yarn_rates(24, 8, 256, 4.0, 2.0), 1 + 0.1 * np.log(8)),
}  # fmt: skip


def folder_of(tmp_path, config):
    return write_folder(tmp_path / "folder", config, None)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("case", CASES)
def test_tables(case, kind, tmp_path):
    scaling, rates, amplitude = CASES[case]
    folder = folder_of(tmp_path, KEYS | {"model_type": kind, "rope_scaling": scaling})
    got = rotations(folder, LENGTH, tmp_path)
    angles = np.outer(np.arange(LENGTH), rates)
    np.testing.assert_allclose(got["cosines"], amplitude * np.cos(angles), rtol=1.2e-7, atol=1e-11)
    np.testing.assert_allclose(got["sines"], amplitude * np.sin(angles), rtol=1.2e-7, atol=1e-11)


@pytest.mark.parametrize("kind", TYPES)
def test_today_and_before(kind, tmp_path):
    """One object has what were two keys; a model is the same by either."""
    before = {"rope_theta": 500.0, "rope_scaling": YARN}
    today = {"rope_parameters": YARN | {"rope_theta": 500.0}}
    said = [hova("import", folder_of(tmp_path, KEYS | {"model_type": kind} | keys)) for keys in (before, today)]
    assert said[0].returncode == 0, said[0].stderr
    assert said[0].stdout == said[1].stdout
    assert json.loads(said[0].stdout)["parameters"]["theta"] == 500.0
    both = hova("import", folder_of(tmp_path, KEYS | {"model_type": kind} | before | today))
    assert both.returncode == 1 and '"rope_scaling", which means the same, is' in both.stderr


REFUSED = {
    "longrope": ({"rope_type": "longrope", "short_factor": [1.0] * 12, "long_factor": [1.0] * 12}, 'got "longrope"'),
    "another kind": ({"rope_type": "spiral"}, 'got "spiral"'),
    "an unknown key": (YARN | {"mscale": 1.0}, 'nothing is known of key "rope_scaling.mscale"'),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, tmp_path):
    scaling, message = REFUSED[case]
    done = hova("check", folder_of(tmp_path, KEYS | {"model_type": "llama", "rope_scaling": scaling}))
    assert done.returncode == 1 and message in done.stderr


def test_a_factor_that_divides_is_named(tmp_path):
    folder = folder_of(tmp_path, KEYS | {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 0}})
    done = hova("check", folder)
    assert done.returncode == 1
    assert 'config.json:13:15: error: key "rope_scaling.factor" is 0, which decides parameter "factor": division by zero, at element [0]\n' in done.stderr
    assert "\n  at /rope_scaling/factor\n" in done.stderr and "this is said at " in done.stderr


MISSING = {
    "linear": ({"rope_type": "linear"}, "factor"),
    "dynamic": ({"rope_type": "dynamic"}, "factor"),
    "yarn": ({"rope_type": "yarn", "original_max_position_embeddings": 256}, "factor"),
    "llama3 without edges": ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 64}, "low_freq_factor"),
    "llama3 with one edge": (LLAMA3, "high_freq_factor"),
}


@pytest.mark.parametrize("name", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("case", MISSING)
def test_a_missing_key_is_named(case, kind, name, tmp_path):
    """As it would be called in the object of the file that has the others."""
    scaling, key = MISSING[case]
    scaling = {other: value for other, value in scaling.items() if other != key}
    config = KEYS | {"model_type": kind, name: scaling}
    folder = folder_of(tmp_path, config)
    done = hova("check", folder)
    lines = json.dumps(config, indent=2).splitlines()
    line = lines.index(f'  "{name}": {{') + 1
    column = lines[line - 1].index("{") + 1
    assert done.returncode == 1
    assert done.stderr.startswith(f'{folder}/config.json:{line}:{column}: error: key "{name}.{key}" is missing: it decides parameter "')
