# ===- test_ray.py - A compiled model behind Ray Serve --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""examples/serve/ray_server.py under 100 callers at once: every answer has the bits of a model of one item."""

import io
import os
import socket
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import hova
import numpy as np
import pytest
from conftest import DIGITS, SOURCE

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
ray = pytest.importorskip("ray")
serve = pytest.importorskip("ray.serve")

CALLERS = 100
ACTORS = 2
BATCH = 8


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    output = tmp_path_factory.mktemp("served") / "digits.so"
    return hova.compile(DIGITS / "digits.json", weights=DIGITS / "weights.safetensors", set={"batch": BATCH}, output=output)


@pytest.fixture(scope="module")
def server(library):
    """The address, and a handle for callers in Python."""
    sys.path.insert(0, str(SOURCE / "examples/serve"))
    import ray_server

    # Workers find the example as this process does.
    environment = {"env_vars": {"PYTHONPATH": str(SOURCE / "examples/serve")}}
    ray.init(num_cpus=ACTORS + 1, include_dashboard=False, configure_logging=False, runtime_env=environment)
    port = free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    handle = serve.run(ray_server.application(str(library.path), actors=ACTORS, cores=1), name="hova")
    yield f"http://127.0.0.1:{port}/", handle
    serve.shutdown()
    ray.shutdown()


@pytest.fixture(scope="module")
def pictures():
    return np.load(DIGITS / "images.npy")[: 4 * CALLERS]


@pytest.fixture(scope="module")
def expected(pictures):
    """Picture by picture, by a model of one."""
    with hova.load(hova.compile(DIGITS / "digits.json", weights=DIGITS / "weights.safetensors"), threads=1) as model:
        return [model(picture[None])["logits"][0] for picture in pictures]


def ask(address, array):
    body = io.BytesIO()
    np.save(body, array)
    with urllib.request.urlopen(address, data=body.getvalue()) as answer:
        return np.load(io.BytesIO(answer.read()), allow_pickle=False)


def test_callers_at_once_get_the_bits_of_one(server, pictures, expected):
    address, _ = server

    def call(caller):
        mine = range(caller, len(pictures), CALLERS)
        return [(i, ask(address, pictures[i])) for i in mine]

    with ThreadPoolExecutor(CALLERS) as callers:
        answers = dict(pair for pairs in callers.map(call, range(CALLERS)) for pair in pairs)
    assert len(answers) == len(pictures)
    assert all(np.array_equal(answers[i], expected[i]) for i in range(len(pictures)))


def test_handles_serve_callers_in_python(server, pictures, expected):
    _, handle = server
    results = [handle.infer.remote(picture) for picture in pictures[:CALLERS]]
    assert all(np.array_equal(result.result(), one) for result, one in zip(results, expected))
    told = [handle.told.remote().result() for _ in range(40)]
    by_actor = {tuple(sorted(cores)): runs for cores, runs in told}
    # Groups of one core each; as many as there are cores for.
    assert len(by_actor) == min(ACTORS, len(os.sched_getaffinity(0)))
    assert all(len(cores) == 1 for cores in by_actor)
    # More items than runs: they came together.
    assert 0 < sum(by_actor.values()) < len(pictures) + CALLERS


@pytest.mark.parametrize(
    ("body", "why"),
    [(b"nothing", "pickled|magic|format"), (b"", "No data left|empty|EOF"), (np.zeros((1, 8, 9), np.float32), r"expects float32\[1, 8, 8\], got")],
)
def test_what_is_no_item_is_refused(server, body, why):
    import re

    address, _ = server
    if not isinstance(body, bytes):
        file = io.BytesIO()
        np.save(file, body)
        body = file.getvalue()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(address, data=body)
    assert caught.value.code == 400
    assert re.search(why, caught.value.read().decode())
