# ===- test_layouts.py - Fragments and swizzles against CuTe's ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Inputs/cute-layouts.txt says what CuTe's layouts do of each lane (cute_layouts.py prints it).
The emulation, the interpreter and the code that the compiler emits must say the same, each for
itself: three that shared a mistake would agree with each other."""

from pathlib import Path

import numpy as np
import ptx
import ptx_numbers
import pytest
from instructions import EXECUTORS, LDMATRIX, MMA, kernel
from kernels import Case, emit
from ptx_code import names_of

GOLDEN = Path(__file__).parent / "Inputs" / "cute-layouts.txt"


def golden(name: str) -> np.ndarray:
    """Indices of a table: lane or row, value, coordinate."""
    lines = [line.split(":") for line in GOLDEN.read_text(encoding="utf-8").splitlines() if line.startswith(name + " ")]
    assert [int(head.split()[1]) for head, _ in lines] == list(range(len(lines)))
    return np.array([[[int(n) for n in place.split(",")] for place in rest.split()] for _, rest in lines])


A, B, C = golden("A"), golden("B"), golden("C")
SWIZZLE = {64: golden("rows-of-64")[..., 0], 32: golden("rows-of-32")[..., 0]}


def test_the_tables_are_whole():
    """Each element of a matrix is held once, each chunk of a row lies somewhere."""
    for table, count in ((A, 256), (B, 128), (C, 128), (golden("ldmatrix"), 256), (golden("ldmatrix.trans"), 256)):
        places = table.reshape(-1, table.shape[-1])
        assert len(places) == count == len(np.unique(places, axis=0))
    for columns, table in SWIZZLE.items():
        assert np.array_equal(np.sort(table, axis=1), np.tile(np.arange(columns // 8), (8, 1)))


# One instruction ---------------------------------------------------------------

@EXECUTORS
@pytest.mark.parametrize("table, layout", [("ldmatrix", "row"), ("ldmatrix.trans", "col")])
def test_ldmatrix(execute, table, layout, tmp_path):
    """Element e of row r of matrix m is 64 m + 8 r + e."""
    words = np.arange(256, dtype=np.uint16).view(np.uint32).reshape(32, 4)
    halves = execute(kernel(LDMATRIX.replace("LAYOUT", layout), 4, "i32"), words, tmp_path).view(np.uint16)
    assert np.array_equal(halves, golden(table) @ [64, 8, 1])


@EXECUTORS
def test_mma(execute, tmp_path):
    """Small whole numbers, whose sums are exact in any order; no two rows, columns or k are alike."""
    random = np.random.default_rng(1)
    a, b, c = (random.integers(-9, 10, shape) for shape in ((16, 16), (8, 16), (16, 8)))
    halves = [ptx_numbers.bf16_of_float(m[t[..., 0], t[..., 1]]).view(np.uint32) for m, t in ((a, A), (b, B))]
    sums = c[C[..., 0], C[..., 1]].astype(np.float32).view(np.uint32)
    result = execute(kernel(MMA, 10, "f32"), np.concatenate([*halves, sums], axis=1), tmp_path).view(np.float32)
    assert np.array_equal(result, (a @ b.T + c)[C[..., 0], C[..., 1]])


# What the compiler emits -----------------------------------------------------------


class Recorder(ptx.Warp):
    """Keeps what lanes ask for and hold: (warp, instruction, values)."""

    seen: list = []

    def copy(self, s, mask):
        self.seen.append((self, s, [self.address(text)[0] for text in s.operands[:2]]))
        super().copy(s, mask)

    def do_ld(self, s, mask):
        if ".param" not in s.op:
            self.seen.append((self, s, [self.address(s.operands[1])[0]]))
        super().do_ld(s, mask)

    def do_st(self, s, mask):
        self.seen.append((self, s, [self.address(s.operands[0])[0]]))
        super().do_st(s, mask)

    def do_mma(self, s, mask):
        words = [np.broadcast_to(self.get(name, np.uint32), mask.shape)[0] for part in s.operands[1:3] for name in names_of(part)]
        self.seen.append((self, s, [np.stack(words, axis=1).view(np.uint16)]))
        super().do_mma(s, mask)


def corner(held: tuple[np.ndarray, ...], table: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Where a fragment begins in its matrix: lanes hold of it what the table says, from a multiple of its shape on."""
    first = np.stack(held, axis=-1).astype(int) - table
    assert (first == first[0, 0]).all()
    assert not (first[0, 0] % shape).any()
    return first[0, 0]


ROWS = 64
FIRST = 0x2800  # pattern of the first element: a number, whose products are numbers


def recorded(monkeypatch, inner: int, *options: str) -> list:
    """A product of matrices whose elements say where they are, 64 rows each."""
    monkeypatch.setattr(ptx, "Warp", Recorder)
    monkeypatch.setattr(Recorder, "seen", [])
    places = np.arange(FIRST, FIRST + ROWS * inner, dtype=np.uint16)
    result = np.zeros((ROWS, ROWS), np.float32 if "--wide" in options else np.uint16)
    flags = [f"--rows={ROWS}", f"--columns={ROWS}", f"--inner={inner}", "--block-rows=64", "--block-columns=64", f"--step={inner}", *options]
    text = emit("ptx", "product", *flags)
    ptx.Grid(text, "product", [places, places, result], (1,), 3 * 2 * ROWS * 2 * inner + 4 * 2048).run()
    return Recorder.seen


def test_fragments_of_products(monkeypatch):
    """Operands reach mma.sync, and sums leave it, where CuTe has them, up to a multiple of its shape."""
    begins = {}  # register of a sum, by warp: what the sum's block begins at, and which of its values
    kept = recorded(monkeypatch, 64, "--wide")
    products = stores = 0
    for warp, s, values in kept:
        if s.op.startswith("mma"):
            left = corner(np.divmod(values[0][:, :8] - FIRST, 64), A, (16, 16))
            right = corner(np.divmod(values[0][:, 8:] - FIRST, 64), B, (8, 16))
            assert left[1] == right[1]  # the same k
            for i, name in enumerate(names_of(s.operands[0])):
                begins[warp.number, name] = (left[0], right[0], i)
            products += 1
        elif s.op.startswith("st.global"):
            for e, name in enumerate(names_of(s.operands[1])):
                row, column, i = begins[warp.number, name]
                place = (values[0] & (2**ptx.SPACE - 1)) // 4 + e
                assert np.array_equal(place, (row + C[:, i, 0]) * ROWS + column + C[:, i, 1])
                stores += 1
    assert (products, stores) == (4 * 4 * 8, 4 * 4 * 8)  # warps, and sums of each


def test_fragments_of_attention(monkeypatch):
    """Queries that are loaded once, keys, and values, whose rows are k."""
    monkeypatch.setattr(ptx, "Warp", Recorder)
    monkeypatch.setattr(Recorder, "seen", [])
    flags = ["--batch=1", "--tokens=64", "--heads=1", "--queries=64", "--warps=2"]
    text = emit("ptx", "attention", *flags)
    ptx.Grid(text, "attention", [np.arange(FIRST, FIRST + 64 * 192, dtype=np.uint16), np.zeros((64, 64), np.uint16)], (1, 1, 1), 5 * 8192 + 2 * 2048).run()
    taken = {"keys": set(), "values": set()}
    for _, s, values in Recorder.seen:
        if s.op.startswith("mma"):
            row, column = np.divmod(values[0] - FIRST, 192)
            if column[0, 8] < 128:
                query = corner((row[:, :8], column[:, :8]), A, (16, 16))
                key = corner((row[:, 8:], column[:, 8:] - 64), B, (8, 16))
                assert query[1] == key[1]
                taken["keys"].add((*query, key[0]))
            else:
                taken["values"].add(tuple(corner((column[:, 8:] - 128, row[:, 8:]), B, (8, 16))))
    assert len(taken["keys"]) == 4 * 4 * 8
    assert len(taken["values"]) == 8 * 4


@pytest.mark.parametrize("inner", [64, 32])
def test_swizzles_of_slots(monkeypatch, inner):
    """Copies put each chunk where CuTe's swizzle of rows of this size has it."""
    begins = set()
    for _, s, values in recorded(monkeypatch, inner):
        if s.op.startswith("cp.async"):
            chunk, row = ((values[1] & (2**ptx.SPACE - 1)) // 16 % (inner // 8), (values[1] & (2**ptx.SPACE - 1)) // (2 * inner))
            begins |= set(values[0] - 2 * inner * row - 16 * SWIZZLE[inner][row % 8, chunk])
    assert len(begins) == 2  # a slot of each operand, since there is one part
    assert all(begin % (2 * inner * ROWS) == 0 for begin in begins)


@pytest.mark.parametrize("warps, columns", [(1, 64), (2, 32)])
def test_swizzles_of_the_stage(monkeypatch, warps, columns):
    """Results of 16 bits that go through shared memory lie there as CuTe would have them."""
    stage, read = {}, 0
    for warp, s, values in recorded(monkeypatch, 64, f"--column-warps={warps}"):
        if s.op.startswith("ld.shared"):
            stage[warp.number, s.operands[0]] = values[0]
        elif s.op.startswith("st.global"):
            place = (values[0] & (2**ptx.SPACE - 1)) // 2
            row, chunk = place // ROWS, place % ROWS % columns // 8
            first = stage[warp.number, s.operands[1]] - 2 * columns * (row % 16) - 16 * SWIZZLE[columns][row % 8, chunk]
            assert (first == first[0]).all()
            assert first[0] % 128 == 0
            read += 1
    assert read == ROWS * ROWS // 8 // 32


# Products of warp groups -------------------------------------------------------------

GROUP_SUMS, GROUP_LEFT = golden("group-sums"), golden("group-left")
# Rows of N elements: where chunks of an operand begin, and what a descriptor says of that.
OPERAND = {columns: golden(f"operand-of-{columns}")[..., 0] for columns in (64, 32)}
DESCRIPTOR = {columns: golden(f"descriptor-of-{columns}")[0, :, 0] for columns in (64, 32)}


def test_the_tables_of_groups_are_whole():
    for table, count in ((GROUP_SUMS, 64 * 32), (GROUP_LEFT, 64 * 16)):
        places = table.reshape(-1, 2)
        assert len(places) == count == len(np.unique(places, axis=0))
    for columns, table in OPERAND.items():
        assert np.array_equal(np.sort(table, axis=None), 16 * np.arange(24 * columns // 8))


def in_memory(matrix: np.ndarray) -> np.ndarray:
    """Bytes of shared memory with the rows of an operand; groups of 24 follow each other as those of eight do."""
    columns = matrix.shape[1]
    chunks = ptx_numbers.bf16_of_float(matrix).reshape(-1, columns // 8, 8)
    memory = np.zeros((matrix.size // 8, 8), np.uint16)
    group = 24 * columns // 8
    for row, values in enumerate(chunks):
        memory[row // 24 * group + OPERAND[columns][row % 24] // 16] = values
    return memory.view(np.uint8).reshape(-1)


def group_kernel(columns: int, words: int) -> str:
    """128 threads that multiply 64 rows, of shared memory or of `words` words each, by 32: what they read first is the image of
    shared memory, and what they leave are 16 sums each."""
    image = 2 * columns * (32 if words else 96)
    lines = [f"llvm.mlir.global external @kernel_memory() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>",
             f"llvm.func @kernel(%px: !llvm.ptr<1>, %pr: !llvm.ptr<1>) attributes {{hova.group_bytes = {image} : i64, nvvm.kernel, nvvm.reqntid = array<i32: 128>}} {{",
             "hova_cuda.await_launches", "%t = nvvm.read.ptx.sreg.tid.x : i32",
             "%n16 = llvm.mlir.constant(16 : i32) : i32", "%n64 = llvm.mlir.constant(64 : i32) : i32",
             "%b = llvm.mul %t, %n16 : i32", "%q = llvm.mul %t, %n64 : i32", "%m = llvm.mlir.addressof @kernel_memory : !llvm.ptr<3>",
             "%zero = llvm.mlir.constant(0.0 : f32) : f32", "%x = llvm.getelementptr %px[%b] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8",
             "%s = llvm.getelementptr %m[%b] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8", "%r = llvm.getelementptr %pr[%q] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8"]
    for i in range(image // 2048):
        lines += [f"%x{i} = llvm.getelementptr %x[{2048 * i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8", f"%v{i} = llvm.load %x{i} : !llvm.ptr<1> -> vector<4xi32>",
                  f"%s{i} = llvm.getelementptr %s[{2048 * i}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8", f"llvm.store %v{i}, %s{i} : vector<4xi32>, !llvm.ptr<3>"]
    if words:
        lines += [f"%nw = llvm.mlir.constant({4 * words} : i32) : i32", "%wb = llvm.mul %t, %nw : i32",
                  "%w = llvm.getelementptr %px[%wb] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8"]
        for i in range(words):
            lines += [f"%p{i} = llvm.getelementptr %w[{image + 4 * i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8", f"%a{i} = llvm.load %p{i} : !llvm.ptr<1> -> i32"]
    lines += ["nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}", "nvvm.barrier0",
              f"%right = llvm.getelementptr %m[{0 if words else 128 * columns}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8"]
    left = ", ".join(f"%a{i}" for i in range(words)) or "%m"
    types = ", ".join(["i32"] * words) or "!llvm.ptr<3>"
    sums, made = ", ".join(["%zero"] * 16), ", ".join(f"%u#{i}" for i in range(16))
    lines += [f"%u:16 = hova_cuda.wgmma bf16, ({left}), %right to ({sums}) {{row_bytes = {2 * columns} : i64}} : {types}", f"%e:16 = hova_cuda.wgmma_wait 0, ({made})"]
    for i in range(16):
        lines += [f"%r{i} = llvm.getelementptr %r[{4 * i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8", f"llvm.store %e#{i}, %r{i} : f32, !llvm.ptr<1>"]
    return "\n".join([*lines, "llvm.return", "}"])


@pytest.mark.parametrize("from_registers", [False, True])
@pytest.mark.parametrize("columns", [64, 32])
def test_wgmma(columns, from_registers, tmp_path):
    """Small whole numbers, as for mma.sync, placed by the tables; both executors."""
    random = np.random.default_rng(2)
    a, b = random.integers(-9, 10, (64, columns)), random.integers(-9, 10, (32, columns))
    image = [in_memory(b)] if from_registers else [in_memory(a), in_memory(b)]
    words = columns // 4 if from_registers else 0
    if from_registers:
        steps = [a[GROUP_LEFT[..., 0], 16 * step + GROUP_LEFT[..., 1]] for step in range(columns // 16)]
        image.append(ptx_numbers.bf16_of_float(np.concatenate(steps, axis=1)).view(np.uint8).reshape(-1))
    result = np.zeros((128, 16), np.float32)
    path = tmp_path / "kernel.mlir"
    path.write_text(group_kernel(columns, words), encoding="utf-8")
    case = Case(str(path), ["--gpu=sm_90a"], (1,), [np.concatenate(image), result], result, 0)
    truth = (a @ b.T)[GROUP_SUMS[..., 0], GROUP_SUMS[..., 1]]
    assert np.array_equal(case.run("late", 1), truth)
    assert np.array_equal(case.emulate(tmp_path, [("late", 1)])[0], truth)


class GroupRecorder(Recorder):
    """What products of warp groups take, too."""

    def begin(self, s):
        self.seen.append((self, s, [self.descriptor(name)[0] for name in s.operands[1:3]]))
        super().begin(s)


@pytest.mark.parametrize("inner", [64, 32])
def test_operands_and_sums_of_groups(monkeypatch, inner):
    """Descriptors are CuTe's, copies put each chunk where an operand has it, and sums are stored to where a thread has them."""
    monkeypatch.setattr(ptx, "Warp", GroupRecorder)
    monkeypatch.setattr(Recorder, "seen", [])
    places = np.arange(FIRST, FIRST + ROWS * inner, dtype=np.uint16)
    flags = [f"--rows={ROWS}", f"--columns={ROWS}", f"--inner={inner}", "--block-rows=64", "--block-columns=64", "--row-warps=4", "--column-warps=1",
             f"--step={inner}", "--under-way=1", "--gpu=sm_90a", "--wide"]
    text = emit("ptx", "product", *flags)
    ptx.Grid(text, "product", [places, places, np.zeros((ROWS, ROWS), np.float32)], (1,), 3 * 2 * ROWS * 2 * inner + 4 * 2048).run()
    sums, begins, steps, stores = {}, set(), [], 0
    for warp, s, values in Recorder.seen:
        if s.op.startswith("cp.async"):
            row, chunk = np.divmod((values[1] & (2**ptx.SPACE - 1)) // 16, inner // 8)
            begins |= set(values[0] - 2 * inner * (row // 8 * 8) - OPERAND[inner][row % 8, chunk])
        elif s.op.startswith("wgmma"):
            for descriptor in values:
                way, stride = int(descriptor[0]) >> 62, int(descriptor[0]) >> 32 & 0x3FFF
                assert (way, stride) == tuple(DESCRIPTOR[inner])
            steps.append(tuple((int(d[0]) & 0x3FFF) << 4 for d in values))
            sums.update({(warp.number, name): i for i, name in enumerate(names_of(s.operands[0]))})
        elif s.op.startswith("st.global"):
            for e, name in enumerate(names_of(s.operands[1])):
                i = sums[warp.number, name]
                held = GROUP_SUMS[32 * warp.number + np.arange(32), i % 16]
                place = (values[0] & (2**ptx.SPACE - 1)) // 4 + e
                assert np.array_equal(place, held[:, 0] * ROWS + held[:, 1] + 32 * (i // 16))
                stores += 1
    assert len(begins) == 2 and stores == 4 * 32
    assert {start for pair in steps for start in pair} == {begin + 32 * step for begin in begins for step in range(inner // 16)}
