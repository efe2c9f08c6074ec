# ===- train.py - Train the brackets model and write its files -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of model.py on the rows of task.py.

Writes, beside this file:
  weights.safetensors  the weights under the names of brackets.json, the random
                       features of the performer among them
  tokens.npy           the held-out rows, int32 [500, 48]
  labels.npy           their answers, int32 [500]
  logits.npy           what this framework computes for them, float32 [500, 6]

The held-out rows are drawn with a seed of their own and used once, at the end. The
run is seeded and on one thread, so the same packages on the same machine give the
same files again.

Packages: torch 1.13 or later, numpy, safetensors. Six minutes.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from training import start, train, write  # first: it sets up OpenBLAS

import torch
from task import samples
from model import Brackets

TRAINING, HELD_OUT = 20000, 500
PEAK_RATE = 4e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()

    start()
    rows, labels = samples(TRAINING, seed=1)
    model = Brackets()
    train(model, torch.tensor(rows), torch.tensor(labels), options.steps, PEAK_RATE)
    rows, labels = samples(HELD_OUT, seed=2)
    write(options.output, model, "tokens", torch.tensor(rows), torch.tensor(labels))


if __name__ == "__main__":
    main()
