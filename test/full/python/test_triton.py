# ===- test_triton.py - A compiled model behind Triton ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""examples/serve/triton in the server of Triton itself, under 100 callers at once."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from conftest import SOURCE
from serving import ask_at_once, compile_batch, free_port, pictures_and_logits, same_bits

BATCH = 8
EXAMPLE = SOURCE / "examples/serve/triton"
# Its Python part is not used: the server in it is.
pytriton = importlib.util.find_spec("pytriton")
pytestmark = pytest.mark.skipif(pytriton is None, reason="no server of Triton: ./dev test --full installs it")


def backends(folder):
    """Triton's Python backend and its process for this Python; links, because both find libraries beside them."""
    server = Path(pytriton.submodule_search_locations[0]) / "tritonserver"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "python").mkdir(parents=True)
    files = [*(server / "backends/python").glob("*.*"), server / f"python_backend_stubs/{version}/triton_python_backend_stub"]
    for file in files:
        (folder / "python" / file.name).symlink_to(file)
    return folder


def repository(folder):
    model = folder / "digits"
    (model / "1").mkdir(parents=True)
    shutil.copy(EXAMPLE / "config.pbtxt", model)
    shutil.copy(EXAMPLE / "model.py", model / "1")
    compile_batch(f"1..{BATCH}", model / "1/compiled.so")
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of the model."""
    folder = tmp_path_factory.mktemp("triton")
    port = free_port()
    command = [
        Path(pytriton.submodule_search_locations[0]) / "tritonserver/bin/tritonserver",
        f"--model-repository={repository(folder / 'models')}",
        f"--backend-directory={backends(folder / 'backends')}",
        *("--http-address=127.0.0.1", f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false"),
    ]
    # The backend takes the environment of the first python3.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if "Started HTTPService" in line:
                break
        else:
            pytest.fail("Triton does not start: " + "".join(said))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        address = f"http://127.0.0.1:{port}/v2/models/digits"
        # It says so before it does.
        while process.poll() is None and not answers(address):
            time.sleep(0.01)
        yield address
        process.terminate()


def answers(address):
    try:
        return bool(read(address))
    except urllib.error.URLError:
        return False


def read(address):
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)


def infer(address, items):
    """A request by KServe's protocol, with its extension for tensors as bytes."""
    description = {"name": "image", "shape": items.shape, "datatype": "FP32", "parameters": {"binary_data_size": items.nbytes}}
    asked = {"inputs": [description], "outputs": [{"name": "logits", "parameters": {"binary_data": True}}]}
    header = json.dumps(asked).encode()
    request = urllib.request.Request(f"{address}/infer", header + items.tobytes())
    request.add_header("Inference-Header-Content-Length", str(len(header)))
    with urllib.request.urlopen(request) as answer:
        body = answer.read()
        size = int(answer.headers["Inference-Header-Content-Length"])
    return np.frombuffer(body[size:], np.float32).reshape(json.loads(body[:size])["outputs"][0]["shape"])


def test_the_model_describes_itself(server):
    described = read(server)
    assert described["inputs"] == [{"name": "image", "datatype": "FP32", "shape": [-1, 1, 8, 8]}]
    assert described["outputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, 10]}]
    assert read(f"{server}/config")["max_batch_size"] == BATCH


def test_callers_at_once_get_the_bits_of_one(server):
    pictures, expected = pictures_and_logits()
    assert same_bits(ask_at_once(lambda picture: infer(server, picture[None])[0], pictures), expected)
    # Requests of several items are divided as they came.
    assert same_bits(list(infer(server, pictures[:5])), expected[:5])
    (stats,) = read(f"{server}/stats")["model_stats"]
    # More items than runs: they came together.
    assert stats["inference_count"] == len(pictures) + 5 and stats["execution_count"] < len(pictures)


@pytest.mark.parametrize("shape", [(1, 1, 8, 9), (BATCH + 1, 1, 8, 8)])
def test_what_is_no_batch_is_refused(server, shape):
    with pytest.raises(urllib.error.HTTPError) as caught:
        infer(server, np.zeros(shape, np.float32))
    assert caught.value.code == 400
