# ===- layers_jax.py - Layers in JAX ----------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The layers that the families use, as a JAX user would write them."""

import jax
import jax.numpy as jnp


class Layers:
    """Layers over a dictionary of weights, which may be traced."""

    def __init__(self, weights):
        self.weights = weights

    def has(self, name):
        return name in self.weights

    def weight(self, name):
        return self.weights[name]

    def linear(self, x, path):
        matrix = self.weights.get(f"{path}.weight")
        y = x @ (self.weights[path] if matrix is None else matrix)
        return y + self.weights[f"{path}.bias"] if self.has(f"{path}.bias") else y

    def tied(self, x, name):
        return x @ self.weights[name].T

    def layer_norm(self, x, path, eps):
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        normed = (x - mean) * jax.lax.rsqrt(variance + eps)
        normed = normed * self.weights[f"{path}.gain"]
        return normed + self.weights[f"{path}.bias"] if self.has(f"{path}.bias") else normed

    def rms_norm(self, x, path, eps):
        scale = jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + eps)
        return x * scale * self.weights[f"{path}.gain"]

    def embedding(self, ids, name):
        return self.weights[name][ids]

    def patches(self, image, path, patch):
        batch, channels, height, width = image.shape
        rows, columns = height // patch, width // patch
        x = image.reshape(batch, channels, rows, patch, columns, patch)
        x = x.transpose(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns, -1)
        return self.linear(x, path)

    def convolution(self, image, path, kernel, stride, padding):
        matrix = self.weights[f"{path}.weight"]
        weight = matrix.T.reshape(matrix.shape[1], image.shape[1], kernel, kernel)
        rims = [(padding, padding)] * 2
        y = jax.lax.conv_general_dilated(image, weight, (stride, stride), rims)
        y = y.reshape(*y.shape[:2], -1).swapaxes(1, 2)
        return y + self.weights[f"{path}.bias"]

    def unfold(self, image, kernel, stride, padding):
        rims = [(padding, padding)] * 2
        shape, strides = (kernel, kernel), (stride, stride)
        y = jax.lax.conv_general_dilated_patches(image, shape, strides, rims)
        return y.reshape(*y.shape[:2], -1).swapaxes(1, 2)

    def prepend(self, x, name):
        first = jnp.broadcast_to(self.weights[name], (x.shape[0], 1, x.shape[2]))
        return jnp.concatenate([first, x], axis=1)

    def attention(self, q, k, v, valid, causal):
        score = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        if valid is not None:
            score = jnp.where(valid[:, None, None, :], score, -jnp.inf)
        if causal:
            seen = jnp.tril(jnp.ones(score.shape[-2:], bool))
            score = jnp.where(seen, score, -jnp.inf)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(score, -1), v)

    def biased_attention(self, q, k, v, bias, scale=None):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        score = jnp.einsum("...qd,...kd->...qk", q, k) * scale + bias
        return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(score, -1), v)

    def thirds(self, x):
        return jnp.split(x, 3, axis=-1)

    def softmax(self, x, axis):
        return jax.nn.softmax(x, axis)

    def log_softmax(self, x):
        return jax.nn.log_softmax(x)

    def normalize(self, x):
        length = jnp.sqrt(jnp.square(x).sum(-1, keepdims=True))
        return x / jnp.maximum(length, 1e-12)

    def largest(self, x, axes):
        return x.max(axes, keepdims=True)

    def constant(self, make, *arguments):
        """What `make` computes in NumPy, as a constant of the compiled function."""
        return jnp.asarray(make(*arguments))

    def roll(self, x, shifts, axes):
        return jnp.roll(x, shifts, axes)

    def repeat(self, x, times):
        return jnp.concatenate([x] * times)

    def repeat_heads(self, x, times):
        """[batch, G, N, width] -> [batch, G * times, N, width], each one in turn"""
        return jnp.repeat(x, times, axis=1)

    def concat(self, parts, axis=-1):
        return jnp.concatenate(parts, axis=axis)

    def stack(self, parts, axis):
        return jnp.stack(parts, axis=axis)

    def integers(self, x):
        return x.astype(jnp.int32)

    def float32(self, x):
        return x

    def in_type_of(self, x, like):
        return x.astype(like.dtype)

    def gelu_tanh(self, x):
        return jax.nn.gelu(x, approximate=True)

    def gelu(self, x):
        return jax.nn.gelu(x, approximate=False)

    relu = staticmethod(jax.nn.relu)
    silu = staticmethod(jax.nn.silu)
    where = staticmethod(jnp.where)
    exp = staticmethod(jnp.exp)
    tanh = staticmethod(jnp.tanh)
    sigmoid = staticmethod(jax.nn.sigmoid)
