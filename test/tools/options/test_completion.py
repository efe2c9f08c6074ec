# ===- test_completion.py - What shells offer after hova -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""hova completion: the scripts in bash, zsh and fish themselves, at a terminal of their own.

A key is typed after TAB that makes the shell say what its line is then. What hova answers
the scripts is tested without a shell; a shell that is not installed is skipped.
"""

import os
import pty
import re
import select
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"

# Makes of Ctrl-X the command that tells the line, and of the prompt a mark.
PREPARE = {
    "bash": "PS1='ready>'; source <(hova completion bash); tell() { printf '\\n<<%s>>\\n' \"$READLINE_LINE\"; }; "
    "bind -x '\"\\C-x\": tell'; bind 'set bell-style none'; bind 'set show-all-if-ambiguous off'",
    "zsh": "PS1='ready>'; autoload -U compinit; compinit -u -D; source <(hova completion zsh); "
    "tell() { print -r -- $'\\n'\"<<$BUFFER>>\" }; zle -N tell; bindkey '^X' tell",
}


def hova(*words):
    done = subprocess.run([HOVA, *words], capture_output=True, text=True, cwd=SOURCE, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def candidates(*words):
    """What hova answers, without what the candidates are."""
    lines = hova("completion", "--candidates", *words).splitlines()
    return [line.split("\t")[0] for line in lines]


# What hova answers.


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["weig"], ["weights"]),
        (["weights", ""], ["pack"]),
        (["help", "weights", ""], ["pack"]),
        (["help", "ch"], ["checkpoints", "check"]),
        (["compile", "--stop-"], ["--stop-after="]),
        (["compile", "--emit=l"], ["--emit=lib", "--emit=llvm"]),
        (["compile", "--emit", "l"], ["lib", "llvm"]),
        (["check", "--emit"], []),
        (["compile", "-O"], ["-O0", "-O1", "-O2", "-O3"]),
        (["explain", "--dtype="], ["--dtype=f32", "--dtype=bf16", "--dtype=f16"]),
        (["compile", "--stop-after=n"], ["--stop-after=normalize"]),
        (["compile", "--march=native,x86-64-"], ["--march=native,x86-64-v3", "--march=native,x86-64-v4"]),
        (["compile", "--pass-pipeline", "after-fus"], ["after-fuse("]),
        (["compile", "--weights="], [":files --weights="]),
        (["compile", "--dump-ir", ""], [":folders "]),
        (["compile", "m.json", "other"], []),
        (["compile", ""], [":files "]),
        (["profile", "./m", "--", "--thr"], [":files "]),
        (["completion", "z"], ["zsh"]),
        (["--list"], ["--list-phases"]),
        (["nonsense", ""], []),
    ],
)
def test_hova_answers(words, expected):
    assert candidates(*words) == expected


def test_every_verb_of_the_help_is_offered():
    listed = re.findall(r"^  ([a-z]+)(?: [a-z]+)? {2,}[A-Z]", hova("help"), re.M)
    assert set(candidates("")) == {*listed, "help"}


def test_every_option_of_the_help_is_offered():
    for verb in ("compile", "verify", "profile"):
        listed = set(re.findall(r"^  (--?[A-Za-z-]+)", hova(verb, "--help"), re.M))
        offered = {re.sub("=$|[0-3]$", "", word) for word in candidates(verb, "-")}
        # One option is joined to its value.
        assert {word.replace("-OLEVEL", "-O") for word in listed} == offered


def test_parameters_of_the_description():
    lm = "examples/models/lm.json"
    names = candidates("compile", lm, "--set", "")
    assert {"attention=", "length=", "vocab=", "batch="} <= set(names)
    assert "batch=" not in candidates("compile", "--set=batch=2", lm, "--set", "")
    values = ["softmax", "performer", "bigbird", "realformer"]
    assert candidates("compile", lm, "--set=attention=") == [f"--set=attention={value}" for value in values]
    assert candidates("verify", "examples/models/vit_b16.json", "--set", "horizontal=t") == ["horizontal=true"]
    assert "default: 1" in hova("completion", "--candidates", "compile", lm, "--set", "bat")
    assert candidates("compile", "examples/models/vit_b16.json", "--checkpoint", "ti") == ["timm"]
    assert candidates("evaluate", "examples/01-digits/digits.json", "--input", "") == ["image="]


@pytest.mark.parametrize("model", ["missing.json", "README.md", "-", "examples"])
def test_a_description_that_cannot_be_read_has_no_parameters(model):
    assert candidates("compile", model, "--set", "") == []


def test_what_waits_in_a_fifo_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "m.json")
    assert candidates("compile", tmp_path / "m.json", "--set", "") == []


def test_passes_are_offered_once():
    passes = candidates("compile", "m.json", "--without", "")
    assert len(passes) > 3 and all(name.startswith("hova-") for name in passes)
    assert candidates("compile", "m.json", f"--without={passes[0]},{passes[0]}") == []
    rest = candidates("compile", "m.json", f"--without={passes[0]},")
    assert rest == [f"--without={passes[0]},{name}" for name in passes[1:]]


# What shells make of it.


class Shell:
    """An interactive shell at a terminal."""

    def __init__(self, name, folder):
        self.folder = folder
        arguments = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[name]
        environment = {"PATH": f"{HOVA.parent}:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(shutil.which(name), [name, *arguments], environment)
        # In two parts, so that the echo of the command is no answer to it.
        self.type(PREPARE[name] + "; echo whole''set up\n")
        self.read(r"wholeset up")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read(self, pattern):
        seen = ""
        while not (found := re.search(pattern, seen, re.S)):
            assert select.select([self.terminal], [], [], 60)[0], seen
            seen += os.read(self.terminal, 65536).decode(errors="replace").replace("\r", "")
        return found

    def complete(self, line):
        """The line after TAB."""
        self.type(line + "\t\x18")
        completed = self.read(r"<<(.*?)>>")[1]
        self.type("\x15")
        return completed

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request, tmp_path_factory):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copy(SOURCE / "examples/models/lm.json", folder / "a model.json")
    shutil.copy(SOURCE / "examples/models/lm.json", folder / "lm.json")
    (folder / "weights.safetensors").touch()
    (folder / "weights.txt").touch()
    (folder / "dumps").mkdir()
    shell = Shell(request.param, folder)
    yield shell
    shell.close()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("hova comple", "hova completion "),
        ("hova weights ", "hova weights pack "),
        ("hova compile --stop", "hova compile --stop-after="),
        ("hova compile --emit=o", "hova compile --emit=obj "),
        ("hova compile --emit ob", "hova compile --emit obj "),
        ("hova compile lm.json --set atten", "hova compile lm.json --set attention="),
        ("hova compile lm.json --set=atten", "hova compile lm.json --set=attention="),
        ("hova compile lm.json --set attention=big", "hova compile lm.json --set attention=bigbird "),
        ("hova compile lm.json --set=attention=big", "hova compile lm.json --set=attention=bigbird "),
        ("hova compile 'a model.json' --set voc", "hova compile 'a model.json' --set vocab="),
        ("hova compile ~/lm.json --set voc", "hova compile ~/lm.json --set vocab="),
        ("hova compile lm.json --weights we", "hova compile lm.json --weights weights.safetensors "),
        ("hova compile lm.json --weights=we", "hova compile lm.json --weights=weights.safetensors "),
        ("hova compile lm.json --dump-ir=du", "hova compile lm.json --dump-ir=dumps/"),
        ("hova check l", "hova check lm.json "),
        ("hova compile lm.json --without hova-propagate-dem", "hova compile lm.json --without hova-propagate-demanded-rows "),
    ],
)
def test_a_shell_completes(shell, typed, completed):
    assert shell.complete(typed) == completed


@contextmanager
def unpacked(folder):
    """A program `hova` in a folder, as an archive may bring one, which must not run before Enter."""
    program = folder / "hova"
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran\nprintf 'completely\\t\\n'\n")
    program.chmod(0o755)
    yield program
    program.unlink()
    assert not (folder / "ran").exists()


def test_a_key_runs_the_installed_hova_alone(shell):
    with unpacked(shell.folder) as program:
        for word in ("./hova", str(program), "~/hova"):
            assert shell.complete(f"{word} comple") == f"{word} completion "
        assert shell.complete("./hova compile lm.json --set atten") == "./hova compile lm.json --set attention="
        # Another folder than the one that was meant when PATH was made.
        shell.type("PATH=.:$PATH; echo near''by\n")
        shell.read("nearby")
        assert shell.complete("hova comple") == "hova comple"
        shell.type("PATH=${PATH#.:}; echo away''again\n")
        shell.read("awayagain")
    assert shell.complete("hova comple") == "hova completion "


def fish(folder, line, before="true"):
    script = f"hova completion fish | source; {before}; complete -C {line!r}"
    environment = {"PATH": f"{HOVA.parent}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["fish", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return [entry.split("\t")[0] for entry in done.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes(tmp_path):
    shutil.copy(SOURCE / "examples/models/lm.json", tmp_path)
    (tmp_path / "weights.safetensors").touch()
    (tmp_path / "weights.txt").touch()
    (tmp_path / "dumps").mkdir()
    assert fish(tmp_path, "hova weights ") == ["pack"]
    assert fish(tmp_path, "hova compile --emit=l") == ["--emit=lib", "--emit=llvm"]
    assert fish(tmp_path, "hova compile lm.json --set atten") == ["attention="]
    assert fish(tmp_path, "hova compile lm.json --set=attention=big") == ["--set=attention=bigbird"]
    assert fish(tmp_path, "hova compile lm.json --weights=we") == ["--weights=weights.safetensors"]
    assert fish(tmp_path, "hova compile lm.json --weights we") == ["weights.safetensors"]
    assert fish(tmp_path, "hova compile lm.json --dump-ir ") == ["dumps/"]
    assert fish(tmp_path, "hova check ") == ["dumps/", "lm.json"]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_runs_the_installed_hova_alone(tmp_path):
    with unpacked(tmp_path) as program:
        for word in ("./hova", program):
            assert fish(tmp_path, f"{word} comple") == ["completion"]
        assert fish(tmp_path, "hova comple", before="set -p PATH .") == []
