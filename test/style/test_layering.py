# ===- test_layering.py - Rooms include only what lies below them ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The arrows between rooms, read from the #include lines."""

import re
from pathlib import PurePosixPath

import pytest
from sources import files, text

INCLUDE = re.compile(r'^\s*#?\s*include\s*["<]([^">]+)[">]', re.MULTILINE)

# What a room may include besides itself and the platform.
BELOW = {
    "dialect": set(),
    "passes": {"dialect"},
    "codegen": {"dialect", "passes"},
    "frontend": {"dialect"},
    "runtime": set(),
    "tools": {"dialect", "passes", "codegen", "frontend", "runtime"},
}

# Single headers of a room that others may use: the interface of compiled programs,
# and the readers that compiler and programs share.
SHARED = {
    "codegen": {
        "runtime/hova_runtime.h",
        "runtime/Npy.h",
        "runtime/Place.h",
        "runtime/Error.h",
        "runtime/emulation/Calls.h",
        "runtime/emulation/Emulation.h",
    },
    "frontend": {"runtime/Safetensors.h", "runtime/Error.h", "runtime/Bytes.h", "runtime/Text.h"},
}

# The families of operations, which whoever makes a program works with.
FAMILIES = {f"dialect/{name}" for name in ("attention", "columns", "dense", "linear_attention", "placement", "program", "score", "token")}

# Folders inside rooms, and which of these folders each may include besides itself.
FOLDERS = {
    "dialect": set(),
    "dialect/attention": {"dialect", "dialect/dense", "dialect/score"},
    "dialect/columns": {"dialect", "dialect/dense", "dialect/token"},
    "dialect/dense": {"dialect", "dialect/program"},
    "dialect/evaluate": {"dialect", *FAMILIES},
    "dialect/group": {"dialect"},
    "dialect/linear_attention": {"dialect", "dialect/attention"},
    "dialect/placement": {"dialect"},
    "dialect/program": {"dialect"},
    "dialect/ranges": {"dialect", "dialect/attention", "dialect/columns", "dialect/dense", "dialect/linear_attention", "dialect/placement", "dialect/program", "dialect/score", "dialect/token"},
    "dialect/score": {"dialect"},
    "dialect/token": {"dialect"},
    "frontend/reader": set(),
    "frontend/expression": {"frontend/reader"},
    "frontend/description": {"frontend/expression", "frontend/reader"},
    "frontend/elaborate": {"frontend/description", "frontend/expression"},
    "frontend/folder": {"frontend/description", "frontend/elaborate", "frontend/expression", "frontend/reader"},
    "frontend/layers": {"frontend/elaborate"},
    "frontend/attention": {"frontend/description", "frontend/elaborate", "frontend/layers"},
    "frontend/weights": {"frontend/elaborate", "frontend/reader", "dialect", *FAMILIES},
    "frontend": {
        *("frontend/attention", "frontend/description", "frontend/elaborate", "frontend/expression", "frontend/layers"),
        *("frontend/folder", "frontend/reader", "frontend/weights", "dialect", "dialect/ranges", *FAMILIES),
    },
}


# The same of what becomes a program or evaluates one, for all targets and of each; these may include all rooms below.
TARGET_FOLDERS = {
    "codegen/reference": {"codegen", "codegen/reference/interpret"},
    "codegen/reference/interpret": {"codegen/cpu"},
    "codegen/program": {"codegen", "codegen/reference"},
    "codegen/targets": {
        *("codegen", "codegen/cpu", "codegen/cpu/link", "codegen/cpu/recipes"),
        *("codegen/cuda", "codegen/cuda/facts", "codegen/cuda/link", "codegen/cuda/recipes"),
    },
    "codegen/cpu": {"codegen"},
    "codegen/cpu/recipes": {"codegen/cpu"},
    "codegen/cpu/schedule": {"codegen/cpu", "codegen/cpu/recipes"},
    "codegen/cpu/lower": {"codegen", "codegen/cpu", "codegen/reference"},
    "codegen/cpu/link": {"codegen/cpu", "codegen/program"},
    "codegen/cuda": {"codegen", "codegen/cuda/facts"},
    "codegen/cuda/facts": set(),
    "codegen/cuda/lower": {"codegen", "codegen/cuda", "codegen/cuda/facts", "codegen/reference"},
    "codegen/cuda/model": {"codegen/cuda", "codegen/cuda/facts"},
    "codegen/cuda/recipes": {"codegen/cuda", "codegen/cuda/facts"},
    "codegen/cuda/recipes/linear_attention": {"codegen/cuda", "codegen/cuda/facts", "codegen/cuda/recipes"},
    "codegen/cuda/schedule": {"codegen/cuda", "codegen/cuda/facts", "codegen/cuda/recipes", "codegen/cuda/recipes/linear_attention"},
    "codegen/cuda/link": {"codegen", "codegen/cuda", "codegen/cuda/facts", "codegen/cuda/lower", "codegen/cuda/model", "codegen/program"},
}

LIBRARIES = ("tools/inspect", "tools/page", "tools/plugins")

# The same of the library inside compiled programs, and of the tools, which may include all rooms.
OTHER_FOLDERS = {
    "runtime": set(),
    "runtime/cpu": {"runtime"},
    "runtime/emulation": {"runtime"},
    "runtime/cuda": {"runtime", "runtime/emulation"},
    "runtime/main": {"runtime", "runtime/cpu"},
    "tools": {"tools/plugins"},
    "tools/bench": set(),
    "tools/hova": {"tools/hova/guard", "tools/hova/verbs"},
    "tools/hova/options": set(LIBRARIES),
    "tools/hova/guard": {*LIBRARIES, "tools/hova/options"},
    "tools/hova/output": {*LIBRARIES, "tools/hova/options"},
    "tools/hova/session": {*LIBRARIES, "tools/hova/guard", "tools/hova/options"},
    "tools/hova/verbs": {
        *(*LIBRARIES, "tools/hova/guard", "tools/hova/options", "tools/hova/output", "tools/hova/session"),
    },
    "tools/hova-lsp-server": {"tools"},
    "tools/hova-opt": {"tools/plugins"},
    "tools/hova-reduce": {"tools"},
    "tools/hova-tblgen": set(),
    "tools/inspect": set(),
    "tools/page": set(),
    "tools/plugins": set(),
    "tools/python": set(),
}


def includes(path):
    return INCLUDE.findall(text(path))


def room(name):
    first = name.split("/")[0]
    return first if "/" in name and first in BELOW else None


@pytest.mark.parametrize("name", list(BELOW))
def test_no_arrow_points_back(name):
    wrong = [
        f"{path} includes {header}"
        for path in files(".h", ".c", ".cpp", ".td", under=f"{name}/")
        for header in includes(path)
        if room(header) not in {None, name, *BELOW[name]}
        and header not in SHARED.get(name, ())
    ]
    assert wrong == []


def folder(name):
    return str(PurePosixPath(name).parent)


def folders(*under):
    return {folder(path.as_posix()) for room in under for path in files(".h", ".c", ".cpp", ".td", under=room)}


def test_every_folder_of_a_room_is_listed():
    assert folders("dialect/", "frontend/") == set(FOLDERS)


def test_every_folder_of_a_target_is_listed():
    assert {name for name in folders("codegen/") if "/" in name} == set(TARGET_FOLDERS)


def test_every_folder_of_the_runtime_and_the_tools_is_listed():
    assert folders("runtime/", "tools/") == set(OTHER_FOLDERS)


def arrows(name, known, allowed):
    """Include lines of a folder that name one of `known` which is not `allowed`."""
    return [
        f"{path} includes {header}"
        for path in files(".h", ".c", ".cpp", ".td", under=f"{name}/")
        for header in includes(path)
        if folder(path) == name and known(folder(header)) and folder(header) not in {name, *allowed}
    ]


@pytest.mark.parametrize("name", list(FOLDERS))
def test_no_arrow_points_back_inside_a_room(name):
    assert arrows(name, FOLDERS.__contains__, FOLDERS[name]) == []


@pytest.mark.parametrize("name", list(TARGET_FOLDERS))
def test_no_arrow_points_back_inside_a_target(name):
    assert arrows(name, lambda other: other.startswith("codegen/"), TARGET_FOLDERS[name]) == []


@pytest.mark.parametrize("name", list(OTHER_FOLDERS))
def test_no_arrow_points_back_inside_the_runtime_and_the_tools(name):
    room = f"{name.split('/')[0]}/"
    assert arrows(name, lambda other: f"{other}/".startswith(room), OTHER_FOLDERS[name]) == []


def test_no_table_of_folders_has_a_circle():
    for table in (FOLDERS, TARGET_FOLDERS, OTHER_FOLDERS):
        assert circle(table) == []


def circle(arrows):
    """The nodes of a way that comes back to where it began; none if there is no such way."""
    done, way = set(), []

    def walk(node):
        if node in way:
            return way[way.index(node) :]
        if node in done:
            return []
        way.append(node)
        for after in sorted(arrows.get(node, ())):
            if found := walk(after):
                return found
        way.pop()
        done.add(node)
        return []

    return next(filter(None, map(walk, sorted(arrows))), [])


def include_arrows(name_of):
    """Include lines of all rooms, between what `name_of` says of their files."""
    arrows = {}
    for room_name in BELOW:
        for path in files(".h", ".c", ".cpp", ".td", under=f"{room_name}/"):
            for header in includes(path):
                ends = name_of(path.as_posix()), name_of(header)
                if room(header) and None not in ends and ends[0] != ends[1]:
                    arrows.setdefault(ends[0], set()).add(ends[1])
    return arrows


def test_no_folders_include_each_other_in_a_circle():
    arrows = include_arrows(folder)
    assert "codegen" in arrows["codegen/targets"]
    assert circle(arrows) == []


def test_no_headers_include_each_other_in_a_circle():
    arrows = include_arrows(lambda name: name if name.endswith((".h", ".td")) else None)
    assert "dialect/Interfaces.h" in arrows["codegen/cpu/Recipe.h"]
    assert circle(arrows) == []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c", "d"}, "c": {"d"}}) == []
    assert circle({"a": {"b", "c"}, "c": {"d"}, "d": {"c"}}) == ["c", "d"]


# Functions of dialect that its evaluator may call: containers, and what reads attributes,
# types and regions. All that decides where a row is, or how often a key counts, it defines by itself.
SHARED_WITH_EVALUATION = {
    "at",
    "data",
    "elementBytes",
    "encode16",
    "decode16",
    "evaluate",
    "evaluateInverse",
    "getBatch",
    "getBlock",
    "getCaptured",
    "getElement",
    "getHead",
    "getInputPlacement",
    "getKey",
    "getQuery",
    "getRank",
    "getRaw",
    "getResultPlacement",
    "getComputed",
    "getShape",
    "getSummands",
    "getYield",
    "HostTensor",
    "mutableAs",
    "movesData",
    "mutableData",
    "pathOf",
    "roundTo",
    "scoreRegion",
    "size",
    "storageOf",
    "tabulate",
    "toF64",
    # Of similarities it is the definition; `addTerm` is what kernels are made of.
    "evaluateTerm",
    "view",
}
# Operands, attributes and local functions of the same names.
NAMESAKES = {
    ("Attention.cpp", "columns"),
    ("Attention.cpp", "rows"),
    ("LinearAttention.cpp", "add"),
    ("Program.cpp", "getBlocks"),
    ("Score.cpp", "yield"),
    ("Token.cpp", "getLayout"),
}
COMMENT = re.compile(r"//.*")
# Names at the beginning of a definition in a source, and of what headers and ODS declare.
DEFINED = re.compile(r"^(?!\s).*?\b(?:\w+::)+(\w+)\(", re.MULTILINE)
DECLARED = re.compile(r"^ {0,6}(?!return|case|else)(?:[\w:<>,&*]+\s+)+[&*]*(\w+)\(", re.MULTILINE)
OF_ODS = re.compile(r"extraClassDeclaration = \[\{(.*?)\}\]|\"(\w+)\",\s*\(ins", re.DOTALL)
# No declaration of a variable: `HostTensor result(...)`.
CALL = r"(?:(?<=return )|(?<![\w>&*] ))\b{}\("
KEYWORDS = {"if", "for", "while", "switch", "return", "assert"}


def functions_of_dialect():
    """Names of all that is written by hand in dialect, but not of what ODS generates."""
    names = set()
    for path in files(".cpp", ".h", ".td", under="dialect/"):
        source = COMMENT.sub("", text(path))
        if folder(path) == "dialect/evaluate":
            continue
        if path.suffix == ".cpp":
            names |= set(DEFINED.findall(source))
        elif path.suffix == ".h":
            names |= set(DECLARED.findall(source))
        else:
            for declarations, method in OF_ODS.findall(source):
                names |= set(DECLARED.findall(declarations)) | ({method} - {""})
    return names - KEYWORDS


def test_evaluation_shares_no_rule_with_the_compiler():
    """A wrong shift in a function that both call would be wrong on both sides of hova verify."""
    shared = functions_of_dialect()
    # It finds what it is looking for.
    assert {"getRows", "regionOf", "classOf", "alwaysSeenBlocks", "inverseOf"} <= shared
    assert {"placesDown", "featureNormalizer", "sinusoidAt", "getPlacedShape"} <= shared
    wrong = [
        f"{path} calls {name}"
        for under in ("dialect/evaluate/", "codegen/reference/Evaluator")
        for path in files(".cpp", ".h", under=under)
        for name in sorted(shared - SHARED_WITH_EVALUATION)
        if (path.name, name) not in NAMESAKES
        and re.search(CALL.format(name), COMMENT.sub("", text(path)))
    ]
    assert wrong == []


def test_tables_are_made_without_evaluation():
    """The other direction: a table that `evaluate` makes is the same on both sides of hova verify."""
    makers = {path: COMMENT.sub("", text(path)) for path in files(".cpp", under="dialect/") if "::tabulate(" in text(path)}
    assert [path.as_posix() for path in makers] == [f"dialect/{family}/Tables.cpp" for family in ("attention", "placement", "token")]
    assert [path.as_posix() for path, source in makers.items() if re.search(r"\bevaluate\w*\(", source)] == []


# What programs load, and what runs under every sanitizer.
WITHOUT_LLVM = (
    "runtime/",
    "frontend/reader/",
    "frontend/expression/",
    "frontend/description/",
    "frontend/elaborate/",
    "frontend/folder/",
    "frontend/layers/",
    "frontend/attention/",
    "frontend/BuiltInOperators",
)


def test_runtime_and_readers_of_descriptions_know_nothing_of_llvm():
    wrong = [
        f"{path} includes {header}"
        for under in WITHOUT_LLVM
        for path in files(".h", ".c", ".cpp", under=under)
        for header in includes(path)
        if header.startswith(("mlir/", "llvm/"))
    ]
    assert wrong == []


def test_one_file_knows_the_targets():
    targets = ("codegen/cpu/", "codegen/cuda/")
    users = {
        path.as_posix()
        for room in ("codegen/", "tools/", "frontend/", "passes/")
        for path in files(".h", ".cpp", under=room)
        if not path.as_posix().startswith(targets)
        and any(header.startswith(targets) for header in includes(path))
    }
    # The second interprets kernels between two phases, and knows what a processor's operations do.
    assert users == {"codegen/targets/Targets.cpp", "codegen/reference/interpret/TileSteps.cpp"}


# A string that is a target's name or has it inside, as those of options and passes have.
OF_A_TARGET = re.compile(r'"[^"\s]*\b(?:cpu|cuda)\b[^"\s]*"')


def test_one_table_has_the_words_of_targets():
    """All others ask its rows; the option that names targets lists them, for its help and completion."""
    users = {
        path.as_posix(): sorted(set(OF_A_TARGET.findall("\n".join(line for line in COMMENT.sub("", text(path)).splitlines() if not INCLUDE.match(line)))))
        for room in ("dialect/", "passes/", "frontend/", "codegen/", "tools/")
        for path in files(".h", ".cpp", ".js", ".td", under=room)
        if not path.as_posix().startswith(("codegen/cpu/", "codegen/cuda/"))
    }
    users = {path: words for path, words in users.items() if words}
    table, option = users.pop("codegen/targets/Targets.cpp"), users.pop("tools/hova/options/Options.td")
    names = ['"cpu"', '"cuda"', '"cuda-emulated"']
    assert set(names) <= set(table) and option == names
    assert users == {}


# What holds the figures of the machine that a target is for, and the sizes that were chosen for it.
FACTS = ("codegen/cpu/CpuFacts.h", "codegen/cuda/facts/AllGpus.h", "codegen/cuda/facts/GpuFacts.h", "codegen/cuda/facts/Gpus.cpp", "codegen/cuda/facts/ModelFacts.h", "codegen/cuda/facts/ProductFacts.h",
         "codegen/cuda/WgmmaFacts.h")

# Constants elsewhere that are no figures of a machine, and what they are.
NO_FIGURES = {
    "passes/tile/Arena.h kArenaAlignment": "the multiple that hova.arena_buffer demands",
    "passes/normalize/PropagateDemandedRows.cpp kTokenAxis": "an axis of a shape",
    "passes/normalize/NormalizeRotations.cpp kTileColumns": "what tiles of every target divide",
    "codegen/ErrorFunction.h kErrorFunctionTail": "a polynomial",
    "codegen/SmoothFunctions.h kQuickGeluSlope": "of its definition",
    "codegen/SmoothFunctions.h kTwiceArtanh": "a polynomial",
    "codegen/JsonText.cpp kMostDepth": "a limit of what is written",
    "codegen/LineEdits.cpp kMostPlaces": "work of a comparison of texts",
    "codegen/ModuleText.cpp kMostModuleBytes": "a limit of what is read",
    "codegen/OutputFile.cpp kWriteBytes": "what a file system gets at once, for every target",
    "codegen/PassSteps.cpp kMostBytes": "a limit of what is shown",
    "codegen/program/Bill.cpp kMostBillBytes": "a limit of what is read",
    "codegen/program/Bill.cpp kMostDescriptionBytes": "a limit of what is read",
    "codegen/program/CheckDump.cpp kMostBytes": "a limit of what is read",
    "codegen/program/Compile.h kTraceMicroseconds": "spans of a time trace",
    "codegen/program/WeightData.cpp kChunk": "elements that are written at once",
    "codegen/program/WeightSection.h kWeightPageBytes": "what an ELF section is aligned to",
    "codegen/reference/GuardedMemory.cpp kLeastGuard": "address space beside a buffer",
    "codegen/reference/GuardedMemory.cpp kPattern": "a byte that nobody wrote",
    "codegen/reference/GuardedRun.cpp kAlignment": "what hova_runtime.h aligns memory to",
    "codegen/reference/KernelCheck.cpp kMostFlops": "time of a check",
    "codegen/reference/KernelCheck.cpp kNeighbours": "runs of a check",
    "codegen/reference/KernelCheck.cpp kPoison": "a byte that nobody wrote",
    "codegen/reference/ProgramTables.cpp kMostTableBytes": "a limit of what is made",
    "codegen/reference/Verify.cpp kFew": "elements of a tensor that a check draws otherwise",
    "codegen/cpu/HovaCpuDialect.cpp kMostUnits": "a limit of an attribute",
    "codegen/cpu/TileOps.h kLookupEntries": "what the operation is defined with",
    "codegen/cpu/lower/ProductRows.cpp kSecondLevel": "the number of a word of MLIR",
    "codegen/cpu/recipes/AttentionLayout.h kFixed": "blocks that BigBird is defined with",
    "codegen/cpu/recipes/BlockProducts.cpp kParts": "digits of f32 by those of bf16",
    "codegen/cuda/HovaCudaDialect.cpp kMostSize": "a limit of an attribute",
    "codegen/cuda/HovaCudaDialect.cpp kMostStages": "a limit of an attribute",
    "codegen/cuda/lower/DeviceOperations.h kGlobalMemory": "the number of an address space of NVVM",
    "codegen/cpu/StageSteps.h kNumbers": "words of a stage in the launches",
    "codegen/cuda/lower/DeviceOperations.h kClusterMemory": "the number of an address space of NVVM",
    "codegen/cuda/lower/DeviceOperations.h kSharedMemory": "the number of an address space of NVVM",
    "codegen/cuda/lower/KernelEmulation.cpp kOperandWords": "the emulation's own call",
    "codegen/cuda/lower/KernelEmulation.cpp kResultWords": "the emulation's own call",
    "codegen/cuda/lower/LowerToNvvm.cpp kIndexBits": "bits of positions and offsets",
    "codegen/cuda/lower/Positions.cpp kMostDivisor": "a limit of an analysis",
    "codegen/cuda/lower/Positions.cpp kMostSteps": "a limit of an analysis",
    "codegen/cuda/lower/ThreadElements.cpp kBytes": "bytes of an f32",
    "codegen/cuda/recipes/ProductTiles.cpp kFactorBytes": "bytes of an f32",
}
# Files whose constants are numbers of functions: exponents, polynomials and their tables.
OF_FUNCTIONS = (
    "codegen/cpu/ActivationTables.h",
    "codegen/cpu/lower/ActivationExpression.cpp",
    "codegen/cpu/lower/LowerExponentials.cpp",
    "codegen/cpu/recipes/SummaryAttentionRecipe.cpp",
)
CONSTANT = re.compile(r"\bconstexpr (?:unsigned )?(?:\w+::)*\w+(?:<\w+>)? (k[A-Z]\w*\b[^;]*);")
DEFINED_NAME = re.compile(r"\b(k[A-Z]\w*)(?:\[[^=]*\])* =\s")
NUMBER = re.compile(r"(?<![\w.])\d")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def constants(source):
    """Names and values of the constants of a source: several may stand in one declaration."""
    for declaration in CONSTANT.finditer(COMMENT.sub("", source)):
        pieces = DEFINED_NAME.split(declaration[1])
        yield from zip(pieces[1::2], pieces[2::2])


def figures(source, facts=frozenset()):
    """Constants with a number of their own: what is computed of a fact is no further figure, nor what is computed of that."""
    facts, found = set(facts), []
    for name, value in constants(source):
        if facts.intersection(NAME.findall(value)):
            facts.add(name)
        elif NUMBER.search(TEXT.sub("", value)):
            found.append(name)
    return found


def test_figures_of_machines_are_facts():
    facts = {name for path in FACTS for name, _ in constants(text(PurePosixPath(path)))} | {"CpuFacts"}
    assert {"kLanes", "kMostThreads", "kBlockCycles"} <= facts
    found = {
        f"{path.as_posix()} {name}"
        for room in ("passes/", "codegen/")
        for path in files(".h", ".cpp", under=room)
        if path.as_posix() not in (*FACTS, *OF_FUNCTIONS)
        for name in figures(text(path), facts)
    }
    assert found == set(NO_FIGURES)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("static constexpr int64_t kRows = 64;", ["kRows"]),
        ("constexpr int64_t kHalf = 128, kMost =\n      (int64_t(1) << 31) - 1;", ["kHalf", "kMost"]),
        ("inline constexpr double kCycles = 1.5, kTwice = 2 * kLanes;", ["kCycles"]),
        ("static constexpr Tile kTiles[] = {{1, 2}, {3, 4}};", ["kTiles"]),
        ("constexpr int64_t kPairs = CpuFacts::registerLanes, kAll = 2 * kPairs;", []),
        ("// constexpr int64_t kRows = 64;\nconstexpr bool kIsFast = false;", []),
        ('static constexpr char kName[] = "sm_80 has 2";', []),
    ],
)
def test_what_a_figure_is(source, names):
    assert figures(source, {"kLanes", "CpuFacts"}) == names


def test_one_file_names_a_kind_of_attention():
    kinds = [path for path in files(".cpp", under="frontend/attention/") if "Kind() {" in text(path)]
    names = {match[1]: path.name for path in kinds for match in re.finditer(r"AttentionKind (\w+)Kind\(\)", text(path))}
    assert len(names) == 6 and all(path.lower() == f"{name}.cpp" for name, path in names.items())
    others = [path for path in files(".h", ".cpp", under="frontend/") if path.name != "ForeignWords.cpp"]
    for name in set(names) - {"softmax"}:
        users = {path.name for path in others if f'"{name}"' in text(path)}
        assert users == {names[name]}, name
    # The word "softmax" is the default of "kind", an operator, an operation and a map of features.
    compared = re.compile(r'[kK]ind\w* [!=]= "')
    assert [str(path) for path in others if compared.search(text(path)) and "attention" in str(path)] == []


def test_one_file_includes_the_json_library():
    users = [
        path.as_posix()
        for path in files(".h", ".c", ".cpp")
        if any(header.startswith("nlohmann/") for header in includes(path))
    ]
    assert len(users) <= 1 and all(u.startswith("frontend/") for u in users), users


# Words of one kind of machine, also as a part of a name. Rooms that know no target do not use them: what every target has is
# said in words of its own, such as strips of columns and threads of a group.
MACHINE_WORDS = {
    *("avx", "cpu", "cpus", "lane", "lanes", "panel", "panels", "simd", "sse", "xmm", "ymm", "zmm"),
    *("cubin", "cuda", "gpu", "gpus", "ldmatrix", "mma", "nvgpu", "nvidia", "nvvm", "ptx", "ptxas", "warp", "warps", "wgmma"),
    *("prefetch", "prefetched", "prefetches", "prefetching", "swizzle", "swizzled", "swizzles"),
}
MACHINE_PHRASES = re.compile(r"x86|\bsm_\d|shared[ -]memory|cache[ -]lines?|tensor[ -]cores?", re.IGNORECASE)
NAME = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Examples of IR show attributes of some target, and the C++ compiler is told of the machine that hova itself runs on.
ELSEWHERE = re.compile(r"```mlir\n.*?```|^#\s*if\b[^\n]*|__attribute__\(\(.*?\)\)", re.DOTALL | re.MULTILINE)
# A place that holds numbers; to register is another word, and so is what begins with it: `registerPass(`, `RegisterPasses.cpp`.
REGISTER = re.compile(
    r"\b(?:a|an|all|each|few|free|in|its|many|more|no|of|the|two|vector|which|auto|bool|int|int64_t|unsigned|Value) [Rr]egisters?\b"
    r"|\b[Rr]egisters?[A-Z_]\w*\b(?!\(|\.(?:cpp|h)\b)|\b\w+(?<=[a-z_])Registers?(?![a-z])\w*"
)


def machine_words(source):
    """What of a text are words of one kind of machine."""
    source = ELSEWHERE.sub("", source)
    words = {word for name in NAME.findall(source) for word in WORD.findall(name) if word.lower() in MACHINE_WORDS}
    return sorted(words | set(MACHINE_PHRASES.findall(source)) | set(REGISTER.findall(source)))


@pytest.mark.parametrize("room", ["dialect", "passes", "frontend"])
def test_rooms_without_targets_use_no_word_of_one(room):
    found = {path.as_posix(): machine_words(path.name + "\n" + text(path)) for path in files(".h", ".cpp", ".td", under=f"{room}/")}
    assert len(found) > 20
    assert {path: words for path, words in found.items() if words} == {}


# A kind of matrix unit, of which other machines have others (SME of Arm): everything else says block, unit and height.
UNIT_WORDS = re.compile(r"(?<![a-z])(?:amx|tmm\d)", re.IGNORECASE)
UNIT_PLACES = {
    "codegen/cpu/IsaLevel.cpp", "codegen/cpu/IsaLevel.h", "codegen/cpu/UnitPasses.td", "codegen/cpu/lower/LowerBlockProducts.cpp",
    "runtime/cpu/Features.c", "runtime/hova_runtime.h",
}  # fmt: skip


def test_few_files_name_a_kind_of_matrix_unit():
    named = {
        path.as_posix()
        for room in ("dialect", "passes", "codegen", "runtime", "frontend", "tools")
        for path in files(".h", ".cpp", ".c", ".td", under=f"{room}/")
        if UNIT_WORDS.search(text(path))
    }
    assert named == UNIT_PLACES


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int64_t panelColumns; // four lanes", ["lanes", "panel"]),
        ("bool hasAvx512; kWarpSize; isOnGpu()", ["Avx", "Gpu", "Warp"]),
        ("/// Prefetches what is in shared memory.", ["Prefetches", "shared memory"]),
        ("sums stay in registers", ["in registers"]),
        ("int64_t registersOfThread = 2; countRegisters();", ["countRegisters", "registersOfThread"]),
        ("registerHovaPasses(); it registers the pass; getRegisteredExtensions(); // RegisterPasses.cpp", []),
        ("summary plane planet command assess smaller", []),
        ("```mlir\n#hova_cpu.launch<units = 4>\n```\n#if defined(__x86_64__)\n", []),
    ],
)
def test_what_a_word_of_a_machine_is(source, words):
    assert machine_words(source) == sorted(words)
