# ===- layers_torch.py - Layers in PyTorch ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The layers that the families use, as a PyTorch user would write them."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    """A family with its weights.

    Matrices are kept [out, in] as nn.Linear keeps them; hova's files have [in, out].
    """

    def __init__(self, family, parameters, weights):
        super().__init__()
        self.family, self.parameters_of_model = family, parameters
        for name, array in family.prepare(weights).items():
            tensor = torch.from_numpy(array)
            if tensor.dim() == 2 and name not in family.TABLES:
                tensor = tensor.t().contiguous()
            value = nn.Parameter(tensor, requires_grad=False)
            self.register_parameter(name.replace(".", "/"), value)

    def forward(self, *inputs):
        return self.family.forward(self, self.parameters_of_model, *inputs)

    def has(self, name):
        return name.replace(".", "/") in self._parameters

    def weight(self, name):
        return getattr(self, name.replace(".", "/"))

    def matrix(self, path):
        # Horizontal and vertical weights are matrices without a second name.
        return self.weight(f"{path}.weight" if self.has(f"{path}.weight") else path)

    def linear(self, x, path):
        bias = self.weight(f"{path}.bias") if self.has(f"{path}.bias") else None
        return F.linear(x, self.matrix(path), bias)

    def tied(self, x, name):
        return F.linear(x, self.weight(name))

    def layer_norm(self, x, path, eps):
        gain, bias = self.weight(f"{path}.gain"), self.weight(f"{path}.bias")
        return F.layer_norm(x, gain.shape, gain, bias, eps)

    def embedding(self, ids, name):
        return F.embedding(ids, self.weight(name))

    def patches(self, image, path, patch):
        weight = self.matrix(path)
        kernel = weight.reshape(len(weight), image.shape[1], patch, patch)
        y = F.conv2d(image, kernel, self.weight(f"{path}.bias"), stride=patch)
        return y.flatten(2).transpose(1, 2)

    def prepend(self, x, name):
        first = self.weight(name).expand(x.shape[0], 1, -1)
        return torch.cat([first, x], dim=1)

    def attention(self, q, k, v, valid, causal):
        if valid is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        mask = valid[:, None, None, :]
        if causal:
            shape = (q.shape[-2], k.shape[-2])
            mask = mask & torch.ones(shape, dtype=torch.bool).tril()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def biased_attention(self, q, k, v, bias):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    def thirds(self, x):
        return x.chunk(3, dim=-1)

    def softmax(self, x, axis):
        return torch.softmax(x, dim=axis)

    def constant(self, array):
        return torch.from_numpy(array)

    def roll(self, x, shifts, axes):
        return torch.roll(x, shifts, axes)

    def repeat(self, x, times):
        return x.repeat(times, *[1] * (x.dim() - 1)) if times > 1 else x

    def concat(self, parts):
        return torch.cat(parts, dim=-1)

    gelu = staticmethod(F.gelu)
    relu = staticmethod(F.relu)
    exp = staticmethod(torch.exp)
    tanh = staticmethod(torch.tanh)
    sigmoid = staticmethod(torch.sigmoid)
