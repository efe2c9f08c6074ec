# ===- evaluator.py - The meaning of a description, with NumPy ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs a description layer by layer with the operators of test/golden.

Written from docs/description.md alone: blocks, repetitions, lists, shared weights and
masks are expanded here a second time, so a mistake of the front end shows as a wrong
number. How exactly numbers are kept is up to the Net that is passed in.
"""

from dataclasses import dataclass, field, replace

from expressions import accessors, fill, scalar, select
from golden import scores
from operators import OPERATORS

# The keys in which a layer names values, in the order that "its first input" means.
ROLES = (
    "input", "inputs", "query", "key", "value", "heads_input", "gated", "valid",
)


@dataclass
class Entity:
    """What the name of a layer means: a value, and what it was made of."""

    value: object = None
    is_list: bool = False
    elements: list = None
    outputs: dict = field(default_factory=dict)
    inside: dict = None
    grid: tuple = None  # rows and columns of the image that tokens are of


@dataclass
class Scope:
    values: dict
    names: dict
    path: str = ""
    weights: str = ""


def as_list(entities):
    return Entity(is_list=True, elements=entities)


class Evaluator:
    def __init__(self, description, settings, net):
        self.description, self.net = description, net
        self.weight_paths = {}
        self.names = {}
        for name, given in description.get("parameters", {}).items():
            self.names[name] = self._parameter(given, settings.get(name))

    def _parameter(self, given, override):
        words = None
        if isinstance(given, dict):
            words, given = given.get("values"), given["default"]
        if override is not None:
            return override
        return given if words and given in words else scalar(given, self.names)

    def shape(self, name):
        entry = self.description["inputs"][name]
        return tuple(scalar(size, self.names) for size in entry["shape"])

    def run(self, inputs):
        values = {
            name: Entity(self.net.enter(name, inputs[name]))
            for name in self.description["inputs"]
        }
        scope = Scope(values, self.names)
        self._layers(self.description["layers"], scope)
        outputs = self.description["outputs"]
        return {name: self._one(value, scope) for name, value in outputs.items()}

    # --- values ----------------------------------------------------------------

    def _resolve(self, reference, scope):
        base, parts = accessors(reference)
        found, is_list = [scope.values[base]], False
        for part in parts:
            if part.startswith("."):
                found = [self._member(entity, part[1:]) for entity in found]
                continue
            chosen = [select(part, entity.elements, scope.names) for entity in found]
            is_list |= isinstance(chosen[0], list)
            found = sum((c if isinstance(c, list) else [c] for c in chosen), [])
        if is_list:
            return as_list(found)
        return found[0]

    @staticmethod
    def _member(entity, name):
        return entity.outputs[name] if name in entity.outputs else entity.inside[name]

    def _one(self, reference, scope):
        entity = self._resolve(reference, scope)
        assert not entity.is_list, reference
        return entity.value

    def _flat(self, references, scope):
        """Lists and values, mixed, as one list of entities."""
        references = references if isinstance(references, list) else [references]
        flat = []
        for reference in references:
            entity = self._resolve(reference, scope)
            flat += entity.elements if entity.is_list else [entity]
        return flat

    # --- layers ----------------------------------------------------------------

    def _layers(self, layers, scope):
        for layer in layers:
            scope.values[layer["name"]] = self._layer(layer, scope)

    def _layer(self, layer, scope):
        if not scalar(layer.get("if", True), scope.names):
            return self._first(layer, scope)
        if "repeat" not in layer:
            return self._once(layer, scope, scope.path + layer["name"], {}, 0)
        return self._repeated(layer, scope)

    def _first(self, layer, scope):
        """The first value that the layer reads, which stands for it if it is left out."""
        if "block" in layer:
            block = self.description["blocks"][layer["block"]]
            reads = layer.get("inputs", layer.get("input"))
            first = reads[block["inputs"][0]] if isinstance(reads, dict) else reads
        else:
            first = next(layer[role] for role in ROLES if role in layer)
        return self._resolve(first[0] if isinstance(first, list) else first, scope)

    def _repeated(self, layer, scope):
        count = scalar(layer["repeat"], scope.names)
        start = replace(scope, names=scope.names | {"index": 0})
        whole = replace(self._first(layer, start), elements=[], is_list=False)
        scope.values[layer["name"]] = whole
        for index in range(count):
            inner = replace(scope, names=scope.names | {"index": index})
            carried = self._carried(layer, whole) if index else {}
            path = f"{scope.path}{layer['name']}.{index}"
            result = self._once(layer, inner, path, carried, index)
            whole.elements.append(result)
            whole.value, whole.outputs = result.value, result.outputs
            whole.inside, whole.grid = result.inside, result.grid
        return whole

    def _carried(self, layer, entity):
        if "op" in layer:
            return {"input": Entity(entity.value, grid=entity.grid)}
        inputs = self.description["blocks"][layer["block"]]["inputs"]
        if entity.outputs:
            return {
                n: Entity(e.value, grid=e.grid)
                for n, e in entity.outputs.items()
                if n in inputs
            }
        return {inputs[0]: Entity(entity.value, grid=entity.grid)}

    def _once(self, layer, scope, path, carried, index):
        weights = self._weights_of(layer, scope, path)
        self.weight_paths.setdefault(path, weights)
        if "block" in layer:
            return self._block(layer, scope, path, weights, carried, index)
        bound = BoundLayer(self, layer, scope, weights, carried)
        value = self.net.keep(OPERATORS[layer["op"]](bound))
        outputs = {}
        if bound.get("scores", False):
            outputs["scores"] = Entity(self.net.scores)
        return Entity(value, outputs=outputs, grid=bound.grid_of_result(value))

    def _weights_of(self, layer, scope, path):
        default = scope.weights + path[len(scope.path) :]
        if "weights" not in layer:
            return default
        wanted = fill(layer["weights"], scope.names)
        for candidate in (scope.path + wanted, wanted):
            if candidate == path:
                return default
            if candidate in self.weight_paths:
                return self.weight_paths[candidate]
        raise KeyError(wanted)

    def shared_weight(self, wanted, scope):
        """The name of an existing weight: its layer's path, and what follows it."""
        for candidate in (scope.path + wanted, wanted):
            parts = candidate.split(".")
            for length in range(len(parts) - 1, 0, -1):
                layer = ".".join(parts[:length])
                name = ".".join([self.weight_paths.get(layer, ""), *parts[length:]])
                if name in self.net.weights:
                    return name
        raise KeyError(wanted)

    def _block(self, layer, scope, path, weights, carried, index):
        block = self.description["blocks"][layer["block"]]
        names = dict(self.names)
        given = layer.get("arguments", {})
        for name, default in block.get("arguments", {}).items():
            outside = name in given
            setting = given[name] if outside else default
            names[name] = scalar(setting, scope.names if outside else names)
        names["index"] = index if "repeat" in layer else 0
        inner = Scope({}, names, path + ".", weights + ".")
        reads = layer.get("inputs", layer.get("input"))
        if not isinstance(reads, dict):
            reads = {block["inputs"][0]: reads}
        for name in block["inputs"]:
            inner.values[name] = carried.get(name) or self._block_input(
                reads[name], scope
            )
        self._layers(block["layers"], inner)
        if "output" in block:
            result = self._resolve(block["output"], inner)
            return Entity(result.value, inside=inner.values, grid=result.grid)
        outputs = {}
        for name, reference in block["outputs"].items():
            result = self._resolve(reference, inner)
            outputs[name] = Entity(result.value, grid=result.grid)
        first = next(iter(outputs.values()))
        return Entity(
            first.value, outputs=outputs, inside=inner.values, grid=first.grid
        )

    def _block_input(self, references, scope):
        if isinstance(references, list) and len(references) == 1:
            references = references[0]
        if isinstance(references, str):
            return self._resolve(references, scope)
        return as_list(self._flat(references, scope))


@dataclass
class BoundLayer:
    """One use of a layer of an operator: its values, attributes and weights."""

    evaluator: Evaluator
    layer: dict
    scope: Scope
    path: str
    carried: dict
    grid: tuple = None  # of the result, where the operator makes another image

    @property
    def net(self):
        return self.evaluator.net

    def __contains__(self, key):
        return key in self.layer

    def _entity(self, *roles):
        for role in roles:
            if role in self.carried:
                return self.carried[role]
            if role in self.layer:
                return self.evaluator._resolve(self.layer[role], self.scope)
        return None

    def read(self, *roles):
        """The value of the first of the roles that is given, or None."""
        entity = self._entity(*roles)
        assert not (entity and entity.is_list), roles
        return entity and entity.value

    def grid_of_input(self):
        """Rows and columns of the image that the input's tokens are of."""
        tokens = self._entity("input")
        height = self.get("grid_height")
        if height is None:
            return tokens.grid
        return height, tokens.value.shape[1] // height

    def grid_of_result(self, value):
        """Tokens are of the same image through all that keeps their number; a layer may
        say of which.
        """
        role = next((r for r in ROLES if r in {**self.carried, **self.layer}), None)
        if role is None or self.layer.get("op") == "constant":
            return None
        first = self.carried.get(role)
        if first is None:
            first = self.evaluator._flat(self.layer[role], self.scope)[0]
        if self.grid or first.value.shape[:2] != value.shape[:2]:
            return self.grid
        return self.grid_of_input() if "grid_height" in self.layer else first.grid

    def written_scores(self):
        """What an attention makes of its scores, or None."""
        texts = {key: self.layer[key] for key in ("score", "keep") if key in self.layer}
        if not texts:
            return None
        read = lambda name: self.evaluator._one(name, self.scope)  # noqa: E731
        return scores.WrittenScores(**texts, names=self.scope.names, read=read)

    def read_list(self, role):
        found = self.evaluator._flat(self.layer[role], self.scope)
        return [entity.value for entity in found]

    def get(self, key, otherwise=None, names=()):
        """The value of an attribute; `names` are known beside those of the scope."""
        if key not in self.layer:
            return otherwise
        return scalar(self.layer[key], {**self.scope.names, **dict(names)})

    def sizes(self, key):
        """A shape."""
        return [scalar(size, self.scope.names) for size in self.layer[key]]

    def sides(self, key, otherwise):
        """One number for both sides of an image, or two."""
        if isinstance(self.layer.get(key), list):
            return tuple(self.sizes(key))
        return (self.get(key, otherwise),) * 2

    def word(self, key, words, otherwise=None):
        """A word of the list as it stands; any other string is an expression."""
        text = self.layer.get(key, otherwise)
        return text if text in words else self.get(key, otherwise)

    def gate(self, width):
        """The width of the vertical gate, or None where it is off."""
        gate = self.layer.get("vertical", False)
        gate = gate if isinstance(gate, dict) else {"if": gate}
        if not scalar(gate.get("if", True), self.scope.names):
            return None
        return scalar(gate.get("width", max(1, width // 4)), self.scope.names)

    def shared_weight(self):
        wanted = fill(self.layer["weight"], self.scope.names)
        return self.evaluator.shared_weight(wanted, self.scope)
