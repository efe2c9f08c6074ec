# ===- test_model.py - Compiled models on arrays of Python ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Memory is read and written where it is, from any number of threads; what does not fit is refused by name."""

import gc
import mmap
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import hova
import numpy as np
import pytest
from conftest import DIGITS, SOURCE

MHA = SOURCE / "examples/models/lecture_mha.json"


@pytest.fixture(scope="module")
def model(digits):
    with hova.load(digits) as model:
        yield model


def test_what_a_model_takes_is_told(model):
    assert model.name == "digits" and model.dtype == "f32" and model.compiler.startswith("hova ")
    assert model.inputs == (hova.Tensor("image", "float32", (40, 1, 8, 8), None),)
    assert [(one.name, one.shape) for one in model.outputs] == [("logits", (40, 10))]
    assert min(model.flops, model.arena_bytes, model.weight_bytes) > 0
    assert repr(model) == "<hova.Model digits(image: float32[40, 1, 8, 8]) -> logits: float32[40, 10]>"


def test_results_are_those_of_c(model, images, logits):
    for given in (model(images), model({"image": images})):
        assert list(given) == ["logits"] and given["logits"].dtype == np.float32
        assert np.array_equal(given["logits"], logits)


def test_integers_have_a_range():
    model = hova.load(hova.compile(SOURCE / "examples/models/minilm_l6.json", set={"length": 8}))
    by_name = {tensor.name: tensor for tensor in model.inputs}
    tokens = next(tensor for tensor in model.inputs if tensor.range and tensor.dtype == "int32")
    low, high = tokens.range
    inputs = {name: np.ones(tensor.shape, tensor.dtype) for name, tensor in by_name.items()}
    assert all(np.isfinite(result).all() for result in model(inputs).values())
    inputs[tokens.name] = np.full(tokens.shape, high, tokens.dtype)
    with pytest.raises(hova.Error, match=tokens.name):
        model(inputs)
    inputs[tokens.name] = np.full(tokens.shape, low, tokens.dtype)
    model(inputs)


# ===------------------------------------------------------------------------=== #
# Without copies
# ===------------------------------------------------------------------------=== #


def test_results_are_written_where_they_are_wanted(model, images, logits):
    out = np.full((40, 10), np.nan, np.float32)
    results = model(images, out={"logits": out})
    assert results["logits"] is out and np.array_equal(out, logits)


def test_read_only_memory_is_read(model, logits):
    mapped = np.load(DIGITS / "images.npy", mmap_mode="r")[:40]
    assert not mapped.flags.writeable and np.array_equal(model(mapped)["logits"], logits)


def test_memory_is_used_in_place(model, images, logits):
    """An input of which no copy can be made beside an output of which none may be: both are one mapping."""
    memory = mmap.mmap(-1, images.nbytes + logits.nbytes)
    given = np.frombuffer(memory, np.float32, images.size).reshape(images.shape)
    made = np.frombuffer(memory, np.float32, logits.size, offset=images.nbytes).reshape(logits.shape)
    given[...] = images
    model(given, out={"logits": made})
    assert memory[images.nbytes :] == logits.tobytes()
    # Views of the same memory: had an argument been copied, nothing would overlap.
    overlapping = np.frombuffer(memory, np.float32, logits.size).reshape(logits.shape)
    with pytest.raises(hova.Error, match="overlap"):
        model(given, out={"logits": overlapping})


class Foreign:
    """Knows of the protocol alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_objects_of_dlpack_are_arrays(model, images, logits):
    out = np.empty((40, 10), np.float32)
    assert np.array_equal(model(Foreign(images.copy()), out={"logits": Foreign(out)})["logits"]._array, logits)


def test_no_array_is_held_after_a_run(model, images):
    given, out = images.copy(), np.empty((40, 10), np.float32)
    before = sys.getrefcount(given), sys.getrefcount(out)
    model(given, out={"logits": out})
    assert (sys.getrefcount(given), sys.getrefcount(out)) == before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda x: x.astype(np.float64), "input 'image' expects float32, got float64; array.astype"),
        (lambda x: Foreign(x.astype(np.float64)), "input 'image' expects f32, got f64"),
        (lambda x: x[:10], r"input 'image' expects shape \[40, 1, 8, 8\], got \[10, 1, 8, 8\]; --set batch=10 compiles"),
        (np.asfortranarray, "input 'image' expects elements row by row"),
        (lambda x: np.repeat(x, 2, axis=0)[::2], "input 'image' expects elements row by row"),
        (lambda x: Foreign(np.asfortranarray(x)), "input 'image' expects dense row-major memory"),
        (lambda x: x.tolist(), "input 'image' expects a NumPy array or another object with __dlpack__, got list"),
        (lambda x: np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape), "align"),
    ],
)
def test_what_does_not_fit_is_refused(model, images, change, why):
    with pytest.raises(hova.Error, match=why) as caught:
        model(change(images))
    assert caught.value.status == 1


def test_inputs_have_names(model, images, logits):
    assert np.array_equal(model(image=images)["logits"], logits)


def test_names_are_checked(model, images):
    with pytest.raises(hova.Error, match="the model has inputs image; there is no 'imgae'"):
        model({"imgae": images})
    with pytest.raises(hova.Error, match="the model has inputs image; 'image' is missing"):
        model({})
    with pytest.raises(hova.Error, match="the model has inputs image; got 2 arrays"):
        model(images, images)
    with pytest.raises(hova.Error, match="the model has outputs logits; there is no 'logit'"):
        model(images, out={"logit": images})
    with pytest.raises(hova.Error, match="output 'logits' is read-only"):
        model(images, out={"logits": np.broadcast_to(np.float32(0), (40, 10))})


# ===------------------------------------------------------------------------=== #
# Threads
# ===------------------------------------------------------------------------=== #


@pytest.mark.parametrize("contexts", [1, 3])
def test_threads_share_a_model(digits, images, logits, contexts):
    """Each has inputs of its own: had two a context at once, their numbers would mix."""
    rolled = [(np.roll(images, shift, axis=0), np.roll(logits, shift, axis=0)) for shift in range(16)]
    with hova.load(digits, threads=1, contexts=contexts) as model:

        def work(number):
            given, expected = rolled[number % len(rolled)]
            return np.array_equal(model(given)["logits"], expected)

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, range(400)))


def test_the_interpreter_goes_on_while_a_model_runs():
    """No thread takes the lock from one that holds it here, so whoever sees a run going on was let in by it."""
    big = hova.compile(SOURCE / "examples/models/lm.json", set={"batch": 4, "length": 128, "vocab": 500})
    model = hova.load(big, threads=1)
    inputs = [np.zeros(tensor.shape, tensor.dtype) for tensor in model.inputs]
    is_running, was_seen = False, False

    def work():
        nonlocal is_running
        for _ in range(3):
            is_running = True
            model(*inputs)
            is_running = False

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e6)
    try:
        worker = threading.Thread(target=work)
        worker.start()
        while worker.is_alive():
            was_seen = was_seen or is_running
            worker.join(1e-4)
    finally:
        sys.setswitchinterval(interval)
    assert was_seen


def test_a_closed_model_refuses_runs(digits, images):
    model = hova.load(digits, threads=1)
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(model, images) for _ in range(40)]
        model.close()
        outcomes = [run.exception() for run in runs]
    assert all(error is None or "is closed" in str(error) for error in outcomes)
    with pytest.raises(hova.Error, match="the model 'digits' is closed"):
        model(images)
    model.close()


def test_a_child_of_fork_makes_a_model_of_its_own(digits, images, logits):
    model = hova.load(digits, threads=2)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.raises(hova.Error, match="before a fork"):
                model(images)
            status = 0 if np.array_equal(hova.load(digits, threads=2)(images)["logits"], logits) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(model(images)["logits"], logits)


# ===------------------------------------------------------------------------=== #
# Files
# ===------------------------------------------------------------------------=== #


def test_a_file_that_was_compiled_again_is_another_model(tmp_path, images, logits):
    """The loader of the system gives the library that it has for a path that it knows."""
    path = tmp_path / "digits.so"
    options = {"set": {"batch": 40}, "output": path}
    first = hova.load(hova.compile(DIGITS / "digits.json", weights=DIGITS / "weights.safetensors", **options))
    second = hova.load(hova.compile(DIGITS / "digits.json", init=1, **options))
    assert np.array_equal(first(images)["logits"], logits)
    assert not np.array_equal(second(images)["logits"], logits)


def test_weights_may_lie_beside_the_library(tmp_path, images, logits):
    program = hova.compile(
        DIGITS / "digits.json",
        weights=DIGITS / "weights.safetensors",
        set={"batch": 40},
        weights_mode="file",
        output=tmp_path / "digits.so",
    )
    beside = tmp_path / "digits.so.weights"
    assert np.array_equal(hova.load(program)(images)["logits"], logits)
    moved = tmp_path / "elsewhere"
    shutil.move(beside, moved)
    assert np.array_equal(hova.load(program, weights=moved, check_weights=True)(images)["logits"], logits)
    with pytest.raises(hova.Error) as caught:
        hova.load(program)
    assert str(beside) in str(caught.value) and caught.value.status == 74


def test_weights_may_be_arrays(tmp_path, images, logits):
    from safetensors.numpy import load_file

    arrays = load_file(DIGITS / "weights.safetensors")
    name = next(name for name in arrays if arrays[name].ndim == 2)
    arrays[name] = np.asfortranarray(arrays[name])
    program = hova.compile(DIGITS / "digits.json", weights=arrays, set={"batch": 40})
    assert np.array_equal(hova.load(program)(images)["logits"], logits)
    with pytest.raises(hova.Error, match="<weights>"):
        hova.compile(DIGITS / "digits.json", weights={"other": images})
    with pytest.raises(TypeError, match="weight 'w' expects an array in CPU memory, got int"):
        hova.compile(DIGITS / "digits.json", weights={"w": 1})
    with pytest.raises(TypeError, match="weight 'w' expects one of F64, .*, got complex64"):
        hova.compile(DIGITS / "digits.json", weights={"w": np.zeros(2, np.complex64)})


def test_the_file_of_a_program_goes_with_its_last_model(images):
    model = hova.load(hova.compile(DIGITS / "digits.json", init=0, set={"batch": 40}))
    folder = model._keep.path.parent
    gc.collect()
    assert folder.exists() and np.isfinite(model(images)["logits"]).all()
    del model
    gc.collect()
    assert not folder.exists()


def test_what_is_no_library_is_refused(tmp_path):
    program = hova.compile(MHA, emit="exe", output=tmp_path / "program")
    with pytest.raises(hova.Error, match="is a program, which another process runs"):
        hova.load(program)
    with pytest.raises(ValueError, match="contexts expects a number from 1, got 0"):
        hova.load(hova.compile(MHA), contexts=0)
    with pytest.raises(hova.Error, match="expects 0 to 1024 threads, got 5000"):
        hova.load(hova.compile(MHA), threads=5000)


def test_a_library_of_another_version_is_refused(tmp_path):
    source = tmp_path / "old.c"
    functions = ("program", "create", "run", "destroy", "message")
    source.write_text("int m_abi_version(void) { return 1; }\n" + "".join(f"void m_{name}(void) {{}}\n" for name in functions))
    subprocess.run(["clang-22", "-shared", "-fPIC", source, "-o", tmp_path / "old.so"], check=True)
    with pytest.raises(hova.Error, match=r"another version of hova \(interface 1, expected \d+\): compile it again"):
        hova.load(tmp_path / "old.so")


def test_emulated_kernels_run(images, logits):
    program = hova.compile(DIGITS / "digits.json", weights=DIGITS / "weights.safetensors", set={"batch": 40}, target="cuda-emulated")
    assert np.allclose(hova.load(program)(images)["logits"], logits, rtol=1e-3, atol=1e-4)
