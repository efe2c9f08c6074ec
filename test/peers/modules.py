# ===- modules.py - Public modules, and their weights as a description says ---=== #
# SPDX-License-Identifier: Apache-2.0
"""What several models share: layers of torch.nn and of public libraries, put together as
the papers say, and their weights under the names and layouts of a description.

Matrices of torch are [out, in], those of a description [in, out].
"""

import math

import numpy as np
import torch
from linformer.linformer import LinformerSelfAttention
from performer_pytorch.performer_pytorch import (
    SelfAttention,
    causal_linear_attention_noncuda,
)
from torch import nn
from torch.nn import functional as F

PAD = 0


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def sinusoid(length, width, layout="interleaved"):
    """The table of positions [length, width], rounded to float32 as the operator is defined."""
    if layout == "interleaved":
        angle = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
        table = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(length, width)
    else:
        half = width // 2
        rates = np.exp(-np.arange(half) * math.log(10000) / (half - 1))
        angle = np.arange(length)[:, None] * rates
        table = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    return torch.from_numpy(table).float()


def later(length):
    """The mask of torch.nn for causal attention: true where a query may not look."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def random_tokens(shape, vocab, seed, padded=0):
    """Ids from 1 on; the last `padded` of every other row are padding."""
    tokens = np.random.RandomState(seed).randint(1, vocab, shape)
    if padded:
        tokens[1::2, -padded:] = PAD
    return tokens.astype(np.int32)


def encoder_layer(width, heads, hidden, *, eps, norm_first, bias, activation=F.relu):
    """A layer of torch.nn with or without biases in its attention.

    There is no dropout, and models are in training mode: the fused path of evaluation
    leaves out what padding becomes.
    """
    layer = nn.TransformerEncoderLayer(
        width,
        heads,
        hidden,
        dropout=0.0,
        activation=activation,
        layer_norm_eps=eps,
        batch_first=True,
        norm_first=norm_first,
    )
    if not bias:
        layer.self_attn = nn.MultiheadAttention(
            width, heads, bias=False, batch_first=True
        )
    return layer


def relu_performer(width, heads, *, causal=False, bias=False):
    """The attention of performer_pytorch with relu(x) + 0.001 as the features of x.

    The library scales x by dh^-1/4 before its function sees it, which is undone; and its
    causal form adds 1e-6 to the sum of features, which no paper has.
    """
    attention = SelfAttention(
        width,
        causal=causal,
        heads=heads,
        dim_head=width // heads,
        generalized_attention=True,
        kernel_fn=lambda x: F.relu(x * (width // heads) ** 0.25),
        qkv_bias=bias,
        attn_out_bias=bias,
    )
    fast = attention.fast_attention
    fast.projection_matrix = None
    if causal:
        fast.causal_linear_fn = lambda q, k, v: causal_linear_attention_noncuda(
            q, k, v, eps=0.0
        )
    return attention


def linformer(width, heads, tokens, projected):
    """The attention of linformer with one projection for keys and values and no bias."""
    attention = LinformerSelfAttention(width, tokens, k=projected, heads=heads)
    attention.proj_v = attention.proj_k
    attention.to_out = nn.Linear(width, width, bias=False)
    return attention


class Layer(nn.Module):
    """A pre-norm layer around an attention of another library."""

    def __init__(self, attention, width, hidden, *, eps, activation):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps)
        self.attention = attention
        self.norm2 = nn.LayerNorm(width, eps)
        self.linear1 = nn.Linear(width, hidden)
        self.linear2 = nn.Linear(hidden, width)
        self.activation = activation

    def attend(self, x):
        return x + self.attention(self.norm1(x))

    def feed_forward(self, x):
        return x + self.linear2(self.activation(self.linear1(self.norm2(x))))

    def forward(self, x):
        return self.feed_forward(self.attend(x))


def index_sort(states):
    """K states [batch, N, D] as one of [batch, K N, D], token by token."""
    return torch.stack(states, dim=2).flatten(1, 2)


def pool_states(x, count):
    """The maximum over the states of each token: max pooling along the sorted rows."""
    return F.max_pool1d(x.transpose(1, 2), count).transpose(1, 2)


class Embedded(nn.Module):
    """Tokens as vectors with a sinusoid added."""

    def __init__(self, vocab, width, layout="interleaved", scale=1.0):
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.layout, self.scale = layout, scale

    def forward(self, tokens):
        weight = self.embedding.weight
        table = sinusoid(tokens.shape[1], weight.shape[1], self.layout)
        return self.embedding(tokens) * self.scale + table.to(weight.dtype)


# Weights under the names of descriptions.


def linear_weights(at, module):
    weights = {f"{at}.weight": module.weight.T}
    if module.bias is not None:
        weights[f"{at}.bias"] = module.bias
    return weights


def norm_weights(at, module):
    return {f"{at}.gain": module.weight, f"{at}.bias": module.bias}


def attention_weights(at, module):
    """Of torch.nn.MultiheadAttention, or of four linear layers to_q, to_k, to_v, to_out."""
    weights = {}
    parts = ("query", "key", "value")
    if not isinstance(module, nn.MultiheadAttention):
        for part, name in zip((*parts, "output"), ("to_q", "to_k", "to_v", "to_out")):
            weights |= linear_weights(f"{at}.{part}", getattr(module, name))
        return weights
    if module.in_proj_weight is None:
        matrices = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    else:
        matrices = module.in_proj_weight.chunk(3)
    for part, matrix in zip(parts, matrices):
        weights[f"{at}.{part}.weight"] = matrix.T
    if module.in_proj_bias is not None:
        for part, bias in zip(parts, module.in_proj_bias.chunk(3)):
            weights[f"{at}.{part}.bias"] = bias
    return weights | linear_weights(f"{at}.output", module.out_proj)


def layer_weights(at, layer, attn="attn", ffn="ffn", norm1="norm1", norm2="norm2"):
    """Of a layer of torch.nn, or of one above."""
    attention = layer.attention if isinstance(layer, Layer) else layer.self_attn
    return {
        **attention_weights(f"{at}{attn and '.' + attn}", attention),
        **norm_weights(f"{at}.{norm1}", layer.norm1),
        **linear_weights(f"{at}.{ffn}.hidden", layer.linear1),
        **linear_weights(f"{at}.{ffn}.output", layer.linear2),
        **norm_weights(f"{at}.{norm2}", layer.norm2),
    }


def omni_weights(at, layer):
    """Of a layer that takes part as an omnidirectional attention."""
    return layer_weights(at, layer, attn="", ffn="feed_forward")


def tokens_to_logits(*given):
    """What computes the logits of arrays of tokens."""
    return lambda m: {"logits": m(*(torch.from_numpy(tokens).long() for tokens in given))}
