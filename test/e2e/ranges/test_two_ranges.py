# ===- test_two_ranges.py - Items with tokens of two sequences -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A decoder beside an encoder has two lengths: each item's sentence and what it is translated into. One program for all
of both gives each item what the program of its two lengths gives it, bit for bit.

The judge is the program that is compiled for two numbers: its code knows nothing of ranges."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reduced_models import MODELS as EXAMPLE_MODELS
from reduced_models import draw, settings_of

ROOT = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ.get("HOVA_BUILD", ROOT / "build")) / "bin/hova"
sys.path.insert(0, str(ROOT / "tools/python"))
import hova  # noqa: E402

WIDTH, ITEMS, SOURCE, TARGET = 48, 5, 40, 27


def attend(name, x, **more):
    return {"name": name, "op": "multi_head_attention", "input": x, "heads": 3, **more}


def norm(name, *inputs):
    return [{"name": f"{name}_sum", "op": "add", "inputs": inputs}, {"name": name, "op": "layer_norm", "input": f"{name}_sum", "eps": 1e-5}]


def translator(source=SOURCE, target=TARGET, cross=(), first="source", encoder_kinds=(), tail=(), outputs=(), placed="learned"):
    """An encoder of numbers [items, source, width] and a decoder of [items, target, width]. `source` and `target` are
    the largest lengths; a text is a fixed one."""
    def size(value):
        return value if isinstance(value, dict) else {"min": 1, "max": value} if isinstance(value, int) else int(value)

    inputs = {
        "source": {"shape": ["items", "src", WIDTH]},
        "seen": {"shape": ["items", "src"], "dtype": "bool"},
        "target": {"shape": ["items", "tgt", WIDTH]},
        "said": {"shape": ["items", "tgt"], "dtype": "bool"},
    }
    names = sorted(inputs, key=lambda name: (inputs[name]["shape"][1] != ("src" if first == "source" else "tgt"), name))
    where = {"learned": {"kind": "learned", "length": 80}, "sinusoid": {"kind": "sinusoid"}}[placed]
    return {
        "hova": 1,
        "name": "translator",
        "parameters": {"src": size(source), "tgt": size(target), "items": {"min": 1, "max": ITEMS}},
        "inputs": {name: inputs[name] for name in names},
        "layers": [
            {"name": "source_placed", "op": "positions", "input": "source", **where},
            attend("self", "source_placed", key_valid="seen", **dict(encoder_kinds)),
            *norm("encoder", "source_placed", "self"),
            {"name": "target_placed", "op": "positions", "input": "target", **where},
            attend("causal", "target_placed", causal=True, key_valid="said"),
            *norm("before", "target_placed", "causal"),
            attend("cross", "before", key="encoder", **{"key_valid": "seen", **dict(cross)}),
            *norm("after", "before", "cross"),
            {"name": "ffn", "op": "feed_forward", "input": "after", "hidden": 100, "activation": "relu"},
            {"name": "decoder", "op": "add", "inputs": ["after", "ffn"]},
            {"name": "mean", "op": "pool", "input": "decoder", "kind": "mean", "valid": "said"},
            {"name": "first", "op": "pool", "input": "encoder", "kind": "max"},
            *tail,
        ],
        "outputs": {"words": "decoder", "memory": "encoder", "mean": "mean", "first": "first", **dict(outputs)},
    }


BACK = [attend("back", "encoder", key="decoder", key_valid="said", score="score - 0.1 * abs(query - key)"), *norm("again", "encoder", "back")]
LINEAR = [
    attend("back", "encoder", key="decoder", kind="performer", key_valid="said", kernel="relu"), *norm("again", "encoder", "back"),
    attend("self_linear", "decoder", kind="performer", key_valid="said"), attend("causal_linear", "decoder", kind="performer", causal=True),
    *norm("own", "self_linear", "causal_linear"),
]
MODELS = {
    "two lengths": translator(),
    "lengths that are alike": translator(SOURCE, SOURCE, placed="sinusoid"),
    "the target first": translator(first="target"),
    "masks of both": translator(SOURCE, SOURCE, cross={"key_valid": "seen", "keep": "said[batch, query] or key < 3", "empty_row": "uniform"}),
    "both ways": translator(SOURCE, SOURCE, cross={"score": "score - 0.1 * abs(query - key)", "key_value_heads": 1}, tail=BACK, outputs={"back": "again"}),
    "a source of 16": translator("16", TARGET),
    "a target of 1": translator(SOURCE, "1", cross={"causal": False}),
    "slots of a memory": translator(SOURCE, SOURCE, encoder_kinds={"memory": 3}, cross={"memory": 6}),
    "linear attention in front": translator(SOURCE, SOURCE, encoder_kinds={"kind": "performer"}),
    # Of both sequences, each to itself and to the other: more blocks of keys than of queries, and fewer.
    "linear attention of both": translator(230, 150, cross={"kind": "performer"}, tail=LINEAR, outputs={"back": "again", "own": "own"}, placed="sinusoid"),
    "linear attention of lengths that are alike": translator(
        150, 150, cross={"kind": "performer", "key_value_heads": 1}, tail=LINEAR, outputs={"back": "again", "own": "own"}, placed="sinusoid"
    ),
}
WAYS = {"native": (), "bf16": ("--dtype=bf16",), "x86-64-v3": ("--march=x86-64-v3",), "x86-64-v3 f16": ("--march=x86-64-v3", "--dtype=f16")}
CASES = [(model, "native") for model in MODELS] + [
    ("two lengths", "bf16"), ("lengths that are alike", "bf16"), ("both ways", "bf16"), ("masks of both", "x86-64-v3"), ("both ways", "x86-64-v3 f16")
]
LENGTHS = [(1, 1), (13, 27), (40, 10), (33, 1), (1, 26)]
# Several blocks of keys of either, and one of the other.
LONG_LENGTHS = [(1, 99), (13, 27), (230, 10), (99, 1), (1, 150)]


def compiled(folder, model, name, *options, emit="lib"):
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model))
    words = [HOVA, "compile", folder / "model.json", f"--emit={emit}", "--quiet", *options, "-o", folder / name]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / (f"{name}.so" if emit == "lib" else name)


class Case:
    """A model with two ranges, and the programs of two lengths that judge it, compiled with `alone` besides: what adds in
    another order where there are few rows is left out."""

    def __init__(self, folder, model, options, alone=("--without=hova-form-sequence-kernels",)):
        self.folder, self.model, self.options, self.options_alone = folder, model, options, alone
        self.library = compiled(folder, model, "ranged", *options)
        self.parameters = model["parameters"]
        self.fixed = {}

    def lengths(self, pairs=LENGTHS):
        """Pairs of lengths, as far as the model takes them."""
        def cut(value, name):
            bound = self.parameters[name]
            return bound if isinstance(bound, int) else min(value, bound["max"])

        return [(cut(source, "src"), cut(target, "tgt")) for source, target in pairs]

    def draw(self, random, lengths):
        item = {}
        for name, given in self.model["inputs"].items():
            length = lengths[0] if given["shape"][1] == "src" else lengths[1]
            item[name] = random.random(length) < 0.7 if "dtype" in given else random.standard_normal((length, WIDTH), np.float32)
            if "dtype" in given:
                item[name][random.integers(length)] = True
        return item

    def alone(self, item):
        """What the program of the item's lengths gives."""
        lengths = len(item["source"]), len(item["target"])
        if lengths not in self.fixed:
            words = (f"--set=src={lengths[0]}", f"--set=tgt={lengths[1]}", "--set=items=1", *self.options_alone)
            library = compiled(self.folder, self.model, f"fixed{lengths[0]}_{lengths[1]}", *self.options, *words)
            self.fixed[lengths] = hova.load(library, threads=1)
        return {name: y[0] for name, y in self.fixed[lengths]({name: x[None] for name, x in item.items()}).items()}

    def check(self, results, items, *what):
        for number, item in enumerate(items):
            for name, expected in self.alone(item).items():
                found = results[name][number]
                assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), (name, number, *what)


@pytest.fixture(params=CASES, ids=lambda param: f"{param[0]}, {param[1]}")
def case(request, tmp_path):
    model, way = request.param
    return Case(tmp_path, MODELS[model], WAYS[way])


def test_items_are_what_they_are_alone(case):
    random = np.random.default_rng(7)
    lengths = case.lengths(LONG_LENGTHS if "own" in case.model["outputs"] else LENGTHS)
    for threads in (1, 3, 16):
        model = hova.load(case.library, threads=threads)
        for _ in range(4):
            items = [case.draw(random, lengths[random.integers(len(lengths))]) for _ in range(random.integers(1, ITEMS + 1))]
            results = model({name: [item[name] for item in items] for name in items[0]})
            case.check(results, items, threads, [(len(item["source"]), len(item["target"])) for item in items])
        # As arrays [items, tokens], of which one run after the other has more items, or longer ones of one sequence.
        for pair, count in ((1, 2), (2, 5), (3, 5), (0, 1)):
            items = [case.draw(random, lengths[pair]) for _ in range(count)]
            results = model({name: np.stack([item[name] for item in items]) for name in items[0]})
            case.check(results, items, threads, lengths[pair], count)


@pytest.mark.parametrize("model", ["two lengths", "lengths that are alike"])
@pytest.mark.parametrize("way", ["native", "bf16"])
def test_items_beside_no_numbers_are_what_they_are(model, way, tmp_path):
    case = Case(tmp_path, MODELS[model], WAYS[way])
    random = np.random.default_rng(8)
    loaded = hova.load(case.library, threads=2)
    items = [case.draw(random, lengths) for lengths in ((13, 27), (40, 10), (1, 26))]
    wrong = case.draw(random, (33, 1))
    for name in ("source", "target"):
        wrong[name][:] = np.nan
    for place in range(4):
        together = items[:place] + [wrong] + items[place:]
        results = loaded({name: [item[name] for item in together] for name in wrong})
        assert np.isnan(results["words"][place]).all()
        case.check({name: results[name][:place] + results[name][place + 1 :] if isinstance(results[name], list) else np.delete(results[name], place, 0) for name in results}, items, place)


# Models of examples/models with two lengths, which have masks of padding, and slots of a memory: what is changed of them, their
# lengths, and an output.
EXAMPLES = {
    "transformer_base": ({"depth": 1}, ("src_len", "tgt_len"), "logits"),
    "m2": ({"depth": 2, "slots": 5, "feature_width": 40}, ("regions", "length"), "log_probabilities"),
}


def check_example(folder, name, options, judge):
    """Runs of a program for every size have the bits of the program of theirs, compiled with `judge` besides."""
    changed, lengths, output = EXAMPLES[name]
    settings = settings_of(name, {"width": 48, "heads": 3, "vocab": 50, **changed})

    def load(*sizes, more=()):
        words = [f"--set={length}={size}" for length, size in zip((*lengths, "batch"), sizes, strict=True)]
        path = folder / f"m{'_'.join(map(str, sizes))}.so"
        done = run(HOVA, "compile", EXAMPLE_MODELS / f"{name}.json", *settings, *words, "--init=1", "--emit=lib", "-q", *options, *more, "-o", path)
        assert done.returncode == 0, done.stderr
        return hova.load(path)

    program = load("1..40", "1..40", "1..3")
    random = np.random.default_rng(6)
    for sizes in ((40, 9, 2), (1, 40, 3), (17, 13, 1)):
        fixed = load(*sizes, more=judge)
        given = {tensor.name: draw(random, tensor) for tensor in fixed.inputs}
        found, expected = program(given)[output], fixed(given)[output]
        assert found.shape == expected.shape and found.tobytes() == expected.tobytes(), sizes


@pytest.mark.parametrize("way", ["native", "bf16"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_the_bits_of_its_own_program(name, way, tmp_path):
    check_example(tmp_path, name, WAYS[way], ("--without=hova-form-sequence-kernels",))


def run(program, *words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False, cwd=program.parent)


def test_programs_take_files_of_two_lengths(tmp_path):
    """Sizes are those of the files, of each sequence the first one that has it, or what --set says."""
    case = Case(tmp_path, MODELS["two lengths"], ())
    program = compiled(tmp_path, case.model, "program", emit="exe")
    item = case.draw(np.random.default_rng(3), (13, 27))
    for name, value in item.items():
        np.save(tmp_path / f"{name}.npy", value[None])
    files = [f"--input={name}={name}.npy" for name in item]
    done = run(program, *files, "--output-dir", "out")
    assert done.returncode == 0, done.stderr
    case.check({name: np.load(tmp_path / f"out/{name}.npy") for name in case.alone(item)}, [item])
    by_number = run(program, "--set=src=13", "--set=tgt=27", "--set=items=1", "--random-inputs=1")
    assert by_number.returncode == 0, by_number.stderr
    half = run(program, *files[:1], "--set=tgt=27", "--random-inputs=1")
    assert half.returncode == 0, half.stderr
    told = run(program, "--describe").stdout
    assert "[1 to 5, 1 to 40, 48]" in told and "[1 to 5, 1 to 27, 48]" in told
    assert json.loads(run(program, "--describe", "--format=json").stdout)["ranges"] == {"items": [1, 5], "src": [1, 40], "tgt": [1, 27]}
    assert "--set src=40 --set tgt=27" in run(program, "--help").stdout


def test_wrong_sizes_of_programs_are_refused(tmp_path):
    case = Case(tmp_path, MODELS["two lengths"], ())
    program = compiled(tmp_path, case.model, "program", emit="exe")
    item = case.draw(np.random.default_rng(3), (13, 27))
    for name, value in item.items():
        np.save(tmp_path / f"{name}.npy", value[None])
    np.save(tmp_path / "long.npy", np.zeros((1, 28, WIDTH), np.float32))
    np.save(tmp_path / "long_mask.npy", np.zeros((1, 28), bool))
    np.save(tmp_path / "short.npy", np.zeros((1, 26), bool))
    np.save(tmp_path / "two.npy", np.zeros((2, 27, WIDTH), np.float32))
    files = {name: f"{name}.npy" for name in item}
    for changed, words, message in (
        ({"target": "long.npy", "said": "long_mask.npy"}, (), "expects 1 to 27 tokens in the second sequence of an item ('tgt'), got 28"),
        ({"said": "short.npy"}, (), "input 'target' expects f32[1, 26, 48], got f32[1, 27, 48] in 'target.npy'"),
        # The shape of the other sequence is not one of this.
        ({"target": "source.npy"}, (), "input 'target' expects f32[1, 27, 48], got f32[1, 13, 48] in 'source.npy'"),
        ({"target": "two.npy"}, (), "input 'target' expects f32[1, 27, 48], got f32[2, 27, 48] in 'two.npy'"),
        ({}, ("--set=tgt=26",), "--set tgt=26, but an input has 27"),
        ({}, ("--set=length=26",), "--set expects NAME=VALUE with NAME one of: items, src, tgt, got 'length=26'"),
    ):
        done = run(program, *(f"--input={name}={path}" for name, path in {**files, **changed}.items()), *words, "--output-dir", "out")
        assert done.returncode in (1, 2) and message in done.stderr, (message, done.stderr)
        assert not (tmp_path / "out").exists()
    missing = run(program, "--input=source=source.npy", "--random-inputs=1")
    assert missing.returncode == 2 and "the size 'tgt' is not given" in missing.stderr, missing.stderr


def test_wrong_sizes_in_python_are_refused(tmp_path):
    case = Case(tmp_path, MODELS["two lengths"], ())
    model = hova.load(case.library, threads=1)
    assert model.ranges == {"items": (1, 5), "tokens": (1, 40), "other_tokens": (1, 27)}
    assert repr(model).count("float32[1 to 5, 1 to 27, 48]") == 2
    random = np.random.default_rng(2)
    items = [case.draw(random, lengths) for lengths in ((13, 27), (40, 10))]
    good = {name: [item[name] for item in items] for name in items[0]}
    out = {name: np.full_like(value, 7) if isinstance(value, np.ndarray) else np.full((sum(map(len, value)), WIDTH), 7, np.float32) for name, value in model(good).items()}
    padded = {name: np.stack([case.draw(random, (13, 27))[name]] * 2) for name in items[0]}
    for given, message in (
        ({**good, "target": good["source"]}, "input 'target' expects items of [27, 10] tokens, as the first input has, got [13, 40]"),
        ({**good, "target": good["source"], "said": good["seen"]}, "tokens in the second sequence of an item ('tgt'), got 40"),
        ({**good, "said": padded["said"]}, "input 'said' is one array of items, and an input before it is a list of items"),
        ({**padded, "said": good["said"]}, "input 'said' is a list of items, and an input before it is one array of items"),
        ({**good, "target": good["target"][:1], "said": good["said"][:1]}, "input 'said' expects 2 items, as the first input has, got 1"),
    ):
        with pytest.raises(hova.Error, match=".*") as raised:
            model(given, out=out)
        assert message in str(raised.value), (message, str(raised.value))
        assert all((value == 7).all() for value in out.values())


REFUSED = {
    "sums of both": ([{"name": "y", "op": "add", "inputs": ["source", "target"]}], "add", "it reads other rows than it computes"),
    "values of another range": ([{"name": "y", "op": "attention", "query": "target", "key": "source", "value": "target", "heads": 3}], "attention", "keys and values are not of one range"),
    "a causal linear attention to the other": (
        [attend("y", "target", key="source", kind="performer", causal=True)], "multi_head_attention", "it is causal, and its queries are not of the range of its keys"
    ),
    "a linear attention's mask of the queries": (
        [attend("y", "target", key="source", kind="performer", key_valid="said")], "multi_head_attention", "keys, values and their mask are not of one range of tokens"
    ),
    "a mask of the queries over keys": ([attend("y", "target", key="source", key_valid="said")], "multi_head_attention", "a score reads an input at another place"),
    "a pool by the other's mask": ([{"name": "y", "op": "pool", "input": "source", "kind": "mean", "valid": "said"}], "pool", "it does not pool tokens of a range"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_mixes_both_ranges_is_refused(name, tmp_path):
    """Where both have one largest size, shapes alone would let it pass."""
    layers, kind, why = REFUSED[name]
    model = {**translator(SOURCE, SOURCE), "layers": layers, "outputs": {"y": "y"}}
    (tmp_path / "m.json").write_text(json.dumps(model))
    refused = run(HOVA, "check", tmp_path / "m.json")
    assert refused.returncode == 1 and f'operator "{kind}" cannot be for a range of sizes: {why}' in refused.stderr, refused.stderr
    assert run(HOVA, "check", tmp_path / "m.json", "--set=src=9", "--set=tgt=9", "--set=items=2").returncode == 0


@pytest.mark.parametrize("way", ["native", "bf16"])
def test_verify_draws_both_lengths(way, tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(MODELS["lengths that are alike"]))
    done = run(HOVA, "verify", tmp_path / "m.json", "--cases=1", *WAYS[way])
    assert done.returncode == 0 and "src=1, tgt=1" in done.stdout, done.stdout + done.stderr
