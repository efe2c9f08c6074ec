# ===- test_changed_images.py - Packed weights that someone changed -----------=== #
# SPDX-License-Identifier: Apache-2.0
"""Nothing in packed weights decides where a program reads or writes.

A model with shifted windows, merged patches, random blocks and a look-up runs with images
of which bytes and words are changed: each gives a sentence or numbers, never a fault. The
images of the library end at a page that nobody may read. What tells a changed number is
the checksum.
"""

import ctypes
import json
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
HEADER, TRAILER = 4096, 16
WINDOWS = {"op": "multi_head_attention", "heads": 2, "window": 4, "relative_bias": True}
SPARSE = {"op": "multi_head_attention", "heads": 2, "kind": "bigbird", "block_size": 8}
MODEL = {
    "hova": 1,
    "name": "tables",
    "inputs": {
        "image": {"shape": [2, 3, 24, 24]},
        "ids": {"shape": [2, 96], "dtype": "i32", "range": [0, 11]},
    },
    "layers": [
        {"name": "x", "op": "patch_embedding", "input": "image", "patch": 3, "width": 16},
        {"name": "shifted", "input": "x", "shift": 2, **WINDOWS},
        {"name": "plain", "input": "shifted", **WINDOWS},
        {"name": "merged", "op": "merge_patches", "input": "plain"},
        {"name": "norm", "op": "layer_norm", "input": "merged"},
        {"name": "reduced", "op": "linear", "input": "norm", "width": 16},
        {"name": "ffn", "op": "feed_forward", "input": "reduced", "hidden": 32},
        {"name": "words", "op": "embedding", "input": "ids", "vocab": 11, "width": 16},
        {"name": "sparse", "input": "words", "random_blocks": 2, **SPARSE},
    ],
    "outputs": {"y": "ffn", "z": "sparse"},
}


def call(*command):
    command = [str(part) for part in command]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a program and a library, each beside its image."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "tables.json").write_text(json.dumps(MODEL))
    for options in (["-o", "program"], ["--emit=lib", "-o", "library"]):
        done = call(HOVA, "compile", folder / "tables.json", "--quiet", "--weights-mode=file",
                    *options[:-1], folder / options[-1])
        assert done.returncode == 0, done.stderr
    return folder


def sealed(image):
    """The image with the checksums of what it holds, as one who means harm would write it."""
    end = len(image) - TRAILER
    image[end + 8 :] = struct.pack("<II", zlib.crc32(image[:HEADER]), zlib.crc32(image[HEADER:end]))
    return image


def changed(original, seed):
    """A copy with some bytes or words changed, in the header, after it, or anywhere."""
    draw = random.Random(seed)
    image = bytearray(original)
    first, last = draw.choice([(0, 300), (HEADER, len(image) - TRAILER), (0, len(image))])
    for _ in range(draw.choice([1, 1, 4, 1000])):
        at = draw.randrange(first, last)
        if draw.random() < 0.5:
            image[at] = draw.randrange(256)
        else:
            at = at // 4 * 4
            words = [0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x40000000, draw.getrandbits(32)]
            image[at : at + 4] = struct.pack("<I", draw.choice(words))
    return sealed(image) if draw.random() < 0.8 else image


def test_checksums_are_those_of_zlib(built):
    image = bytearray((built / "program.weights").read_bytes())
    assert image[-TRAILER : -TRAILER + 8] == b"HOVAEND1"
    assert sealed(bytearray(image)) == image


def run(folder, weights, *options):
    return call(folder / "program", "--random-inputs=1", "--threads=2", "--weights", weights, *options)


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_a_program_says_so_or_gives_numbers(built, tmp_path, first):
    original = (built / "program.weights").read_bytes()
    runs = 0
    for seed in range(first, first + 30):
        (tmp_path / "image").write_bytes(changed(original, seed))
        done = run(built, tmp_path / "image", "--output-dir", tmp_path)
        if done.returncode == 0:
            runs += 1
            assert np.load(tmp_path / "y.npy").shape == (2, 16, 16)
            assert np.load(tmp_path / "z.npy").shape == (2, 96, 16)
        else:
            assert done.returncode == 1 and done.stderr.startswith("error: '"), (seed, done)
            assert "; make one for this program with: hova weights pack" in done.stderr
    assert runs > 0  # not every change is in the header


def test_every_word_of_the_image_may_be_any_number(built, tmp_path):
    """All weights at once: what is a row number here would be far outside."""
    original = (built / "program.weights").read_bytes()
    for word in (0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0x00100000):
        image = bytearray(original)
        words = (len(image) - HEADER - TRAILER) // 4
        image[HEADER:-TRAILER] = struct.pack("<I", word) * words
        (tmp_path / "image").write_bytes(sealed(image))
        done = run(built, tmp_path / "image", "--check-weights")
        assert done.returncode == 0, (hex(word), done.returncode, done.stderr)


def test_a_changed_number_is_told_where_it_is_asked_for(built, tmp_path):
    image = bytearray((built / "program.weights").read_bytes())
    image[HEADER + 1000] ^= 1
    (tmp_path / "image").write_bytes(image)
    (tmp_path / "image").chmod(0o644)
    assert run(built, tmp_path / "image").returncode == 0
    done = run(built, tmp_path / "image", "--check-weights")
    assert done.returncode == 1
    assert "has changed since it was made: the checksum of its weights is another" in done.stderr
    assert run(built, built / "program.weights", "--check-weights").returncode == 0


@pytest.mark.parametrize("mode, status", [(0o644, 0), (0o444, 0), (0o664, 1), (0o646, 1)])
def test_a_changed_number_is_told_where_others_may_write(built, tmp_path, mode, status):
    image = bytearray((built / "program.weights").read_bytes())
    image[HEADER + 1000] ^= 1
    (tmp_path / "image").write_bytes(image)
    (tmp_path / "image").chmod(mode)
    done = run(built, tmp_path / "image")
    assert done.returncode == status, done.stderr
    assert status == 0 or "the checksum of its weights is another" in done.stderr
    (tmp_path / "image").write_bytes((built / "program.weights").read_bytes())
    assert run(built, tmp_path / "image").returncode == 0


def test_a_changed_header_is_always_told(built, tmp_path):
    image = bytearray((built / "program.weights").read_bytes())
    image[HEADER - 1] ^= 1
    (tmp_path / "image").write_bytes(image)
    done = run(built, tmp_path / "image")
    assert done.returncode == 1
    assert "has changed since it was made: the checksum of its header is another" in done.stderr


def test_weights_inside_of_a_program_are_checked_too(built):
    program = built / "embedded"
    done = call(HOVA, "compile", built / "tables.json", "--quiet", "-o", program)
    assert done.returncode == 0, done.stderr
    assert call(program, "--random-inputs=1", "--check-weights").returncode == 0
    code = bytearray(program.read_bytes())
    code[code.rindex(b"HOVAIMG1") + HEADER + 1000] ^= 1
    program.write_bytes(code)
    assert call(program, "--random-inputs=1").returncode == 0
    done = call(program, "--random-inputs=1", "--check-weights")
    assert done.returncode == 1 and "checksum of its weights" in done.stderr


# ===----------------------------------------------------------------------=== #
# The library, in a process of its own
# ===----------------------------------------------------------------------=== #


class FencedBytes:
    """Memory for an image that ends where nothing may be read."""

    PAGE = 4096

    def __init__(self, size):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        room = (size + self.PAGE - 1) // self.PAGE * self.PAGE
        start = libc.mmap(None, room + self.PAGE, 3, 0x22, -1, 0)
        assert libc.mprotect(start + room, self.PAGE, 0) == 0
        # Images are aligned to 64 bytes, and the trailer is shorter than that.
        self.address = start + (room - size) // 64 * 64
        self.size = size

    def fill(self, image):
        ctypes.memmove(self.address, bytes(image), self.size)


def run_library(folder, first, last):
    """Runs `library.so` with changed images; prints how many gave numbers."""
    sys.path.insert(0, str(SOURCE / "examples/embed"))
    import classify

    library = ctypes.CDLL(str(folder / "library.so"))
    original = (folder / "library.so.weights").read_bytes()
    memory = FencedBytes(len(original))
    draw = np.random.default_rng(1)
    image = draw.standard_normal((2, 3, 24, 24)).astype(np.float32)
    ids = draw.integers(0, 11, (2, 96)).astype(np.int32)
    outputs = np.zeros((2, 16, 16), np.float32), np.zeros((2, 96, 16), np.float32)
    runs = 0
    for seed in range(first, last):
        memory.fill(changed(original, seed))
        message = ctypes.create_string_buffer(640)
        options = classify.Options(
            threads=2, image=memory.address, image_bytes=memory.size,
            message=ctypes.cast(message, ctypes.c_char_p), message_bytes=len(message))
        context = ctypes.c_void_p()
        if library.tables_create(ctypes.byref(options), ctypes.byref(context)) != 0:
            assert message.value.startswith(b"'embedded image'") and b"weights pack" in message.value
            continue
        given = (classify.Tensor * 2)(classify.view(image, b"image"), classify.view(ids, b"ids"))
        taken = (classify.Tensor * 2)(*(classify.view(y, n) for y, n in zip(outputs, (b"y", b"z"))))
        assert library.tables_run(context, given, taken) == 0
        library.tables_destroy(context)
        runs += 1
    print(runs)


def test_a_library_says_so_or_gives_numbers(built):
    done = call(sys.executable, "-B", __file__, built, 1000, 1300)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert int(done.stdout) > 100


if __name__ == "__main__":
    run_library(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
