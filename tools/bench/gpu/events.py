# ===- events.py - How long a GPU takes --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times between two events of the current stream of PyTorch."""

import torch


def milliseconds(run):
    """Of one run, after all that was put on the stream before; returns when it is done."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    events[0].record()
    run()
    events[1].record()
    events[1].synchronize()
    return events[0].elapsed_time(events[1])
