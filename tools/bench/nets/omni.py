# ===- omni.py - Omnidirectional attention -----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Attention to the states of several layers (OmniNet, equations 3 to 5); stacks of it."""

import numpy as np

from . import pooling
from .attention import encoder_layer, feed_forward, multi_head_attention


def later_tokens(tokens, states):
    """[T, T] of T = tokens*states rows: -inf where the key is of a later token."""
    place = np.arange(tokens * states) // states
    later = place[:, None] < place[None, :]
    return np.where(later, np.float32(-np.inf), np.float32(0))


def omni_attention(f, path, states, heads, kind, activation, eps, pool, causal="none"):
    """K states [batch, N, D] -> [batch, N, D]; rows are token by token, and in a token
    layer by layer."""
    batch, tokens, width = states[0].shape
    count = len(states)

    def by_blocks(f, path, q, k, v, valid):
        return f.biased_attention(q, k, v, f.constant(later_tokens, tokens, count))

    def largest(x):
        rows = x.reshape(batch, tokens, count, width)
        return f.largest(rows, (2,)).reshape(batch, tokens, width)

    options = {"pool": pooling.kind_of(kind)}
    if causal == "block":
        options["pool"] = by_blocks
    elif causal == "flattened":
        options["causal"] = True
    z = f.stack(states, 2).reshape(batch, tokens * count, width)
    normed = f.layer_norm(z, f"{path}.norm1", eps)
    a = z + multi_head_attention(f, path, normed, heads, **options)
    if pool == "after_attention":
        a = largest(a)
    normed = f.layer_norm(a, f"{path}.norm2", eps)
    a = a + feed_forward(f, f"{path}.feed_forward", normed, activation)
    return a if pool == "after_attention" else largest(a)


def omni_stack(f, path, x, parameters, layer, over):
    """Layers PATH.i.plain, of which every `partition`-th is PATH.i.over instead.

    That one attends to the states since the last of its kind, with a residual around it.
    """
    outputs = []
    while True:
        place = f"{path}.{len(outputs)}"
        if f.has(f"{place}.over.norm1.gain"):
            first = max(len(outputs) - parameters["partition"] + 1, 0)
            x = x + omni_attention(f, f"{place}.over", outputs[first:], **over)
        elif f.has(f"{place}.plain.norm1.gain"):
            x = encoder_layer(f, f"{place}.plain", x, **layer)
        else:
            return x
        outputs.append(x)
