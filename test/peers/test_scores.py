# ===- test_scores.py - Written scores, and shared heads of keys ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`score`, `keep` and `key_value_heads` of an attention, with weights that are drawn, against
the formulas in PyTorch. Buckets of T5 are those of transformers, slopes of ALiBi those of
x-transformers, and heads of keys are shared as transformers repeats them.

With bf16 the float32 module rounds the operands of every product, as `--dtype` says, and
float64 rounds nothing: the bound is tier T3 of the numeric policy with either storage.
"""

import json
import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Callable

import numpy as np
import pytest
import torch
from harness import compile_model, like, randomise, run_program, save_weights, within_policy
from torch import nn
from transformers.models.llama.modeling_llama import repeat_kv
from transformers.models.t5.modeling_t5 import T5Attention
from x_transformers.x_transformers import AlibiPositionalBias

BATCH, HEADS, HEAD_WIDTH = 2, 4, 16
LENGTHS = (37, 210)
BUCKETS, FARTHEST, DOCUMENTS = 32, 6, 3


@dataclass
class Form:
    """What the attention of a description says, and the same in PyTorch.

    `score` and `keep` get the scores and what they may read: query, key and head, which
    broadcast against [batch, heads, N, N], and the tables and inputs by name.
    """

    attributes: dict
    score: Callable = lambda s, _: s
    keep: Callable = lambda _: torch.tensor(True)
    weigh: Callable = lambda s: torch.softmax(s, dim=-1)  # -inf where masked
    scale: float = HEAD_WIDTH**-0.5
    tables: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)
    heads: int = HEADS
    kv_heads: int = HEADS


class Attention(nn.Module):
    """Multi-head attention over one sequence, written from the formula."""

    def __init__(self, form, storage):
        super().__init__()
        self.form, self.storage = form, storage
        width, kv_width = form.heads * HEAD_WIDTH, form.kv_heads * HEAD_WIDTH
        self.query = nn.Linear(width, width)
        self.key, self.value = nn.Linear(width, kv_width), nn.Linear(width, kv_width)
        self.output = nn.Linear(width, width)
        self.tables = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(shape)) for name, shape in form.tables.items()}
        )

    def stored(self, value):
        """An operand of a product in the storage type; float64 is not rounded."""
        if value.dtype == torch.float64 or self.storage == "f32":
            return value
        return value.bfloat16().float()

    def linear(self, layer, value):
        return self.stored(value) @ self.stored(layer.weight).T + layer.bias

    def in_heads(self, layer, value, heads):
        batch, rows, _ = value.shape
        value = self.stored(self.linear(layer, value))
        value = value.view(batch, rows, heads, HEAD_WIDTH).transpose(1, 2)
        return repeat_kv(value, self.form.heads // heads)

    def forward(self, x):
        form = self.form
        batch, rows, width = x.shape
        given = SimpleNamespace(
            query=torch.arange(rows)[:, None],
            key=torch.arange(rows),
            head=torch.arange(form.heads)[:, None, None],
            **self.tables,
            **{name: torch.from_numpy(value).long() for name, value in form.inputs.items()},
        )
        q = self.in_heads(self.query, x, form.heads)
        k = self.in_heads(self.key, x, form.kv_heads)
        v = self.in_heads(self.value, x, form.kv_heads)
        scores = form.score(q @ k.transpose(2, 3) * form.scale, given)
        kept = form.keep(given).expand(scores.shape)
        shares = form.weigh(scores.masked_fill(~kept, -torch.inf))
        # A row without keys is 0.
        shares = shares.masked_fill(~kept.any(-1, keepdim=True), 0)
        rows_of_heads = self.stored(shares) @ v
        return self.linear(self.output, rows_of_heads.transpose(1, 2).reshape(x.shape))

    def weights(self):
        named = {f"{name}.weight": value for name, value in self.tables.items()}
        for name in ("query", "key", "value", "output"):
            layer = getattr(self, name)
            named |= {f"attn.{name}.weight": layer.weight.T, f"attn.{name}.bias": layer.bias}
        return named


def causal(given):
    return given.key <= given.query


def alibi(rows):
    slopes = AlibiPositionalBias(HEADS).slopes
    return Form(
        {
            "score": "score - exp(-8 * log(2) * (head + 1) / heads) * (query - key)",
            "keep": "key <= query",
        },
        lambda s, given: s - slopes.to(s.dtype) * (given.query - given.key),
        causal,
    )


def alibi_of_all(rows):
    """Symmetric, with slopes that are learned."""
    return Form(
        {"score": "score - slope[head] * abs(query - key)"},
        lambda s, given: s - given.slope[given.head] * (given.query - given.key).abs(),
        tables={"slope": [HEADS]},
    )


def t5_buckets(distances, is_bidirectional):
    """Buckets of distances, key less query."""
    return T5Attention._relative_position_bucket(
        distances, bidirectional=is_bidirectional, num_buckets=BUCKETS, max_distance=128
    )


def t5(rows, bucket, is_bidirectional, inputs, ranges):
    def score(s, given):
        buckets = t5_buckets(given.key - given.query, is_bidirectional)
        return s + given.distances[buckets].permute(2, 0, 1)

    attributes = {"scale": 1, "score": f"score + distances[{bucket}, head]"}
    if not is_bidirectional:
        attributes["causal"] = True
    return Form(
        attributes,
        score,
        (lambda _: torch.tensor(True)) if is_bidirectional else causal,
        scale=1,
        tables={"distances": [BUCKETS, HEADS]},
        inputs=inputs,
        ranges=ranges,
    )


def t5_table(rows, is_bidirectional):
    """The bucket of every difference, as an input."""
    table = t5_buckets(torch.arange(1 - rows, rows), is_bidirectional)
    bucket = f"bucket[key - query + {rows - 1}]"
    inputs = {"bucket": table.numpy().astype(np.int32)}
    return t5(rows, bucket, is_bidirectional, inputs, {"bucket": BUCKETS})


def t5_arithmetic(rows, is_bidirectional):
    """The bucket in integers: that of a distance grows by one at each of some distances."""
    buckets = t5_buckets(-torch.arange(256), is_bidirectional).tolist()
    exact = BUCKETS // (4 if is_bidirectional else 2)
    assert buckets[: exact + 1] == list(range(exact + 1))
    steps = [i for i in range(exact + 1, 256) if buckets[i] != buckets[i - 1]]
    assert all(buckets[i] == buckets[i - 1] + 1 for i in steps)
    distance = "abs(query - key)" if is_bidirectional else "max(query - key, 0)"
    terms = [f"min({distance}, {exact})", *(f"if({distance} >= {i}, 1, 0)" for i in steps)]
    if is_bidirectional:
        terms.append(f"if(key > query, {BUCKETS // 2}, 0)")
    return t5(rows, " + ".join(terms), is_bidirectional, {}, {})


def t5_table_causal(rows):
    return t5_table(rows, False)


def t5_table_of_all(rows):
    return t5_table(rows, True)


def t5_arithmetic_causal(rows):
    return t5_arithmetic(rows, False)


def t5_arithmetic_of_all(rows):
    return t5_arithmetic(rows, True)


def sliding_window(rows):
    return Form(
        {"keep": "key <= query and query - key < 16"},
        keep=lambda given: causal(given) & (given.query - given.key < 16),
    )


def dilated_window(rows):
    return Form(
        {"keep": "abs(query - key) <= 3 * 8 and (query - key) % 3 == 0"},
        keep=lambda given: ((given.query - given.key).abs() <= 24)
        & ((given.query - given.key) % 3 == 0),
    )


def first_tokens_and_window(rows):
    """Attention sinks."""
    return Form(
        {"keep": "key <= query and (key < 4 or query - key < 16)"},
        keep=lambda given: causal(given) & ((given.key < 4) | (given.query - given.key < 16)),
    )


def tokens_that_see_all(rows):
    """Longformer's global tokens."""
    return Form(
        {"keep": "key < 2 or query < 2 or abs(query - key) <= 8"},
        keep=lambda given: (given.key < 2) | (given.query < 2) | ((given.query - given.key).abs() <= 8),
    )


def strictly_causal(rows):
    """The first row sees no key."""
    return Form({"keep": "key < query"}, keep=lambda given: given.key < given.query)


def prefix_and_documents(rows):
    generator = np.random.default_rng(4)
    document = np.sort(generator.integers(0, DOCUMENTS, (BATCH, rows)), axis=1)
    prefix = np.array([rows // 3, 0])

    def keep(given):
        early = given.key < given.prefix[:, None, None]
        same = given.document[:, :, None] == given.document[:, None, :]
        return ((causal(given) | early) & same)[:, None]

    return Form(
        {
            "keep": "(key <= query or key < prefix[batch])"
            " and document[batch, key] == document[batch, query]"
        },
        keep=keep,
        inputs={"document": document.astype(np.int32), "prefix": prefix.astype(np.int32)},
        ranges={"document": DOCUMENTS, "prefix": rows + 1},
    )


def soft_cap(rows):
    """The scale makes the scores large enough to be capped."""
    return Form(
        {"scale": 8, "score": "20 * tanh(score / 20)", "causal": True},
        lambda s, _: 20 * torch.tanh(s / 20),
        causal,
        scale=8,
    )


def graph_distances(rows):
    hops = np.random.default_rng(5).integers(0, FARTHEST, (rows, rows))
    np.fill_diagonal(hops, 0)
    return Form(
        {
            "score": "score + paths[hops[query, key], head]",
            "keep": f"hops[query, key] < {FARTHEST - 1}",
        },
        lambda s, given: s + given.paths[given.hops].permute(2, 0, 1),
        lambda given: given.hops < FARTHEST - 1,
        tables={"paths": [FARTHEST, HEADS]},
        inputs={"hops": hops.astype(np.int32)},
        ranges={"hops": FARTHEST},
    )


def sigmoids(rows):
    """Ramapuram et al., Sigmoid Self-Attention: no key competes with another."""
    return Form(
        {"score": "sigmoid(score - log(keys))", "normalize": "none", "causal": True},
        lambda s, _: s - math.log(rows),
        causal,
        weigh=torch.sigmoid,
    )


def rectified(rows):
    """Wortsman et al., Replacing Softmax with ReLU in Vision Transformers."""
    return Form(
        {"score": "max(score, 0) / keys", "normalize": "none"},
        weigh=lambda s: torch.relu(s) / rows,
    )


def rectified_over_sum(rows):
    """The same over its sum, with a floor."""
    return Form(
        {"score": "max(score, 0) + 0.25", "normalize": "sum", "causal": True},
        lambda s, _: torch.relu(s) + 0.25,
        causal,
        weigh=lambda s: nn.functional.normalize(s.masked_fill(s == -torch.inf, 0), p=1, dim=-1),
    )


def relative_bias(rows):
    return Form(
        {"score": f"score + near[head, query - key + {rows - 1}]"},
        lambda s, given: s + given.near[given.head, given.query - given.key + rows - 1],
        tables={"near": [HEADS, 2 * rows - 1]},
    )


def describe(form, rows):
    width = form.heads * HEAD_WIDTH
    inputs = {"x": {"shape": [BATCH, rows, width]}}
    for name, value in form.inputs.items():
        limit = form.ranges[name]
        inputs[name] = {"shape": list(value.shape), "dtype": "i32", "range": [0, limit]}
    attention = {"op": "multi_head_attention", "input": "x", "heads": form.heads}
    if form.kv_heads != form.heads:
        attention["key_value_heads"] = form.kv_heads
    layers = [
        {"name": name, "op": "weight", "shape": shape} for name, shape in form.tables.items()
    ]
    return {
        "hova": 1,
        "name": "scores",
        "inputs": inputs,
        "layers": [*layers, {"name": "attn", **attention, **form.attributes}],
        "outputs": {"out": "attn"},
    }


def judge(form, rows, storage, folder):
    module = randomise(Attention(form, storage), seed=rows)
    with torch.no_grad():
        for table in module.tables.values():
            table.copy_(torch.randn(table.shape, generator=torch.Generator().manual_seed(6)))
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(BATCH, rows, form.heads * HEAD_WIDTH, generator=generator)
    (folder / "model.json").write_text(json.dumps(describe(form, rows)))
    weights = folder / "model.safetensors"
    save_weights(module.weights(), weights)
    options = [f"--dtype={storage}"]
    program, _ = compile_model(folder / "model", weights, folder, options=options)
    ours = run_program(program, {"x": x.numpy(), **form.inputs}, folder)
    within_policy(ours, lambda m: {"out": m(like(x, m))}, module)


FORMS = (
    alibi,
    alibi_of_all,
    t5_table_causal,
    t5_table_of_all,
    t5_arithmetic_causal,
    t5_arithmetic_of_all,
    sliding_window,
    dilated_window,
    first_tokens_and_window,
    tokens_that_see_all,
    strictly_causal,
    prefix_and_documents,
    soft_cap,
    graph_distances,
    sigmoids,
    rectified,
    rectified_over_sum,
    relative_bias,
)


@pytest.mark.parametrize("storage", ["f32", "bf16"])
@pytest.mark.parametrize("rows", LENGTHS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_form(form, rows, storage, scratch):
    judge(form(rows), rows, storage, scratch)


@pytest.mark.parametrize("storage", ["f32", "bf16"])
@pytest.mark.parametrize("rows", LENGTHS)
@pytest.mark.parametrize("heads, kv_heads", [(4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (8, 4)])
def test_shared_heads(heads, kv_heads, rows, storage, scratch):
    form = Form({"causal": True}, keep=causal, heads=heads, kv_heads=kv_heads)
    judge(form, rows, storage, scratch)
