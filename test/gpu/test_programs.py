# ===- test_programs.py - Programs and libraries on a GPU -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What surrounds kernels: which machine runs, tensors of PyTorch, traces, too little memory, and NVIDIA's own checker."""

import json
import re
import shutil
import sys

import numpy as np
import pytest
from running import options_of, outputs_of
from test_gpu import DIGITS, MODELS, ROOT, compile_to, run

DLPACK = ROOT / "examples/torch-dlpack"
WEIGHTS = f"--weights={DIGITS / 'weights.safetensors'}"
SMALL = "depth=1 image=48 width=128 heads=2 hidden=256 classes=7 horizontal=true vertical=true"


def test_a_program_for_both_takes_the_gpu_and_says_so(tmp_path):
    program = compile_to(tmp_path / "both", DIGITS / "digits.json", "--target=cpu,cuda", WEIGHTS)
    assert re.search(r"note: runs on .*NVIDIA", run(program, "--random-inputs=1"))
    results = [outputs_of(program, tmp_path / target, "--random-inputs=1", f"--device={target}")["logits"] for target in ("cpu", "cuda")]
    assert np.abs(results[0] - results[1]).max() <= 0.02 * np.abs(results[0]).max()


def test_a_trace_has_a_bar_for_each_launch_and_a_benchmark_each_kernel(tmp_path):
    program = compile_to(tmp_path / "program", MODELS / "vit_b16.json", "--target=cuda", *options_of(SMALL))
    run(program, "--random-inputs=1", "--trace", tmp_path / "trace.json")
    launches = json.loads(run(program, "--describe", "--format=json"))["launches"]
    bars = [event for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if event["ph"] == "X"]
    assert len(bars) == len(launches) and all(bar["dur"] > 0 for bar in bars)
    run(program, "--random-inputs=1", "--benchmark", "--benchmark-out", tmp_path / "benchmark.json")
    assert json.loads((tmp_path / "benchmark.json").read_text())


def test_what_a_gpu_has_no_memory_for_is_an_error_before_any_work(tmp_path):
    """So many values of 2 GiB are needed at the end."""
    count, layers, source = 100, [], "x"
    for i in range(count):
        layers += [{"name": f"wide{i}", "op": "linear", "input": source, "width": 2040},
                   {"name": f"bent{i}", "op": "activation", "kind": "tanh", "input": f"wide{i}"},
                   {"name": f"narrow{i}", "op": "linear", "input": f"bent{i}", "width": 8}]
        source = f"narrow{i}"
    layers += [{"name": f"mean{i}", "op": "pool", "kind": "mean", "input": f"bent{i}"} for i in range(count)]
    description = {"hova": 1, "name": "m", "inputs": {"x": {"shape": [1, 260000, 8]}}, "layers": layers,
                   "outputs": {"end": source} | {f"mean{i}": f"mean{i}" for i in range(count)}}
    (tmp_path / "model.json").write_text(json.dumps(description), encoding="utf-8")
    program = compile_to(tmp_path / "program", tmp_path / "model.json", "--target=cuda", dtype="f32")
    said = run(program, "--random-inputs=1", status=1)
    assert re.search(r"NVIDIA .* has too little memory: the program takes \d{12} bytes", said), said


def test_the_program_of_pytorch(tmp_path):
    pytest.importorskip("torch")
    compile_to(tmp_path / "digits", DIGITS / "digits.json", "--target=cpu,cuda", "--emit=lib", WEIGHTS)
    said = run(sys.executable, DLPACK / "digits_torch.py", tmp_path / "digits.so", DIGITS / "images.npy", DIGITS / "labels.npy")
    right = (np.load(DIGITS / "logits.npy").argmax(1) == np.load(DIGITS / "labels.npy")).sum()
    assert re.match(rf"{right} of 400 digits are right, runs on .*NVIDIA", said), said


def test_tensors_of_pytorch_are_read_and_written_where_they_are(tmp_path):
    """Copies and runs by turns on one stream, for which the host does not wait."""
    torch = pytest.importorskip("torch")
    from dlpack_model import Model

    compile_to(tmp_path / "digits", DIGITS / "digits.json", "--target=cpu,cuda", "--emit=lib", WEIGHTS)
    stream = torch.cuda.Stream()
    model = Model(tmp_path / "digits.so", "digits", stream=stream.cuda_stream)
    assert model.target == "cuda"
    images = torch.from_numpy(np.load(DIGITS / "images.npy")).cuda()
    image, logits = torch.empty_like(images[:1]), torch.empty((1, 10), device="cuda")
    rows = []
    with torch.cuda.stream(stream):
        places = image.data_ptr(), logits.data_ptr()
        for one in images.split(1):
            image.copy_(one)
            model({"image": image}, {"logits": logits})
            rows.append(logits.clone())
        assert (image.data_ptr(), logits.data_ptr()) == places
    torch.cuda.synchronize()
    truth = np.load(DIGITS / "logits.npy")
    assert np.abs(torch.cat(rows).cpu().numpy() - truth).max() <= 0.02 * np.abs(truth).max()
    model.close()


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck", "initcheck"])
@pytest.mark.parametrize("dtype", ["bf16", "f32"])
def test_the_checker_of_nvidia_finds_nothing(tool, dtype, tmp_path):
    checker = shutil.which("compute-sanitizer") or pytest.skip("this machine has no compute-sanitizer")
    program = compile_to(tmp_path / "program", MODELS / "vit_b16.json", "--target=cuda", *options_of(SMALL), dtype=dtype)
    nothing = r"ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)"
    assert re.search(nothing, run(checker, f"--tool={tool}", program, "--random-inputs=1"))
