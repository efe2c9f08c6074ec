# ===- test_transformer.py - torch.nn.Transformer ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The base Transformer around torch.nn.Transformer, with random weights."""

import math

import numpy as np
import torch
from harness import (
    assert_policy,
    compile_model,
    in_both_precisions,
    randomise,
    run_program,
    save_weights,
)
from torch import nn

WIDTH, VOCAB, BATCH, SOURCE, TARGET, PAD = 512, 37000, 2, 23, 17, 0


def sinusoid(length, width):
    """Interleaved sines and cosines [length, width] in float64."""
    angle = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(length, width)
    return torch.from_numpy(table)


class Translator(nn.Module):
    """One table for both sides and the output, embeddings scaled by sqrt(width)."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.transformer = nn.Transformer(
            WIDTH, 8, 6, 6, 2048, dropout=0.0, batch_first=True
        )

    def embed(self, tokens):
        table = self.embedding.weight
        # Positions are stored in float32 by the definition of the operator.
        positions = sinusoid(tokens.shape[1], WIDTH).float().to(table.dtype)
        return self.embedding(tokens) * math.sqrt(WIDTH) + positions

    def forward(self, source, target):
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=later,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return hidden @ self.embedding.weight.T


def padded(length, seed):
    tokens = np.random.RandomState(seed).randint(1, VOCAB, (BATCH, length))
    tokens[1, length - 5 :] = PAD
    return tokens.astype(np.int32)


def test_same_logits(scratch):
    model = randomise(Translator(), seed=5)
    with torch.no_grad():
        model.embedding.weight.mul_(2 / math.sqrt(WIDTH))
    save_weights(model.state_dict(), scratch / "model.safetensors")
    source, target = padded(SOURCE, 1), padded(TARGET, 2)

    def logits(m):
        # The fused inference path of the encoder drops padding rows; autograd on
        # keeps the plain one, which computes every row.
        with torch.enable_grad():
            result = m(torch.from_numpy(source).long(), torch.from_numpy(target).long())
        return result.detach()

    single, double = in_both_precisions(logits, model)
    program, said = compile_model(
        "transformer_base",
        scratch / "model.safetensors",
        scratch,
        [f"batch={BATCH}", f"src_len={SOURCE}", f"tgt_len={TARGET}"],
    )
    assert "torch" in said
    outputs = run_program(program, {"source": source, "target": target}, scratch)
    assert_policy(outputs["logits"], single, double, "logits")
