# ===- test_runtime.py - Compiled libraries in this process ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A library is opened once, runs in place, and what it says of itself is looked at before it is used."""

import ast
import gc
import os
import re
import subprocess
import sys

import hova
import numpy as np
import pytest
from conftest import SOURCE
from hova._runtime import _File

PACKAGE = SOURCE / "tools/python/hova"
LINEAR = {
    "hova": 1,
    "name": "m",
    "inputs": {"x": {"shape": [1, 2]}},
    "layers": [{"name": "y", "op": "linear", "input": "x", "width": 3}],
    "outputs": {"o": "y"},
}
WEIGHTS = {"y.weight": np.array([[1, 0, 1], [0, 1, 1]], np.float32), "y.bias": np.zeros(3, np.float32)}
X = np.array([[2, 5]], np.float32)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    from conftest import BUILD
    from hova import _driver

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_driver, "DRIVER", BUILD / "bin/hova")
        return hova.compile(LINEAR, weights=WEIGHTS, output=tmp_path_factory.mktemp("library") / "m.so")


def test_a_model_runs_where_its_arrays_are(library):
    with hova.load(library, threads=1) as model:
        assert model.inputs == (hova.Tensor("x", "float32", (1, 2), None),) and model.compiler.startswith("hova ")
        assert min(model.flops, model.weight_bytes) > 0
        assert model(X)["o"].tolist() == [[2, 5, 7]]
        out = np.zeros((1, 3), np.float32)
        assert model(x=X, out={"o": out})["o"] is out and out.tolist() == [[2, 5, 7]]
        with pytest.raises(hova.Error, match=r"input 'x' expects shape \[1, 2\], got \[2, 1\]") as caught:
            model(X.T.copy())
        assert caught.value.status == 1
    with pytest.raises(hova.Error, match="the model 'm' is closed"):
        model(X)


def test_a_library_is_open_once_and_as_long_as_it_is_used(library):
    gc.collect()
    before = dict(_File._known), len(os.listdir("/proc/self/fd"))
    first, second = hova.load(library, threads=1), hova.load(library.path, threads=1)
    assert len(_File._known) == len(before[0]) + 1
    assert library.path.name in open("/proc/self/maps").read()
    del first
    gc.collect()
    assert second(X)["o"].tolist() == [[2, 5, 7]]
    del second
    gc.collect()
    assert (dict(_File._known), len(os.listdir("/proc/self/fd"))) == before
    assert str(library.path) not in open("/proc/self/maps").read()


def test_what_is_collected_together_ends_in_order(library):
    """A ring of objects has no first one: the library may be finalised before its contexts."""
    gc.collect()
    before = dict(_File._known)
    for _ in range(3):
        model = hova.load(library, threads=2)
        model.ring = model
        model(X)
        del model
    gc.collect()
    assert _File._known == before


def test_numbers_have_a_range(library):
    for name in ("threads", "device"):
        with pytest.raises(ValueError, match=f"{name} expects a number of 32 bits, got 4294967297"):
            hova.load(library, **{name: (1 << 32) + 1})
    with pytest.raises(hova.Error, match="expects 0 to 1024 threads, got 5000"):
        hova.load(library, threads=5000)
    with pytest.raises(ValueError, match="got one with a null character"):
        hova.load(library, weights="a\0b")
    with pytest.raises(hova.Error, match="none.weights") as caught:
        hova.load(library, weights="none.weights")
    assert caught.value.status == 74


# What the tables of a library may not say, as changes of the program below, and what is said of it.
WRONG = {
    "a rank below zero": ("info.rank = -1", "the library tells of input 0 no name, type and shape that could be"),
    "a rank above all": ("info.rank = 33", "the library tells of input 0 no name, type and shape that could be"),
    "a type that is none": ("info.dtype = 7", "the library tells of input 0 no name, type and shape that could be"),
    "a negative type": ("info.dtype = -1", "the library tells of input 0 no name, type and shape that could be"),
    "no name": ("info.name = 0", "the library tells of input 0 no name, type and shape that could be"),
    "no shape": ("info.dims = 0", "the library tells of input 0 no name, type and shape that could be"),
    "a negative axis": ("dims[1] = -2", "the library tells of input 'x' the shape [1, -2]"),
    "many inputs": ("program.num_inputs = 0xffffffffu", "the library tells of 4294967295 inputs, which could not be"),
    "inputs nowhere": ("program.inputs = 0", "the library tells of 1 inputs, which could not be"),
    "another version": ("abi = 1", "the model was compiled by another version of hova (interface 1, expected 15): compile it again"),
    "no program": ("is_there = 0", "the library tells of no model"),
}
FOREIGN = """
#include "runtime/hova_runtime.h"
static int64_t dims[2] = {1, 2};
static hova_tensor_info info = {"x", HOVA_F32, 2, dims, 0, 0, HOVA_FIXED};
static hova_program program = {HOVA_ABI_VERSION, 0, "m", 0, 1, 1, &info, &info};
static uint32_t abi = HOVA_ABI_VERSION;
static int is_there = 1;
__attribute__((constructor)) static void change(void) { CHANGE; }
uint32_t m_abi_version(void) { return abi; }
const hova_program *m_program(void) { return is_there ? &program : 0; }
hova_status m_create(const hova_options *options, hova_context **context) { (void)options; (void)context; return HOVA_FAULT; }
void m_run(void) {}
void m_run_packed(void) {}
void m_destroy(void) {}
void m_message(void) {}
"""


@pytest.fixture
def foreign(tmp_path):
    def make(change):
        command = ["clang-22", "-shared", "-fPIC", "-fuse-ld=lld", "-I", SOURCE, "-x", "c", "-", "-o", tmp_path / "m.so"]
        subprocess.run(command, input=FOREIGN.replace("CHANGE", change), text=True, check=True)
        return tmp_path / "m.so"

    return make


@pytest.mark.parametrize("change", WRONG)
def test_tables_that_cannot_be_are_refused(change, foreign):
    statement, why = WRONG[change]
    gc.collect()
    before = dict(_File._known)
    with pytest.raises(hova.Error, match=f"^{re.escape(why)}$"):
        hova.load(foreign(statement))
    gc.collect()
    assert _File._known == before


def test_a_failure_has_the_status_of_programs(foreign):
    with pytest.raises(hova.Error) as caught:
        hova.load(foreign("(void)0"))
    assert caught.value.status == 3


def test_what_the_loader_says_names_the_file(tmp_path):
    library = tmp_path / "m.so"
    needs = "".join(f"void m_{name}(void) {{}}\n" for name in ("abi_version", "program", "create", "run", "destroy", "message"))
    command = ["clang-22", "-shared", "-fPIC", "-fuse-ld=lld", "-x", "c", "-", "-o", library]
    subprocess.run(command, input="extern int missing; int *place = &missing;\n" + needs, text=True, check=True)
    with pytest.raises(hova.Error, match=f"^cannot load 'm.so': {library}: undefined symbol: missing$"):
        hova.load(library)


# Functions of the stable interface of Python, since 3.2.
STABLE = {"PyCapsule_IsValid", "PyCapsule_GetPointer", "PyCapsule_SetName", "Py_IncRef"}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_the_package_is_for_every_python_from_3_11(path):
    """Its grammar, and that it reaches into no module of Python whose name says that it is private."""
    tree = ast.parse(path.read_text(), feature_version=(3, 11))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            assert all(name.split(".")[0] in {*sys.stdlib_module_names, "hova", "numpy"} for name in modules)
            assert not [name for name in modules if name.split(".")[0].startswith("_") and name != "__future__"]
            assert not isinstance(node, ast.ImportFrom) or node.module == "__future__" or not [a for a in node.names if a.name.startswith("_")]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in sys.stdlib_module_names:
            assert not re.fullmatch("_.*[^_]", node.attr), ast.unparse(node)
    called = set(re.findall(r"\b_?Py[A-Z]\w*_\w+", path.read_text()))
    assert called <= STABLE
