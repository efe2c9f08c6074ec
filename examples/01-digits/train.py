# ===- train.py - Train the digits model and write its files ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of model.py on scikit-learn's handwritten digits.

Writes, beside this file:
  weights.safetensors  the weights under the names of digits.json
  images.npy           the held-out images, float32 [400, 1, 8, 8], 0..1
  labels.npy           their classes, int32 [400]
  logits.npy           what this framework computes for them, float32 [400, 10]

The 400 held-out images are drawn by a seeded permutation before training and used
once, at the end: nothing is selected by them. The run is seeded and on one thread,
so the same packages on the same machine give the same files again.

Packages: torch 1.13 or later, numpy, scikit-learn, safetensors. Three minutes.
"""

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from training import BATCH, rate, start, write  # first: it sets up OpenBLAS

import numpy as np
import torch
from model import Digits
from sklearn.datasets import load_digits
from torch.nn import functional as F

HELD_OUT = 400
PEAK_RATE = 2e-3


def load_split():
    """Images [1797, 1, 8, 8] in 0..1 and labels, as (training, held-out) pairs."""
    digits = load_digits()
    images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target)
    order = torch.tensor(np.random.RandomState(0).permutation(len(labels)))
    held, rest = order[:HELD_OUT], order[HELD_OUT:]
    return (images[rest], labels[rest]), (images[held], labels[held])


def distort(images):
    """Turns, scales and shifts every image a little: 1397 images are few."""
    n = len(images)
    angle = (torch.rand(n) * 2 - 1) * math.radians(12)
    zoom = 1 + (torch.rand(n) * 2 - 1) * 0.12
    cos, sin = angle.cos() * zoom, angle.sin() * zoom
    shift = (torch.rand(n, 2) * 2 - 1) * 0.2  # 0.2 of half an image: 0.8 pixels
    affine = torch.stack(
        [
            torch.stack([cos, -sin, shift[:, 0]], dim=1),
            torch.stack([sin, cos, shift[:, 1]], dim=1),
        ],
        dim=1,
    )
    grid = F.affine_grid(affine, images.shape, align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def train(images, labels, epochs):
    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.05)
    steps = epochs * (len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: rate(s, steps))
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(labels)).split(BATCH):
            if len(batch) < BATCH:
                continue
            logits = model(distort(images[batch]))
            loss = F.cross_entropy(logits, labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * BATCH
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3d}  loss {total / len(labels):.4f}", flush=True)
    return model.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()

    start()
    training, (images, labels) = load_split()
    model = train(*training, options.epochs)
    write(options.output, model, "images", images, labels)


if __name__ == "__main__":
    main()
