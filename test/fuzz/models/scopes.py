# ===- scopes.py - Values, names and expressions of a random description -----=== #
# SPDX-License-Identifier: Apache-2.0
"""What a random layer may read, and how its attributes are written down.

A Scope is a list of layers under construction: the program's, or a block's. It knows the
shape of every value, so that layers are valid when they are drawn. An attribute is
written as a literal, or as an expression of parameters, of arguments of the block, or of
the index of a repetition.
"""

import random
from dataclasses import dataclass, field

# One, a prime, and both sides of the tiles: rows (6 to 16), columns (16, 32, 64).
SIZES = (1, 2, 3, 5, 6, 7, 8, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65)
MOST_NUMBERS = 12000


def numbers(shape):
    count = 1
    for size in shape:
        count *= size
    return count


@dataclass
class Value:
    """A name that a layer may read. Several values of one shape are a list."""

    name: str
    shape: tuple
    dtype: str = "f32"
    count: int = 0  # of a list
    growing: bool = False  # a list that has fewer in the first repetitions
    used: bool = False
    below: int = 0  # ids: they are less than this,
    ranged: bool = False  # as the description says
    grid: tuple = None  # tokens: rows and columns of the image that they are known to be of


class Parameters:
    """The parameters of a description, and what --set makes of them."""

    def __init__(self, rng):
        self.rng, self.entries, self.values, self.settings = rng, {}, {}, {}

    def having(self, value, words=None):
        """The name of a parameter of this value."""
        known = [
            n for n, v in self.values.items() if type(v) is type(value) and v == value
        ]
        if known and not words and self.rng.random() < 0.7:
            return self.rng.choice(known)
        name = f"{self.rng.choice('pqrst')}{len(self.entries)}"
        self.entries[name] = self._entry(name, value, words)
        self.values[name] = value
        return name

    def _entry(self, name, value, words):
        rng = self.rng
        default = value
        if rng.random() < 0.3:
            default = self._other(value, words)
            self.settings[name] = value
        if words:
            return {"default": default, "values": list(words)}
        if isinstance(value, bool) or rng.random() < 0.5:
            return default if rng.random() < 0.8 else {"default": default}
        if rng.random() < 0.5:
            return {"default": default, "min": min(default, value), "max": 10**10}
        return default if name in self.settings else f"2*{value} - {value}"

    def _other(self, value, words):
        if words:
            return self.rng.choice(words)
        return not value if isinstance(value, bool) else value + self.rng.randint(1, 3)


class Spelling:
    """Writes a value as an expression."""

    def __init__(self, rng, parameters):
        self.rng, self.parameters = rng, parameters

    def of(self, value, words=None):
        if isinstance(value, bool):
            return self._boolean(value)
        if isinstance(value, str):
            return self._word(value, words)
        return self._integer(value) if isinstance(value, int) else self._number(value)

    def _integer(self, v):
        rng, p = self.rng, self.parameters.having
        a = rng.randint(1, 5)
        forms = [
            lambda: p(v),
            lambda: f"{p(v + a)} - {a}",
            lambda: f"-{a} + {p(v + a)}",
            lambda: f"{p(a * v)}//{a}",
            lambda: f"{a * v}/{p(a)}",
            lambda: f"{p(v)} % {abs(v) + a}" if v >= 0 else f"-{p(-v)}",
            lambda: f"min({v}, {p(v + a)})",
            lambda: f"max({v - a}, {p(v)})",
            lambda: f"if({self._boolean(True)}, {v}, {a})",
            lambda: f"if({self._boolean(False)}, {a}, {p(v)})",
            lambda: f"abs(-({v}))" if v >= 0 else f"-abs({v})",
            lambda: f"floor({v}.5)" if v >= 0 else f"ceil({v}.5)",
            lambda: f"ceil({p(v)} - 1/2)",
            lambda: f"floor(sqrt({v * v}))" if v >= 0 else f"-ceil(sqrt({v * v}))",
            lambda: f"floor(log2(2**{v}))" if 0 <= v < 40 else p(v),
            lambda: f"{v // a}*{a} + {v % a}",
        ]
        return rng.choice(forms)()

    def _number(self, v):
        forms = [lambda: self.parameters.having(v), lambda: f"{2 * v!r}/2"]
        return self.rng.choice(forms)()

    def _boolean(self, v):
        p, rng = self.parameters.having, self.rng
        a = rng.randint(1, 9)
        forms = [
            lambda: p(v),
            lambda: "true" if v else "false",
            lambda: f"not {p(not v)}",
            lambda: (
                f"{p(a)} {rng.choice(['<', '<=', '!='] if v else ['>', '>=', '=='])} {a + 1}"
            ),
            lambda: f"{p(v)} and {p(True)}" if v else f"{p(v)} or {p(False)}",
            lambda: f"'a' == '{'a' if v else 'b'}'",
        ]
        return rng.choice(forms)()

    def _word(self, v, words):
        forms = [
            lambda: self.parameters.having(v, words),
            lambda: f"'{v}'",
            lambda: f"if({self._boolean(True)}, '{v}', '{self.rng.choice(words)}')",
        ]
        return self.rng.choice(forms)()


@dataclass
class Drawn:
    """A layer that others may share weights with: what it read, by role."""

    layer: dict
    reads: dict
    result: tuple


@dataclass
class Scope:
    model: object  # the Model that is being drawn
    parent: object = None
    repeats: bool = False  # `index` may be mentioned: a layer or a block is repeated
    rows_only: bool = False  # every value is [batch, N, ..]: nothing is lost in a sum
    values: list = field(default_factory=list)
    layers: list = field(default_factory=list)
    arguments: dict = field(default_factory=dict)  # name: default
    choices: dict = field(default_factory=dict)  # name: draws another value of it
    given: dict = field(default_factory=dict)  # name: value at the first use
    matrices: list = field(default_factory=list)  # (path, shape) that may be shared
    drawn: list = field(default_factory=list)
    learned: list = field(default_factory=list)  # (name, shape) of layers `weight`
    repeated: list = field(default_factory=list)  # the results of each repetition

    @property
    def rng(self) -> random.Random:
        return self.model.rng

    @property
    def depth(self):
        return self.parent.depth + 1 if self.parent else 0

    def chance(self, probability):
        return self.rng.random() < probability

    # --- values ----------------------------------------------------------------

    def fits(self, test, dtype="f32"):
        return [
            v for v in self.values if v.dtype == dtype and not v.count and test(v.shape)
        ]

    def pick(self, test=lambda shape: len(shape) == 3, dtype="f32"):
        """A value to read: mostly the latest that nobody reads yet. None if none fits."""
        found = self.fits(test, dtype)
        fresh = [v for v in found if not v.used]
        if fresh and self.chance(0.7):
            return fresh[-1]
        return self.rng.choice(found) if found else None

    def like(self, value):
        """Any value that can be read where this one is."""

        def kind(v):
            return v.shape, v.dtype, v.count, v.below, v.ranged, v.grid

        return self.rng.choice([v for v in self.values if kind(v) == kind(value)])

    def pick_for_list(self, test=lambda shape: True):
        """A value to join in a list; mostly one that a list of its shape is there for."""
        listed = [v.shape for v in self.values if v.count and test(v.shape)]
        if listed and self.chance(0.6):
            shape = self.rng.choice(listed)
            return self.pick(lambda other: other == shape)
        return self.pick(test)

    def lists(self, shape):
        return [v for v in self.values if v.count and v.shape == shape]

    def add_value(self, name, shape, **keys):
        value = Value(name, tuple(shape), **keys)
        self.values.append(value)
        return value

    def input_like(self, shape):
        """A new input of the model of this shape, or of its end; None in a block."""
        return self.fresh("x", shape[self.rng.choice((0, 0, 1)) :] or shape)

    def fresh(self, stem, shape, dtype="f32"):
        return None if self.parent else self.model.new_input(stem, shape, dtype)

    def memory(self, batch, widths):
        """Now and then a new sequence to attend to, of another length."""
        shape = (batch, self.rng.choice(self.model.lengths), self.rng.choice(widths))
        wanted = self.chance(0.3) and numbers(shape) < MOST_NUMBERS
        return self.fresh("x", shape) if wanted else None

    def ids(self, rank=None):
        """Integers to look up."""
        found = [
            v
            for v in self.values
            if v.below and not v.count and rank in (None, len(v.shape))
        ]
        if not self.parent and (not found or self.chance(0.3)):
            return self.model.new_ids(rank)
        return self.rng.choice(found) if found else None

    def fresh_ids(self, shape):
        """New integers of this shape whose range the description says; None in a block."""
        return None if self.parent else self.model.new_ids_of(shape, ranged=True)

    def image(self):
        found = self.fits(lambda shape: len(shape) == 4)
        if not self.parent and not found:
            return self.model.new_image()
        return self.rng.choice(found) if found else None

    def visible_matrices(self):
        """Weights [in, out] that a linear may use: of this list of layers, or the top."""
        top = self
        while top.parent:
            top = top.parent
        return self.matrices + (top.matrices if top is not self else [])

    # --- attributes ------------------------------------------------------------

    def say(self, value, words=None, another=None):
        """`value` as it may be written. `another` draws values that are as valid."""
        if self.chance(0.75):
            return value
        if another and self.repeats and self.chance(0.5):
            return self._by_index(value, another)
        if self.parent and self.chance(0.4):
            return self._argument(value, another)
        return self.model.spelling.of(value, words)

    def _by_index(self, value, another):
        if isinstance(value, bool):
            return self.rng.choice(["index % 2 == 1", "index > 0", "not (index == 1)"])
        if isinstance(value, str):
            return f"if(index % 2 == 0, '{value}', '{another()}')"
        return f"{value!r} + index" if value > 0 else f"if(index < 1, {value!r}, 0.5)"

    def _argument(self, value, another):
        name = f"arg{len(self.arguments)}"
        if isinstance(value, str) or self.chance(0.4):
            self.arguments[name] = None
            self.given[name] = value
        else:
            self.arguments[name] = value
        if another:
            self.choices[name] = another
        return name

    # --- layers ----------------------------------------------------------------

    def new_name(self, stem):
        return f"{stem[:4]}{len(self.layers)}"

    def append(self, layer, reads, shape, dtype="f32"):
        """Adds a layer; marks what it reads as used. Returns its value."""
        for value in reads:
            value.used = True
        self.layers.append(layer)
        return self.add_value(layer["name"], shape, dtype=dtype)
