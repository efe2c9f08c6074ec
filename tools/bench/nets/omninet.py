# ===- omninet.py - OmniNet of images ----------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""omninet_b16 and omninet_b32: ViT with omnidirectional layers, or linear ones."""

from . import pooling
from .omni import omni_stack
from .vit import TABLES, prepare

__all__ = ["TABLES", "forward", "prepare"]


def forward(f, parameters, image):
    """image [batch, 3, H, W] -> logits [batch, classes]"""
    eps, heads = parameters["eps"], parameters["heads"]
    kind = "performer" if parameters["partition"] == 1 else "softmax"
    both = {"heads": heads, "eps": eps, "activation": f.gelu_tanh}
    layer = {**both, "pool": pooling.kind_of(kind)}
    over = {**both, "kind": "performer", "pool": parameters["pool"]}
    x = f.patches(image, "patches", parameters["patch"])
    x = f.prepend(x, "tokens.weight") + f.weight("placed.weight")
    x = omni_stack(f, "encoder", x, parameters, layer, over)
    return (f.linear(f.layer_norm(x, "norm", eps)[:, 0], "head"),)
