# ===- layers_numpy.py - Layers in NumPy -------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The layers of tools/bench/nets in float64, by their definitions.

The networks of the benchmark run on them without a framework.
"""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


class Layers:
    def __init__(self, weights):
        self.weights = {name: array.astype(np.float64) for name, array in weights.items()}

    def has(self, name):
        return name in self.weights

    def weight(self, name):
        return self.weights[name]

    def linear(self, x, path):
        y = x @ self.weights.get(f"{path}.weight", self.weights.get(path))
        return y + self.weights.get(f"{path}.bias", 0.0)

    def tied(self, x, name):
        return x @ self.weights[name].T

    def layer_norm(self, x, path, eps):
        centred = x - x.mean(-1, keepdims=True)
        normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
        return normed * self.weights[f"{path}.gain"] + self.weights.get(f"{path}.bias", 0.0)

    def rms_norm(self, x, path, eps):
        square = (x**2).mean(-1, keepdims=True)
        return x / np.sqrt(square + eps) * self.weights[f"{path}.gain"]

    def embedding(self, ids, name):
        return self.weights[name][ids]

    def unfold(self, image, kernel, stride, padding):
        rim = (padding, padding)
        image = np.pad(image, ((0, 0), (0, 0), rim, rim))
        places = [
            image[:, :, top : top + kernel, left : left + kernel].reshape(len(image), -1)
            for top in range(0, image.shape[2] - kernel + 1, stride)
            for left in range(0, image.shape[3] - kernel + 1, stride)
        ]
        return np.stack(places, axis=1)

    def convolution(self, image, path, kernel, stride, padding):
        return self.linear(self.unfold(image, kernel, stride, padding), path)

    def patches(self, image, path, patch):
        return self.convolution(image, path, patch, patch, 0)

    def prepend(self, x, name):
        first = np.broadcast_to(self.weights[name], (len(x), 1, x.shape[2]))
        return np.concatenate([first, x], axis=1)

    def attention(self, q, k, v, valid, causal):
        bias = np.zeros((1, 1, q.shape[2], k.shape[2]))
        if valid is not None:
            bias = np.where(valid[:, None, None, :], bias, -np.inf)
        if causal:
            bias = np.where(np.tri(*bias.shape[2:], dtype=bool), bias, -np.inf)
        return self.biased_attention(q, k, v, bias)

    def biased_attention(self, q, k, v, bias, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        return self.softmax(q @ k.swapaxes(-2, -1) * scale + bias, -1) @ v

    def thirds(self, x):
        return np.split(x, 3, axis=-1)

    def softmax(self, x, axis):
        powers = np.exp(x - x.max(axis, keepdims=True))
        return powers / powers.sum(axis, keepdims=True)

    def log_softmax(self, x):
        return np.log(self.softmax(x, -1))

    def normalize(self, x):
        return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)

    def largest(self, x, axes):
        return x.max(axes, keepdims=True)

    def constant(self, make, *arguments):
        return make(*arguments)

    def roll(self, x, shifts, axes):
        return np.roll(x, shifts, axes)

    def repeat(self, x, times):
        return np.concatenate([x] * times)

    def repeat_heads(self, x, times):
        """[batch, G, N, width] -> [batch, G * times, N, width], each one in turn"""
        return np.repeat(x, times, axis=1)

    def concat(self, parts, axis=-1):
        return np.concatenate(parts, axis=axis)

    def stack(self, parts, axis):
        return np.stack(parts, axis=axis)

    def integers(self, x):
        return x.astype(np.int64)

    def float32(self, x):
        return x

    def in_type_of(self, x, like):
        return x.astype(like.dtype)

    def gelu(self, x):
        return x * 0.5 * (1 + erf(x / math.sqrt(2)))

    def gelu_tanh(self, x):
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + np.tanh(inner))

    def relu(self, x):
        return np.maximum(x, 0)

    def sigmoid(self, x):
        return 1 / (1 + np.exp(-x))

    def silu(self, x):
        return x * self.sigmoid(x)

    where = staticmethod(np.where)
    exp = staticmethod(np.exp)
    tanh = staticmethod(np.tanh)
