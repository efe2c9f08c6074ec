# ===- test_folder_sentences.py - Folders of sentence-transformers ---------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Encoders of sentences as sentence-transformers saves them, with linear layers behind the pooling, become programs
with its embeddings, f32 within 1e-5 of the largest value: padded batches, random weights."""

import numpy as np
import pytest
import sentence_transformers
import test_folders
import test_text_folders
import torch
import transformers
from harness import run_program
from saved_folders import NAMED, Family, build, compile_folder, name_of, save, texts
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers import Tokenizer, models
from torch import nn
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

FAMILIES = [
    *(Family(prefix, test_folders.TEXT | more, ["Model"], inputs=lambda config: texts(config, True))
      for prefix, more in {"Bert": {}, "Electra": {"embedding_size": 32}}.items()),
    *test_text_folders.FAMILIES,
]  # fmt: skip

for family in FAMILIES:
    if family.library is not transformers:
        config = getattr(family.library, f"{family.prefix}Config")
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModel.register(config, getattr(family.library, f"{family.prefix}Model"), exist_ok=True)


def dense(inputs, outputs, function=None, bias=True):
    layer = Dense(inputs, outputs, bias=bias, **({} if function is None else {"activation_function": function}))
    with torch.no_grad():
        layer.linear.weight.mul_(2)
    return layer


# What follows the encoder, of its width.
FORMS = {
    "mean": lambda width: [Pooling(width, pooling_mode="mean"), dense(width, 24)],
    "first, two": lambda width: [
        Pooling(width, pooling_mode="cls"),
        dense(width, 96, nn.Identity(), bias=False),
        dense(96, 24, nn.GELU()),
        Normalize(),
    ],
}


def saved_encoder(family, form, scratch):
    """What sentence-transformers makes of an encoder that transformers has saved."""
    torch.manual_seed(0)
    save(build(family, family.kinds[0]), scratch / "encoder")
    words = {f"w{i}": i for i in range(family.keys["vocab_size"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w0"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="w1").save_pretrained(scratch / "encoder")
    encoder = Transformer(str(scratch / "encoder"))
    width = encoder.get_embedding_dimension()
    made = sentence_transformers.SentenceTransformer(modules=[encoder, *FORMS[form](width)], device="cpu")
    made.save(str(scratch / "folder"), safe_serialization=True)
    return sentence_transformers.SentenceTransformer(str(scratch / "folder"), device="cpu").eval()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_embeddings(family, form, scratch):
    encoder = saved_encoder(family, form, scratch)
    given = family.inputs(encoder[0].auto_model.config)
    done = compile_folder(scratch / "folder", scratch / "program", given)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    passed = {NAMED[name]: torch.from_numpy(value).long() for name, value in given.items()}
    with torch.no_grad():
        want = encoder.double()(passed)["sentence_embedding"].numpy()
    got = run_program(scratch / "program", given, scratch)["embedding"]
    assert got.shape == want.shape == (len(want), 24)
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
