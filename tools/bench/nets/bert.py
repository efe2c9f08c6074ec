# ===- bert.py - BERT encoders ----------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""bert_base and minilm_l6, with three projections as in transformers."""

from .attention import depth, feed_forward, multi_head_attention

TABLES = ("words.weight", "kinds.weight", "placed.weight")


def prepare(weights, parameters):
    return weights


def forward(f, parameters, tokens, mask, types):
    """tokens, mask, types [batch, N] -> hidden [batch, N, D], pooled [batch, D]"""
    eps, heads = parameters["eps"], parameters["heads"]
    x = f.embedding(tokens, "words.weight") + f.embedding(types, "kinds.weight")
    x = f.layer_norm(x + f.weight("placed.weight")[: tokens.shape[1]], "norm", eps)
    for i in range(depth(f, "encoder", "norm1.gain")):
        path = f"encoder.{i}"
        attended = multi_head_attention(f, f"{path}.attn", x, heads, valid=mask)
        x = f.layer_norm(x + attended, f"{path}.norm1", eps)
        x = f.layer_norm(
            x + feed_forward(f, f"{path}.ffn", x, f.gelu), f"{path}.norm2", eps
        )
    return x, f.tanh(f.linear(x[:, 0], "pooler"))
