# ===- test_huge_pages.py - Large inputs and outputs lie in huge pages ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Linux says of each mapping of a process whether huge pages were asked for (smaps: hg).

The program has read half of its input by then. It has no arena, which has huge pages too.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
HUGE_PAGE = 2 << 20


def kib_in_huge_pages(process):
    """What is in memory of all mappings for which they were asked."""
    mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", Path(f"/proc/{process.pid}/smaps").read_text(), flags=re.M)
    advised = [mapping for mapping in mappings if re.search(r"^VmFlags:.* hg\b", mapping, re.M)]
    return sum(int(re.search(r"^Rss: *(\d+) kB", mapping, re.M)[1]) for mapping in advised)


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="this kernel has no transparent huge pages"
)
@pytest.mark.parametrize(("rows", "is_large"), [(1024, True), (1023, False)])
def test_large_tensors_ask_for_huge_pages(tmp_path, rows, is_large):
    x = np.linspace(-4, 4, rows * 512, dtype=np.float32).reshape(rows, 512)
    assert (x.nbytes >= HUGE_PAGE) == is_large
    description = {
        "hova": 1,
        "name": "large",
        "inputs": {"x": {"shape": [rows, 512]}},
        "layers": [{"name": "y", "op": "activation", "input": "x", "kind": "relu"}],
        "outputs": {"y": "y"},
    }
    (tmp_path / "large.json").write_text(json.dumps(description))
    subprocess.run([HOVA, "compile", tmp_path / "large.json", "-o", tmp_path / "large"], check=True)
    np.save(tmp_path / "x.npy", x)
    data = (tmp_path / "x.npy").read_bytes()
    command = [tmp_path / "large", "--input=x=-", f"--output=y={tmp_path}/y.npy"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.write(data[: len(data) // 2])  # more than a pipe holds
        process.stdin.flush()
        kib = kib_in_huge_pages(process)
        process.communicate(data[len(data) // 2 :])
        assert process.returncode == 0
    assert kib == (2 * x.nbytes / 1024 if is_large else 0)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.maximum(x, 0))
