# ===- rounding.py - The same model, exactly and as a plain program ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Two Nets: float64, and what rounding makes of it in a plain unfused program.

Exact is the reference: float64 throughout, on weights that are already of the storage
type. Plain computes operation by operation in float32 and rounds what meets in a product
to the storage type. Its distance from Exact is what the formulas lose on these numbers
by rounding alone, and so the yardstick for a compiled program (docs/rationale/proof.md).
One such distance is luck, so runs with `noise` start from inputs moved by a few units in
the last place, err once more by up to one unit after every operation, and round to the
storage type up or down at random.

Where float32 overflows and float64 does not, Plain has NaN, which then spreads to all
that depends on it: nothing is known about those numbers. Other unknown numbers are NaN in
one run and zero in another, so that one of them disagrees with Exact.
"""

import math

import numpy as np

from golden import net, oracle

UNIT = 2.0**-23
# Functions are zero where their result is no normal number (docs/rationale/large-scores.md).
TINY = np.finfo(np.float32).tiny
MOVED = 4  # units in the last place
# An overflow leaves garbage, other rounding does not: the relative error that tells.
GARBAGE = 0.01
# Powers of e up to this, and sums of many of their products with values, are float32.
SAFE_EXPONENT = 70.0


def to_bf16(x):
    """Float32 values rounded to bf16, ties to even; denormals become zero."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    values = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    values = np.where(np.abs(x) < TINY, x * 0, values)
    return np.where(np.isnan(x), x, values)


STORAGES = {
    "f32": lambda x: x,
    "bf16": to_bf16,
    "f16": lambda x: x.astype(np.float16).astype(np.float32),
}
# The relative distance of neighbours, at most, as a multiple of UNIT.
STORED_UNITS = {"f32": 0, "bf16": 2**16, "f16": 2**13}


def meet(heads, stored):
    """Heads [B, M, N, d] that one block-diagonal matrix maps: its zeros make NaN of what
    is not finite as it is stored, in all other heads of the row (docs/rationale/proof.md).
    """
    broken = ~np.isfinite(stored).all(axis=-1, keepdims=True)
    elsewhere = broken.sum(axis=1, keepdims=True) > broken
    return np.where(elsewhere, heads.dtype.type(np.nan), heads)


def largest_exponent(x, w):
    """Of the features exp(w x - |x|^2/2) of each row."""
    return (x @ w.T - (x**2).sum(axis=-1, keepdims=True) / 2).max(axis=-1, keepdims=True)


def is_real(x):
    return x.dtype.kind == "f"


_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])
# Twice what a GELU weighs its argument with. 1 + erf(u) cancels far left, where a program
# has small numbers of their own; erfc(-u) and 2 sigmoid(2 u) are the same without loss.
EXACT_GELU = {
    "gelu_erf": lambda x: _erfc(x * -math.sqrt(0.5)),
    "gelu_tanh": lambda x: 2
    * oracle.sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3)),
}


# The function from -1 to 1 that a plain program adds to 1, in float32.
SATURATING = {
    "gelu_erf": lambda x: _erf(x * math.sqrt(0.5)),
    "gelu_tanh": lambda x: np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
}


class Exact(net.Net):
    """Float64. Remembers the results of all operations for the Plain runs."""

    def __init__(self, seed, storage, weight_scale=1.0, strict=True):
        super().__init__(str(seed))
        self.strict = strict
        self.seed, self.storage, self.weight_scale = seed, storage, weight_scale
        self.round = STORAGES[storage]
        self.trace = []
        # Frozen weights that a file need not have.
        self.initialised = set()

    def initialise(self, name, values):
        """Frozen numbers, which are those of an initialiser where the file has none."""
        self.weights.setdefault(name, values.astype(np.float32))
        self.initialised.add(name)

    def enter(self, name, value):
        return value.astype(np.float64) if is_real(value) else value

    def draw_of(self, name):
        """By the name, so that layers may be removed."""
        return net.Draw(f"{self.seed}/{name}")

    def _raw(self, name, *shape, scale=1.0, centre=0.0):
        """The weight of the file."""
        if name not in self.weights:
            drawn = self.draw_of(name).values(*shape, scale=scale)
            factor = self.weight_scale if len(shape) > 1 else 1
            self.weights[name] = (drawn * factor + centre).astype(np.float32)
        assert self.weights[name].shape == shape, (name, shape)
        return self.weights[name]

    def number(self, values):
        return values.astype(np.float64)

    def weight(self, name, *shape, scale=1.0, centre=0.0):
        return self.number(self._raw(name, *shape, scale=scale, centre=centre))

    def stored_weight(self, name, *shape, scale=1.0, factor=1.0):
        raw = self._raw(name, *shape, scale=scale) * np.float32(factor)
        return self.number(self.round(raw))

    def table(self, name):
        return self.number(self.round(self.weights[name]))

    def activation(self, x, kind):
        if kind in EXACT_GELU:
            return self.keep(oracle.gelu(x, EXACT_GELU[kind](x)))
        return super().activation(x, kind)

    def attend(self, path, q, k, v, kind="softmax", **options):
        if kind == "additive":
            q, k = meet(q, self.as_stored(q)), meet(k, self.as_stored(k))
        return super().attend(path, q, k, v, kind=kind, **options)

    def as_stored(self, x):
        """Without noise; nothing leaves the range of an exact number."""
        return x

    def mix(self, weights, v):
        """A key without any weight does not count, even if its value is NaN.

        Programs may multiply by zero or leave the key out, and Plain multiplies: so
        nothing is known about these results.
        """
        if np.isfinite(v).all():
            return super().mix(weights, v)
        weighed = weights[..., None] * v[:, :, None]
        return np.where(weights[..., None] == 0, 0.0, weighed).sum(axis=-2)

    def keep(self, x):
        self.trace.append(x)
        return x


class Plain(Exact):
    """Float32 and the storage type, beside an Exact run of the same model."""

    def __init__(self, exact, noise=None, unknown=np.nan):
        super().__init__(exact.seed, exact.storage, strict=exact.strict)
        self.weights, self.unknown = exact.weights, unknown
        self.results, self.noise, self.overflowed = iter(exact.trace), noise, False
        self.has_slots = False  # the attention that is evaluated

    def run(self, evaluate):
        def overflow(_error, _flag):
            self.overflowed = True

        with np.errstate(all="ignore", over="call", call=overflow):
            return evaluate(self)

    def _move(self, x, units):
        if self.noise is None:
            return x
        moves = self.noise.uniform(-units, units, x.shape) * UNIT
        return (x * (1 + moves)).astype(np.float32)

    def enter(self, name, value):
        return self._move(value, MOVED) if is_real(value) else value

    def number(self, values):
        return values

    def product(self, path, x, weight, bias=True):
        """Two products in turn may be one, of x and the product of the weights, which is
        rounded to the storage type. So weights err by that, and rows with an infinity
        are marked, since infinities of both signs may never meet.
        """
        if not self.strict:
            weight = self._move(weight, STORED_UNITS[self.storage] / 2)
        result = super().product(path, x, weight, bias)
        infinite = np.isinf(x).any(axis=-1, keepdims=True) & (not self.strict)
        return np.where(infinite, np.float32(self.unknown), result)

    def rotate(self, x, heads, **tables):
        """Unknown: columns that are not rotated, in a head that is not finite: a program may
        add 0 times another column to them.
        """
        result = super().rotate(x, heads, **tables)
        split = x.reshape(*x.shape[:2], heads, -1)
        rotated = np.arange(split.shape[-1]) < 2 * tables["cosines"].shape[1]
        unknown = ~np.isfinite(split).all(axis=-1, keepdims=True) & ~rotated
        return np.where(unknown.reshape(x.shape), np.float32(self.unknown), result)

    def activation(self, x, kind):
        if kind in SATURATING:
            # Far left the sum is small and keeps the error of the function.
            bounded = SATURATING[kind](x.astype(np.float64)).astype(np.float32)
            return self.keep(oracle.gelu(x, 1 + self._move(bounded, 1)))
        result = net.Net.activation(self, x, kind)
        is_zero = (kind == "sigmoid") & (result < TINY)
        return np.where(is_zero, np.float32(0), result)

    def function(self, name, compute, x):
        """Powers of e are zero below TINY."""
        result = super().function(name, compute, x)
        is_zero = (name in ("exp", "sigmoid")) & (result < TINY)
        return np.where(is_zero, np.float32(0), result)

    def channel_gate(self, path, y, x, width):
        """The gate is zero below TINY, however large the channel that it multiplies."""
        gated = super().channel_gate(path, y, x, width)
        return np.where(np.abs(gated) < TINY * np.abs(y), np.float32(0), gated)

    def attend(self, path, q, k, v, kind="softmax", **options):
        """Unknown: where scores are in the range of float32 although sums on the way to
        them may leave it, in one order or another.
        """
        self.has_slots = bool(options.get("memory"))
        result = super().attend(path, q, k, v, kind=kind, **options)
        if kind != "softmax":
            return result
        k = oracle.share_heads(k, q.shape[1])
        sizes = np.abs(q.astype(np.float64)) @ np.abs(k.astype(np.float64)).swapaxes(2, 3)
        leaves = sizes > np.finfo(np.float32).max
        self.scores = np.where(leaves, np.float32(self.unknown), self.scores)
        return np.where(leaves.any(axis=-1, keepdims=True), np.float32(self.unknown), result)

    def weigh(self, scores, v, **options):
        """Unknown: where weights that are divided by their sum leave the range of float32
        with the values, since a program adds up values first.
        """
        result = super().weigh(scores, v, **options)
        if options.get("normalize") != "sum":
            return result
        keys = self.scores.shape[-1]
        sizes = np.abs(self.scores.astype(np.float64)) @ np.abs(v[:, :, :keys].astype(np.float64))
        leaves = (sizes > np.finfo(np.float32).max).any(axis=-1, keepdims=True)
        return np.where(leaves, np.float32(self.unknown), result)

    def additive_tables(self, *arguments):
        """A program maps keys of memory slots once, since both are weights, in float32: what
        others are mapped with is of the storage type.
        """
        of_queries, of_keys, vector = super().additive_tables(*arguments)
        if self.has_slots:
            of_keys = self._move(of_keys, STORED_UNITS[self.storage] / 2)
        return of_queries, of_keys, vector

    def mix(self, weights, v):
        return net.Net.mix(self, weights, v)

    def performer(self, q, k, v, w, causal=False, key_valid=None, **options):
        """Unknown: where a key that a query does not see is not finite, as `mix` of Exact
        says, and where the features of kernel exp leave the range of float32.
        """
        result = super().performer(
            q, k, v, w, causal=causal, key_valid=key_valid, **options
        )
        broken = ~(np.isfinite(k).all(axis=-1) & np.isfinite(v).all(axis=-1))
        shape = (*q.shape[:3], k.shape[2])
        hidden = ~oracle.kept(shape, causal, key_valid)
        unknown = (hidden & broken[:, :, None]).any(axis=-1, keepdims=True)
        if options["kernel"] == "exp":
            root = math.sqrt(options.get("scale") or 1)
            of_query, of_key = (largest_exponent(x * root, w) for x in (q, k))
            both = of_query + of_key.max(axis=2, keepdims=True)
            for exponents in (of_query, of_key.max(axis=2, keepdims=True), both):
                unknown = unknown | ~(np.abs(exponents) < SAFE_EXPONENT)
            self.overflowed = False  # that is what `unknown` says
        return np.where(unknown, np.float32(self.unknown), result)

    def project_tokens(self, name, x, shape):
        """Unknown: where a key or value of the entry is not finite; it may meet other
        numbers before the linear that made it.
        """
        result = super().project_tokens(name, x, shape)
        broken = ~np.isfinite(x).all(axis=(1, 2, 3), keepdims=True)
        return np.where(broken & (not self.strict), np.float32(self.unknown), result)

    def as_stored(self, x):
        return self.round(x)

    def stored(self, x):
        return self.round(
            self._move(x.astype(np.float32), STORED_UNITS[self.storage] / 2)
        )

    def keep(self, x):
        exact = next(self.results)
        if not is_real(x):
            return x
        x = self._move(x.astype(np.float32), 1)
        lost = np.isfinite(exact) & ~np.isfinite(x)
        if self.overflowed:
            lost |= np.abs(x - exact) > GARBAGE * np.abs(exact)
            self.overflowed = False
        return np.where(lost, np.float32(np.nan), x)
