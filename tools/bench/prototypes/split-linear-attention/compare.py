#!/usr/bin/env python3
# ===- compare.py - Inputs, float64 results and tables ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Makes inputs, checks results against NumPy in float64, prints medians.

usage: compare.py inputs FOLDER | errors FOLDER PROGRAM... | times FILE...
"""

import sys
from pathlib import Path

import numpy as np

TOKENS, WIDTH, FEATURES = 3136, 64, 32
# Two projections, the sums over tokens [v | 1], and the weighted sums.
FLOPS = 2 * TOKENS * FEATURES * (2 * WIDTH + 2 * (WIDTH + 1))


def make_inputs(folder):
    """Rows [k | q | v] and orthogonal features with rows of norm sqrt(FEATURES)."""
    random = np.random.default_rng(0)
    kqv = random.standard_normal((TOKENS, 3 * WIDTH)) * 0.7
    square, _ = np.linalg.qr(random.standard_normal((WIDTH, WIDTH)))
    weight = square[:, :FEATURES] * np.sqrt(FEATURES) / np.log(2)
    kqv.astype(np.float32).tofile(folder / "kqv.in")
    # As a weight program leaves it: the base of 2^x, and what scales keys, are in it.
    weight.astype(np.float32).tofile(folder / "t2t.in")
    (weight / WIDTH**0.25).astype(np.float32).tofile(folder / "favor.in")


def expected(folder, form):
    """The attention in float64, by its definition."""
    read = lambda name: np.fromfile(folder / name, np.float32).astype(np.float64)
    key, query, value = np.split(read("kqv.in").reshape(TOKENS, -1), 3, axis=1)
    weight = read(f"{form}.in").reshape(WIDTH, FEATURES) * np.log(2)
    norm = lambda u: (u * u).sum(1, keepdims=True) / 2
    if form == "t2t":
        features = [np.exp(u @ weight - norm(u)) for u in (key, query)]
    else:
        scores = [u @ weight for u in (key, query)]
        shifts = [scores[0].max(), scores[1].max(1, keepdims=True)]
        features = [
            np.exp(s - norm(u) / np.sqrt(WIDTH) - m) + 1e-6
            for s, u, m in zip(scores, (key, query), shifts)
        ]
    key, query = (f / np.sqrt(FEATURES) for f in features)
    epsilon = 1e-8 if form == "t2t" else 0
    return query @ (key.T @ value) / ((query @ key.sum(0))[:, None] + epsilon)


def print_errors(folder, programs):
    """Fails where a result is off by more than the tolerance of one operator."""
    print("| program | largest error | root mean square | bits are those of |")
    print("|---|---|---|---|")
    first = {}
    for name in programs:
        wanted = expected(folder, "favor" if name.startswith("favor") else "t2t")
        got = np.fromfile(folder / f"{name}.out", np.float32).reshape(wanted.shape)
        error = np.abs(got - wanted)
        if not np.all(error <= 1e-5 + 1e-4 * np.abs(wanted)):
            sys.exit(f"compare: {name} is wrong by {error.max()}")
        rms = np.sqrt(np.mean(error**2))
        same = first.setdefault(got.tobytes(), name)
        same = "" if same == name else same
        print(f"| {name} | {error.max():.2e} | {rms:.2e} | {same} |")


def read_times(files):
    """{(program, threads): {kernel: [us]}}"""
    samples = {}
    for line in (line for file in files for line in file.read_text().split()):
        program, threads, kernel, us = line.split(",")
        times = samples.setdefault((program, int(threads)), {})
        times.setdefault(kernel, []).append(float(us))
    return samples


def print_times(files):
    """Twice: medians, and the 5th percentile, what runs take that nobody disturbs."""
    samples = read_times(files)
    peak = {t: np.percentile(samples.pop(("peak", t))["fma"], 90) for t in (1, 2)}
    runs = min(len(times["all"]) for times in samples.values())
    print(f"\nFMA peak {peak[1]:.0f} and {peak[2]:.0f} GFLOP/s, {runs} runs each")
    for title, rank in ("median", 50), ("5th percentile", 5):
        print(f"\n| {title}, us | 1 thread | % of peak | 2 threads | ratio | kernels |")
        print("|---|---|---|---|---|---|")
        for name in dict.fromkeys(name for name, _ in samples):
            one, two = (
                {k: np.percentile(v, rank) for k, v in samples[name, t].items()}
                for t in (1, 2)
            )
            percent = FLOPS / one["all"] * 1e-3 / peak[1] * 100
            parts = [f"{k} {one[k]:.1f} {two[k]:.1f}" for k in one if k != "all"]
            print(
                f"| {name} | {one['all']:.1f} | {percent:.1f} | {two['all']:.1f} "
                f"| {one['all'] / two['all']:.2f} | {', '.join(parts)} |"
            )


def main():
    command, place, *names = sys.argv[1:]
    if command == "inputs":
        make_inputs(Path(place))
    elif command == "errors":
        print_errors(Path(place), names)
    else:
        print_times([Path(place), *map(Path, names)])


if __name__ == "__main__":
    main()
