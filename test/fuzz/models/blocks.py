# ===- blocks.py - Draws a block, and uses it ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A block is drawn for the values of its first use; later uses read values of the same
shapes and may give other arguments.
"""

import json
import re
from dataclasses import replace

from scopes import Drawn, Scope, Value


class BlockUse:
    """A block and its first use: what the layer reads, and what it yields."""

    def __init__(self, scope, inputs, inner):
        self.drawn_in, self.inputs, self.inner = scope, inputs, inner
        self.results = {}

    @classmethod
    def draw(cls, builder, repeat=None):
        scope, model, rng = builder.scope, builder.model, builder.rng
        x = scope.pick()
        if not x:
            return None
        if repeat is None and scope.chance(0.5) and not scope.repeats:
            repeat = rng.choice((0, 1, 2, 3))
        rows = repeat is not None or scope.rows_only
        inner = Scope(
            model, scope, repeats=repeat is not None or scope.repeats, rows_only=rows
        )
        inputs = {"x": x}
        inner.add_value("x", x.shape)
        for _ in range(rng.choice((0, 0, 1, 2))):
            other = rng.choice(scope.values)
            wide = len(other.shape) == 3 and other.shape[:2] == x.shape[:2]
            if rows and not (wide or other.dtype == "bool"):
                continue
            name = f"in{len(inputs)}"
            inputs[name] = other
            inner.values.append(replace(other, name=name, used=False))
        for other in cls._by_repetition(scope, x, repeat or 0):
            name = f"each{len(inputs)}"
            inputs[name] = other
            inner.values.append(replace(other, name=name, used=False))
        use = cls(scope, inputs, inner)
        return use._finish(builder, repeat)

    @staticmethod
    def _by_repetition(scope, x, repeat):
        """What another repetition reads other values for."""
        results = [
            r for r in scope.repeated if r.shape == x.shape and r.count >= repeat
        ]
        if results and repeat and scope.chance(0.8):
            result = scope.rng.choice(results)
            index = scope.rng.choice(("index", "-1 - index", "max(index - 1, 0)"))
            yield replace(result, name=f"{result.name}[{index}]", count=0)
        if repeat and scope.chance(0.4):
            # The results so far, so that the list grows.
            before = f"{scope.new_name('use')}[{scope.rng.choice(('0', ''))}:index]"
            yield Value([x.name, before], x.shape, count=repeat, growing=True)

    def _finish(self, builder, repeat):
        scope, inner, rng = builder.scope, self.inner, builder.rng
        name = f"block{next(builder.model.block_numbers)}"
        builder.model.blocks[name] = entry = {}
        for _ in range(rng.choice((1, 1, 2, 3))):
            type(builder)(inner).layer()
        produced = [
            v
            for v in inner.values[len(self.inputs) :]
            if v.dtype == "f32" and not v.count
        ]
        if not produced or not inner.values[0].used:
            del builder.model.blocks[name]
            return None
        loose = [v for v in produced if not v.used] or produced[-1:]
        if repeat is not None:
            loose = [self._joined(loose, self.inputs["x"].shape)]
        read = {v.name for v in inner.values if v.used}
        # A layer that is left out names its inputs too, though it reads but one.
        words = json.dumps(inner.layers)
        self.inputs = {
            n: v
            for n, v in self.inputs.items()
            if n == "x" or n in read or re.search(rf"\b{n}\b", words)
        }
        entry["inputs"] = list(self.inputs)
        if inner.arguments:
            entry["arguments"] = inner.arguments
        entry["layers"] = inner.layers
        self._write_outputs(entry, loose, repeat, scope)
        builder.model.uses[name] = self
        return self._apply(builder, name, self.inputs, repeat, first=True)

    def _joined(self, loose, shape):
        """One value of `shape` that depends on all that nobody reads."""
        inner, total = self.inner, None
        for value in loose:
            if value.shape != shape:
                layer = {
                    "name": inner.new_name("fit"),
                    "op": "linear",
                    "input": value.name,
                    "width": inner.say(shape[-1]),
                }
                value = inner.append(layer, [value], shape)
            if total is not None:
                layer = {
                    "name": inner.new_name("sum"),
                    "op": "add",
                    "inputs": [total.name, value.name],
                }
                value = inner.append(layer, [total, value], shape)
            total = value
        return total

    def _write_outputs(self, entry, loose, repeat, scope):
        if len(loose) == 1 and scope.chance(0.7):
            entry["output"] = loose[0].name
            self.results = {"": loose[0].shape}
            return
        names = [
            "x" if repeat is not None and i == 0 else f"out{i}"
            for i in range(len(loose))
        ]
        entry["outputs"] = {n: v.name for n, v in zip(names, loose, strict=True)}
        self.results = {n: v.shape for n, v in zip(names, loose, strict=True)}

    @classmethod
    def again(cls, builder, name):
        """The same block on other values of the same shapes."""
        use = builder.model.uses[name]
        known = {id(value) for value in builder.scope.values}
        if not all(id(value) in known for value in use.inputs.values()):
            return None  # some are of the first use's repetitions
        rows = use.inputs["x"].shape[:-1]
        if builder.scope.rows_only and any(
            shape[:-1] != rows for shape in use.results.values()
        ):
            return None  # a repetition adds what it reads to its own rows
        inputs = {}
        for key, value in use.inputs.items():
            inputs[key] = builder.scope.like(value)
        # A repetition hands on the only result, or one with the name of the input.
        result, shape = next(iter(use.results.items()))
        repeatable = (
            use.inner.repeats and result in ("", "x") and shape == inputs["x"].shape
        )
        repeat = (
            builder.rng.choice((1, 2)) if repeatable and len(use.results) == 1 else None
        )
        return use._apply(builder, name, inputs, repeat, first=False)

    def _apply(self, builder, name, inputs, repeat, first):
        scope, rng = builder.scope, builder.rng
        layer = {
            "name": scope.new_name("use"),
            "block": name,
            "inputs": {key: value.name for key, value in inputs.items()},
        }
        if len(inputs) == 1 and scope.chance(0.3):
            layer["inputs"] = {"x": inputs["x"].name}
            layer["input"] = layer.pop("inputs")["x"]
        self._give_arguments(layer, scope, first)
        if repeat is None and scope.chance(0.15):
            layer["if"] = scope.say(True)
            if scope.chance(0.3):
                layer["if"] = scope.say(False)
                x = inputs["x"]
                return scope.append(layer, [x], x.shape)
        if repeat is not None:
            layer["repeat"] = scope.say(repeat)
            if repeat and not self._differs_by_index(layer) and scope.chance(0.3):
                layer["weights"] = f"{layer['name']}.{{index*0}}"
        if scope.chance(0.05):
            layer["trainable"] = scope.say(True)
        shape = next(iter(self.results.values()))
        read = [inputs["x"]] if repeat == 0 else inputs.values()
        value = scope.append(layer, read, shape)
        if repeat:
            builder.name_results(layer["name"], repeat, shape)
        names = list(self.results)
        for output in names[1:]:
            scope.add_value(f"{layer['name']}.{output}", self.results[output])
        if repeat is None:
            self._look_inside(layer["name"], scope)
            # Of several results one alone would be read, and nothing may depend on the others.
            if "inputs" in layer and "if" not in layer and len(names) == 1:
                scope.drawn.append(Drawn(layer, inputs, (shape, "f32")))
        elif repeat and scope.chance(0.3):
            self._look_inside(f"{layer['name']}[{rng.randrange(repeat)}]", scope)
        return value

    def _differs_by_index(self, layer):
        """Whether a repetition may have other weights than the first one.

        A list that grows has more tokens each time: BigBird's table of random blocks has
        a row for each block of them, and there is none where the blocks are few.
        """
        grows = "index" in str(layer.get("inputs"))
        drawn = f"{self.inner.layers} {self.inner.arguments} {layer.get('arguments')}"
        return "index" in str(self.inner.layers) or (grows and "bigbird" in drawn)

    def _give_arguments(self, layer, scope, first):
        given = {}
        for key, default in self.inner.arguments.items():
            value = self.inner.given.get(key, default)
            if not first and key in self.inner.choices and scope.chance(0.5):
                value = self.inner.choices[key]()
            if default is None or value != default or scope.chance(0.3):
                given[key] = (
                    scope.say(value) if not isinstance(value, str) else f"'{value}'"
                )
        if given:
            layer["arguments"] = given

    def _look_inside(self, path, scope):
        """Layers of a block that was used can be read."""
        names = {layer["name"] for layer in self.inner.layers}
        inside = [v for v in self.inner.values if v.name in names]
        if inside and scope.chance(0.3):
            value = scope.rng.choice(inside)
            scope.add_value(
                f"{path}.{value.name}", value.shape, dtype=value.dtype, used=True
            )
