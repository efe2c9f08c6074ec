# ===- digits_torch.py - A compiled model inside a program of PyTorch --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Classifies the held-out digits with tensors of PyTorch, on a GPU where there is one.

usage: digits_torch.py LIBRARY.so IMAGES.npy LABELS.npy

The library is made by: hova compile examples/01-digits/digits.json --weights examples/01-digits/weights.safetensors
--dtype=bf16 --target=cpu,cuda --emit=lib -o build/digits. Needs PyTorch and NumPy.
"""

import sys

import numpy as np
import torch
from dlpack_model import Model


def main(path, images, labels):
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda" if on_gpu else "cpu")
    stream = torch.cuda.Stream() if on_gpu else None
    model = Model(path, "digits", stream=stream.cuda_stream if on_gpu else 0)
    rows = []
    with torch.cuda.stream(stream):
        images = torch.from_numpy(np.load(images)).to(device)
        for image in images.split(1):
            # A view of one image is read in place; an output begins at a multiple of 16 bytes, as every tensor of its own does.
            rows.append(torch.empty((1, 10), device=device))
            model({"image": image}, {"logits": rows[-1]})
        right = int((torch.cat(rows).argmax(1).cpu().numpy() == np.load(labels)).sum())
    model.close()
    print(f"{right} of {len(images)} digits are right, {model.message}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
