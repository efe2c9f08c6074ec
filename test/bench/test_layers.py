# ===- test_layers.py - Rotations and norms beside plain layers ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --layers: what its ratios are made of. No test asserts how long anything takes."""

import json
import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))

sys.path.insert(0, str(SOURCE / "tools/bench"))
import layers  # noqa: E402
from programs import call  # noqa: E402


def test_ratios_are_of_medians_and_of_what_stands_beside():
    times = {layer.name: [3.0, 1.0, 2.0] for layer in layers.LAYERS}
    times["rotated, 128 tokens"] = [2.5, 2.5, 9.0]
    times["layer norm, 512 tokens"] = [8.0, 4.0, 4.0]
    rows = {row["layer"]: row for row in layers.rows_of(times)}
    assert rows["attention, 128 tokens"]["ratio"] == 1
    assert rows["rotated, 128 tokens"]["ratio"] == 1.25
    assert rows["RMS norm, 512 tokens"]["ratio"] == 0.5
    table = layers.table_of(list(rows.values()))
    assert "| rotated, 128 tokens | 2.500 | attention, 128 tokens | 1.250 |" in table
    assert "| layer norm, 512 tokens | 4.000 |  |  |" in table


@pytest.mark.parametrize("layer", layers.LAYERS, ids=lambda layer: layer.name)
def test_a_layer_has_as_many_kernels_as_what_it_is_beside(layer, tmp_path):
    """Rotations and norms join: else ratios would be those of kernels, not of arithmetic."""
    counts = []
    for one in (layer, next((o for o in layers.LAYERS if o.name == layer.beside), layer)):
        file = tmp_path / "layers.json"
        file.write_text(json.dumps(layers.description_of(one)))
        explained = json.loads(call([BUILD / "bin/hova", "explain", file, "--format=json", "--quiet"]))
        counts.append(len(explained["kernels"]))
    assert counts[0] == counts[1]
