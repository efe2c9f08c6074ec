# ===- long_range.py - Long Range Arena --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""lra: text, retrieval and ListOps, with omnidirectional layers where there are some.

The two documents of a retrieval are one batch, as in the description.
"""

from . import pooling
from .attention import join_projections
from .omni import omni_stack
from .positions import sinusoid

TABLES = ("embed.weight", "*.features", "*.token_projection")


def prepare(weights, parameters):
    return join_projections(weights)


def forward(f, parameters, tokens):
    """tokens [batch, N] (of both documents [2*batch, N]) -> logits [batch, classes]"""
    eps, kind = parameters["eps"], parameters["attention"]
    heads = parameters.get("heads", 8 if parameters["task"] == "listops" else 4)
    layer = {"heads": heads, "eps": eps, "activation": f.gelu_tanh}
    over = {**layer, "kind": parameters["omni"], "pool": "after_block"}
    layer["pool"] = pooling.kind_of(kind)
    if kind == "linformer":
        layer["attention"] = "projected"
    x, valid = f.embedding(tokens, "embed.weight"), tokens != 0
    if f.has("all.weight"):
        x, valid = f.prepend(x, "all.weight"), f.concat([valid[:, :1], valid], 1)
    if kind in ("softmax", "bigbird"):
        layer["valid"] = valid
    x = x + f.constant(sinusoid, *x.shape[1:])
    x = omni_stack(f, "encoder", x, parameters, layer, over)
    x = f.layer_norm(x, "norm", eps)[:, 0]
    if parameters["task"] == "retrieval":
        x = f.concat([x[: len(x) // 2], x[len(x) // 2 :]])
    x = f.relu(f.linear(x, "hidden"))
    if f.has("half.weight"):
        x = f.relu(f.linear(x, "half"))
    return (f.linear(x, "logits"),)
