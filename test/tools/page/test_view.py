# ===- test_view.py - The page of a model ---------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the page has is what the verbs print, what is in it is inert, and mistakes leave no file.

test/full/test_view_pages.py clicks through whole models in two browsers.
"""

import base64
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import save_file
from browser import Browser, is_installed
from view_walk import HOSTILE, choose_stages, lit_lines, open_page, wait_for_phases, walk

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
DIGITS = Path(__file__).resolve().parents[3] / "examples/01-digits/digits.json"
WEIGHTS = f"--weights={DIGITS.parent}/weights.safetensors"
chromium = pytest.mark.skipif(not is_installed("chromium"), reason="chromium-driver is missing: ./dev test installs it")


def hova(*words, status=0):
    done = subprocess.run([HOVA, *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def parts(page):
    """The texts inside of a page."""
    found = re.findall(r'<script type="application/octet-stream" id="part-([\w-]+)">([\w+/=]*)</script>', page)
    return {name: zlib.decompress(base64.b64decode(text)).decode() for name, text in found}


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A folder with the program, what it has measured, the dumps, the page and its document."""
    folder = tmp_path_factory.mktemp("digits")
    hova("compile", DIGITS, WEIGHTS, "-O0", f"--dump-ir={folder}/dumps", "-o", folder / "program")
    program = folder / "program"
    for options in (["--random-inputs=0", "--benchmark", "--repetitions=2", f"--benchmark-out={folder}/times.json"], ["--describe", "--format=json"]):
        done = subprocess.run([program, *options], capture_output=True, text=True, check=True)
        (folder / "describe.json").write_text(done.stdout)
    numpy.save(folder / "image.npy", numpy.load(DIGITS.parent / "images.npy")[:1])
    hova("view", DIGITS, "-O0", f"--benchmark-file={folder}/times.json", "--peak=100,20", WEIGHTS,
         f"--input={folder}/image.npy", "-o", folder / "page.html")
    hova("view", DIGITS, WEIGHTS, "-O0", "--format=json", "-o", folder / "view.json")
    return folder


# ===------------------------------------------------------------------------=== #
# The document
# ===------------------------------------------------------------------------=== #


def test_document_is_what_the_verbs_print(digits):
    document = json.loads((digits / "view.json").read_text())
    assert document["summary"] == json.loads(hova("summary", DIGITS, "--format=json"))
    assert document["explain"] == json.loads(hova("explain", DIGITS, "--format=json"))
    assert document["code"] == {"kind": "assembly", "text": hova("compile", DIGITS, "-O0", "--emit=asm")}
    assert document["description"] == {"file": DIGITS.name, "text": DIGITS.read_text()}
    dumps = sorted((digits / "dumps").iterdir())
    assert [phase["name"] for phase in document["phases"]] == [path.stem.split("-")[1] for path in dumps]
    for phase, dump in zip(document["phases"], dumps):
        assert phase["text"] == dump.read_text()


def test_kernels_and_memory_are_those_of_the_program(digits):
    document = json.loads((digits / "view.json").read_text())
    described = json.loads((digits / "describe.json").read_text())
    timed = json.loads((digits / "times.json").read_text())["profile"]["kernels"]
    for entry in timed:
        del entry["ms"]
    assert document["launches"] == timed
    memory = document["memory"]
    kept = ("path", "offset", "bytes", "first_kernel", "last_kernel")
    assert memory["arena"] == [{key: value[key] for key in kept} for value in described["memory"]["arena"]]
    assert memory["weights"] == described["memory"]["weights"]
    assert [memory["arena_bytes"], memory["weight_bytes"]] == [described["arena_bytes"], described["weight_bytes"]]


def test_kernels_have_their_loops(digits):
    document = json.loads((digits / "view.json").read_text())
    head = document["loops"]["kernel_head"]
    assert [loop["over"] for loop in head] and all(loop["path"] in ("pooled", "head") for loop in head)
    attention = document["loops"]["kernel_early_attn"]
    assert attention[0]["over"] == "head" and attention[0]["loops"]
    kernel = document["explain"]["kernels"][1]
    assert kernel["units"] == [{"dim": "batch", "size": 1}, {"dim": "token", "size": 17}]
    assert kernel["stages"][:2] == [["tokens", "placed"], ["early.0.norm1"]]
    assert kernel["schedule"].startswith("#hova_cpu.schedule<tile = ")


def test_layers_say_what_they_read_and_where_they_end(digits):
    document = json.loads((digits / "view.json").read_text())
    reads = {layer["path"]: layer["reads"] for layer in document["summary"]["layers"]}
    assert reads["patches"] == ["image"]
    assert reads["early.0.mid"] == ["placed", "early.0.attn"]
    assert reads["omni"] == ["early.0.out", "early.1.out"]
    lines = DIGITS.read_text().splitlines()
    attention = next(layer for layer in document["explain"]["layers"] if layer["path"] == "early.0.attn")
    assert lines[attention["line"] - 1].strip().startswith('{"name": "attn"')
    assert lines[attention["last_line"] - 1].strip().endswith('"vertical": true},')


def test_page_holds_the_document(digits):
    page = (digits / "page.html").read_text()
    inside = parts(page)
    document = json.loads((digits / "view.json").read_text())
    shown = json.loads(inside.pop("document"))
    assert shown.pop("benchmark") == json.loads((digits / "times.json").read_text()) | {"emulated": False}
    assert shown.pop("peak") == {"gflops": 100, "gbs": 20}
    assert maps_of(shown)["early.0.attn"].shape == (4, 17, 17)
    del shown["maps"]
    assert inside.pop("code") == document["code"].pop("text")
    for phase in document["phases"]:
        assert inside.pop(phase["name"]) == phase.pop("text")
        assert json.loads(inside.pop(f"{phase['name']}-passes")) == phase.pop("passes")
    assert (inside, shown) == ({}, document)


def maps_of(document):
    """The numbers of every map, planes x rows x columns, by its path."""
    return {entry["path"]: numpy.frombuffer(base64.b64decode(entry["values"]), numpy.uint8).reshape(entry["planes"], entry["rows"], entry["columns"])
            * entry["largest"] / 255 for entry in document["maps"]["maps"]}


def test_shares_of_every_kind_are_shares(digits):
    document = json.loads(parts((digits / "page.html").read_text())["document"])
    maps = maps_of(document)
    kinds = {entry["path"]: entry["kind"] for entry in document["maps"]["maps"]}
    assert set(kinds.values()) == {"attention", "heads", "gate", "layers"}
    for path, numbers in maps.items():
        if kinds[path] == "gate":
            assert 0 <= numbers.min() < 0.5 < numbers.max() < 1
        else:
            assert numpy.abs(numbers.sum(axis=-1) - 1).max() < 0.02, path
    assert maps["early.1.attn.horizontal"].shape == (1, 17, 4)
    pool = next(entry for entry in document["maps"]["maps"] if entry["path"] == "omni.pool")
    assert pool["names"] == ["early.0.out", "early.1.out"] and (pool["rows"], pool["columns"]) == (17, 2)


def softmax(scores):
    shares = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("key_heads", [4, 1])
def test_attention_is_that_of_numpy(tmp_path, key_heads):
    """With queries and keys of one value, causal, and heads that share keys."""
    random = numpy.random.default_rng(1)
    model = {"hova": 1, "name": "net", "inputs": {"x": {"shape": [2, 7, 16]}}, "outputs": {"y": "attn"},
             "layers": [{"name": "attn", "op": "multi_head_attention", "input": "x", "heads": 4, "key_value_heads": key_heads, "causal": True, "bias": False}]}
    (tmp_path / "net.json").write_text(json.dumps(model))
    tensors = json.loads(hova("summary", tmp_path / "net.json", "--format=json"))["parameters"]["tensors"]
    weights = {tensor["name"]: random.normal(size=tensor["shape"]).astype(numpy.float32) for tensor in tensors}
    x = random.normal(size=(2, 7, 16)).astype(numpy.float32)
    save_file(weights, tmp_path / "net.safetensors")
    numpy.save(tmp_path / "x.npy", x)
    document = json.loads(hova("view", tmp_path / "net.json", "-O0", f"--weights={tmp_path}/net.safetensors", f"--input=x={tmp_path}/x.npy", "--format=json"))
    found = maps_of(document)["attn"].reshape(2, 4, 7, 7)
    query = (x @ weights["attn.query.weight"]).reshape(2, 7, 4, 4).transpose(0, 2, 1, 3)
    key = (x @ weights["attn.key.weight"]).reshape(2, 7, key_heads, 4).transpose(0, 2, 1, 3).repeat(4 // key_heads, axis=1)
    scores = query @ key.transpose(0, 1, 3, 2) / 2
    expected = softmax(numpy.where(numpy.tril(numpy.ones((7, 7))) > 0, scores, -numpy.inf))
    assert numpy.abs(found - expected).max() < 0.003


def test_one_value_may_be_queries_keys_and_values(tmp_path):
    model = {"hova": 1, "name": "net", "inputs": {"x": {"shape": [1, 5, 8]}}, "outputs": {"y": "attn"},
             "layers": [{"name": "attn", "op": "attention", "query": "x", "key": "x", "value": "x", "heads": 2}]}
    (tmp_path / "net.json").write_text(json.dumps(model))
    x = numpy.random.default_rng(2).normal(size=(1, 5, 8)).astype(numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    document = json.loads(hova("view", tmp_path / "net.json", "-O0", f"--input={tmp_path}/x.npy", "--format=json"))
    heads = x[0].reshape(5, 2, 4).transpose(1, 0, 2)
    assert numpy.abs(maps_of(document)["attn"] - softmax(heads @ heads.transpose(0, 2, 1) / 2)).max() < 0.003


def test_slots_of_a_memory_are_keys(tmp_path):
    model = Path(__file__).resolve().parents[3] / "examples/models/m2.json"
    summary = json.loads(hova("summary", model, "--format=json"))
    options = []
    for entry in summary["inputs"]:
        value = numpy.ones(entry["shape"], {"f32": "float32", "i32": "int32", "i64": "int64", "bool": "bool"}[entry["dtype"]])
        numpy.save(tmp_path / f"{entry['name']}.npy", value)
        options.append(f"--input={entry['name']}={tmp_path}/{entry['name']}.npy")
    document = json.loads(hova("view", model, "-O0", *options, "--format=json"))
    encoder = next(entry for entry in document["maps"]["maps"] if entry["columns"] > entry["rows"] == 50)
    assert numpy.abs(maps_of(document)[encoder["path"]].sum(axis=-1) - 1).max() < 0.05


def without_locations(line):
    """A line of a dump, where `loc(` begins no string of a description, or one of a step."""
    while (at := line.find(" loc(")) >= 0:
        depth, end = 1, at + len(" loc(")
        while depth:
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        line = line[:at] + line[end:]
    return line


def function_texts(dump):
    """The functions of a dump by their names, lines without locations and indentation."""
    found, name = {}, None
    for line in dump.splitlines():
        if start := re.match(r" *(?:func\.func|llvm\.func)[^@]*@\"?([\w.$-]+)", line):
            name, indent = start[1], len(line) - len(line.lstrip())
            found[name] = []
        if name:
            found[name].append(without_locations(line).strip())
            if line.startswith(" " * indent + "}"):
                name = None
    return found


def changed_texts(passes):
    """After each pass: its name, and the functions that it changed with both texts, as lines."""
    texts = {name: text.split("\n") for name, text in passes["before"].items()}
    for entry in passes["passes"]:
        changed = {}
        for function in entry["functions"]:
            if "edits" not in function:
                continue  # too long
            old = texts[function["function"]]
            new = [line for edit in function["edits"] for line in ([edit] if isinstance(edit, str) else old[edit[0]:sum(edit)])]
            changed[function["function"]] = (old, new)
            texts[function["function"]] = new
        yield entry["pass"], changed


def test_passes_lead_to_what_their_phase_left(digits):
    """Every pass changed what it names, and after the last one functions are those of the dump."""
    document = json.loads((digits / "view.json").read_text())
    assert document["phases"][0]["passes"] == {"before": {}, "passes": []}  # no pass has run
    for phase in document["phases"][1:]:
        dumped, texts, names = function_texts(phase["text"]), {}, []
        for name, changed in changed_texts(phase["passes"]):
            names.append(name)
            assert all(old != new for old, new in changed.values()), name
            texts.update({function: new for function, (_, new) in changed.items()})
        assert names and all(re.fullmatch(r"[a-z][\w-]*", name) for name in names)
        left = {name: lines for name, lines in texts.items() if lines != [""]}
        assert left
        for name, lines in left.items():
            assert [without_locations(line).strip() for line in lines] == dumped[name], (phase["name"], name)
    fuse = next(phase for phase in document["phases"] if phase["name"] == "fuse")
    assert "hova-fuse-kernels" in [entry["pass"] for entry in fuse["passes"]["passes"]]


def test_lines_of_passes_have_their_layers(digits):
    document = json.loads((digits / "view.json").read_text())
    fuse = next(phase for phase in document["phases"] if phase["name"] == "fuse")
    lines = fuse["passes"]["before"]["main"].splitlines()
    attention = next(line for line in lines if "hova.attention" in line and "early.0.attn" in line)
    norm = next(line for line in lines if "hova.layer_norm" in line)
    assert norm.endswith('loc("early.0.norm1")') and 'digits.json' not in norm
    assert attention.count("loc(") <= 1


def test_page_asks_for_nothing(digits):
    page = (digits / "page.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ") and "http" not in policy
    urls = set(re.findall(r"https?://[^\"'\s]*", page))
    assert urls <= {"http://www.w3.org/2000/svg"}  # the name of a language


def test_dump_is_shown_from_where_it_begins(digits, tmp_path):
    document = json.loads(hova("view", digits / "dumps/04-assign.mlir", WEIGHTS, "-O0", "--format=json"))
    assert [phase["name"] for phase in document["phases"]] == ["import", "assign", "tile", "vectorize", "target"]
    assert document["description"]["text"] == DIGITS.read_text()


def test_gpu_shows_ptx():
    document = json.loads(hova("view", DIGITS, "--target=cuda", "--ptxas=none", "--format=json"))
    assert document["code"]["kind"] == "PTX" and ".visible .entry" in document["code"]["text"]
    assert document["explain"]["device"]["kernels"] and document["launches"]


# ===------------------------------------------------------------------------=== #
# Mistakes
# ===------------------------------------------------------------------------=== #


@pytest.mark.parametrize("options, status, expected", [
    (["--march=x86-64-v3,x86-64-v4"], 2, "hova view takes one level, got 2"),
    (["--emit=exe"], 2, "'hova view' takes no option '--emit'"),
    (["--format=html"], 2, "option '--format' expects text, json, got 'html'"),
    (["--peak=10"], 2, "option '--peak' needs '--benchmark-file'"),
    (["--peak=10,fast", "--benchmark-file=TIMES"], 2, "expects GFLOP/s, or GFLOP/s and GB/s as in 117.6,40, got '10,fast'"),
    (["--peak=-1", "--benchmark-file=TIMES"], 2, "got '-1'"),
    (["--benchmark-file=MISSING"], 74, "No such file or directory"),
    (["--benchmark-file=BROKEN"], 1, "is no JSON"),
    (["--benchmark-file=DEEP"], 1, "is no JSON: nested 100000 deep, and at most 64 are read"),
    (["--benchmark-file=/dev/zero"], 1, "has more than the 268435456 bytes that a benchmark has at most"),
    (["--benchmark-file=EMPTY"], 1, "has no 'profile' with 'kernels'"),
    (["--input=y=TIMES"], 1, "the model has no input 'y'; there is image"),
    (["--input=TIMES"], 1, "times.json"),
    (["--input=MISSING"], 74, "missing"),
    (["--benchmark-file=TIMES", "--without=hova-fuse-kernels"], 1, "is of another program: its kernel 1 is "),
])
def test_mistakes_leave_no_page(digits, tmp_path, options, status, expected):
    files = {"TIMES": digits / "times.json", "MISSING": tmp_path / "missing", "BROKEN": tmp_path / "broken", "EMPTY": tmp_path / "empty", "DEEP": tmp_path / "deep"}
    files["BROKEN"].write_text("{")
    files["EMPTY"].write_text("{}")
    files["DEEP"].write_text("[" * 100000)
    for name, path in files.items():
        options = [option.replace(name, str(path)) for option in options]
    assert expected in hova("view", DIGITS, *options, "-o", tmp_path / "page.html", status=status)
    assert not (tmp_path / "page.html").exists()


def test_page_replaces_no_input(digits, tmp_path):
    times = tmp_path / "times.json"
    times.write_bytes((digits / "times.json").read_bytes())
    assert "--benchmark-file" in hova("view", DIGITS, "--benchmark-file", times, "-o", times, status=2)
    assert times.read_bytes() == (digits / "times.json").read_bytes()


# ===------------------------------------------------------------------------=== #
# In a browser
# ===------------------------------------------------------------------------=== #


@pytest.fixture(scope="module")
def browser():
    with Browser("chromium") as browser:
        yield browser


@chromium
def test_ways_through_the_page(browser, digits):
    walk(browser, digits / "page.html", "early.0.attn")


@chromium
def test_what_is_not_fused_stands_out(browser, digits):
    open_page(browser, digits / "page.html")
    apart = browser.run("[...document.querySelectorAll('.node.leaf .verdict.apart')].map((mark) => mark.closest('.node').dataset.path)")
    document = json.loads((digits / "view.json").read_text())
    sites = [site["path"] for site in document["explain"]["sites"] if not site["fused"]]
    assert apart and all(any(site == path or site.startswith(f"{path}.") for site in sites) for path in apart)
    browser.click(".node.leaf .verdict.apart")
    why = next(site["why"] for site in document["explain"]["sites"] if not site["fused"])
    assert any(why in text for text in browser.texts("#inspector .site"))


@chromium
def test_code_of_equal_kernels_is_that_of_each(browser, digits):
    """Two kernels are one function, whose code has the paths of the first."""
    open_page(browser, digits / "page.html")
    lit = {}
    for layer in ("early.0.attn", "early.1.attn"):
        browser.run(f"page.selection.set(['{layer}'])")
        lit[layer] = {line for line in lit_lines(browser, "code") if "kernel_early_attn.0" in line}
    assert lit["early.0.attn"] == lit["early.1.attn"] != set()
    # Chosen as a kernel, it is lit without those that run another function.
    browser.run("page.selection.set([], page.model.kernels.find((kernel) => kernel.name === 'early.1.attn').number)")
    assert all("kernel_early_attn_query" not in line for line in lit_lines(browser, "code") if line.startswith("kernel"))


@chromium
def test_times_are_shown_and_say_what_was_divided(browser, digits):
    open_page(browser, digits / "page.html", "#tab=kernels")
    assert "of 100 GFLOP/s, as --peak says" in " ".join(browser.texts("#kernels > p"))
    assert "% of peak" in browser.texts("#kernels th button")
    assert browser.run("document.querySelectorAll('.roofline .point').length") == browser.run("page.model.kernels.length")
    times = json.loads((digits / "times.json").read_text())["profile"]["layers"]
    divided = {entry["path"] for entry in times if entry["divided"]}
    for row in browser.run("[...document.querySelectorAll('.layer-times tr')].map((row) => [row.querySelector('th').textContent, row.lastChild.textContent])"):
        assert (row[1] == "*") == (row[0] in divided)
    assert any("divided among them" in text for text in browser.texts("figcaption"))


BESIDE = """(async () => {
  const found = [];
  const names = page.stages.phases;
  for (let at = 0; at + 1 < names.length; ++at) {
    page.phases.set(names[at], names[at + 1]);
    await page.phases.read();
    const [left, right] = page.phases.panes;
    const uses = (lines) => lines.reduce((uses, { path }) => path === null ? uses : uses.set(path, (uses.get(path) ?? 0) + 1), new Map());
    const [a, b] = [uses(left.stage.lines), uses(right.stage.lines)];
    const possible = [...a].reduce((sum, [path, count]) => sum + Math.min(count, b.get(path) ?? 0), 0);
    const pathAt = (pane, row) => pane.rows[row] < 0 ? null : pane.stage.lines[pane.rows[row]].path;
    const beside = left.rows.filter((_, row) => pathAt(left, row) !== null && pathAt(left, row) === pathAt(right, row)).length;
    const apart = left.rows.filter((number, row) => number >= 0 && right.rows[row] >= 0 && pathAt(left, row) !== pathAt(right, row)).length;
    const isWhole = [left, right].every((pane) => String(pane.rows.filter((number, row) => number >= 0 && pane.marks[row] !== 'copy')) === String(pane.stage.lines.map((_, number) => number)));
    found.push({ phases: [names[at], names[at + 1]], part: beside / possible, first: [left, right].map((pane) => pathAt(pane, left.rows.findIndex((_, row) => pathAt(left, row) !== null))), apart, isWhole });
  }
  return found;
})()"""


@chromium
def test_phases_are_lined_up_by_path(browser, digits):
    """Lines of a path that both phases have stand side by side, and every line stands in its order."""
    open_page(browser, digits / "page.html", "#tab=phases&left=import&right=normalize")
    found = browser.run(BESIDE)
    assert [entry["phases"] for entry in found][0] == ["import", "normalize"]
    for entry in found:
        assert entry["part"] >= 0.8, entry
        assert entry["apart"] == 0 and entry["isWhole"], entry


@chromium
def test_lines_that_face_each_other_are_those_most_alike(browser, digits):
    open_page(browser, digits / "page.html")
    assert browser.run("""(() => {
      const lines = (text) => text.split(' ').map((word) => ({ text: word.split(':').at(-1), path: word.split(':')[0] || null, symbol: null, kernel: null }));
      const join = (pairs) => pairs.map(([i, j, isCopy, areAlike]) => `${i}${isCopy ? '~' : areAlike ? '=' : ':'}${j}`).join(' ');
      const show = (left, right) => join(lineUp(lines(left), lines(right), []));
      return [show('a b c', 'a x c'), show('a:1 a:2 a:4', 'a:2 a:4 a:3'), show('a:1 b:2', 'a:3 b:4'), show('w a v b', 'w v a b'), show(':1 a :}', 'a :}')];
    })()""") == ["0=0 1:-1 -1:1 2=2", "0~2 1=0 2=1 -1:2", "0:0 1:1", "0=0 -1:1 1=2 2~1 3=3", "0:-1 1=0 2=1"]


@chromium
def test_values_of_scores_belong_to_their_layer(browser, digits):
    """Their locations have a name of the value over the path of the layer."""
    open_page(browser, digits / "page.html")
    for stage in ("import", "fuse", "normalize.0.after"):
        found = browser.run(f"page.stages.get({stage!r}).then(({{ lines }}) => lines.filter(({{ text }}) => text.includes('%score = arith.mulf %raw, %number')).map(({{ path }}) => path))")
        assert found == ["early.0.attn", "early.1.attn", "omni", "late.attn"], stage


@chromium
def test_both_sides_of_a_pass_are_shown(browser, digits):
    document = json.loads((digits / "view.json").read_text())
    open_page(browser, digits / "page.html", "#tab=phases&left=normalize&right=fuse")
    wait_for_phases(browser)
    fuse = next(phase for phase in document["phases"] if phase["name"] == "fuse")["passes"]
    names = [name.removeprefix("hova-") for name in (entry["pass"] for entry in fuse["passes"])]
    shown = browser.texts(".passes button")
    assert len(shown) == len(names) and all(text.startswith(name) for text, name in zip(shown, names))
    browser.click(".passes button", "fuse-kernels")
    wait_for_phases(browser)
    at = names.index("fuse-kernels")
    changed = list(changed_texts(fuse))[at][1]
    for side, pane in enumerate(("left", "right")):
        expected = [without_locations(line) for texts in changed.values() for line in texts[side] if line]
        assert browser.run(f"page.phases.panes[{side}].stage.lines.map((line) => line.text)") == expected
        assert f"fuse.{at}" in browser.run(f"document.querySelector('.pane.{pane} select').value")
    assert browser.run("page.phases.panes[1].stage.lines.some((line) => line.kernel !== null)")
    # A pass that there is not is an empty text, and no mistake.
    open_page(browser, digits / "page.html", "#tab=phases&left=fuse.99.before&right=fuse.99.after")
    wait_for_phases(browser)
    assert browser.run("page.phases.panes.map((pane) => pane.stage.lines.length)") == [0, 0]
    assert browser.complaints() == []


@chromium
def test_words_have_colours(browser, digits):
    open_page(browser, digits / "page.html", "#tab=phases&left=description&right=fuse")
    wait_for_phases(browser)
    for left, right, kinds in (("description", "fuse", [{"attribute", "string", "number"}, {"value", "operation", "type", "string", "number", "symbol"}]),
                               ("vectorize", "code", [{"operation", "type"}, {"operation", "value", "comment"}])):
        choose_stages(browser, left, right)
        for side, wanted in zip(("left", "right"), kinds):
            browser.run(f"(() => {{ const list = page.phases.panes[{int(side == 'right')}].list; list.show(Math.min(60, list.length - 1)); }})()")
            found = set(browser.run(f"[...document.querySelectorAll('.pane.{side} code span')].map((word) => word.className)"))
            assert {f"t-{kind}" for kind in wanted} <= found, (left, right, side, found)
    assert browser.run("""(async () => (await Promise.all(page.stages.names.map((name) => page.stages.get(name))))
        .every(({ lines, language }) => lines.slice(0, 3000).every(({ text }) => wordsOf(text, language).map(([, word]) => word).join('') === text)))()""")


@chromium
def test_lines_wrap_on_request(browser, digits):
    open_page(browser, digits / "page.html", "#tab=phases&left=import&right=normalize")
    wait_for_phases(browser)
    isWide = "[...document.querySelectorAll('.long-list')].map((list) => list.scrollWidth > list.clientWidth)"
    assert browser.run(isWide) == [True, True]
    before = browser.run("page.phases.panes[0].rows.length")
    browser.click("#wraps")
    browser.wait("page.phases.wraps.checked")
    wait_for_phases(browser)
    assert browser.run(isWide) == [False, False]
    assert browser.run("page.phases.panes[0].rows.length") > before
    assert len(set(browser.run("page.phases.panes.map((pane) => pane.rows.length)"))) == 1
    assert browser.run("""page.phases.panes.every(({ stage, rows, parts, marks }) => stage.lines.every((line, number) =>
        rows.map((at, row) => at === number && marks[row] !== 'copy' ? line.text.slice(...parts[row]) : '').join('') === line.text))""")
    browser.click("#wraps")
    browser.wait("!page.phases.wraps.checked")
    wait_for_phases(browser)
    assert browser.run("page.phases.panes[0].rows.length") == before


CUT = """[...document.querySelectorAll('main > section.open :is(.number, .shape, th button)')].filter((cell) => {
    const [text, box] = [document.createRange(), cell.getBoundingClientRect()];
    text.selectNodeContents(cell);
    const [room, shown] = [cell.closest('main').getBoundingClientRect(), text.getBoundingClientRect()];
    return cell.textContent && (shown.right > box.right + 1 || shown.left < box.left - 1 || shown.right > room.right || cell.scrollWidth > cell.clientWidth + 1);
  }).map((cell) => cell.textContent)"""


@chromium
@pytest.mark.parametrize("options", [["--target=cpu"], ["--target=cuda", "--ptxas=none"]])
def test_no_number_is_cut_off(browser, digits, tmp_path, options):
    """At 1400 pixels, which the browser has."""
    times = [f"--benchmark-file={digits}/times.json", "--peak=100,20", "-O0"] if "cpu" in options[0] else []
    hova("view", DIGITS, *options, *times, "-o", tmp_path / "page.html")
    open_page(browser, tmp_path / "page.html")
    assert browser.run("innerWidth") == 1400
    for tab in ("model", "kernels", "memory"):
        browser.run(f"page.open({tab!r})")
        browser.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert browser.run("document.querySelectorAll('main > section.open .number').length") > 3
        assert browser.run(CUT) == [], tab


@chromium
def test_bars_are_as_long_as_costs(browser, digits, tmp_path):
    open_page(browser, digits / "page.html", "#tab=kernels")
    times = json.loads((digits / "times.json").read_text())["profile"]
    costs = [entry["ms"] for entry in times["kernels"]]
    shares = browser.run("[...document.querySelectorAll('#kernels td.cost')].map((cell) => parseFloat(cell.style.getPropertyValue('--share')))")
    assert shares == pytest.approx([100 * cost / max(costs) for cost in costs], abs=0.01)
    # Of layers, those that are no sum of rows below them.
    hova("view", DIGITS, "-O0", "-o", tmp_path / "page.html")
    open_page(browser, tmp_path / "page.html")
    bars = dict(browser.run("[...document.querySelectorAll('.node')].map((node) => [node.dataset.path, node.querySelector('.bar > span')?.style.width ?? null])"))
    layers = {layer["path"]: layer["macs_linear"] + layer["macs_attention"] for layer in json.loads(hova("summary", DIGITS, "--format=json"))["layers"]}
    shown = {path: float(width.rstrip("%")) for path, width in bars.items() if width and path in layers}
    most = max(layers.values())
    assert len(shown) > 5
    scale = max(shown.values()) / max(layers[path] for path in shown)
    assert all(width == pytest.approx(layers[path] * scale, abs=0.02) for path, width in shown.items())
    assert bars["early.0"] is None and most > 0  # its layers are shown


@chromium
def test_kernels_above_the_roof_are_said_to_be(browser, digits, tmp_path):
    rates = {kernel: entry["flops"] * 1e-6 / entry["ms"] for kernel, entry in enumerate(json.loads((digits / "times.json").read_text())["profile"]["kernels"]) if entry["ms"] and entry["flops"]}
    middle = sorted(rates.values())[len(rates) // 2]
    hova("view", DIGITS, "-O0", f"--benchmark-file={digits}/times.json", f"--peak={middle}", "-o", tmp_path / "page.html")
    open_page(browser, tmp_path / "page.html", "#tab=kernels")
    above = {kernel for kernel, rate in rates.items() if rate > middle * (1 + 1e-9)}
    assert 0 < len(above) < len(rates)
    assert browser.texts(".above p")[0] == f"▲ {len(above)} kernel{'s' if len(above) > 1 else ''} above the roof:"
    assert all("--peak says less than this machine can do" in text for text in browser.texts(".above li"))
    marked = browser.run("[...document.querySelectorAll('#kernels tbody tr')].filter((row) => row.textContent.includes('▲')).map((row) => Number(row.dataset.kernel))")
    assert set(marked) == above
    # Nothing is above a roof that is far away.
    hova("view", DIGITS, "-O0", f"--benchmark-file={digits}/times.json", "--peak=1e6,1e6", "-o", tmp_path / "far.html")
    open_page(browser, tmp_path / "far.html", "#tab=kernels")
    assert browser.texts(".above") == []
    # Below the ridge it is the memory.
    hova("view", DIGITS, "-O0", f"--benchmark-file={digits}/times.json", "--peak=1e6,1e-3", "-o", tmp_path / "near.html")
    open_page(browser, tmp_path / "near.html", "#tab=kernels")
    assert all("in a cache" in text for text in browser.texts(".above li"))


def hostile_model(folder, digits):
    """A dump whose locations and description are hostile, and such times."""
    text = (digits / "dumps/04-assign.mlir").read_text()
    escaped = "".join(f"\\{byte:02X}" for byte in " ".join(HOSTILE).encode())
    text = text.replace('loc("placed"', f'loc("{escaped}"').replace("Handwritten digits", escaped.replace("\\", "\\\\u00"))
    path = folder / "<img src=x onerror=hacked=9>.mlir"
    path.write_text(text)
    times = json.loads((digits / "times.json").read_text())
    times["level"] = times["model"] = times["profile"]["layers"][0]["path"] = " ".join(HOSTILE)
    (folder / "times.json").write_text(json.dumps(times))
    return path


@chromium
def test_hostile_texts_are_texts(browser, digits, tmp_path):
    model = hostile_model(tmp_path, digits)
    page = tmp_path / "page.html"
    hova("view", model, "-O0", f"--benchmark-file={tmp_path}/times.json", "-o", page)
    assert "hacked" not in page.read_text()
    open_page(browser, page, "#tab=phases&left=description&right=assign&path=%3Cimg%20src%3Dx%20onerror%3Dhacked%3D9%3E")
    tags = browser.run("[...new Set([...document.querySelectorAll('*')].map((e) => e.localName))]")
    browser.wait("page.phases.turn !== undefined && page.phases.element.dataset.ready === String(page.phases.turn)")
    for text in HOSTILE:
        assert browser.run(f"page.stages.get('assign').then((stage) => stage.lines.some((line) => (line.path ?? '').includes({json.dumps(text)})))")
    browser.run("page.phases.panes[1].list.show(page.phases.panes[1].stage.lines.findIndex((line) => (line.path ?? '').includes('hacked')))")
    for key in "1234":
        browser.press(key)
    assert any(HOSTILE[0] in text for text in browser.texts("#kernels > p"))
    assert browser.run("typeof hacked") == "undefined"
    assert not {"img", "b"} & set(tags)
    assert browser.complaints() == []


@chromium
def test_networks_written_out_stand_out_too(browser, tmp_path):
    layers = [{"name": "gate", "op": "linear", "input": "x", "width": 128}, {"name": "share", "op": "activation", "input": "gate", "kind": "sigmoid"},
              {"name": "up", "op": "linear", "input": "x", "width": 128}, {"name": "gated", "op": "multiply", "inputs": ["share", "up"]},
              {"name": "down", "op": "linear", "input": "gated", "width": 64}]
    model = {"hova": 1, "name": "net", "inputs": {"x": {"shape": [1, 32, 64]}}, "blocks": {"glu": {"inputs": ["x"], "layers": layers, "output": "down"}},
             "layers": [{"name": "ffn", "block": "glu", "input": "x"}], "outputs": {"y": "ffn"}}
    (tmp_path / "net.json").write_text(json.dumps(model))
    hova("view", tmp_path / "net.json", "-O0", "-o", tmp_path / "page.html")
    open_page(browser, tmp_path / "page.html")
    browser.click("[data-path=ffn] .verdict.apart")
    assert any("gated feed-forward ffn" in text and "written out as ffn.gate, ffn.share" in text for text in browser.texts("#inspector .site"))
    assert browser.complaints() == []


@chromium
def test_a_page_works_in_the_frame_of_a_notebook(browser, digits, tmp_path):
    """The frame has no address, so that none can be changed, and the page says nothing of it."""
    sys.path.insert(0, str(DIGITS.parents[2] / "tools/python"))
    from hova._page import Page

    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!DOCTYPE html><meta charset='utf-8'><title>n</title><body>{Page((digits / 'page.html').read_text())._repr_html_()}</body>")
    browser.open(outer)
    (frame,) = browser.call("browsingContext.getTree", root=browser.context)["contexts"][0]["children"]
    outside, browser.context = browser.context, frame["context"]
    try:
        browser.wait("document.documentElement.dataset.ready")
        browser.run("page.selection.set([page.model.layers[0].path], null)")
        browser.wait("document.querySelector('#inspector h2')?.textContent === page.model.layers[0].path")
        assert browser.run("location.href") == "about:srcdoc"
        # An answer to what was asked later: what the page has logged came before.
        browser.run("new Promise((done) => setTimeout(done, 0))")
    finally:
        browser.context = outside
    assert browser.complaints() == []
