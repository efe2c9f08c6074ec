# ===- bombs.py - Descriptions that ask for far more than they say -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Small files that expand, and large ones that are full, for every list of the language.

Run as a program, it writes each into a folder, runs `hova check` on it and prints what
that took: seconds of processor time, and memory beyond what `hova --version` takes.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

MOST_BYTES = 16 << 20
SCALE = '{"name": "%s", "op": "scale", "input": "%s", "by": 1}'
IDENTITY = '"keep": {"inputs": ["a"], "layers": [' + SCALE % ("b", "a") + '], "output": "b"}'
LINEAR = '"op": "linear", "input": "%s", "width": 1'


def model(layers, out="y", blocks="", inputs='"x": {"shape": [1, 1]}', more=""):
    return (
        f'{{"hova": 1, "name": "m", {more}"inputs": {{{inputs}}}, "blocks": {{{blocks}}}, '
        f'"layers": [{layers}], "outputs": {{"o": "{out}"}}}}'
    )


def many(pattern, count, between=","):
    """`pattern` with %d for 0, 1, ..., as often as it says and a file may hold."""
    parts, size = [], 0
    for i in range(count):
        parts.append(pattern.replace("%d", str(i)))
        size += len(parts[-1]) + len(between)
        if size > MOST_BYTES - 10000:
            break
    return between.join(parts)


def nested(depth, width):
    """Blocks that each use the one below `width` times."""
    text = IDENTITY.replace("keep", "b0")
    for level in range(1, depth):
        layers = [
            f'{{"name": "l{i}", "block": "b{level - 1}", "input": "{"a" if i == 0 else f"l{i - 1}"}"}}'
            for i in range(width)
        ]
        text += f', "b{level}": {{"inputs": ["a"], "layers": [{", ".join(layers)}], "output": "l{width - 1}"}}'
    return model(f'{{"name": "y", "block": "b{depth - 1}", "input": "x"}}', blocks=text)


def listed():
    """A list that is passed on by its name, through blocks that repeat."""
    return model(
        '{"name": "s", "op": "scale", "input": "x", "by": 1, "repeat": 2000},'
        '{"name": "y", "block": "outer", "repeat": 2000, "inputs": {"a": "x", "l": "s[*]"}}',
        blocks='"inner": {"inputs": ["a", "l"], "layers": [{"name": "b", "op": "scale", "input": "a", "by": 1}], "output": "b"},'
        '"outer": {"inputs": ["a", "l"], "layers": [{"name": "c", "block": "inner", "repeat": 2000, '
        '"inputs": {"a": "a", "l": "l"}}], "output": "c"}',
    )


def operands(op, repeat=3000, count=1000):
    """An operator that reads one value very often, very often."""
    return model(
        '{"name": "y", "block": "b", "input": "x", "repeat": %d}' % repeat,
        blocks='"b": {"inputs": ["a"], "layers": [{"name": "s", "op": "%s", "inputs": [%s]},'
        % (op, ",".join(['"a"'] * count))
        + SCALE % ("t", "a")
        + '], "output": "t"}',
    )


def block_lists(inputs=1, arguments=1, outputs=1, layers=1, repeat=200000):
    """A block with many of something, repeated."""
    names = ", ".join(f'"i{i}"' for i in range(inputs))
    given = ", ".join(f'"i{i}": "x"' for i in range(inputs))
    defaults = ", ".join(f'"p{i}": {i}' for i in range(arguments))
    results = ", ".join(f'"o{i}": "l0"' for i in range(outputs))
    body = ", ".join(SCALE % (f"l{i}", "i0") for i in range(layers))
    return model(
        f'{{"name": "y", "block": "b", "inputs": {{{given}}}, "repeat": {repeat}}}',
        blocks=f'"b": {{"inputs": [{names}], "arguments": {{{defaults}}}, "layers": [{body}], "outputs": {{{results}}}}}',
    )


def long_names(length, depth, repeat):
    """Paths that grow by a long name with every block."""
    name = "n" * length
    text = f'"b0": {{"inputs": ["a"], "layers": [{SCALE % (name, "a")}], "output": "{name}"}}'
    for level in range(1, depth):
        text += f', "b{level}": {{"inputs": ["a"], "layers": [{{"name": "{name}", "block": "b{level - 1}", "input": "a"}}], "output": "{name}"}}'
    return model(
        f'{{"name": "y", "block": "b{depth - 1}", "input": "x", "repeat": {repeat}}}',
        blocks=text,
    )


def shared(count):
    """Weights that are looked up below long paths."""
    path = ".".join(["a"] * 2000)
    return model(
        '{"name": "e", ' + LINEAR % "x" + '}, {"name": "y", "block": "b", "input": "x", "repeat": %d}' % count,
        blocks='"b": {"inputs": ["a"], "layers": [{"name": "l", ' + LINEAR % "a" + f', "weight": "{path}", "if": "index < 0"}}], "output": "l"}}',
    )


def expressions(terms):
    """Long expressions, evaluated often."""
    text = "+".join(["index"] * terms)
    return model(
        '{"name": "y", "op": "scale", "input": "x", "by": "%s", "repeat": 200000}' % text
    )


def constants(shape, value, before=""):
    """One constant that nothing reads."""
    return model(before + '{"name": "c", "op": "constant", "shape": %s, "value": "%s"},' % (shape, value) + SCALE % ("y", "x"))


def sources(count):
    """Checkpoint sources."""
    entries = many('"s%d": {"set": {"n": %d}, "rules": []}', count)
    return model(SCALE % ("y", "x"), more=f'"parameters": {{"n": 1}}, "checkpoints": {{{entries}}}, ')


def wide_inputs(count):
    return many('"i%d": {"shape": [1]}', count)


BOMBS = {
    # What expands.
    "repetitions": lambda: model('{"name": "y", "op": "scale", "input": "x", "by": 1, "repeat": 200000}'),
    "repetitions of weights": lambda: model('{"name": "y", "op": "feed_forward", "input": "x", "hidden": 1, "repeat": 200000}'),
    "repetitions of attention": lambda: model(
        '{"name": "y", "op": "multi_head_attention", "input": "x", "heads": 1, "horizontal": true, "vertical": true, '
        '"kind": "additive", "repeat": 200000}',
        inputs='"x": {"shape": [1, 1, 4]}',
    ),
    "nested blocks": lambda: nested(40, 2),
    "a list passed by name": listed,
    "ranges of ranges": lambda: model('{"name": "s", "block": "b", "input": "x", "repeat": 2000},'
        '{"name": "y", "op": "add", "inputs": ["s[*].c[*]"]}',
        blocks='"b": {"inputs": ["a"], "layers": [{"name": "c", "op": "scale", "input": "a", "by": 1, "repeat": 2000}], "output": "c"}'),
    "a range of all before": lambda: model('{"name": "y", "block": "b", "repeat": 200000, "inputs": {"a": "x", "l": ["x", "y[*]"]}}',
        blocks='"b": {"inputs": ["a", "l"], "layers": [' + SCALE % ("b", "a") + '], "output": "b"}'),
    "operands of add": lambda: operands("add"),
    "a long sum": lambda: operands("add", repeat=99999, count=30),
    "operands of concat": lambda: operands("concat"),
    "block inputs": lambda: block_lists(inputs=1000),
    "block arguments": lambda: block_lists(arguments=1000),
    "block outputs": lambda: block_lists(outputs=1000),
    "arguments and layers": lambda: block_lists(arguments=1000, layers=1000),
    "inputs and layers": lambda: block_lists(inputs=1000, layers=1000),
    "layers left out": lambda: model('{"name": "y", "block": "b", "input": "x", "repeat": 200000}',
        blocks='"b": {"inputs": ["a"], "layers": [' + many('{"name": "l%d", "op": "scale", "input": "a", "by": 1, "if": false}', 2000) + '], "output": "l0"}'),
    "repetitions of nothing": lambda: model('{"name": "y", "block": "b", "input": "x", "repeat": 200000}',
        blocks='"b": {"inputs": ["a"], "layers": [' + many('{"name": "l%d", "op": "scale", "input": "a", "by": 1, "repeat": 0}', 2000) + '], "output": "l0"}'),
    "long names": lambda: long_names(4000, 60, 200000),
    "names of the longest kind": lambda: long_names(255, 60, 200000),
    "long paths of weights": lambda: shared(200000),
    "long expressions": lambda: expressions(680),
    "expressions left out": lambda: model('{"name": "y", "block": "b", "input": "x", "repeat": 200000}',
        blocks='"b": {"inputs": ["a"], "layers": [' + many('{"name": "l%d", "op": "scale", "input": "a", "by": 1, "if": "' + "+".join(["0"] * 2000) + ' > 1"}', 1000) + '], "output": "l0"}'),
    # Of constants, which are computed while they are checked.
    "elements of constants": lambda: constants("[2048, 2048]", "if(row < column, 'a' == 'b', true) and false or 1 + row * column"),
    "elements that are computed": lambda: constants("[1000, 1000]", "sin(row) ** cos(column) + tanh(log(1 + row) * exp(-column / 1000)) ** 2.5"),
    "sums of sums": lambda: constants("[1]", "sum(i, 300, sum(j, 300, sum(k, 60, sin(i) * cos(j + k))))"),
    "sums of long text": lambda: constants("[1]", "sum(i, 400000, if('" + "a" * 4000 + "' == 'b', 1, 0))"),
    "reads of constants": lambda: constants("[1000, 1500]", "first[row + column]", '{"name": "first", "op": "constant", "shape": [2500], "value": "index0"},'),
    "many constants": lambda: model(many('{"name": "l%d", "op": "constant", "shape": [40, 1], "value": "%d + row"}', 30000) + "," + SCALE % ("y", "x")),
    "repeated constants": lambda: model('{"name": "y", "block": "b", "input": "x", "repeat": 200000}',
        blocks='"b": {"inputs": ["a"], "layers": [{"name": "c", "op": "constant", "shape": [1, 1], "value": "' + "+".join(["index + row"] * 200)
        + '"}, {"name": "d", "op": "add", "inputs": ["a", "c"]}], "output": "d"}'),
    "checkpoint sources": lambda: sources(300000),
    # As full as the limits allow.
    "1,000 inputs and outputs": lambda: model(SCALE % ("y", "i0"), inputs=wide_inputs(1000))[:-1].replace('"o": "y"', many('"o%d": "y"', 1000)) + "}",
    "10,000 parameters": lambda: model(SCALE % ("y", "x"), more='"parameters": {"p": 1,' + many('"p%d": "p+1"', 9900) + "}, "),
    "10,000 parameters and blocks": lambda: model(SCALE % ("y", "x"), more='"parameters": {' + many('"p%d": %d', 9900) + "}, ",
        blocks=many(IDENTITY.replace("keep", "b%d"), 9900)),
    "60,000 layers": lambda: model(SCALE % ("l", "x") + "," + many(SCALE % ("k%d", "l"), 60000), out="l"),
    "60,000 layers that add": lambda: model(many('{"name":"l%d","op":"add","inputs":["x"]}', 60000), out="l0"),
    "50,000 uses of blocks": lambda: model(many('{"name":"l%d","block":"b9","input":"x"}', 50000), out="l0",
        blocks=many(IDENTITY.replace("keep", "b%d"), 9900)),
    "50,000 wrong uses of blocks": lambda: model(many('{"name":"l%d","block":"c9","input":"x"}', 50000), out="l0",
        blocks=many(IDENTITY.replace("keep", "b%d"), 9900)),
    "30,000 linears with initialisers": lambda: model(many('{"name":"l%d","op":"linear","input":"x","width":1,"init":{"weight":{"kind":"ones"}}}', 30000), out="l0"),
    "60,000 unknown operators": lambda: model(many('{"name":"l%d","op":"multi_head_atention","input":"x"}', 60000), out="l0"),
    "60,000 unknown values": lambda: model(many('{"name": "l%d", "op": "scale", "input": "zz", "by": 1}', 60000), out="l0"),
    "60,000 equal names": lambda: model(many('{"name":"l","op":"add","inputs":["x"]}', 60000), out="l"),
    "400,000 operands written down": lambda: model('{"name": "y", "op": "add", "inputs": [' + many('"x"', 400000) + "]}"),
    "400,000 settings of a block use": lambda: model('{"name":"y","block":"keep","input":"x","arguments":{' + many('"a%d":1', 400000) + "}}", blocks=IDENTITY),
    "long texts of expressions": lambda: model(many('{"name": "l%d", "op": "scale", "input": "x", "by": "' + "+".join(["1"] * 2000) + '"}', 60), out="l0"),
    "accessors of references": lambda: model(many('{"name": "l%d", "op": "scale", "input": "x' + "[1]" * 1300 + '", "by": 1}', 90), out="l0"),
    "480,000 members": lambda: model(SCALE % ("y", "x"), more='"metadata": {' + many('"k%d": 0', 480000) + "}, "),
    "240,000 objects of one": lambda: model(SCALE % ("y", "x"), more='"metadata": [' + many('{"":0}', 240000) + "], "),
    "480,000 repeated keys": lambda: model(SCALE % ("y", "x"))[:-1] + "," + many('"k": 0', 480000) + "}",
    "480,000 unknown keys": lambda: model(SCALE % ("y", "x"))[:-1] + "," + many('"k%d": 0', 480000) + "}",
    "10,000 rules of 10 names": lambda: model(SCALE % ("y", "x"), more='"checkpoints": {"s": {"rules": ['
        + many('{"to": ["a%d","b","c","d","e","f","g","h","i","j"], "from": "b", "apply": ["transpose"]}', 9900) + "]}}, "),
    "16 sources": lambda: model(SCALE % ("y", "x"), more='"parameters": {' + many('"p%d": %d', 9900) + '}, "checkpoints": {'
        + many('"s%d": {"set": {' + many('"p@": 1', 9900).replace("@", "%d") + '}, "rules": []}', 16) + "}, "),
    "rows that name parameters": lambda: model(SCALE % ("y", "x"), more='"parameters": {'
        + many('"p%d": {"default": "a0", "values": [' + many('"a@"', 1000).replace("@", "%d") + "]}", 16) + '}, "published": ['
        + many('{"source": "s%d", "rows": [' + many('{"row": "r%d", "macs": "1G", "when": {' + ", ".join(f'"p{i}": "a0"' for i in range(16)) + "}}", 32) + "]}", 8) + "], "),
    # What is large.
    "inputs": lambda: model(SCALE % ("y", "i0"), inputs=wide_inputs(10000)),
    "more inputs": lambda: model(SCALE % ("y", "i0"), inputs=wide_inputs(250000)),
    "outputs": lambda: model(SCALE % ("y", "x"))[:-1].replace('"o": "y"', many('"o%d": "y"', 900000)) + "}",
    "parameters": lambda: model(SCALE % ("y", "x"), more='"parameters": {' + many('"p%d": %d', 900000) + "}, "),
    "parameters and blocks": lambda: model(SCALE % ("y", "x"), more='"parameters": {' + many('"p%d": %d', 10000) + "}, ",
        blocks=many(IDENTITY.replace("keep", "b%d"), 60000)),
    "blocks": lambda: model(SCALE % ("y", "x"), blocks=many(IDENTITY.replace("keep", "b%d"), 120000)),
    "layers": lambda: model('{"name": "l0", "op": "scale", "input": "x", "by": 1},' + many(SCALE % ("k%d", "l0"), 250000), out="l0"),
    "layers of few words": lambda: model(many('{"name":"l%d","op":"add","inputs":["x"]}', 250000), out="l0"),
    "layers with mistakes": lambda: model(many('{"name":"l%d","op":"ad","inputs":["x"]}', 250000), out="l0"),
    "layers of one name": lambda: model(many('{"name":"l","op":"add","inputs":["x"]}', 250000), out="l"),
    "empty layers": lambda: model(many("{}", 990000)),
    "unknown keys": lambda: model(SCALE % ("y", "x"))[:-1] + "," + many('"k%d": 0', 900000) + "}",
    "repeated keys": lambda: model(SCALE % ("y", "x"))[:-1] + "," + many('"k": 0', 900000) + "}",
    "members": lambda: model(SCALE % ("y", "x"), more='"metadata": {' + many('"k%d": 0', 990000) + "}, "),
    "objects": lambda: model(SCALE % ("y", "x"), more='"metadata": [' + many("{}", 990000) + "], "),
    "objects of one": lambda: model(SCALE % ("y", "x"), more='"metadata": [' + many('{"":0}', 490000) + "], "),
    "lists of one": lambda: model(SCALE % ("y", "x"), more='"metadata": [' + many("[0]", 490000) + "], "),
    "long strings": lambda: model(SCALE % ("y", "x"), more='"metadata": [' + many('"' + "s" * 4000 + '"', 4000) + "], "),
    "escapes": lambda: model(SCALE % ("y", "x"), more='"metadata": ["' + "\\u0041" * 2000 + '"' + ',"\\u0041"' * 900000 + "], "),
    "newlines": lambda: "\n" * (MOST_BYTES - 1000) + model(SCALE % ("y", "x")),
    "nothing but newlines": lambda: "\n" * MOST_BYTES,
    "one byte too many": lambda: "\n" * (MOST_BYTES + 1),
    "depth": lambda: "[" * 1000000,
    "operands written down": lambda: model('{"name": "y", "op": "add", "inputs": [' + many('"x"', 900000) + "]}"),
    "expressions": lambda: model(many('{"name": "l%d", "op": "scale", "input": "x", "by": "1+1+1+1+1"}', 250000), out="l0"),
    "operators": lambda: model(many('{"name": "l%d", "op": "scale", "input": "x", "by": "' + "+".join(["1"] * 2000) + '"}', 250000), out="l0"),
    "accessors": lambda: model(many('{"name": "l%d", "op": "scale", "input": "x' + "[1]" * 1300 + '", "by": 1}', 250000), out="l0"),
    "unknown values": lambda: model(many('{"name": "l%d", "op": "scale", "input": "zz", "by": 1}', 250000), out="l0"),
    "values of a parameter": lambda: model(SCALE % ("y", "x"), more='"parameters": {"p": {"default": 0, "values": [' + many("%d", 900000) + "]}}, "),
    "parameters of values": lambda: model(SCALE % ("y", "x"), more='"parameters": {"p": {"default": "a0", "values": [' + many('"a%d"', 900000) + "]}}, "),
    "rules": lambda: model(SCALE % ("y", "x"), more='"checkpoints": {"s": {"rules": [' + many('{"to": "a%d", "from": "b"}', 300000) + "]}}, "),
    "steps": lambda: model(SCALE % ("y", "x"), more='"checkpoints": {"s": {"rules": [{"to": "a", "from": "b", "apply": [' + many('"transpose"', 900000) + "]}]}}, "),
    "patterns": lambda: model(SCALE % ("y", "x"), more='"checkpoints": {"s": {"rules": [{"to": [' + many('"a%d"', 900000) + '], "from": "b"}]}}, '),
    "published tables": lambda: model(SCALE % ("y", "x"), more='"published": [' + many('{"source": "s%d", "rows": []}', 300000) + "], "),
    "published rows": lambda: model(SCALE % ("y", "x"), more='"published": [{"source": "s", "rows": [' + many('{"row": "r%d", "macs": "1G"}', 250000) + "]}], "),
    "initialisers": lambda: model(many('{"name":"l%d","op":"linear","input":"x","width":1,"init":{"weight":{"kind":"ones"}}}', 120000), out="l0"),
    "block uses": lambda: model(many('{"name":"l%d","block":"keep","input":"x"}', 200000), out="l0", blocks=IDENTITY),
    "settings of a block use": lambda: model('{"name":"y","block":"keep","input":"x","arguments":{' + many('"a%d":1', 900000) + "}}", blocks=IDENTITY),
    "words that are nearly right": lambda: model(many('{"name":"l%d","op":"multi_head_atention","input":"x"}', 250000), out="l0"),
}

# The dearest of each kind.
DEAREST = [
    "repetitions",
    "a list passed by name",
    "ranges of ranges",
    "repetitions of nothing",
    "names of the longest kind",
    "60,000 layers",
    "elements that are computed",
    "50,000 wrong uses of blocks",
    "400,000 operands written down",
    "240,000 objects of one",
    "newlines",
]

# A bomb that goes off is stopped here.
MOST_MEMORY = 8 << 30


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def measure(command, preexec_fn=limit):
    """Status, processor seconds, most memory in MiB and the last line said."""
    done = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=preexec_fn
    )
    said = done.stdout.read()
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    lines = [l for l in said.decode(errors="replace").splitlines() if "error" in l.lower() or l.endswith("ok")]
    return done.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, (lines or [""])[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hova", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    _, base_seconds, base, _ = measure([given.hova, "--version"])
    print(f"hova --version: {base_seconds:.2f} s, {base:.0f} MiB")
    for name, make in BOMBS.items():
        if given.only not in name:
            continue
        path = given.folder / (name.replace(" ", "_") + ".json")
        path.write_text(make())
        status, seconds, memory, said = measure([given.hova, "check", path])
        print(f"| {name} | {path.stat().st_size:,} | {status} | {seconds:.2f} | {memory - base:.0f} | {said[:110]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
