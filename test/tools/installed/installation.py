# SPDX-License-Identifier: Apache-2.0
"""An installed hova, moved away from where it was installed, and plugins built against it."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))


def run(*command, status=0):
    """What the command printed, on both streams."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def install(tmp_path_factory):
    """The folder of an installed hova."""
    first = tmp_path_factory.mktemp("first") / "hova"
    run("cmake", "--install", BUILD, "--prefix", first)
    prefix = tmp_path_factory.mktemp("second") / "hova"
    first.rename(prefix)
    return prefix


def build_plugin(tmp_path_factory, prefix, source):
    """The folder that a plugin was built into."""
    plugin = tmp_path_factory.mktemp("plugin")
    run(
        "cmake",
        *("-G", "Ninja", "-S", source, "-B", plugin),
        f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_COMPILER=clang++-22",
        "-DCMAKE_C_COMPILER=clang-22",
    )
    run("cmake", "--build", plugin)
    return plugin


def weights_of(hova, path, folder, seed):
    """Weights for a description as a safetensors file, and as arrays."""
    tensors = json.loads(hova("summary", path, "--format=json"))["parameters"]["tensors"]
    generator = np.random.default_rng(seed)
    arrays = {
        entry["name"]: generator.normal(0, 0.6, entry["shape"]).astype(np.float32)
        for entry in tensors
    }
    header, blob = {}, b""
    for name, array in arrays.items():
        data = array.tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [len(blob), len(blob) + len(data)],
        }
        blob += data
    text = json.dumps(header).encode()
    file = folder / "weights.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + blob)
    return file, {name: array.astype(np.float64) for name, array in arrays.items()}
