#===- constant_cases.py - Golden cases of constants by expression ---------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# Tables that models compute from their configuration: rates of rotation with
# every published stretching, slopes of heads, buckets of distances, matrices
# that resize images. The description says each as an expression of its indices,
# the case as the formula of its paper or library, over whole arrays.
#
#===-----------------------------------------------------------------------===#

import math

import numpy as np

from case import Case
from score_cases import ScoreCase

# --- rotations ---------------------------------------------------------------


def rates(width, base=10000.0):
    return base ** (-2 * np.arange(width // 2) / width)


def linear_rates(width, factor):
    """Chen et al., Extending Context Window via Positional Interpolation."""
    return rates(width) / factor


def ntk_rates(width, factor, length, trained):
    """By parts of all frequencies at once: another base (dynamic NTK scaling)."""
    stretched = factor * length / trained - (factor - 1)
    return rates(width, 10000.0 * stretched ** (width / (width - 2)))


def yarn_rates(width, factor, trained, fast=32.0, slow=1.0):
    """Peng et al., YaRN: fast columns stay, slow ones are stretched, by a ramp between."""
    def column(turns):
        return width * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(10000.0))

    low, high = max(math.floor(column(fast)), 0), min(math.ceil(column(slow)), width - 1)
    ramp = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    return rates(width) * (1 - ramp) + rates(width) / factor * ramp


def llama_rates(width, factor, low, high, trained):
    """Grattafiori et al., The Llama 3 Herd of Models: by wavelength."""
    plain = rates(width)
    waves = 2 * math.pi / plain
    smooth = (trained / waves - low) / (high - low)
    between = (1 - smooth) * plain / factor + smooth * plain
    return np.where(waves < trained / high, plain,
                    np.where(waves > trained / low, plain / factor, between))


PLAIN_RATE = "10000 ** (-2 * index0 / 24)"
SHORT = [1.0, 1.25, 1.5, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.5]
YARN_COLUMN = "24 * log(256 / ({} * 6.283185307179586)) / (2 * log(10000))"
YARN_LOW = f"max(floor({YARN_COLUMN.format(32)}), 0)"
YARN_HIGH = f"min(ceil({YARN_COLUMN.format(1)}), 23)"
STRETCHINGS = {
    "linear": ("10000 ** (-2 * index0 / 24) / 4", linear_rates(24, 4)),
    "ntk": ("(10000 * (2 * 64 / 32 - 1) ** (24 / 22)) ** (-2 * index0 / 24)",
            ntk_rates(24, 2, 64, 32)),
    "yarn": (f"{PLAIN_RATE} * (1 + (1 / 8 - 1) * min(max((index0 - {YARN_LOW}) / "
             f"({YARN_HIGH} - {YARN_LOW}), 0), 1))", yarn_rates(24, 8, 256)),
    "llama3": ("if(6.283185307179586 / plain[index0] < 64 / 4, plain[index0], "
               "if(6.283185307179586 / plain[index0] > 64, plain[index0] / 8, "
               "plain[index0] * (1 + (1 / 8 - 1) * (1 - (64 * plain[index0] / 6.283185307179586 - 1) / 3))))",
               llama_rates(24, 8, 1, 4, 64)),
    "factors": ("plain[index0] / factors[index0]", rates(24) / np.array(SHORT)),
}


def single(table):
    """A constant has elements of f32."""
    return table.astype(np.float32).astype(np.float64)


def rotation(kind):
    """x C + R(x) S of RoFormer, a head of 24 columns whose partners are halves apart."""
    text, rate = STRETCHINGS[kind]
    case = Case("constant_rotary_" + kind)
    if kind == "factors":
        case.parameters = {"factors": SHORT}
    x = case.values("x", 2, 37, 24)
    case.layer("plain", "constant", shape=[12], value=PLAIN_RATE) if "plain" in text else None
    case.layer("rate", "constant", shape=[12], value=text)
    for name in ("cos", "sin"):
        case.layer(name, "constant", shape=[37, 24], value=f"{name}(row * rate[column % 12])")
    case.layer("left", "slice", input="x", end=12)
    case.layer("right", "slice", input="x", start=12)
    case.layer("minus", "scale", input="right", by=-1)
    case.layer("partners", "concat", inputs=["minus", "left"])
    case.layer("kept", "multiply", inputs=["x", "cos"])
    case.layer("turned", "multiply", inputs=["partners", "sin"])
    case.layer("y", "add", inputs=["kept", "turned"])
    angles = np.arange(37)[:, None] * np.concatenate([rate, rate])
    partners = np.concatenate([-x[..., 12:], x[..., :12]], axis=-1)
    case.output("y", "y", x * single(np.cos(angles)) + partners * single(np.sin(angles)))
    return case


# --- scores ------------------------------------------------------------------


def slopes():
    """Press et al., Train Short, Test Long: heads that are no power of two."""
    case = ScoreCase("constant_slopes")
    x = case.values("x", 2, 9, 12)
    near = "(2 ** floor(log2(6)))"
    case.layer("slope", "constant", shape=[6],
               value=f"if(index0 < {near}, 2 ** (-8 * (index0 + 1) / {near}), "
                     f"2 ** (-4 * (2 * (index0 - {near}) + 1) / {near}))")
    first = 2.0 ** (-8 / 4 * np.arange(1, 5))
    more = (2.0 ** (-8 / 8 * np.arange(1, 9)))[0::2][:2]
    case.values_by_name["slope"] = single(np.concatenate([first, more]))
    score = "score - slope[head] * (query - key)"
    case.layer("attn", "multi_head_attention", input="x", heads=6, score=score,
               keep="key <= query")
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", x, 6, key=x, written=case.written(score, "key <= query")))
    return case


def buckets(distances, number, farthest):
    """Raffel et al., T5: half for each direction, of which half are exact and the
    others grow with the logarithm. In integers: bucket exact + k begins where
    (size / exact)**more is (farthest / exact)**k."""
    each = number // 2
    exact, more = each // 2, each - each // 2

    def bucket(distance):
        size, steps = abs(int(distance)), range(1, more)
        if size >= exact:
            reached = [k for k in steps if size**more * exact**k >= farthest**k * exact**more]
            size = exact + len(reached)
        return size + (each if distance > 0 else 0)

    return np.array([bucket(distance) for distance in distances])


def relative_buckets(name, tokens, number, farthest):
    case = ScoreCase(name)
    x = case.values("x", 2, tokens, 12)
    last, each, exact = tokens - 1, number // 2, number // 4
    distance = f"abs(index0 - {last})"
    case.layer("bucket", "constant", shape=[2 * tokens - 1], dtype="i32",
               value=f"if(index0 > {last}, {each}, 0) + if({distance} < {exact}, {distance}, "
                     f"min({each - 1}, {exact} + floor(log({distance} / {exact}) / "
                     f"log({farthest} / {exact}) * {each - exact})))")
    distances = np.arange(-last, tokens)
    case.values_by_name["bucket"] = buckets(distances, number, farthest)
    case.weight("bias", number, 3)
    score = f"score + bias[bucket[key - query + {last}], head]"
    case.layer("attn", "multi_head_attention", input="x", heads=3, score=score)
    case.output("y", "attn", case.net.multi_head_attention(
        "attn", x, 3, key=x, written=case.written(score)))
    return case


def gathered():
    """Rows of a learned table that integers of a constant choose: Swin's bias."""
    case = Case("constant_rows")
    x = case.values("x", 2, 9, 5)
    case.layer("place", "constant", shape=[9, 5], dtype="i32",
               value="(row // 3 - column % 3 + 2) * 5 + row % 3 - column + 4")
    case.layer("table", "embedding", input="place", vocab=29, width=1)
    case.layer("rows", "reshape", input="table", shape=[9, 5])
    case.layer("y", "add", inputs=["x", "rows"])
    row, column = np.arange(9)[:, None], np.arange(5)[None]
    place = (row // 3 - column % 3 + 2) * 5 + row % 3 - column + 4
    case.output("y", "y", x + case.net.weight("table.weight", 29, 1)[place, 0])
    return case


# --- images ------------------------------------------------------------------


def triangle(x):
    return np.maximum(0, 1 - np.abs(x))


def cubic(x, a):
    """Keys, Cubic Convolution Interpolation for Digital Image Processing."""
    x = np.abs(x)
    return np.where(x <= 1, (a + 2) * x**3 - (a + 3) * x**2 + 1,
                    np.where(x < 2, a * (x**3 - 5 * x**2 + 8 * x - 4), 0))


def resizing(size, result, kernel, taps):
    """Which pixels a pixel of the result is made of: those outside are at the border."""
    matrix = np.zeros((result, size))
    for i in range(result):
        at = (i + 0.5) * size / result - 0.5
        for tap in range(math.floor(at) - taps + 1, math.floor(at) + taps + 1):
            matrix[i, min(max(tap, 0), size - 1)] += kernel(at - tap)
    return matrix


def smooth_resizing(size, result, kernel, reach):
    """Antialiased: the kernel is as wide as a pixel of the result, and what is
    outside has no weight."""
    wide = max(size / result, 1)
    matrix = np.zeros((result, size))
    for i in range(result):
        at = (i + 0.5) * size / result
        first = max(int(at - reach * wide + 0.5), 0)
        last = min(int(at + reach * wide + 0.5), size)
        for tap in range(first, last):
            matrix[i, tap] = kernel((tap - at + 0.5) / wide)
        matrix[i] /= matrix[i].sum()
    return matrix


AT = "((row + 0.5) * {size} / {result} - 0.5)"
TAP = "min(max(floor(" + AT + ") + k - {before}, 0), {size} - 1) == column"
AWAY = "abs(" + AT + " - floor(" + AT + ") - k + {before})"
TRIANGLE = "max(0, 1 - {x})"
CUBIC = ("if({x} <= 1, ({a} + 2) * {x}**3 - ({a} + 3) * {x}**2 + 1, "
         "if({x} < 2, {a} * ({x}**3 - 5 * {x}**2 + 8 * {x} - 4), 0))")


def matrix_text(size, result, kernel, taps):
    """Sum over the pixels that meet, whose places past a border are the border's."""
    text = f"sum(k, {2 * taps}, if({TAP}, {kernel.replace('{x}', AWAY)}, 0))"
    return (text.replace("{before}", str(taps - 1)).replace("{size}", str(size))
            .replace("{result}", str(result)))


def resized(name, matrix, layers, size, result, channels=3):
    """A learned table of pixels [size, size] beside an input [result, result]."""
    case = Case(name)
    x = case.values("x", 2, result * result, channels)
    for layer in layers:
        case.layer(layer.pop("name"), "constant", **layer)
    case.layer("both", "constant", shape=[result**2, size**2],
               value=f"matrix[row // {result}, column // {size}] * "
                     f"matrix[row % {result}, column % {size}]")
    case.layer("table", "weight", shape=[size * size, channels])
    case.layer("places", "linear", input="both", weight="table.weight", width=channels, bias=False)
    case.layer("y", "add", inputs=["x", "places"])
    table = case.net.weight("table.weight", size * size, channels)
    both = single(np.einsum("ij,kl->ikjl", matrix, matrix).reshape(result**2, size**2))
    case.output("y", "y", x + both @ table)
    return case


def plain_resizing(name, size, result, text, kernel, taps):
    layer = {"name": "matrix", "shape": [result, size],
             "value": matrix_text(size, result, text, taps)}
    return resized(name, resizing(size, result, kernel, taps), [layer], size, result)


def antialiased(size, result):
    """Bicubic, as torch and Pillow shrink and stretch images."""
    wide, at = max(size / result, 1), f"(row + 0.5) * {size} / {result}"
    away = f"(abs(column + 0.5 - {at}) / {wide!r})"
    layers = [
        {"name": "raw", "shape": [result, size],
         "value": CUBIC.replace("{x}", away).replace("{a}", "-0.5")},
        {"name": "matrix", "shape": [result, size],
         "value": f"raw[row, column] / sum(k, {size}, raw[row, k])"}]
    matrix = smooth_resizing(size, result, lambda x: cubic(x, -0.5), 2)
    return resized(f"constant_antialiased_{size}_{result}", matrix, layers, size, result)


def cases():
    for kind in STRETCHINGS:
        yield rotation(kind)
    yield slopes()
    yield relative_buckets("constant_buckets", 9, 8, 6)
    yield relative_buckets("constant_buckets_far", 150, 32, 128)
    yield gathered()
    for size, result in ((4, 7), (7, 4)):
        yield plain_resizing(f"constant_bilinear_{size}_{result}", size, result,
                             TRIANGLE, triangle, 1)
        yield plain_resizing(f"constant_bicubic_{size}_{result}", size, result,
                             CUBIC.replace("{a}", "-0.75"),
                             lambda x: cubic(x, -0.75), 2)
        yield antialiased(size, result)
