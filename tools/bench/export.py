# ===- export.py - A model as ONNX -------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX model that OpenVINO and ONNX Runtime load.

usage: export.py JOB.json    the job of peer.py; writes the file that "onnx" names
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from peer import net_with_tables

# From this version on GELU is an operator.
OPSET = 20


def main():
    job = json.loads(Path(sys.argv[1]).read_text())
    inputs = [np.load(path) for path in job["inputs"]]
    program = torch.onnx.export(
        net_with_tables(job, inputs),
        tuple(map(torch.from_numpy, inputs)),
        dynamo=True,
        opset_version=OPSET,
        output_names=job["outputs"],
    )
    program.save(job["onnx"], external_data=False)


if __name__ == "__main__":
    main()
