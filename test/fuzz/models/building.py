# ===- building.py - Adds random layers to a list of layers --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""One layer at a time: of an operator, with repetition, condition and shared weights; a
sublayer with its residual; or a block (blocks.py).
"""

from blocks import BlockUse
from layers import LAYERS, ROW_LAYERS
from learned import LearnedUse
from scopes import MOST_NUMBERS, Drawn, Value, numbers

MOST_DEPTH = 2
DRAWS = 40  # tries to find a layer that fits
INITIALISERS = (
    {"kind": "normal", "std": 0.02},
    {"kind": "uniform", "bound": "1/4"},
    {"kind": "glorot"},
    {"kind": "zeros"},
    {"kind": "ones"},
    {"kind": "constant", "value": -0.5},
    {"kind": "sinusoid", "first": 0},
)
# "require": "fused" has a meaning for these.
DEMANDING = {
    "linear",
    "layer_norm",
    "softmax",
    "concat",
    "pad",
    "reshape",
    "feed_forward",
    "patch_embedding",
    "unfold",
    "windows",
    "merge_patches",
    "class_token",
    "multi_head_attention",
    "attention",
    "rotate",
    "head_reweight",
    "channel_gate",
    "omni_attention",
}
# An operator's weights that `init` may name.
INITIALISED = {
    "linear": "weight",
    "layer_norm": "gain",
    "feed_forward": "output.bias",
    "embedding": "weight",
    "positions": "weight",
    "patch_embedding": "bias",
    "class_token": "weight",
    "multi_head_attention": "query.weight",
    "attention": "additive.vector",
    "head_reweight": "horizontal.head",
    "channel_gate": "vertical.gate",
    "omni_attention": "norm1.gain",
}


class Builder:
    """Adds layers to one scope."""

    def __init__(self, scope):
        self.scope, self.model, self.rng = scope, scope.model, scope.rng

    def layer(self):
        """Adds one random layer, or several that belong together."""
        scope = self.scope
        for _ in range(DRAWS):
            if scope.chance(0.08) and self._share():
                return
            if scope.depth < MOST_DEPTH and scope.chance(0.12) and self._block():
                return
            if scope.chance(0.1) and self._residual():
                return
            if scope.chance(0.1) and LearnedUse(self).draw():
                return
            if not scope.parent and scope.chance(0.1) and self._stack():
                return
            if not scope.parent and scope.chance(0.1):
                self.model._sequence()
            if self.add(
                self.rng.choice(ROW_LAYERS if scope.rows_only else list(LAYERS))
            ):
                return

    def add(self, op):
        """Adds a layer of this operator; None if nothing fits."""
        scope = self.scope
        repeated = scope.chance(0.1)
        outside, scope.repeats = scope.repeats, scope.repeats or repeated
        made = LAYERS[op](scope)
        scope.repeats = outside
        if made is None or numbers(made.shape) > MOST_NUMBERS:
            return None
        read = [
            v
            for values in made.reads.values()
            for v in (values if isinstance(values, list) else [values])
        ]
        x = made.reads.get("input")
        if made.drawn:
            read += made.drawn.reads
        before = made.drawn.before if made.drawn else []
        if repeated and not outside and not x:
            return None  # its attributes may mention index
        scope.layers += before
        layer = {"name": scope.new_name(op), "op": op}
        for role, values in made.reads.items():
            names = (
                [v.name for v in values] if isinstance(values, list) else values.name
            )
            alone = isinstance(names, list) and len(names) == 1 and scope.chance(0.5)
            layer[role] = names[0] if alone else names
        layer |= made.attributes
        if op in DEMANDING and scope.chance(0.05):
            layer["require"] = "fused"
        if scope.chance(0.05):
            layer["trainable"] = scope.say(False)
        if op in INITIALISED and scope.chance(0.1) and "weight" not in layer:
            init = dict(self.rng.choice(INITIALISERS))
            if init["kind"] != "sinusoid" or op in ("linear", "embedding"):
                layer["init"] = {INITIALISED[op]: init}
        same = x is not None and (x.shape, x.dtype) == (made.shape, made.dtype)
        if repeated and x:
            return self._repeat(layer, x, read, made, same, least=min(len(before), 1))
        # A weight that a layer which is left out would read is an error.
        if not before and scope.chance(0.1) and not read[0].count:
            return self._conditional(layer, read, made, same)
        value = scope.append(layer, read, made.shape, made.dtype)
        value.grid = made.grid
        value.below, value.ranged = made.below, made.below > 0
        if made.scores and not scope.rows_only:
            # Sometimes the scores are all that is read of the layer.
            alone = scope.chance(0.35)
            scope.add_value(f"{value.name}.scores", made.scores, used=not alone)
            value.used = value.used or alone
        if "weight" not in layer:
            self._remember_matrix(layer, x, made.shape)
        scope.drawn.append(Drawn(layer, made.reads, (made.shape, made.dtype)))
        return value

    def _conditional(self, layer, read, made, same):
        """A layer that is left out if a condition is false."""
        scope, rng = self.scope, self.rng
        if same and len(read) == 1 and scope.repeats:
            # Either way the result has this shape, and nothing else is read.
            layer["if"] = scope.say(True, another=lambda: True)
            return scope.append(layer, read, made.shape)
        there = rng.random() < 0.5
        layer["if"] = scope.say(there)
        if there:
            value = scope.append(layer, read, made.shape, made.dtype)
            value.below, value.ranged = made.below, made.below > 0
            return value
        value = scope.append(layer, read[:1], read[0].shape, read[0].dtype)
        value.below, value.ranged = read[0].below, read[0].ranged
        # What was not computed here need not become an output.
        value.used = read[0].dtype != "f32"
        return value

    def _remember_matrix(self, layer, x, shape):
        """Linear layers and embeddings have a weight that a linear may share."""
        rows = {"linear": x and x.shape[-1], "embedding": layer.get("vocab")}.get(
            layer["op"]
        )
        if isinstance(rows, int):
            self.scope.matrices.append((layer["name"] + ".weight", (rows, shape[-1])))

    def _repeat(self, layer, x, read, made, same, least):
        """A repeated layer: once only, unless its result may be read again."""
        scope, name = self.scope, layer["name"]
        count = max(least, self.rng.choice((0, 1, 2, 2, 3))) if same else 1
        layer["repeat"] = scope.say(count)
        if scope.chance(0.1):
            layer["if"] = scope.say(True)
        # By index, a later repetition may have a weight that the first has not.
        same_weights = "init" not in layer and "index" not in str(made.attributes)
        if count and same_weights and scope.chance(0.3):
            layer["weights"] = f"{name}.0"
        # Applied not once, it only hands its input on.
        value = scope.append(layer, read if count else [x], made.shape, made.dtype)
        if count and same:
            self.name_results(name, count, made.shape)
        return value

    def name_results(self, name, count, shape):
        """Other names of the results of a repetition."""
        scope = self.scope
        scope.repeated.append(Value(name, shape, count=count))
        for place in (f"{self.rng.randrange(count)}", "-1"):
            if scope.chance(0.5):
                scope.add_value(f"{name}[{place}]", shape, used=True)
        if scope.chance(0.9):
            start = self.rng.randrange(count)
            ranges = [
                ("*", count),
                (f"{start}:", count - start),
                (f":{count}:2", (count + 1) // 2),
            ]
            text, length = self.rng.choice(ranges)
            scope.add_value(f"{name}[{text}]", shape, count=length, used=True)

    def _residual(self):
        """x + sublayer(norm(x)), or norm(x + sublayer(x))."""
        scope = self.scope
        x = scope.pick()
        op = self.rng.choice(("multi_head_attention", "feed_forward"))
        if not x:
            return None
        before = scope.chance(0.6)
        if before:
            norm = {"name": scope.new_name("norm"), "op": "layer_norm", "input": x.name}
            scope.append(norm, [x], x.shape)
        inner = self.add(op)
        if not inner:
            return None
        if inner.shape == x.shape:
            total = {
                "name": scope.new_name("sum"),
                "op": "add",
                "inputs": [x.name, inner.name],
            }
            scope.append(total, [x, inner], x.shape)
            if not before:
                self.add("layer_norm")
        return inner

    def _stack(self):
        """A repeated block, and what reads the results of its repetitions."""
        if not BlockUse.draw(self, repeat=self.rng.choice((2, 3))):
            return None
        if self.scope.chance(0.5):
            return BlockUse.draw(self, repeat=2) or True
        return self.add(self.rng.choice(("add", "concat", "omni_attention"))) or True

    # --- shared weights --------------------------------------------------------

    def _share(self):
        """A second use of a layer's weights, on other values of the same shapes."""
        scope = self.scope
        if not scope.drawn:
            return None
        first = self.rng.choice(scope.drawn)
        layer = dict(first.layer)
        if "weights" in layer or "init" in layer:
            return None
        read = []
        for role, wanted in first.reads.items():
            several = wanted if isinstance(wanted, list) else [wanted]
            chosen = [scope.like(value) for value in several]
            read += chosen
            names = [v.name for v in chosen]
            target = layer if "op" in layer else layer["inputs"]
            if target is not layer:
                layer["inputs"] = target = dict(target)
            target[role] = names if isinstance(wanted, list) else names[0]
        layer["name"] = scope.new_name("again")
        layer["weights"] = first.layer["name"]
        if "repeat" in layer:
            layer["weights"] += ".{index}"
        shape, dtype = first.result
        return scope.append(layer, read, shape, dtype)

    # --- blocks ----------------------------------------------------------------

    def _block(self):
        """Uses a block once more, or draws a new one."""
        known = [n for n, use in self.model.uses.items() if use.drawn_in is self.scope]
        if known and self.scope.chance(0.4):
            return BlockUse.again(self, self.rng.choice(known))
        return BlockUse.draw(self)
