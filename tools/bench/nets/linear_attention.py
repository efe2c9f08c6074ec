# ===- linear_attention.py - Performers by themselves -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/token_performer.json and causal_performer.json."""

from . import pooling
from .attention import multi_head_attention

TABLES = ("*.features",)


def prepare(weights, parameters):
    return weights


def token_features(f, path, x):
    """phi(x) = exp(w x - |x|^2/2) / sqrt(m), in f32 with any storage"""
    w = f.weight(f"{path}.features")
    half = f.float32(x * x).sum(-1)[..., None] * 0.5
    projected = f.float32(x @ w.swapaxes(0, 1))
    return f.exp(projected - half) * (w.shape[0] ** -0.5)


def token_performer(f, path, q, k, v):
    """The attention of T2T-ViT's tokens [batch, tokens, width]; 1e-8 is added to the
    denominators. Products are of the type of the values, as autocast has them."""
    q, k = token_features(f, path, q), token_features(f, path, k)
    sums = f.in_type_of(k.sum(1)[..., None], v)
    q, k = f.in_type_of(q, v), f.in_type_of(k, v)
    return (q @ (k.swapaxes(1, 2) @ v)) / (q @ sums + 1e-8)


def forward(f, parameters, *inputs):
    """Values [batch, tokens, width] -> the same shape"""
    if f.has("attn.features"):
        return (token_performer(f, "attn", *inputs),)
    heads = parameters["heads"]
    options = {"pool": pooling.performer, "causal": True}
    return (multi_head_attention(f, "attn", *inputs, heads, **options),)
