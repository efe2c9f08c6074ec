# ===- peer.py - One framework in a process of its own ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Prepares a model in one framework and then runs it whenever bench.py asks.

usage: peer.py JOB.json    the job: {"peer", "model", "parameters", "weights", "onnx",
                           "inputs": [files], "outputs": [names], "threads", "dtype",
                           "folder"}

Answers are lines of JSON on standard output: first what preparing took, then one line
for every request "SECONDS" on standard input. What the frameworks print
goes to standard error.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
from nets import FAMILIES

# Warming up before a turn takes this share of it.
WARMUP_SHARE = 5


def refuse_16_bits(job, reason):
    if job["dtype"] != "f32":
        raise ValueError(f"no {job['dtype']}: {reason}")


def prepare_openvino(job, inputs):
    """The ONNX model, one stream of all threads."""
    import openvino

    core = openvino.Core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": job["dtype"],
        "INFERENCE_NUM_THREADS": job["threads"],
        "NUM_STREAMS": 1,
    }
    start = time.monotonic()
    compiled = core.compile_model(job["onnx"], "CPU", settings)
    request = compiled.create_infer_request()
    for index, array in enumerate(inputs):
        request.set_input_tensor(index, openvino.Tensor(array, shared_memory=True))

    def read():
        count = len(compiled.outputs)
        return [request.get_output_tensor(i).data.copy() for i in range(count)]

    return openvino.__version__.split("-")[0], start, request.infer, read


def prepare_onnxruntime(job, inputs):
    """The ONNX model with every graph optimization."""
    import onnxruntime

    refuse_16_bits(job, "the ONNX model is f32, and so are its kernels")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.inter_op_num_threads = 1
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.graph_optimization_level = level
    start = time.monotonic()
    session = onnxruntime.InferenceSession(
        job["onnx"], options, providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]
    feed = dict(zip(names, inputs, strict=True))
    kept = []

    def run():
        kept[:] = session.run(None, feed)

    return onnxruntime.__version__, start, run, lambda: list(kept)


def torch_net(job):
    import torch
    from nets.layers_torch import Net
    from safetensors.numpy import load_file

    torch.set_num_threads(job["threads"])
    family = FAMILIES[job["model"]]
    return Net(family, job["parameters"], load_file(job["weights"])).eval()


def net_with_tables(job, inputs):
    """The module after a run, which leaves the tables that it computes in buffers: what
    traces it must find them there."""
    import torch

    net = torch_net(job)
    with torch.no_grad():
        net(*map(torch.from_numpy, inputs))
    return net


def run_torch(net, job, inputs):
    """A function that runs the module, and one that returns its last outputs.

    Types of 16 bits are those of autocast, which chooses the operations.
    """
    import torch

    tensors = [torch.from_numpy(array) for array in inputs]
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    dtype = types[job["dtype"]]
    kept = []

    def run():
        casts = torch.autocast("cpu", dtype, enabled=dtype != torch.float32)
        with torch.no_grad(), casts:
            kept[:] = net(*tensors)

    return run, lambda: [value.float().numpy() for value in kept]


def prepare_torch(job, inputs):
    """PyTorch, eager."""
    import torch

    net = torch_net(job)
    return torch.__version__, time.monotonic(), *run_torch(net, job, inputs)


def prepare_inductor(job, inputs):
    """torch.compile with frozen weights; nothing from an earlier compilation."""
    import torch
    import torch._inductor.config

    torch._inductor.config.freezing = True
    torch._inductor.config.fx_graph_cache = False
    start = time.monotonic()
    net = net_with_tables(job, inputs)
    compiled = torch.compile(net, fullgraph=True, dynamic=False)
    return torch.__version__, start, *run_torch(compiled, job, inputs)


def prepare_zentorch(job, inputs):
    """torch.compile with AMD's plug-in, which chooses the kernels of products."""
    import torch
    import torch._inductor.config
    import zentorch

    torch._inductor.config.freezing = True
    torch._inductor.config.fx_graph_cache = False
    start = time.monotonic()
    net = net_with_tables(job, inputs)
    compiled = torch.compile(net, backend="zentorch", dynamic=False)
    return zentorch.__version__, start, *run_torch(compiled, job, inputs)


def prepare_jax(job, inputs):
    """JAX under jit; the weights are arguments, as users keep them."""
    import jax
    from nets.layers_jax import Layers
    from safetensors.numpy import load_file

    refuse_16_bits(job, "the model computes in the type of its arrays, f32")
    family = FAMILIES[job["model"]]
    prepared = family.prepare(load_file(job["weights"]), job["parameters"])
    weights = {
        name: jax.device_put(array)
        for name, array in prepared.items()
    }
    arrays = [jax.device_put(array) for array in inputs]
    start = time.monotonic()

    def forward(weights, *arrays):
        return family.forward(Layers(weights), job["parameters"], *arrays)

    compiled = jax.jit(forward).lower(weights, *arrays).compile()
    kept = []

    def run():
        kept[:] = jax.block_until_ready(compiled(weights, *arrays))

    return jax.__version__, start, run, lambda: [np.asarray(v) for v in kept]


PEERS = {
    "openvino": prepare_openvino,
    "onnxruntime": prepare_onnxruntime,
    "torch": prepare_torch,
    "inductor": prepare_inductor,
    "zentorch": prepare_zentorch,
    "jax": prepare_jax,
}


def peak_memory_mib():
    """Largest resident memory since the start or the last reset."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def seconds_since_start():
    """Seconds since this process was started."""
    ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - ticks / os.sysconf("SC_CLK_TCK")


def run_for(seconds, run):
    """Runs at least once and until the time is over; returns milliseconds."""
    samples = []
    end = time.perf_counter() + seconds
    while not samples or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        samples.append((time.perf_counter() - begin) * 1e3)
    return samples


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    job = json.loads(Path(sys.argv[1]).read_text())
    inputs = [np.load(path) for path in job["inputs"]]
    version, start, run, read = PEERS[job["peer"]](job, inputs)
    run()
    prepare_s, first_result_s = time.monotonic() - start, seconds_since_start()
    for name, array in zip(job["outputs"], read(), strict=True):
        np.save(Path(job["folder"]) / f"{name}.npy", array)
    prepare_mib = peak_memory_mib()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    ready = {
        "version": version,
        "prepare_s": prepare_s,
        "first_result_s": first_result_s,
        "prepare_mib": prepare_mib,
    }
    print(json.dumps(ready), file=answers)
    samples = [0.0]
    for line in sys.stdin:
        seconds = float(line)
        # A run that fills the turn is not worth doubling: it warms itself up.
        if samples[-1] < seconds * 1e3:
            run_for(seconds / WARMUP_SHARE, run)
        samples = run_for(seconds, run)
        turn = {"samples_ms": samples, "run_mib": peak_memory_mib()}
        print(json.dumps(turn), file=answers)


if __name__ == "__main__":
    main()
