# ===- ray_server.py - A compiled model behind Ray Serve -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Serves a compiled model: an actor for each group of cores, requests gathered into batches by Ray.

usage: ray_server.py LIBRARY.so [--actors N] [--cores N] [--port N]

The library is what hova compiled with --emit=lib for a range of items (--set batch=1..8), which may be
texts of any length (--set length=1..512), or for one batch; its one input and its one output have the
items as first axis. A request is an item as .npy, by POST; the answer is its result as .npy. Needs the
package of hova, NumPy and ray[serve].
"""

import argparse
import asyncio
import io
import os

import hova
import numpy as np
from ray import serve
from starlette.requests import Request
from starlette.responses import Response

# How long a request waits for others, so that they run as one batch.
PATIENCE_S = 0.005


@serve.deployment
class Actor:
    """One group of cores with a model of its own; the file of its weights is mapped, and so shared."""

    def __init__(self, library: str, cores: int) -> None:
        available = sorted(os.sched_getaffinity(0))
        first = serve.get_replica_context().rank.local_rank * cores
        # Where there are fewer cores than asked for, groups share some.
        self.cores = {available[(first + i) % len(available)] for i in range(cores)}
        os.sched_setaffinity(0, self.cores)
        self.model = hova.load(library, threads=cores)
        (self.input,) = self.model.inputs
        (self.output,) = self.model.outputs
        # Of a library for one batch.
        self.batch = None if self.model.ranges else np.zeros(self.input.shape, self.input.dtype)
        self.runs = 0
        self.gather.set_max_batch_size(self.input.shape[0])

    @serve.batch(batch_wait_timeout_s=PATIENCE_S)
    async def gather(self, items: list[np.ndarray]) -> list[np.ndarray]:
        """Runs what has come together, and nothing else, items of any length side by side. In a library for
        one batch the places that are left hold older items: the result of an item depends on nothing but
        the item."""
        self.runs += 1
        given = items
        if self.batch is not None:
            self.batch[: len(items)] = items
            given = self.batch
        # Requests are gathered while the model runs: it needs no lock of the interpreter.
        results = await asyncio.to_thread(self.model, given)
        return list(results[self.output.name][: len(items)])

    def fits(self, item: np.ndarray) -> bool:
        shape, axes = self.input.shape[1:], self.input.axes[1:] or ("",) * (len(self.input.shape) - 1)
        if item.dtype != self.input.dtype or item.ndim != len(shape):
            return False
        least, most = self.model.ranges["tokens"] if "tokens" in axes else (0, 0)
        return all(least <= size <= most if axis == "tokens" else size == wanted for size, wanted, axis in zip(item.shape, shape, axes))

    async def infer(self, item: np.ndarray) -> np.ndarray:
        """For callers in Python, by a handle of Ray. ValueError: the item does not fit the model."""
        if not self.fits(item):
            largest = list(self.input.shape[1:])
            most = "at most " if "tokens" in self.input.axes else ""
            raise ValueError(f"expects {most}{self.input.dtype}{largest}, got {item.dtype}{list(item.shape)}")
        return await self.gather(item)

    async def __call__(self, request: Request) -> Response:
        """For everybody else, by HTTP."""
        try:
            item = np.load(io.BytesIO(await request.body()), allow_pickle=False)
            result = await self.infer(item)
        except (ValueError, EOFError) as error:
            return Response(f"{error}\n", status_code=400, media_type="text/plain")
        body = io.BytesIO()
        np.save(body, result)
        return Response(body.getvalue(), media_type="application/octet-stream")

    async def told(self) -> tuple[set[int], int]:
        """The cores of this actor, and its runs so far."""
        return self.cores, self.runs


def application(library: str, actors: int, cores: int) -> serve.Application:
    """What `serve.run` takes."""
    options = {"num_cpus": cores}
    return Actor.options(num_replicas=actors, ray_actor_options=options).bind(os.path.abspath(library), cores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--actors", type=int, default=1, help="processes, each with a group of cores (default: 1)")
    parser.add_argument("--cores", type=int, default=1, help="of a group (default: 1)")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    serve.start(http_options={"host": "127.0.0.1", "port": arguments.port})
    serve.run(application(arguments.library, arguments.actors, arguments.cores), name="hova", blocking=True)


if __name__ == "__main__":
    main()
