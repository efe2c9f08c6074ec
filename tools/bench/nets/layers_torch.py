# ===- layers_torch.py - Layers in PyTorch ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The layers that the families use, as a PyTorch user would write them."""

from fnmatch import fnmatchcase

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    """A family with its weights.

    Matrices are kept [out, in] as nn.Linear keeps them; hova's files have [in, out]. The
    family's TABLES are patterns of names of what is no matrix of a linear layer.
    """

    def __init__(self, family, parameters, weights):
        super().__init__()
        self.family, self.parameters_of_model = family, parameters
        for name, array in family.prepare(weights, parameters).items():
            tensor = torch.from_numpy(array)
            table = any(fnmatchcase(name, pattern) for pattern in family.TABLES)
            if tensor.dim() == 2 and not table:
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
        gain = self.weight(f"{path}.gain")
        bias = self.weight(f"{path}.bias") if self.has(f"{path}.bias") else None
        return F.layer_norm(x, gain.shape, gain, bias, eps)

    def rms_norm(self, x, path, eps):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        return x * scale * self.weight(f"{path}.gain")

    def embedding(self, ids, name):
        return F.embedding(ids, self.weight(name))

    def patches(self, image, path, patch):
        weight = self.matrix(path)
        kernel = weight.reshape(len(weight), image.shape[1], patch, patch)
        y = F.conv2d(image, kernel, self.weight(f"{path}.bias"), stride=patch)
        return y.flatten(2).transpose(1, 2)

    def convolution(self, image, path, kernel, stride, padding):
        weight = self.matrix(path)
        weight = weight.reshape(len(weight), image.shape[1], kernel, kernel)
        y = F.conv2d(image, weight, self.weight(f"{path}.bias"), stride, padding)
        return y.flatten(2).transpose(1, 2)

    def unfold(self, image, kernel, stride, padding):
        y = F.unfold(image, kernel, padding=padding, stride=stride)
        return y.transpose(1, 2)

    def prepend(self, x, name):
        first = self.weight(name).expand(x.shape[0], 1, -1)
        return torch.cat([first, x], dim=1)

    def attention(self, q, k, v, valid, causal):
        if valid is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        mask = valid[:, None, None, :]
        if causal:
            shape = (q.shape[-2], k.shape[-2])
            mask = mask & torch.ones(shape, dtype=torch.bool, device=q.device).tril()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def biased_attention(self, q, k, v, bias, scale=None):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)

    def thirds(self, x):
        return x.chunk(3, dim=-1)

    def softmax(self, x, axis):
        return torch.softmax(x, dim=axis)

    def log_softmax(self, x):
        return torch.log_softmax(x, dim=-1)

    def normalize(self, x):
        return F.normalize(x, dim=-1, eps=1e-12)

    def largest(self, x, axes):
        return x.amax(axes, keepdim=True)

    def constant(self, make, *arguments):
        """What `make` computes in NumPy, once: the first run leaves it in a buffer."""
        name = "/".join([make.__name__, *map(str, arguments)]).replace(".", ",")
        if name not in self._buffers:
            tensor = torch.from_numpy(make(*arguments)).to(next(self.parameters()).device)
            self.register_buffer(name, tensor, persistent=False)
        return self._buffers[name]

    def roll(self, x, shifts, axes):
        return torch.roll(x, shifts, axes)

    def repeat(self, x, times):
        return x.repeat(times, *[1] * (x.dim() - 1)) if times > 1 else x

    def repeat_heads(self, x, times):
        """[batch, G, N, width] -> [batch, G * times, N, width], each one in turn"""
        return x.repeat_interleave(times, dim=1) if times > 1 else x

    def concat(self, parts, axis=-1):
        return torch.cat(parts, dim=axis)

    def stack(self, parts, axis):
        return torch.stack(parts, dim=axis)

    def integers(self, x):
        return x.long()

    def float32(self, x):
        return x.float()

    def in_type_of(self, x, like):
        return x.to(like.dtype)

    def gelu_tanh(self, x):
        return F.gelu(x, approximate="tanh")

    gelu = staticmethod(F.gelu)
    relu = staticmethod(F.relu)
    silu = staticmethod(F.silu)
    where = staticmethod(torch.where)
    exp = staticmethod(torch.exp)
    tanh = staticmethod(torch.tanh)
    sigmoid = staticmethod(torch.sigmoid)
