# ===- test_attention.py - Multi-head attention of torch.nn -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The multi-head attention of the lecture. torch.nn.MultiheadAttention has three widths of
its inputs, but one of its heads and its result; the general form is checked against the
lecture's formula, and so is additive attention."""

import pytest
import torch
from harness import like, randomise
from modules import attention_weights
from torch import nn

BATCH, QUERIES, KEYS = 3, 9, 11


def three_inputs(widths):
    generator = torch.Generator().manual_seed(1)
    rows = {"q": QUERIES, "k": KEYS, "v": KEYS}
    return {
        name: torch.randn(BATCH, rows[name], width, generator=generator)
        for name, width in zip("qkv", widths)
    }


@pytest.mark.parametrize("heads, width, key, value", [(2, 8, 7, 6), (5, 40, 40, 40)])
def test_module_of_torch(heads, width, key, value, compare):
    module = nn.MultiheadAttention(
        width, heads, bias=False, kdim=key, vdim=value, batch_first=True
    )
    inputs = three_inputs((width, key, value))
    head = width // heads
    sizes = {"d_q": width, "d_k": key, "d_v": value, "p_o": width, "h": heads}
    sizes |= {"p_q": head, "p_k": head, "p_v": head}
    sizes |= {"batch": BATCH, "queries": QUERIES, "keys": KEYS}
    randomise(module, seed=2)
    compare(
        "lecture_mha",
        module,
        "torch.nn.MultiheadAttention",
        {name: value.numpy() for name, value in inputs.items()},
        lambda m: {"out": m(*(like(x, m) for x in inputs.values()))[0]},
        settings=[f"{key}={value}" for key, value in sizes.items()],
        weights=attention_weights("attn", module),
    )


class Head(nn.Module):
    """One head: f(W_q q, W_k k, W_v v), where f is a softmax of products or of a network."""

    def __init__(self, kind, d_q=5, d_k=7, d_v=6, p_q=4, p_k=4, p_v=3):
        super().__init__()
        self.query = nn.Linear(d_q, p_q, bias=False)
        self.key = nn.Linear(d_k, p_k, bias=False)
        self.value = nn.Linear(d_v, p_v, bias=False)
        if kind == "additive":
            self.of_query = nn.Linear(p_q, p_q, bias=False)
            self.of_key = nn.Linear(p_k, p_q, bias=False)
            self.vector = nn.Linear(p_q, 1, bias=False)
        self.kind = kind

    def forward(self, q, k, v):
        q, k = self.query(q), self.key(k)
        if self.kind == "additive":
            pairs = self.of_query(q)[:, :, None] + self.of_key(k)[:, None]
            scores = self.vector(torch.tanh(pairs))[..., 0]
        else:
            scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ self.value(v)


class Attention(nn.Module):
    def __init__(self, kind, heads=2, p_v=3, p_o=8):
        super().__init__()
        self.heads = nn.ModuleList(Head(kind, p_v=p_v) for _ in range(heads))
        self.output = nn.Linear(heads * p_v, p_o, bias=False)

    def forward(self, *given):
        return self.output(torch.cat([head(*given) for head in self.heads], dim=-1))

    def weights(self):
        def joined(name):
            return torch.cat([getattr(head, name).weight.T for head in self.heads], dim=1)

        named = {f"attn.{part}.weight": joined(part) for part in ("query", "key", "value")}
        named["attn.output.weight"] = self.output.weight.T
        if self.heads[0].kind == "additive":
            for part in ("query", "key"):
                matrices = [getattr(head, f"of_{part}").weight.T for head in self.heads]
                named[f"attn.additive.{part}"] = torch.stack(matrices)
            vectors = [head.vector.weight[0] for head in self.heads]
            named["attn.additive.vector"] = torch.cat(vectors)
        return named


@pytest.mark.parametrize("kind", ["softmax", "additive"])
def test_eight_widths(kind, compare):
    module = randomise(Attention(kind), seed=3)
    inputs = three_inputs((5, 7, 6))
    compare(
        "lecture_mha",
        module,
        "the lecture's formula in PyTorch",
        {name: value.numpy() for name, value in inputs.items()},
        lambda m: {"out": m(*(like(x, m) for x in inputs.values()))},
        settings=[f"kind={kind}", f"batch={BATCH}"],
        weights=module.weights(),
    )
