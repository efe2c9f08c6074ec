# ===- drawing.py - Weights that are not like others --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What whoever draws weights has to know about some of them. NumPy alone is imported."""

import numpy as np


def soften_exponents(tensors):
    """Halves queries and keys of features exp(w x - |x|^2/2), which have no maximum.

    With x of order one in 64 channels, products of two of them would be 1e-28, nothing
    beside the 1e-8 in the denominators, and the attention would have no effect.
    """
    for name in tensors:
        place, _, role = name.rpartition(".attn.features")
        for part in ("query", "key") if place and not role else ():
            if f"{place}.{part}.weight" in tensors:
                tensors[f"{place}.{part}.weight"] *= np.float32(0.5)


def draw_blocks(generator, shape):
    """Blocks of keys [heads, blocks - 2, r] that query block i does not see anyway."""
    heads, inner, count = shape
    table = np.empty(shape, np.float32)
    for block in range(1, inner + 1):
        free = [b for b in range(1, inner + 1) if abs(b - block) > 1]
        for head in range(heads):
            table[head, block - 1] = generator.permutation(free)[:count]
    return table
