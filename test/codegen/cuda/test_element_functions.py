# ===- test_element_functions.py - Functions of elements on a GPU ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Errors of the functions of elements against float64, in both executors."""

import math

import numpy as np
import ptx_numbers
import pytest
import sass
from kernels import written


def arguments():
    """f32 of every exponent and both signs, densely where functions bend, and those that are special."""
    random = np.random.default_rng(5)
    scales = np.float32(2) ** np.arange(-149, 128, dtype=np.float32)
    every = (scales * random.uniform(1, 2, scales.size)).astype(np.float32)
    usual = np.concatenate([random.uniform(-bound, bound, 1200) for bound in (0.5, 3, 12, 110)]).astype(np.float32)
    special = np.array([0, 1, 0.6, 5, 13.25, 88, 100, 3.4e38, np.inf], np.float32)
    values = np.concatenate([every, -every, usual, special, -special, [np.nan]]).astype(np.float32)
    return np.resize(values, (96, 64))


def mapped(folder, body, ways=("nearest",)):
    """The arguments, and what both executors make of each by a body that makes %b of %a, however approximations lie."""
    t, m = "!hova.tile<96x64xf32, row 6x1>", "memref<96x64xf32>"
    source = arguments()
    text = f"""
func.func @kernel(%m: {m}, %r: {m}) {{
  %c0 = arith.constant 0 : index
  %t = hova.group_load %m[%c0, %c0] : {m} -> {t}
  %u = hova.group_map (%t) : ({t}) -> {t} {{
  ^bb0(%a: f32, %p: index, %q: index):
    {body}
    hova.group_yield %b : f32
  }}
  hova.group_store %u, %r[%c0, %c0] : {t}, {m}
  return
}}"""
    case = written(folder, text, [source, np.zeros_like(source)], source)
    sass.check_registers(case.ptx(), folder)
    return source, *(result for way in ways for result in (case.emulate(folder, [("early", 0)], approximations=way)[0],
                                                           case.run("early", 0, approximations=way)))


erf, erfc = np.vectorize(math.erf), np.vectorize(math.erfc)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def gelu_tanh(x):
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def hard_swish(x):
    return np.where(x < -3, 0, x * np.clip(x + 3, 0, 6) / 6)


# Operation, truth in float64, limits, and how the error is measured: in units of the last place of f32 of the result, of the
# argument, or absolutely in those of 1.
FUNCTIONS = {
    "math.exp": (np.exp, 1.8, "result"),
    "math.exp2": (np.exp2, 0.5, "result"),
    "math.log": (np.log, 1.2, "log"),
    "math.tanh": (np.tanh, 1.4, "result"),
    "math.erf": (erf, 3.6, "absolute"),
    "math.sqrt": (np.sqrt, 0.5, "result"),
    "math.rsqrt": (lambda x: 1 / np.sqrt(x), 0.5, "result"),
    # Rounded twice where it is no normal number.
    "1 /": (lambda x: 1 / x, 0.63, "result"),
    "math.absf": (np.abs, 0, "result"),
    "math.floor": (np.floor, 0, "result"),
    "math.ceil": (np.ceil, 0, "result"),
    "arith.negf": (lambda x: -x, 0, "result"),
    "hova.activation relu": (lambda x: np.maximum(x, 0), 0, "result"),
    "hova.activation tanh": (np.tanh, 1.4, "result"),
    "hova.activation sigmoid": (sigmoid, 2.4, "result"),
    "hova.activation gelu_erf": (lambda x: x * erfc(-x / math.sqrt(2)) / 2, 2, "argument"),
    "hova.activation gelu_tanh": (gelu_tanh, 1.5, "argument"),
    "hova.activation silu": (lambda x: x * sigmoid(x), 1.2, "argument"),
    "hova.activation quick_gelu": (lambda x: x * sigmoid(1.702 * x), 1.4, "argument"),
    "hova.activation softplus": (lambda x: np.logaddexp(x, 0), 3.3, "result"),
    "hova.activation relu2": (lambda x: np.maximum(x, 0) ** 2, 0.5, "result"),
    "hova.activation hard_swish": (hard_swish, 2.3, "result"),
}


# The same where approximations lie at their bounds: of functions that have any.
FARTHEST = {"math.exp": 4.4, "math.exp2": 4.3, "math.log": 4.5, "math.tanh": 2.4, "math.erf": 6, "math.rsqrt": 2.2, "1 /": 1,
            "hova.activation tanh": 2.4, "hova.activation sigmoid": 6.8, "hova.activation gelu_erf": 2.4, "hova.activation gelu_tanh": 2.2,
            "hova.activation silu": 2.3, "hova.activation quick_gelu": 2.3, "hova.activation softplus": 7}


def body_of(name):
    """That makes %b of %a."""
    if name.startswith("hova"):
        return f"""%v = vector.broadcast %a : f32 to vector<1x1xf32>
    %w = {name} %v : vector<1x1xf32>
    %b = vector.extract %w[0, 0] : f32 from vector<1x1xf32>"""
    if name == "1 /":
        return "%one = arith.constant 1.0 : f32\n    %b = arith.divf %one, %a : f32"
    return f"%b = {name} %a : f32"


def largest_error(name, x, result):
    """Of results, in units of the last place; where an argument is infinite, 0 or no number, it is the very result."""
    exact, _, unit = FUNCTIONS[name]
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        truth = exact(x)
        if "lu" in name and "relu" not in name:  # the limit, not infinity times 0
            truth[np.isneginf(x)] = 0
        truth[np.abs(truth) > np.finfo(np.float32).max] *= np.inf
    tiny = np.finfo(np.float32).tiny
    usual = np.isfinite(x) & np.isfinite(truth)
    assert np.array_equal(np.isnan(result), np.isnan(truth))
    infinite = np.isinf(truth)
    assert np.array_equal(result[infinite], truth[infinite].astype(np.float32))
    scale = {"argument": x, "absolute": np.ones_like(x), "log": np.maximum(np.abs(truth), 1)}.get(unit, truth)
    ulp = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(scale[usual]), tiny))) - 23)
    error = np.abs(result[usual].astype(np.float64) - truth[usual]) / ulp
    if name != "1 /":  # where a result is below the least normal number, 0 is as good
        error[(np.abs(truth[usual]) < tiny) & (result[usual] == 0)] = 0
    print(f"\n{name}: {error.max():.3g} units of the last place of {unit}, at {x[usual][error.argmax()]:.8g}")
    return error.max()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_elements(name, tmp_path):
    """The error of each function against float64, in both executors, which take the nearest number for each instruction that
    PTX approximates."""
    x, *results = mapped(tmp_path, body_of(name))
    for result in results:
        assert largest_error(name, x, result) <= FUNCTIONS[name][1]


@pytest.mark.parametrize("name", FARTHEST)
def test_functions_of_elements_at_their_bounds(name, tmp_path):
    """The same as far off as PTX allows, to both sides: what a device errs at most."""
    x, *results = mapped(tmp_path, body_of(name), ("above", "below", "either"))
    farthest = max(largest_error(name, x, result) for result in results)
    assert FUNCTIONS[name][1] < farthest <= FARTHEST[name]


def compare(how):
    """1 where a comparison holds."""
    return (f"%c = arith.cmpf {how}, %x, %y : f32\n    %z0 = arith.constant 0.0 : f32\n    %z1 = arith.constant 1.0 : f32\n"
            f"    %z = arith.select %c, %z1, %z0 : f32")


def ordered(how):
    """What a comparison of a name of MLIR says."""
    plain = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}

    def judge(x, y):
        none = np.isnan(x) | np.isnan(y)
        if how in ("ord", "uno"):
            return none == (how == "uno")
        return np.where(none, how[0] == "u", plain[how[1:]](x, y))
    return judge


# What stands for %z = f(%x, %y), and its very value, rounded to f32.
PAIRS = {
    "arith.divf": ("%z = arith.divf %x, %y : f32", lambda x, y: x / y),
    "arith.maximumf": ("%z = arith.maximumf %x, %y : f32", np.maximum),
    "arith.minimumf": ("%z = arith.minimumf %x, %y : f32", np.minimum),
    "arith.maxnumf": ("%z = arith.maxnumf %x, %y : f32", np.fmax),
    "arith.minnumf": ("%z = arith.minnumf %x, %y : f32", np.fmin),
    "math.copysign": ("%z = math.copysign %x, %y : f32", np.copysign),
    **{f"arith.cmpf {how}": (compare(how), ordered(how))
       for how in ("oeq", "one", "olt", "ole", "ogt", "oge", "ord", "ueq", "une", "ult", "ule", "ugt", "uge", "uno")},
    # As operations that join a kernel write them: on vectors of one element, with constants inside and outside of the body.
    "vectors": ("""%v = vector.broadcast %x : f32 to vector<1x1xf32>
    %w = vector.from_elements %y : vector<1xf32>
    %w2 = vector.shape_cast %w : vector<1xf32> to vector<1x1xf32>
    %three = arith.constant dense<3.0> : vector<1x1xf32>
    %k = arith.mulf %v, %three : vector<1x1xf32>
    %l = arith.addf %k, %outside : vector<1x1xf32>
    %half = arith.truncf %l : vector<1x1xf32> to vector<1x1xbf16>
    %o = arith.extf %half : vector<1x1xbf16> to vector<1x1xf32>
    %c = arith.cmpf olt, %o, %w2 : vector<1x1xf32>
    %s = arith.select %c, %o, %w2 : vector<1x1xi1>, vector<1x1xf32>
    %z = vector.extract %s[0, 0] : f32 from vector<1x1xf32>""",
                lambda x, y: np.where((r := ptx_numbers.float_of_bf16(ptx_numbers.bf16_of_float((x.astype(np.float32) * np.float32(3)) + np.float32(2)))) < y, r, y)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_elements(name, tmp_path):
    """Each has one result, so both executors give it."""
    body, exact = PAIRS[name]
    special = np.array([0, -0.0, 1, -1, 2.5, 1e-40, -3e38, 3e38, np.inf, -np.inf, np.nan, 7e-39], np.float32)
    x, y = (np.concatenate([part.reshape(-1), arguments().reshape(-1)[shift : shift + 4096 - special.size**2]]).reshape(64, 64)
            for part, shift in zip(np.meshgrid(special, special), (0, 777), strict=True))
    t, m = "!hova.tile<64x64xf32, product 2x2>", "memref<64x64xf32>"
    case = written(tmp_path, f"""
func.func @kernel(%m: {m}, %n: {m}, %r: {m}) {{
  %c0 = arith.constant 0 : index
  %outside = arith.constant dense<2.0> : vector<1x1xf32>
  %a = hova.group_load %m[%c0, %c0] : {m} -> {t}
  %b = hova.group_load %n[%c0, %c0] : {m} -> {t}
  %u = hova.group_map (%a, %b) : ({t}, {t}) -> {t} {{
  ^bb0(%x: f32, %y: f32, %p: index, %q: index):
    {body}
    hova.group_yield %z : f32
  }}
  hova.group_store %u, %r[%c0, %c0] : {t}, {m}
  return
}}""", [x, y, np.zeros_like(x)], x)
    with np.errstate(all="ignore"):
        truth = np.asarray(exact(x.astype(np.float64), y.astype(np.float64))).astype(np.float32)
    for result in (case.emulate(tmp_path, [("early", 0)])[0], case.run("early", 0)):
        assert np.array_equal(result, truth, equal_nan=True)
