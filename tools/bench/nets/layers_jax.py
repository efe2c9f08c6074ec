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
        return normed * self.weights[f"{path}.gain"] + self.weights[f"{path}.bias"]

    def embedding(self, ids, name):
        return self.weights[name][ids]

    def patches(self, image, path, patch):
        batch, channels, height, width = image.shape
        rows, columns = height // patch, width // patch
        x = image.reshape(batch, channels, rows, patch, columns, patch)
        x = x.transpose(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns, -1)
        return self.linear(x, path)

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

    def biased_attention(self, q, k, v, bias):
        score = jnp.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5 + bias
        return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(score, -1), v)

    def thirds(self, x):
        return jnp.split(x, 3, axis=-1)

    def softmax(self, x, axis):
        return jax.nn.softmax(x, axis)

    def constant(self, array):
        return jnp.asarray(array)

    def roll(self, x, shifts, axes):
        return jnp.roll(x, shifts, axes)

    def repeat(self, x, times):
        return jnp.concatenate([x] * times)

    def concat(self, parts):
        return jnp.concatenate(parts, axis=-1)

    def gelu(self, x):
        return jax.nn.gelu(x, approximate=False)

    relu = staticmethod(jax.nn.relu)
    exp = staticmethod(jnp.exp)
    tanh = staticmethod(jnp.tanh)
    sigmoid = staticmethod(jax.nn.sigmoid)
