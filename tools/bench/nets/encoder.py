# ===- encoder.py - An encoder of any shape ---------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""tools/bench/encoder.json, with one projection for query, key and value."""

from .attention import depth, encoder_layer, join_projections

TABLES = ()


def prepare(weights, parameters):
    return join_projections(weights)


def forward(f, parameters, x):
    """x [batch, tokens, width] -> the same shape"""
    for i in range(depth(f, "encoder", "norm1.gain")):
        x = encoder_layer(f, f"encoder.{i}", x, parameters["heads"], 1e-6)
    return (x,)
