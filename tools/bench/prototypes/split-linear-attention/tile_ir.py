# ===- tile_ir.py - A text builder for programs of phase `tile` ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Kernel functions line by line, and the module that launches them."""

import json

def matrix(rows, columns):
    return f"memref<{rows}x{columns}xf32>"


def vector(*shape):
    return f"vector<{'x'.join(map(str, shape))}xf32>"


class Emitter:
    """The body of one kernel function, line by line."""

    def __init__(self, name, buffers):
        self.name, self.buffers = name, buffers  # {value: type}
        self.lines, self.constants, self.count, self.scratch = [], {}, 0, 0

    def op(self, text):
        self.count += 1
        self.lines.append(f"%{self.count} = {text}")
        return f"%{self.count}"

    def do(self, text):
        self.lines.append(text)

    def constant(self, value, kind="index"):
        literal = f"dense<{value}>" if "<" in kind else value
        key = f"arith.constant {literal} : {kind}"
        return self.constants.setdefault(key, f"%c{len(self.constants)}")

    def index(self, value):
        return self.constant(value) if isinstance(value, int) else value

    def splat(self, value, *shape):
        return self.constant(f"{value:.9e}", vector(*shape))

    def add(self, left, right):
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if right == 0:
            return left
        return self.op(f"arith.addi {self.index(left)}, {self.index(right)} : index")

    def multiply(self, left, right):
        return self.op(f"arith.muli {self.index(left)}, {self.index(right)} : index")

    def allocate(self, rows, columns):
        """A matrix in the scratch memory of the thread."""
        at, self.scratch = self.scratch, self.scratch + -(-rows * columns // 16) * 64
        return self.op(
            f"memref.view %scratch[{self.index(at)}][] : memref<SCRATCHxi8> "
            f"to {matrix(rows, columns)}"
        ), matrix(rows, columns)

    def loop(self, start, end, step, body, carried=()):
        """`body(index, values)` returns the next values; `carried` are the first ones."""
        self.count += 1
        name = f"%l{self.count}"
        values = [f"%a{self.count}_{i}" for i in range(len(carried))]
        types = [kind for _, kind in carried]
        head = f"scf.for {name} = {self.index(start)} to {self.index(end)} step {self.index(step)}"
        if carried:
            pairs = (f"{v} = {first}" for v, (first, _) in zip(values, carried))
            head = (
                f"%r{self.count}:{len(carried)} = {head} iter_args({', '.join(pairs)})"
            )
            head += f" -> ({', '.join(types)})"
        result = self.count
        self.do(head + " {")
        following = body(name, values)
        if carried:
            self.do(f"scf.yield {', '.join(following)} : {', '.join(types)}")
        self.do("}")
        return [f"%r{result}#{i}" for i in range(len(carried))]

    def load(self, buffer, row, column, kind):
        value, memref = buffer
        at = f"{value}[{self.index(row)}, {self.index(column)}]"
        if kind.count("x") == 2:
            return self.op(f"hova_cpu.tile_load {at} : {memref} -> {kind}")
        if kind == "f32":
            return self.op(f"memref.load {at} : {memref}")
        return self.op(f"vector.load {at} : {memref}, {kind}")

    def store(self, stored, buffer, row, column, kind):
        value, memref = buffer
        at = f"{stored}, {value}[{self.index(row)}, {self.index(column)}]"
        if kind.count("x") == 2:
            self.do(f"hova_cpu.tile_store {at} : {kind}, {memref}")
        else:
            self.do(f"vector.store {at} : {memref}, {kind}")

    def arith(self, name, left, right, kind):
        return self.op(f"arith.{name} {left}, {right} : {kind}")

    def maximum(self, left, right, kind):
        return self.op(f"arith.maxnumf {left}, {right} fastmath<nnan,nsz> : {kind}")

    def fma(self, a, b, c, kind):
        name = "vector" if kind.count("x") == 1 else "math"
        return self.op(f"{name}.fma {a}, {b}, {c} : {kind}")

    def broadcast(self, value, source, kind):
        return self.op(f"vector.broadcast {value} : {source} to {kind}")

    def largest(self, value, kind):
        return self.op(
            f"vector.reduction <maxnumf>, {value} fastmath<nnan,nsz> : {kind} into f32"
        )

    def text(self):
        arguments = [f"{v}: {t} {{llvm.noalias}}" for v, t in self.buffers.items()]
        arguments += [
            "%scratch: memref<SCRATCHxi8> {llvm.noalias}",
            "%begin: index",
            "%end: index",
        ]
        head = f"func.func private @{self.name}({', '.join(arguments)}) {{"
        constants = [f"{name} = {text}" for text, name in self.constants.items()]
        body = "\n  ".join([head, *constants, *self.lines, "return"])
        return (body + "\n}").replace(
            "memref<SCRATCHxi8>", f"memref<{max(self.scratch, 64)}xi8>"
        )


def stand_in(name):
    """A description: hova takes no module for one of its own dumps without."""
    layer = {"name": "y", "op": "activation", "input": "x", "kind": "relu"}
    return json.dumps(
        {
            "hova": 1,
            "name": name,
            "inputs": {"x": {"shape": [1, 1]}},
            "layers": [layer],
            "outputs": {"out": "y"},
        }
    )


def program(name, inputs, outputs, kernels):
    """The module: `main` with its launches, then the kernels (emitter, units, flops)."""
    offset, arena, launches = 0, {}, []
    for e, units, flops in kernels:
        for value, kind in e.buffers.items():
            if value not in inputs | outputs | arena:
                rows, columns = kind[len("memref<") : -len("xf32>")].split("x")
                arena[value] = (
                    f"{value} = hova.arena_buffer {{offset = {offset} : i64}} : {kind}"
                )
                offset += -(-int(rows) * int(columns) // 16) * 64
        launches.append(
            f'hova.launch @{e.name}({", ".join(e.buffers)}) "{e.name}" {{flops = {flops} '
            f": i64, shape = #hova_cpu.launch<units = {units}, grain = 1>}} "
            f": ({', '.join(e.buffers.values())})"
        )
    arguments = ", ".join(
        f'{value}: {kind} {{hova.name = "{value[1:]}"}}'
        for value, kind in (inputs | outputs).items()
    )
    types = ", ".join(kind.replace("memref", "tensor") for kind in (inputs | outputs).values())
    lines = [
        f'module attributes {{hova.model = "{name}", hova.phase = "tile"}} {{',
        f"func.func @main({arguments}) attributes {{hova.arena_bytes = {max(offset, 64)} : i64, "
        f"hova.image_bytes = 0 : i64, hova.inputs = {len(inputs)} : i64, "
        f"hova.types = [{types}], hova.values = []}} {{",
        *("  " + text for text in [*arena.values(), *launches, "return"]),
        "}",
        *(e.text() for e, _, _ in kernels),
        "}",
        f"{{-# external_resources: {{hova: {{description: {json.dumps(stand_in(name))}, "
        'file: "model.json"}} #-}',
    ]
    return "\n".join(lines)
