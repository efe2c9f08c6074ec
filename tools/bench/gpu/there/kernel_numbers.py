# ===- kernel_numbers.py - Do kernels and small models compute what they should? --------=== #
# SPDX-License-Identifier: Apache-2.0
"""A kernel of every recipe beside NumPy in float64 and the bits of the emulation; models with few layers beside the processor."""

import array
import io

from library import Library
from store import Skipped, need


def kernel(bench, item):
    """The largest error, in parts of the limit; and the ways of adding that leave the device's bits, where nothing is approximate."""
    numpy = need("numpy")
    from kernels import Case

    if item["exact"] and item["capability"] != bench.device.capability():
        raise Skipped(f"is for {item['capability'] / 10} alone")
    held = dict(numpy.load(io.BytesIO(bench.read(item["archive"], f"{item['key']}.npz"))))
    operands = [held[f"operand{i}"] for i in range(item["operands"])]
    truths = [held[f"truth{i}"] for i in range(item["results"])]
    case = Case("", [], tuple(item["grid"]), operands, truths[0] if item["results"] == 1 else truths, item["limit"], results=item["results"],
                halves=item["halves"], cancels=item["cancels"], spread=held["spread"])
    # Results begin as numbers that are none.
    before = [operand.tobytes() for operand in operands[: -item["results"]]]
    before += [b"\xff" * operand.nbytes for operand in operands[-item["results"] :]]
    after = bench.launched(item, before)
    made = [numpy.frombuffer(data, operand.dtype).reshape(operand.shape) for data, operand in zip(after, operands)][-item["results"] :]
    result = case.joined(made)
    error = case.error(result)
    told = {"error": error, "limit": item["limit"]}
    if item["ways"]:
        told["equal"] = [way for way in item["ways"] if case.is_same(result, held[f"result {way}"])]
    return told if error <= item["limit"] else {"wrong": error, **told}


def model(bench, item):
    """The largest difference of an output from the processor's in f32, in parts of its largest number."""
    device, library = bench.device, Library(bench.file(item["program"]), item["prefix"])
    given = [bench.read(item["archive"], f"{item['key']}.in.{tensor.name}") for tensor in library.inputs]
    inputs, outputs = [device.buffer(data) for data in given], [device.buffer(b"\xff" * tensor.bytes) for tensor in library.outputs]
    library.bind(inputs, outputs)
    library.run()
    worst = 0.0
    for tensor, address in zip(library.outputs, outputs):
        ours = array.array("f", device.download(address, tensor.bytes))
        theirs = array.array("f", bench.read(item["archive"], f"{item['key']}.out.{tensor.name}"))
        size = max(map(abs, theirs))
        differences = [abs(x - y) for x, y in zip(ours, theirs)]
        # A number that is none is no larger than another.
        worst = max([worst, *(d / size for d in differences)]) if all(d == d for d in differences) else float("inf")
    library.close()
    for address in [*inputs, *outputs]:
        device.free(address)
    return {"error": worst, "limit": item["limit"], **({} if worst <= item["limit"] else {"wrong": worst})}


def measure(bench, item):
    return (model if "program" in item else kernel)(bench, item)
