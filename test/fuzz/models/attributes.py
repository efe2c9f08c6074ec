# ===- attributes.py - A drawn layer and its attributes ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Attributes are left out at times, where that means the same, and written as expressions
at others.
"""

from dataclasses import dataclass

from scopes import SIZES

ACTIVATIONS = (
    "relu", "gelu_erf", "gelu_tanh", "tanh", "sigmoid", "silu", "quick_gelu",
    "softplus", "relu2", "hard_swish",
)


@dataclass
class Layer:
    reads: dict  # role: Value, or a list of them
    attributes: dict
    shape: tuple
    dtype: str = "f32"
    grid: tuple = None  # as that of a Value
    below: int = 0  # of ids
    scores: tuple = None  # the shape of the scores that an attention gives
    drawn: object = None  # DrawnScores: what its scores read besides


class Attributes(dict):
    """The attributes of a layer, as they are written down."""

    def __init__(self, scope):
        super().__init__()
        self.scope = scope

    def put(self, key, value, default=None, words=None, another=None):
        """`default` is what the language takes if the key is left out."""
        if (
            value != default
            or type(value) is not type(default)
            or self.scope.chance(0.3)
        ):
            self[key] = self.scope.say(value, words, another)
        return value

    def word(self, key, words, default=None):
        """A word that changes no shape, so that any other would be as valid."""
        return self.put(
            key,
            self.scope.rng.choice(words),
            default,
            words,
            lambda: self.scope.rng.choice(words),
        )

    def flag(self, key, probability, default=False):
        """A boolean that changes no shape and no weight."""
        value = self.scope.chance(probability)
        return self.put(key, value, default, another=lambda: self.scope.chance(0.5))

    def number(self, key, choices, default=None):
        draw = lambda: self.scope.rng.choice(choices)  # noqa: E731
        return self.put(key, draw(), default, another=draw)


def size(scope, most=65):
    """A size, more often one that the model has already, so that shapes meet."""
    if scope.chance(0.6):
        known = [s for s in scope.model.widths if s <= most]
        if known:
            return scope.rng.choice(known)
    return scope.rng.choice([s for s in SIZES if s <= most])


def with_last(shape, last):
    return (*shape[:-1], last)
