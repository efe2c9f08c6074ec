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
from peer import torch_net

# From this version on GELU is an operator.
OPSET = 20


def main():
    job = json.loads(Path(sys.argv[1]).read_text())
    inputs = tuple(torch.from_numpy(np.load(path)) for path in job["inputs"])
    program = torch.onnx.export(
        torch_net(job),
        inputs,
        dynamo=True,
        opset_version=OPSET,
        output_names=job["outputs"],
    )
    program.save(job["onnx"], external_data=False)


if __name__ == "__main__":
    main()
