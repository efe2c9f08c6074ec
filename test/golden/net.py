#===- net.py - Layers that draw their weights and compute at once ---------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# The layers of a description, built from oracle.py. A Net draws each weight the
# first time a layer names it, remembers it under the name that the description
# gives it, and computes the layer's value in float64 from the float32 weight.
#
# Values come from raw generator words by integer arithmetic, so that they are
# the same bytes on every machine and in every version of NumPy.
#
#===-----------------------------------------------------------------------===#

import hashlib
import math

import numpy as np

import oracle


class Draw:
    """Reproducible values, seeded by a name."""

    def __init__(self, name):
        digest = hashlib.sha256(name.encode()).digest()
        self._raw = np.random.PCG64(int.from_bytes(digest[:8], "little"))

    def _words(self, shape):
        count = math.prod(shape)
        return np.asarray(
            self._raw.random_raw(count), dtype=np.uint64
        ).reshape(shape)

    def values(self, *shape, scale=1.0):
        """Bell-shaped float32 values with a deviation of about `scale`."""
        words = self._words(shape)
        total = np.zeros(shape, dtype=np.int64)
        for part in range(4):
            total += ((words >> np.uint64(16 * part)) & np.uint64(0xFFFF)).astype(
                np.int64
            )
        return ((total - 131070) / 37837.0 * scale).astype(np.float32)

    def integers(self, bound, *shape, dtype=np.int32):
        """Integers 0 <= x < bound."""
        return (self._words(shape) % np.uint64(bound)).astype(dtype)

    def booleans(self, *shape):
        """True three times in four."""
        return self._words(shape) % np.uint64(4) != 0


def wide(array):
    """The float64 array that the oracle computes with."""
    return array.astype(np.float64) if array.dtype == np.float32 else array


class Net:
    """Weights by name, and the layers that use them."""

    def __init__(self, name):
        self.draw = Draw(name)
        self.weights = {}

    def weight(self, name, *shape, scale=1.0, centre=0.0):
        if name not in self.weights:
            drawn = self.draw.values(*shape, scale=scale)
            self.weights[name] = (drawn + np.float32(centre)).astype(np.float32)
        assert self.weights[name].shape == shape, (name, shape)
        return wide(self.weights[name])

    def linear(self, path, x, width, bias=True):
        rows = x.shape[-1]
        weight = self.weight(
            path + ".weight", rows, width, scale=1 / math.sqrt(rows)
        )
        shift = self.weight(path + ".bias", width, scale=0.25) if bias else None
        return oracle.linear(x, weight, shift)

    def layer_norm(self, path, x, eps):
        width = x.shape[-1]
        gain = self.weight(path + ".gain", width, scale=0.25, centre=1.0)
        shift = self.weight(path + ".bias", width, scale=0.25)
        return oracle.layer_norm(x, gain, shift, eps)

    def feed_forward(self, path, x, hidden, activation, width=None):
        inner = self.linear(path + ".hidden", x, hidden)
        inner = oracle.ACTIVATIONS[activation](inner)
        return self.linear(path + ".output", inner, width or x.shape[-1])

    def head_reweight(self, path, h, x):
        width, model = h.shape[-1], x.shape[-1]
        return oracle.head_reweight(
            h,
            x,
            self.weight(path + ".head", width, width, scale=width**-0.5),
            self.weight(path + ".input", model, width, scale=model**-0.5),
            self.weight(path + ".score", width),
            self.weight(path + ".score_bias", 1),
        )

    def channel_gate(self, path, y, x, width):
        rows, model = x.shape[-1], y.shape[-1]
        return oracle.channel_gate(
            y,
            x,
            self.weight(path + ".input", rows, width, scale=rows**-0.5),
            self.weight(path + ".output", model, width, scale=model**-0.5),
            self.weight(path + ".gate", width, model, scale=width**-0.5),
            self.weight(path + ".gate_bias", model, scale=0.25),
        )

    def multi_head_attention(
        self, path, query, heads, key=None, value=None, head_width=None,
        key_head_width=None, value_head_width=None, width=None, bias=True,
        output_bias=None, kind="softmax", hidden=None, horizontal=False,
        vertical=None, **score_options,
    ):
        """MHA with horizontal attention on the heads and a vertical gate."""
        key = query if key is None else key
        value = key if value is None else value
        head_width = head_width or query.shape[-1] // heads
        value_head_width = value_head_width or head_width
        key_head_width = key_head_width or head_width

        def project(name, x, size):
            y = self.linear(f"{path}.{name}", x, heads * size, bias)
            return oracle.split_heads(y, heads)

        q = project("query", query, head_width)
        k = project("key", key, key_head_width)
        v = project("value", value, value_head_width)
        if kind == "additive":
            tables = self.additive_tables(
                path + ".additive", heads, head_width, key_head_width,
                hidden or head_width,
            )
            h = oracle.additive_attention(q, k, v, *tables, **score_options)
        else:
            h = oracle.attention(q, k, v, **score_options)
        if horizontal:
            h = self.head_reweight(path + ".horizontal", h, query)
        y = self.linear(
            path + ".output", oracle.merge_heads(h), width or query.shape[-1],
            bias if output_bias is None else output_bias,
        )
        if vertical:
            y = self.channel_gate(path + ".vertical", y, query, vertical["width"])
        return y

    def additive_tables(self, path, heads, query_width, key_width, hidden):
        return (
            self.weight(path + ".query", heads, query_width, hidden,
                        scale=query_width**-0.5),
            self.weight(path + ".key", heads, key_width, hidden,
                        scale=key_width**-0.5),
            self.weight(path + ".vector", heads * hidden).reshape(heads, hidden),
        )

    def omni_attention(
        self, path, states, heads, hidden, activation="relu", eps=1e-6,
        pool="after_block", causal="none", bias=True,
    ):
        """OmniNet, Eq. 3-5, pre-norm, without the residual around the layer."""
        count = len(states)
        z = oracle.index_sort(states)
        keep = oracle.omni_keep(states[0].shape[1], count, causal)
        a = z + self.multi_head_attention(
            path, self.layer_norm(path + ".norm1", z, eps), heads, bias=bias,
            mask=keep,
        )
        if pool == "after_attention":
            a = oracle.max_pool(a, count)
        o = a + self.feed_forward(
            path + ".feed_forward", self.layer_norm(path + ".norm2", a, eps),
            hidden, activation,
        )
        return oracle.max_pool(o, count) if pool == "after_block" else o
