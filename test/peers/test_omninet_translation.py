# ===- test_omninet_translation.py - OmniNet as an encoder and a decoder -------=== #
# SPDX-License-Identifier: Apache-2.0
"""OmniNet for translation at full width and depth: layers of torch.nn, and omnidirectional
ones with the attention of performer_pytorch or linformer over the sorted states."""

import pytest
import torch
from harness import randomise
from modules import (
    PAD,
    Embedded,
    Layer,
    attention_weights,
    encoder_layer,
    index_sort,
    later,
    layer_weights,
    linear_weights,
    linformer,
    norm_weights,
    omni_weights,
    pool_states,
    random_tokens,
    relu_performer,
    tokens_to_logits,
)
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, HIDDEN, LAYERS, EPS, PROJECTED = 1024, 16, 4096, 6, 1e-6, 16
VOCAB, BATCH, SOURCE, TARGET = 3000, 2, 23, 17
SETTINGS = [f"vocab={VOCAB}", f"batch={BATCH}", f"src_len={SOURCE}", f"tgt_len={TARGET}"]


class Translator(nn.Module):
    def __init__(self, attend, partition):
        super().__init__()
        self.partition = partition
        self.embed = Embedded(VOCAB, WIDTH, layout="split")
        self.encoder = nn.ModuleList(
            self.omni(attend, partition)
            if self.is_omni(i)
            else encoder_layer(WIDTH, HEADS, HIDDEN, eps=EPS, norm_first=True, bias=False)
            for i in range(LAYERS)
        )
        self.memory_norm = nn.LayerNorm(WIDTH, EPS)
        self.decoder = nn.ModuleList(self.decoder_layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH, EPS)

    def is_omni(self, index):
        return (index + 1) % self.partition == 0

    @staticmethod
    def omni(attend, partition):
        if attend == "linformer":
            attention = linformer(WIDTH, HEADS, SOURCE * (partition - 1), PROJECTED)
        else:
            attention = relu_performer(WIDTH, HEADS)
        return Layer(attention, WIDTH, HIDDEN, eps=EPS, activation=F.relu)

    @staticmethod
    def decoder_layer():
        layer = nn.TransformerDecoderLayer(
            WIDTH,
            HEADS,
            HIDDEN,
            dropout=0.0,
            layer_norm_eps=EPS,
            batch_first=True,
            norm_first=True,
        )
        for name in ("self_attn", "multihead_attn"):
            attention = nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True)
            setattr(layer, name, attention)
        return layer

    def forward(self, source, target):
        x, padding, states = self.embed(source), source == PAD, []
        for index, layer in enumerate(self.encoder):
            if self.is_omni(index):
                seen = states[-(self.partition - 1) :]
                x = x + pool_states(layer(index_sort(seen)), len(seen))
            else:
                x = layer(x, src_key_padding_mask=padding)
            states.append(x)
        memory, y = self.memory_norm(x), self.embed(target)
        for layer in self.decoder:
            y = layer(
                y,
                memory,
                tgt_mask=later(target.shape[1]),
                tgt_key_padding_mask=target == PAD,
                memory_key_padding_mask=padding,
            )
        return self.norm(y) @ self.embed.embedding.weight.T / WIDTH**0.5

    def weights(self):
        named = {
            "embed.weight": self.embed.embedding.weight,
            **norm_weights("memory", self.memory_norm),
            **norm_weights("norm", self.norm),
        }
        for i, layer in enumerate(self.encoder):
            at = f"encoder.{i}.plain"
            if not self.is_omni(i):
                names = {"attn": "self.attn", "norm1": "self.norm"}
                names |= {"ffn": "out.ffn", "norm2": "out.norm"}
                named |= layer_weights(at, layer, **names)
                continue
            named |= omni_weights(f"encoder.{i}.over", layer)
            if hasattr(layer.attention, "proj_k"):
                named[f"encoder.{i}.over.token_projection"] = layer.attention.proj_k
        for i, layer in enumerate(self.decoder):
            at = f"decoder.{i}"
            named |= attention_weights(f"{at}.self.attn", layer.self_attn)
            named |= norm_weights(f"{at}.self.norm", layer.norm1)
            named |= attention_weights(f"{at}.cross.attn", layer.multihead_attn)
            named |= norm_weights(f"{at}.cross.norm", layer.norm2)
            named |= linear_weights(f"{at}.out.ffn.hidden", layer.linear1)
            named |= linear_weights(f"{at}.out.ffn.output", layer.linear2)
            named |= norm_weights(f"{at}.out.norm", layer.norm3)
        return named


AGAINST = {
    "performer": "torch.nn layers, performer_pytorch SelfAttention over sorted states",
    "linformer": "torch.nn layers, linformer LinformerSelfAttention over sorted states",
}


@pytest.mark.parametrize("attend, partition", [("performer", 6), ("linformer", 3)])
def test_translation(attend, partition, compare):
    module = randomise(Translator(attend, partition), seed=12)
    with torch.no_grad():
        module.embed.embedding.weight.mul_(2)
    source = random_tokens((BATCH, SOURCE), VOCAB, seed=1, padded=5)
    target = random_tokens((BATCH, TARGET), VOCAB, seed=2, padded=5)
    compare(
        "omninet_mt",
        module.train(),
        AGAINST[attend],
        {"source": source, "target": target},
        tokens_to_logits(source, target),
        settings=[f"attend={attend}", f"partition={partition}", *SETTINGS],
        weights=module.weights(),
    )
