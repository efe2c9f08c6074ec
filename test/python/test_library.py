# ===- test_library.py - Which files are compiled models ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A file is looked at before anything of it runs."""

import hova
import pytest
from conftest import BUILD
from hova._library import prefix_of

LINEAR = {
    "hova": 1,
    "name": "two_layers",
    "inputs": {"x": {"shape": [1, 2]}},
    "layers": [{"name": "y", "op": "linear", "input": "x", "width": 3}],
    "outputs": {"o": "y"},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    from hova import _driver

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_driver, "DRIVER", BUILD / "bin/hova")
        return hova.compile(LINEAR, output=tmp_path_factory.mktemp("library") / "m.so").path


def test_the_prefix_is_that_of_the_functions(library):
    assert prefix_of(library) == "two_layers"
    assert "two_layers_run(" in library.with_suffix(".h").read_text()


def test_what_is_no_compiled_library_is_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    text = tmp_path / "text"
    text.write_text("\x7fELF and no more")
    for path in (empty, text, BUILD / "lib/libhova.so"):
        with pytest.raises(hova.Error, match="is no library that hova compiled"):
            prefix_of(path)
    with pytest.raises(hova.Error, match="is a program, which another process runs"):
        prefix_of(BUILD / "bin/hova")
    with pytest.raises(hova.Error, match="cannot read .*: No such file") as caught:
        prefix_of(tmp_path / "none")
    assert caught.value.status == 74


def test_a_file_that_is_cut_off_is_refused(library, tmp_path):
    whole = library.read_bytes()
    cut = tmp_path / "cut.so"
    for size in (16, 63, 64, 200, 1000, len(whole) // 2):
        cut.write_bytes(whole[:size])
        with pytest.raises(hova.Error, match="is no library that hova compiled"):
            prefix_of(cut)


def test_changed_bytes_never_leave_the_reader(library, tmp_path):
    """Offsets, counts and links of the header and of the section table, one byte at a time."""
    whole = library.read_bytes()
    table = int.from_bytes(whole[40:48], "little")
    changed = tmp_path / "changed.so"
    for at in [*range(64), *range(table, table + 10 * 64, 7)]:
        data = bytearray(whole)
        data[at] ^= 0xFF
        changed.write_bytes(data)
        try:
            assert prefix_of(changed)
        except hova.Error as error:
            assert "hova compiled" in str(error) or "another process" in str(error)
