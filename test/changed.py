# ===- changed.py - Which tests a change can reach ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`./dev test --changed` asks `reached_tests` for the test files that changed files can reach.

Three things lead from a file to a test:

- *Sources.* A program of the build is made of some sources. They need what they include, and the sources whose objects
  define what theirs only name. Tests need the programs that they name. Of `hova` a test needs the files of the verbs
  that it names, and the files of a GPU where it names one.
- *Imports.* A test in Python needs the modules that it imports, wherever a file of that name is.
- *Names.* A test needs the files and folders that it names, and what lies in an `Inputs` beside it.

What cannot be told runs: tests that read the whole tree, and all tests where a file changed that decides how
everything is built or run, or that nothing is known of.
"""

import json
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

CODE = (".c", ".cpp", ".h", ".td")
ROOMS = ("dialect", "passes", "codegen", "frontend", "runtime", "tools")
# Tests of other runs: ./dev test --full, --peers and --gpu.
ELSEWHERE = ("test/full/", "test/peers/", "test/gpu/")
# Whatever changes here may change every test.
EVERYTHING = re.compile(
    r"(.*/)?CMakeLists\.txt|cmake/.*|CMakePresets\.json|tools/hova-tblgen/.*|test/(run\.py|whole/links\.py|lit\..*|requirements\.txt)"
)
# A program that holds or runs all of the rooms, by what a test calls it; `cmake` and `pkg-config` use an installed hova.
WHOLE = ("hova", "hova-commands", "hova-link-fixture", "cmake", "pkg-config")
READS_THE_TREE = re.compile(r"^(from|import) sources\b", re.MULTILINE)
# Files of one target, and the words of which a test that needs it has at least one.
OF_A_GPU = re.compile(r"(codegen|runtime)/(.*/)?(cuda|emulation)/")
WORDS_OF_A_GPU = ("cuda", "gpu", "emulat", "nvvm", "nvidia", "ptx", "target", "sm_80")

INCLUDE = re.compile(r'^\s*#?\s*(?:include|embed)\s*["<]([^">]+)[">]', re.MULTILINE)
VERB = re.compile(r"\brun(?:[A-Z][a-z]+)*?([A-Z][a-z]+)\(Arguments &", re.MULTILINE)
MAIN = re.compile(r"^int main\(", re.MULTILINE)
IMPORT = re.compile(r"^\s*(?:from ([\w.]+) import ([\w, ]+)|import ([\w., ]+))", re.MULTILINE)
RUN = re.compile(r"RUN:(.*)")
GTEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),", re.MULTILINE)
# `SOURCE / "test" / "tools"` is a path in two pieces.
PIECES = re.compile(r'"\s*/\s*f?"')
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


@dataclass(eq=False)
class Tree:
    """The files of a checkout with what stands in them, and of its build the sources of each program or library,
    and of each source those whose objects define what its object names."""

    texts: dict
    programs: dict = field(default_factory=dict)
    links: dict = field(default_factory=dict)

    @cached_property
    def folders(self):
        return {path[:end] for path in self.texts for end, letter in enumerate(path) if letter == "/"}

    @cached_property
    def code(self):
        return {path: text for path, text in self.texts.items() if path.endswith(CODE)}

    @cached_property
    def includes(self):
        return {path: [self.included(path, name) for name in INCLUDE.findall(text)] for path, text in self.code.items()}

    def included(self, path, name):
        """The files that an include line means; of what TableGen makes, the definitions."""
        folder = folder_of(path)
        if name.endswith(".inc"):
            places = {folder_of(name) or folder}
            places |= {"dialect"} if name.endswith("Importers.inc") else set()
            return [other for other in self.code if other.endswith(".td") and folder_of(other) in places]
        return [other for other in (name, f"{folder}/{name}") if other in self.texts]

    @cached_property
    def modules(self):
        """Files in Python by the name that an import has for them."""
        found = {}
        for path in self.texts:
            if path.endswith(".py"):
                folder, _, name = path.removesuffix(".py").rpartition("/")
                found.setdefault(folder.rpartition("/")[2] if name in ("__init__", "__main__") else name, []).append(path)
        return found

    @cached_property
    def verbs(self):
        """Sources that run a verb of hova, and the last word of its name."""
        sources = {path: text for path, text in self.code.items() if path.startswith("tools/hova/") and path.endswith(".cpp")}
        return {path: found[1].lower() for path, text in sources.items() if (found := VERB.search(text))}

    def closure(self, sources, without=()):
        """What the sources need of the code, but by way of `without`."""
        return self.closure_of(frozenset(sources), frozenset(without))

    @cache
    def closure_of(self, sources, without):
        reached, ahead = set(), list(sources)
        while ahead:
            path = ahead.pop()
            if path in reached or path in without:
                continue
            reached.add(path)
            ahead += [name for line in self.includes.get(path, ()) for name in line]
            ahead += self.links.get(path, ())
        return frozenset(reached)

    @cached_property
    def shared(self):
        """What all uses of hova need: all rooms, but the verbs. Programs that it makes have the runtime in them."""
        runtime = {path for path in self.code if room_of(path) == "runtime"}
        return self.closure(self.programs.get("hova", ()), without=self.verbs) | runtime | self.forgotten

    @cached_property
    def of_a_gpu(self):
        return {path for path in self.code if OF_A_GPU.match(path)}

    @cache
    def mentions(self, path):
        return Mentions(self, path)

    @cached_property
    def forgotten(self):
        """Code of the rooms that nothing leads to from a program: it may register itself in any of them."""
        mains = {path for path, text in self.code.items() if MAIN.search(text)}
        return {path for path in self.code if room_of(path) in ROOMS} - self.closure(mains | self.verbs.keys())


def folder_of(path):
    return path.rpartition("/")[0]


def room_of(path):
    return path.split("/")[0]


def is_test(path, text):
    """Whether a runner of ./dev test, without another word, runs the file."""
    if not path.startswith("test/") or path.startswith(ELSEWHERE) or "/Inputs/" in path:
        return False
    if path.endswith((".mlir", ".test")):
        return path.split("/")[1] not in ("golden", "style") and "RUN:" in text
    if path.endswith(".py"):
        return path.rpartition("/")[2].startswith("test_")
    return path.endswith(".cpp") and bool(GTEST.search(text))


def all_tests(tree):
    return {path for path, text in tree.texts.items() if text is not None and is_test(path, text)}


# ===------------------------------------------------------------------------=== #
# What a test needs
# ===------------------------------------------------------------------------=== #


def modules_of(tree, path):
    """The test with all that it imports, and what pytest reads beside it."""
    reached, ahead = set(), [path]
    ahead += [name for folder in tree.folders if path.startswith(f"{folder}/") and (name := f"{folder}/conftest.py") in tree.texts]
    while ahead:
        module = ahead.pop()
        if module in reached:
            continue
        reached.add(module)
        for package, members, names in IMPORT.findall(tree.texts[module] or ""):
            for word in re.findall(r"[\w.]+", f"{package} {names}"):
                # What lies beside a module hides what is called so elsewhere.
                beside = f"{folder_of(module)}/{word}.py"
                found = [beside] if beside in tree.texts else tree.modules.get(word.rpartition(".")[2] or word, [])
                ahead += found
                # Members of a package may be modules.
                ahead += [name for path in found for member in members.split(", ") if (name := f"{folder_of(path)}/{member}.py") in tree.texts]
    return reached


SUBSTITUTIONS = {"%models": "examples/models", "%examples": "examples", "%vectors": "test/golden/vectors"}
PLUGINS = ("%plugin", "%extension", "%misplaced", "%anchors")


class Mentions:
    """What one file speaks of: files and folders, from the root or from where it stands, programs and other words."""

    def __init__(self, tree, path):
        text = tree.texts[path] or ""
        for name, folder in SUBSTITUTIONS.items():
            text = text.replace(name, folder)
        is_of_lit = path.endswith((".mlir", ".test"))
        commands = "\n".join(RUN.findall(text)) if is_of_lit else text
        self.words = set(re.findall(r"[\w.-]+", text))
        self.commands = set(re.findall(r"[\w.-]+", commands))
        if is_of_lit and any(plugin in commands for plugin in PLUGINS):
            self.commands |= {name for name in tree.programs if name.startswith("hova-test-")}
        self.parts = {part for word in self.words for part in re.split(r"[.-]", word)}
        lower = text.lower()
        self.is_of_a_gpu = any(word in lower for word in WORDS_OF_A_GPU)
        self.reads_the_tree = bool(READS_THE_TREE.search(text))
        folder = folder_of(path)
        places = {name.rstrip(".") for name in PATH.findall(PIECES.sub("/", text))}
        self.named = {name for name in places if name in tree.texts or ("/" in name and name in tree.folders)}
        self.named |= {f"{folder}/{name}" for name in places if f"{folder}/{name}" in tree.texts or f"{folder}/{name}" in tree.folders}


class Needs:
    """What one test needs: code, other files, and folders whose files it may read."""

    def __init__(self, tree, path):
        self.tree, self.path = tree, path
        self.files = modules_of(tree, path) if path.endswith(".py") else {path}
        mentioned = [tree.mentions(file) for file in self.files]
        self.named = set().union(*(file.named for file in mentioned))
        # Scripts that a test names run others.
        scripts = [name for name in self.named if tree.texts.get(name) and not name.endswith((*CODE, ".json", ".md"))]
        both = mentioned + [tree.mentions(name) for name in scripts]
        self.words = set().union(*(file.words for file in mentioned))
        self.parts = set().union(*(file.parts for file in both))
        self.reads_the_tree = any(file.reads_the_tree for file in mentioned)
        self.is_of_a_gpu = any(file.is_of_a_gpu for file in both)
        if path.endswith(".cpp"):
            self.programs = {name for name, sources in tree.programs.items() if path in sources}
        else:
            self.programs = {name for file in mentioned for name in file.commands & {*tree.programs, *WHOLE}}
        self.code = self.code_of()

    def code_of(self):
        tree = self.tree
        sources = set().union(*(tree.programs.get(name, set()) for name in self.programs - {"hova"}))
        found = set(tree.closure(sources))
        if any(room_of(path) == "tools" for path in sources):
            found |= tree.forgotten
        if self.programs & set(WHOLE):
            named = {path for path, verb in tree.verbs.items() if verb in self.parts}
            found |= tree.shared | tree.closure(named, without=tree.verbs.keys() - named)
        if not self.path.endswith(".cpp") and not self.is_of_a_gpu:
            found -= tree.of_a_gpu
        return found

    def reached_by(self, changed):
        """Whether the change of one file may change what the test says."""
        if self.reads_the_tree or changed in self.files or changed in self.code or changed in self.named:
            return True
        if "/Inputs/" in changed and self.path.startswith(f"{changed.split('/Inputs/')[0]}/"):
            return True
        above = {changed[:end] for end, letter in enumerate(changed) if letter == "/"}
        name = changed.rpartition("/")[2]
        is_data = room_of(changed) not in ROOMS
        return bool(above & self.named) or name in self.words or (is_data and name.partition(".")[0] in self.words)


def reached_tests(changed, tree):
    """The tests that some changed file can reach, and why all of them run, if they do."""
    tests = all_tests(tree)
    for path in sorted(changed):
        if EVERYTHING.fullmatch(path):
            return tests, f"{path} decides how everything is built or run"
    needs = {test: Needs(tree, test) for test in sorted(tests)}
    found = {test for test, need in needs.items() if need.reads_the_tree}
    for path in sorted(changed):
        reached = {test for test, need in needs.items() if need.reached_by(path)}
        if reached <= found and not is_told(path, tree, reached):
            return tests, f"nothing is known of {path}"
        found |= reached
    return found, ""


def is_told(path, tree, reached):
    """Whether it is no wonder that a file reaches no test but those of the tree: documents, and tests of other runs."""
    elsewhere = path.endswith((".md", ".png", ".svg")) or path.startswith((*ELSEWHERE, ".")) or path == "LICENSE"
    return elsewhere or path not in tree.texts or path in all_tests(tree) or path.endswith(CODE) and bool(reached)


# ===------------------------------------------------------------------------=== #
# Checkout and build
# ===------------------------------------------------------------------------=== #

OBJECT = re.compile(r" -o (\S*CMakeFiles/([\w.+-]+)\.dir/\S+)")
# Programs whose target has another name.
OUTPUTS = {"hova-driver": "hova"}
SYMBOL = re.compile(r"(?P<object>.*): +(?:[0-9a-f]+ )? *(?P<kind>\w) (?P<name>\S+)")


def objects_of_build(source, build):
    """(object, target, source) of all that the build compiles of the checkout."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.is_relative_to(source) and not path.is_relative_to(build):
            file, target = OBJECT.search(entry["command"]).groups()
            yield str(build / file), OUTPUTS.get(target, target), path.relative_to(source).as_posix()


def links_of(llvm, objects):
    """Of each source those that define what it names. What tests define is for tests of their folder alone."""
    made = [file for file in objects if Path(file).exists()]
    listed = subprocess.run([llvm / "bin/llvm-nm", "-A", "-g", *made], capture_output=True, text=True, check=True)
    named, defined = {}, {}
    for line in listed.stdout.splitlines():
        if symbol := SYMBOL.fullmatch(line):
            users = named if symbol["kind"] == "U" else defined if symbol["kind"] in "TDBR" else {}
            users.setdefault(symbol["name"], set()).add(objects[symbol["object"]])
    links = {}
    for name in named.keys() & defined.keys():
        for user in named[name]:
            near = {path for path in defined[name] if room_of(path) != "test" or folder_of(path) == folder_of(user)}
            links.setdefault(user, set()).update(near)
    return links


def git(source, *arguments):
    done = subprocess.run(["git", *arguments], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"git {arguments[0]} says: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name]


def changed_files(source, commit):
    """What differs from the commit, and what git does not know yet."""
    differ = git(source, "diff", "--name-only", "--no-renames", "-z", commit, "--")
    return {*differ, *git(source, "ls-files", "-z", "--others", "--exclude-standard")}


def read_tree(source, build, llvm):
    texts = {}
    for name in git(source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"):
        path = source / name
        if path.is_file():
            is_text = path.stat().st_size < 1 << 20
            data = path.read_bytes() if is_text else b"\0"
            texts[name] = None if b"\0" in data else data.decode(errors="replace")
    objects, programs = {}, {}
    for file, target, path in objects_of_build(source, build):
        objects[file] = path
        programs.setdefault(target, set()).add(path)
    return Tree(texts, programs, links_of(llvm, objects))
