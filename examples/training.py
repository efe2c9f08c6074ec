# ===- training.py - What the training scripts of the examples share -------=== #
# SPDX-License-Identifier: Apache-2.0
"""Layers as a description has them, a training loop, and the files it leaves.

Modules and parameters have the names and layouts of a description, so that
`state_dict()` is the weight file: linear weights are stored [inputs, outputs].
"""

import math
import os

# Threads of OpenBLAS, which Debian's PyTorch uses, cost these small products more than
# they save. It reads this when it is loaded: import this file before NumPy.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

BATCH = 64
WARM_UP = 200


class Linear(nn.Module):
    """y = x W + b with W [inputs, outputs]."""

    def __init__(self, inputs, outputs, bias=True):
        super().__init__()
        bound = math.sqrt(6.0 / (inputs + outputs))
        self.weight = nn.Parameter(torch.empty(inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class LayerNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.eps)


class FeedForward(nn.Module):
    def __init__(self, width, hidden, activation):
        super().__init__()
        self.hidden = Linear(width, hidden)
        self.output = Linear(hidden, width)
        self.activation = activation

    def forward(self, x):
        return self.output(self.activation(self.hidden(x)))


class Table(nn.Module):
    """A learned table of rows: an embedding, positions."""

    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(*shape))


def start():
    """Equal runs: a seed, one thread, and no operation that depends on chance."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def rate(step, steps):
    """Linear warm-up, then half a cosine down to zero."""
    if step < WARM_UP:
        return (step + 1) / WARM_UP
    return 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / (steps - WARM_UP)))


def train(model, inputs, labels, steps, peak_rate, change=lambda inputs: inputs):
    """AdamW on random batches; `change` sees each batch of inputs first."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=peak_rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: rate(s, steps))
    total = 0.0
    for step in range(1, steps + 1):
        batch = torch.randint(len(labels), (BATCH,))
        loss = F.cross_entropy(model(change(inputs[batch])), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 100 == 0:
            print(f"step {step:5d}  loss {total / 100:.4f}", flush=True)
            total = 0.0
    return model.eval()


def write(folder, model, name, inputs, labels):
    """The weights, the held-out samples, and what the model computes for them."""
    with torch.no_grad():
        logits = model(inputs)
    right = int((logits.argmax(dim=1) == labels).sum())
    print(f"held-out accuracy {right}/{len(labels)} = {right / len(labels):.4f}")
    state = {k: v.detach().contiguous() for k, v in model.state_dict().items()}
    save_file(state, folder / "weights.safetensors")
    dtype = np.float32 if inputs.is_floating_point() else np.int32
    np.save(folder / f"{name}.npy", inputs.numpy().astype(dtype))
    np.save(folder / "labels.npy", labels.numpy().astype(np.int32))
    np.save(folder / "logits.npy", logits.numpy())
