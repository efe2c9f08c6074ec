#===- oracle.py - The operators in NumPy, from the papers' equations ------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# An implementation in float64 that shares no code with hova: it is what the
# reference evaluator is checked against. Every function states the equation it
# follows. Plain formulas, no blocking, no online softmax, so that a reader can
# hold each one next to the paper. Row convention: y = x W + b, W is [in, out].
#
#===-----------------------------------------------------------------------===#

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


# --- dense, element-wise and norm --------------------------------------------


def linear(x, weight, bias=None):
    """y = x W + b over the last axis."""
    y = np.einsum("...i,io->...o", x, weight)
    return y if bias is None else y + bias


def softmax(x, log=False):
    """Shares of a row that add up to one, or their logarithms."""
    shifted = x - np.max(x, axis=-1, keepdims=True)
    total = np.sum(np.exp(shifted), axis=-1, keepdims=True)
    return shifted - np.log(total) if log else np.exp(shifted) / total


def layer_norm(x, gain, bias, eps):
    """g (x - mean) / sqrt(var + eps) + b with the population variance."""
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + eps) + bias


def rms_norm(x, eps):
    """x / sqrt(mean(x^2) + eps) (Zhang and Sennrich, Eq. 4)."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def unit_length(x, eps):
    """x / max(|x|, eps), as torch.nn.functional.normalize has it."""
    return x / np.maximum(np.sqrt(np.sum(x * x, axis=-1, keepdims=True)), eps)


def sigmoid(x):
    """1 / (1 + e^-x), by the branch that cannot overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def gelu(x, both):
    """x times `both` / 2; at -infinity the limit, not infinity times zero."""
    return np.where(np.isneginf(x), 0.0, 0.5 * x * both)


def share(x, part):
    """x times a part of it; at -infinity the limit, not infinity times zero."""
    return np.where(np.isneginf(x), 0.0, x * part)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu_erf": lambda x: gelu(x, 1 + _erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: gelu(
        x, 1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    ),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda x: share(x, sigmoid(x)),
    "quick_gelu": lambda x: share(x, sigmoid(1.702 * x)),
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "relu2": lambda x: np.maximum(x, 0.0) ** 2,
    "hard_swish": lambda x: share(x, np.clip(x + 3, 0.0, 6.0) / 6),
}


def feed_forward(x, w1, b1, w2, b2, activation):
    """act(x W1 + b1) W2 + b2."""
    return linear(ACTIVATIONS[activation](linear(x, w1, b1)), w2, b2)


# --- attention ---------------------------------------------------------------


def split_heads(x, heads):
    """[B, N, M d] -> [B, M, N, d]; head m owns columns m d .. (m + 1) d - 1."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)


def merge_heads(x):
    """[B, M, N, d] -> [B, N, M d]."""
    batch, heads, tokens, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, tokens, heads * width)


def share_heads(x, heads):
    """[B, G, N, d] -> [B, M, N, d]: head m is head m // (M / G) (Ainslie et al., GQA)."""
    return np.repeat(x, heads // x.shape[1], axis=1)


def kept(shape, causal=False, key_valid=None, mask=None):
    """Which of the scores [B, M, Nq, Nk] take part: all masks and-ed.

    Causal is aligned bottom-right, key_valid is [B, Nk], mask broadcasts to
    the scores.
    """
    keep = np.ones(shape, dtype=bool)
    queries, keys = shape[-2:]
    if causal:
        i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
        keep &= j <= i + (keys - queries)
    if key_valid is not None:
        keep &= key_valid[:, None, None, :]
    if mask is not None:
        keep &= mask
    return keep


def unmasked(scores, of_zeros):
    """Which scores nothing but a product of -inf makes -inf: a bias of -inf masks
    like a boolean, unless the score is NaN.

    `of_zeros` is what the scores were if all products were 0.
    """
    return ~(np.isneginf(scores) & np.isneginf(of_zeros))


def probabilities(scores, keep, empty_row="zero", counts=1.0):
    """Softmax over the kept keys, each as often as `counts` says; a row without
    any is 0 or 1 / Nk.
    """
    masked = np.where(keep, scores, -np.inf)
    any_kept = keep.any(axis=-1, keepdims=True)
    peak = np.max(masked, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(masked - np.where(any_kept, peak, 0.0))
    weights = np.where(keep, counts, 0.0).astype(weights.dtype) * weights
    total = np.sum(weights, axis=-1, keepdims=True)
    empty = 1.0 / scores.shape[-1] if empty_row == "uniform" else 0.0
    return np.where(any_kept, weights / np.where(any_kept, total, 1.0), empty)


def weights_of(scores, keep, normalize, counts=1.0):
    """Scores as weights, each as often as `counts` says, 0 where a key is masked, by
    a bias of -inf too; over their sum, unless that is 0.
    """
    weights = np.where(keep & ~np.isneginf(scores), scores, 0.0)
    weights = np.asarray(counts, dtype=weights.dtype) * weights
    if normalize == "none":
        return weights
    total = weights.sum(axis=-1, keepdims=True)
    return np.where(total == 0, 0.0, weights / np.where(total == 0, 1.0, total))


def softmax_scores(q, k, scale=None):
    """scale Q K^T on [B, M, N, d]; scale is 1 / sqrt(d) unless given."""
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    return scale * np.einsum("bmid,bmjd->bmij", q, k)


def unit(x):
    """x / max(|x|, 1e-12) over the last axis."""
    length = np.sqrt(np.sum(x * x, axis=-1, keepdims=True))
    return x / np.maximum(length, x.dtype.type(1e-12))


def cosine_scores(q, k, theta, stored=lambda values: values):
    """exp(min(theta_m, ln 100)) cos(q_i, k_j) (Swin V2, Eq. 2) on [B, M, N, d].

    `stored` rounds what enters the product: queries with their factor, and keys.
    """
    factor = np.minimum(np.exp(theta), 100)[:, None, None].astype(q.dtype)
    return softmax_scores(stored(factor * unit(q)), stored(unit(k)), 1.0)


def additive_scores(q, k, wq, wk, wv):
    """e_ij = w_v . tanh(W_q q_i + W_k k_j) (Bahdanau), per head.

    wq is [M, p_q, a], wk [M, p_k, a], wv [M, a].
    """
    hidden = np.tanh(
        np.einsum("bmid,mda->bmia", q, wq)[:, :, :, None, :]
        + np.einsum("bmjd,mda->bmja", k, wk)[:, :, None, :, :]
    )
    return np.einsum("bmija,ma->bmij", hidden, wv)


def mix(weights, v):
    """The values [B, M, Nk, d] weighed by [B, M, Nq, Nk]."""
    return np.einsum("bmij,bmjd->bmid", weights, v)


def attend(
    scores, v, score_bias=None, causal=False, key_valid=None, mask=None,
    empty_row="zero", slots=0, temperature=1.0, mix=mix, normalize="softmax",
    of_zeros=0.0, counts=1.0,
):
    """softmax(mask((scores + score_bias) / temperature)) V; `mix` is the product
    with V, and `of_zeros` what the scores were if all products were 0.

    The last `slots` columns have no bias and are seen by every query. Others are
    seen as often as `counts` says.
    """
    keys = scores.shape[-1] - slots
    if score_bias is not None:
        scores = scores.copy()
        scores[..., :keys] += score_bias
        of_zeros = of_zeros + score_bias
    keep = np.ones(scores.shape, dtype=bool)
    keep[..., :keys] = kept((*scores.shape[:-1], keys), causal, key_valid, mask)
    keep[..., :keys] &= unmasked(scores[..., :keys], of_zeros)
    keep &= counts > 0
    if normalize != "softmax":
        return mix(weights_of(scores, keep, normalize, counts), v)
    return mix(probabilities(scores / temperature, keep, empty_row, counts), v)


def attention(q, k, v, scale=None, **masks):
    """softmax(mask(scale Q K^T + score_bias)) V on [B, M, N, d]."""
    return attend(softmax_scores(q, k, scale), v, **masks)


def additive_attention(q, k, v, wq, wk, wv, **masks):
    """The same with Bahdanau's scores."""
    return attend(additive_scores(q, k, wq, wk, wv), v, **masks)


def blocks_seen(blocks, random):
    """How often query block i counts key block j (Big Bird, section 2): [M, n, n].

    All for the first and the last; for others both of these, the neighbours, and
    row i - 1 of `random` [M, n - 2, r] as often as a block is in it, unless it is -1.
    """
    seen = np.zeros((random.shape[0], blocks, blocks))
    for i in range(blocks):
        near = [j for j in (i - 1, i, i + 1) if 0 <= j < blocks]
        seen[:, i, [0, blocks - 1, *near]] = 1
    seen[:, [0, blocks - 1]] = 1
    for m, row, entry in np.ndindex(random.shape):
        if random[m, row, entry] >= 0:
            seen[m, row + 1, int(random[m, row, entry])] += 1
    return seen


def keys_seen(seen, size, tokens):
    """How often a query counts a key, [M, N, N], of how often blocks do, [M, n, n];
    block i is the tokens from `size` i on.
    """
    return seen.repeat(size, axis=1).repeat(size, axis=2)[:, :tokens, :tokens]


PERFORMER = {
    "softmax": {"eps": 1e-6, "stabilizer": 1e-6, "denominator_eps": 0.0},
    "relu": {"eps": 1e-3, "stabilizer": 0.0, "denominator_eps": 0.0},
    "exp": {"eps": 0.0, "stabilizer": 0.0, "denominator_eps": 1e-8},
}


def project_tokens(x, matrix):
    """Linformer, Eq. 7: matrix^T x on heads [B, M, N, d]; matrix [N, k]."""
    return np.einsum("jr,bmjd->bmrd", matrix, x)


def features(x, w, kernel, eps):
    """The rows of x [n, d] as features [n, m]; w is [m, d], or None.

    softmax (FAVOR+): (exp(w x - |x|^2/2 - max) + eps) / sqrt(m), the maximum
    over all rows and features. relu: ReLU(w x) + eps. exp (T2T):
    exp(w x - |x|^2/2) / sqrt(m).
    """
    u = x if w is None else x @ w.T
    if kernel == "relu":
        return np.maximum(u, 0.0) + eps
    peak = np.max(u) if kernel == "softmax" else 0.0
    half = np.sum(x**2, axis=-1, keepdims=True) / 2
    return (np.exp(u - half - peak) + eps) / math.sqrt(u.shape[-1])


def performer(
    q, k, v, w, kernel="softmax", scale=None, causal=False, key_valid=None,
    **constants,
):
    """phi(Q) (phi(K)^T V) / (phi(Q) (phi(K)^T 1)) on [B, M, N, d].

    Row i of the causal form is the last row of the other on keys up to i. The
    denominator R grows by 2 s where |R| <= s. A row without keys is 0, and so
    is one whose denominator is.
    """
    constants = {**PERFORMER[kernel], **constants}
    eps, s = constants["eps"], constants["stabilizer"]
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1]) if kernel == "softmax" else 1.0
    q, k = q * math.sqrt(scale), k * math.sqrt(scale)
    batch, heads, queries, _ = q.shape
    out = np.zeros((batch, heads, queries, v.shape[-1]))
    for b, m, i in np.ndindex(batch, heads, queries):
        keep = np.ones(k.shape[2], bool) if key_valid is None else key_valid[b]
        if causal:
            keep = keep & (np.arange(k.shape[2]) <= i)
        if not keep.any():
            continue
        of_query = features(q[b, m, i : i + 1], w, kernel, eps)
        of_keys = features(k[b, m][keep], w, kernel, eps)
        total = (of_query @ of_keys.sum(axis=0))[0]
        total += 2 * s if abs(total) <= s else 0.0
        total += constants["denominator_eps"]
        sums = of_query @ (of_keys.T @ v[b, m][keep])
        out[b, m, i] = sums[0] / total if total != 0 else 0.0
    return out


def head_reweight(h, x, a1, a2, b, bias):
    """Horizontal attention: a softmax over the heads of every token.

    A_m = ReLU(H_m W_A1 + X W_A2), B_m = A_m W_B + b_B,
    alpha = softmax over m, result alpha_m H_m. h is [B, M, N, dv], x [B, N, D].
    """
    hidden = np.maximum(
        np.einsum("bmnd,de->bmne", h, a1)
        + np.einsum("bnd,de->bne", x, a2)[:, None],
        0.0,
    )
    logits = np.einsum("bmne,e->bmn", hidden, b.reshape(-1)) + bias
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    alpha = exps / exps.sum(axis=1, keepdims=True)
    return alpha[..., None] * h


def channel_gate(y, x, u1, u2, u, bias, stored=lambda values: values):
    """Vertical attention: sigmoid(ReLU(X W_U1 + Y W_U2) W_U + b_U) * Y.

    `stored` rounds what enters the products; the product with Y is of all of Y.
    """
    hidden = np.maximum(linear(stored(x), u1) + linear(stored(y), u2), 0.0)
    return sigmoid(linear(stored(hidden), u, bias)) * y


# --- tokens ------------------------------------------------------------------


def sinusoid(length, width, layout="interleaved", base=10000.0):
    """The fixed position table [length, width], positions from 0, in float32."""
    table = np.zeros((length, width))
    for i in range(length):
        if layout == "interleaved":
            for c in range(width):
                angle = i / base ** (2 * (c // 2) / width)
                table[i, c] = math.sin(angle) if c % 2 == 0 else math.cos(angle)
        else:
            half = width // 2
            for j in range(half):
                rate = math.exp(-j * math.log(base) / (half - 1))
                table[i, j] = math.sin(i * rate)
                table[i, half + j] = math.cos(i * rate)
    return table.astype(np.float32).astype(np.float64)


def rotate(x, heads, cosines, sines, pairs="halves"):
    """RoFormer, Eq. 34: pairs of columns as complex numbers, turned by theirs."""
    batch, tokens, width = x.shape
    count, width = cosines.shape[1], width // heads
    split = x.reshape(batch, tokens, heads, width).copy()
    turned, rest = split[..., : 2 * count], split[..., 2 * count :]
    if pairs == "halves":
        real, imaginary = turned[..., :count], turned[..., count:]
    else:
        real, imaginary = turned[..., 0::2], turned[..., 1::2]
    # `1j * y` would be NaN where y is infinite.
    c, s = cosines[None, :, None], sines[None, :, None]
    parts = [real * c - imaginary * s, real * s + imaginary * c]
    if pairs == "halves":
        turned = np.concatenate(parts, axis=-1)
    else:
        turned = np.stack(parts, axis=-1).reshape(turned.shape)
    result = np.concatenate([turned, rest], axis=-1)
    return result.reshape(x.shape).astype(x.dtype)


def pool(x, kind, valid=None, ids=None, id=None):
    """[B, N, D] -> [B, D], an item at a time; 0, or the first token, where none is meant."""
    rows = []
    for item, tokens in enumerate(x):
        kept = tokens if valid is None else tokens[valid[item]]
        if kind == "first":
            rows.append(tokens[0])
        elif kind == "last":
            rows.append(kept[-1] if len(kept) else tokens[0])
        elif kind == "token":
            meant = ids[item].max() if id is None else id
            found = np.flatnonzero(ids[item] == meant)
            rows.append(tokens[found[0]] if len(found) else tokens[0])
        elif len(kept) == 0:
            rows.append(np.zeros_like(tokens[0]))
        else:
            rows.append(kept.mean(axis=0) if kind == "mean" else kept.max(axis=0))
    return np.stack(rows)


def counted_positions(valid, offset):
    """RoBERTa: valid tokens from `offset` on, and padding in front of them.

    As published, of ids: cumsum(ids != pad) * (ids != pad) + pad.
    """
    return np.cumsum(valid, axis=1) * valid + offset - 1


def patches(image, size):
    """[B, C, H, W] -> [B, N, C size size]; columns c, kh, kw; rows row-major."""
    batch, channels, height, width = image.shape
    rows, columns = height // size, width // size
    out = np.empty((batch, rows * columns, channels * size * size))
    for r in range(rows):
        for c in range(columns):
            tile = image[
                :, :, r * size : (r + 1) * size, c * size : (c + 1) * size
            ]
            out[:, r * columns + c] = tile.reshape(batch, -1)
    return out


# --- omnidirectional attention -----------------------------------------------


def index_sort(states):
    """K states [B, N, D] -> [B, N K, D], token-major: p = i K + l."""
    batch, tokens, width = states[0].shape
    return np.stack(states, axis=2).reshape(batch, tokens * len(states), width)


def max_pool(x, size):
    """[B, N size, D] -> [B, N, D]: the maximum of each group of rows."""
    batch, rows, width = x.shape
    return x.reshape(batch, rows // size, size, width).max(axis=2)


def omni_keep(length, states, causal):
    """Flattened: k <= q. Block: token(k) <= token(q), own layers included."""
    position = np.arange(length * states)
    if causal == "flattened":
        return position[None, :] <= position[:, None]
    if causal == "block":
        return position[None, :] // states <= position[:, None] // states
    return np.ones((length * states, length * states), dtype=bool)


# --- windows -----------------------------------------------------------------


def clamped(grid, window, shift, clamp=None):
    """Sides and shifts of windows where an image is no larger than one.

    Swin's, and `both`: the shorter side, unshifted. `per_axis`, as SwinV2 for
    images that are not square: each axis by itself.
    """
    if clamp == "per_axis":
        return (tuple(min(side, window) for side in grid),
                tuple(shift if side > window else 0 for side in grid))
    least = min(grid)
    return ((least, least), (0, 0)) if least <= window else (
        (window, window), (shift, shift))


def partition(x, grid, window, shift):
    """[B, H W, C] -> [B windows, tokens, C]: roll, then cut (Swin, 3.2)."""
    (height, width), (h, w) = grid, window
    batch, _, channels = x.shape
    image = x.reshape(batch, height, width, channels)
    image = np.roll(image, (-shift[0], -shift[1]), axis=(1, 2))
    cut = image.reshape(batch, height // h, h, width // w, w, channels)
    return cut.transpose(0, 1, 3, 2, 4, 5).reshape(-1, h * w, channels)


def reverse(windows, grid, window, shift):
    """The inverse of `partition`."""
    (height, width), (h, w) = grid, window
    channels = windows.shape[-1]
    cut = windows.reshape(-1, height // h, width // w, h, w, channels)
    image = cut.transpose(0, 1, 3, 2, 4, 5).reshape(-1, height, width, channels)
    image = np.roll(image, shift, axis=(1, 2))
    return image.reshape(-1, height * width, channels)


def shift_mask(grid, window, shift, value=-100.0):
    """[windows, tokens, tokens]: `value` where two regions of a roll meet."""
    labels = np.zeros((1, *grid, 1))
    count = 0
    for rows in regions(grid[0], window[0], shift[0]):
        for columns in regions(grid[1], window[1], shift[1]):
            labels[:, rows, columns] = count
            count += 1
    flat = labels.reshape(1, -1, 1)
    cut = partition(flat, grid, window, (0, 0))[..., 0]
    return np.where(cut[:, :, None] != cut[:, None, :], value, 0.0)


def regions(size, window, shift):
    """The slices of a rolled axis whose tokens were neighbours."""
    if shift == 0:
        return [slice(0, size)]
    return [slice(0, size - window), slice(size - window, size - shift),
            slice(size - shift, size)]


def relative_bias(table, window):
    """[(2h-1)(2w-1), M] -> [M, tokens, tokens], query less key."""
    h, w = window
    y, x = np.divmod(np.arange(h * w), w)
    down = y[:, None] - y[None, :] + h - 1
    right = x[:, None] - x[None, :] + w - 1
    return table[down * (2 * w - 1) + right].transpose(2, 0, 1)


def log_offsets(window, pretrained=0):
    """[(2h-1)(2w-1), 2]: what the network of Swin V2, Eq. 4 reads, in float32."""
    rows = []
    for dy in range(1 - window[0], window[0]):
        for dx in range(1 - window[1], window[1]):
            row = []
            for delta, side in zip((dy, dx), window):
                c = 8 * delta / max((pretrained or side) - 1, 1)
                row.append(np.sign(c) * math.log2(1 + abs(c)) / math.log2(8))
            rows.append(row)
    return np.array(rows).astype(np.float32).astype(np.float64)


def merge_patches(x, grid):
    """[B, H W, C] -> [B, H W / 4, 4 C]: even, lower, right, both."""
    batch, _, channels = x.shape
    image = x.reshape(batch, *grid, channels)
    parts = [image[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
    return np.concatenate(parts, axis=-1).reshape(batch, -1, 4 * channels)


# --- Unfolded images ---------------------------------------------------------


def two(sides):
    """A number for both sides, or two: down, across."""
    return tuple(sides) if isinstance(sides, (list, tuple)) else (sides, sides)


def unfold(image, kernel, stride=1, padding=0, within=None, dilation=1):
    """[B, C, H, W] -> [B, places, C kernel kernel], a place at a time.

    Squares of `within` pixels a side are images of their own, row by row.
    """
    if within:
        batch, channels, height, width = image.shape
        squares = [image[:, :, top:top + within, left:left + within]
                   for top in range(0, height, within)
                   for left in range(0, width, within)]
        image = np.stack(squares, axis=1).reshape(-1, channels, within, within)
    steps = two(stride), two(dilation)
    extent = [(k - 1) * d + 1 for k, d in zip(two(kernel), steps[1])]
    rims = [(rim, rim) for rim in two(padding)]
    image = np.pad(image, ((0, 0), (0, 0), *rims))
    seen = [range(0, side - size + 1, step)
            for side, size, step in zip(image.shape[2:], extent, steps[0])]
    rows = [image[:, :, top:top + extent[0]:steps[1][0], left:left + extent[1]:steps[1][1]]
            .reshape(len(image), -1) for top in seen[0] for left in seen[1]]
    return np.stack(rows, axis=1)


def image_of(tokens, grid):
    """[B, H W, C] -> [B, C, H, W]."""
    return tokens.transpose(0, 2, 1).reshape(len(tokens), -1, *grid)


def places(side, kernel, stride=1, padding=0, dilation=1):
    """How often a kernel fits along a side."""
    return (side + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1


def pad(x, axis, before=0, after=0):
    rims = [(0, 0)] * x.ndim
    rims[axis] = (before, after)
    return np.pad(x, rims)
