#===- net.py - Layers that draw their weights and compute at once ---------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# The layers of a description, built from oracle.py. A Net draws each weight the
# first time a layer names it, remembers it under the name that the description
# gives it, and computes the layer's value in float64 from the float32 weight.
#
# A subclass may compute otherwise: `keep` sees the result of every operation,
# `stored` what enters a matrix product, and `stored_weight` gives matrices and
# tables. Here all three leave numbers as they are.
#
# Values come from raw generator words by integer arithmetic, so that they are
# the same bytes on every machine and in every version of NumPy.
#
#===-----------------------------------------------------------------------===#

import dataclasses
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
        self.scores = None  # of the attention before

    def weight(self, name, *shape, scale=1.0, centre=0.0):
        if name not in self.weights:
            drawn = self.draw.values(*shape, scale=scale)
            self.weights[name] = (drawn + np.float32(centre)).astype(np.float32)
        assert self.weights[name].shape == shape, (name, shape)
        return wide(self.weights[name])

    def stored_weight(self, name, *shape, scale=1.0, factor=1.0):
        """The weight times `factor`, as it enters a matrix product."""
        return self.weight(name, *shape, scale=scale) * factor

    def stored(self, x):
        return x

    def keep(self, x):
        return x

    def linear(self, path, x, width, bias=True):
        rows = x.shape[-1]
        weight = self.stored_weight(
            path + ".weight", rows, width, scale=1 / math.sqrt(rows)
        )
        return self.product(path, x, weight, bias)

    def product(self, path, x, weight, bias=True):
        """A linear layer with a weight that may be another one's."""
        width = weight.shape[1]
        shift = self.weight(path + ".bias", width, scale=0.25) if bias else None
        return self.keep(oracle.linear(self.stored(x), weight, shift))

    def activation(self, x, kind):
        return self.keep(oracle.ACTIVATIONS[kind](x))

    def function(self, _name, compute, x):
        """A function of numbers in scores."""
        return self.keep(compute(x))

    def softmax(self, x, log=False):
        return self.keep(oracle.softmax(x, log))

    def mask_rows(self, x, valid):
        return self.keep(x * valid[..., None])

    def layer_norm(self, path, x, eps, center=True, gain=True, bias=True,
                   kind="standard", heads=1):
        """Of rows, or of each of some heads of them, which share gain and bias."""
        width = x.shape[-1] // heads
        factor = shift = None
        if gain:
            factor = self.weight(path + ".gain", width, scale=0.25, centre=1.0)
        if bias:
            shift = self.weight(path + ".bias", width, scale=0.25)
        y = x.reshape(*x.shape[:-1], heads, width)
        if kind == "l2":
            y = oracle.unit_length(y, eps)
        elif center:
            y = oracle.layer_norm(y, 1.0, 0.0, eps)
        else:
            y = oracle.rms_norm(y, eps)
        y = y if factor is None else y * factor
        y = y if shift is None else y + shift
        return self.keep(y.reshape(x.shape))

    def feed_forward(self, path, x, hidden, activation, width=None, bias=True,
                     gate=False):
        inner = self.linear(path + (".gate" if gate else ".hidden"), x, hidden, bias)
        inner = self.activation(inner, activation)
        if gate:
            inner = self.keep(inner * self.linear(path + ".hidden", x, hidden, bias))
        return self.linear(path + ".output", inner, width or x.shape[-1], bias)

    def head_reweight(self, path, h, x):
        width, model = h.shape[-1], x.shape[-1]
        reweighted = oracle.head_reweight(
            self.stored(h),
            self.stored(x),
            self.stored_weight(path + ".head", width, width, scale=width**-0.5),
            self.stored_weight(path + ".input", model, width, scale=model**-0.5),
            self.weight(path + ".score", width),
            self.weight(path + ".score_bias", 1),
        )
        return self.keep(reweighted)

    def rotate(self, x, heads, **tables):
        return self.keep(oracle.rotate(x, heads, **tables))

    def channel_gate(self, path, y, x, width):
        rows, model = x.shape[-1], y.shape[-1]
        gated = oracle.channel_gate(
            y,
            x,
            self.stored_weight(path + ".input", rows, width, scale=rows**-0.5),
            self.stored_weight(path + ".output", model, width, scale=model**-0.5),
            self.stored_weight(path + ".gate", width, model, scale=width**-0.5),
            self.weight(path + ".gate_bias", model, scale=0.25),
            self.stored,
        )
        return self.keep(gated)

    def multi_head_attention(
        self, path, query, heads, key=None, value=None, head_width=None,
        key_head_width=None, value_head_width=None, width=None, bias=True,
        key_bias=None, output_bias=None, horizontal=False, vertical=None,
        key_value_heads=None, query_norm="none", key_norm=None, norm_eps=None,
        norm_bias=True, rotary=None, **score_options,
    ):
        """MHA with horizontal attention on the heads and a vertical gate.

        Of fewer heads of keys and values, head m of the queries reads head
        m // (heads / key_value_heads).
        """
        key = query if key is None else key
        value = key if value is None else value
        head_width = head_width or query.shape[-1] // heads
        value_head_width = value_head_width or head_width
        key_head_width = key_head_width or head_width

        norms = {"query": query_norm, "key": key_norm or query_norm}

        def project(name, x, count, size, bias):
            y = self.linear(f"{path}.{name}", x, count * size, bias)
            norm = norms.get(name, "none")
            if norm != "none":
                eps = norm_eps or (1e-12 if norm == "l2" else 1e-6)
                y = self.layer_norm(
                    f"{path}.{name}_norm", y, eps, center=norm == "layer",
                    gain=norm != "l2", bias=norm == "layer" and norm_bias,
                    kind="l2" if norm == "l2" else "standard", heads=count,
                )
            if rotary and name != "value":
                y = self.rotate(y, heads=count, **rotary)
            return oracle.split_heads(y, count)

        groups = key_value_heads or heads
        q = project("query", query, heads, head_width, bias)
        k = project("key", key, groups, key_head_width,
                    bias if key_bias is None else key_bias)
        v = project("value", value, groups, value_head_width, bias)
        h = self.attend(path, q, k, v, **score_options)
        if horizontal:
            h = self.head_reweight(path + ".horizontal", h, query)
        y = self.linear(
            path + ".output", oracle.merge_heads(h), width or query.shape[-1],
            bias if output_bias is None else output_bias,
        )
        if vertical:
            y = self.channel_gate(path + ".vertical", y, query, vertical["width"])
        return y

    def attend(
        self, path, q, k, v, kind="softmax", hidden=None, scale=None,
        features=None, projected_tokens=None, max_tokens=None,
        shared_projection=True, memory=0, **masks,
    ):
        """Attention on heads [B, M, N, d], with scores of any kind.

        With `memory` slots, sqrt(d) M_k and sqrt(slots) M_v follow the keys and
        values (M2, section 3.1). What is in front of masks stays as `scores`.
        """
        if kind == "cosine":
            # Lengths are those of what the projections give, before it is rounded.
            k, v = oracle.share_heads(k, q.shape[1]), oracle.share_heads(v, q.shape[1])
            theta = self.weight(path + ".logit_scale", q.shape[1], scale=2.0,
                                centre=2.5)
            scores = oracle.cosine_scores(q, k, theta, self.stored)
            return self.weigh(scores, self.stored(v), **masks)
        q, k, v = self.stored(q), self.stored(k), self.stored(v)
        if kind == "linformer":
            shape = max_tokens or k.shape[2], projected_tokens
            names = ["token_projection"] * 2
            if not shared_projection:
                names = ["key_projection", "value_projection"]
            k, v = (
                self.project_tokens(f"{path}.{name}", x, shape)
                for name, x in zip(names, (k, v))
            )
        if memory:
            k = self.with_slots(path + ".memory.key", k, memory, k.shape[-1])
            v = self.with_slots(path + ".memory.value", v, memory, memory)
            masks["slots"] = memory
        groups = k.shape[1]
        k, v = oracle.share_heads(k, q.shape[1]), oracle.share_heads(v, q.shape[1])
        if kind == "bigbird":
            return self.bigbird(path, q, k, v, scale=scale, **masks)
        if kind == "performer":
            w = None
            if features:
                w = self.weight(path + ".features", features, q.shape[-1])
            masks.setdefault("kernel", "softmax" if features else "relu")
            return self.keep(self.performer(q, k, v, w, scale=scale, **masks))
        if kind == "additive":
            tables = self.additive_tables(
                path + ".additive", q.shape[1], q.shape[-1], k.shape[-1],
                hidden or q.shape[-1], groups,
            )
            scores = oracle.additive_scores(q, k, *tables)
        else:
            scores = oracle.softmax_scores(q, k, scale)
        return self.weigh(scores, v, **masks)

    def weigh(self, scores, v, score_bias=None, slots=0, written=None, mask=None, **masks):
        """The values as scores weigh them; what is in front of masks stays.

        `written` is what the description makes of scores (scores.WrittenScores).
        """
        if written:
            masks["of_zeros"] = written.of(self, np.zeros_like(scores))[0]
            scores, kept = written.of(self, self.keep(scores))
            mask = kept if mask is None else kept & mask
        given = scores[..., : scores.shape[-1] - slots]
        self.scores = self.keep(given if score_bias is None else given + score_bias)
        masks.update(score_bias=score_bias, slots=slots, mask=mask)
        return self.keep(oracle.attend(self.keep(scores), v, mix=self.mix, **masks))

    def bigbird(
        self, path, q, k, v, scale=None, block_size=64, random_blocks=3,
        repeats="error", **masks,
    ):
        """Big Bird, section 2; dense where random blocks have no place."""
        blocks = -(-k.shape[2] // block_size)
        scores = oracle.softmax_scores(q, k, scale)
        if blocks > 5 + 2 * random_blocks:
            shape = q.shape[1], blocks - 2, random_blocks
            table = self.block_table(path + ".random_table", shape, repeats == "count")
            seen = oracle.blocks_seen(blocks, table).astype(q.dtype)
            masks["counts"] = oracle.keys_seen(seen, block_size, k.shape[2])
        return self.weigh(scores, v, **masks)

    def draw_of(self, name):
        """What a weight's values are drawn from."""
        return self.draw

    def block_table(self, name, shape, repeats):
        """Blocks that row i - 1 may have, in any order, one in eight unused."""
        if name in self.weights or not shape[2]:
            return self.weights.get(name, np.zeros(shape))
        draw, blocks = self.draw_of(name), shape[1] + 2
        table = np.full(shape, -1.0, dtype=np.float32)
        for m, row in np.ndindex(shape[:2]):
            near = {0, row, row + 1, row + 2, blocks - 1}
            free = [j for j in range(blocks) if j not in near]
            order = np.argsort(draw.integers(2**30, len(free)), kind="stable")
            taken = [free[j] for j in order[: shape[2]]]
            if repeats:
                taken = draw.integers(blocks, shape[2])
            unused = draw.integers(8, len(taken)) == 0
            table[m, row, : len(taken)] = np.where(unused, -1, taken)
        self.weights[name] = table
        return table

    def project_tokens(self, name, x, shape):
        """Linformer, Eq. 7, with the first rows of a longer projection."""
        matrix = self.stored_weight(name, *shape, scale=shape[1] ** -0.5)
        projected = oracle.project_tokens(x, matrix[: x.shape[2]])
        return self.stored(self.keep(projected))

    def with_slots(self, path, x, slots, square):
        batch, heads, _, width = x.shape
        memory = self.stored_weight(
            path, slots, heads * width, scale=0.5, factor=math.sqrt(square))
        memory = oracle.split_heads(memory[None], heads).astype(x.dtype)
        memory = np.broadcast_to(memory, (batch, *memory.shape[1:]))
        return np.concatenate([x, memory], axis=2)

    def performer(self, q, k, v, w, **options):
        return oracle.performer(q, k, v, w, **options)

    def mix(self, weights, v):
        return oracle.mix(self.stored(weights), v)

    def additive_tables(self, path, heads, query_width, key_width, hidden, groups=None):
        groups = groups or heads
        of_queries = self.stored_weight(path + ".query", heads, query_width, hidden,
                                        scale=query_width**-0.5)
        of_keys = self.stored_weight(path + ".key", groups, key_width, hidden,
                                     scale=key_width**-0.5)
        return (
            of_queries,
            np.repeat(of_keys, heads // groups, axis=0),
            self.weight(path + ".vector", heads * hidden).reshape(heads, hidden),
        )

    def window_attention(
        self, path, x, heads, grid, window, shift, relative_bias=False,
        relative_bias_hidden=None, pretrained_window=0, mask_value=-100.0, **options,
    ):
        """Swin, section 3.2: attention in windows of a rolled image."""
        cut = oracle.partition(x, grid, window, shift)
        biases = []
        if any(shift):
            mask = oracle.shift_mask(grid, window, shift, float(mask_value))
            # One window after the other, the batch outermost.
            mask = np.tile(mask, (x.shape[0], 1, 1))[:, None]
            biases.append(mask.astype(x.dtype))
        if relative_bias:
            if relative_bias == "continuous":
                table = self.continuous_bias(
                    path + ".relative_bias", oracle.log_offsets(window, pretrained_window),
                    heads, relative_bias_hidden or 512).astype(x.dtype)
            else:
                rows = (2 * window[0] - 1) * (2 * window[1] - 1)
                table = self.weight(path + ".relative_bias", rows, heads)
            biases.append(oracle.relative_bias(table, window))
        if biases:
            options["score_bias"] = sum(biases)
        if options.get("written"):
            windows = len(cut) // len(x)
            options["written"] = dataclasses.replace(options["written"], windows=windows)
        y = self.multi_head_attention(path, cut, heads, **options)
        return oracle.reverse(y, grid, window, shift)

    def continuous_bias(self, path, offsets, heads, hidden):
        """16 sigmoid of a network of two layers (Swin V2, Eq. 3 and 4).

        No storage type rounds its weights: it is computed once.
        """
        inner = oracle.linear(
            offsets,
            self.weight(path + ".hidden.weight", 2, hidden, scale=2.0),
            self.weight(path + ".hidden.bias", hidden),
        )
        output = self.weight(path + ".output.weight", hidden, heads,
                             scale=2 * hidden**-0.5)
        return 16 * oracle.sigmoid(oracle.linear(np.maximum(inner, 0.0), output))

    def omni_attention(
        self, path, states, heads, hidden, head_width=None, activation="relu",
        eps=1e-6, pool="after_block", causal="none", bias=True, norm="pre_ln",
        kind="softmax", feature_eps=None, **score_options,
    ):
        """OmniNet, Eq. 3-5, without the residual around the layer.

        Norms come before each sublayer (pre_ln) or on its result (res_post).
        """
        count = len(states)
        z = oracle.index_sort(states)
        scores = {"kind": kind, **score_options}
        if kind == "performer":
            scores["causal"] = causal == "flattened"
            if feature_eps is not None:
                scores["eps"] = feature_eps
        elif kind != "linformer":
            scores["mask"] = oracle.omni_keep(states[0].shape[1], count, causal)

        def sublayer(name, x, compute):
            if norm == "res_post":
                return x + self.layer_norm(path + name, compute(x), eps)
            return x + compute(self.layer_norm(path + name, x, eps))

        a = sublayer(".norm1", z, lambda x: self.multi_head_attention(
            path, x, heads, head_width=head_width, bias=bias, **scores))
        if pool == "after_attention":
            a = oracle.max_pool(a, count)
        o = sublayer(".norm2", a, lambda x: self.feed_forward(
            path + ".feed_forward", x, hidden, activation))
        return oracle.max_pool(o, count) if pool == "after_block" else o
