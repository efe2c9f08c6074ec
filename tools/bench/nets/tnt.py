# ===- tnt.py - Transformer in Transformer -----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tnt_s in all its variants: words of patches, and sentences that words are added to."""

from .attention import depth, encoder_layer, join_projections
from .swin import cut

TABLES = ("words.weight", "sentences.weight")


def prepare(weights, parameters):
    return join_projections(weights, r".*\.attn")


def squares(image, side):
    """[batch, C, H, W] -> [batch*patches, C, side, side]"""
    batch, channels, height, width = image.shape
    x = image.reshape(batch, channels, height // side, side, width // side, side)
    x = x.swapaxes(1, 2).swapaxes(2, 4).swapaxes(3, 4)
    return x.reshape(-1, channels, side, side)


def stem(f, parameters, image):
    """Words [batch*patches, words, width], convolved in each patch or in the image."""
    patch, stride = parameters["patch"], parameters["stride"]
    if parameters["stem"] == "linear":
        return f.patches(squares(image, patch), "embed", stride)
    if parameters["stem"] == "patch_conv":
        return f.convolution(squares(image, patch), "embed", 7, stride, 3)
    x = f.convolution(image, "embed", 7, stride, 3)
    batch, _, width = x.shape
    height = image.shape[2] // stride
    words = cut(x.reshape(batch, height, -1, width), patch // stride)
    return words.reshape(-1, words.shape[2], width)


def sentences_of(f, path, words, batch, eps):
    """The words of a patch side by side, with the norms that the variant has."""
    if f.has(f"{path}.norm_of_words.gain"):
        words = f.layer_norm(words, f"{path}.norm_of_words", eps)
    x = words.reshape(batch, words.shape[0] // batch, -1)
    if f.has(f"{path}.norm1.gain"):
        x = f.layer_norm(x, f"{path}.norm1", eps)
    x = f.linear(x, f"{path}.linear")
    return f.layer_norm(x, f"{path}.norm2", eps) if f.has(f"{path}.norm2.gain") else x


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps, batch = parameters["eps"], image.shape[0]
    words = stem(f, parameters, image) + f.weight("words.weight")
    x = f.prepend(sentences_of(f, "first", words, batch, eps), "tokens.weight")
    x = x + f.weight("sentences.weight")
    for i in range(depth(f, "encoder", "inner.norm1.gain")):
        path = f"encoder.{i}"
        words = encoder_layer(f, f"{path}.inner", words, parameters["word_heads"], eps)
        folded = sentences_of(f, f"{path}.fold", words, batch, eps)
        x = f.concat([x[:, :1], x[:, 1:] + folded], 1)
        x = encoder_layer(f, f"{path}.outer", x, parameters["heads"], eps)
    return (f.linear(f.layer_norm(x, "norm", eps)[:, 0], "head"),)
