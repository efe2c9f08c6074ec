# ===- model.py - Draws a random valid description -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A Model grows layer by layer: operators, blocks, repetitions, shared weights.

What nobody reads in the end becomes an output, because a weight that no output depends on
is an error. In a block that is repeated, it is added to the result instead.
"""

import itertools
import json
import random
import re

from building import Builder
from scopes import MOST_NUMBERS, SIZES, Parameters, Scope, Spelling, numbers


class Model:
    """draw() fills description, settings (for --set) and nothing else."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        # Whether something is drawn that came later: models without it are what they were.
        self.later = random.Random(f"later {seed}")
        self.parameters = Parameters(rng)
        self.spelling = Spelling(rng, self.parameters)
        self.inputs, self.blocks, self.uses = {}, {}, {}
        self.block_numbers = itertools.count()
        self.batch = rng.choice((1, 1, 2, 2, 3))
        self.lengths = [rng.choice(SIZES) for _ in range(2)]
        if rng.random() < 0.08:  # many short sequences
            self.batch, self.lengths = rng.choice((8, 9, 12)), [16, 16]
        self.widths = [rng.choice(SIZES) for _ in range(2)]
        self.top = Scope(self)
        self._draw(f"random{seed}")

    @property
    def settings(self):
        return self.parameters.settings

    def _draw(self, name):
        top, rng = self.top, self.rng
        while not top.values:
            self._sequence()
        for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5))):
            Builder(top).layer()
        outputs = {}
        for value in top.values:
            loose = not value.used and value.name not in self.inputs
            again = value.dtype == "f32" and rng.random() < 0.05
            if (loose or again) and not value.count:
                outputs[f"y{len(outputs)}"] = value.name
        if not outputs:
            outputs["y"] = Builder(top).add("scale").name
        self._drop_forgotten()
        self.description = {"hova": 1, "name": name}
        if rng.random() < 0.1:
            self.description["metadata"] = {"seed": [name, None]}
        for key, entries in (
            ("parameters", self.parameters.entries),
            ("inputs", self.inputs),
            ("blocks", self.blocks),
        ):
            if entries:
                self.description[key] = entries
        self.description |= {"layers": top.layers, "outputs": outputs}

    def _drop_forgotten(self):
        """Drops layers that were drawn for one that was given up then: nobody reads them, and their weights would be an error."""
        values = {value.name for value in self.top.values}

        def is_read(layer, layers):
            others = [{k: v for k, v in other.items() if k != "name"} for other in layers if other is not layer]
            return layer["name"] in re.findall(r"\w+", json.dumps(others))

        while forgotten := [layer for layer in self.top.layers if layer["name"] not in values and not is_read(layer, self.top.layers)]:
            self.top.layers = [layer for layer in self.top.layers if layer not in forgotten]

    # --- inputs ----------------------------------------------------------------

    def new_input(self, stem, shape, dtype="f32", **keys):
        name = f"{stem}{len(self.inputs)}"
        entry = {"shape": [self.top.say(n) for n in shape]}
        if dtype != "f32":
            entry["dtype"] = dtype
        elif (chance := self.rng.random()) < 0.3:
            entry["dtype"] = "bf16" if chance < 0.1 else "f16" if chance < 0.2 else "f32"
        self.inputs[name] = entry
        return self.top.add_value(name, shape, dtype=dtype, **keys)

    def _sequence(self):
        rng = self.rng
        width, length = rng.choice(self.widths), rng.choice(self.lengths)
        shape = rng.choice(
            (
                (self.batch, length, width),
                (self.batch, length, width),
                (self.batch, length, width),
                (self.batch, width),
                (width,),
            )
        )
        if numbers(shape) <= MOST_NUMBERS:
            self.new_input("x", shape)

    def new_ids(self, rank):
        shape = (self.batch, self.rng.choice(self.lengths), 2)[
            : rank or self.rng.choice((1, 2, 2, 3))
        ]
        return self.new_ids_of(shape)

    def new_ids_of(self, shape, ranged=False):
        below = self.rng.choice((1, 2, 7, 40, 300))
        value = self.new_input(
            "ids", shape, self.rng.choice(("i32", "i64")), below=below
        )
        if ranged or self.rng.random() < 0.7:
            self.inputs[value.name]["range"] = [0, self.top.say(below)]
            value.ranged = True
        return value

    def new_image(self):
        patch, rng = self.rng.choice((1, 2, 3, 4, 5)), self.rng
        sides = [patch * rng.choice((1, 2, 3, 5)) for _ in range(2)]
        return self.new_input("image", (self.batch, rng.choice((1, 2, 3)), *sides))
