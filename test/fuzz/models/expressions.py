# ===- expressions.py - The expressions of a description, in Python ----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Evaluates "4*width" and reads "encoder[2*index + 1].attn", sharing no code with hova.

An expression becomes Python's own syntax tree after two changes of spelling; what is not
in docs/description.md is refused here by a KeyError or an AssertionError.
"""

import ast
import math
import operator
import re
from functools import reduce

BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Div: operator.truediv,
}
COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS = {
    "when": lambda condition, a, b: a if condition else b,
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
}


def whole(value):
    """7.0 as 7: a quotient or a root that is an integer may be used as one."""
    exact = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if exact else value


def evaluate(text, names):
    """The value of the expression `text`, where `names` holds what it may mention."""
    python = re.sub(r"\bif\s*\(", "when(", text)
    python = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", python))
    return _value(ast.parse(python.strip(), mode="eval").body, names)


def _value(node, names):
    def value(child):
        return _value(child, names)

    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -value(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not value(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return whole(BINARY[type(op)](value(left), value(right)))
        case ast.BoolOp(op=op, values=values):
            join = operator.and_ if isinstance(op, ast.And) else operator.or_
            return reduce(join, map(value, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return COMPARE[type(op)](value(left), value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return whole(FUNCTIONS[name](*map(value, arguments)))
    raise AssertionError(ast.dump(node))


def scalar(setting, names):
    """A literal as it is, a string by its expression."""
    return evaluate(setting, names) if isinstance(setting, str) else setting


def accessors(reference):
    """ "a[1:].b" as ("a", ["1:", ".b"]): what follows the name of a value."""
    base, rest = re.fullmatch(r"(\w+)(.*)", reference).groups()
    return base, [
        part[1:-1] if part.startswith("[") else part
        for part in re.findall(r"\[[^]]*\]|\.\w+", rest)
    ]


def select(text, elements, names):
    """The elements that the inside of brackets means; a single one not as a list."""
    if text.strip() == "*":
        return elements
    bounds = [
        evaluate(part, names) if part.strip() else None for part in text.split(":")
    ]
    return elements[bounds[0]] if len(bounds) == 1 else elements[slice(*bounds)]


def fill(path, names):
    """A path of weights with its braces evaluated."""
    return re.sub(r"\{([^}]*)\}", lambda hit: str(evaluate(hit[1], names)), path)
