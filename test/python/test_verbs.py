# ===- test_verbs.py - The verbs of hova as functions of Python ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What goes to the driver and what comes back: places, warnings, phases, and nothing that stays."""

import pickle
import subprocess
import tempfile

import hova
import pytest
from hova import _driver
from hova._options import words_of

LINEAR = {
    "hova": 1,
    "name": "m",
    "inputs": {"x": {"shape": [1, 2]}},
    "layers": [{"name": "y", "op": "linear", "input": "x", "width": 3}],
    "outputs": {"o": "y"},
}


def wrong(**changes):
    return {**LINEAR, **changes}


def test_an_error_has_the_place_of_the_first_mistake_and_all_of_them(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"hova": 1,\n "nam": "m", "inputs": {}, "layers": [], "outputs": {}, "inpts": {}}\n')
    with pytest.raises(hova.Error) as caught:
        hova.check(path)
    error = caught.value
    assert (error.status, error.file, error.line, error.column, error.pointer) == (1, str(path), 2, 2, "/nam")
    assert error.place == f"{path}:2:2" and error.message == 'unknown key "nam" in a description'
    messages = [one.message for one in error.diagnostics]
    assert len(messages) >= 2 and 'unknown key "inpts" in a description' in messages
    first = error.diagnostics[messages.index(error.message)]
    assert first.notes == ('did you mean "name"?',) and first.fixits[0].replacement == '"name"'
    assert f"{path}:2:2: error: {error.message}\n  at /nam\n  note: did you mean" in str(error)


def test_a_dict_is_a_description_and_its_places_are_pointers():
    layer = {"name": "y", "op": "linear", "input": "x", "wdth": 3}
    with pytest.raises(hova.Error) as caught:
        hova.compile(wrong(layers=[layer]))
    assert caught.value.file == "<description>"
    assert "/layers/0/wdth" in {one.pointer for one in caught.value.diagnostics}


def test_an_error_of_another_process_arrives_whole():
    error = hova.Error("no", status=74, diagnostics=[hova.Diagnostic("error", "no", "f", 1, 2)])
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.status, copy.place, copy.diagnostics) == ("no", 74, "f:1:2", error.diagnostics)


def test_a_warning_is_one_of_python():
    idle = wrong(parameters={"unused": 1})
    with pytest.warns(hova.DescriptionWarning, match="unused") as caught:
        said = hova.check(idle)
    assert [one.severity for one in said] == ["warning"]
    assert caught[0].filename == __file__
    with pytest.raises(hova.Error, match="unused"):
        hova.check(idle, werror=True)


def test_every_phase_is_told():
    phases = []
    hova.compile(LINEAR, emit="mlir", stop_after="fuse", progress=phases.append)
    assert [phase.name for phase in phases] == ["import", "normalize", "fuse"]
    assert [phase.k for phase in phases] == [1, 2, 3] and {phase.n for phase in phases} == {8}


def test_a_callback_ends_the_compilation(tmp_path):
    def stop(phase):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hova.compile(LINEAR, output=tmp_path / "m.so", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_program_is_written_where_it_is_asked_for(tmp_path):
    program = hova.compile(LINEAR, emit="exe", output=tmp_path / "m")
    assert subprocess.run([program, "--describe"], capture_output=True, check=True).stdout.startswith(b"model")
    library = hova.compile(LINEAR, output=tmp_path / "lib.v1")
    assert library.path == tmp_path / "lib.v1.so" and library.path.exists() and (tmp_path / "lib.v1.h").exists()


def test_a_temporary_program_lives_as_long_as_its_object():
    program = hova.compile(LINEAR)
    folder = program.path.parent
    assert program.path.name == "model.so" and folder.parent == type(folder)(tempfile.gettempdir())
    del program
    assert not folder.exists()


def test_reports_are_data(models):
    lecture = models / "lecture_mha.json"
    assert hova.summary(lecture)["parameters"]["trainable"] > 0
    assert [site["path"] for site in hova.explain(lecture)["sites"]]
    verified = hova.verify(lecture, cases=1, set={"kind": "additive"})
    assert verified["verified"] and len(verified["cases"]) == 1


def test_numbers_that_differ_are_data_and_no_error(monkeypatch):
    done = _driver.Done(3, b'{"verified": false}', ())
    monkeypatch.setattr("hova._compile.run", lambda *words, accepts, **how: done if 3 in accepts else None)
    assert hova.verify(LINEAR) == {"verified": False}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"set": {"a": True, "b": 2, "c": 0.5, "d": "x"}}, ["--set=a=true", "--set=b=2", "--set=c=0.5", "--set=d=x"]),
        ({"march": ["x86-64-v3", "x86-64-v4"]}, ["--march=x86-64-v3,x86-64-v4"]),
        ({"target": ["cpu", "cuda"]}, ["--target=cpu,cuda"]),
        ({"target": "cpu,cuda"}, ["--target=cpu,cuda"]),
        ({"strict": True, "werror": False}, ["--strict"]),
        ({"without": "a", "pass_pipeline": ["p(q)", "r(s)"]}, ["--without=a", "--pass-pipeline=p(q)", "--pass-pipeline=r(s)"]),
        ({"optimization": 1, "max_memory": "1GiB", "init": None}, ["-O1", "--max-memory=1GiB"]),
        ({"weights": "-w", "init": 0}, ["--weights=-w", "--init=0"]),
    ],
)
def test_keyword_arguments_are_options(options, words):
    assert words_of("compile", options) == words


def test_what_no_option_is_called_is_an_error():
    with pytest.raises(TypeError, match=r"hova.compile\(\) takes no option 'weight'"):
        hova.compile(LINEAR, weight="w")
    with pytest.raises(TypeError, match="parameter 'a' expects a boolean, a number or text, got list"):
        hova.compile(LINEAR, set={"a": [1]})
    with pytest.raises(ValueError, match="emit expects exe, lib"):
        hova.compile(LINEAR, emit="dll")
    with pytest.raises(hova.Error, match="takes no option '--dtype'") as caught:
        hova.summary(LINEAR, dtype="bf16")
    assert caught.value.status == 2


def test_a_path_that_looks_like_an_option_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hova.Error, match="./-h: error: cannot read") as caught:
        hova.check("-h")
    assert caught.value.status == 74


def test_the_death_of_the_compiler_is_an_error(tmp_path, monkeypatch):
    dying = tmp_path / "hova"
    dying.write_text("#!/bin/sh\necho a stack >&2\nkill -KILL $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(_driver, "DRIVER", dying)
    with pytest.raises(hova.Error, match="hova was ended by SIGKILL") as caught:
        hova.check(LINEAR)
    assert caught.value.status == 137 and caught.value.diagnostics[0].message == "a stack"
    monkeypatch.setattr(_driver, "DRIVER", tmp_path / "none")
    with pytest.raises(hova.Error, match="cannot run .*: No such file"):
        hova.check(LINEAR)
