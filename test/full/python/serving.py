# ===- serving.py - What the tests of servers share ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Callers at once, what they are to get, and a port for their server on this machine."""

import socket
from concurrent.futures import ThreadPoolExecutor

import hova
import numpy as np
from conftest import DIGITS

CALLERS = 100
WEIGHTS = DIGITS / "weights.safetensors"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def compile_batch(batch, output):
    return hova.compile(DIGITS / "digits.json", weights=WEIGHTS, set={"batch": batch}, output=output)


def pictures_and_logits():
    """Pictures, four for each caller, and their results, picture by picture, from a model of one."""
    pictures = np.load(DIGITS / "images.npy")[: 4 * CALLERS]
    with hova.load(hova.compile(DIGITS / "digits.json", weights=WEIGHTS), threads=1) as model:
        return pictures, [model(picture[None])["logits"][0] for picture in pictures]


def ask_at_once(ask, pictures):
    """The answers to all pictures, of callers that ask beside each other, each for one picture after the other."""

    def call(caller):
        return [(i, ask(pictures[i])) for i in range(caller, len(pictures), CALLERS)]

    with ThreadPoolExecutor(CALLERS) as callers:
        answers = dict(pair for pairs in callers.map(call, range(CALLERS)) for pair in pairs)
    return [answers[i] for i in range(len(pictures))]


def same_bits(answers, expected):
    return len(answers) == len(expected) and all(map(np.array_equal, answers, expected))
