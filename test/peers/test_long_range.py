# ===- test_long_range.py - The tasks of Long Range Arena ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Long Range Arena at full width and depth. Attention is that of torch.nn, of
performer_pytorch or of linformer; sequences of softmax are shorter than the benchmark's, whose
scores would be gigabytes in float64."""

from functools import partial

import performer_pytorch.performer_pytorch as performers
import pytest
import torch
from harness import randomise
from linformer.linformer import LinformerSelfAttention
from modules import (
    PAD,
    Embedded,
    Layer,
    encoder_layer,
    gelu_tanh,
    index_sort,
    layer_weights,
    linear_weights,
    linformer,
    norm_weights,
    omni_weights,
    pool_states,
    random_tokens,
    relu_performer,
    sinusoid,
    tokens_to_logits,
)
from torch import nn
from torch.nn import functional as F

BATCH, DEPTH, EPS, PROJECTED = 2, 4, 1e-6, 16
# vocabulary, width, heads, hidden width, classes
TASKS = {
    "text": (257, 256, 4, 1024, 2),
    "retrieval": (257, 128, 4, 512, 2),
    "listops": (17, 512, 8, 1024, 10),
}


def softmax_performer(width, heads, features):
    """The attention of performer_pytorch with random features of the softmax."""
    return performers.SelfAttention(
        width,
        heads=heads,
        dim_head=width // heads,
        nb_features=features,
        qkv_bias=False,
        attn_out_bias=False,
    )


class Arena(nn.Module):
    """The encoder of a task and its head; with `omni`, every fourth layer is over all."""

    def __init__(self, task, attention, omni, length):
        super().__init__()
        vocab, width, heads, hidden, classes = TASKS[task]
        self.pairs = task == "retrieval"
        count = length if self.pairs else length + 1
        self.embed = Embedded(vocab, width)
        self.class_token = None if self.pairs else nn.Parameter(torch.zeros(width))

        def layer(kind, tokens):
            if kind == "softmax":
                return encoder_layer(
                    width, heads, hidden, eps=EPS, norm_first=True, bias=False, activation=gelu_tanh
                )
            if kind == "linformer":
                inner = linformer(width, heads, tokens, PROJECTED)
            elif task == "listops":
                inner = softmax_performer(width, heads, features=2)
            else:
                inner = relu_performer(width, heads)
            return Layer(inner, width, hidden, eps=EPS, activation=gelu_tanh)

        layers = [layer(attention, count) for _ in range(DEPTH)]
        if omni != "none":
            layers[-1] = layer(omni, count * (DEPTH - 1))
        self.omni = omni
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(width, EPS)
        self.hidden = nn.Linear(2 * width if self.pairs else width, hidden)
        self.pair_hidden = nn.Linear(hidden, hidden // 2) if self.pairs else None
        self.logits = nn.Linear(hidden // 2 if self.pairs else hidden, classes)

    def embedded(self, tokens):
        """The class token is in front before positions are added, and as valid as token 0."""
        padding = tokens == PAD
        if self.pairs:
            return self.embed(tokens), padding
        token = self.class_token.expand(len(tokens), 1, -1)
        x = torch.cat([token, self.embed.embedding(tokens)], dim=1)
        table = sinusoid(x.shape[1], x.shape[2]).to(x.dtype)
        return x + table, torch.cat([padding[:, :1], padding], dim=1)

    def forward(self, tokens):
        x, padding = self.embedded(tokens)
        states = []
        for index, layer in enumerate(self.layers):
            if index == DEPTH - 1 and self.omni != "none":
                x = x + pool_states(layer(index_sort(states)), len(states))
            elif isinstance(layer, Layer):
                x = layer(x)
            else:
                x = layer(x, src_key_padding_mask=padding)
            states.append(x)
        first = self.norm(x)[:, 0]
        if self.pairs:
            first = torch.cat(first.chunk(2), dim=1)
        hidden = F.relu(self.hidden(first))
        if self.pairs:
            hidden = F.relu(self.pair_hidden(hidden))
        return self.logits(hidden)

    def weights(self):
        named = {"embed.weight": self.embed.embedding.weight}
        if not self.pairs:
            named["all.weight"] = self.class_token
        for i, layer in enumerate(self.layers):
            at, over = f"encoder.{i}.plain", i == DEPTH - 1 and self.omni != "none"
            attention = getattr(layer, "attention", None)
            attn = "projected" if isinstance(attention, LinformerSelfAttention) else "attn"
            if over:
                at = f"encoder.{i}.over"
                named |= omni_weights(at, layer)
            else:
                named |= layer_weights(at, layer, attn=attn)
            inside = at if over else f"{at}.{attn}"
            if isinstance(attention, LinformerSelfAttention):
                named[f"{inside}.token_projection"] = attention.proj_k
            elif isinstance(attention, performers.SelfAttention):
                features = attention.fast_attention.projection_matrix
                if features is not None:
                    named[f"{inside}.features"] = features
        named |= norm_weights("norm", self.norm)
        named |= linear_weights("hidden", self.hidden)
        named |= linear_weights("half", self.pair_hidden) if self.pairs else {}
        return named | linear_weights("logits", self.logits)


def shorten_queries(module):
    """Of random features of the softmax: where R_i is below 1e-6, the paper's code adds
    2e-6 and the library nothing. Such rows do not occur with shorter queries and keys."""
    with torch.no_grad():
        for attention in module.modules():
            if isinstance(attention, performers.SelfAttention):
                if attention.fast_attention.projection_matrix is not None:
                    attention.to_q.weight.mul_(0.5)
                    attention.to_k.weight.mul_(0.5)


AGAINST = {
    "softmax": "torch.nn.TransformerEncoderLayer",
    "performer": "performer_pytorch SelfAttention",
    "linformer": "linformer LinformerSelfAttention",
}


@pytest.mark.parametrize(
    "task, attention, omni, length",
    [
        ("text", "softmax", "none", 1000),
        ("text", "performer", "none", 1000),
        ("text", "linformer", "none", 1000),
        ("text", "softmax", "linformer", 500),
        ("text", "performer", "performer", 1000),
        ("retrieval", "softmax", "none", 700),
        ("retrieval", "performer", "none", 4000),
        ("retrieval", "linformer", "none", 4000),
        ("listops", "softmax", "none", 400),
        ("listops", "performer", "none", 2000),
        ("listops", "linformer", "none", 2000),
    ],
)
def test_task(task, attention, omni, length, compare, monkeypatch):
    # The library adds 1e-4 to features of the softmax where the paper's code has 1e-6.
    kernel = partial(performers.softmax_kernel, eps=1e-6)
    monkeypatch.setattr(performers, "softmax_kernel", kernel)
    module = randomise(Arena(task, attention, omni, length), seed=6).train()
    shorten_queries(module)
    rows = 2 * BATCH if task == "retrieval" else BATCH
    tokens = random_tokens((rows, length), TASKS[task][0], seed=1, padded=length // 3)
    kinds = {"task": task, "attention": attention, "omni": omni}
    against = AGAINST[attention]
    if omni not in ("none", attention):
        against += f", over all states {AGAINST[omni]}"
    compare(
        "lra",
        module,
        against,
        {"tokens": tokens},
        tokens_to_logits(tokens),
        settings=[
            *(f"{key}={value}" for key, value in kinds.items()),
            f"length={length}",
            f"batch={BATCH}",
        ],
        weights=module.weights(),
    )
