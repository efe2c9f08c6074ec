# ===- tiles.py - Tiles of products and attention --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernels of one product or attention with each tile that is worth a look, beside cuBLAS and PyTorch's attention.

A sample is a graph of launches one after the other, each with weights of its own, as layers have them; times are microseconds of one
launch. What the compiler assumes of tiles (codegen/cuda/facts/Gpus.cpp) is compared with this."""

from driver import DriverError, Launch
from store import find_torch, need, words_of

ROWS = 16  # that are compared with NumPy
TOLERANCES = {"product": 2**-7, "attention": 2**-6}


def narrowed(numpy, values):
    """Bits of bf16, rounded to the nearest."""
    bits = numpy.ascontiguousarray(values, numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def widened(numpy, bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def softmax(numpy, scores):
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


class Product:
    """x wT + bias; a launch has its number's weights."""

    def __init__(self, numpy, item, launches):
        random, (rows, columns, inner) = numpy.random.default_rng(0), item["shape"]
        self.x = narrowed(numpy, random.standard_normal((rows, inner), numpy.float32))
        self.w = [narrowed(numpy, random.standard_normal((columns, inner), numpy.float32) * numpy.float32(inner**-0.5))]
        # Rows of the first in another order: as many bytes, and other ones at each place.
        self.w += [numpy.roll(self.w[0], 7 * i + 1, 0) for i in range(1, launches)]
        self.bias = random.standard_normal((1, columns), numpy.float32)
        self.shape = rows, columns
        self.truth = widened(numpy, self.x[-ROWS:]) @ widened(numpy, self.w[0]).T + self.bias
        self.operands = [[self.x, w, self.bias] for w in self.w]

    def peer(self, torch, tensors):
        x, w, bias = tensors
        half = bias[0].bfloat16()
        return lambda i: torch.nn.functional.linear(x[0], w[i], half)


class Attention:
    """Heads of 64 of a joined projection."""

    def __init__(self, numpy, item, launches):
        random, (batch, tokens, heads) = numpy.random.default_rng(0), item["shape"]
        self.qkv = narrowed(numpy, random.standard_normal((batch, tokens, 3 * heads * 64), numpy.float32))
        q, k, v = (part.reshape(tokens, heads, 64).transpose(1, 0, 2) for part in numpy.split(widened(numpy, self.qkv[-1]), 3, axis=-1))
        attended = softmax(numpy, q[:, -ROWS:] @ k.transpose(0, 2, 1) / 8) @ v
        self.truth = attended.transpose(1, 0, 2).reshape(-1, heads * 64)
        self.shape = batch * tokens, heads * 64
        self.heads = heads
        self.operands = [[self.qkv]] * launches

    def peer(self, torch, tensors):
        (qkv,) = tensors
        batch, tokens, _ = qkv[0].shape
        q, k, v = (part.view(batch, tokens, self.heads, 64).transpose(1, 2) for part in qkv[0].chunk(3, dim=2))
        return lambda _: torch.nn.functional.scaled_dot_product_attention(q, k, v)


def time_peer(bench, torch, work, replays):
    """Microseconds of PyTorch's, in a graph of as many launches."""

    def on_device(arrays):
        made = {}
        for array in arrays:
            if id(array) not in made:
                bits = torch.frombuffer(bytearray(array.tobytes()), dtype=torch.bfloat16 if array.dtype == "uint16" else torch.float32)
                made[id(array)] = bits.reshape(array.shape).cuda()
        return [made[id(array)] for array in arrays]

    columns = [on_device(arrays) for arrays in zip(*work.operands)]
    columns[-1] = columns[-1][0] if len(columns) == 3 else columns[-1]
    run, stream, launches = work.peer(torch, columns), torch.cuda.Stream(), len(work.operands)
    with torch.cuda.stream(stream):
        run(0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(launches):
                run(i)
        samples = sorted(bench.device.milliseconds(graph.replay, stream.cuda_stream) for _ in range(replays))
    return 1e3 * samples[len(samples) // 2] / launches


def measure(bench, item):
    """Microseconds of each tile and of the peer; a tile whose numbers are wrong, or that the driver refuses, is named."""
    numpy, device, told = need("numpy"), bench.device, {"us": {}}
    work = {"product": Product, "attention": Attention}[item["kind"]](numpy, item, item["launches"])
    held = {}
    for array in (array for arrays in work.operands for array in arrays):
        if id(array) not in held:
            held[id(array)] = device.buffer(array.tobytes())
    rows, columns = work.shape
    result = device.allocate(2 * rows * columns)
    torch, told["without_peer"] = find_torch()
    if torch:
        try:
            told["us"]["PyTorch"] = time_peer(bench, torch, work, item["replays"])
        except Exception as error:  # of whatever kind frameworks have; it is said in the table
            told["without_peer"] = words_of(error)
    for tile in item["tiles"]:
        if tile["exact"] and tile["capability"] != device.capability():
            continue
        try:
            module = bench.module({"archive": item["archive"], **tile})
            function = device.function(module, tile["entry"], tile["shared"])
        except DriverError as refused:
            told["refused"] = {**told.get("refused", {}), tile["name"]: str(refused)}
            continue
        launches = [Launch(function, tile["grid"], tile["threads"], tile["shared"], [*(held[id(array)] for array in arrays), result]) for arrays in work.operands]
        device.upload(result, b"\xff" * (2 * rows * columns))
        device.launch(launches[0])
        made = widened(numpy, numpy.frombuffer(device.download(result, 2 * rows * columns), numpy.uint16).reshape(rows, columns)[-ROWS:])
        error = float(numpy.max(numpy.abs(made - work.truth[-len(made) :])) / numpy.max(numpy.abs(work.truth)))
        if not error <= TOLERANCES[item["kind"]]:
            told["wrong"] = {**told.get("wrong", {}), tile["name"]: error}
            continue
        told["us"][tile["name"]] = device.microseconds(launches, item["replays"])
        device.unload(module)
    for address in [*held.values(), result]:
        device.free(address)
    return told
