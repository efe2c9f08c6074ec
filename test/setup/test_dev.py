# ===- test_dev.py - The dev script says what is wrong in one sentence --------=== #
# SPDX-License-Identifier: Apache-2.0
"""Runs a copy of `dev` with stand-ins for the programs that it asks and orders."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DEV = Path(__file__).resolve().parents[2] / "dev"
REAL = [
    "bash",
    "env",
    "dirname",
    "mkdir",
    "find",
    "awk",
    "sed",
    "grep",
    "tail",
    "cat",
    "tr",
    "touch",
]

INSTALLED = 'echo -n "ii "'
MISSING = "exit 1"
ROOT, USER = "echo 0", "echo 1000"


@pytest.fixture
def machine(tmp_path):
    """A function that runs `dev` where only the given programs exist."""
    programs = tmp_path / "bin"
    programs.mkdir()
    shutil.copy(DEV, tmp_path / "dev")
    for name in REAL:
        (programs / name).symlink_to(shutil.which(name))

    def run(*arguments, **stand_ins):
        defaults = {
            "df": "echo; echo / 1 1 50000 1 /",
            "id": ROOT,
            "dpkg_query": MISSING,
            "apt_get": "exit 0",
            "apt_cache": 'echo "  Candidate: 1"',
        }
        for name, body in {**defaults, **stand_ins}.items():
            program = programs / name.replace("_", "-")
            program.unlink(missing_ok=True)  # not through the link to a real one
            program.write_text(f"#!{shutil.which('bash')}\n{body}\n")
            program.chmod(0o755)
        return subprocess.run(
            [tmp_path / "dev", *arguments],
            env={"PATH": str(programs)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def last_sentence(done):
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_second_set_up_does_nothing(machine):
    done = machine("setup", dpkg_query=INSTALLED, apt_get="exit 9")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_set_up_prints_what_it_installs(machine):
    only_ninja = f'[ "$4" = ninja-build ] && exit 1; {INSTALLED}'
    done = machine("setup", dpkg_query=only_ninja, apt_get='echo "$@"')
    if "Debian 12 only" in done.stderr:
        pytest.skip("this machine is not Debian 12")
    assert done.returncode == 0
    assert done.stderr == "dev: installing ninja-build\n"


def test_full_disk(machine):
    done = machine("setup", df="echo; echo / 1 1 100 1 /")
    assert "only 100 MB are free" in last_sentence(done)


@pytest.mark.parametrize(
    "expected, stand_ins",
    [
        ("neither root nor have sudo", {"id": USER}),
        ("sudo refused", {"id": USER, "sudo": "echo a password is required; exit 1"}),
        (
            "check the network",
            {"apt_get": "echo W: Failed to fetch x: Temporary failure; exit 100"},
        ),
        (
            "check the network",
            {
                "apt_get": "echo W: Failed to fetch x",
                "apt_cache": 'echo "  Candidate: (none)"',
            },
        ),
        ("bookworm-security", {"apt_cache": 'echo "  Candidate: (none)"'}),
        ("the disk is full", {"apt_get": "echo E: No space left on device; exit 100"}),
        ("another program", {"apt_get": "echo E: Could not get lock; exit 100"}),
        ('"E: strange"', {"apt_get": "echo E: strange; exit 100"}),
    ],
)
def test_set_up_explains_a_failure(machine, expected, stand_ins):
    sentence = last_sentence(machine("setup", **stand_ins))
    if "Debian 12 only" in sentence:
        pytest.skip("this machine is not Debian 12")
    assert expected in sentence


def test_another_system_is_told_of_the_container(machine):
    """What dev reads of /etc/os-release."""
    of_ubuntu = 'case "$2" in *PRETTY*) echo Ubuntu 24.04 LTS ;; *VERSION*) echo 24.04 ;; *) echo ubuntu ;; esac'
    sentence = last_sentence(machine("build", sed=of_ubuntu))
    assert "this is Ubuntu 24.04 LTS" in sentence and "docker build -t hova ." in sentence and "Dockerfile" in sentence
    assert (DEV.parent / "Dockerfile").exists()


VERBS = re.findall(r"^  ([a-z]+)", re.search(r"cat <<'TEXT'\n(.*?)\nTEXT", DEV.read_text(), re.DOTALL)[1], re.MULTILINE)


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize("verb", [*dict.fromkeys(VERBS)])
def test_a_verb_tells_its_use_and_does_nothing(machine, tmp_path, verb, flag):
    """Nothing is installed, and what would be has no scripts to run: help is of the verb alone."""
    before = sorted(tmp_path.iterdir())
    more = ["models"] if verb == "fuzz" else []
    for folder in ("tools/bench", "test/fuzz/models"):
        shutil.copytree(DEV.parent / folder, tmp_path / folder)
    done = machine(verb, *more, flag, apt_get="exit 9", cmake="exit 9")
    assert done.returncode == 0 and done.stdout.startswith("usage: ./dev ") and verb in done.stdout, done.stderr
    assert done.stderr == "" and not (tmp_path / "build").exists()
    assert sorted(set(tmp_path.iterdir()) - set(before)) == [tmp_path / name for name in ("test", "tools")]


def test_options_of_the_benchmark_are_told_whichever_it_is(machine, tmp_path):
    shutil.copytree(DEV.parent / "tools/bench", tmp_path / "tools/bench")
    assert "--peers" in machine("bench", "--help").stdout
    assert "--against COMMIT" in machine("bench", "--against", "HEAD", "--help").stdout
    assert "--scores" in machine("bench", "--scores", "-h").stdout
    assert "--layers" in machine("bench", "--layers", "-h").stdout


@pytest.mark.parametrize("verb", ["setup", "build", "demo", "docs", "wheel", "package"])
def test_a_verb_without_options_takes_none(machine, verb):
    assert f"{verb} takes nothing, not --fast" in last_sentence(machine(verb, "--fast", apt_get="exit 9"))


@pytest.mark.parametrize("arguments", [["nonsense"], ["--frobnicate"], ["nonsense", "--help"]])
def test_unknown_verb_is_a_usage_error(machine, arguments):
    done = machine(*arguments)
    assert done.returncode == 2 and "usage: ./dev VERB" in done.stderr


def test_unknown_room_names_the_rooms(machine, tmp_path):
    (tmp_path / "test/frontend").mkdir(parents=True)
    done = machine("test", "--only", "kitchen")
    assert "one of frontend" in last_sentence(done)


def test_more_arguments_than_a_test_takes_are_an_error(machine, tmp_path):
    (tmp_path / "test/frontend").mkdir(parents=True)
    for arguments in (["--full", "--only", "frontend"], ["--only", "frontend", "x"]):
        sentence = last_sentence(machine("test", *arguments))
        assert f"not {' '.join(arguments)}" in sentence


def test_changes_are_since_a_commit(machine, tmp_path):
    (tmp_path / "build/venv-test/bin").mkdir(parents=True)
    (tmp_path / "build/build.ninja").touch()
    (tmp_path / "build/venv-test/bin/python").symlink_to(shutil.which("echo"))
    stand_ins = {"dpkg_query": INSTALLED, "cmake": "exit 0", "cmp": "exit 0", "git": '[[ $4 != nonsense* ]]'}
    assert machine("test", "--changed", **stand_ins).stdout == "test/run.py --changed HEAD\n"
    assert machine("test", "--changed", "v1", **stand_ins).stdout == "test/run.py --changed v1\n"
    done = machine("test", "--changed", "nonsense", **stand_ins)
    assert last_sentence(done) == "dev: --changed needs a commit, and git knows no nonsense."


def test_peers_take_no_other_arguments(machine):
    for arguments in (["--full"], ["--record", "x"]):
        sentence = last_sentence(machine("test", "--peers", *arguments))
        assert f"not {' '.join(arguments)}" in sentence


@pytest.mark.parametrize(
    ("verb", "targets"),
    [("demo", "bin/hova"), ("build", "hova_programs"), ("test", "all hova_whole"), ("docs", "hova_programs")],
)
def test_a_verb_builds_what_it_needs_alone(machine, tmp_path, verb, targets):
    for script in ("examples/01-digits/run", "docs/generate"):
        (tmp_path / script).parent.mkdir(parents=True)
        (tmp_path / script).symlink_to(shutil.which("true"))
    (tmp_path / "build").mkdir()
    (tmp_path / "build/build.ninja").touch()
    stand_ins = {"dpkg_query": INSTALLED, "cmake": 'echo "$@"', "cmp": "exit 0"}
    first, again = machine(verb, **stand_ins), machine(verb, **stand_ins)
    assert (tmp_path / "build/build.log").read_text() == f"--build --preset release --target {targets}\n"
    assert f"dev: building {targets}, which takes some minutes" in first.stderr
    assert "dev: building" not in again.stderr


def test_only_peers_need_a_framework(machine, tmp_path):
    """Everything is installed and built but PyTorch, and Python makes any environment."""
    (tmp_path / "test").mkdir()
    (tmp_path / "build/bin").mkdir(parents=True)
    (tmp_path / "build/build.ninja").touch()
    no_torch = f'[ "$4" = python3-torch ] && exit 1; {INSTALLED}'
    stand_ins = {"dpkg_query": no_torch, "apt_get": 'echo "$@"', "cmake": "exit 0", "cmp": "exit 0"}
    peers = machine("test", "--peers", **stand_ins)
    if "Debian 12 only" in peers.stderr:
        pytest.skip("this machine is not Debian 12")
    assert "installing python3-torch\n" in peers.stderr
    assert "python3-torch" not in machine("test", **stand_ins).stderr


def test_the_container_is_of_the_system_that_is_asked_for():
    """Its commands run in test/full/test_dockerfile.py. What git ignores must not be copied into it."""
    (system, version), = re.findall(r'"\$id" != (\w+) \] \|\| \[ "\$version" != (\d+) \]', DEV.read_text())
    bases = re.findall(r"^FROM (\S+)", (DEV.parent / "Dockerfile").read_text(), re.MULTILINE)
    assert bases and set(bases) == {f"{system}:{version}-slim"}

    def patterns(name):
        lines = (DEV.parent / name).read_text().splitlines()
        return {line.removeprefix("**/").strip("/") for line in lines if not line.startswith("#")}

    assert patterns(".dockerignore") == patterns(".gitignore") | {".git"}
