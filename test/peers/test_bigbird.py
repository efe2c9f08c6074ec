# ===- test_bigbird.py - BigBird of transformers ------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""BigBird-base with random weights.

In evaluation the library's table of random blocks is all zeros: block 0 counts 1 + r
times. In training it draws blocks from the number of the layer, for the last rows some that
are seen anyway, which count again. The library
zeroes what padding tokens become in each layer, hova does not: both are compared where
tokens count.
"""

import numpy as np
import torch
from harness import randomise
from transformers import BigBirdConfig, BigBirdModel

DEPTH, BLOCK, RANDOM = 12, 64, 3


def bigbird(**settings):
    config = BigBirdConfig(
        vocab_size=50358,
        num_hidden_layers=DEPTH,
        attention_type="block_sparse",
        block_size=BLOCK,
        num_random_blocks=RANDOM,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **settings,
    )
    return randomise(BigBirdModel(config), seed=11)


def token_inputs(batch, length, lengths):
    """Random ids, two segments, and rows that are full and padded."""
    random = np.random.RandomState(0)
    valid = np.arange(length) < np.array(lengths)[:, None]
    tokens = random.randint(100, 50358, (batch, length)) * valid
    types = np.broadcast_to(np.arange(length) >= length // 3, (batch, length))
    return tokens.astype(np.int32), valid, types.astype(np.int32)


def encode(tokens, valid, types):
    def compute(model):
        result = model(
            input_ids=torch.from_numpy(tokens).long(),
            attention_mask=torch.from_numpy(valid).to(next(model.parameters()).dtype),
            token_type_ids=torch.from_numpy(types).long(),
        )
        return {"hidden": result.last_hidden_state, "pooled": result.pooler_output}

    return compute


def as_inputs(tokens, valid, types):
    return {"tokens": tokens, "mask": valid, "types": types}


def test_checkpoint(compare):
    """13 blocks, of which the last has 22 tokens."""
    given = token_inputs(1, 790, [790])
    compare(
        "bigbird_base",
        bigbird(),
        "transformers BigBirdModel, block_sparse",
        as_inputs(*given),
        encode(*given),
        settings=["length=790"],
        source="transformers",
    )


def drawn_table(attention, length):
    """[heads, blocks - 2, r], as the library draws it for this layer in training."""
    np.random.seed(attention.seed)
    plan, counts = attention._get_rand_attn_plan(length, BLOCK, RANDOM)
    table = attention._bigbird_block_rand_mask_with_head(
        length, length, BLOCK, BLOCK, attention.num_attention_heads, plan, counts
    )
    return torch.from_numpy(np.stack(table)).int()


def under_our_names(model, length):
    """The weights by the names of the description, with the tables of training."""
    embeddings = model.embeddings
    norm = lambda at, m: {f"{at}.gain": m.weight, f"{at}.bias": m.bias}  # noqa: E731
    linear = lambda at, m: {f"{at}.weight": m.weight.T, f"{at}.bias": m.bias}  # noqa: E731
    named = {
        "words.weight": embeddings.word_embeddings.weight,
        "kinds.weight": embeddings.token_type_embeddings.weight,
        "placed.weight": embeddings.position_embeddings.weight,
        **norm("norm", embeddings.LayerNorm),
        **linear("pooler", model.pooler),
    }
    for i, layer in enumerate(model.encoder.layer):
        at, attention = f"encoder.{i}", layer.attention
        for part in ("query", "key", "value"):
            named |= linear(f"{at}.attn.{part}", getattr(attention.self, part))
        named |= linear(f"{at}.attn.output", attention.output.dense)
        named |= norm(f"{at}.norm1", attention.output.LayerNorm)
        named |= linear(f"{at}.ffn.hidden", layer.intermediate.dense)
        named |= linear(f"{at}.ffn.output", layer.output.dense)
        named |= norm(f"{at}.norm2", layer.output.LayerNorm)
        named[f"{at}.attn.random_table"] = drawn_table(attention.self, length)
    return named


def test_drawn_tables(compare):
    length = 13 * BLOCK
    model = bigbird().train()
    given = token_inputs(1, length, [length])
    compare(
        "bigbird_base",
        model,
        "transformers BigBirdModel, block_sparse, in training",
        as_inputs(*given),
        encode(*given),
        settings=[f"length={length}", "repeats=count"],
        weights=under_our_names(model, length),
    )
