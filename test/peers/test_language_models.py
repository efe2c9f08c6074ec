# ===- test_language_models.py - Decoders of one stream -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Language models at full width and depth, on texts of 64 tokens: softmax attention of
torch.nn, causal performers of performer_pytorch, carried scores of x_transformers, and
omnidirectional layers, which are layers of torch.nn over the sorted states of others."""

import pytest
import torch
from harness import randomise
from modules import (
    Embedded,
    Layer,
    encoder_layer,
    index_sort,
    later,
    layer_weights,
    linear_weights,
    norm_weights,
    omni_weights,
    pool_states,
    random_tokens,
    relu_performer,
    tokens_to_logits,
)
from torch import nn
from torch.nn import functional as F
from x_transformers import Decoder

WIDTH, DEPTH, HEADS, HIDDEN, EPS = 512, 6, 8, 2048, 1e-6
VOCAB, LENGTH, BATCH = 30000, 64, 2
SETTINGS = [f"length={LENGTH}", f"batch={BATCH}"]


def softmax_layer():
    return encoder_layer(WIDTH, HEADS, HIDDEN, eps=EPS, norm_first=True, bias=False)


def performer_layer():
    attention = relu_performer(WIDTH, HEADS, causal=True)
    return Layer(attention, WIDTH, HIDDEN, eps=EPS, activation=F.relu)


class CausalEncoder(nn.Module):
    """torch.nn.TransformerEncoder with the causal mask."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(softmax_layer(), DEPTH)

    def forward(self, x):
        return self.encoder(x, mask=later(x.shape[1]))

    def weights(self):
        layers = enumerate(self.encoder.layers)
        return {k: v for i, one in layers for k, v in layer_weights(f"decoder.{i}", one).items()}


class Performers(nn.Sequential):
    def __init__(self):
        super().__init__(*(performer_layer() for _ in range(DEPTH)))

    def weights(self):
        layers = enumerate(self)
        return {k: v for i, one in layers for k, v in layer_weights(f"decoder.{i}", one).items()}


class CarriedScores(nn.Module):
    """The Decoder of x_transformers with residual attention, as RealFormer defines it.

    Its feed-forward has GELU and its softmax is float32 in any model; both are replaced.
    """

    def __init__(self):
        super().__init__()
        self.decoder = Decoder(dim=WIDTH, depth=DEPTH, heads=HEADS, residual_attn=True)
        for norms, block, _ in self.decoder.layers:
            norms[0].eps = EPS
            if hasattr(block, "ff"):
                block.ff[0][1] = nn.ReLU()
            else:
                block.attn_fn = F.softmax

    def forward(self, x):
        return self.decoder(x)

    def weights(self):
        named = {}
        for i, (norms, block, _) in enumerate(self.decoder.layers):
            at, second = f"decoder.{i // 2}", i % 2
            named |= norm_weights(f"{at}.norm{second + 1}", norms[0])
            if second:
                named |= linear_weights(f"{at}.ffn.hidden", block.ff[0][0])
                named |= linear_weights(f"{at}.ffn.output", block.ff[3])
            else:
                for part, name in zip(("query", "key", "value", "output"), "qkv_"):
                    linear = block.to_out if name == "_" else getattr(block, f"to_{name}")
                    named |= linear_weights(f"{at}.attn.{part}", linear)
        return named


class OmniNet(nn.Module):
    """Every layer whose number is a multiple of P attends to the P - 1 before it.

    Such a layer is one of torch.nn over their states, whose mask is the order of these or
    that of their tokens; performers scan them in their order.
    """

    def __init__(self, attend, partition, causal, pool):
        super().__init__()
        self.partition, self.causal, self.pool = partition, causal, pool
        self.layers = nn.ModuleList(
            performer_layer() if self.is_omni(i) and attend == "performer" else softmax_layer()
            for i in range(DEPTH)
        )

    def is_omni(self, index):
        return (index + 1) % self.partition == 0

    def mask(self, length, count):
        if self.causal == "flattened":
            return later(length * count)
        return later(length).repeat_interleave(count, 0).repeat_interleave(count, 1)

    def over(self, layer, states):
        rows, count = index_sort(states), len(states)
        mask = self.mask(states[0].shape[1], count)
        if self.pool == "after_block":
            whole = layer(rows) if isinstance(layer, Layer) else layer(rows, src_mask=mask)
            return pool_states(whole, count)
        # The halves of a layer of torch.nn, with the pool between them.
        normed = layer.norm1(rows)
        attended = layer.self_attn(normed, normed, normed, attn_mask=mask)[0]
        pooled = pool_states(rows + attended, count)
        return pooled + layer.linear2(F.relu(layer.linear1(layer.norm2(pooled))))

    def forward(self, x):
        states = []
        for index, layer in enumerate(self.layers):
            if self.is_omni(index):
                x = x + self.over(layer, states[-(self.partition - 1) :])
            else:
                x = layer(x, src_mask=later(x.shape[1]))
            states.append(x)
        return x

    def weights(self):
        named = {}
        for i, layer in enumerate(self.layers):
            if self.is_omni(i):
                named |= omni_weights(f"decoder.{i}.over", layer)
            else:
                named |= layer_weights(f"decoder.{i}.plain", layer)
        return named


class LanguageModel(nn.Module):
    def __init__(self, stack):
        super().__init__()
        self.embed = Embedded(VOCAB, WIDTH, layout="split")
        self.stack = stack
        self.norm = nn.LayerNorm(WIDTH, EPS)
        self.logits = nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens):
        return self.logits(self.norm(self.stack(self.embed(tokens))))

    def weights(self):
        return {
            "embed.weight": self.embed.embedding.weight,
            **self.stack.weights(),
            **norm_weights("norm", self.norm),
            **linear_weights("logits", self.logits),
        }


def check(name, stack, against, settings, compare):
    module = randomise(LanguageModel(stack), seed=4).train()
    tokens = random_tokens((BATCH, LENGTH), VOCAB, seed=1)
    compare(
        name,
        module,
        against,
        {"tokens": tokens},
        tokens_to_logits(tokens),
        settings=[*settings, *SETTINGS],
        weights=module.weights(),
    )


STACKS = {
    "softmax": (CausalEncoder, "torch.nn.TransformerEncoder"),
    "performer": (Performers, "performer_pytorch SelfAttention"),
    "realformer": (CarriedScores, "x_transformers Decoder(residual_attn=True)"),
}


@pytest.mark.parametrize("attention", list(STACKS))
def test_language_model(attention, compare):
    stack, against = STACKS[attention]
    check("lm", stack(), against, [f"attention={attention}"], compare)


@pytest.mark.parametrize(
    "attend, partition, causal, pool",
    [
        ("full", 2, "flattened", "after_block"),
        ("full", 3, "block", "after_block"),
        ("full", 6, "flattened", "after_block"),
        ("full", 6, "block", "after_attention"),
        ("performer", 3, "flattened", "after_block"),
    ],
)
def test_omninet(attend, partition, causal, pool, compare):
    kinds = {"attend": attend, "partition": partition, "causal": causal, "pool": pool}
    against = "torch.nn.TransformerEncoderLayer over sorted states, max_pool1d"
    if attend == "performer":
        against = "the same, the omnidirectional layers with performer_pytorch SelfAttention"
    settings = [f"{key}={value}" for key, value in kinds.items()]
    check("omninet_lm", OmniNet(**kinds), against, settings, compare)
