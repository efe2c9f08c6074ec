# ===- learned.py - Draws learned values and what reads them -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A layer `weight`, a few operators on it, and a layer that reads it beside another value.

No other layer reads it: what weights alone make cannot become an output.
"""

import random

from attributes import ACTIVATIONS, Attributes, size
from scopes import MOST_NUMBERS, numbers

INITIALISERS = (
    {"kind": "normal", "std": 0.5},
    {"kind": "uniform", "bound": 2},
    {"kind": "glorot"},
    {"kind": "constant", "value": -0.5},
)


# By the indices of an element, of which `I` is the first and `J` the last.
CONSTANTS = (
    "cos(I * 10 ** (-J / 8))",
    "sin(I + 0.5) / (1 + J)",
    "if((I + J) % 3 == 0, 1.5, max(J - 2 * I, -1) / 4)",
    "2 ** (-8 * (J + 1) / 9) - floor(I / 2)",
    -0.75,
)


class LearnedUse:
    """Learned values in one place of a scope."""

    def __init__(self, builder):
        self.builder, self.scope = builder, builder.scope
        self.rng = builder.rng

    def draw(self):
        """Adds the layers; None if nothing fits."""
        forms = [self._joined, self._joined, self._queries, self._memory]
        if not self.scope.rows_only:
            forms += [self._beside, self._latents]
        return self.rng.choice(forms)()

    # --- the value ---------------------------------------------------------------

    def _weight(self, shape, batch=None, chain=True):
        """The name of a learned value of this shape, or of one for each of `batch` items."""
        scope = self.scope
        attributes = Attributes(scope)
        attributes["shape"] = [scope.say(n) if scope.chance(0.3) else n for n in shape]
        if batch is not None:
            attributes["batch"] = scope.say(batch)
        # By numbers of its own: what a seed draws otherwise stays.
        rng = random.Random(f"{len(scope.layers)} {shape}")
        if batch is None and rng.random() < 0.2:
            return self._constant(attributes, rng)
        layer = {"name": scope.new_name("learned"), "op": "weight"} | attributes
        known = [name for name, other in scope.learned if other == tuple(shape)]
        if known and scope.chance(0.5):
            layer["weights"] = self.rng.choice(known)
        elif scope.chance(0.15):
            layer["init"] = {"weight": self._fixed(shape)}
            layer["trainable"] = scope.say(False)
        elif scope.chance(0.3):
            layer["init"] = {"weight": dict(self.rng.choice(INITIALISERS))}
        if scope.chance(0.1) and "trainable" not in layer:
            layer["trainable"] = scope.say(False)
        if scope.chance(0.1):
            layer["if"] = scope.say(True)
        scope.learned.append((layer["name"], tuple(shape)))
        scope.layers.append(layer)
        name = layer["name"]
        while chain and scope.chance(0.3):
            name = self._link(name, shape)
        return name

    def _constant(self, attributes, rng):
        """A value of the same shape that an expression says."""
        last = len(attributes["shape"]) - 1
        words = ("row", "column"), ("index0", f"index{last}")
        names = words[0] if last == 1 and rng.random() < 0.5 else words[1]
        value = rng.choice(CONSTANTS)
        if isinstance(value, str):
            value = value.replace("I", names[0]).replace("J", names[1])
        layer = {"name": self.scope.new_name("constant"), "op": "constant"} | attributes
        if rng.random() < 0.3:
            layer["dtype"] = "f32"
        if rng.random() < 0.2:
            layer["if"] = True
        self.scope.layers.append(layer | {"value": value})
        return layer["name"]

    def _fixed(self, shape):
        """An initialiser that makes the same numbers with any seed."""
        if len(shape) == 2 and self.scope.chance(0.7):
            init = {"kind": "sinusoid", "first": self.rng.choice((0, 0, 1))}
            if self.scope.chance(0.7):
                init["base"] = self.rng.choice((10000, 500000, 36.5, 1))
            return init
        return dict(self.rng.choice(({"kind": "ones"}, {"kind": "constant", "value": -0.5})))

    def _link(self, name, shape):
        """An operator on what was learned, of the same shape."""
        scope = self.scope
        op = self.rng.choice(("linear", "layer_norm", "softmax", "activation", "scale"))
        layer = {"name": scope.new_name(op), "op": op, "input": name}
        if op == "linear":
            layer["width"] = shape[-1]
        elif op == "activation":
            layer["kind"] = self.rng.choice(ACTIVATIONS)
        elif op == "scale":
            layer["by"] = self.rng.choice((2, -0.5, 1))
        scope.layers.append(layer)
        return layer["name"]

    # --- its readers -------------------------------------------------------------

    def _append(self, op, attributes, x, shape):
        layer = {"name": self.scope.new_name(op), "op": op} | attributes
        return self.scope.append(layer, [x], shape)

    def _joined(self):
        """A gain, a bias or a table: added, or multiplied with."""
        rows_only = self.scope.rows_only
        x = self.scope.pick(lambda shape: len(shape) == 3 or not rows_only)
        if not x:
            return None
        lacking = self.rng.randrange(len(x.shape))
        shape = x.shape[lacking:]
        if lacking == 1 and self.scope.chance(0.5):
            name = self._weight(shape, batch=x.shape[0])
        elif self.scope.chance(0.4):
            # Along some axes there is one number for all.
            repeated = [self.rng.choice((1, n)) for n in x.shape[lacking:]]
            name = self._weight(repeated)
        else:
            name = self._weight(shape)
        op = self.rng.choice(("add", "multiply"))
        value = self._append(op, {"inputs": [x.name, name]}, x, x.shape)
        value.grid = x.grid
        return value

    def _beside(self):
        """Learned tokens in front of others, or after them."""
        x = self.scope.pick()
        if not x:
            return None
        batch, tokens, width = x.shape
        more = self.rng.choice((1, 2, 5))
        names = [x.name, self._weight((more, width), batch=batch)]
        self.rng.shuffle(names)
        shape = batch, tokens + more, width
        if numbers(shape) > MOST_NUMBERS:
            return None
        return self._append("concat", {"inputs": names, "axis": 1}, x, shape)

    def _latents(self):
        """Learned queries of any number: they read a sequence."""
        return self._attend(self.rng.choice((1, 2, 7, 16)))

    def _queries(self):
        """One learned query for each token."""
        return self._attend(None)

    def _attend(self, count):
        scope = self.scope
        x = scope.pick()
        if not x:
            return None
        batch, tokens, width = x.shape
        heads = self.rng.choice([h for h in (1, 2, 4) if width % h == 0])
        count = count or tokens
        if max(batch * count * width, batch * heads * count * tokens) > MOST_NUMBERS:
            return None
        shape = batch, count, width
        if batch == 1 and scope.chance(0.3):
            query = self._weight(shape)
        else:
            query = self._weight((count, width), batch=batch)
        attributes = {"query": query, "key": x.name, "heads": heads}
        if scope.chance(0.4):
            attributes["value"] = x.name
            return self._append("attention", attributes, x, shape)
        return self._append("multi_head_attention", attributes, x, shape)

    def _memory(self):
        """Learned keys and values that tokens read."""
        scope = self.scope
        x = scope.pick()
        if not x:
            return None
        batch, tokens, width = x.shape
        slots, other = self.rng.choice((1, 3, 16, 17)), size(scope)
        heads = self.rng.choice([h for h in (1, 2, 4) if width % h == 0])
        if batch * heads * tokens * slots > MOST_NUMBERS:
            return None
        if scope.chance(0.5):
            memory = self._weight((slots, other), batch=batch)
            reads = {"query": x.name, "key": memory, "heads": heads}
            return self._append("multi_head_attention", reads, x, x.shape)
        key = self._weight((slots, width), batch=batch)
        value = self._weight((slots, width), batch=batch)
        reads = {"query": x.name, "key": key, "value": value, "heads": heads}
        return self._append("attention", reads, x, x.shape)
