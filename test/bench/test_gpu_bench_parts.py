# ===- test_gpu_bench_parts.py - What travels to a machine with a GPU ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Of tools/bench/gpu what needs no device: declarations beside the headers that they repeat, sources beside what Python has there,
how large a folder may be, and what becomes of items that never end."""

import ast
import ctypes
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tools/bench/gpu"
sys.path[:0] = [str(ROOT / folder) for folder in ("test/codegen/cuda", "test/e2e", "tools/bench", "tools/bench/gpu/there", "tools/bench/gpu")]
import bits  # noqa: E402
import decides  # noqa: E402
import driver  # noqa: E402
import library  # noqa: E402
import make  # noqa: E402
import make_kernels  # noqa: E402
import measure  # noqa: E402
import models  # noqa: E402
import sass  # noqa: E402
from lists import FULL  # noqa: E402
from store import Skipped  # noqa: E402
from tables import tables  # noqa: E402
from turns import Contestant  # noqa: E402

CLANG = Path(os.environ["HOVA_LLVM"]) / "bin/clang"
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-const-variable", "-Wno-unused-function", "-fsyntax-only", "-D_GNU_SOURCE"]

# ===------------------------------------------------------------------------=== #
# Declarations
# ===------------------------------------------------------------------------=== #

# A struct there, the one of the header, whether it is repeated to its end, and fields that the header calls otherwise.
MIRRORS = [
    (library.TensorInfo, "hova_tensor_info", True, {}),
    (library.Program, "hova_program", False, {}),
    (library.TensorView, "hova_tensor", True, {"device_type": "device.device_type", "device_id": "device.device_id", "code": "dtype.code",
                                               "bits": "dtype.bits", "lanes": "dtype.lanes"}),
    (library.Options, "hova_options", True, {}),
    (driver.KernelNode, "driver_kernel_node", True, {}),
    (driver.Edge, "driver_edge", True, {}),
]
NUMBERS = {"HOVA_ABI_VERSION": library.ABI, "DRIVER_CAPABILITY_MAJOR": driver.MAJOR, "DRIVER_CAPABILITY_MINOR": driver.MINOR,
           "DRIVER_MOST_SHARED_BYTES": driver.SHARED_BYTES, "DRIVER_DYNAMIC_SHARED_BYTES": driver.DYNAMIC_SHARED,
           "DRIVER_SHARED_CARVEOUT": driver.CARVEOUT, "DRIVER_ERROR_LOG": driver.ERROR_LOG, "DRIVER_ERROR_LOG_BYTES": driver.ERROR_LOG_BYTES,
           "DRIVER_PROGRAMMATIC_EDGE": driver.PROGRAMMATIC.type, "DRIVER_PROGRAMMATIC_PORT": driver.PROGRAMMATIC.from_port,
           **{f"HOVA_{name.upper()}": number for number, (name, *_) in enumerate(library.DTYPES)}}


def claims():
    """What is so in C if the declarations there are right."""
    for mirror, name, whole, renamed in MIRRORS:
        if whole:
            yield f"sizeof({name}) == {ctypes.sizeof(mirror)}"
        for field, kind in mirror._fields_:
            there = renamed.get(field, field)
            yield f"offsetof({name}, {there}) == {getattr(mirror, field).offset}"
            yield f"sizeof((({name} *)0)->{there}) == {ctypes.sizeof(kind)}"
    for name, number in NUMBERS.items():
        yield f"(int){name} == {number}"


def accepted(claimed, tmp_path):
    source = tmp_path / "claims.c"
    asserted = "\n".join(f'_Static_assert({claim}, "{claim}");' for claim in claimed)
    source.write_text(f'#include "runtime/hova_runtime.h"\n#include "runtime/cuda/DriverCalls.h"\n{asserted}\n', encoding="utf-8")
    return subprocess.run([CLANG, *FLAGS, "-I", ROOT, source], capture_output=True, text=True, check=False)


def test_declarations_are_those_of_the_headers(tmp_path):
    done = accepted(claims(), tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("what", ["(int)HOVA_ABI_VERSION", "offsetof(hova_tensor_info, upper)", "sizeof(hova_options)", "(int)HOVA_I64",
                                  "sizeof(((hova_program *)0)->num_inputs)", "offsetof(hova_tensor, dtype.bits)", "sizeof(driver_edge)"])
def test_a_declaration_that_differs_is_noticed(what, tmp_path):
    (claim,) = [claim for claim in claims() if claim.startswith(f"{what} == ")]
    number = int(claim.rpartition(" ")[2])
    assert accepted([claim], tmp_path).returncode == 0
    assert accepted([f"{what} == {number + 1}"], tmp_path).returncode != 0


def test_types_have_the_numbers_of_dlpack():
    """hova_make_tensor of the header has them too."""
    text = (ROOT / "runtime/hova_runtime.h").read_text(encoding="utf-8")
    start = text.index("types[] = {")
    told = [int(word) for word in text[start : text.index("};", start)].replace("{", " ").replace("}", " ").replace(",", " ").split() if word.isdigit()]
    assert told == [number for _, code, bits, _ in library.DTYPES for number in (code, bits, 1)]


# ===------------------------------------------------------------------------=== #
# Sources
# ===------------------------------------------------------------------------=== #


@pytest.fixture
def sources(tmp_path):
    make.copy_sources(tmp_path)
    return list(tmp_path.rglob("*.py"))


def test_sources_need_python_3_10_numpy_and_torch_alone(sources):
    known = {*sys.stdlib_module_names, *(path.stem for path in sources), "nets", "numpy", "torch"}
    for path in sources:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert {name.split(".")[0] for name in names if name} <= known, path


def test_the_parent_needs_no_numpy(sources, tmp_path):
    """Neither does a part that does not say so: NumPy and PyTorch are imported inside of functions there."""
    for path in sources:
        if path.parent == tmp_path and path.stem not in ("drawing", "repeating"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            named = {alias.name.split(".")[0] for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
            named |= {node.module.split(".")[0] for node in tree.body if isinstance(node, ast.ImportFrom)}
            assert not named & {"numpy", "torch", "nets", "repeating", "kernels"}, path


def test_ptxas_takes_the_kernels_that_are_written_there(tmp_path):
    """The interpreter takes more than an assembler does."""
    texts = {"ring": ("sm_80", decides.ring(128, 16384, 3, 512, 1 << 17)), "straight": ("sm_80", decides.HEAD.format(target="sm_80") + decides.straight("code0", 64, 128)),
             "empty": ("sm_80", decides.empty_kernels(decides.PLAIN, 128, "sm_80")),
             "early": ("sm_90", decides.empty_kernels(decides.OVERLAPPING, 128, "sm_90"))}
    if not (sass.TOOLS / "ptxas").exists():
        pytest.skip("without ptxas: test/requirements.txt")
    for name, (arch, text) in texts.items():
        (tmp_path / f"{name}.ptx").write_text(text, encoding="utf-8")
        done = subprocess.run([sass.TOOLS / "ptxas", f"-arch={arch}", tmp_path / f"{name}.ptx", "-o", tmp_path / name], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# ===------------------------------------------------------------------------=== #
# Chains and judgements
# ===------------------------------------------------------------------------=== #


class Recorder:
    """A device of 9.0 that keeps what it is asked to time: of each launch the kernel's name, its share and the launch's memory."""

    def __init__(self):
        self.asked = []

    def attribute(self, _):
        return 132

    def capability(self):
        return 90

    def has(self, name):
        return name == "cuGraphAddDependencies_v2"

    def describe(self):
        return {"shared_bytes": 227 << 10}

    def load(self, text):
        return text

    def buffer(self, data):
        return 16

    def allocate(self, size):
        return 16

    def free(self, address):
        pass

    def function(self, module, name, most, share=100):
        assert f".entry {name}(".encode() in module
        assert most <= 227 << 10
        return name, most, share

    def microseconds(self, launches, replays, edge=None):
        self.asked.append(([launch.function for launch in launches], [launch.shared for launch in launches], edge))
        return float(len(self.asked))


def test_chains_are_what_they_are_called():
    device, item = Recorder(), next(make.chains(FULL))
    told = decides.empty(SimpleNamespace(device=device), item)["us"]
    chains = dict(zip(told, device.asked, strict=True))
    assert list(told.values()) == [float(i + 1) for i in range(8)] and {len(functions) for functions, _, _ in device.asked} == {89}
    shares = {name: [share for _, _, share in functions[:3]] for name, (functions, _, _) in chains.items()}
    assert {name: share for name, share in shares.items() if share != [100, 100, 100]} == {
        "smallest share": [0, 0, 0], "shares by turns": [0, 100, 0], "programmatic, shares by turns": [0, 100, 0]}
    assert chains["sizes by turns, largest share"][1][:3] == [0, item["shared"], 0]
    assert {name for name, (_, _, edge) in chains.items() if edge is driver.PROGRAMMATIC} == {name for name in told if name.startswith("programmatic")}
    assert {name: functions[0][0] for name, (functions, _, _) in chains.items()}["programmatic, leave behind the wait"] == "behind"
    assert decides.OVERLAPPING["behind"].split() == ["griddepcontrol.wait;", "griddepcontrol.launch_dependents;"]


def test_copies_are_of_blocks_that_lie_beside_each_other():
    measured = set()
    for item in (item for item in make.chains(FULL) if item["kind"] == "copies"):
        try:
            rates = decides.copies(SimpleNamespace(device=Recorder()), item)["gb_per_s"]
        except Skipped:
            continue
        measured.add((item["blocks"], item["slots"] * item["turn_bytes"] >> 10))
        # Bytes of the blocks of a multiprocessor in one microsecond, then in two.
        assert list(rates.values()) == [item["blocks"] * item["turns"] * item["turn_bytes"] / us / 1e3 for us in (1, 2)]
    assert measured == {(1, 48), (2, 48), (1, 96), (2, 96), (1, 128), (1, 192)}


@pytest.mark.parametrize("edge", [None, driver.PROGRAMMATIC])
def test_each_launch_of_a_graph_is_behind_the_one_before(edge):
    device, calls = object.__new__(driver.Device), []

    def call(name, *arguments):
        calls.append((name, arguments))
        if name == "cuGraphAddKernelNode_v2":
            arguments[0]._obj.value = len(calls)  # the node that was made

    device.call = call
    device.make = lambda name, *arguments: ctypes.c_void_p(1)
    device.graph([driver.Launch(None, (1,), 32, 0, [16]) for _ in range(3)], edge)
    nodes = [arguments[3].value for name, arguments in calls if name == "cuGraphAddKernelNode_v2"]
    edges = [arguments for name, arguments in calls if name == "cuGraphAddDependencies_v2"]
    assert nodes == ([0, 1, 1] if edge is None else [0, 0, 0]) and len(edges) == (0 if edge is None else 2)


def test_other_bits_are_wrong_unless_they_are_approximate():
    words = [struct.pack("2f", 1.0, value) for value in (2.0, 3.0, 4.0)]
    device = SimpleNamespace(capability=lambda: 90)
    item = {"capability": 80, "exact": False, "archive": "", "key": "k", "buffers": 1, "ways": ["in-order", "h100"], "approximate": False}

    def measured(after, **more):
        expected = {"k.0.in-order": words[0], "k.0.h100": words[1]}
        bench = SimpleNamespace(device=device, read=lambda _, name: expected[name], buffers=lambda _: [], launched=lambda *_: [after])
        return bits.measure(bench, item | more)

    assert measured(words[1]) == {"equal": ["h100"]}
    assert measured(words[2])["wrong"] == "other bits" and measured(words[2])["words"] == 1
    assert "wrong" not in measured(words[2], approximate=True)
    # Code of exactly 8.0 is not for another device.
    with pytest.raises(Skipped, match="no code of 8.0"):
        measured(words[1], exact=True)


@pytest.mark.parametrize(("outputs", "error", "wrong"), [([1.0], None, None), ([float("nan")], None, "numbers that are none"), ([1.0], 0.039, None),
                                                         ([1.0], 0.041, 0.041), ([1.0], float("nan"), float("nan"))])
def test_a_model_with_wrong_numbers_is_named(outputs, error, wrong):
    told, counts = {"contestants": []}, FULL.counts | {"turn": 0.0}
    bench = SimpleNamespace(device=SimpleNamespace(synchronize=lambda _: None, milliseconds=lambda *_: 1.0), list={"counts": counts})
    contestant = Contestant("hova sm_80", lambda: None, lambda: [struct.pack("f", *outputs)])
    peers = SimpleNamespace(error=lambda _: error) if error is not None else None
    models.judge(bench, 0, [contestant], peers, told)
    models.contest(bench, 0, [contestant], told)
    assert str(told.get("wrong")) == str(wrong if wrong is None else {"hova sm_80": wrong})
    assert told["contestants"][0]["samples"] == counts["rounds"] * counts["least"]


# ===------------------------------------------------------------------------=== #
# Sizes and lists
# ===------------------------------------------------------------------------=== #


def test_a_folder_that_is_too_large_has_no_list(tmp_path, capsys):
    (tmp_path / "data/images").mkdir(parents=True)
    (tmp_path / "data/images/a.xz").write_bytes(bytes(3 << 20))
    (tmp_path / "data/tiles.zip").write_bytes(bytes(1 << 20))
    assert make.finish(tmp_path, {"parts": {}}, most_bytes=4 << 20) == 1
    told = capsys.readouterr()
    assert "3.0 MiB  data/images\n    1.0 MiB  data/tiles.zip" in told.out
    assert "is given 4 MiB at most, and this is 4.0 MiB: choose fewer models by --models or batches by --batches" in told.err
    assert not (tmp_path / "list.json").exists()
    assert make.finish(tmp_path, {"parts": {}}, most_bytes=5 << 20) == 0
    assert (tmp_path / "list.json").exists()


def test_a_folder_without_a_list_is_refused(sources, tmp_path):
    done = subprocess.run([sys.executable, "-B", tmp_path / "measure.py", "--out", tmp_path / "results"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "has no list.json: make.py did not finish this folder" in done.stderr


def test_kernels_are_launched_with_all_of_their_parameters():
    text = ".version 7.0\n.visible .entry kernel(\n\t.param .u64 a,\n\t.param .u64 b,\n\t.param .u32 c\n)\n{\n"
    with pytest.raises(AssertionError, match="is given 2 addresses"):
        make_kernels.check_parameters("kernel", text, 2)
    make_kernels.check_parameters("kernel", text.replace("u32", "u64"), 3)


def test_models_and_batches_are_chosen_with_their_spans():
    fewer = make.chosen(FULL, ["lm", "vit_b16"], [8])
    assert {name for name, _ in fewer.models} == {"lm", "vit_b16"} and fewer.batches == (8,)
    assert fewer.spans == [("vit_b16", 8), ("lm", 8), ("lm attention=performer", 8)]
    assert make.chosen(FULL, [], []) == FULL
    with pytest.raises(ValueError, match="there is no model vit; there are vit_b16, bert_base, lm"):
        make.chosen(FULL, ["vit"], [])


def test_performers_and_bigbird_are_rows():
    settings = {tuple(settings) for _, settings in FULL.models}
    assert {("attention=performer",), ("attention=bigbird", "length=1024")} <= settings and FULL.batches == (8, 1)


# ===------------------------------------------------------------------------=== #
# Processes
# ===------------------------------------------------------------------------=== #

ITEMS = [{"name": "a"}, {"name": "b"}, {"name": "c"}]


@pytest.fixture
def results(tmp_path):
    return measure.Results(tmp_path / "results")



def scripted(monkeypatch, *scripts):
    """Processes that say these lines, one script each; what is raised instead of a line is an error."""
    begun = iter(scripts)

    class Scripted:
        def __init__(self, part, wanted, deadline, folder):
            self.lines, self.process = iter(next(begun)), self

        def line(self, silence):
            line = next(self.lines, None)
            if isinstance(line, Exception):
                raise line
            return line

        def wait(self, seconds):
            return 0

        def end(self):
            return ""

    monkeypatch.setattr(measure, "Worker", Scripted)


def run(results, items=ITEMS):
    never = float("inf")
    measure.Run(results, "", never).part("bits", list(range(len(items))), never, items)
    return [{name: value for name, value in row.items() if name != "part"} for row in map(measure.json.loads, results.path.read_text(encoding="utf-8").splitlines())]


def test_an_item_that_never_ends_costs_itself_alone(monkeypatch, results):
    scripted(monkeypatch, [{"begin": 0}, {"row": {"item": "a"}}, {"begin": 1}, TimeoutError("no answer in 20 s")], [{"begin": 2}, {"row": {"item": "c"}}])
    assert run(results) == [{"item": "a"}, {"item": "b", "failed": "no answer in 20 s"}, {"item": "c"}]


def test_a_part_that_cannot_begin_fails_as_a_whole(monkeypatch, results):
    scripted(monkeypatch, [TimeoutError("no answer in 20 s")])
    assert run(results) == [{"item": name, "failed": "no answer in 20 s"} for name in "abc"]


def test_the_end_of_all_time_is_no_fault_of_an_item(monkeypatch, results):
    """The item under way is not done: another call measures it."""
    scripted(monkeypatch, [{"begin": 0}, {"row": {"item": "a"}}, {"begin": 1}, TimeoutError("no answer in 0 s")])
    clock = iter([0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 10.0, 10.0])
    monkeypatch.setattr(measure.time, "monotonic", lambda: next(clock))
    measure.Run(results, "", 5.0).part("bits", [0, 1, 2], 5.0, ITEMS)
    monkeypatch.undo()
    assert measure.Results(results.path.parent).done == {("bits", "a")}
    assert "no time was left" in tables(results.path)


def test_all_parts_have_a_share_and_end_before_12_minutes():
    assert measure.TOTAL < 720 and sum(part.share for part in measure.PARTS.values()) > 0
    assert all((BENCH / f"there/{part.module}.py").exists() for part in measure.PARTS.values())
