# ===- test_text_folders.py - Folders of encoders of text ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A folder of every class of every family of text encoders: hidden states of padded batches and each task, f32
within 1e-5 of the largest value; then keys of the configuration changed, right or refused."""

import pytest
from saved_folders import LABELS, Family, build, cases, changes, check_right_or_refused, check_saved, name_of, texts

TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "vocab_size": 120,
    "max_position_embeddings": 40,
    "id2label": LABELS,
}
CLASSES = ["Model", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM"]

# Positions are counted after padding's, which tokens may have too.
ROBERTA = TEXT | {"pad_token_id": 1, "layer_norm_eps": 1e-5}
ROBERTA_CHANGES = [
    *({"hidden_act": kind} for kind in ("relu", "gelu_new", "silu")),
    *({"pad_token_id": pad} for pad in (0, 4)),
    *({key: value} for key, value in {"num_attention_heads": 8, "layer_norm_eps": 1e-2, "type_vocab_size": 1, "hidden_size": 32,
                                      "intermediate_size": 32, "num_hidden_layers": 3, "position_embedding_type": "relative_key",
                                      "is_decoder": True, "tie_word_embeddings": False, "max_position_embeddings": 16}.items()),
]


T5 = {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4, "vocab_size": 120,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20}  # fmt: skip


def typed(config):
    return texts(config, config.type_vocab_size > 1)


FAMILIES = [
    Family("Roberta", ROBERTA, CLASSES, ROBERTA_CHANGES, typed),
    Family("XLMRoberta", ROBERTA | {"type_vocab_size": 1}, CLASSES, ROBERTA_CHANGES[:3], typed),
    Family("Camembert", ROBERTA, CLASSES[:2], [], typed),
    Family(
        "MPNet", TEXT | {"pad_token_id": 1}, CLASSES,
        [{"hidden_act": "relu"}, {"hidden_act": "silu"}, {"num_attention_heads": 8}, {"layer_norm_eps": 1e-2},
         {"relative_attention_num_buckets": 16}, {"pad_token_id": 3}, {"intermediate_size": 32}, {"tie_word_embeddings": False}],
        texts,
    ),
    Family(
        "T5", T5, ["EncoderModel"],
        [*({"feed_forward_proj": kind} for kind in ("gated-gelu", "gated-relu", "gelu", "gated-silu")),
         {"relative_attention_num_buckets": 16}, {"relative_attention_max_distance": 8}, {"layer_norm_epsilon": 1e-2},
         {"d_kv": 8}, {"num_heads": 2}, {"d_ff": 32}, {"num_layers": 3}],
        texts,
    ),
    Family("MT5", T5, ["EncoderModel"], [{"feed_forward_proj": "relu"}], texts),
    Family(
        "DistilBert",
        {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 96, "vocab_size": 120,
         "max_position_embeddings": 40, "id2label": LABELS},
        CLASSES,
        [{"activation": "relu"}, {"activation": "gelu_new"}, {"activation": "silu"}, {"n_heads": 8}, {"n_layers": 3},
         {"hidden_dim": 32}, {"sinusoidal_pos_embds": True}, {"max_position_embeddings": 12}, {"pad_token_id": 3},
         {"tie_word_embeddings": False}, {"is_decoder": True}],
        texts,
    ),
    Family(
        "ModernBert",
        TEXT | {"global_attn_every_n_layers": 2, "local_attention": 5, "num_hidden_layers": 3, "pad_token_id": 0,
                "eos_token_id": 1, "bos_token_id": 2, "cls_token_id": 2, "sep_token_id": 3},
        CLASSES,
        [{"hidden_activation": "relu"}, {"hidden_activation": "silu"}, {"classifier_activation": "relu"},
         {"num_attention_heads": 8}, {"intermediate_size": 64}, {"norm_eps": 1e-2}, {"norm_bias": True},
         {"attention_bias": True}, {"mlp_bias": True}, {"global_attn_every_n_layers": 3}, {"local_attention": 2},
         {"global_rope_theta": 100.0}, {"local_rope_theta": 100.0}, {"local_rope_theta": None}, {"pad_token_id": 4},
         {"sparse_prediction": True}],
        texts,
        only_valid=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("family, kind", cases(FAMILIES), ids=name_of)
def test_saved_folder(family, kind, scratch):
    check_saved(family, build(family, kind), scratch)


@pytest.mark.parametrize("family, changed", changes(FAMILIES), ids=name_of)
def test_changed_key_is_right_or_refused(family, changed, scratch):
    check_right_or_refused(family, changed, scratch)
