# ===- test_other_pythons.py - The wheel where Python is newer -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The wheel with the CPython and the NumPy of later releases of Debian, in roots that mmdebstrap makes."""

import hova
import pytest
from conftest import BUILD, DIGITS
from test_package import inside, make_root, run, unpack, wheel  # noqa: F401 -- a fixture

# The least minor version of each release; that of the last one grows.
RELEASES = {"trixie": 13, "sid": 14}
# What Debian's alternatives would make links of.
LIBRARIES = ":".join(f"/usr/lib/x86_64-linux-gnu/{name}" for name in ("blas", "lapack"))

USE = """
import pickle
import sys
import warnings
import numpy as np

warnings.simplefilter("error")
import hova


class Foreign:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def check(model, images):
    assert np.allclose(model(images)["logits"], np.load("/digits/logits.npy"), rtol=1e-3, atol=1e-4)


images = np.load("/digits/images.npy")
model = hova.load("/digits/model.so", threads=2)
check(model, images)
check(model, Foreign(images))
check(pickle.loads(pickle.dumps(model)), images)
check(hova.compile("/digits/digits.json", weights="/digits/weights.safetensors", set={"batch": 400}).load(), images)
try:
    model(images[:1])
except hova.Error as error:
    print(sys.version_info.minor, hova.__version__, error)
"""


@pytest.fixture(params=RELEASES)
def there(request, tmp_path, wheel):  # noqa: F811
    # The archive's index may be older than it wants to be.
    root = make_root(tmp_path / "root", request.param, "python3-numpy,libc6", "--aptopt=Acquire::Check-Valid-Until \"false\"")
    for name in ("bin", "lib", "lib64"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    unpack(wheel, root)
    return root, RELEASES[request.param]


def test_a_model_runs_in_every_python(there):
    root, least = there
    weights = ["--weights", DIGITS / "weights.safetensors", "--set=batch=400"]
    run(BUILD / "bin/hova", "compile", DIGITS / "digits.json", *weights, "--emit=lib", "-o", root / "digits/model.so")
    clean = {"PATH": "/usr/bin:/usr/sbin", "LD_LIBRARY_PATH": LIBRARIES, "PYTHONPATH": "/wheel"}
    minor, version, message = run(*inside(root), "python3", "-c", USE, env=clean).strip().split(" ", 2)
    assert int(minor) >= least and version == hova.__version__
    assert "input 'image' expects shape [400, 1, 8, 8], got [1, 1, 8, 8]" in message
