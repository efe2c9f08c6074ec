# ===- train.py - Train the outlines model and write its files -------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of model.py on the pictures of draw.py.

Writes, beside this file:
  weights.safetensors  the weights under the names of outlines.json
  pictures.npy         the held-out pictures, float32 [200, 1, 24, 24], 0..1
  labels.npy           their classes, int32 [200]
  logits.npy           what this framework computes for them, float32 [200, 6]

The held-out pictures are drawn with a seed of their own and used once, at the end.
The run is seeded and on one thread, so the same packages on the same machine give
the same files again.

Packages: torch 1.13 or later, numpy, safetensors. Eight minutes.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from training import start, train, write  # first: it sets up OpenBLAS

import torch
from draw import pictures
from model import Outlines

TRAINING, HELD_OUT = 8192, 200
PEAK_RATE = 3e-3


def turn(images):
    """One of the eight symmetries of a square, for all images of a batch."""
    turns, flip = torch.randint(4, ()).item(), torch.randint(2, ()).item()
    images = images.rot90(turns, (2, 3))
    return images.flip(3) if flip else images


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--unshifted", action="store_true", help="windows stay in place in every block")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()

    start()
    images, labels = pictures(TRAINING, seed=1)
    model = Outlines(shifted=not options.unshifted)
    train(model, torch.tensor(images), torch.tensor(labels), options.steps, PEAK_RATE, turn)
    images, labels = pictures(HELD_OUT, seed=2)
    write(options.output, model, "pictures", torch.tensor(images), torch.tensor(labels))


if __name__ == "__main__":
    main()
