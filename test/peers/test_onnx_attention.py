# ===- test_onnx_attention.py - ONNX's own cases of Attention -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every conformance case of ONNX's operator Attention, said as a description, gives what the
case expects, within the tolerance and by the comparison of ONNX's own runner of backends."""

import json
from collections import Counter

import pytest
from harness import hova, run_program
from onnx.backend.test.runner import Runner
from onnx_attention import Case, as_expected, collect_cases, description

CASES = collect_cases()


def test_all_cases_are_here():
    """docs/checked-against.md has the numbers. None of the cases cannot be said."""
    assert Counter(Case(case).dtype for case in CASES.values()) == {"f32": 82, "f16": 6, "bf16": 5}


@pytest.mark.parametrize("name", CASES)
def test_case(name, scratch):
    case = Case(CASES[name])
    text, inputs = description(case)
    (scratch / "case.json").write_text(json.dumps(text))
    program = scratch / "program"
    hova("compile", scratch / "case", [], f"--dtype={case.dtype}", "-o", program)
    ours = as_expected(case, run_program(program, inputs, scratch))
    expected = [case.outputs[name] for name in ours]
    Runner.assert_similar_outputs(expected, list(ours.values()), case.rtol, case.atol)
