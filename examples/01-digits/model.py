# ===- model.py - The digits Transformer in PyTorch ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The model of digits.json, written once more in PyTorch for training.

A vision Transformer for 8 x 8 images with the three attention modules that hova
is named after: every ordinary layer has horizontal and vertical attention, and
the third of the four layers is an omnidirectional one that attends to the states
of the two layers before it.

Modules, parameters and layouts follow the description, so that `state_dict()` is
the weight file: the names are the same and linear weights are stored [in, out].
Shapes in comments: B batch, N tokens, D width, M heads, d head width.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F
from training import FeedForward, LayerNorm, Linear, Table

WIDTH, HEADS, HIDDEN, PATCH, CLASSES = 48, 4, 96, 2, 10
TOKENS = (8 // PATCH) ** 2 + 1
EPS = 1e-6


def gelu(x):
    return F.gelu(x, approximate="tanh")


def matrix(inputs, outputs):
    """A weight [inputs, outputs] without a bias, drawn as in Linear."""
    return Linear(inputs, outputs, bias=False).weight


class Horizontal(nn.Module):
    """Re-weights the heads of one attention, token by token.

    A_m = ReLU(H_m W_A1 + X W_A2), alpha = softmax over m of (A_m W_B + b_B).
    """

    def __init__(self, width, head_width):
        super().__init__()
        self.head = matrix(head_width, head_width)  # W_A1
        self.input = matrix(width, head_width)  # W_A2
        self.score = nn.Parameter(matrix(head_width, 1).detach()[:, 0])  # W_B
        self.score_bias = nn.Parameter(torch.zeros(1))  # b_B

    def forward(self, x, heads):  # x [B, N, D], heads [B, N, M, d]
        rows = F.relu(heads @ self.head + (x @ self.input).unsqueeze(2))
        logits = rows @ self.score + self.score_bias  # [B, N, M]
        return heads * logits.softmax(dim=2).unsqueeze(3)


class Vertical(nn.Module):
    """Gates the channels of the attention output, token by token.

    U = ReLU(X W_U1 + Y W_U2), result = sigmoid(U W_U + b_U) * Y.
    """

    def __init__(self, width, hidden):
        super().__init__()
        self.input = matrix(width, hidden)  # W_U1
        self.output = matrix(width, hidden)  # W_U2
        self.gate = matrix(hidden, width)  # W_U
        self.gate_bias = nn.Parameter(torch.zeros(width))  # b_U

    def forward(self, x, y):
        u = F.relu(x @ self.input + y @ self.output)
        return y * torch.sigmoid(u @ self.gate + self.gate_bias)


class Attention(nn.Module):
    """Multi-head self attention, with horizontal and vertical attention if reweighted."""

    def __init__(self, reweighted):
        super().__init__()
        self.query = Linear(WIDTH, WIDTH)
        self.key = Linear(WIDTH, WIDTH)
        self.value = Linear(WIDTH, WIDTH)
        self.output = Linear(WIDTH, WIDTH)
        self.horizontal = Horizontal(WIDTH, WIDTH // HEADS) if reweighted else None
        self.vertical = Vertical(WIDTH, WIDTH // 4) if reweighted else None

    def attend(self, x):  # [B, N, D] -> [B, N, D]
        def split(y):  # [B, N, D] -> [B, M, N, d]
            return y.unflatten(2, (HEADS, -1)).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        heads = (scores.softmax(dim=-1) @ v).transpose(1, 2)  # [B, N, M, d]
        if self.horizontal is not None:
            heads = self.horizontal(x, heads)
        y = self.output(heads.flatten(2))
        return y if self.vertical is None else self.vertical(x, y)

    def forward(self, x):
        return self.attend(x)


class Layer(nn.Module):
    """One pre-norm block: x + Attention(LN(x)), then x + FeedForward(LN(x))."""

    def __init__(self):
        super().__init__()
        self.norm1 = LayerNorm(WIDTH, EPS)
        self.attn = Attention(reweighted=True)
        self.norm2 = LayerNorm(WIDTH, EPS)
        self.ffn = FeedForward(WIDTH, HIDDEN, gelu)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class Omni(Attention):
    """One plain block over all tokens of all given layers, then the maximum over layers.

    The states are sorted token by token (token i of layer l is row i*K + l), so the
    maximum is a pool over groups of K rows.
    """

    def __init__(self):
        super().__init__(reweighted=False)
        self.norm1 = LayerNorm(WIDTH, EPS)
        self.norm2 = LayerNorm(WIDTH, EPS)
        self.feed_forward = FeedForward(WIDTH, HIDDEN, gelu)

    def forward(self, states):  # K states [B, N, D]
        rows = torch.stack(states, dim=2).flatten(1, 2)  # [B, N*K, D]
        rows = rows + self.attend(self.norm1(rows))
        rows = rows + self.feed_forward(self.norm2(rows))
        return rows.unflatten(1, (-1, len(states))).amax(dim=2)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = Linear(PATCH * PATCH, WIDTH)
        self.tokens = Table(WIDTH)
        self.placed = Table(TOKENS, WIDTH)
        self.early = nn.ModuleList([Layer(), Layer()])
        self.omni = Omni()
        self.late = Layer()
        self.norm = LayerNorm(WIDTH, EPS)
        self.head = Linear(WIDTH, CLASSES)

    def forward(self, image):  # [B, 1, 8, 8], grey values 0..1
        columns = F.unfold(image, PATCH, stride=PATCH).transpose(1, 2)
        x = self.patches(columns)
        token = self.tokens.weight.expand(x.shape[0], 1, -1)
        x = torch.cat([token, x], dim=1) + self.placed.weight
        first = self.early[0](x)
        second = self.early[1](first)
        x = second + self.omni([first, second])
        x = self.late(x)
        return self.head(self.norm(x)[:, 0])
