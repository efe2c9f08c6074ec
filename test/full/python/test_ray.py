# ===- test_ray.py - A compiled model behind Ray Serve --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""examples/serve/ray_server.py under 100 callers at once: every answer has the bits of a model of one item."""

import io
import os
import re
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest
from conftest import SOURCE
from serving import CALLERS, ask_at_once, compile_batch, free_port, pictures_and_logits, same_bits

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
ray = pytest.importorskip("ray")
serve = pytest.importorskip("ray.serve")

ACTORS = 2
EXAMPLE = str(SOURCE / "examples/serve")


@pytest.fixture(scope="module", params=["1..8", 8], ids=["any number", "one batch"])
def server(tmp_path_factory, request):
    """The address, and a handle for callers in Python."""
    library = compile_batch(request.param, tmp_path_factory.mktemp("served") / "digits.so")
    sys.path.insert(0, EXAMPLE)
    import ray_server

    # Workers find the example as this process does.
    environment = {"env_vars": {"PYTHONPATH": EXAMPLE}}
    quiet = {"include_dashboard": False, "configure_logging": False, "log_to_driver": False}
    ray.init(num_cpus=ACTORS + 1, runtime_env=environment, **quiet)
    port = free_port()
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    handle = serve.run(ray_server.application(str(library.path), actors=ACTORS, cores=1), name="hova")
    yield f"http://127.0.0.1:{port}/", handle
    serve.shutdown()
    ray.shutdown()


@pytest.fixture(scope="module")
def known():
    return pictures_and_logits()


def bytes_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_callers_at_once_get_the_bits_of_one(server, known):
    pictures, expected = known

    def ask(picture):
        with urllib.request.urlopen(server[0], data=bytes_of(picture)) as answer:
            return np.load(io.BytesIO(answer.read()), allow_pickle=False)

    assert same_bits(ask_at_once(ask, pictures), expected)


def test_handles_serve_callers_in_python(server, known):
    pictures, expected = known
    results = [server[1].infer.remote(picture) for picture in pictures[:CALLERS]]
    assert same_bits([result.result() for result in results], expected[:CALLERS])
    told = [server[1].told.remote().result() for _ in range(40)]
    by_actor = {tuple(sorted(cores)): runs for cores, runs in told}
    # Groups of one core each; as many as there are cores for.
    assert len(by_actor) == min(ACTORS, len(os.sched_getaffinity(0)))
    assert all(len(cores) == 1 for cores in by_actor)
    # More items than runs: they came together.
    assert 0 < sum(by_actor.values()) < len(pictures) + CALLERS


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"nothing", "pickled|magic|format"),
        (b"", "No data left"),
        (bytes_of(np.zeros((1, 8, 9), np.float32)), r"expects float32\[1, 8, 8\], got float32\[1, 8, 9\]"),
    ],
)
def test_what_is_no_item_is_refused(server, body, why):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(server[0], data=body)
    assert caught.value.code == 400
    assert re.search(why, caught.value.read().decode())
