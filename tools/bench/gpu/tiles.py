# ===- tiles.py - Tiles of products and attention on a GPU --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times kernels of one product or attention with every tile and number of stages, beside cuBLAS and PyTorch's attention.

What the compiler assumes of tiles (codegen/cuda/recipes/ProductTiles.cpp) is compared with this. A sample is a CUDA graph of
launches one after the other, each with weights of its own, as layers have them; the table has microseconds of one launch.

Needs a build of hova with `cuda-kernel`, a GPU, PyTorch with CUDA, and the toolkit's ptxas.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
from events import milliseconds

BIN = Path(os.environ.get("HOVA_BUILD", Path(__file__).resolve().parents[3] / "build")) / "bin"
LAUNCHES, REPLAYS = 20, 15
# Rows and columns of a block, and its warps along both; numbers of stages.
TILES = [((64, 64), (2, 2), (3, 4, 6, 8)), ((64, 128), (2, 2), (3, 4, 6)), ((128, 64), (2, 2), (3, 4, 6)),
         ((128, 128), (2, 2), (3, 4)), ((128, 128), (2, 4), (3, 4)), ((128, 256), (2, 4), (3,))]
# Rows, columns and k: layers of ViT-B/16 at batches of 1, 8 and 32, where a product of s parts of k is s times as wide, and of Swin-T.
PRODUCTS = [(197, 2304, 768), (197, 768, 768), (197, 1536, 384), (197, 3072, 768), (197, 1536, 1536), (197, 4608, 512),
            (1576, 2304, 768), (1576, 768, 768), (1576, 3072, 768), (1576, 768, 3072), (1576, 1536, 1536),
            (6304, 2304, 768), (6304, 768, 3072), (3136, 288, 96), (784, 576, 192), (196, 1152, 384), (196, 384, 1536)]
# Queries of a block and its warps; batch, tokens, heads.
QUERIES = [(128, 4), (64, 2), (64, 4)]
ATTENTIONS = [(1, 197, 12), (8, 197, 12), (32, 197, 12), (1, 1024, 12), (4, 1024, 12)]

driver = ctypes.CDLL("libcuda.so.1")
DYNAMIC_SHARED_BYTES = 8  # CUfunction_attribute


def check(result):
    if result:
        raise RuntimeError(f"the driver says {result}")


class Kernel:
    """A kernel of cuda-kernel, assembled for this GPU."""

    def __init__(self, words, grid, arch, folder):
        emit = [str(BIN / "cuda-kernel"), *words]
        self.grid = grid
        lowered = subprocess.run([*emit, "--emit=nvvm"], capture_output=True, text=True, check=False)
        self.problem = lowered.stderr.strip() if lowered.returncode else ""
        if self.problem:
            return
        self.shared = int(re.search(r"hova\.group_bytes = (\d+)", lowered.stdout)[1])
        self.threads = int(re.search(r"nvvm\.reqntid = array<i32: (\d+)", lowered.stdout)[1])
        text = subprocess.run([*emit, "--emit=ptx"], capture_output=True, text=True, check=True).stdout
        self.name = re.search(r"\.entry (\w+)\(", text)[1]
        stem = Path(folder) / "-".join(word.lstrip("-").replace("=", "") for word in words)
        stem.with_suffix(".ptx").write_text(text)
        subprocess.run(["ptxas", f"-arch={arch}", stem.with_suffix(".ptx"), "-o", stem.with_suffix(".cubin")], check=True)
        self.cubin = stem.with_suffix(".cubin").read_bytes()

    def load(self):
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(driver.cuModuleLoadData(ctypes.byref(module), self.cubin))
        check(driver.cuModuleGetFunction(ctypes.byref(self.function), module, self.name.encode()))
        check(driver.cuFuncSetAttribute(self.function, DYNAMIC_SHARED_BYTES, self.shared))
        return self

    def __call__(self, *tensors):
        addresses = [ctypes.c_uint64(tensor.data_ptr()) for tensor in tensors]
        parameters = (ctypes.c_void_p * len(tensors))(*(ctypes.addressof(address) for address in addresses))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(driver.cuLaunchKernel(self.function, *self.grid, self.threads, 1, 1, self.shared, stream, parameters, None))


def microseconds(launch):
    """Of one launch among those of a graph; `launch` takes the number of the layer."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch(0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for i in range(LAUNCHES):
                launch(i)
        samples = [milliseconds(graph.replay) for _ in range(REPLAYS)]
    return 1e3 * median(samples[3:]) / LAUNCHES


def ceil(a, b):
    return -(-a // b)


def kernels_of_product(shape, arch, folder):
    rows, columns, inner = shape
    for block, warps, stages in TILES:
        for count in stages:
            words = ["product", f"--rows={rows}", f"--inner={inner}", f"--columns={columns}", f"--block-rows={block[0]}",
                     f"--block-columns={block[1]}", f"--row-warps={warps[0]}", f"--column-warps={warps[1]}", f"--stages={count}", "--bias"]
            label = f"{block[0]}x{block[1]} {warps[0]}x{warps[1]} s{count}"
            yield label, words, (ceil(rows, block[0]), ceil(columns, block[1]), 1), arch, folder


def time_product(shape, kernels):
    rows, columns, inner = shape
    x = torch.randn(rows, inner, device="cuda").bfloat16()
    weights = [(torch.randn(columns, inner, device="cuda") * inner**-0.5).bfloat16() for _ in range(LAUNCHES)]
    bias, y = torch.randn(1, columns, device="cuda"), torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16)
    truth = F.linear(x.float(), weights[0].float(), bias[0])
    half = bias[0].bfloat16()
    times = {"cuBLAS": microseconds(lambda i: F.linear(x, weights[i], half))}
    for label, kernel in kernels:
        if kernel.problem:
            continue
        kernel.load()
        kernel(x, weights[0], bias, y)
        torch.cuda.synchronize()
        assert float((y.float() - truth).abs().max() / truth.abs().max()) < 2**-7, label
        times[label] = microseconds(lambda i, kernel=kernel: kernel(x, weights[i], bias, y))
    return times


def kernels_of_attention(shape, arch, folder):
    batch, tokens, heads = shape
    for queries, warps in QUERIES:
        words = ["attention", f"--batch={batch}", f"--tokens={tokens}", f"--heads={heads}", f"--queries={queries}", f"--warps={warps}"]
        yield f"{queries} on {warps}", words, (ceil(tokens, queries), heads, batch), arch, folder


def time_attention(shape, kernels):
    batch, tokens, heads = shape
    qkv = torch.randn(batch, tokens, 3 * heads * 64, device="cuda").bfloat16()
    y = torch.empty(batch, tokens, heads * 64, device="cuda", dtype=torch.bfloat16)
    q, k, v = (part.view(batch, tokens, heads, 64).transpose(1, 2) for part in qkv.chunk(3, dim=2))
    truth = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(y.shape).float()
    times = {"torch": microseconds(lambda _: F.scaled_dot_product_attention(q, k, v))}
    for label, kernel in kernels:
        if kernel.problem:
            continue
        kernel.load()
        kernel(qkv, y)
        torch.cuda.synchronize()
        assert float((y.float() - truth).abs().max() / truth.abs().max()) < 2**-6, label
        times[label] = microseconds(lambda _, kernel=kernel: kernel(qkv, y))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a file for all figures, as JSON")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    arch = "sm_{}{}".format(*torch.cuda.get_device_capability())
    results = []
    work = [(shape, kernels_of_product, time_product) for shape in PRODUCTS]
    work += [(shape, kernels_of_attention, time_attention) for shape in ATTENTIONS]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        made = [[(label, pool.submit(Kernel, *rest)) for label, *rest in find(shape, arch, folder)] for shape, find, _ in work]
        made = [[(label, future.result()) for label, future in kernels] for kernels in made]
        for (shape, _, measure), kernels in zip(work, made, strict=True):
            times = measure(shape, kernels)
            problems = {label: kernel.problem for label, kernel in kernels if kernel.problem}
            results.append({"shape": shape, "us": times, "no code": problems})
            for label, problem in problems.items():
                print(f"no code for {label}: {problem}", file=sys.stderr)
            print(shape, "  ".join(f"{label} {time:.2f}" for label, time in times.items()), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
