# ===- test_gpu_levels.py - One program for all GPUs ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Programs hold code for several levels of GPUs and take one when they start. A level is that of a stand-in for the driver, whose
launches the interpreter of PTX executes, or is emulated. Nothing here runs on a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test/codegen/cuda")]
import stand_in  # noqa: E402
from campaigns import share  # noqa: E402

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin" / "hova"
MODELS = ROOT / "examples" / "models"
# Machine code is for devices: the stand-in executes PTX.
GPU = ["--target=cuda", "--ptxas=none"]
SMALL = 99 << 10
# The level that each capability takes of a program of which nothing is said.
TAKEN = {80: "sm_80", 86: "sm_86", 89: "sm_86", 90: "sm_80", 100: "sm_80", 120: "sm_86"}
# Fewer layers and words of each example model, in which its kernels are as they are.
MODEL_SETS = {
    "bert_base": "depth=1 vocab=99",
    "bigbird_base": "depth=1 vocab=99",
    "lecture_mha": "",
    "lm": "depth=1 vocab=99",
    "lra": "depth=1",
    "m2": "depth=1 vocab=99",
    "minilm_l6": "depth=1 vocab=99",
    "omninet_b16": "depth=2 partition=2",
    "omninet_b32": "depth=2 partition=2",
    "omninet_lm": "depth=2 partition=2 vocab=99",
    "omninet_mt": "layers=2 partition=2 vocab=99",
    "swin_t": "depth=2",
    "swinv2_t": "depth=2",
    "t2t_vit_14": "depth=1",
    "tnt_s": "depth=1",
    "transformer_base": "depth=1 vocab=99",
    "vanilla_hv": "depth=1 vocab=99",
    "vit_b16": "depth=1",
    "vit_b32": "depth=1",
}


def run(*words, status=0, **environment):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env={**os.environ, **{name: str(value) for name, value in environment.items()}})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def compile_to(program, model, *options, sets="", dtype="bf16"):
    run(HOVA, "compile", model, f"--dtype={dtype}", *options, *(f"--set={size}" for size in sets.split()), "--quiet", "-o", program)
    return program


def run_on(capability, program, folder, *words, status=0, **environment):
    """On a driver of a GPU of this capability."""
    environment = {**stand_in.environment(folder / "launches"), "STAND_IN_CAPABILITY": capability, "STAND_IN_MEMORY": 1 << 33, **environment}
    return run(program, *words, status=status, **environment)


def level_of(capability, program, folder):
    """The level that a program takes, as it says when it is measured; what it measures is not executed."""
    said = run_on(capability, program, folder, "--random-inputs=1", "--benchmark", "--warmup=0", "--repetitions=1", f"--benchmark-out={folder / 'time.json'}",
                  STAND_IN_INTERPRETER="true")
    assert "error" not in said
    return json.loads((folder / "time.json").read_text(encoding="utf-8"))["level"]


def test_every_model_of_the_tree_is_here():
    assert set(MODEL_SETS) == {path.stem for path in MODELS.glob("*.json")}


# Of one item or of eight, in turn.
STARTED = [(name, batch) for number, name in enumerate(MODEL_SETS) for batch in ((1, 8), (8, 1))[number % 2]]


@pytest.mark.parametrize("name, batch", share(STARTED, of=3))
def test_example_models_start_on_every_level(name, batch, tmp_path):
    """Up to the first launch, which the driver is told to fail."""
    program = compile_to(tmp_path / "model", MODELS / f"{name}.json", *GPU, "--weights-mode=embed", "--init=1",
                         sets=f"{MODEL_SETS[name]} batch={batch}")
    for capability in TAKEN:
        said = run_on(capability, program, tmp_path, "--random-inputs=1", status=3, STAND_IN_FAIL="cuGraphLaunch:1:999")
        assert "error: cannot run the model on Stand-in GPU" in said


VIT = "depth=1 image=32 width=64 heads=2 hidden=96 classes=6 batch=2 horizontal=true vertical=true"
# Heads of 256 columns, and more keys than a turn takes.
WIDE = "depth=1 heads=3 image=128 classes=10"


def test_the_level_is_that_of_the_gpu(tmp_path):
    program = compile_to(tmp_path / "model", MODELS / "vit_b16.json", *GPU, sets=VIT)
    assert "levels     sm_80, sm_86\n" in run(program, "--describe")
    assert {capability: level_of(capability, program, tmp_path) for capability in TAKEN} == TAKEN
    named = compile_to(tmp_path / "named", MODELS / "vit_b16.json", *GPU, "--gpu-arch=sm_120,sm_89,sm_90a", sets=VIT)
    assert "levels     sm_90a, sm_120, sm_89\n" in run(named, "--describe")
    assert [level_of(capability, named, tmp_path) for capability in (89, 90, 120)] == ["sm_89", "sm_90a", "sm_120"]


def outputs_of(run_program, program, folder, *words):
    run_program(program, "--random-inputs=1", "--output-dir", folder / "out", *words)
    return {path.stem: np.load(path) for path in (folder / "out").iterdir()}


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
def test_levels_compute_the_same(dtype, tmp_path):
    """Sums are in the same order whatever the tile of a product and the place of its slots, so that levels of one program give the
    same bits where their attentions take the same keys at once; the emulation of one level alone is as near as that of 8.0."""
    program = compile_to(tmp_path / "model", MODELS / "vit_b16.json", *GPU, sets=VIT, dtype=dtype)
    results = [outputs_of(lambda model, *words, number=number: run_on(number, model, tmp_path, *words), program, tmp_path) for number in (80, 86)]
    emulation = compile_to(tmp_path / "emulated", MODELS / "vit_b16.json", "--target=cuda-emulated", "--gpu-arch=sm_86", sets=VIT, dtype=dtype)
    emulated = outputs_of(run, emulation, tmp_path)
    for output, value in results[0].items():
        assert (value.view(np.uint32) == results[1][output].view(np.uint32)).all()
        assert np.abs(value - emulated[output]).max() <= 2**-8 * np.abs(value).max()


@pytest.mark.parametrize("level", ["sm_86", "sm_90a", "sm_120"])
@pytest.mark.parametrize("model", ["mha_both", "windows_shifted", "elementwise"])
def test_models_are_verified_on_every_level(level, model):
    said = run(HOVA, "verify", ROOT / "test/golden/vectors" / model / "model.json", "--dtype=bf16", "--target=cuda-emulated", f"--gpu-arch={level}",
               "--cases=1")
    assert "verified: 1 case is within the numeric policy" in said


@pytest.mark.parametrize("level, capability", [("sm_90a", 90), ("sm_120", 120)])
def test_launches_overlap(level, capability, tmp_path):
    """On the stand-in, whose interpreter refuses reads of what launches that may still run have written: outputs are those of the
    emulation, which refuses the same; and those of a driver that has no such edges."""
    program = compile_to(tmp_path / "model", MODELS / "vit_b16.json", *GPU, f"--gpu-arch={level}", sets=VIT)
    emulation = compile_to(tmp_path / "emulated", MODELS / "vit_b16.json", "--target=cuda-emulated", f"--gpu-arch={level}", sets=VIT)
    here, emulated = outputs_of(lambda *words: run_on(capability, words[0], tmp_path, *words[1:]), program, tmp_path), outputs_of(run, emulation, tmp_path)
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    library = (stand_in.BUILD / "test/runtime/driver/libcuda.so.1").read_bytes()
    assert b"cuGraphAddDependencies_v2" in library
    (earlier / "libcuda.so.1").write_bytes(library.replace(b"cuGraphAddDependencies_v2", b"cuGraphAddDependencies_v0"))
    plain = outputs_of(lambda *words: run_on(capability, words[0], tmp_path, *words[1:], LD_LIBRARY_PATH=str(earlier)), program, tmp_path)
    for output, value in here.items():
        assert (value.view(np.uint32) == plain[output].view(np.uint32)).all()
        assert np.abs(value - emulated[output]).max() <= 2**-8 * np.abs(value).max()
    text = program.read_bytes()
    assert text.count(b"griddepcontrol.wait;") > 8
    program.write_bytes(text.replace(b"griddepcontrol.wait;", b"// ddepcontrol.wait;"))
    said = run_on(capability, program, tmp_path, "--random-inputs=1", status=-6)
    assert "a kernel that does not wait stands behind a programmatic edge" in said


def long_sum(folder):
    """A product of few rows and columns with a long sum, and a residual."""
    layers = [{"name": "product", "op": "linear", "input": "x", "width": 64}, {"name": "narrow", "op": "linear", "input": "r", "width": 64},
              {"name": "sum", "op": "add", "inputs": ["product", "narrow"]}]
    path = folder / "sum.json"
    path.write_text(json.dumps({"hova": 1, "name": "sum", "inputs": {"x": {"shape": [1, 20, 2048]}, "r": {"shape": [1, 20, 64]}}, "layers": layers, "outputs": {"y": "sum"}}))
    return path


@pytest.mark.parametrize("level, capability", [("sm_90a", 90), ("sm_120", 120)])
def test_blocks_of_a_cluster_add_parts(level, capability, tmp_path):
    """Where every level has clusters, a launch less adds the parts: on the stand-in and in the emulation."""
    model = long_sum(tmp_path)
    program = compile_to(tmp_path / "model", model, *GPU, f"--gpu-arch={level}")
    emulation = compile_to(tmp_path / "emulated", model, "--target=cuda-emulated", f"--gpu-arch={level}")
    here, emulated = outputs_of(lambda *words: run_on(capability, words[0], tmp_path, *words[1:]), program, tmp_path), outputs_of(run, emulation, tmp_path)
    assert (here["y"].view(np.uint32) == emulated["y"].view(np.uint32)).all()
    assert b".reqnctapercluster 1, 1, " in program.read_bytes()
    assert "verified: 3 cases" in run(HOVA, "verify", model, "--dtype=bf16", "--target=cuda-emulated", f"--gpu-arch={level}")


def test_a_cluster_saves_a_launch_where_every_level_has_it(tmp_path):
    def counted(*options):
        words = [long_sum(tmp_path), "--dtype=bf16", "--target=cuda", "--quiet", "-o", "-", "--emit=mlir", "--stop-after=assign", *options]
        text = run(HOVA, "compile", *words)
        return text.count("hova.kernel "), "cluster = " in text

    kernels, has_cluster = counted("--gpu-arch=sm_90a", "--strict")
    assert not has_cluster
    assert counted("--gpu-arch=sm_90a") == (kernels, True)
    assert counted("--gpu-arch=sm_80") == (kernels + 1, False)


def halves_behind_a_sum():
    """A gate whose halves are of what is added to a product."""
    return {"x": [1, 20, 2048], "r": [1, 20, 128]}, [
        {"name": "p", "op": "linear", "input": "x", "width": 128}, {"name": "q", "op": "add", "inputs": ["p", "r"]},
        {"name": "a", "op": "slice", "input": "q", "end": 64}, {"name": "b", "op": "slice", "input": "q", "start": 64},
        {"name": "y", "op": "multiply", "inputs": ["a", "b"]}]


def pairs_of_wide_tiles():
    """Tiles of 96 columns, of which a lane of a row has one at a time."""
    table = {"op": "weight", "shape": [197, 32], "trainable": False}
    return {"x": [1, 197, 3072]}, [
        {"name": "c", **table}, {"name": "s", **table}, {"name": "p", "op": "linear", "input": "x", "width": 768},
        {"name": "y", "op": "rotate", "input": "p", "heads": 12, "cosines": "c", "sines": "s", "pairs": "neighbours"}]


def no_whole_turns():
    """Terms that two blocks cannot share, and a norm of the sum."""
    return {"x": [1, 20, 2880], "r": [1, 20, 768]}, [
        {"name": "p", "op": "linear", "input": "x", "width": 768}, {"name": "q", "op": "add", "inputs": ["p", "r"]},
        {"name": "n", "op": "layer_norm", "input": "q"}, {"name": "y", "op": "linear", "input": "n", "width": 256}]


@pytest.mark.parametrize("make", [halves_behind_a_sum, pairs_of_wide_tiles, no_whole_turns])
def test_what_joins_a_cluster_or_none_is_right(make, tmp_path):
    inputs, layers = make()
    model = tmp_path / "model.json"
    model.write_text(json.dumps({"hova": 1, "name": "m", "inputs": {name: {"shape": shape} for name, shape in inputs.items()}, "layers": layers, "outputs": {"y": "y"}}))
    for dtype in ("f16", "f32"):
        compile_to(tmp_path / "model", model, *GPU, "--gpu-arch=sm_90a,sm_120", dtype=dtype)
    said = run(HOVA, "verify", model, "--dtype=bf16", "--target=cuda-emulated", "--gpu-arch=sm_90a", "--cases=1")
    assert "verified: 1 case" in said


def test_kernels_of_99_kib_ask_for_no_more(tmp_path):
    """Heads of 256 columns and their keys take 104 KiB on 8.0."""
    for options, most in (([], 163 << 10), (["--gpu-arch=sm_86"], SMALL)):
        program = compile_to(tmp_path / "wide", MODELS / "vit_b16.json", *GPU, *options, sets=WIDE)
        shared = [launch["shared_bytes"] for launch in json.loads(run(program, "--describe", "--format=json"))["launches"]]
        assert max(shared) <= most and (most == SMALL or max(shared) > SMALL)


def test_a_program_for_both_takes_the_processor_where_no_level_fits(tmp_path):
    """A GPU that gives a block too little is as good as none."""
    only = compile_to(tmp_path / "only", MODELS / "vit_b16.json", *GPU, "--gpu-arch=sm_80", sets=WIDE)
    said = run_on(89, only, tmp_path, "--random-inputs=1", status=1)
    assert "needs a GPU with" in said and "bytes of shared memory in a block, for kernel" in said and said.count("\n") == 1
    both = compile_to(tmp_path / "both", MODELS / "vit_b16.json", "--target=cpu,cuda", "--ptxas=none", "--gpu-arch=sm_80", sets=WIDE)
    assert "runs on the processor: program" in run_on(89, both, tmp_path, "--random-inputs=1")


def test_text_of_one_level_is_that_of_the_first(tmp_path):
    texts = [run(HOVA, "compile", MODELS / "lecture_mha.json", "--target=cuda", "--emit=ptx", "--quiet", *options)
             for options in ([], ["--gpu-arch=sm_80"], ["--gpu-arch=sm_120"])]
    assert texts[0] == texts[1] and ".target sm_80" in texts[0] and ".target sm_120" in texts[2]
    several = run(HOVA, "compile", MODELS / "lecture_mha.json", "--target=cuda", "--emit=ptx", "--gpu-arch=sm_80,sm_86", status=2)
    assert "--emit=ptx takes one level, got 2" in several


WRONG = {
    "--target=cuda --gpu-arch=sm_75": "option '--gpu-arch': expects levels of sm_80, sm_86, sm_89, sm_90a, sm_120, got 'sm_75'",
    "--target=cuda --gpu-arch=sm_80,": "got ''",
    "--target=cuda --gpu-arch=sm_86,sm_86": "option '--gpu-arch': 'sm_86' is given twice",
    "--target=cuda-emulated --gpu-arch=sm_80,sm_86": "option '--gpu-arch': an emulation is of one GPU, got 'sm_80,sm_86'",
}


@pytest.mark.parametrize("options", WRONG)
def test_levels_that_are_none_are_refused(options, tmp_path):
    said = run(HOVA, "compile", MODELS / "lecture_mha.json", *options.split(), "-o", tmp_path / "x", status=2)
    assert WRONG[options] in said and not (tmp_path / "x").exists()
