#===- window_cases.py - Golden cases of windows and merged patches --------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Square and oblong images, windows that are the whole image or one axis of it,
# shifts along one axis, batches, and a block and a half of Swin, where rows of
# one shift meet rows of the other.
#
#===-----------------------------------------------------------------------===#

import numpy as np

import oracle
from case import Case


def attention(name, grid, window, shift=0, batch=1, model=12, heads=2,
              clamp=None, **options):
    """Attention in windows of an image that is given as tokens."""
    case = Case(name)
    x = case.values("x", batch, grid[0] * grid[1], model)
    case.layer("attn", "multi_head_attention", input="x", heads=heads,
               window=window, shift=shift or None, grid_height=grid[0],
               clamp=clamp, **options)
    case.output("y", "attn", case.net.window_attention(
        "attn", x, heads, grid, *oracle.clamped(grid, window, shift, clamp), **options))
    return case


def merge(name, grid, batch, model, result):
    case = Case(name)
    x = case.values("x", batch, grid[0] * grid[1], model)
    case.layer("blocks", "merge_patches", input="x", grid_height=grid[0])
    case.layer("norm", "layer_norm", input="blocks")
    case.layer("reduction", "linear", input="norm", width=result, bias=False)
    normed = case.net.layer_norm("norm", oracle.merge_patches(x, grid), 1e-5)
    case.output("y", "reduction",
                case.net.linear("reduction", normed, result, bias=False))
    return case


def stage(name, batch, image, patch, window, model, heads, **options):
    """Patches, two blocks with windows unshifted and shifted, a merge."""
    case = Case(name)
    grid = (image[0] // patch, image[1] // patch)
    pixels = case.values("image", batch, 3, *image)
    net = case.net
    case.layer("patches", "patch_embedding", input="image", patch=patch,
               width=model)
    x = net.linear("patches", oracle.patches(pixels, patch), model)
    previous = "patches"
    for number in range(2):
        name, shift = f"block{number}_", number * (window // 2)
        case.layer(name + "norm1", "layer_norm", input=previous)
        case.layer(name + "attn", "multi_head_attention", input=name + "norm1",
                   heads=heads, window=window, shift=shift, relative_bias=True,
                   **options)
        case.layer(name + "mid", "add", inputs=[previous, name + "attn"])
        case.layer(name + "norm2", "layer_norm", input=name + "mid")
        case.layer(name + "ffn", "feed_forward", input=name + "norm2",
                   hidden=2 * model, activation="gelu_erf")
        case.layer(name + "out", "add", inputs=[name + "mid", name + "ffn"])
        previous = name + "out"
        normed = net.layer_norm(name + "norm1", x, 1e-5)
        x = x + net.window_attention(
            name + "attn", normed, heads, grid, (window, window),
            (shift, shift), relative_bias=True, **options)
        normed = net.layer_norm(name + "norm2", x, 1e-5)
        x = x + net.feed_forward(name + "ffn", normed, 2 * model, "gelu_erf")
    case.layer("merged", "merge_patches", input=previous)
    case.layer("pooled", "pool", input="merged", kind="mean")
    case.output("y", "pooled", np.mean(oracle.merge_patches(x, grid), axis=1))
    return case


def cases():
    yield attention("windows", (4, 6), 2)
    yield attention("windows_relative_bias", (4, 6), 2, batch=2,
                    relative_bias=True)
    yield attention("windows_shifted", (8, 8), 4, 2, batch=2,
                    relative_bias=True)
    yield attention("windows_shifted_without_bias", (6, 9), 3, 1)
    yield attention("windows_mask_value", (6, 6), 3, 2, relative_bias=True,
                    mask_value=-1.5)
    yield attention("windows_whole_image", (4, 8), 5, 2, relative_bias=True)
    yield attention("windows_whole_axis", (3, 8), 4, 2, clamp="per_axis",
                    relative_bias=True, batch=3)
    yield attention("windows_of_49", (14, 14), 7, 3, model=8, heads=1,
                    relative_bias=True)
    yield attention("windows_both", (4, 4), 2, 1, heads=3, horizontal=True,
                    vertical={"width": 4}, relative_bias=True, bias=False)
    yield attention("windows_masked", (6, 6), 3, 2, relative_bias=True,
                    mask_value="-inf")
    yield attention("windows_continuous_bias", (4, 6), 2, batch=2,
                    relative_bias="continuous", relative_bias_hidden=5)
    yield attention("windows_continuous_bias_pretrained", (6, 9), 3, 1,
                    relative_bias="continuous", relative_bias_hidden=7,
                    pretrained_window=5)
    yield attention("windows_continuous_bias_one_token", (2, 3), 1,
                    relative_bias="continuous", relative_bias_hidden=3)
    yield attention("windows_continuous_bias_whole_axis", (3, 8), 4, 2,
                    clamp="per_axis", batch=2, relative_bias="continuous",
                    relative_bias_hidden=6)
    yield attention("windows_cosine", (8, 8), 4, 2, kind="cosine", key_bias=False,
                    relative_bias="continuous", relative_bias_hidden=9)
    yield attention("windows_cosine_masked", (6, 6), 3, 1, heads=4, kind="cosine",
                    mask_value="-inf")
    yield attention("windows_cosine_both", (4, 4), 2, 1, heads=3, kind="cosine",
                    horizontal=True, vertical={"width": 4}, relative_bias=True)
    yield merge("merged_patches", (4, 6), 2, 5, 7)
    yield stage("window_stage", 2, (32, 48), 4, 4, 10, 2)
    yield stage("window_stage_both", 1, (24, 24), 4, 3, 8, 4, horizontal=True,
                vertical={"width": 2})
