# ===- language_model.py - Decoders alone ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""lm and omninet_lm: causal layers with norms in front, ReLU, an output of its own."""

import numpy as np

from . import pooling
from .attention import depth, encoder_layer, join_projections
from .omni import omni_stack
from .positions import split_sinusoid

TABLES = ("embed.weight",)


def prepare(weights, parameters):
    return join_projections(weights)


def later_keys(length):
    """[length, length]: -inf for the keys that a query does not see."""
    return np.triu(np.full((length, length), -np.inf, np.float32), 1)


class AddedScores:
    """Attention that adds the scores of the layer before to its own (RealFormer)."""

    def __init__(self):
        self.scores = None

    def __call__(self, f, path, q, k, v, valid, causal):
        scores = (q * q.shape[-1] ** -0.5) @ k.swapaxes(-2, -1)
        self.scores = scores if self.scores is None else self.scores + scores
        seen = self.scores + f.constant(later_keys, scores.shape[-1])
        return f.softmax(seen, -1) @ v


def embed(f, tokens):
    x = f.embedding(tokens, "embed.weight")
    return x + f.constant(split_sinusoid, tokens.shape[1], x.shape[-1])


def head(f, x, eps):
    return (f.linear(f.layer_norm(x, "norm", eps), "logits"),)


def forward(f, parameters, tokens):
    """tokens [batch, N] -> logits [batch, N, vocab]"""
    eps, heads = parameters["eps"], parameters["heads"]
    x = embed(f, tokens)
    layer = {"heads": heads, "eps": eps, "activation": f.relu, "causal": True}
    if "partition" in parameters:
        kind = "softmax" if parameters["attend"] == "full" else parameters["attend"]
        over = {"heads": heads, "eps": eps, "activation": f.relu, "kind": kind}
        over.update(pool=parameters["pool"], causal=parameters["causal"])
        return head(f, omni_stack(f, "decoder", x, parameters, layer, over), eps)
    if parameters["attention"] == "realformer":
        layer["pool"] = AddedScores()
    else:
        layer["pool"] = pooling.kind_of(parameters["attention"])
    for i in range(depth(f, "decoder", "norm1.gain")):
        x = encoder_layer(f, f"decoder.{i}", x, **layer)
    return head(f, x, eps)
