# ===- models.py - Models beside PyTorch ---------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compiled models on memory of the GPU, in turns with the same models in PyTorch where it is there: eager, recorded as one CUDA graph,
or compiled by torch.compile and then recorded. All have the same weights, drawn from a seed (repeating.py), and the same inputs.
Outputs of all are compared with the module in float32."""

import array
from contextlib import nullcontext

from turns import Contestant
from library import Library
from store import Skipped, find_torch, words_of

# Of the largest magnitude: how far outputs of two right programs of 16 bits may be apart (tools/bench/contest.py).
TOLERANCE = 4e-2


def run_of_library(bench, item, program, stream, given):
    """A contestant of one program, and its context. Inputs are those `given` by name; the first draws them."""
    device, library = bench.device, Library(bench.file(program["file"]), item["prefix"], bench.file(program["image"]), stream)
    given.update({tensor.name: tensor.drawn(1) for tensor in library.inputs if tensor.name not in given})
    inputs, outputs = [device.buffer(given[tensor.name]) for tensor in library.inputs], [device.buffer(b"\xff" * tensor.bytes) for tensor in library.outputs]
    library.bind(inputs, outputs)
    library.held = [*inputs, *outputs]
    told = Contestant(f"hova {program['level']}", library.run, lambda: [device.download(a, t.bytes) for t, a in zip(library.outputs, outputs)])
    return told, library


class Peers:
    """The model in PyTorch: in float32 for the truth, then with everything in bf16."""

    def __init__(self, torch, item, library, given, stream):
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


def add_peers(torch, item, library, given, stream, contestants, told):
    """Adds the contestants of PyTorch. What it cannot do is said in the table, and keeps nobody else from being timed."""
    try:
        peers = Peers(torch, item, library, given, stream)
    except Exception as error:  # of whatever kind frameworks have
        told["without_peers"] = words_of(error)
        return None
    for name in item["peers"]:
        try:
            contestants.append(peers.contestant(name))
        except Exception as error:
            told["contestants"].append({"name": name, "failed": words_of(error)})
    return peers


def judge(bench, stream, contestants, peers, told):
    """One run of each, and how far its outputs are from the truth; without one, whether they are numbers."""
    for contestant in contestants:
        contestant.run()
        bench.device.synchronize(stream)
        if peers:
            contestant.error = peers.error(contestant.outputs())
        elif not finite(contestant.outputs()):
            told["wrong"] = {**told.get("wrong", {}), contestant.name: "numbers that are none"}


def contest(bench, stream, contestants, told):
    """Rounds of turns, and who is wrong."""
    counts = bench.list["counts"]
    for _ in range(counts["rounds"]):
        for contestant in contestants:
            contestant.turn(bench, stream, counts)
    told["contestants"] += [contestant.record() for contestant in contestants]
    for contestant in contestants:
        if contestant.name.startswith("hova") and contestant.error is not None and not contestant.error <= TOLERANCE:
            told["wrong"] = {**told.get("wrong", {}), contestant.name: contestant.error}


def finite(outputs):
    """Whether all numbers are numbers, where there is nothing to compare with."""
    return all(x - x == 0 for data in outputs for x in array.array("f", data))


def measure(bench, item):
    """Medians of all contestants, and their largest errors."""
    torch, reason = find_torch()
    if not item["family"]:
        torch, reason = None, "PyTorch has no module of this model here"
    if not torch and "torch.compile" in item["peers"]:
        raise Skipped(reason)
    told = {"contestants": [], **({"without_peers": reason} if reason else {})}
    stream = torch.cuda.Stream() if torch else None
    handle = stream.cuda_stream if torch else bench.device.stream.value
    libraries, given = [], {}
    for program in item["programs"]:
        try:
            libraries.append(run_of_library(bench, item, program, handle, given))
        except ValueError as refused:  # a level that is not for this device, in the library's words
            told["contestants"].append({"name": f"hova {program['level']}", "failed": str(refused)})
    if libraries:
        with torch.no_grad() if torch else nullcontext(), torch.cuda.stream(stream) if torch else nullcontext():
            contestants = [contestant for contestant, _ in libraries]
            peers = add_peers(torch, item, libraries[0][1], given, stream, contestants, told) if torch else None
            judge(bench, handle, contestants, peers, told)
            contest(bench, handle, contestants, told)
    for _, library in libraries:
        library.close()
        for address in library.held:
            bench.device.free(address)
    return told
