# ===- test_readers.py - One way to file bytes --------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Only Bytes.c touches the bytes of a file; the readers go through its checked cursor."""

import re
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"
RAW = re.compile(r"\.data\s*(\[|\+|\.data)|->data\s*(\[|\+)|memcpy\([^;]*\.data|memcmp|memchr|mmap\(|\bread\(")


def test_readers_take_bytes_through_the_cursor_alone():
    raw = [
        f"{name}:{number}: {line.strip()}"
        for name in ("Json.c", "Npy.c", "Safetensors.c")
        for number, line in enumerate((RUNTIME / name).read_text().splitlines(), 1)
        if RAW.search(line)
    ]
    assert raw == []


def test_the_rule_sees_what_it_forbids():
    for line in ("x = text.data[0];", "memcpy(a, bytes.data, n);", "memcmp(a, b, 4)", "p = span.data + 1;"):
        assert RAW.search(line)
