# ===- onnx_attention.py - A node Attention of ONNX as a description -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes a conformance case of ONNX's operator Attention as a description, its inputs as
those of a program, and the program's outputs as those of the case.

The description does the work: masks, windows, lengths, caps and scales are attributes of the
attention, past keys and values stand in front of the new ones by `concat`. Two things are
layouts and are done here: ONNX has heads as an axis, [batch, heads, N, width], or side by
side; and a mask may lack axes that a description writes as 1.

ONNX's causal limit begins at the first key, or after past keys, or ends at the last valid
key; that of `causal` ends at the last key. So `keep` says it.
"""

import warnings

import numpy as np
import onnx
from onnx import helper
from onnx.backend.test.case.node import collect_testcases

TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}

# Values of qk_matmul_output_mode: the scores, with the cap, with the mask too, the shares.
PRODUCT, CAPPED, BIASED, SHARES = range(4)


def collect_cases():
    """The cases of one node: those that end in _expanded are other operators."""
    with warnings.catch_warnings():
        # Cases of other operators are about infinities, and are computed too.
        warnings.simplefilter("ignore", RuntimeWarning)
        cases = collect_testcases("Attention")
    return {
        case.name: case
        for case in cases
        if case.name.startswith("test_attention_") and not case.name.endswith("_expanded")
    }


class Case:
    """The node, attributes, inputs and expected outputs of a case by ONNX's names."""

    def __init__(self, node, inputs, outputs, version):
        schema = onnx.defs.get_schema("Attention", version)
        self.attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self.inputs = self._named(schema.inputs, node.input, inputs)
        self.outputs = self._named(schema.outputs, node.output, outputs)
        self.dtype = TYPES[self.inputs["Q"].dtype.name]
        query, key = self.inputs["Q"], self.inputs["K"]
        self.batch, self.queries = query.shape[0], query.shape[-2]
        self.has_axis_of_heads = query.ndim == 4
        if self.has_axis_of_heads:
            self.heads, self.kv_heads = query.shape[1], key.shape[1]
        else:
            self.heads = self.attributes["q_num_heads"]
            self.kv_heads = self.attributes["kv_num_heads"]
        past = self.inputs.get("past_key")
        self.past = 0 if past is None else past.shape[2]
        self.keys = self.past + key.shape[-2]

    @classmethod
    def of(cls, published):
        (node,) = published.model.graph.node
        ((inputs, outputs),) = published.data_sets
        return cls(node, inputs, outputs, published.model.opset_import[0].version)

    @staticmethod
    def _named(formal, given, values):
        """Values by the names that the schema has for their places."""
        values = iter(values)
        return {form.name: next(values) for form, name in zip(formal, given) if name}

    @staticmethod
    def side_by_side(value):
        """[batch, heads, N, width] as [batch, N, heads * width]."""
        if value.ndim == 3:
            return value
        batch, heads, rows, width = value.shape
        return value.transpose(0, 2, 1, 3).reshape(batch, rows, heads * width)

    @staticmethod
    def apart(value, heads):
        """[batch, N, heads * width] as [batch, heads, N, width]."""
        batch, rows, width = value.shape
        return value.reshape(batch, rows, heads, width // heads).transpose(0, 2, 1, 3)


def description(case):
    """The description of a case, and its inputs by name."""
    arrays = {
        name: np.ascontiguousarray(case.side_by_side(value), dtype=np.float32)
        for name, value in case.inputs.items()
        if name in ("Q", "K", "V", "past_key", "past_value")
    }
    layers = []
    plain = {"op": "attention", "query": "Q", "key": "K", "value": "V"}
    plain |= {"heads": case.heads, "key_value_heads": case.kv_heads}
    if "scale" in case.attributes:
        plain["scale"] = case.attributes["scale"]
    outputs = {"Y": "attention"}
    if case.past:
        for part in ("key", "value"):
            name, parts = f"present_{part}", [f"past_{part}", plain[part]]
            layers.append({"name": name, "op": "concat", "inputs": parts, "axis": 1})
            plain[part] = outputs[name] = name
    capped = dict(plain)
    cap = case.attributes.get("softcap", 0)
    if cap:
        capped["score"] = f"{cap} * tanh(score / {cap})"

    attention, keep = dict(capped), limits(case)
    if "nonpad_kv_seqlen" in case.inputs:
        arrays["nonpad_kv_seqlen"] = case.inputs["nonpad_kv_seqlen"]
    if "attn_mask" in case.inputs:
        mask = case.inputs["attn_mask"]
        is_boolean = mask.dtype == np.bool_
        # Axes that a mask lacks are in front.
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        arrays["attn_mask"] = mask if is_boolean else mask.astype(np.float32)
        attribute = "mask" if is_boolean else "score_bias"
        attention[attribute] = "attn_mask"
        missing = case.keys - mask.shape[-1]
        if missing:
            layers.append({"name": "padded", "op": "pad", "input": "attn_mask", "after": missing})
            attention[attribute] = "padded"
            keep.append(f"key < {mask.shape[-1]}")
    if keep:
        attention["keep"] = " and ".join(keep)
    layers.append({"name": "attention", **attention})

    if "qk_matmul_output" in case.outputs:
        mode = case.attributes.get("qk_matmul_output_mode", PRODUCT)
        kept = {PRODUCT: plain, CAPPED: capped, BIASED: attention, SHARES: attention}[mode]
        kept = {"name": "kept", **kept}
        if mode == SHARES:
            # Row j of these values is 1 in column j of each head, so that shares are the result.
            kept["value"] = "unit"
            unit = np.eye(case.keys, dtype=np.float32)
            arrays["unit"] = np.tile(unit, (case.batch, 1, case.kv_heads))
        else:
            kept["scores"] = True
            if "keep" in kept:
                # Scores are those of all pairs, and ONNX writes -inf where a key is not seen.
                score = kept.get("score", "score")
                kept["score"] = f"if({kept.pop('keep')}, {score}, log(0 * score))"
        layers.append(kept)
        outputs["qk_matmul_output"] = "kept" if mode == SHARES else "kept.scores"
    inputs = {name: of_input(value, case.keys + 1) for name, value in arrays.items()}
    return {
        "hova": 1,
        "name": "onnx_attention",
        "inputs": inputs,
        "layers": layers,
        "outputs": outputs,
    }, arrays


def of_input(value, limit):
    """What a description says of an input; integers are lengths."""
    if value.dtype == np.int64:
        return {"shape": list(value.shape), "dtype": "i64", "range": [0, limit]}
    return {"shape": list(value.shape), "dtype": "bool" if value.dtype == np.bool_ else "f32"}


def limits(case):
    """Conditions of `keep`: what a case says of the places of queries and keys."""
    attributes = case.attributes
    keep = []
    place = "query"
    if case.past:
        place = f"query + {case.past}"
    elif "nonpad_kv_seqlen" in case.inputs:
        keep.append("key < nonpad_kv_seqlen[batch]")
        place = "query + nonpad_kv_seqlen[batch] - queries"
    if attributes.get("is_causal", 0):
        keep.append(f"key <= {place}")
    if attributes.get("left_window_size", -1) >= 0:
        keep.append(f"key >= {place} - {attributes['left_window_size']}")
    if attributes.get("right_window_size", -1) >= 0:
        keep.append(f"key <= {place} + {attributes['right_window_size']}")
    return keep


def as_expected(case, ours):
    """The outputs of a program in the layout and type of those of the case."""
    results = {}
    for name, expected in case.outputs.items():
        value = ours[name]
        if name == "Y" and case.has_axis_of_heads:
            value = case.apart(value, case.heads)
        elif name.startswith("present"):
            value = case.apart(value, case.kv_heads)
        elif name == "qk_matmul_output" and value.ndim == 3:
            value = case.apart(value, case.heads)
        results[name] = value.astype(expected.dtype)
    return results


def draw_node(seed):
    """A node with drawn sizes and attributes, and its inputs by name.

    Masks have all queries, since ONNX's reference puts the causal limit of the first query
    into a mask that has one row for all. Scores with hidden keys are left out: they are -inf.
    """
    random = np.random.default_rng(seed)

    def one_of(*values):
        return random.choice(values).item()

    batch, kv_heads = one_of(1, 2, 3), one_of(1, 2, 3)
    heads = kv_heads * one_of(1, 2, 4)
    queries, new_keys = one_of(1, 2, 7, 33, 100), one_of(1, 6, 19, 64, 129)
    width, value_width = one_of(1, 8, 16, 33), one_of(5, 16, 24)
    cache = one_of("none", "past", "lengths")
    past = one_of(1, 8, 40) if cache == "past" else 0
    keys = past + new_keys

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    inputs = {
        "Q": normal(batch, heads, queries, width),
        "K": normal(batch, kv_heads, new_keys, width),
        "V": normal(batch, kv_heads, new_keys, value_width),
    }
    axes = (one_of(1, batch), one_of(1, heads), queries, keys)[one_of(0, 1, 2) :]
    kind = one_of("none", "boolean", "numbers")
    if kind == "boolean":
        inputs["attn_mask"] = random.random(axes) < 0.6
    elif kind == "numbers":
        inputs["attn_mask"] = normal(*axes)
        inputs["attn_mask"][random.random(axes) < one_of(0, 0.3)] = -np.inf
    if past:
        inputs["past_key"] = normal(batch, kv_heads, past, width)
        inputs["past_value"] = normal(batch, kv_heads, past, value_width)
    if cache == "lengths":
        inputs["nonpad_kv_seqlen"] = random.integers(0, keys + 1, batch)
    attributes = {
        "is_causal": one_of(0, 1),
        "left_window_size": one_of(-1, -1, 0, 5, 20),
        "right_window_size": one_of(-1, -1, 0, 2, 9),
        "softcap": one_of(0.0, 0.5, 2.0, 30.0),
        "scale": one_of(0.125, 0.25, 1.0),
        "qk_matmul_output_mode": one_of(CAPPED, SHARES),
    }
    schema = onnx.defs.get_schema("Attention")
    outputs = ["Y", *(["present_key", "present_value"] if past else ["", ""]), "qk_matmul_output"]
    given = [form.name if form.name in inputs else "" for form in schema.inputs]
    node = helper.make_node("Attention", given, outputs, **attributes)
    return node, {name: inputs[name] for name in given if name}
