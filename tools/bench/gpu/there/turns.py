# ===- turns.py - Several that run on one stream, by turns ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Samples of what runs on a stream, in rounds, so that a clock that changes changes all."""

import itertools
import time
from statistics import median


class Contestant:
    """A name, what puts one run on the stream, and the milliseconds of its runs by round. `outputs` gives what a run leaves, as
    bytes of f32 in the order of the model."""

    def __init__(self, name, run, outputs=None):
        self.name, self.run, self.outputs = name, run, outputs
        self.rounds, self.error = [], None

    def turn(self, bench, stream, counts):
        """A round: some runs without a time, then samples, `counts["least"]` at least and for `counts["turn"]` seconds."""
        for _ in range(counts["warmup"]):
            self.run()
        bench.device.synchronize(stream)
        samples, end = [], time.monotonic() + counts["turn"]
        while len(samples) < counts["least"] or time.monotonic() < end:
            samples.append(bench.device.milliseconds(self.run, stream))
        self.rounds.append(samples)

    def record(self):
        """Medians in milliseconds."""
        samples = list(itertools.chain(*self.rounds))
        return {"name": self.name, "median_ms": median(samples), "rounds_ms": [median(samples) for samples in self.rounds], "samples": len(samples),
                **({"error": self.error} if self.error is not None else {})}
