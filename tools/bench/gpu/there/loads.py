# ===- loads.py - Do programs load? ---------------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A context of each program, with its weights, and how long it took."""

import time

from library import Library


def measure(bench, item):
    """Seconds of unpacking, which no user has, and of making a context: modules, memory, weights and the graph."""
    begin = time.monotonic()
    program, image = bench.file(item["program"]), bench.file(item["image"])
    unpacked = time.monotonic()
    library = Library(program, item["prefix"], image)
    created = time.monotonic()
    library.close()
    return {"unpack_s": round(unpacked - begin, 3), "create_s": round(created - unpacked, 3)}
