# ===- bench.py - Models on a GPU, beside PyTorch ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times compiled models on the first GPU, in turns with the same models in PyTorch, and writes a table of medians.

Each model is a library that is given tensors of the GPU and a stream, as examples/torch-dlpack shows. In PyTorch the
model is the module of ../nets with weights in the same type, eager (`torch`), recorded as one CUDA graph (`graph`), or
compiled by torch.compile and then recorded (`inductor`). A sample is a run between two events of the stream, with
inputs and outputs on the GPU. Outputs of all are compared with the module in float32.

Needs a build of hova, a GPU and PyTorch with CUDA.
"""

import argparse
import ctypes
import datetime
import itertools
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from safetensors.numpy import load_file

SOURCE = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE / folder) for folder in ("tools/bench", "examples/torch-dlpack", "examples/embed")]

import classify  # noqa: E402
from contest import TOLERANCES  # noqa: E402
from dlpack_model import Model  # noqa: E402
from events import milliseconds  # noqa: E402
from machine import commit  # noqa: E402
from nets import FAMILIES  # noqa: E402
from nets.layers_torch import Net  # noqa: E402
from programs import call  # noqa: E402
from suites import GPU  # noqa: E402
from workload import DTYPES, Case  # noqa: E402

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
PEERS = ("torch", "graph", "inductor")
BATCHES = (1, 8, 32)
ROUNDS = 5
WARMUP_RUNS = 5
LEAST_RUNS = 10
LARGE = 8192  # rows and columns of the product that measures the GPU


class Contestant:
    """Something that runs on the current stream, and the milliseconds of its runs."""

    def __init__(self, name, run, outputs):
        self.name, self.run, self.outputs = name, run, outputs
        self.rounds, self.error = [], None

    def turn(self, seconds):
        for _ in range(WARMUP_RUNS):
            self.run()
        torch.cuda.synchronize()
        samples, end = [], time.monotonic() + seconds
        while len(samples) < LEAST_RUNS or time.monotonic() < end:
            samples.append(milliseconds(self.run))
        self.rounds.append(samples)

    def record(self):
        samples = list(itertools.chain(*self.rounds))
        return {
            "name": self.name,
            "median_ms": median(samples),
            "rounds_ms": [median(samples) for samples in self.rounds],
            "samples": len(samples),
            "max_relative_error": self.error,
        }


def inputs_of_library(path, prefix):
    """Name, type, shape, least and largest value of each, as Case.draw_inputs takes them."""
    describe = getattr(ctypes.CDLL(str(path)), f"{prefix}_program")
    describe.restype = ctypes.POINTER(classify.Program)
    program = describe().contents
    names = {dtype: name for name, dtype in DTYPES.items()}
    for info in program.inputs[: program.num_inputs]:
        yield info.name.decode(), names[classify.DTYPES[info.dtype]], list(info.dims[: info.rank]), info.lower, info.upper - 1


def compiled(hova, case):
    """The case, after its library was made with weights that are written before."""
    case.write_weights(hova)
    words = [hova, "compile", *case.arguments, f"--dtype={case.dtype}", "--target=cuda", "--weights", case.weights]
    call([*words, "--emit=lib", "-o", case.folder / "model"])
    case.draw_inputs(inputs_of_library(case.folder / "model.so", case.description.stem))
    return case


def inputs_of(case):
    names = [value["name"] for value in case.summary["inputs"]]
    return {name: torch.from_numpy(np.load(case.input_file(name))) for name in names}


def run_of_library(case, inputs, stream):
    """The contestant, whose outputs are in float32, and the model, which is to be closed."""
    model = Model(case.folder / "model.so", case.description.stem, stream=stream.cuda_stream, target="cuda")
    outputs = {name: torch.empty(shape, device="cuda") for name, shape in model.outputs.items()}
    return Contestant("hova", lambda: model(inputs, outputs), lambda: list(outputs.values())), model


def graph_of(run, stream):
    """`run` as one launch, and what it leaves."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph, kept = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph, stream=stream):
        kept[:] = run()
    return graph.replay, kept


def run_of_peer(peer, net, inputs, stream):
    if peer == "inductor":
        net = torch.compile(net, fullgraph=True, dynamic=False)
    kept = []

    def run():
        kept[:] = net(*inputs.values())
        return kept

    if peer == "torch":
        return Contestant(peer, run, lambda: kept)
    replay, left = graph_of(run, stream)
    return Contestant(peer, replay, lambda: left)


def largest_error(outputs, truth):
    """The largest difference, in parts of the largest magnitude."""
    parts = zip(outputs, truth, strict=True)
    # Of numbers and what is none, NumPy's largest is none.
    return float(np.max([float((ours.float() - theirs).abs().max() / theirs.abs().max()) for ours, theirs in parts]))


@torch.no_grad()
def measured(case, peers, seconds):
    stream = torch.cuda.Stream()
    inputs = inputs_of(case)
    net = Net(FAMILIES[case.description.stem], case.parameters(), load_file(case.weights)).eval().cuda()
    here = {name: value.cuda() for name, value in inputs.items()}
    truth = [value.float() for value in net(*here.values())]  # and tables that it computes are its buffers then
    dtype = TYPES[case.dtype]
    net = net.to(dtype)
    cast = {name: value.to(dtype) if value.is_floating_point() else value for name, value in here.items()}
    record = {"label": case.label, "dtype": case.dtype, "contestants": []}
    with torch.cuda.stream(stream):
        hova, model = run_of_library(case, here, stream)
        contestants = [hova]
        for peer in peers:
            try:
                contestants.append(run_of_peer(peer, net, cast, stream))
            except Exception as error:  # of whatever kind frameworks have; it is said in the table
                record["contestants"].append({"name": peer, "failed": str(error).strip().splitlines()[-1][:200]})
        for contestant in contestants:
            contestant.run()
            torch.cuda.synchronize()
            contestant.error = largest_error(contestant.outputs(), truth)
        for _ in range(ROUNDS):
            for contestant in contestants:
                contestant.turn(seconds / ROUNDS)
    model.close()
    record["contestants"] += [contestant.record() for contestant in contestants]
    if not contestants[0].error <= TOLERANCES[case.dtype]:
        record["wrong"] = contestants[0].error
    return record


def rate(work, run):
    """Units of work a second, the median of some runs."""
    contestant = Contestant("", run, list)
    contestant.turn(0.2)
    return work / (contestant.record()["median_ms"] / 1e3)


def machine():
    """What the GPU is, says of its clock, and reaches."""
    asked = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit"
    x = torch.randn(LARGE, LARGE, device="cuda", dtype=torch.bfloat16)
    large = torch.empty(2**31, dtype=torch.uint8, device="cuda")
    copied = torch.empty_like(large)
    told = {
        "bf16_tflops": rate(2 * LARGE**3, lambda: x @ x) / 1e12,
        "copy_tb_per_s": rate(2 * large.numel(), lambda: copied.copy_(large)) / 1e12,
    }
    said = subprocess.run(["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    told |= dict(zip(asked.split(","), said.stdout.strip().split(", "), strict=True))
    told |= {"date": datetime.date.today().isoformat(), "torch": torch.__version__, "commit": commit(SOURCE)}
    return told


def table(record):
    rows = {row["name"]: row for row in record["contestants"]}
    cells = [record["label"], record["dtype"], f"{rows['hova']['median_ms']:.3f}"]
    for peer in PEERS:
        row = rows.get(peer, {})
        cells.append(f"{row['median_ms']:.3f} ({row['median_ms'] / rows['hova']['median_ms']:.2f})" if "median_ms" in row else row.get("failed", "-")[:60])
    return f"| {' | '.join(cells)} | {rows['hova']['max_relative_error']:.1e}{' WRONG' if 'wrong' in record else ''} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hova", type=Path, default=SOURCE / "build/bin/hova", help="the compiler (default: build/bin/hova)")
    parser.add_argument("--model", action="append", metavar="NAME[:SETTING,...]", help="instead of the suite")
    parser.add_argument("--batch", type=int, action="append", help=f"(default: {BATCHES})")
    parser.add_argument("--dtype", choices=TYPES, default="bf16")
    parser.add_argument("--peers", default="torch,graph", help=f"of {', '.join(PEERS)} (default: torch,graph)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each contestant (default: 1)")
    parser.add_argument("--out", type=Path, help="a file for all figures, as JSON")
    arguments = parser.parse_args()
    suite = GPU
    if arguments.model:
        parts = (name.partition(":") for name in arguments.model)
        suite = [(name, settings.split(",") if settings else []) for name, _, settings in parts]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    results, failed = {"machine": machine(), "cases": []}, 0
    print(json.dumps(results["machine"]))
    print("| model | type | hova, ms | torch, ms (over hova) | graph | inductor | largest error |\n|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        cases = []
        for i, ((model, settings), batch) in enumerate(itertools.product(suite, arguments.batch or BATCHES)):
            cases.append(Case(SOURCE / f"examples/models/{model}.json", [*settings, f"batch={batch}"], Path(scratch) / str(i), arguments.dtype))
        for case in list(pool.map(partial(compiled, arguments.hova), cases)):  # all of them first: nothing else runs while the GPU is timed
            try:
                record = measured(case, [peer for peer in PEERS if peer in arguments.peers.split(",")], arguments.seconds)
            except Exception as error:  # one model that fails does not keep the others from being measured
                print(f"| {case.label} | {case.dtype} | failed: {error!r} |", flush=True)
                failed += 1
                continue
            results["cases"].append(record)
            print(table(record), flush=True)
            if arguments.out:
                arguments.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 1 if failed or any("wrong" in case for case in results["cases"]) else 0


if __name__ == "__main__":
    sys.exit(main())
