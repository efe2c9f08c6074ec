# ===- test_files_are_read_once.py - How often the files of a folder are opened ---=== #
# SPDX-License-Identifier: Apache-2.0
"""Every JSON file of a folder is opened once by a command: what is read twice may be another file the second time."""

import ctypes
import os
import struct

import pytest
from folders import CONFIG, SOURCE, hova, tensors, write_folder, write_shards

OPEN, CLOSE = 0x20, 0x10  # inotify(7)
MODULES = [
    {"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]
FILES = {"modules.json": MODULES, "1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}


class Opened:
    """Counts how often files are opened, by their names in a folder."""

    def __init__(self, folder, names):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.file = self.libc.inotify_init1(os.O_NONBLOCK)
        assert self.file >= 0
        self.names = {}
        for name in names:
            # Equal events in a row are one: between two of a file that is opened twice it is closed.
            watch = self.libc.inotify_add_watch(self.file, os.fsencode(folder / name), OPEN | CLOSE)
            assert watch >= 0
            self.names[watch] = name

    def count(self):
        counts = dict.fromkeys(self.names.values(), 0)
        with os.fdopen(self.file, "rb") as events:
            read = events.read() or b""
        while read:
            watch, mask, _, length = struct.unpack_from("iIII", read)
            read = read[16 + length :]
            counts[self.names[watch]] += bool(mask & OPEN)
        return counts


def folder_of(tmp_path):
    """A sentence encoder in two files of tensors."""
    folder = write_shards(tmp_path / "folder", CONFIG, tensors(CONFIG))
    return write_folder(folder, CONFIG, None, **FILES), ["config.json", "model.safetensors.index.json", *FILES]


@pytest.mark.parametrize("words", [("check",), ("explain",), ("compile", "-o"), ("weights", "pack", "-o")], ids=" ".join)
def test_of_a_folder(words, tmp_path):
    folder, names = folder_of(tmp_path)
    verb = words[:2] if words[0] == "weights" else words[:1]
    opened = Opened(folder, names)
    done = hova(*verb, folder, *([words[-1], tmp_path / "out"] if "-o" in words else []))
    assert done.returncode == 0, done.stderr
    assert opened.count() == dict.fromkeys(names, 1)


@pytest.mark.parametrize("words", [("check",), ("compile", "-o")], ids=" ".join)
@pytest.mark.parametrize("is_imported", [False, True], ids=["of the library", "imported"])
def test_beside_weights(words, is_imported, tmp_path):
    """Of a description that reads configurations, and of one whose parameters are set."""
    folder, names = folder_of(tmp_path)
    description = SOURCE / "frontend/models/bert.json"
    if is_imported:
        description = tmp_path / "model.json"
        assert hova("import", folder, "-o", description).returncode == 0
    opened = Opened(folder, names)
    options = ["-o", tmp_path / "out"] if "-o" in words else []
    done = hova(words[0], description, "--weights", folder / "model.safetensors.index.json", *options)
    assert done.returncode == 0, done.stderr
    assert opened.count() == dict.fromkeys(names, 1) | ({"config.json": 0} if is_imported else {})


def test_mistakes_are_told_once(tmp_path):
    folder, _ = folder_of(tmp_path)
    (folder / "1_Pooling/config.json").write_text("{}")
    for done in hova("check", folder), hova("check", SOURCE / "frontend/models/bert.json", "--weights", folder / "model.safetensors.index.json"):
        assert done.returncode == 1 and done.stderr.count("no mode of pooling is on") == 1
