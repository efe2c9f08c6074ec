# ===- test_names_of_models.py - Libraries of models with any names ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The headers and functions of compiled models meet in one C program, also where names are the runtime's or alike."""

import json
import os
import subprocess
from pathlib import Path

import pytest

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
# The name of a model, and the prefix of its functions.
PREFIXES = {
    "hova": "m_hova", "hova_runtime": "m_hova_runtime", "hova_library": "m_hova_library", "HOVA": "HOVA", "HOVA_RUNTIME": "HOVA_RUNTIME",
    "hovav": "hovav", "digits": "digits", "Digits": "Digits",
}  # fmt: skip


@pytest.mark.parametrize("language", ["c", "c++"])
def test_names_do_not_meet(language, tmp_path):
    sources, libraries = [], []
    for number, (name, prefix) in enumerate(PREFIXES.items()):
        layers = [{"name": "a", "op": "softmax", "input": "x"}]
        model = {"hova": 1, "name": name, "inputs": {"x": {"shape": [1, 4 + number]}}, "layers": layers, "outputs": {"y": "a"}}
        (tmp_path / f"{number}.json").write_text(json.dumps(model))
        subprocess.run([HOVA, "compile", "-q", f"{number}.json", "--emit=lib", "-o", f"lib{number}"], cwd=tmp_path, check=True)
        sources.append(f'#include "lib{number}.h"')
        libraries.append(f"./lib{number}.so")
    calls = [f'  printf("%s %d\\n", {prefix}_program()->name, (int){prefix}_program()->inputs[0].dims[1]);' for prefix in PREFIXES.values()]
    body = ["#include <stdio.h>", "int main(void) {", *calls, "  return 0;", "}"]
    (tmp_path / "main.c").write_text("\n".join([*sources, *body]))
    words = ["clang-22", "-x", language, "main.c", "-x", "none", *libraries, "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run(words, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"{name} {4 + number}" for number, name in enumerate(PREFIXES)]
