# ===- shrink.py - The smallest trial that fails in the same way --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Takes away options, outputs, layers, keys and sizes, while the kind of failure stays.

A candidate need not be valid: then it fails in another way and is dropped. After each
step, what nothing refers to any more goes too.
"""

import ast
import copy
import re
import time
from dataclasses import replace
from itertools import islice

from evaluator import ROLES, Evaluator
from expressions import evaluate
from rounding import Exact

REQUIRED = {
    "name",
    "op",
    "block",
    "heads",
    "kind",
    "width",
    "hidden",
    "vocab",
    "patch",
    "by",
}
SCORE_TEXTS = ("score", "keep")  # expressions of every score
PLAIN = {
    "regime": "normal",
    "weight_scale": 1.0,
    "strict": False,
    "level": 2,
    "divide": False,
    "checkpoint": False,
    "march": "native",
    "dtype": "f32",
}


def shrink(trial, fails, seconds):
    """`fails` tells whether a trial fails in the same way."""
    end = time.monotonic() + seconds
    passes = (options, literals, outputs, layers, keys, list_entries, sizes, expressions)
    progress = True
    while progress:
        progress = False
        for edit in passes:
            tried = 0
            while time.monotonic() < end:
                candidate = next(islice(edit(trial), tried, None), None)
                if candidate is None:
                    break
                sweep(candidate)
                if fails(candidate):
                    trial, progress = candidate, True
                else:
                    tried += 1
    return trial


def layer_lists(description):
    yield description["layers"]
    for block in description.get("blocks", {}).values():
        yield block["layers"]


def changed(trial):
    return replace(
        trial,
        description=copy.deepcopy(trial.description),
        settings=dict(trial.settings),
    )


# --- passes: each yields the trials that are one step smaller ----------------------


def options(trial):
    for key, value in PLAIN.items():
        if getattr(trial, key) != value:
            yield replace(changed(trial), **{key: value})


def literals(trial):
    """Expressions of parameters become what they are: first all, then each."""
    names = Evaluator(trial.description, trial.settings, Exact(0, "f32")).names

    def places(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if key in (
                "outputs",
                "output",
                "name",
                "op",
                "block",
                *ROLES,
                *SCORE_TEXTS,
                "parameters",
            ):
                if not isinstance(value, dict) or key in ("outputs", "parameters"):
                    continue
            if isinstance(value, str):
                try:
                    literal = evaluate(value, names)
                except (KeyError, AssertionError, SyntaxError):
                    continue
                if not isinstance(literal, str):
                    yield node, key, literal
            elif isinstance(value, (dict, list)):
                yield from places(value)

    every = changed(trial)
    found = list(places(every.description))
    for node, key, literal in found:
        node[key] = literal
    if found:
        yield every
    for i in range(len(found)):
        one = changed(trial)
        node, key, literal = list(places(one.description))[i]
        node[key] = literal
        yield one


def outputs(trial):
    names = list(trial.description["outputs"])
    for name in names:
        if len(names) > 1:
            alone = changed(trial)
            alone.description["outputs"] = {name: trial.description["outputs"][name]}
            yield alone
    for name in names:
        without = changed(trial)
        del without.description["outputs"][name]
        yield without


def reads_of(layer):
    """What a layer reads, the first role first."""
    found = [layer["inputs"]] if "block" in layer and "inputs" in layer else []
    found += [layer[role] for role in ROLES if role in layer]
    found = found[:1] if "block" in layer else found
    for value in found:
        value = list(value.values()) if isinstance(value, dict) else value
        yield from value if isinstance(value, list) else [value]


def layers(trial):
    """A layer is left out: its name means one of its inputs."""
    for i, found in enumerate(layer_lists(trial.description)):
        for j, gone in enumerate(found):
            names = [name for name in reads_of(gone) if isinstance(name, str)]
            for name in list(dict.fromkeys(names)) or [None]:
                without = changed(trial)
                siblings = list(layer_lists(without.description))[i]
                siblings.pop(j)
                rename(without.description, siblings, gone["name"], name)
                yield without


def keys(trial):
    """Keys that need not be there, of layers and of the description."""
    for i, found in enumerate(layer_lists(trial.description)):
        for j, layer in enumerate(found):
            for key in set(layer) - REQUIRED - {"input", "inputs"}:
                without = changed(trial)
                del list(layer_lists(without.description))[i][j][key]
                yield without
    for name, entry in trial.description["inputs"].items():
        for key in set(entry) - {"shape"}:
            without = changed(trial)
            del without.description["inputs"][name][key]
            yield without


def list_entries(trial):
    for i, found in enumerate(layer_lists(trial.description)):
        for j, layer in enumerate(found):
            reads = layer.get("inputs")
            for k in range(len(reads) if isinstance(reads, list) else 0):
                without = changed(trial)
                del list(layer_lists(without.description))[i][j]["inputs"][k]
                yield without


def sizes(trial):
    """Equal integers shrink together, so that shapes still fit; then each alone."""

    def places(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, int) and not isinstance(value, bool) and value > 1:
                yield node, key, value
            elif isinstance(value, (dict, list)):
                yield from places(value)

    found = [value for _, _, value in places(trial.description)]
    for size in sorted(set(found), reverse=True):
        for smaller in sorted({1, size // 2, size - 1} - {0, size}):
            together = changed(trial)
            for node, key, value in list(places(together.description)):
                if value == size:
                    node[key] = smaller
            yield together
    for i, size in enumerate(found):
        for smaller in sorted({1, size // 2, size - 1} - {0, size}):
            alone = changed(trial)
            node, key, _ = list(places(alone.description))[i]
            node[key] = smaller
            yield alone


def expressions(trial):
    """A part of an expression of scores stands for the whole of a larger part."""
    for i, found in enumerate(layer_lists(trial.description)):
        for j, layer in enumerate(found):
            for key in set(SCORE_TEXTS) & set(layer):
                for text in smaller_expressions(layer[key]):
                    less = changed(trial)
                    list(layer_lists(less.description))[i][j][key] = text
                    yield less


def smaller_expressions(text):
    """The expression with one of its parts in the place of what it is a part of."""
    text = re.sub(r"\bif\s*\(", "when(", text)

    def parsed():
        return ast.parse(text, mode="eval")

    for number, node in enumerate(ast.walk(parsed())):
        parts = [n for n in ast.walk(node) if isinstance(n, ast.expr) and n is not node]
        for i in range(len(parts)):
            tree = parsed()
            whole = list(ast.walk(tree))[number]
            part = [n for n in ast.walk(whole) if isinstance(n, ast.expr) and n is not whole][i]
            less = ast.unparse(Exchange(whole, part).visit(tree))
            yield re.sub(r"\bwhen\(", "if(", less)


class Exchange(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, one, other):
        self.one, self.other = one, other

    def visit(self, node):
        return self.other if node is self.one else self.generic_visit(node)


# --- names -------------------------------------------------------------------------


def base(reference):
    return re.match(r"\w+", reference)[0]


def rename(description, siblings, name, other):
    """References to `name` in a list of layers, and after it, become `other`."""

    def renamed(reads):
        if isinstance(reads, str):
            return other if base(reads) == name and other else reads
        if isinstance(reads, list):
            return [renamed(read) for read in reads]
        return {key: renamed(read) for key, read in reads.items()}

    holders = [
        (layer, role)
        for layer in siblings
        for role in ROLES + ("key_valid", "mask", "score_bias")
        if role in layer
    ]
    if siblings is description["layers"]:
        holders.append((description, "outputs"))
    for block in description.get("blocks", {}).values():
        if block["layers"] is siblings:
            holders += [(block, key) for key in ("output", "outputs") if key in block]
    for layer in siblings:
        for key in set(SCORE_TEXTS) & set(layer):
            layer[key] = re.sub(rf"\b{name}\b", other or name, layer[key])
    for holder, key in holders:
        holder[key] = renamed(holder[key])


def strings(node):
    if isinstance(node, str):
        yield node
    elif isinstance(node, (dict, list)):
        for value in node.values() if isinstance(node, dict) else node:
            yield from strings(value)


def sweep(trial):
    """Takes out layers, inputs, blocks and parameters that nothing mentions."""
    description, before = trial.description, None
    while before != description:
        before = copy.deepcopy(description)
        for holder in [description, *description.get("blocks", {}).values()]:
            words = {
                w
                for key in ("layers", "output", "outputs")
                if key in holder
                for text in strings(_uses(holder[key]))
                for w in re.findall(r"\w+", text)
            }
            holder["layers"][:] = [
                layer for layer in holder["layers"] if layer["name"] in words
            ]
        words = {w for text in strings(description) for w in re.findall(r"\w+", text)}
        for key in ("inputs", "blocks", "parameters"):
            for name in list(description.get(key, {})):
                if name not in words:
                    del description[key][name]
        trial.settings = {
            n: v
            for n, v in trial.settings.items()
            if n in description.get("parameters", {})
        }


def _uses(node):
    """A list of layers without their own names: what they mention."""
    if isinstance(node, list):
        return [{k: v for k, v in layer.items() if k != "name"} for layer in node]
    return node
