# ===- attention_modules.py - Modules of attentions, and what they should compute ---=== #
# SPDX-License-Identifier: Apache-2.0
"""Dense attention, attention to blocks of keys, and both halves of linear attention. Truths are the formulas in float64."""

import math

import numpy as np
from kernels import BF16, F16, WIDEN, Case
from module_cases import F32, NARROW, Numbers, case, softmax

# Attentions --------------------------------------------------------------------


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, scale: float) -> np.ndarray:
    """softmax(scale q kT) v, head by head."""
    q, k, v = (x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v))
    o = softmax(scale * q @ k.transpose(0, 1, 3, 2)) @ v
    return o.transpose(0, 2, 1, 3).reshape(o.shape[0], o.shape[2], -1)


def attention(halves: str, batch: int, queries: int, keys: int, heads: int, widths: tuple[int, int], scale: float,
              options: str = "--queries=32 --warps=2 --keys=32") -> Case:
    """Of queries to other keys; widths are those of keys and values. Without options the schedule is the compiler's."""
    n = Numbers(halves)
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = draw(batch, queries, heads * widths[0]), draw(batch, keys, heads * widths[0]), draw(batch, keys, heads * widths[1])
    return attention_case(n, q, k, v, heads, scale, options)


def attention_case(n: Numbers, q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, scale: float, options: str) -> Case:
    halves = n.halves
    types = [f"tensor<{'x'.join(map(str, x.shape))}x{halves}>" for x in (q, k, v, np.empty((*q.shape[:2], v.shape[2])))]
    return case(n, f"""
      func.func @main(%q: {types[0]}, %k: {types[1]}, %v: {types[2]}) -> {types[3]} {{
        %o = hova.attention %q, %k, %v {{heads = {heads} : i64}}
            : ({", ".join(types[:3])}) -> {types[3]} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number {scale:e}
          %score = arith.mulf %raw, %scale : f32
          %all = arith.constant true
          hova.score_yield %score kept %all
        }}
        return %o : {types[3]}
      }}""", [attended(q, k, v, heads, scale)], {"bf16": BF16, "f16": 2 * F16, "f32": 2 * F32}[halves], halves, options, cancels=True)


def heads_of_rows(halves: str, tokens: int, heads: int, widths: tuple[int, int], limit: float) -> Case:
    """Queries, keys and values of small heads that stand beside each other in rows; a bias of each head. A key of the second head is
    -inf, and a query of the first one; no other head sees either."""
    n, batch, scale = Numbers(halves), 2, 0.375
    ends = np.cumsum([0, heads * widths[0], heads * widths[0], heads * widths[1]])
    rows = n.random.standard_normal((batch, tokens, ends[-1]), np.float32)
    rows[..., widths[0]] = np.abs(rows[..., widths[0]]) + 0.5
    rows[:, 3, ends[1] + widths[0]], rows[:, 5, 1] = -np.inf, -np.inf
    n.store(rows if halves == "f32" else NARROW[halves](rows), 0, np.nan)
    rows = rows.astype(np.float64) if halves == "f32" else WIDEN[halves](n.operands[-1]).astype(np.float64)
    bias = n.wide(heads, tokens)
    q, k, v = (rows[..., a:b].reshape(batch, tokens, heads, -1).transpose(0, 2, 1, 3) for a, b in zip(ends, ends[1:], strict=False))
    with np.errstate(invalid="ignore"):
        scores = scale * (q[..., :, None, :] * k[..., None, :, :]).sum(-1) + bias[:, None]
        weights = softmax(scores)
    truth = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, -1)
    whole = f"tensor<{batch}x{tokens}x{ends[-1]}x{halves}>"
    types = [f"tensor<{batch}x{tokens}x{b - a}x{halves}>" for a, b in zip(ends, ends[1:], strict=False)]
    slices = "\n".join(f"%{name} = hova.slice %rows {{axis = 2 : i64, offset = {begin} : i64}} : {whole} -> {part}"
                       for name, begin, part in zip("qkv", ends, types, strict=False))
    table = f"tensor<{heads}x{tokens}xf32>"
    return case(n, f"""
      func.func @main(%rows: {whole}, %bias: {table}) -> {types[2]} {{
        {slices}
        %o = hova.attention %q, %k, %v captured(%bias) {{heads = {heads} : i64}}
            : ({", ".join(types)}, {table}) -> {types[2]} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %biases: {table}):
          %scale = hova.number {scale}
          %scaled = arith.mulf %raw, %scale : f32
          %added = hova.element %biases[%head, %key] : {table}
          %score = arith.addf %scaled, %added : f32
          %all = arith.constant true
          hova.score_yield %score kept %all
        }}
        return %o : {types[2]}
      }}""", [truth], limit, halves)


def heads_with_logits(halves: str, queries: int, keys: int, heads: int, width: int, hidden: int, limit: float) -> Case:
    """An attention, and relu(H_m A + shift) . w + b for each of its heads, in one kernel: H_m as it is stored."""
    n, batch, scale = Numbers(halves), 2, width**-0.5
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = (draw(batch, rows, heads * width) for rows in (queries, keys, keys))
    shift, a, w, b = n.wide(batch, queries, hidden), draw(width, hidden, scale=width**-0.5), n.wide(hidden), n.wide(1)
    o = attended(q, k, v, heads, scale)
    stored = o.astype(np.float32) if halves == "f32" else WIDEN[halves](NARROW[halves](o.astype(np.float32)))
    terms = np.einsum("btmd,dn->btmn", stored.reshape(batch, queries, heads, width).astype(np.float64), a) + shift[:, :, None]
    logits = np.maximum(terms, 0) @ w + b
    types = [f"tensor<{batch}x{rows}x{heads * width}x{halves}>" for rows in (queries, keys, keys)]
    others = [f"tensor<{batch}x{queries}x{hidden}xf32>", f"tensor<{width}x{hidden}x{halves}>", f"tensor<{hidden}xf32>", "tensor<1xf32>"]
    y = f"tensor<{batch}x{queries}x{heads}xf32>"
    return case(n, f"""
      func.func @main({", ".join(f"%{i}: {t}" for i, t in enumerate(types + others))}) -> ({types[0]}, {y}) {{
        %o = hova.attention %0, %1, %2 {{heads = {heads} : i64}} : ({", ".join(types)}) -> {types[0]} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number {scale:e}
          %score = arith.mulf %raw, %scale : f32
          %all = arith.constant true
          hova.score_yield %score kept %all
        }}
        %y = hova.head_logits %o, %3, %4, %5 score_bias(%6) {{heads = {heads} : i64}}
            : ({", ".join([types[0], *others])}) -> {y}
        return %o, %y : {types[0]}, {y}
      }}""", [o, logits], limit, f"{halves} f32", cancels=True)


def far_scores(halves: str, exponent: int) -> Case:
    """Raw scores from 2^exponent on, in steps that f32 has: the largest one grows from turn to turn."""
    n, queries, keys, scale = Numbers(halves), 5, 150, 0.171875
    q, k = np.zeros((1, queries, 8)), np.zeros((1, keys, 8))
    q[..., 0], k[..., 0] = 2.0 ** (exponent // 2), 2.0 ** (exponent - exponent // 2)
    q[0, :, 1], k[0, :, 1] = max(2.0 ** (exponent - 23), 0.25) * np.arange(queries), np.arange(keys)
    for x in (q, k):
        n.store(x.astype(np.float32) if halves == "f32" else NARROW[halves](x.astype(np.float32)), 0, np.nan)
    v = (n.wide if halves == "f32" else n.narrow)(1, keys, 8)
    return attention_case(n, q, k, v, 1, scale, "")


def greatest_scores(halves: str, scale: float) -> Case:
    """Scores up to the greatest numbers of f32, which few keys of different turns have; queries of both signs."""
    n, keys = Numbers(halves), 70
    q, k = np.zeros((1, 4, 8)), np.zeros((1, keys, 8))
    size = min(np.sqrt(3.3e38 / scale), 1.7e19)  # raw scores are numbers too
    q[0, :, 0], k[0, :, 0] = [size, -size, size / 2, 0], size * np.linspace(-0.9, 1, keys)
    for x in (q, k):
        n.store(x.astype(np.float32) if halves == "f32" else NARROW[halves](x.astype(np.float32)), 0, np.nan)
    v = (n.wide if halves == "f32" else n.narrow)(1, keys, 8)
    return attention_case(n, *(x.astype(np.float64) if halves == "f32" else WIDEN[halves](x).astype(np.float64) for x in n.operands[:2]), v, 1,
                          scale, "")


def additive(halves: str, queries: int, keys: int, widths: tuple[int, int], limit: float) -> Case:
    """Scores are sums of tanh; some keys come from a memory."""
    n, batch, heads, slots = Numbers(halves), 2, 2, 5
    draw = n.wide if halves == "f32" else n.narrow
    shapes = [(batch, queries, heads * widths[0]), (batch, keys, heads * widths[0]), (batch, keys, heads * widths[1])]
    q, k, v = (draw(*shape) for shape in shapes)
    w = n.wide(heads * widths[0])
    memory_shapes = [(slots, heads * width) for width in widths]
    memory_k, memory_v = (draw(*shape) for shape in memory_shapes)
    k, v = (np.concatenate([x, np.broadcast_to(m, (batch, *m.shape))], 1) for x, m in ((k, memory_k), (v, memory_v)))
    q_heads, k_heads, v_heads = (x.reshape(batch, -1, heads, width).transpose(0, 2, 1, 3) for x, width in ((q, widths[0]), (k, widths[0]), (v, widths[1])))
    scores = (np.tanh(q_heads[:, :, :, None] + k_heads[:, :, None]) * w.reshape(heads, 1, 1, -1)).sum(-1)
    truth = (softmax(scores) @ v_heads).transpose(0, 2, 1, 3).reshape(batch, queries, -1)

    def type_of(shape: tuple[int, ...], element: str = halves) -> str:
        return f"tensor<{'x'.join(map(str, shape))}x{element}>"

    types = [*map(type_of, shapes), type_of(w.shape, "f32"), *map(type_of, memory_shapes)]
    y = type_of((batch, queries, heads * widths[1]))
    return case(n, f"""
      func.func @main(%q: {types[0]}, %k: {types[1]}, %v: {types[2]}, %w: {types[3]}, %mk: {types[4]}, %mv: {types[5]}) -> {y} {{
        %o = hova.attention %q, %k, %v similarity(#hova.additive) score_vector(%w) memory(%mk, %mv) {{heads = {heads} : i64}}
            : ({", ".join(types)}) -> {y} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %all = arith.constant true
          hova.score_yield %raw kept %all
        }}
        return %o : {y}
      }}""", [truth], limit, halves)


def weights(halves: str, normalization: str, queries: int, keys: int, width: int, limit: float) -> Case:
    """Weights without a softmax: rectified scores of the keys up to a query, which are at least 1 / 8 where they are divided by
    their sum. Key 3 has a bias of -inf, which masks."""
    n, batch, heads, floor = Numbers(halves), 2, 2, 0.0 if normalization == "none" else 0.125
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = (draw(batch, rows, heads * width) for rows in (queries, keys, keys))
    bias = np.abs(n.random.standard_normal(keys, np.float32))
    bias[3] = -np.inf
    n.store(bias, 0, np.nan)
    q_heads, k_heads, v_heads = (x.reshape(batch, -1, heads, width).transpose(0, 2, 1, 3) for x in (q, k, v))
    kept = (np.arange(keys) <= np.arange(queries)[:, None]) & (np.arange(keys) != 3)
    raw = 0.25 * q_heads @ k_heads.transpose(0, 1, 3, 2)
    shares = np.where(kept, np.maximum(raw, floor) + np.where(np.isinf(bias), 0, bias), 0)
    if normalization == "sum":
        total = shares.sum(-1, keepdims=True)
        shares = shares / np.where(total == 0, 1, total)
    truth = (shares @ v_heads).transpose(0, 2, 1, 3).reshape(batch, queries, -1)
    q_type, k_type = (f"tensor<{batch}x{rows}x{heads * width}x{halves}>" for rows in (queries, keys))
    return case(n, f"""
      func.func @main(%q: {q_type}, %k: {k_type}, %v: {k_type}, %b: tensor<{keys}xf32>) -> {q_type} {{
        %o = hova.attention %q, %k, %v captured(%b) {{heads = {heads} : i64, normalization = #hova<normalization {normalization}>}}
            : ({q_type}, {k_type}, {k_type}, tensor<{keys}xf32>) -> {q_type} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %biases: tensor<{keys}xf32>):
          %scale = hova.number 0.25
          %least = hova.number {floor}
          %scaled = arith.mulf %raw, %scale : f32
          %rectified = arith.maximumf %scaled, %least : f32
          %added = hova.element %biases[%key] : tensor<{keys}xf32>
          %score = arith.addf %rectified, %added : f32
          %kept = arith.cmpi sle, %key, %query : index
          hova.score_yield %score kept %kept
        }}
        return %o : {q_type}
      }}""", [truth], limit, halves, "--queries=32 --warps=2 --keys=32", cancels=True)


def empty_rows(halves: str, limit: float) -> Case:
    """Query i sees keys from 2 i on: some only the last, some none, which are means."""
    n, batch, queries, keys, heads, width = Numbers(halves), 2, 70, 75, 2, 12
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = (draw(batch, rows, heads * width) for rows in (queries, keys, keys))
    q_heads, k_heads, v_heads = (x.reshape(batch, -1, heads, width).transpose(0, 2, 1, 3) for x in (q, k, v))
    kept = np.arange(keys) >= 2 * np.arange(queries)[:, None]
    scores = np.where(kept, 0.25 * q_heads @ k_heads.transpose(0, 1, 3, 2), -np.inf)
    scores[:, :, ~kept.any(1)] = 0
    truth = (softmax(scores) @ v_heads).transpose(0, 2, 1, 3).reshape(batch, queries, -1)
    q_type, k_type = (f"tensor<{batch}x{rows}x{heads * width}x{halves}>" for rows in (queries, keys))
    return case(n, f"""
      func.func @main(%q: {q_type}, %k: {k_type}, %v: {k_type}) -> {q_type} {{
        %o = hova.attention %q, %k, %v {{heads = {heads} : i64, empty_row = #hova<empty_row uniform>}}
            : ({q_type}, {k_type}, {k_type}) -> {q_type} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number 0.25
          %score = arith.mulf %raw, %scale : f32
          %first = arith.addi %query, %query : index
          %after = arith.subi %key, %first : index
          %none = arith.constant 0 : index
          %kept = arith.cmpi sge, %after, %none : index
          hova.score_yield %score kept %kept
        }}
        return %o : {q_type}
      }}""", [truth], limit, halves, "--queries=32 --warps=2 --keys=32", cancels=True)


def scores_read(halves: str, queries: int, keys: int, widths: tuple[int, int], alone: bool = False) -> Case:
    """Of keys not far after the query; to scores come those of a layer before, a head's slope and a step. They are read where masked too,
    and `alone` where nobody asks for the result."""
    n, batch, heads, slope, gap = Numbers(halves), 2, 2, 0.0625, 9
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = draw(batch, queries, heads * widths[0]), draw(batch, keys, heads * widths[0]), draw(batch, keys, heads * widths[1])
    before = n.wide(batch, heads, queries, keys)
    q_heads, k_heads, v_heads = (x.reshape(batch, -1, heads, width).transpose(0, 2, 1, 3) for x, width in ((q, widths[0]), (k, widths[0]), (v, widths[1])))
    i, j = np.arange(queries)[:, None], np.arange(keys)
    scores = q_heads @ k_heads.transpose(0, 1, 3, 2) * 0.25 + before + slope * np.arange(heads)[:, None, None] * (i - j)
    shares = softmax(np.where(j <= i + gap, scores / 2, -np.inf))
    truth = (shares @ v_heads).transpose(0, 2, 1, 3).reshape(batch, queries, -1)
    q_type, k_type, v_type, y = (f"tensor<{batch}x{rows}x{heads * width}x{halves}>" for rows, width in
                                 ((queries, widths[0]), (keys, widths[0]), (keys, widths[1]), (queries, widths[1])))
    s = f"tensor<{batch}x{heads}x{queries}x{keys}xf32>"
    return case(n, f"""
      func.func @main(%q: {q_type}, %k: {k_type}, %v: {v_type}, %b: {s}) -> {s if alone else f"({y}, {s})"} {{
        %o:2 = hova.attention %q, %k, %v captured(%b) {{heads = {heads} : i64}}
            : ({q_type}, {k_type}, {v_type}, {s}) -> ({y}, {s}) scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %of: {s}):
          %scale = hova.number 0.25
          %scaled = arith.mulf %raw, %scale : f32
          %old = hova.element %of[%batch, %head, %query, %key] : {s}
          %sum = arith.addf %scaled, %old : f32
          %distance = arith.subi %query, %key : index
          %steps = arith.muli %distance, %head : index
          %whole = arith.index_cast %steps : index to i32
          %far = arith.sitofp %whole : i32 to f32
          %slope = hova.number {slope}
          %sloped = arith.mulf %far, %slope : f32
          %carried = arith.addf %sum, %sloped : f32
          %half = hova.number 0.5
          %score = arith.mulf %carried, %half : f32
          %least = arith.constant {-gap} : index
          %kept = arith.cmpi sge, %distance, %least : index
          hova.score_yield %score kept %kept carried %carried
        }}
        return {f"%o#1 : {s}" if alone else f"%o#0, %o#1 : {y}, {s}"}
      }}""", [scores] if alone else [truth, scores], F32 if alone else 2 * F32, "f32" if alone else f"{halves} f32")


def block_sparse(halves: str, batch: int, tokens: int, block: int, drawn: int, limit: float) -> Case:
    """Of queries to keys before them, the first of which has none; a row of the table names one block twice, one of the window, and
    what is none."""
    n, heads, widths = Numbers(halves), 2, (12, 7)
    draw = n.wide if halves == "f32" else n.narrow
    q, k, v = draw(batch, tokens, heads * widths[0]), draw(batch, tokens, widths[0]), draw(batch, tokens, widths[1])
    blocks = -(-tokens // block)
    table = n.integers(heads, blocks - 2, drawn, below=blocks, dtype=np.int32) if drawn else np.zeros((heads, blocks - 2, 0), np.int32)
    if drawn:
        table[0, 0], table[1, -1] = (3, 3, 1)[:drawn], (-1, blocks, 2)[:drawn]
    truth = np.zeros((batch, tokens, heads * widths[1]))
    for b, h, i in np.ndindex(batch, heads, tokens):
        row = i // block
        seen = list(range(blocks)) if row in (0, blocks - 1) else sorted({0, row - 1, row, row + 1, blocks - 1})
        if row not in (0, blocks - 1):
            seen += [t for t in table[h, row - 1] if 0 <= t < blocks]
        keys = [j for t in seen for j in range(t * block, min((t + 1) * block, tokens)) if j < i]
        if keys:
            scores = k[b, keys] @ q[b, i, h * widths[0] : (h + 1) * widths[0]] * 0.25
            truth[b, i, h * widths[1] : (h + 1) * widths[1]] = softmax(scores) @ v[b, keys]
    q_type, k_type, v_type, y = (f"tensor<{batch}x{tokens}x{width}x{halves}>" for width in (heads * widths[0], *widths, heads * widths[1]))
    table_type = f"tensor<{heads}x{blocks - 2}x{drawn}xi32>"
    return case(n, f"""
      func.func @main(%q: {q_type}, %k: {k_type}, %v: {v_type}{f", %t: {table_type}" if drawn else ""}) -> {y} {{
        %o = hova.attention %q, %k, %v {"random_blocks(%t)" if drawn else ""}
            {{heads = {heads} : i64, block = {block} : i64, key_value_heads = 1 : i64}}
            : ({q_type}, {k_type}, {v_type}{f", {table_type}" if drawn else ""}) -> {y} scores {{
        ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
          %scale = hova.number 0.25
          %score = arith.mulf %raw, %scale : f32
          %kept = arith.cmpi slt, %key, %query : index
          hova.score_yield %score kept %kept
        }}
        return %o : {y}
      }}""", [truth], limit, halves, cancels=True)


# Linear attention --------------------------------------------------------------


def features(x: np.ndarray, w: np.ndarray | None, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """(scale x w)_r and |scale x|^2 / 2 of rows x, of each head."""
    scaled = scale * x
    return scaled if w is None else scaled @ w, (scaled**2).sum(-1) / 2


def of_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """[batch, heads, tokens, width of a head]."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def weight_of(rows: int, columns: int) -> tuple[str, str]:
    """A weight of f32 as the kernel's operand: its program, and how main reads it."""
    kind = f"tensor<{rows}x{columns}xf32>"
    return (f"""func.func private @weights() {{
        %w = hova.weight "w" : {kind}
        hova.store_weight "w", %w : {kind}
        return
      }}""", f'%w = hova.image_weight "w" : {kind}')


def projections(n: Numbers, rows: int, count: int, narrow: bool) -> np.ndarray | None:
    """The weight of features, of f32; None without any. Narrow kernels multiply with the nearest numbers of 16 bits."""
    if not count:
        return None
    w = n.wide(rows, count, transposed=rows + -rows % 4)
    return WIDEN[n.halves](NARROW[n.halves](w.astype(np.float32))).astype(np.float64) if narrow else w


def key_summary(kind: str, halves: str, tokens: int, block: int, widths: tuple[int, int], count: int, limit: float, batch: int, padded: bool = False, narrow: bool = False,
                scale: float = 0.5) -> Case:
    """Sums over blocks of keys; those of softmax relative to the maximum of the block, which is in its last row."""
    n, heads, eps = Numbers(halves), 2, 0.125 if kind == "relu" else 0.0
    draw = n.wide if halves == "f32" else n.narrow
    k, v = draw(batch, tokens, heads * widths[0]), draw(batch, tokens, heads * widths[1])
    w = projections(n, widths[0], count, narrow)
    valid = n.integers(batch, tokens, below=2, dtype=np.uint8) if padded else np.ones((batch, tokens), np.uint8)
    if padded:
        valid[:, :block] = 0  # a block without keys
    products, half = features(of_heads(k, heads), w, scale)
    count, extra = products.shape[-1], 2 if kind == "softmax" else 0
    blocks, values = -(-tokens // block), of_heads(v, heads)
    truth = np.zeros((batch, heads, blocks, count + extra, widths[1] + 1))
    for b, h, t in np.ndindex(batch, heads, blocks):
        kept = [j for j in range(block * t, min(block * (t + 1), tokens)) if valid[b, j]]
        most = products[b, h, kept].max() if kept and extra else 0.0
        shift = math.log(count) / 2 if kind == "exp" else most
        made = np.maximum(products[b, h, kept], 0) + eps if kind == "relu" else np.exp(products[b, h, kept] - half[b, h, kept, None] - shift)
        ones = np.concatenate([values[b, h, kept], np.ones((len(kept), 1))], 1)
        truth[b, h, t, :count] = made.T @ ones
        if extra:
            truth[b, h, t, count] = ones.sum(0)
            truth[b, h, t, count + 1] = most * math.log2(math.e) if kept else -1e30
    kinds = [f"tensor<{batch}x{tokens}x{heads * width}x{halves}>" for width in widths]
    shape = "x".join(map(str, truth.shape))
    program, read = weight_of(widths[0], count) if w is not None else ("", "")
    arguments = f"%k: {kinds[0]}, %v: {kinds[1]}" + (f", %m: tensor<{batch}x{tokens}xi1>" if padded else "")
    types = ", ".join([*kinds, *([f"tensor<{widths[0]}x{count}xf32>"] if read else []), *([f"tensor<{batch}x{tokens}xi1>"] if padded else [])])
    return case(n, f"""
      {program}
      func.func @main({arguments}) -> tensor<{shape}xf32> {{
        {read}
        %y = hova.key_summary {kind} %k, %v {"features(%w)" if read else ""} {"key_valid(%m)" if padded else ""}
            {{heads = {heads} : i64, block = {block} : i64, scale = {scale} : f64, eps = {eps} : f64{", narrow" if narrow else ""}}} : ({types}) -> tensor<{shape}xf32>
        return %y : tensor<{shape}xf32>
      }}""", [truth], limit, "f32")


def merge_summaries(kind: str, rows: int, columns: int, limit: float, exclusive: bool = False) -> Case:
    """Of three blocks: that of softmax scales sums by powers of two. Exclusively, block t is the blocks before t."""
    n = Numbers()
    s = n.wide(2, 3, 3, rows, columns)
    if kind == "softmax":
        n.operands[0][:, :, :, -1] = n.random.integers(-9, 9, (2, 3, 3, 1))
        n.operands[0][0, 1, 1, -1] = -1e30
        s = n.operands[0].astype(np.float64)
    truth = np.zeros((2, 3, 3 if exclusive else 1, rows, columns))
    for t in range(truth.shape[2]):
        summed = s[:, :, : t if exclusive else 3]
        if kind == "softmax":
            most = summed[:, :, :, -1:].max(2, keepdims=True, initial=-1e30)
            truth[:, :, t] = (summed * np.exp2(summed[:, :, :, -1:] - most)).sum(2)
            truth[:, :, t, -2], truth[:, :, t, -1:] = summed[:, :, :, -2].sum(2), most[:, :, 0]
        else:
            truth[:, :, t] = summed.sum(2)
    given, made = (f"tensor<2x3x{blocks}x{rows}x{columns}xf32>" for blocks in (3, truth.shape[2]))
    return case(n, f"""
      func.func @main(%s: {given}) -> {made} {{
        %y = hova.merge_summaries {kind} {"exclusive" if exclusive else ""} %s : {given} -> {made}
        return %y : {made}
      }}""", [truth], limit, "f32")


def summary_attention(kind: str, halves: str, tokens: int, widths: tuple[int, int], count: int, limit: float, batch: int, added: float = 0.0,
                      narrow: bool = False, scale: float = 0.5, size: float = 1.0, value: float = 1.0) -> Case:
    """Queries read sums of one block, of this size, over values of that; two heads share a head of these. `added` is each constant that is added to denominators."""
    n, heads = Numbers(halves), 2
    eps = 0.0 if kind == "exp" else 0.125
    q = (n.wide if halves == "f32" else n.narrow)(batch, tokens, heads * widths[0])
    features_count, extra = count or widths[0], 2 if kind == "softmax" else 0
    sizes = np.float32(size) * np.float32([value] * widths[1] + [1])
    n.store(sizes * np.abs(n.random.standard_normal((batch, 1, 1, features_count + extra, widths[1] + 1), np.float32)), 0, np.nan)
    s = n.operands[-1].astype(np.float64)[:, :, 0]
    w = projections(n, widths[0], count, narrow)
    products, half = features(of_heads(q, heads), w, scale)
    if kind == "relu":
        query_features = np.maximum(products, 0) + eps
    else:
        # What is a factor of all features of a query matters to eps and to what is added alone.
        peak = products.max(-1, keepdims=True) if extra or not added else math.log(features_count) / 2
        query_features = np.exp(products - peak - (half[..., None] if extra or added else 0)) + eps
    sums = s[:, :, :features_count] + (eps * s[:, :, features_count : features_count + 1] if extra else 0)
    result = query_features @ sums / (features_count if extra else 1)
    denominator = result[..., -1:]
    denominator = denominator + np.where(np.abs(denominator) <= added, 2 * added, 0) + added
    truth = (result[..., :-1] / denominator).transpose(0, 2, 1, 3).reshape(batch, tokens, -1)
    kinds = [f"tensor<{batch}x{tokens}x{heads * widths[0]}x{halves}>", f"tensor<{batch}x1x1x{features_count + extra}x{widths[1] + 1}xf32>"]
    program, read = weight_of(widths[0], count) if w is not None else ("", "")
    types = ", ".join([*kinds, *([f"tensor<{widths[0]}x{count}xf32>"] if read else [])])
    shape = "x".join(map(str, truth.shape))
    return case(n, f"""
      {program}
      func.func @main(%q: {kinds[0]}, %s: {kinds[1]}) -> tensor<{shape}xf32> {{
        {read}
        %y = hova.summary_attention {kind} %q, %s {"features(%w)" if read else ""}
            {{heads = {heads} : i64, block = 64 : i64, scale = {scale} : f64, eps = {eps} : f64, stabilizer = {added} : f64,
             denominator_eps = {added} : f64{", narrow" if narrow else ""}}} : ({types}) -> tensor<{shape}xf32>
        return %y : tensor<{shape}xf32>
      }}""", [truth], limit, "f32")


def causal_summary_attention(kind: str, halves: str, tokens: int, widths: tuple[int, int], count: int, limit: float, padded: bool = False,
                             narrow: bool = False, scale: float = 0.5) -> Case:
    """Queries read what comes before their block of 64, merged, and the keys of the block up to their own; two heads share one of
    keys. The maximum of softmax is that of the keys so far, at times the one before the block."""
    n, heads = Numbers(halves), 2
    eps, block, blocks = 0.0 if kind == "exp" else 0.125, min(tokens, 64), -(-tokens // 64)
    draw = n.wide if halves == "f32" else n.narrow
    width, extra = count or widths[0], 2 if kind == "softmax" else 0
    q = draw(1, tokens, heads * widths[0])
    n.store(np.abs(n.random.standard_normal((1, 1, blocks, width + extra, widths[1] + 1), np.float32)), 0, np.nan)
    if extra:
        n.operands[-1][:, :, :, -1] = n.random.integers(-2, 3, (1, 1, blocks, 1))
    s = n.operands[-1][0, 0].astype(np.float64)
    k, v = draw(1, tokens, widths[0]), draw(1, tokens, widths[1])
    w = projections(n, widths[0], count, narrow)
    valid = n.integers(1, tokens, below=2, dtype=np.uint8)[0] if padded else np.ones(tokens, np.uint8)
    (query, query_half), (key, key_half) = features(of_heads(q, heads), w, scale), features(k[0], w, scale)
    shift = math.log(width) / 2
    truth = np.zeros((1, tokens, heads, widths[1]))
    for i in range(tokens):
        before, since = s[i // 64], [j for j in range(i // 64 * 64, i + 1) if valid[j]]
        ones = np.concatenate([v[0, since], np.ones((len(since), 1))], 1)
        sums = before[:width]
        if kind == "relu":
            sums = sums + (np.maximum(key[since], 0) + eps).T @ ones
        else:
            first = before[-1, 0] / math.log2(math.e) if extra else 0.0
            most = max([first, *key[since].ravel()]) if extra else shift
            sums = (sums * math.exp(first - most) if extra else sums) + np.exp(key[since] - key_half[since, None] - most).T @ ones
        if extra:
            sums = sums + eps * (before[width] + ones.sum(0))
        for h in range(heads):
            x = query[0, h, i]
            weights = np.maximum(x, 0) + eps if kind == "relu" else np.exp(x - query_half[0, h, i] - (x.max() if extra else shift)) + eps
            result = weights @ sums
            truth[0, i, h] = result[:-1] / result[-1]
    kinds = [f"tensor<1x{tokens}x{columns}x{halves}>" for columns in (heads * widths[0], widths[0], widths[1])]
    kinds.insert(1, f"tensor<1x1x{blocks}x{width + extra}x{widths[1] + 1}xf32>")
    program, read = weight_of(widths[0], count) if w is not None else ("", "")
    mask = [f"tensor<1x{tokens}xi1>"] if padded else []
    types = ", ".join([*kinds, *([f"tensor<{widths[0]}x{count}xf32>"] if read else []), *mask])
    arguments = f"%q: {kinds[0]}, %s: {kinds[1]}, %k: {kinds[2]}, %v: {kinds[3]}" + (f", %m: {mask[0]}" if padded else "")
    shape = f"1x{tokens}x{heads * widths[1]}"
    return case(n, f"""
      {program}
      func.func @main({arguments}) -> tensor<{shape}xf32> {{
        {read}
        %y = hova.summary_attention {kind} %q, %s key(%k) value(%v) {"features(%w)" if read else ""} {"key_valid(%m)" if padded else ""}
            {{heads = {heads} : i64, block = {block} : i64, merged, scale = {scale} : f64, eps = {eps} : f64{", narrow" if narrow else ""}}}
            : ({types}) -> tensor<{shape}xf32>
        return %y : tensor<{shape}xf32>
      }}""", [truth.reshape(1, tokens, -1)], limit, "f32")
