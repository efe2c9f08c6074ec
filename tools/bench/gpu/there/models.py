# ===- models.py - Models beside PyTorch ---------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compiled models on memory of the GPU, in turns with the same models in PyTorch where it is there: eager, recorded as one CUDA graph,
or compiled by torch.compile and then recorded. All have the same weights, drawn from a seed (repeating.py), and the same inputs.
Outputs of all are compared with the module in float32."""

import array
import importlib.util

from turns import Contestant
from library import Library
from store import Skipped

# Of the largest magnitude: how far outputs of two right programs of 16 bits may be apart (tools/bench/contest.py).
TOLERANCE = 4e-2


def run_of_library(bench, item, program, stream):
    """A contestant of one program, and its context. Inputs are drawn by name, so that all have the same."""
    device, library = bench.device, Library(bench.file(program["file"]), item["prefix"], bench.file(program["image"]), stream)
    given = {tensor.name: tensor.drawn(1) for tensor in library.inputs}
    inputs, outputs = [device.buffer(data) for data in given.values()], [device.buffer(b"\xff" * tensor.bytes) for tensor in library.outputs]
    library.bind(inputs, outputs)
    library.held = [*inputs, *outputs]
    told = Contestant(f"hova {program['level']}", library.run, lambda: [device.download(a, t.bytes) for t, a in zip(library.outputs, outputs)])
    return told, library, given


class Peers:
    """The model in PyTorch: in float32 for the truth, then with everything in bf16."""

    def __init__(self, item, library, given, stream):
        import torch
        from nets import FAMILIES
        from nets.layers_torch import Net
        from repeating import weights

        self.torch, self.stream = torch, stream
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        types = {"f32": torch.float32, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}
        here = [torch.frombuffer(bytearray(given[t.name]), dtype=types[t.dtype]).reshape(t.shape).cuda() for t in library.inputs]
        net = Net(FAMILIES[item["family"]], item["parameters"], weights(item["weights"])).eval().cuda()
        # Tables that it computes at its first run are its buffers from then on.
        self.truth = [value.float() for value in net(*here)]
        self.net, self.inputs = net.to(torch.bfloat16), [value.bfloat16() if value.is_floating_point() else value for value in here]

    def contestant(self, name):
        net = self.torch.compile(self.net, fullgraph=True, dynamic=False) if name == "torch.compile" else self.net
        kept = []

        def run():
            kept[:] = net(*self.inputs)

        if name == "eager":
            return Contestant(name, run, lambda: kept)
        for _ in range(3):
            run()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            run()
        left = list(kept)
        return Contestant(name, graph.replay, lambda: left)

    def error(self, outputs):
        """The largest difference of outputs, tensors or bytes of f32, in parts of the largest magnitude of the truth."""
        worst = []
        for ours, theirs in zip(outputs, self.truth):
            if isinstance(ours, bytes):
                ours = self.torch.frombuffer(bytearray(ours), dtype=self.torch.float32).reshape(theirs.shape).cuda()
            worst.append((ours.float() - theirs).abs().max() / theirs.abs().max())
        return float(self.torch.stack(worst).max())


def contest(bench, item, stream, contestants, told):
    """Rounds of turns, and what is wrong with whom."""
    counts = bench.list["counts"]
    for _ in range(counts["rounds"]):
        for contestant in contestants:
            contestant.turn(bench, stream, counts)
    told["contestants"] += [contestant.record() for contestant in contestants]
    wrong = {c.name: c.error for c in contestants if c.name.startswith("hova") and c.error is not None and not c.error <= TOLERANCE}
    return told | ({"wrong": wrong} if wrong else {})


def finite(outputs):
    """Whether all numbers are numbers, where there is nothing to compare with."""
    return all(x - x == 0 for data in outputs for x in array.array("f", data))


def measure(bench, item):
    """Medians of all contestants, and their largest errors."""
    told, contestants, libraries = {"contestants": []}, [], []
    torch = None
    if importlib.util.find_spec("torch"):
        import torch
    elif "torch.compile" in item["peers"]:
        raise Skipped("this Python has no torch")
    stream = torch.cuda.Stream() if torch else None
    handle = stream.cuda_stream if torch else bench.device.stream.value
    for program in item["programs"]:
        try:
            contestant, library, given = run_of_library(bench, item, program, handle)
        except ValueError as reason:  # a level that is not for this device, in the library's words
            told["contestants"].append({"name": f"hova {program['level']}", "failed": str(reason)})
            continue
        contestants.append(contestant)
        libraries.append(library)
    if not contestants:
        return told
    if torch:
        with torch.no_grad(), torch.cuda.stream(stream):
            peers = Peers(item, libraries[0], given, stream)
            for name in item["peers"]:
                try:
                    contestants.append(peers.contestant(name))
                except Exception as error:  # of whatever kind frameworks have; it is said in the table
                    told["contestants"].append({"name": name, "failed": (str(error).strip().splitlines() or [repr(error)])[-1][:200]})
            for contestant in contestants:
                contestant.run()
                torch.cuda.synchronize()
                contestant.error = peers.error(contestant.outputs())
            told = contest(bench, item, handle, contestants, told)
    else:
        for contestant in contestants:
            contestant.run()
            bench.device.synchronize()
            if not finite(contestant.outputs()):
                told["wrong"] = {contestant.name: "numbers that are none"}
        told = contest(bench, item, handle, contestants, told)
    for library in libraries:
        library.close()
        for address in library.held:
            bench.device.free(address)
    return told
