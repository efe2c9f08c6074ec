# ===- test_translation.py - Encoder and decoder of torch.nn.Transformer ------=== #
# SPDX-License-Identifier: Apache-2.0
"""The base Transformer and the model of the HV paper around torch.nn.Transformer, whose
attention gets horizontal and vertical attention by the paper's equations.

As a checkpoint, the base Transformer has what torch.nn has: biases everywhere, and norms
after both stacks. By itself it has what its paper has, which has neither.
"""

import math
from functools import partial

import pytest
import torch
from harness import randomise
from modules import (
    PAD,
    Embedded,
    attention_weights,
    encoder_layer,
    later,
    layer_weights,
    linear_weights,
    norm_weights,
    random_tokens,
    tokens_to_logits,
)
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, DEPTH, HIDDEN, EPS = 512, 8, 6, 2048, 1e-6
BATCH, SOURCE, TARGET = 2, 23, 17
PLAIN = "torch.nn.Transformer without biases in attention and norms after its stacks"
SETTINGS = [f"batch={BATCH}", f"src_len={SOURCE}", f"tgt_len={TARGET}"]


class Translator(nn.Module):
    """One table for both sides and the output."""

    def __init__(self, vocab, transformer, scale, norm=False):
        super().__init__()
        self.embed = Embedded(vocab, WIDTH, scale=scale)
        self.transformer = transformer
        self.source_norm = nn.LayerNorm(WIDTH, EPS) if norm else nn.Identity()
        self.target_norm = nn.LayerNorm(WIDTH, EPS) if norm else nn.Identity()
        # Either the embeddings or the logits carry the square root of the width.
        self.logit_scale = 1.0 if scale != 1 else WIDTH**-0.5

    def forward(self, source, target):
        hidden = self.transformer(
            self.source_norm(self.embed(source)),
            self.target_norm(self.embed(target)),
            tgt_mask=later(target.shape[1]),
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return hidden @ self.embed.embedding.weight.T * self.logit_scale


class HorizontalVertical(nn.MultiheadAttention):
    """Attention that weighs its heads (horizontal), then its channels (vertical)."""

    def __init__(self, horizontal, vertical):
        super().__init__(WIDTH, HEADS, bias=False, batch_first=True)
        head, inner = WIDTH // HEADS, WIDTH // 4
        self.horizontal, self.vertical = None, None
        if horizontal:
            self.horizontal = nn.ModuleDict(
                {
                    "head": nn.Linear(head, head, bias=False),
                    "input": nn.Linear(WIDTH, head, bias=False),
                    "score": nn.Linear(head, 1),
                }
            )
        if vertical:
            self.vertical = nn.ModuleDict(
                {
                    "input": nn.Linear(WIDTH, inner, bias=False),
                    "output": nn.Linear(WIDTH, inner, bias=False),
                    "gate": nn.Linear(inner, WIDTH),
                }
            )

    def heads_of(self, query, key, value, attn_mask, key_padding_mask):
        """The heads side by side: the output projection of torch is the identity here."""
        heads, _ = F.multi_head_attention_forward(
            query.transpose(0, 1),
            key.transpose(0, 1),
            value.transpose(0, 1),
            WIDTH,
            HEADS,
            self.in_proj_weight,
            in_proj_bias=None,
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=torch.eye(WIDTH, dtype=query.dtype),
            out_proj_bias=None,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
        )
        return heads.transpose(0, 1)

    def forward(self, query, key, value, attn_mask=None, key_padding_mask=None, **_):
        y = self.heads_of(query, key, value, attn_mask, key_padding_mask)
        if self.horizontal is not None:
            horizontal = self.horizontal
            heads = y.unflatten(2, (HEADS, -1))
            hidden = F.relu(horizontal["head"](heads) + horizontal["input"](query)[:, :, None])
            y = (torch.softmax(horizontal["score"](hidden), dim=2) * heads).flatten(2)
        y = self.out_proj(y)
        if self.vertical is not None:
            vertical = self.vertical
            hidden = F.relu(vertical["input"](query) + vertical["output"](y))
            y = torch.sigmoid(vertical["gate"](hidden)) * y
        return y, None

    def weights(self, at):
        named = attention_weights(at, self)
        if self.horizontal is not None:
            horizontal = self.horizontal
            named[f"{at}.horizontal.head"] = horizontal["head"].weight.T
            named[f"{at}.horizontal.input"] = horizontal["input"].weight.T
            named[f"{at}.horizontal.score"] = horizontal["score"].weight[0]
            named[f"{at}.horizontal.score_bias"] = horizontal["score"].bias
        if self.vertical is not None:
            vertical = self.vertical
            named[f"{at}.vertical.input"] = vertical["input"].weight.T
            named[f"{at}.vertical.output"] = vertical["output"].weight.T
            named[f"{at}.vertical.gate"] = vertical["gate"].weight.T
            named[f"{at}.vertical.gate_bias"] = vertical["gate"].bias
        return named


def without_biases():
    return nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True)


def plain_transformer(attention=without_biases):
    """torch.nn.Transformer of the paper: no bias in attention, no norm after a stack."""
    encoder = encoder_layer(WIDTH, HEADS, HIDDEN, eps=EPS, norm_first=False, bias=False)
    encoder.self_attn = attention()
    decoder = nn.TransformerDecoderLayer(
        WIDTH, HEADS, HIDDEN, dropout=0.0, layer_norm_eps=EPS, batch_first=True
    )
    decoder.self_attn, decoder.multihead_attn = attention(), attention()
    return nn.Transformer(
        WIDTH,
        HEADS,
        custom_encoder=nn.TransformerEncoder(encoder, DEPTH),
        custom_decoder=nn.TransformerDecoder(decoder, DEPTH),
        batch_first=True,
    )


def draw(module):
    """Random weights; a table that is used on both ends must keep logits small."""
    randomise(module, seed=5)
    with torch.no_grad():
        module.embed.embedding.weight.mul_(2 / math.sqrt(WIDTH))
    return module.train()


def two_texts(vocab):
    source = random_tokens((BATCH, SOURCE), vocab, seed=1, padded=5)
    target = random_tokens((BATCH, TARGET), vocab, seed=2, padded=5)
    return {"source": source, "target": target}


def test_checkpoint(compare):
    """Under the names of torch, and of a table beside it."""
    vocab = 37000
    transformer = nn.Transformer(
        WIDTH, HEADS, DEPTH, DEPTH, HIDDEN, dropout=0.0, batch_first=True
    )
    module = draw(Translator(vocab, transformer, scale=math.sqrt(WIDTH)))
    state = module.state_dict()
    state["embedding.weight"] = state.pop("embed.embedding.weight")
    texts = two_texts(vocab)
    compare(
        "transformer_base",
        module,
        "torch.nn.Transformer",
        texts,
        tokens_to_logits(*texts.values()),
        settings=SETTINGS,
        weights=state,
        source="torch",
        variant="bias=true, final_norm=true, " + ", ".join(SETTINGS),
    )


def test_base(compare):
    vocab = 37000
    module = draw(Translator(vocab, plain_transformer(), scale=math.sqrt(WIDTH)))
    named = {"embed.weight": module.embed.embedding.weight}
    for i, layer in enumerate(module.transformer.encoder.layers):
        named |= layer_weights(f"encoder.{i}", layer, attn="self")
    for i, layer in enumerate(module.transformer.decoder.layers):
        named |= layer_weights(f"decoder.{i}", layer, attn="self")
        named |= attention_weights(f"decoder.{i}.cross", layer.multihead_attn)
        named |= norm_weights(f"decoder.{i}.norm3", layer.norm3)
    texts = two_texts(vocab)
    compare(
        "transformer_base",
        module,
        PLAIN,
        texts,
        tokens_to_logits(*texts.values()),
        settings=SETTINGS,
        weights=named,
    )


@pytest.mark.parametrize(
    "horizontal, vertical", [(False, False), (True, False), (False, True), (True, True)]
)
def test_hv(horizontal, vertical, compare):
    vocab = 9600
    is_extended = horizontal or vertical
    transformer = plain_transformer(
        partial(HorizontalVertical, horizontal, vertical) if is_extended else without_biases
    )
    module = draw(Translator(vocab, transformer, scale=1.0, norm=True))
    named = {
        "embed.weight": module.embed.embedding.weight,
        **norm_weights("source_norm", module.source_norm),
        **norm_weights("target_norm", module.target_norm),
    }

    def sublayer(at, attention, norm):
        if is_extended:
            inside = attention.weights(f"{at}.attn")
        else:
            inside = attention_weights(f"{at}.attn", attention)
        return inside | norm_weights(f"{at}.norm", norm)

    def feed_forward(at, layer, norm):
        return {
            **linear_weights(f"{at}.ffn.hidden", layer.linear1),
            **linear_weights(f"{at}.ffn.output", layer.linear2),
            **norm_weights(f"{at}.norm", norm),
        }

    for i, layer in enumerate(transformer.encoder.layers):
        named |= sublayer(f"encoder.{i}.self", layer.self_attn, layer.norm1)
        named |= feed_forward(f"encoder.{i}.out", layer, layer.norm2)
    for i, layer in enumerate(transformer.decoder.layers):
        named |= sublayer(f"decoder.{i}.self", layer.self_attn, layer.norm1)
        named |= sublayer(f"decoder.{i}.cross", layer.multihead_attn, layer.norm2)
        named |= feed_forward(f"decoder.{i}.out", layer, layer.norm3)
    texts = two_texts(vocab)
    against = PLAIN
    if is_extended:
        against = "torch.nn.Transformer, its attention extended by the paper's equations"
    variant = [f"horizontal={horizontal}".lower(), f"vertical={vertical}".lower()]
    compare(
        "vanilla_hv",
        module,
        against,
        texts,
        tokens_to_logits(*texts.values()),
        settings=[*variant, *SETTINGS],
        weights=named,
    )
