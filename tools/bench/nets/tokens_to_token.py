# ===- tokens_to_token.py - Tokens-to-Token ViT ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""t2t_vit_14: soft splits and token performers in front of a ViT."""

import math

from .attention import depth, encoder_layer, feed_forward, join_projections
from .linear_attention import token_performer
from .positions import sinusoid

TABLES = ("*.features",)


def prepare(weights, parameters):
    split = join_projections(weights, r"tokens\d", ("key", "query", "value"))
    return join_projections(split)


def tokens_of(f, path, x, eps):
    """A token performer; its residual begins at the values, whose width it has."""
    kqv = f.linear(f.layer_norm(x, f"{path}.norm1", eps), f"{path}.kqv")
    k, q, v = f.thirds(kqv)
    x = v + f.linear(token_performer(f, f"{path}.attn", q, k, v), f"{path}.proj")
    normed = f.layer_norm(x, f"{path}.norm2", eps)
    return x + feed_forward(f, f"{path}.ffn", normed, f.gelu)


def image_of(x):
    """Square [batch, N, C] -> [batch, C, sqrt(N), sqrt(N)]"""
    batch, tokens, channels = x.shape
    side = math.isqrt(tokens)
    return x.swapaxes(1, 2).reshape(batch, channels, side, side)


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps = parameters["eps"]
    x = f.unfold(image, kernel=7, stride=4, padding=2)
    for path in ("tokens1", "tokens2"):
        x = image_of(tokens_of(f, path, x, eps))
        x = f.unfold(x, kernel=3, stride=2, padding=1)
    x = f.prepend(f.linear(x, "project"), "tokens.weight")
    x = x + f.constant(sinusoid, *x.shape[1:])
    for i in range(depth(f, "encoder", "norm1.gain")):
        x = encoder_layer(f, f"encoder.{i}", x, parameters["heads"], eps)
    return (f.linear(f.layer_norm(x, "norm", eps)[:, 0], "head"),)
