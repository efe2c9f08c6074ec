# ===- vit.py - Vision Transformer ------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""vit_b16 and vit_b32, with one projection for query, key and value as in timm."""

from .attention import depth, encoder_layer, join_projections

TABLES = ("tokens.weight", "placed.weight")


def prepare(weights, parameters):
    return join_projections(weights)


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps = parameters["eps"]
    x = f.patches(image, "patches", parameters["patch"])
    x = f.prepend(x, "tokens.weight") + f.weight("placed.weight")
    for i in range(depth(f, "encoder", "norm1.gain")):
        x = encoder_layer(f, f"encoder.{i}", x, parameters["heads"], eps)
    x = f.layer_norm(x, "norm", eps)
    return (f.linear(x[:, 0], "head"),)
