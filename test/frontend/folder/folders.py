# ===- folders.py - Small folders of models, and what they compute --------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Folders as libraries save them, made by hand, and BERT in NumPy (float64), which shares nothing with hova.

Gains are away from 1 and biases away from 0, so that one which is not read is seen.
"""

import json
import math
import os
import subprocess
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

SOURCE = Path(__file__).resolve().parents[3]
HOVA = Path(os.environ.get("HOVA_BUILD", SOURCE / "build")) / "bin/hova"

# What the library writes for a small model, keys that no inference reads included.
CONFIG = {
    "_name_or_path": "small",
    "architectures": ["BertModel"],
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 32,
    "initializer_range": 0.02,
    "intermediate_size": 48,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 24,
    "model_type": "bert",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
    "torch_dtype": "float32",
    "transformers_version": "4.46.3",
    "type_vocab_size": 2,
    "use_cache": True,
    "vocab_size": 50,
}
BATCH, LENGTH = 3, 12


def hova(*words):
    return subprocess.run([HOVA, *words], capture_output=True, text=True, check=False)


def tensors(config, seed=0):
    """The tensors of BERT with every head, random."""
    random = np.random.RandomState(seed)
    width, hidden = config["hidden_size"], config["intermediate_size"]
    made = {}

    def matrix(name, rows, columns):
        made[f"{name}.weight"] = random.randn(rows, columns) * (1.5 / math.sqrt(columns))
        made[f"{name}.bias"] = random.randn(rows) * 0.5

    def norm(name):
        made[f"{name}.weight"] = 1 + random.randn(width) * 0.5
        made[f"{name}.bias"] = random.randn(width) * 0.5

    for name, rows in {
        "word": config["vocab_size"],
        "position": config["max_position_embeddings"],
        "token_type": config["type_vocab_size"],
    }.items():
        made[f"embeddings.{name}_embeddings.weight"] = random.randn(rows, width)
    norm("embeddings.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for role in ("query", "key", "value"):
            matrix(f"{layer}.attention.self.{role}", width, width)
        matrix(f"{layer}.attention.output.dense", width, width)
        norm(f"{layer}.attention.output.LayerNorm")
        matrix(f"{layer}.intermediate.dense", hidden, width)
        matrix(f"{layer}.output.dense", width, hidden)
        norm(f"{layer}.output.LayerNorm")
    matrix("pooler.dense", width, width)
    made = {f"bert.{name}": value for name, value in made.items()}
    matrix("classifier", 3, width)
    matrix("cls.predictions.transform.dense", width, width)
    norm("cls.predictions.transform.LayerNorm")
    made["cls.predictions.bias"] = random.randn(config["vocab_size"]) * 0.5
    return {name: value.astype(np.float32) for name, value in made.items()}


def write_folder(folder, config, weights, **files):
    """`files` are further ones by their paths, as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    if weights is not None:
        save_file(weights, folder / "model.safetensors")
    for path, value in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(json.dumps(value, indent=2))
    return folder


def write_shards(folder, config, weights):
    """Two files of tensors and their index."""
    write_folder(folder, config, None)
    names = sorted(weights)
    where = {}
    for i in range(2):
        part = names[i::2]
        file = f"model-0000{i + 1}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, folder / file)
        where |= {name: file for name in part}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def inputs(config):
    """Random ids, two segments, and rows that are full, padded, and one token long."""
    random = np.random.RandomState(7)
    lengths = np.array([LENGTH, LENGTH - 5, 1])
    mask = np.arange(LENGTH) < lengths[:, None]
    return {
        "tokens": random.randint(0, config["vocab_size"], (BATCH, LENGTH)).astype(np.int32),
        "mask": mask,
        "types": (np.arange(LENGTH) >= lengths[:, None] // 2).astype(np.int32),
    }


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_tanh, "relu": lambda x: np.maximum(x, 0)}


class Bert:
    def __init__(self, config, weights, prefix="bert."):
        self.config, self.prefix = config, prefix
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self.activation = ACTIVATIONS[config["hidden_act"]]

    def get(self, name):
        return self.weights[name if name in self.weights else self.prefix + name]

    def linear(self, x, name):
        return x @ self.get(f"{name}.weight").T + self.get(f"{name}.bias")

    def norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        root = np.sqrt((centred**2).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return centred / root * self.get(f"{name}.weight") + self.get(f"{name}.bias")

    def attention(self, x, mask, name):
        batch, length, width = x.shape
        heads = self.config["num_attention_heads"]

        def split(role):
            projected = self.linear(x, f"{name}.{role}")
            return projected.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        scores = np.where(mask[:, None, None], scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return (shares @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)

    def hidden(self, tokens, mask, types):
        x = self.get("embeddings.word_embeddings.weight")[tokens]
        x = x + self.get("embeddings.position_embeddings.weight")[: tokens.shape[1]]
        x = x + self.get("embeddings.token_type_embeddings.weight")[types]
        x = self.norm(x, "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}"
            attended = self.attention(x, mask, f"{layer}.attention.self")
            attended = self.linear(attended, f"{layer}.attention.output.dense")
            x = self.norm(x + attended, f"{layer}.attention.output.LayerNorm")
            inner = self.activation(self.linear(x, f"{layer}.intermediate.dense"))
            x = self.norm(x + self.linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        return x

    def compute(self, task, tokens, mask, types, pooling="mean", normalize=False):
        x = self.hidden(tokens, mask, types)
        if task == "hidden":
            return x
        if task == "embed":
            rows = mask[:, :, None]
            places = np.arange(1, x.shape[1] + 1)[None, :, None]
            shares = {
                "first": places == 1,
                "last": places == (places * rows).max(1, keepdims=True),
                "mean": rows,
                "weighted_mean": rows * places,
            }[pooling]
            vector = (x * shares).sum(1) / np.broadcast_to(shares, rows.shape).sum(1)
            length = np.linalg.norm(vector, axis=-1, keepdims=True) if normalize else 1
            return vector / length
        if task == "classify":
            return self.linear(np.tanh(self.linear(x[:, 0], "pooler.dense")), "classifier")
        if task == "tokens":
            return self.linear(x, "classifier")
        x = self.activation(self.linear(x, "cls.predictions.transform.dense"))
        x = self.norm(x, "cls.predictions.transform.LayerNorm")
        words = self.get("embeddings.word_embeddings.weight")
        return x @ words.T + self.get("cls.predictions.bias")


def run(program, given, folder):
    """What the program computes, by the name of the output."""
    words = [program, "--threads", "1", "--output-dir", folder]
    folder.mkdir(exist_ok=True)
    for name, value in given.items():
        np.save(folder / f"{name}.in.npy", value)
        words += ["--input", f"{name}={folder / name}.in.npy"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.stem: np.load(path) for path in folder.glob("*.npy") if ".in." not in path.name}


def rotations(folder, length, scratch):
    """The tables `cosines` and `sines` [length, pairs] that the description of a folder makes of its configuration."""
    done = hova("import", folder)
    assert done.returncode == 0, done.stderr
    model = json.loads(done.stdout)
    names = ("cosines", "sines")
    constants = [layer for layer in model["layers"] if layer.get("op") == "constant"]
    model = {
        "hova": 1,
        "name": "tables",
        "parameters": model["parameters"],
        "inputs": {"one": {"shape": ["length", "head_width//2"]}},
        "layers": constants + [{"name": f"read_{name}", "op": "multiply", "inputs": ["one", name]} for name in names],
        "outputs": {name: f"read_{name}" for name in names},
    }
    (scratch / "tables.json").write_text(json.dumps(model))
    done = hova("compile", scratch / "tables.json", f"--set=length={length}", "-o", scratch / "tables", "--march=x86-64-v3")
    assert done.returncode == 0, done.stderr
    config = json.loads((folder / "config.json").read_text())
    return run(scratch / "tables", {"one": np.ones((length, config["head_dim"] // 2), np.float32)}, scratch / "of_tables")
