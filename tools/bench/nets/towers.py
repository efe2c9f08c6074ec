# ===- towers.py - Encoders of images of the library of models ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""dinov2 without registers, and the image tower of siglip, in the way of transformers."""

from .attention import depth, encoder_layer, feed_forward, multi_head_attention

TABLES = ("tokens.weight", "placed.weight", "image_placed.weight", "image_embedding.probe.weight")


def prepare(weights, parameters):
    return weights


def dinov2(f, parameters, image):
    """image [batch, 3, H, W] -> hidden [batch, 1 + patches, D]"""
    eps, heads = parameters["eps"], parameters["heads"]
    x = f.patches(image, "embedded", parameters["patch"])
    x = f.prepend(x, "tokens.weight") + f.weight("placed.weight")
    for i in range(depth(f, "encoder", "norm1.gain")):
        path = f"encoder.{i}"
        normed = f.layer_norm(x, f"{path}.norm1", eps)
        attended = multi_head_attention(f, f"{path}.attn", normed, heads)
        x = x + attended * f.weight(f"{path}.scale1.weight")
        normed = f.layer_norm(x, f"{path}.norm2", eps)
        x = x + feed_forward(f, f"{path}.ffn", normed, f.gelu) * f.weight(f"{path}.scale2.weight")
    return (f.layer_norm(x, "norm", eps),)


def siglip(f, parameters, image):
    """image [batch, 3, H, W] -> embedding [batch, D], gathered by one learned query"""
    eps, heads = parameters["image_eps"], parameters["image_heads"]
    x = f.patches(image, "patches", parameters["patch"]) + f.weight("image_placed.weight")
    for i in range(depth(f, "image_encoder", "norm1.gain")):
        x = encoder_layer(f, f"image_encoder.{i}", x, heads, eps, activation=f.gelu_tanh)
    x = f.layer_norm(x, "image_norm", eps)
    path = "image_embedding"
    probe = f.repeat(f.weight(f"{path}.probe.weight")[None], x.shape[0])
    x = multi_head_attention(f, f"{path}.attn", probe, heads, memory=x)
    normed = f.layer_norm(x, f"{path}.norm", eps)
    x = x + feed_forward(f, f"{path}.ffn", normed, f.gelu_tanh)
    return (x[:, 0],)


def forward(f, parameters, image):
    return (siglip if "image_width" in parameters else dinov2)(f, parameters, image)
