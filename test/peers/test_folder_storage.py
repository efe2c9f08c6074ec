# ===- test_folder_storage.py - Folders computed with bf16 in memory --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Hidden states of every family with `--dtype=bf16`, by tier T3 of the numeric policy (docs/rationale/proof.md).

The library's float32 model rounds the operands of every product and the rows of tables, as `--dtype` says; float64
rounds nothing, nor does float32 where the library takes no float64: its error is far below that of bf16.
"""

import copy

import pytest
import torch
from folder_families import FAMILIES
from harness import run_program, within_policy
from saved_folders import build, compile_folder, compute, name_of, save
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
# Which operands of a product are stored; the others are added to it.
STORED = {
    aten.mm: (0, 1),
    aten.bmm: (0, 1),
    aten.addmm: (1, 2),
    aten.baddbmm: (1, 2),
    aten.convolution: (0, 1),
    aten.embedding: (0,),
}


class InBf16(TorchDispatchMode):
    """Operands of products as they lie in memory."""

    def __init__(self):
        super().__init__()
        self.products = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        stored = STORED.get(function.overloadpacket, ())
        self.products += bool(stored)
        rounded = [value.bfloat16().float() if i in stored else value for i, value in enumerate(args)]
        return function(*rounded, **(kwargs or {}))


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_hidden_states_in_bf16(family, scratch):
    model = build(family, family.kinds[0])
    save(model, scratch / "folder")
    given = family.inputs(model.config)
    if family.only_valid:
        # Rows that see no token are nowhere then: in float64 they would be no numbers.
        given["mask"][:] = True
    done = compile_folder(scratch / "folder", scratch / "program", given, "--dtype=bf16")
    assert done.returncode == 0, done.stderr

    def in_storage(module):
        if next(module.parameters()).dtype == torch.float64:
            exact = copy.deepcopy(module).float() if family.in_single else module
            return {name: value.double() for name, value in compute(family, exact, given).items()}
        with InBf16() as mode:
            result = compute(family, module, given)
        assert mode.products > 0
        return result

    within_policy(run_program(scratch / "program", given, scratch), in_storage, model)
