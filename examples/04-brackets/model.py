# ===- model.py - The brackets Transformer in PyTorch ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The model of brackets.json, written once more in PyTorch for training.

Shapes in comments: B batch, N tokens, D width, h heads, d head width, m features.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F
from training import FeedForward, LayerNorm, Linear, Table

LENGTH, LETTERS, WIDTH, HEADS, HIDDEN, FEATURES = 48, 6, 32, 4, 64, 16
LAYERS = 2  # in front of the omnidirectional one
EPS = 1e-6


def orthogonal_features(rows, width):
    """[rows, width]: orthogonal in groups of `width`, as long as Gaussian rows."""
    groups = []
    for _ in range(math.ceil(rows / width)):
        q, r = torch.linalg.qr(torch.randn(width, width))
        groups.append((q * r.diagonal().sign()).T)
    lengths = torch.randn(rows, width).norm(dim=1, keepdim=True)
    return torch.cat(groups)[:rows] * lengths


def softmax_features(q, k, v, w):
    """Causal attention by positive random features of the softmax kernel.

    q, k, v [B, h, N, d], w [m, d]. Features of a query are divided by the largest, those
    of keys 0 to i by the largest of these keys. The weights [N, N] are formed here, since
    rows are short; the compiled program carries sums from key to key instead.
    """
    eps, stabilizer = 1e-6, 1e-6
    q, k = (x / x.shape[-1] ** 0.25 for x in (q, k))
    q_rows, k_rows = q @ w.T, k @ w.T  # [B, h, N, m]
    q_top = q_rows.amax(dim=3, keepdim=True)
    k_top = k_rows.amax(dim=3, keepdim=True).cummax(dim=2).values
    top = k_top[:, :, -1:]
    of_query = (q_rows - q.square().sum(3, keepdim=True) / 2 - q_top).exp() + eps
    of_key = (k_rows - k.square().sum(3, keepdim=True) / 2 - top).exp()
    weights = of_query @ of_key.transpose(2, 3) * (top - k_top).exp()
    weights = (weights + eps * of_query.sum(dim=3, keepdim=True)) / w.shape[0]
    weights = weights.tril()  # query i sees keys 0 to i
    below = weights.sum(dim=3, keepdim=True)
    return weights @ v / (below + 2 * stabilizer * (below <= stabilizer))


def relu_features(q, k, v):
    """Attention by the generalised kernel: features are ReLU(x) + 0.001."""
    of_query, of_key = F.relu(q) + 1e-3, F.relu(k) + 1e-3
    below = of_query @ of_key.sum(dim=2).unsqueeze(3)
    return of_query @ (of_key.transpose(2, 3) @ v) / below


class Attention(nn.Module):
    """Multi-head attention whose work grows with N, not with its square."""

    def __init__(self, features):
        super().__init__()
        for name in ("query", "key", "value", "output"):
            setattr(self, name, Linear(WIDTH, WIDTH, bias=False))
        # Frozen, but a part of the model: a buffer is in state_dict().
        frozen = orthogonal_features(features, WIDTH // HEADS) if features else None
        self.register_buffer("features", frozen)

    def attend(self, x):  # [B, N, D] -> [B, N, D]
        def split(y):  # [B, N, D] -> [B, h, N, d]
            return y.unflatten(2, (HEADS, -1)).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        if self.features is None:
            heads = relu_features(q, k, v)
        else:
            heads = softmax_features(q, k, v, self.features)
        return self.output(heads.transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.attend(x)


class Layer(nn.Module):
    """One pre-norm block: x + Attention(LN(x)), then x + FeedForward(LN(x))."""

    def __init__(self):
        super().__init__()
        self.norm1 = LayerNorm(WIDTH, EPS)
        self.attn = Attention(FEATURES)
        self.norm2 = LayerNorm(WIDTH, EPS)
        self.ffn = FeedForward(WIDTH, HIDDEN, F.relu)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Omni(Attention):
    """One block over all tokens of all given layers, then the maximum over layers."""

    def __init__(self):
        super().__init__(features=0)
        self.norm1 = LayerNorm(WIDTH, EPS)
        self.norm2 = LayerNorm(WIDTH, EPS)
        self.feed_forward = FeedForward(WIDTH, HIDDEN, F.relu)

    def forward(self, states):  # K states [B, N, D]
        rows = torch.stack(states, dim=2).flatten(1, 2)  # [B, N*K, D]
        rows = rows + self.attend(self.norm1(rows))
        rows = rows + self.feed_forward(self.norm2(rows))
        return rows.unflatten(1, (-1, len(states))).amax(dim=2)


class Step(nn.Module):
    """A layer of the encoder: an ordinary one, or one over all layers before it."""

    def __init__(self, over_all):
        super().__init__()
        name, module = ("over", Omni()) if over_all else ("plain", Layer())
        self.add_module(name, module)


class Brackets(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = Table(LETTERS + 2, WIDTH)
        self.placed = Table(LENGTH, WIDTH)
        self.encoder = nn.ModuleList([Step(i == LAYERS) for i in range(LAYERS + 1)])
        self.norm = LayerNorm(WIDTH, EPS)
        self.logits = Linear(WIDTH, LETTERS)

    def forward(self, tokens):  # [B, N] integers
        x = F.embedding(tokens, self.embed.weight) + self.placed.weight
        states = []
        for step in self.encoder[:-1]:
            x = step.plain(x)
            states.append(x)
        x = x + self.encoder[-1].over(states)
        return self.logits(self.norm(x).mean(dim=1))
