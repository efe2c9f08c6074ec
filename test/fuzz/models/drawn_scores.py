# ===- drawn_scores.py - Draws scores as a description writes them --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Expressions of `score` and `keep`: forms that papers know, and any others.

Every integer is drawn with the range that it has, so that indices stay on their axes: by
`min` and `max`, by `%`, or because the axis was made as long as the range.
"""

import random
from dataclasses import dataclass, field

from scopes import numbers

LARGEST = 10**6  # of integers in an expression
LONGEST = 200  # axis that is made for an index
DEEPEST = 3
FACTORS = (0.5, -0.25, 2.5, 1.5, 0.125)
# By which a quotient that is rounded once lies on the other side of an integer than one that
# is computed otherwise, in many places; others are drawn.
DIVISORS = (3, 7, 10, 41, 49, 0.1, 0.3, 1.7)
CAPS = (1.5, 20, 0.5, 5)


@dataclass(frozen=True)
class Integer:
    """An expression of integers from `low` to `high`."""

    text: str
    low: int
    high: int


@dataclass
class DrawnScores:
    """The expressions of one attention.

    `reads` is what they mention, and `before` are layers that must stand in front of it.
    """

    scope: object
    shape: tuple  # [batch, heads, queries, keys], of a window if there are any
    reads: list = field(default_factory=list)
    before: list = field(default_factory=list)
    guards: int = 0  # what is drawn may have no part in the result

    @classmethod
    def draw(cls, scope, attributes, shape):
        """Adds none, either or both to `attributes`."""
        drawn = cls(scope, shape)
        if scope.model.later.random() < 0.4:
            attributes["score"] = drawn.score()
        if scope.model.later.random() < 0.35:
            attributes["keep"] = drawn.keep()
        return drawn

    @property
    def rng(self):
        return self.scope.rng

    def guarded(self, draw, *arguments):
        """Draws what a condition may rule out, or a power of 0: no weight is read there alone."""
        self.guards += 1
        text = draw(*arguments)
        self.guards -= 1
        return text

    def say(self, value):
        """A constant, as parameters may write it."""
        said = self.scope.say(value)
        if isinstance(said, bool):
            return str(said).lower()
        return f"({said})" if isinstance(said, str) or said < 0 else repr(said)

    # --- the attributes ----------------------------------------------------------

    def score(self):
        cap = self.say(self.rng.choice(CAPS))
        forms = (
            lambda: f"score - {self._of_head()} * {self._distance().text}",
            lambda: f"{cap} * tanh(score / {cap})",
            lambda: f"score + {self._table()}",
            lambda: f"score + {self._table()}",
            lambda: f"if({self.boolean(2)}, score, {self.guarded(self.number, 2, True)})",
            lambda: f"score * {self._of_head()} + {self.number(2)}",
            lambda: f"score + {self.number(DEEPEST)}",
            lambda: self.number(DEEPEST, True),
            self._without_the_other,
        )
        return self.rng.choice(forms)()

    def _without_the_other(self):
        """A choice of parameters, of which the other branch reads beside a value."""
        known = self.scope.fits(lambda shape: True)
        beside = f"{self.rng.choice(known).name}[{LARGEST}]" if known else "1"
        return f"if({self.say(True)}, score / 2, score + {beside})"

    def keep(self):
        far = self.say(self.rng.choice((0, 1, 2, 5, 16, 40)))
        step = self.say(self.rng.choice((1, 2, 3, 5)))
        forms = (
            lambda: "key <= query",
            lambda: f"key <= query and query - key < {far}",
            lambda: f"abs(query - key) <= {far}",
            lambda: f"key <= query and (key < {step} or query - key < {far})",
            lambda: f"key < {step} or query < {step} or abs(query - key) <= {far}",
            lambda: f"abs(query - key) <= {far} * {step} and (query - key) % {step} == 0",
            lambda: f"query // {step} >= key // {step}",
            self._same_document,
            lambda: f"key <= query or key < {self.integer(1).text}",
            lambda: f"key < query + {self.integer(2).text}",
            lambda: f"{self._table()} > {self.say(self.rng.choice((0.5, -0.25)))}",
            lambda: self.boolean(DEEPEST),
            lambda: self.boolean(DEEPEST),
        )
        return self.rng.choice(forms)()

    def _same_document(self):
        batch, _, queries, keys = self.shape
        document = self._integers((batch, max(queries, keys)))
        if not document:
            return "key == query"
        one, other = (f"{document.name}[batch, {index}]" for index in ("query", "key"))
        return f"{one} == {other}"

    def _of_head(self):
        """A number of each head."""
        forms = (
            lambda: self._weight((self.shape[1],), "head"),
            lambda: "exp(-8 * log(2) * (head + 1) / heads)",
            lambda: f"({self.say(self.rng.choice(FACTORS))} * (head + 1))",
        )
        return self.rng.choice(forms)()

    # --- integers ----------------------------------------------------------------

    def _index(self):
        batch, heads, queries, keys = self.shape
        name, size = self.rng.choice(
            (("query", queries), ("key", keys), ("query", queries), ("key", keys),
             ("head", heads), ("batch", batch))
        )
        return Integer(name, 0, size - 1)

    def _size(self):
        _, *sizes = self.shape
        name, size = self.rng.choice(list(zip(("heads", "queries", "keys"), sizes, strict=True)))
        return Integer(name, size, size)

    def _constant(self):
        value = self.rng.choice((0, 1, 2, 3, 5, 8, 17, 31, -1, -4))
        return Integer(self.say(value), value, value)

    def _distance(self):
        _, _, queries, keys = self.shape
        forms = (
            Integer("(query - key)", 1 - keys, queries - 1),
            Integer("(key - query)", 1 - queries, keys - 1),
            Integer("abs(query - key)", 0, max(keys, queries) - 1),
        )
        return self.rng.choice(forms)

    def integer(self, depth):
        """Any integer."""
        leaves = (self._index, self._index, self._index, self._constant, self._size, self._read)
        if depth <= 0:
            return self.rng.choice(leaves)()
        grown = (self._distance, self._sum, self._product, self._rounded, self._extreme,
                 self._absolute, self._chosen, self._square)
        made = self.rng.choice((*grown, *leaves[:2], self._read))
        result = made(depth - 1) if made in grown[1:] else made()
        small = -LARGEST < result.low and result.high < LARGEST
        return result if small else self._index()

    def _sum(self, depth):
        a, b = self.integer(depth), self.integer(depth)
        if self.scope.chance(0.5):
            return Integer(f"({a.text} + {b.text})", a.low + b.low, a.high + b.high)
        return Integer(f"({a.text} - {b.text})", a.low - b.high, a.high - b.low)

    def _product(self, depth):
        a, b = self.integer(depth), self._constant()
        ends = sorted((a.low * b.low, a.high * b.low))
        return Integer(f"({a.text} * {b.text})", *ends)

    def _rounded(self, depth):
        a, by = self.integer(depth), self.rng.choice((1, 2, 3, 4, 7, 16))
        said = self.say(by)
        if self.scope.chance(0.5):
            return Integer(f"({a.text} % {said})", 0, by - 1)
        if self.scope.chance(0.2):
            return Integer(f"({a.text} // {self.say(-by)})", -a.high // by, -a.low // by)
        return Integer(f"({a.text} // {said})", a.low // by, a.high // by)

    def _extreme(self, depth):
        a, b = self.integer(depth), self.integer(depth)
        name, choose = self.rng.choice((("min", min), ("max", max)))
        ends = choose(a.low, b.low), choose(a.high, b.high)
        return Integer(f"{name}({a.text}, {b.text})", *ends)

    def _absolute(self, depth):
        a = self.integer(depth)
        low = max(a.low, -a.high, 0)
        return Integer(f"abs({a.text})", low, max(-a.low, a.high))

    def _chosen(self, depth):
        a, b = self.integer(depth), self.integer(depth)
        text = f"if({self.boolean(depth)}, {a.text}, {b.text})"
        return Integer(text, min(a.low, b.low), max(a.high, b.high))

    def _square(self, depth):
        a = self.integer(depth)
        most = max(abs(a.low), abs(a.high))
        if most >= 1000:
            return a
        return Integer(f"({a.text}) ** {self.say(2)}", 0, most * most)

    def _read(self):
        """An integer of an input."""
        batch, _, queries, keys = self.shape
        shape = self.rng.choice(((batch, keys), (batch, queries), (batch, queries, keys), (keys,)))
        value = self._integers(shape)
        if not value:
            return self._index()
        return Integer(self._element(value), 0, value.below - 1)

    def _integers(self, shape):
        """Integers of this shape or another one; there are none in some scopes."""
        known = [v for v in self.scope.values if v.below and v.ranged and not v.count]
        if not known or self.scope.chance(0.5):
            fresh = self.scope.fresh_ids(shape)
            return self._mention(fresh) if fresh else None
        fits = [v for v in known if v.shape == shape]
        return self._mention(self.rng.choice(fits)) if fits else None

    def _mention(self, value):
        if value not in self.reads:
            self.reads.append(value)
        return value

    # --- elements ----------------------------------------------------------------

    def _place(self, size, depth=1):
        """An integer that is an index of an axis."""
        made = self.integer(depth) if self.scope.chance(0.6) else self._distance()
        if made.low >= 0 and made.high < size:
            return made.text
        if made.high - made.low < size and self.scope.chance(0.7):
            return f"{made.text} + {self.say(-made.low)}"
        if self.scope.chance(0.3):
            return f"{made.text} % {self.say(size)}"
        return f"min(max({made.text}, {self.say(0)}), {self.say(size - 1)})"

    def _usual_place(self, size):
        """The index that has an axis of this size, if one has."""
        sizes = zip(("batch", "head", "query", "key"), self.shape, strict=True)
        names = [name for name, most in sizes if most == size]
        return self.rng.choice(names) if names and self.scope.chance(0.8) else None

    def _element(self, value):
        places = [self._usual_place(n) or self._place(n, 0) for n in value.shape]
        return f"{value.name}[{', '.join(places)}]"

    def _weight(self, shape, *places):
        """An element of a layer `weight` that only these scores read."""
        name = f"own{len(self.scope.layers)}_{len(self.before)}"
        entry = {"name": name, "op": "weight", "shape": list(shape)}
        self.before.append(entry)
        return f"{name}[{', '.join(places)}]"

    def _bucket(self, length, place):
        """An integer of a constant that only these scores read, and how many there may be."""
        rng = random.Random(f"{length} {place}")
        count = rng.choice((1, 3, 8))
        name = f"bucket{len(self.scope.layers)}_{len(self.before)}"
        value = f"min(index0 * {rng.choice((1, 5))} % 11, {count - 1})"
        self.before.append({"name": name, "op": "constant", "shape": [length], "dtype": "i32", "value": value})
        return count, f"{name}[{place}]"

    def _table(self):
        """A number of a learned table or of a value."""
        known = self.scope.fits(lambda shape: True)
        if not self.guards and (not known or self.scope.chance(0.5)):
            return self._learned()
        fresh = self._fresh_table() if self.scope.chance(0.3) else None
        if fresh or not known:
            return fresh or self.say(0.5)
        return self._element(self._mention(self.rng.choice(known)))

    def _learned(self):
        _, heads, _, _ = self.shape
        if self.scope.chance(0.6):
            index = self._distance() if self.scope.chance(0.7) else self.integer(2)
            length = index.high - index.low + 1
            if length <= LONGEST:
                shift = f" + {-index.low}" if index.low < 0 else f" - {index.low}"
                place = index.text + (shift if index.low else "")
                if random.Random(place).random() < 0.3:
                    length, place = self._bucket(length, place)
                if self.scope.chance(0.3):
                    return self._weight((length, heads), place, "head")
                return self._weight((heads, length), "head", place)
        sizes = self.rng.choice((2, 5, 17)), heads
        return self._weight(sizes, self._place(sizes[0]), "head")

    def _fresh_table(self):
        """An element of a new input; None in a block."""
        _, heads, queries, keys = self.shape
        differences = queries + keys - 1
        shape = self.rng.choice(((heads, differences), (heads, queries, keys),
                                 (keys, queries), self.shape))
        fresh = self.scope.fresh("x", shape) if numbers(shape) < 4000 else None
        if not fresh:
            return None
        if shape != (heads, differences):
            return self._element(self._mention(fresh))
        place = self.rng.choice((f"query - key + {keys - 1}", "query + key",
                                 f"key - query + {queries - 1}"))
        return f"{self._mention(fresh).name}[head, {place}]"

    # --- numbers -----------------------------------------------------------------

    def number(self, depth, score=False):
        """Any number; of the score too, where there is one."""
        def part():
            return self.number(depth - 1, score)

        leaves = [
            lambda: self.say(self.rng.choice(FACTORS)),
            lambda: self._table(),
            lambda: f"{self.integer(1).text} / {self.say(self.rng.choice((2, 8, 3)))}",
            lambda: f"{self.integer(1).text} * {self.say(0.25)}",
            lambda: f"{self.integer(1).text} - {self.say(0.5)}",
            lambda: f"min({self.integer(1).text}, {self.say(2.5)})",
        ] + [lambda: "score"] * (4 * score)
        if depth <= 0:
            return f"({self.rng.choice(leaves)()})"
        forms = (
            lambda: f"{part()} + {part()}",
            lambda: f"{part()} - {part()}",
            lambda: f"{part()} * {part()}",
            lambda: f"{part()} / (abs({part()}) + 1)",
            lambda: f"{part()} / {self.say(self.rng.choice(FACTORS))}",
            lambda: f"-{part()}",
            lambda: f"tanh({part()})",
            lambda: f"sigmoid({part()})",
            lambda: f"exp(min({part()}, 2))",
            lambda: f"log(abs({part()}) + 0.5)",
            lambda: f"log2(abs({part()}) + 1)",
            lambda: f"sqrt(abs({part()}))",
            lambda: f"abs({part()})",
            lambda: f"min({part()}, {part()})",
            lambda: f"max({part()}, {part()}, {self.say(0.5)})",
            lambda: f"({self.guarded(part)}) ** {self.say(self.rng.choice((0, 1, 2, 3)))}",
            lambda: (
                f"if({self.boolean(depth - 1)}, {self.guarded(part)}, {self.guarded(part)})"
            ),
            lambda: f"{self.rng.choice(('floor', 'ceil'))}({self._near_integers()})",
            lambda: f"{self.rng.choice(('floor', 'ceil'))}({self._near_integers()})",
            lambda: f"{self.say(2)} ** min({part()}, {self.say(2)})",
            *leaves,
        )
        return f"({self.rng.choice(forms)()})"

    def _divisor(self):
        drawn = self.rng.choice((self.rng.randint(2, 512), *DIVISORS))
        return self.say(-drawn if self.scope.chance(0.1) else drawn)

    def _near_integers(self):
        """A number of indices alone that is often an integer, or beside one by a unit."""
        x, by = self.integer(1).text, self._divisor()
        forms = (
            f"{x} / {by}",
            f"{x} / {by}",
            f"{x} * {by}",
            f"{x} / {by} * {by}",
            f"({x} + {self.say(self.rng.choice((0.5, 0.1, 1)))}) / {by}",
            f"{by} * {x} - {by} * {self._index().text}",
            f"{x} / {by} + {self._index().text} / {by}",
            f"sqrt(abs({x} * {x} / {by}))",
        )
        return self.rng.choice(forms)

    def _tie(self, compare):
        """A comparison of numbers that are often the same."""
        x, y, by = self._index().text, self._distance().text, self._divisor()
        other = self.say(self.rng.choice((0, 1, 3, 7)))
        forms = (
            f"{x} / {by} {compare} {other}",
            f"{by} * {x} {compare} {by} * {self._index().text}",
            f"{by} * {x} - {by} * {self._index().text} {compare} 0",
            f"floor(query / {by}) == floor(key / {by})",
            f"{y} / {by} * {by} {compare} {y}",
            f"{self._near_integers()} {compare} {self._near_integers()}",
        )
        return self.rng.choice(forms)

    # --- booleans ----------------------------------------------------------------

    def boolean(self, depth):
        """Anything that is true or false."""
        return self.guarded(self._boolean, depth)

    def _boolean(self, depth):
        compare = self.rng.choice(("==", "!=", "<", "<=", ">", ">="))
        plain = (
            lambda: f"{self.integer(depth).text} {compare} {self.integer(depth).text}",
            lambda: f"{self._index().text} {compare} {self.integer(1).text}",
            lambda: f"{self._distance().text} {compare} {self._constant().text}",
            lambda: f"{self._table()} > {self.say(self.rng.choice((0.5, -0.25)))}",
            lambda: self._tie(compare),
            lambda: self._tie(compare),
            self._seen,
        )
        if depth <= 0 or self.scope.chance(0.4):
            return f"({self.rng.choice(plain)()})"

        def part():
            return self.boolean(depth - 1)

        forms = (
            lambda: f"{part()} and {part()}",
            lambda: f"{part()} or {part()}",
            lambda: f"not {part()}",
            lambda: f"{part()} == {part()}",
            lambda: f"if({part()}, {part()}, {part()})",
            lambda: f"{part()} or {self.say(False)}",
        )
        return f"({self.rng.choice(forms)()})"

    def _seen(self):
        """A boolean that is read."""
        batch, _, queries, keys = self.shape
        known = self.scope.fits(lambda shape: True, "bool")
        if known and self.scope.chance(0.5):
            return self._element(self._mention(self.rng.choice(known)))
        shape = self.rng.choice(((batch, keys), (queries, keys)))
        fresh = self.scope.fresh("seen", shape, "bool")
        return self._element(self._mention(fresh)) if fresh else "key != query"
