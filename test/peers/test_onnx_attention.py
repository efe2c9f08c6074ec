# ===- test_onnx_attention.py - ONNX's own cases of Attention -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every conformance case of ONNX's operator Attention, said as a description, gives what the
case expects, within the tolerance and by the comparison of ONNX's own runner of backends.

The cases are small. Drawn ones are larger and mix attributes; they are compared with ONNX's
reference implementation by tier T3 of the numeric policy.
"""

import json
from collections import Counter

import pytest
import torch
from harness import hova, run_program, within_policy
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator
from onnx_attention import Case, as_expected, collect_cases, description, draw_node
from torch import nn

CASES = collect_cases()


def run_case(case, folder):
    """The outputs of the description of a case, as ONNX has them."""
    text, inputs = description(case)
    (folder / "case.json").write_text(json.dumps(text))
    program = folder / "program"
    hova("compile", folder / "case", [], f"--dtype={case.dtype}", "-o", program)
    return as_expected(case, run_program(program, inputs, folder))


def test_all_cases_are_here():
    """docs/checked-against.md has the numbers. None of the cases cannot be said."""
    types = Counter(Case.of(case).dtype for case in CASES.values())
    assert types == {"f32": 82, "f16": 6, "bf16": 5}


@pytest.mark.parametrize("name", CASES)
def test_case(name, scratch):
    case = Case.of(CASES[name])
    ours = run_case(case, scratch)
    expected = [case.outputs[name] for name in ours]
    tolerance = CASES[name].rtol, CASES[name].atol
    Runner.assert_similar_outputs(expected, list(ours.values()), *tolerance)


class Reference(nn.Module):
    """The reference implementation of a node; the inputs that are numbers are parameters."""

    def __init__(self, node, inputs):
        super().__init__()
        self.names = node.output
        self.evaluator = ReferenceEvaluator(node)
        self.others, self.numbers = {}, nn.ParameterDict()
        for name, value in inputs.items():
            if value.dtype == "float32":
                self.numbers[name] = nn.Parameter(torch.from_numpy(value))
            else:
                self.others[name] = value

    def forward(self):
        numbers = {name: value.detach().numpy() for name, value in self.numbers.items()}
        results = self.evaluator.run(None, numbers | self.others)
        named = zip(self.names, results)
        return {name: torch.from_numpy(value) for name, value in named if name}


@pytest.mark.parametrize("seed", range(60))
def test_drawn_case(seed, scratch):
    node, inputs = draw_node(seed)
    reference = Reference(node, inputs)
    outputs = {name: value.numpy() for name, value in reference().items()}
    case = Case(node, list(inputs.values()), list(outputs.values()), version=25)
    within_policy(run_case(case, scratch), lambda m: m(), reference)
