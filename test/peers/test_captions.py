# ===- test_captions.py - The Meshed-Memory Transformer -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""M2 at full size. The encoder is that of torch.nn, whose attention function takes keys
with memory slots after them; the decoder's layer has the attentions, norms and linear
layers of torch.nn.TransformerDecoderLayer, and the mesh is its paper's equations."""

import numpy as np
import pytest
import torch
from harness import like, randomise
from modules import (
    attention_weights,
    encoder_layer,
    later,
    layer_weights,
    linear_weights,
    norm_weights,
)
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, HIDDEN, DEPTH, EPS = 512, 8, 2048, 3, 1e-5
FEATURES, VOCAB, POSITIONS, PAD = 2048, 10201, 55, 1
BATCH, REGIONS, LENGTH = 2, 50, 20


class MemoryAttention(nn.MultiheadAttention):
    """torch.nn.MultiheadAttention with learned keys and values after those of tokens."""

    def __init__(self, slots):
        super().__init__(WIDTH, HEADS, batch_first=True)
        self.memory_key = nn.Parameter(torch.empty(slots, WIDTH))
        self.memory_value = nn.Parameter(torch.empty(slots, WIDTH))

    def by_head(self, rows, memory, scale):
        """[batch * heads, tokens + slots, width of a head]"""
        whole = torch.cat([rows, scale * memory.expand(len(rows), -1, -1)], dim=1)
        return whole.unflatten(2, (HEADS, -1)).transpose(1, 2).flatten(0, 1)

    def forward(self, query, key, value, key_padding_mask, **_):
        _, w_k, w_v = self.in_proj_weight.chunk(3)
        _, b_k, b_v = self.in_proj_bias.chunk(3)
        slots = len(self.memory_key)
        steps = query.transpose(0, 1)
        attended, _ = F.multi_head_attention_forward(
            steps,
            steps,
            steps,
            WIDTH,
            HEADS,
            self.in_proj_weight,
            self.in_proj_bias,
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=self.out_proj.weight,
            out_proj_bias=self.out_proj.bias,
            key_padding_mask=F.pad(key_padding_mask, (0, slots)),
            static_k=self.by_head(
                F.linear(key, w_k, b_k), self.memory_key, (WIDTH // HEADS) ** 0.5
            ),
            static_v=self.by_head(F.linear(value, w_v, b_v), self.memory_value, slots**0.5),
        )
        return attended.transpose(0, 1), None


class MeshedLayer(nn.TransformerDecoderLayer):
    """The modules of a decoder's layer, and a gate for each level of the encoder."""

    def __init__(self):
        super().__init__(
            WIDTH, HEADS, HIDDEN, dropout=0.0, layer_norm_eps=EPS, batch_first=True
        )
        self.gates = nn.ModuleList(nn.Linear(2 * WIDTH, WIDTH) for _ in range(DEPTH))

    def forward(self, y, padding, levels, region_padding):
        keep = (~padding)[:, :, None].to(y.dtype)
        attended = self.self_attn(
            y, y, y, key_padding_mask=padding, attn_mask=later(y.shape[1])
        )[0]
        s = self.norm1(y + attended) * keep
        gated = []
        for gate, level in zip(self.gates, levels):
            found = self.multihead_attn(s, level, level, key_padding_mask=region_padding)[0]
            c = self.norm2(s + found) * keep
            gated.append(torch.sigmoid(gate(torch.cat([s, c], dim=2))) * c)
        u = sum(gated) / DEPTH**0.5 * keep
        return self.norm3(u + self.linear2(F.relu(self.linear1(u)))) * keep


class Captioner(nn.Module):
    def __init__(self, slots):
        super().__init__()
        self.project = nn.Linear(FEATURES, WIDTH)
        self.project_norm = nn.LayerNorm(WIDTH, EPS)
        layers = []
        for _ in range(DEPTH):
            layer = encoder_layer(
                WIDTH, HEADS, HIDDEN, eps=EPS, norm_first=False, bias=True
            )
            if slots:
                layer.self_attn = MemoryAttention(slots)
            layers.append(layer)
        self.encoder = nn.ModuleList(layers)
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.places_embed = nn.Embedding(POSITIONS, WIDTH)
        self.decoder = nn.ModuleList(MeshedLayer() for _ in range(DEPTH))
        self.logits = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, features, region_padding, words):
        x = self.project_norm(F.relu(self.project(features)))
        levels = []
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=region_padding)
            levels.append(x)
        padding = words == PAD
        # Positions are counted from 1; padding has position 0.
        places = torch.arange(1, words.shape[1] + 1) * ~padding
        y = self.embed(words) + self.places_embed(places)
        for layer in self.decoder:
            y = layer(y, padding, levels, region_padding)
        return torch.log_softmax(self.logits(y), dim=2)

    def weights(self):
        named = {
            **linear_weights("project", self.project),
            **norm_weights("project_norm", self.project_norm),
            "embed.weight": self.embed.weight,
            "places.weight": self.places_embed.weight,
            **linear_weights("logits", self.logits),
        }
        for i, layer in enumerate(self.encoder):
            named |= layer_weights(f"encoder.{i}", layer)
            if isinstance(layer.self_attn, MemoryAttention):
                for part in ("key", "value"):
                    memory = getattr(layer.self_attn, f"memory_{part}")
                    named[f"encoder.{i}.attn.memory.{part}"] = memory
        for i, layer in enumerate(self.decoder):
            at = f"decoder.{i}"
            named |= attention_weights(f"{at}.self", layer.self_attn)
            named |= norm_weights(f"{at}.norm1", layer.norm1)
            named |= attention_weights(f"{at}.cross.0.attn", layer.multihead_attn)
            named |= norm_weights(f"{at}.cross.0.norm", layer.norm2)
            for j, gate in enumerate(layer.gates):
                named |= linear_weights(f"{at}.mesh.{j}.alpha", gate)
            named |= linear_weights(f"{at}.ffn.hidden", layer.linear1)
            named |= linear_weights(f"{at}.ffn.output", layer.linear2)
            named |= norm_weights(f"{at}.norm2", layer.norm3)
        return named


@pytest.mark.parametrize("slots", [40, 0])
def test_captions(slots, compare):
    module = randomise(Captioner(slots), seed=7).train()
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(BATCH, REGIONS, FEATURES, generator=generator)
    region_padding = torch.arange(REGIONS) >= torch.tensor([[REGIONS], [31]])
    words = np.random.RandomState(1).randint(PAD + 1, VOCAB, (BATCH, LENGTH))
    words[1, 13:] = PAD
    compare(
        "m2",
        module,
        "torch.nn.TransformerEncoderLayer and the modules of TransformerDecoderLayer",
        {
            "features": features.numpy(),
            "region_valid": ~region_padding.numpy(),
            "words": words.astype(np.int32),
        },
        lambda m: {
            "log_probabilities": m(like(features, m), region_padding, torch.from_numpy(words))
        },
        settings=[f"slots={slots}", f"batch={BATCH}"],
        weights=module.weights(),
    )
