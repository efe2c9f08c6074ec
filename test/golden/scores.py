#===- scores.py - Written scores, as the description of models says -------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# The language of `score` and `keep` (docs/description.md, "Written scores"),
# which shares no code with hova. Every part of an expression is one of
#
#   a Python number or boolean   what parameters alone decide
#   an array of int64 or bool    exact
#   an array of floats           in the type of the scores, rounded by the Net
#
# and arrays broadcast to the scores [B, M, Nq, Nk]. What a jump is computed from,
# the operands of `floor`, `ceil` and comparisons, is float32 in every evaluation,
# operation by operation.
#
#===-----------------------------------------------------------------------===#

import ast
import math
import operator
import re
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from oracle import sigmoid

# Of constants, integers and numbers.
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
# Of constants, and of integers by a constant.
ROUNDED = {ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
COMPARISONS = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}
FUNCTIONS = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "tanh": np.tanh,
    "sigmoid": sigmoid, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil,
}
SIZES = ("heads", "queries", "keys")
INDICES = ("batch", "head", "query", "key")


def is_constant(x):
    return isinstance(x, (bool, int, float, str))


def is_integer(x):
    if is_constant(x):
        return isinstance(x, int) and not isinstance(x, bool)
    return x.dtype.kind == "i"


def whole(x):
    """7.0 as 7: a quotient or a root of parameters may be an integer."""
    return int(x) if isinstance(x, float) and x.is_integer() else x


@dataclass(frozen=True)
class WrittenScores:
    """What an attention says of its scores.

    `names` are parameters, arguments and `index`; `read` gives the array that a
    name of a value means.
    """

    score: str = "score"
    keep: str = "true"
    names: dict = field(default_factory=dict)
    read: object = None
    windows: int = 1  # of an image, which are entries of the batch in turn

    def of(self, net, scores):
        """The scores [B, M, Nq, Nk] as this has them, and which are kept."""
        without, beside = (Expression(self, net, scores, more) for more in ({}, {"score": scores}))
        # Branches that `if` does not choose are computed too.
        with np.errstate(invalid="ignore", divide="ignore"):
            keep = np.asarray(without.value(self.keep), dtype=bool)
            score = beside.number(beside.value(self.score))
        return np.broadcast_to(score, scores.shape), np.broadcast_to(keep, scores.shape)


class Expression:
    """Evaluates an expression of the scores of one attention."""

    def __init__(self, written, net, scores, more):
        self.written, self.net, self.dtype = written, net, scores.dtype
        self.behind = False  # a jump is computed from what is evaluated
        sizes = scores.shape[1:]
        axes = [np.arange(n).reshape(-1, *[1] * (3 - i)) for i, n in enumerate(scores.shape)]
        axes[0] = axes[0] // written.windows
        self.names = dict(written.names)
        self.names |= dict(zip(SIZES, sizes)) | dict(zip(INDICES, axes)) | dict(more)

    def value(self, text):
        python = re.sub(r"\bif\s*\(", "when(", text)
        python = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", python))
        return self._of(ast.parse(python.strip(), mode="eval").body)

    def number(self, x):
        """As an array of floats; an integer stands where a number does."""
        return np.asarray(x).astype(np.float32 if self.behind else self.dtype)

    def _behind(self, *nodes):
        """What a jump is computed from."""
        before, self.behind = self.behind, True
        values = [self._of(node) for node in nodes]
        self.behind = before
        return values

    def _keep(self, x):
        """A number that rounding moves; behind a jump there is one right result."""
        return x if self.behind else self.net.keep(x)

    def _of(self, node):
        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name):
                return self.names[name]
            case ast.Subscript(value=table, slice=places):
                return self._element(ast.unparse(table), places)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._of(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                x = self._of(operand)
                return not x if is_constant(x) else ~x
            case ast.BoolOp(op=op, values=values):
                join = operator.and_ if isinstance(op, ast.And) else operator.or_
                return reduce(join, map(self._of, values))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(COMPARISONS[type(op)], *self._behind(left, right))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(type(op), self._of(left), self._of(right))
            case ast.Call(func=ast.Name(id="when"), args=[condition, a, b]):
                return self._when(self._of(condition), a, b)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                jumps = name in ("floor", "ceil")
                given = self._behind(*arguments) if jumps else map(self._of, arguments)
                return self._call(name, *given)
        raise AssertionError(ast.dump(node))

    def _element(self, name, places):
        places = places.elts if isinstance(places, ast.Tuple) else [places]
        table = self.written.read(name)
        indices = [np.asarray(self._of(place)) for place in places]
        assert len(indices) == table.ndim, name
        for index, size in zip(indices, table.shape):
            assert is_integer(index) and index.min() >= 0 and index.max() < size, name
        found = table[tuple(indices)]
        return found.astype(np.int64) if found.dtype.kind == "i" else found

    def _compare(self, compare, a, b):
        if (is_constant(a) and is_constant(b)) or (is_integer(a) and is_integer(b)):
            return compare(a, b)
        return compare(*(np.asarray(x).astype(np.float32) for x in (a, b)))

    def _when(self, condition, a, b):
        if is_constant(condition):
            return self._of(a if condition else b)
        a, b = self._of(a), self._of(b)
        same = [all(is_integer(x) for x in (a, b)),
                all(np.asarray(x).dtype == bool for x in (a, b))]
        if not any(same):
            a, b = self.number(a), self.number(b)
        return np.where(condition, a, b)

    def _binary(self, op, a, b):
        exact = is_integer(a) and is_integer(b)
        if op in ROUNDED:
            assert exact and is_constant(b) or is_constant(a) and is_constant(b)
            return ROUNDED[op](a, b)
        if op is ast.Pow:
            return self._power(a, b)
        if is_constant(a) and is_constant(b):
            return whole(ARITHMETIC.get(op, operator.truediv)(a, b))
        if exact and op in ARITHMETIC:
            return ARITHMETIC[op](a, b)
        compute = ARITHMETIC.get(op, operator.truediv)
        return self._keep(compute(self.number(a), self.number(b)))

    def _power(self, a, exponent):
        """Products, from 0 to 8 of them; of a positive constant an exponential."""
        if is_constant(a) and is_constant(exponent):
            return whole(a**exponent)
        if is_constant(a):
            product = self._keep(self.number(exponent) * self.number(math.log(a)))
            return self._function("exp", product)
        assert is_integer(exponent) and is_constant(exponent) and 0 <= exponent <= 8
        if is_integer(a):
            return a**exponent
        if exponent == 0:
            return np.ones_like(a)
        product = a = self.number(a)
        for bit in f"{exponent:b}"[1:]:
            product = self._keep(product * product)
            product = self._keep(product * a) if bit == "1" else product
        return product

    def _call(self, name, *given):
        if name in ("min", "max"):
            return reduce(lambda a, b: self._extreme(name, a, b), given)
        [x] = given
        if name == "abs":
            return abs(x)
        if is_constant(x):
            of_one = {"sigmoid": lambda y: float(sigmoid(y))}
            return whole(of_one.get(name, getattr(math, name, None))(x))
        if is_integer(x) and name in ("floor", "ceil"):
            return x
        return self._function(name, self.number(x))

    def _function(self, name, x):
        """Behind a jump what f32 has of it, which programs meet to a unit or so; roots exactly."""
        if name in ("floor", "ceil"):
            return FUNCTIONS[name](np.asarray(x).astype(np.float32))
        if not self.behind:
            return self.net.function(name, FUNCTIONS[name], x)
        nearest = FUNCTIONS[name](x.astype(np.float64)).astype(np.float32)
        return nearest if name == "sqrt" else self.net.keep(nearest)

    def _extreme(self, name, a, b):
        if is_constant(a) and is_constant(b):
            return min(a, b) if name == "min" else max(a, b)
        choose = np.minimum if name == "min" else np.maximum
        if is_integer(a) and is_integer(b):
            return choose(a, b)
        return choose(self.number(a), self.number(b))
