# ===- test_results.py - Models among other libraries and processes ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Results are of the library of the inputs; programs are kept, models sent, and pages shown."""

import html
import inspect
import pickle
import re
import subprocess
import sys
import types

import hova
import numpy as np
import pytest
from conftest import BUILD, SOURCE
from hova import _options
from test_runtime import LINEAR, WEIGHTS, X

Y = [[2, 5, 7]]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    from hova import _driver

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_driver, "DRIVER", BUILD / "bin/hova")
        yield hova.compile(LINEAR, weights=WEIGHTS, output=tmp_path_factory.mktemp("results") / "m.so")


@pytest.fixture(scope="module")
def model(program):
    with hova.load(program, threads=1) as model:
        yield model


@pytest.fixture
def tensors(monkeypatch):
    """A library with tensors of its own, as a class, that nobody may import."""

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __getitem__(self, key):
            return Tensor(self.array[key])

    Tensor.__module__ = "tensors.core"
    module = types.ModuleType("tensors")
    module.from_dlpack = lambda array: Tensor(np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "tensors", module)
    return Tensor


def test_results_are_of_the_library_of_the_inputs(model, tensors):
    given = tensors(X.copy())
    result = model(given)["o"]
    assert type(result) is tensors and result.array.tolist() == Y
    assert type(model(X)["o"]) is np.ndarray
    assert model(given, like="numpy")["o"].flags.owndata
    assert type(model(X, like="tensors")["o"]) is tensors
    out = np.zeros((1, 3), np.float32)
    assert model(given, out={"o": out})["o"] is out and out.tolist() == Y


def test_a_namespace_of_arrays_makes_results(model, tensors):
    tensors.__array_namespace__ = lambda self: types.SimpleNamespace(from_dlpack=lambda array: ("made", array.tolist()))
    assert model(tensors(X.copy()))["o"] == ("made", Y)


def test_inputs_of_several_libraries_have_results_of_numpy(tensors):
    two = {**LINEAR, "inputs": {"x": {"shape": [1, 3]}, "z": {"shape": [1, 3]}}, "layers": [{"name": "y", "op": "add", "inputs": ["x", "z"]}]}
    array = np.ones((1, 3), np.float32)
    with hova.load(hova.compile(two), threads=1) as model:
        assert type(model(tensors(array.copy()), array)["o"]) is np.ndarray
        assert type(model(tensors(array.copy()), tensors(array.copy()))["o"]) is tensors


@pytest.mark.parametrize(
    ("like", "kind", "why"),
    [
        (np, TypeError, "'like' expects the name of a library, as 'numpy', got <module 'numpy'"),
        ("nothing_of_this_name", ValueError, "'like' expects the name of a library, got 'nothing_of_this_name': No module"),
        ("json", ValueError, "'like' expects the name of a library with from_dlpack, got 'json'"),
    ],
)
def test_what_is_no_library_is_refused(model, like, kind, why):
    with pytest.raises(kind, match=re.escape(why)):
        model(X, like=like)


def test_memory_of_a_gpu_is_made_where_the_inputs_are(monkeypatch):
    from hova._results import new_array

    asked = []
    torch = types.ModuleType("torch")
    torch.float32 = "its float32"
    torch.empty = lambda *words, **options: asked.append((words, options))
    there = types.SimpleNamespace(device="cuda:1", __dlpack_device__=lambda: (2, 1))
    new_array(torch, [there], (2, 3), "float32")
    assert asked == [(((2, 3),), {"dtype": "its float32", "device": "cuda:1"})]
    assert new_array(None, [there], (2, 3), "float32").shape == (2, 3)


def test_a_program_is_loaded_as_by_load():
    (_, *of_method), (_, *of_function) = (inspect.signature(function).parameters.values() for function in (hova.Program.load, hova.load))
    assert of_method == of_function


def test_a_model_is_sent_and_loads_its_file_there(program, tmp_path):
    with hova.load(program, threads=1, contexts=2) as model:
        sent = pickle.dumps(model)
        copy = pickle.loads(sent)
        assert copy(X)["o"].tolist() == Y and copy._free.qsize() == 2
        (tmp_path / "sent").write_bytes(sent)
        there = f"import pickle, sys; sys.path.insert(0, {str(SOURCE / 'tools/python')!r})\nimport numpy as np\n"
        there += "model = pickle.load(open(sys.argv[1], 'rb')); print(model(np.array([[2, 5]], np.float32))['o'].tolist())"
        done = subprocess.run([sys.executable, "-c", there, tmp_path / "sent"], capture_output=True, text=True, check=False)
        assert done.stdout == "[[2.0, 5.0, 7.0]]\n", done.stderr
    with pytest.raises(TypeError, match="the model 'm' is closed and cannot be sent"):
        pickle.dumps(model)


def test_a_model_that_is_another_now_is_refused(tmp_path):
    program = hova.compile(LINEAR, output=tmp_path / "m.so")
    with hova.load(program, threads=1) as model:
        sent = pickle.dumps(model)
    hova.compile({**LINEAR, "inputs": {"x": {"shape": [7, 2]}}}, output=tmp_path / "m.so")
    with pytest.raises(hova.Error, match="m.so' is another model than the one that was sent"):
        pickle.loads(sent)


@pytest.mark.parametrize("mode", ["embed", "file"])
def test_a_program_is_kept(mode, tmp_path):
    kept = hova.compile(LINEAR, weights=WEIGHTS, weights_mode=mode).save(tmp_path / "kept.v1")
    assert kept.path == tmp_path / "kept.v1.so"
    names = {"kept.v1.so", "kept.v1.h"} | ({"kept.v1.so.weights"} if mode == "file" else set())
    assert {path.name for path in tmp_path.iterdir()} == names
    with hova.load(kept, threads=1) as model:
        assert model(X)["o"].tolist() == Y
    assert pickle.loads(pickle.dumps(kept)).path == kept.path


def test_an_executable_is_kept(tmp_path):
    kept = hova.compile(LINEAR, emit="exe").save(tmp_path / "program")
    assert subprocess.run([kept, "--describe"], capture_output=True, check=True).stdout.startswith(b"model")


def test_an_image_of_weights_is_packed(program, tmp_path):
    image = hova.pack_weights(LINEAR, tmp_path / "zero.weights", weights={name: 0 * array for name, array in WEIGHTS.items()})
    for model in (hova.load(program, threads=1, weights=image), program.load(threads=1, weights=image, check_weights=True)):
        with model:
            assert model(X)["o"].tolist() == [[0, 0, 0]]
    with pytest.raises(TypeError, match=r"hova.pack_weights\(\) takes no option 'weight'"):
        hova.pack_weights(LINEAR, tmp_path / "zero.weights", weight="w")


def test_a_profile_is_data(tmp_path, program):
    profile = hova.profile(hova.compile(LINEAR, emit="exe", output=tmp_path / "m"), depth=1, arguments=["--threads", "1"])
    assert profile["model"] == "m"
    with pytest.raises(hova.Error, match="m.so' is no executable, which emit='exe' makes"):
        hova.profile(program)
    with pytest.raises(hova.Error, match="--nothing") as caught:
        hova.profile(tmp_path / "m", arguments=["--nothing"])
    assert caught.value.status in (1, 2)


def test_the_schema_is_data():
    assert hova.schema()["$schema"].startswith("http") and "layers" in hova.schema()["properties"]


def test_a_page_shows_itself_in_a_notebook(tmp_path):
    page = hova.view(LINEAR, weights=WEIGHTS, inputs={"x": X})
    assert page.html.startswith("<!DOCTYPE html>") and "</html>" in page.html
    frame = page._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" ')
    assert html.unescape(re.fullmatch(r'<iframe [^>]* srcdoc="([^"]*)"></iframe>', frame)[1]) == page.html
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert repr(page) == f"<hova.Page of {len(page.html)} characters>"
    np.save(tmp_path / "x.npy", X)
    assert len(hova.view(LINEAR, weights=WEIGHTS, inputs={"x": tmp_path / "x.npy"}).html) > len(hova.view(LINEAR).html)
    with pytest.raises(TypeError, match="'inputs' expects a dict of arrays by name, got ndarray"):
        hova.view(LINEAR, inputs=X)
    with pytest.raises(hova.Error, match="z"):
        hova.view(LINEAR, inputs={"z": X})


@pytest.mark.parametrize("verb", ["compile", "verify", "explain", "summary", "check", "view", "pack_weights"])
def test_help_lists_the_options_that_the_driver_takes(verb):
    """And none that it refuses."""
    function = getattr(hova, verb)
    listed = re.findall(r"^  (\w+) +\S", inspect.getdoc(function).split("Options:\n")[1], re.MULTILINE)
    words = {"pack_weights": ["weights", "pack"]}.get(verb, [verb])
    told = subprocess.run([BUILD / "bin/hova", *words, "--help"], capture_output=True, text=True, check=True).stdout
    taken = set(re.findall(r"^  --([a-z-]+)", told, re.MULTILINE))
    spelled = {"inputs": "input", "optimization": None}
    for name in listed:
        flag = spelled.get(name, name.replace("_", "-"))
        assert flag is None or flag in taken, name
    # Those that the module says itself, and those that no program may give.
    unlisted = {"help", "color", "diagnostics", "quiet", "progress", "format", "emit", "pass-plugin", "package", "explain", "diff", "reproduce", "paper"}
    assert taken - unlisted - {spelled.get(name, name.replace("_", "-")) for name in listed} == set()


def test_every_option_has_a_sentence():
    kinds = [kind for kind in vars(_options).values() if isinstance(kind, type(_options.DescriptionOptions))]
    assert set(_options._ABOUT) == {name for kind in kinds for name in getattr(kind, "__annotations__", {})}
