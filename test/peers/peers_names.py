# ===- peers_names.py - Names and shapes that libraries save ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What test/frontend/test_public_checkpoints.py reads instead of asking a framework."""

import json
import re
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "frontend/Inputs/public-checkpoints.json"


def listed(state):
    """Shapes by name; tensors of layers 0 to n - 1 that are alike are one name with {n}."""
    shapes, layers = {}, {}
    for name, tensor in state.items():
        # The last part that is a number: of the layer, or of a linear layer in a block.
        pattern = re.sub(r"\.\d+\.(?!.*\.\d+\.)", ".{}.", name)
        layers.setdefault((pattern, tuple(tensor.shape)), []).append(name)
    for (pattern, shape), names in layers.items():
        expected = [pattern.replace("{}", str(i)) for i in range(len(names))]
        if len(names) > 1 and names == expected:
            shapes[pattern.replace("{}", f"{{{len(names)}}}")] = list(shape)
        else:
            shapes |= {name: list(shape) for name in names}
    return shapes


def read():
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(found):
    """One tensor on a line."""
    lines = []
    for model in sorted(found):
        sources = []
        for source in sorted(found[model]):
            tensors = ",\n".join(
                f"      {json.dumps(name)}: {json.dumps(shape)}"
                for name, shape in found[model][source].items()
            )
            sources.append(f'    "{source}": {{\n{tensors}\n    }}')
        lines.append(f'  "{model}": {{\n' + ",\n".join(sources) + "\n  }")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
