# ===- test_package.py - The wheel in a clean environment ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""From the file to the first result, with nothing of this build; beside PyTorch; types; the driver."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import metadata
from pathlib import Path
from urllib.parse import quote

import hova
import numpy as np
import pytest
from conftest import BUILD, DIGITS, SOURCE
from packaging.specifiers import SpecifierSet
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

sys.path.insert(0, str(SOURCE / "test/full"))
from test_older_systems import inside, make_root, root  # noqa: E402, F401 -- a fixture, and what others take

MOST_BYTES = 25_000_000
PACKAGE = Path(hova.__file__).parent

FIRST_RESULT = """
import sys
import hova
import numpy as np

program = hova.compile(sys.argv[1], weights=sys.argv[2], set={"batch": 400})
logits = hova.load(program)(np.load(sys.argv[3]))["logits"]
assert np.allclose(logits, np.load(sys.argv[4]), rtol=1e-3, atol=1e-4)
assert "torch" not in sys.modules
hova.compile(sys.argv[1], weights=sys.argv[2], set={"batch": 400}, march="x86-64-v3", emit="exe", output=sys.argv[5])
"""


@pytest.fixture(scope="module")
def wheel():
    (path,) = (BUILD / "wheel").glob("hova-*.whl")
    return path


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unpack(wheel, root):
    """The package in a root, as pip would put it there, and the example."""
    zipfile.ZipFile(wheel).extractall(root / "wheel")
    for name in ("bin/hova", "lib/hova/ld.lld"):
        (root / "wheel/hova" / name).chmod(0o755)
    shutil.copytree(DIGITS, root / "digits")
    (root / "tmp").mkdir(exist_ok=True)


def test_the_wheel_is_small_and_names_its_platform(wheel):
    assert wheel.stat().st_size <= MOST_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    assert "hova/py.typed" in names and not [name for name in names if "torch" in name]
    # The terms of all that is inside.
    terms = {Path(name).name for name in names if name.startswith("hova/licenses/") and not name.endswith("/")}
    assert terms == {"hova", "llvm-22-dev", "liblld-22-dev", "zlib1g-dev", "libzstd-dev", "libstdc++-12-dev", "nlohmann-json3-dev"}


def test_every_python_from_3_11_installs_it(wheel):
    """By the tags that pip reads, on a system with glibc 2.28 and on later ones."""
    name, version, build, tags = parse_wheel_filename(wheel.name)
    assert (name, str(version), build) == ("hova", hova.__version__, ())
    for minor in range(11, 16):
        known = {*cpython_tags((3, minor), platforms=["manylinux_2_28_x86_64"]), *compatible_tags((3, minor), platforms=["manylinux_2_28_x86_64"])}
        assert tags & known
    assert {tag.platform for tag in tags} == {"manylinux_2_28_x86_64"}
    assert SpecifierSet(metadata("hova")["Requires-Python"]) == SpecifierSet(">=3.11")


def test_the_metadata_say_what_it_is():
    told = metadata("hova")
    assert told["Author"] == "The hova authors" and told["License-Expression"] == "Apache-2.0"
    assert len(told["Keywords"].split(",")) >= 5
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= set(told.get_all("Classifier"))


def test_the_first_example_runs(tmp_path):
    """The code of the readme, which an index shows, where there is no file of hova's sources."""
    code = metadata("hova").get_payload().split("```python\n")[1].split("```")[0]
    assert run(sys.executable, "-I", "-c", code, cwd=tmp_path).splitlines()[-1] == "(1, 16, 64)"


def test_what_help_names_is_there():
    """And every page that a message of the compiler or of a program names. What pages name outside of docs is in the sources."""
    assert "docs/python.md in the folder of this package" in hova.__doc__
    assert (PACKAGE / "docs/python.md").read_text() == (SOURCE / "docs/python.md").read_text()
    named = set()
    for file in (PACKAGE / "lib").rglob("*"):
        named |= set(re.findall(rb"\bdocs/[\w/-]+\.md", file.read_bytes())) if file.is_file() else set()
    pages = {page.decode() for page in named}
    assert {"docs/compile-a-model.md", "docs/description.md"} <= pages and [page for page in pages if not (PACKAGE / page).exists()] == []
    for page in (PACKAGE / "docs").glob("*.md"):
        links = re.findall(r"\]\(([\w/.-]+\.(?:md|png))[)#]", page.read_text())
        assert [link for link in links if not link.startswith("../") and not (page.parent / link).exists()] == [], page.name


def test_the_bill_names_all_that_is_inside(wheel):
    """CycloneDX 1.6: what the linker takes from archives, and headers that are compiled, with versions and licences."""
    files = zipfile.ZipFile(wheel)
    bill = json.loads(files.read(f"hova-{hova.__version__}.dist-info/sboms/hova.cdx.json"))
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    whole = bill["metadata"]["component"]
    assert (whole["name"], whole["version"], whole["type"]) == ("hova", hova.__version__, "application")
    parts = {part["name"]: part for part in bill["components"]}
    assert set(parts) == {"LLVM", "MLIR", "lld", "libstdc++", "libgcc", "zlib", "zstd", "nlohmann-json"}
    for part in (whole, *parts.values()):
        assert part["bom-ref"] == part["purl"] and part["licenses"][0]["expression"]
        assert re.fullmatch(r"\d+(\.\d+)+", part["version"]), part
    for name, package in {"LLVM": "llvm-22-dev", "zlib": "zlib1g-dev", "zstd": "libzstd-dev"}.items():
        packaged = run("dpkg-query", "--show", "--showformat=${Version}", package)
        assert parts[name]["version"] in packaged and quote(packaged, safe="~") in parts[name]["purl"]
    (first, *others) = bill["dependencies"]
    assert first == {"ref": whole["purl"], "dependsOn": sorted(part["purl"] for part in parts.values())}
    assert [one["ref"] for one in others] == first["dependsOn"]


def test_the_same_commit_gives_the_same_bytes(wheel, tmp_path):
    """Built once more, in another folder and at another time."""
    tools = BUILD / "venv-wheel/bin"
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    run(SOURCE / "tools/python/build", BUILD, tmp_path, env=environment)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_what_is_compiled_needs_glibc_2_28_at_most():
    """And no library but the C library, those of its libraries among them that were of their own before 2.34."""
    of_libc = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
    for path in (PACKAGE / "lib/libhova.so", PACKAGE / "bin/hova", PACKAGE / "lib/hova/ld.lld"):
        dynamic = run("readelf", "--wide", "--dynamic", "--version-info", path)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        assert needed <= of_libc | {"libhova.so"}, path
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([0-9.]+)", dynamic)}
        assert (2, 2, 5) <= max(versions) <= (2, 28), path
        assert not re.search(r"Name: (GLIBCXX|CXXABI|GCC)", dynamic), path


def test_it_compiles_on_an_older_system(wheel, root):
    """The compiler, its linker and what they make, in a root of Debian 11 that has nothing but the C library."""
    unpack(wheel, root)
    hova_there = [*inside(root), "/wheel/hova/bin/hova"]
    run(*hova_there, "compile", "/digits/digits.json", "--weights=/digits/weights.safetensors", "--set=batch=400", "-o", "/digits/model")
    run(*inside(root), "/digits/model", "--input", "/digits/images.npy", "--expected", "/digits/logits.npy")
    # An exception of C++ arrives, and a mistake has its place.
    done = subprocess.run([*map(str, hova_there), "check", "/digits/images.npy"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "/digits/images.npy: error: this is a NumPy array" in done.stderr


def test_from_the_file_to_the_first_result(wheel, tmp_path):
    """In an environment that has nothing but it and what it asks for; its programs need nothing of it."""
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    installed = run(python, "-m", "pip", "list", "--format=freeze").splitlines()
    # A new environment of CPython 3.11 has setuptools too.
    assert {line.split("==")[0] for line in installed} - {"setuptools"} == {"hova", "numpy", "pip"}
    # No PATH: no linker or compiler of the system is found, and none of its variables.
    files = (DIGITS / "digits.json", DIGITS / "weights.safetensors", DIGITS / "images.npy", DIGITS / "logits.npy")
    program = tmp_path / "digits"
    traced = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", tmp_path / "started"]
    run(*traced, python, "-I", "-c", FIRST_RESULT, *files, program, env={"PATH": "/usr/bin"})
    started = {line.split('"')[1] for line in (tmp_path / "started").read_text().splitlines() if '"' in line}
    assert {Path(path).name for path in started} == {"python", "hova", "ld.lld"}
    assert all(path.startswith(str(tmp_path)) for path in started)
    needed = {line.split()[0] for line in run("ldd", program).splitlines()}
    assert "libc.so.6" in needed
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "linux-vdso.so.1", "/lib64/ld-linux-x86-64.so.2"}
    run(program, "--input", DIGITS / "images.npy", "--expected", DIGITS / "logits.npy", env={})


def test_symbols_are_nobody_elses():
    lines = run("nm", "-D", "--defined-only", PACKAGE / "lib/libhova.so").splitlines()
    assert {line.split()[-1] for line in lines} == {"hova_main", "hova_linker_main"}


def test_programs_are_those_of_the_build(tmp_path):
    """The same bytes as from the tools that are installed with CMake: one compiler in two packages."""
    command = ["compile", DIGITS / "digits.json", "--init=1", "--march=x86-64-v3,x86-64-v4", "--emit=lib", "-q"]
    run(BUILD / "bin/hova", *command, "-o", tmp_path / "m.so")
    expected = (tmp_path / "m.so").read_bytes(), (tmp_path / "m.h").read_bytes()
    run(Path(sys.executable).parent / "hova", *command, "-o", tmp_path / "m.so")
    assert ((tmp_path / "m.so").read_bytes(), (tmp_path / "m.h").read_bytes()) == expected


@pytest.mark.parametrize("command", [[Path(sys.executable).parent / "hova"], [sys.executable, "-m", "hova"]])
def test_the_driver_is_a_command(command):
    assert run(*command, "--version").startswith(f"hova {hova.__version__} (LLVM 22.")
    done = subprocess.run([*command, "check", "none.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 74 and "none.json: error: cannot read" in done.stderr


def test_plugins_are_refused_in_words():
    done = subprocess.run(
        [sys.executable, "-m", "hova", "check", DIGITS / "digits.json", f"--pass-plugin={BUILD}/lib/hova-test-plugin.so"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "this hova has LLVM inside and loads no plugins" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch: ./dev test --peers installs it")
def test_beside_pytorch_in_one_process(digits, images, logits):
    import torch

    model = hova.load(digits)
    given, out = torch.from_numpy(images.copy()), torch.empty(40, 10)
    assert model(given, out={"logits": out})["logits"] is out
    made = model(given)["logits"]
    assert type(made) is torch.Tensor and torch.equal(made, out) and type(model(images)["logits"]) is np.ndarray
    assert type(model(given, like="numpy")["logits"]) is np.ndarray and type(model(images, like="torch")["logits"]) is torch.Tensor
    assert np.array_equal(out.numpy(), logits)
    # Both use their own libraries after each other.
    layer = torch.nn.Linear(10, 10)
    assert torch.isfinite(layer(out)).all()
    state = {"y.weight": torch.ones(2, 3, dtype=torch.bfloat16), "y.bias": torch.zeros(3)}
    description = {
        "hova": 1,
        "name": "m",
        "inputs": {"x": {"shape": [1, 2]}},
        "layers": [{"name": "y", "op": "linear", "input": "x", "width": 3}],
        "outputs": {"o": "y"},
    }
    assert hova.load(hova.compile(description, weights=state))(torch.ones(1, 2))["o"].tolist() == [[2.0] * 3]


def test_types_are_told(tmp_path):
    source = tmp_path / "user.py"
    source.write_text(
        "import hova\nimport numpy as np\n"
        'program: hova.Program = hova.compile("m.json", set={"batch": 2}, dtype="bf16", progress=lambda phase: print(phase.name))\n'
        "model: hova.Model = hova.load(program, threads=2)\n"
        'shape: tuple[int, ...] = model(np.zeros(3))["y"].shape\n'
        'hova.compile("m.json", target="cpu,cuda").load(weights="w", device=1)\nhova.compile("m.json", target=["cpu", "cuda"])\n'
    )
    strict = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache"]
    run(*strict, source, cwd=tmp_path)
    run(*strict, "-p", "hova", cwd=tmp_path)
    source.write_text('import hova\nhova.compile("m.json", dtyp="bf16")\nhova.compile("m.json", target="gpu")\nhova.load(3)\n')
    done = subprocess.run([*map(str, strict), source], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "Found 3 errors" in done.stdout, done.stdout


def test_the_example_of_the_guide(tmp_path):
    """The first code of docs/python.md, as it stands."""
    guide = (SOURCE / "docs/python.md").read_text()
    code = guide.split("```python\n")[1].split("```")[0]
    assert run(sys.executable, "-c", code, cwd=SOURCE).splitlines()[-1] == "399 of 400 digits are right"
