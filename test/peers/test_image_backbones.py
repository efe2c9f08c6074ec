# ===- test_image_backbones.py - timm's Vision Transformer around others' ideas -=== #
# SPDX-License-Identifier: Apache-2.0
"""Image models that no library publishes as they are, built from timm's Vision
Transformer: T2T-ViT-14 after tokens that its paper's equations make, and OmniNet-B with
the attention of performer_pytorch."""

from functools import partial

import pytest
import torch
from harness import image_classes, random_image, randomise
from modules import (
    attention_weights,
    index_sort,
    linear_weights,
    norm_weights,
    pool_states,
    relu_performer,
    sinusoid,
)
from performer_pytorch import SelfAttention
from timm.models.vision_transformer import VisionTransformer
from torch import nn
from torch.nn import functional as F


def block_weights(at, block, attn=".attn", ffn="ffn"):
    """Of a block of timm, whatever its attention."""
    if isinstance(block.attn, SelfAttention):
        named = attention_weights(f"{at}{attn}", block.attn)
    else:
        named = linear_weights(f"{at}{attn}.output", block.attn.proj)
        for part, matrix in zip(("query", "key", "value"), block.attn.qkv.weight.chunk(3)):
            named[f"{at}{attn}.{part}.weight"] = matrix.T
        if block.attn.qkv.bias is not None:
            biases = block.attn.qkv.bias.chunk(3)
            for part, bias in zip(("query", "key", "value"), biases):
                named[f"{at}{attn}.{part}.bias"] = bias
    return {
        **named,
        **norm_weights(f"{at}.norm1", block.norm1),
        **norm_weights(f"{at}.norm2", block.norm2),
        **linear_weights(f"{at}.{ffn}.hidden", block.mlp.fc1),
        **linear_weights(f"{at}.{ffn}.output", block.mlp.fc2),
    }


def ends_weights(model):
    return {
        "tokens.weight": model.cls_token[0, 0],
        **norm_weights("norm", model.norm),
        **linear_weights("head", model.head),
    }


class TokenPerformer(nn.Module):
    """The token transformer of T2T-ViT with linear attention, equation by equation."""

    def __init__(self, inputs, width=64, features=32):
        super().__init__()
        self.norm1 = nn.LayerNorm(inputs)
        self.kqv = nn.Linear(inputs, 3 * width)
        rows = torch.linalg.qr(torch.randn(width, width, generator=torch.manual_seed(8)))[0]
        self.register_buffer("features", rows[:features] * features**0.5)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.linear1 = nn.Linear(width, width)
        self.linear2 = nn.Linear(width, width)

    def phi(self, x):
        half = (x**2).sum(dim=-1, keepdim=True) / 2
        return torch.exp(x @ self.features.T - half) / len(self.features) ** 0.5

    def forward(self, x):
        k, q, v = self.kqv(self.norm1(x)).chunk(3, dim=-1)
        k, q = self.phi(k), self.phi(q)
        total = q @ k.sum(dim=1)[:, :, None] + 1e-8
        x = v + self.proj(q @ (k.transpose(1, 2) @ v) / total)
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))

    def weights(self, at):
        named = {f"{at}.attn.features": self.features}
        matrices, biases = self.kqv.weight.chunk(3), self.kqv.bias.chunk(3)
        for part, matrix, bias in zip(("key", "query", "value"), matrices, biases):
            named |= {f"{at}.{part}.weight": matrix.T, f"{at}.{part}.bias": bias}
        return {
            **named,
            **linear_weights(f"{at}.proj", self.proj),
            **norm_weights(f"{at}.norm1", self.norm1),
            **norm_weights(f"{at}.norm2", self.norm2),
            **linear_weights(f"{at}.ffn.hidden", self.linear1),
            **linear_weights(f"{at}.ffn.output", self.linear2),
        }


class TokensToTokens(nn.Module):
    """Three soft splits with two performers between them."""

    def __init__(self, width):
        super().__init__()
        self.splits = [nn.Unfold(7, stride=4, padding=2)] + 2 * [
            nn.Unfold(3, stride=2, padding=1)
        ]
        self.performers = nn.ModuleList([TokenPerformer(3 * 49), TokenPerformer(64 * 9)])
        self.project = nn.Linear(64 * 9, width)

    def forward(self, image):
        for split, performer in zip(self.splits, self.performers):
            tokens = performer(split(image).transpose(1, 2))
            side = int(tokens.shape[1] ** 0.5)
            image = tokens.transpose(1, 2).unflatten(2, (side, side))
        return self.project(self.splits[2](image).transpose(1, 2))


def test_tokens_to_tokens(compare):
    width = 384
    model = VisionTransformer(
        embed_dim=width,
        depth=14,
        num_heads=6,
        mlp_ratio=3,
        qkv_bias=False,
        norm_layer=partial(nn.LayerNorm, eps=1e-5),
    )
    model.patch_embed = TokensToTokens(width)
    del model.pos_embed
    model.register_buffer("pos_embed", sinusoid(197, width)[None])
    randomise(model, seed=9)
    named = linear_weights("project", model.patch_embed.project) | ends_weights(model)
    for i, performer in enumerate(model.patch_embed.performers):
        named |= performer.weights(f"tokens{i + 1}")
    for i, block in enumerate(model.blocks):
        named |= block_weights(f"encoder.{i}", block)
    image = random_image(1, 224)
    compare(
        "t2t_vit_14",
        model,
        "timm VisionTransformer after torch.nn.Unfold and the paper's token performer",
        {"image": image.numpy()},
        image_classes(image),
        weights=named,
    )


class OmniNet(VisionTransformer):
    """Blocks of timm, of which every P-th attends to all states of the P - 1 before it."""

    def __init__(self, patch, partition, pool):
        super().__init__(patch_size=patch, act_layer=partial(nn.GELU, approximate="tanh"))
        self.partition, self.pool_place = partition, pool
        for i, block in enumerate(self.blocks):
            if partition == 1 or self.is_omni(i):
                block.attn = relu_performer(768, 12, bias=True)

    def is_omni(self, index):
        return self.partition > 1 and (index + 1) % self.partition == 0

    def over(self, block, states):
        rows, count = index_sort(states), len(states)
        if self.pool_place == "after_block":
            return pool_states(block(rows), count)
        pooled = pool_states(rows + block.attn(block.norm1(rows)), count)
        return pooled + block.mlp(block.norm2(pooled))

    def forward_features(self, image, **_):
        x = self._pos_embed(self.patch_embed(image))
        states = []
        for i, block in enumerate(self.blocks):
            if self.is_omni(i):
                x = x + self.over(block, states[-(self.partition - 1) :])
            else:
                x = block(x)
            states.append(x)
        return self.norm(x)

    def weights(self):
        patches = self.patch_embed.proj
        named = {
            "patches.weight": patches.weight.flatten(1).T,
            "patches.bias": patches.bias,
            "placed.weight": self.pos_embed[0],
            **ends_weights(self),
        }
        for i, block in enumerate(self.blocks):
            if self.is_omni(i):
                named |= block_weights(f"encoder.{i}.over", block, "", "feed_forward")
            else:
                named |= block_weights(f"encoder.{i}.plain", block)
        return named


@pytest.mark.parametrize(
    "patch, partition, pool",
    [
        (32, 1, "after_attention"),
        (32, 4, "after_block"),
        (32, 12, "after_attention"),
        (16, 12, "after_attention"),
    ],
)
def test_omninet(patch, partition, pool, compare):
    model = randomise(OmniNet(patch, partition, pool), seed=10)
    image = random_image(1, 224)
    compare(
        f"omninet_b{patch}",
        model,
        "timm VisionTransformer with performer_pytorch SelfAttention",
        {"image": image.numpy()},
        image_classes(image),
        settings=[f"partition={partition}", f"pool={pool}"],
        weights=model.weights(),
    )
