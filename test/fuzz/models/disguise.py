# ===- disguise.py - Weights under other names and layouts ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Makes a checkpoint of another library out of a model's weights.

Every weight is stored by another name and mostly in another layout; the rules of the
description's section `checkpoints` must bring it back.
"""

import numpy as np


def transposed(rng, value):
    axes = [int(axis) for axis in rng.permutation(value.ndim)]
    back = [axes.index(axis) for axis in range(value.ndim)]
    step = "transpose" if value.ndim == 2 and axes == [1, 0] else {"transpose": back}
    return [value.transpose(axes)], [step]


def flat(_rng, value):
    return [value.reshape(-1)], [{"reshape": list(value.shape)}]


def part(rng, value):
    """Some rows of a larger tensor."""
    before, after = (int(n) for n in rng.integers(0, 3, 2))
    pad = [(before, after)] + [(0, 0)] * (value.ndim - 1)
    rows = {"axis": 0, "start": before, "end": before + value.shape[0]}
    return [np.pad(value, pad, constant_values=7)], [{"slice": rows}]


def pieces(rng, value):
    axis = int(rng.integers(value.ndim))
    return np.array_split(value, min(2, value.shape[axis]), axis), [
        {"concatenate": axis}
    ]


def plain(_rng, value):
    return [value], []


LAYOUTS = (transposed, flat, part, pieces, plain)


def disguise(weights, rng):
    """(the section `checkpoints`, the tensors of the file)."""
    rules, tensors, left = [], {}, dict(weights)

    def store(values):
        names = [f"file.{len(tensors) + i}" for i in range(len(values))]
        tensors.update(
            (name, np.ascontiguousarray(value))
            for name, value in zip(names, values, strict=True)
        )
        return names if len(names) > 1 else names[0]

    while left:
        name, value = left.popitem()
        twins = [other for other in left if left[other].shape == value.shape]
        if twins and rng.random() < 0.3:
            both = [value, left.pop(twins[0])]
            rule = {"to": [name, twins[0]], "apply": [{"split": 0}]}
            rules.append(rule | {"from": store([np.concatenate(both)])})
            continue
        values, steps = LAYOUTS[rng.integers(len(LAYOUTS))](rng, value)
        rules.append({"to": name, "from": store(values)})
        if steps:
            rules[-1]["apply"] = steps
    tensors["extra.index"] = np.zeros(3, np.float32)
    return {"other": {"ignore": ["extra.*"], "rules": rules}}, tensors
