# ===- test_text_folders.py - Folders of encoders of text ------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Families of text encoders (test_folder_families.py has a folder of every class), and what is special of them."""

import json

import nomic_bert
import numpy as np
import pytest
from harness import run_program
from saved_folders import (
    LABELS,
    Family,
    build,
    check_saved,
    compile_folder,
    library_results,
    name_of,
    save,
    texts,
)

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


# As published: both terms of position with the matrices of the content, and distances in buckets.
DEBERTA = TEXT | {"relative_attention": True, "position_buckets": 4, "norm_rel_ebd": "layer_norm", "share_att_key": True,
                  "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "pad_token_id": 0}  # fmt: skip
NOMIC = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": 300, "n_positions": 40, "vocab_size": 120, "id2label": LABELS,
         "activation_function": "swiglu", "rotary_emb_fraction": 1.0, "rotary_emb_base": 1000, "qkv_proj_bias": False,
         "mlp_fc1_bias": False, "mlp_fc2_bias": False}  # fmt: skip


def typed(config):
    return texts(config, config.type_vocab_size > 1)


def typed_if_any(config):
    return texts(config, config.type_vocab_size > 0)


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
    Family(
        "DebertaV2", DEBERTA, CLASSES,
        [*({"pos_att_type": kind} for kind in ("c2p", "p2c", "c2p|p2c", "p2p", None)), {"pos_att_type": ["c2p"]}, {"pos_att_type": []},
         *({"share_att_key": False} | kind for kind in ({}, {"pos_att_type": ["c2p"]}, {"pos_att_type": ["p2c"]})),
         *({"position_buckets": count} for count in (-1, 3, 8, 32)), {"max_relative_positions": 5}, {"max_relative_positions": 20},
         {"position_buckets": -1, "max_relative_positions": 5}, {"norm_rel_ebd": "none"}, {"norm_rel_ebd": "layer_norm|other"},
         {"relative_attention": False}, {"position_biased_input": True}, {"type_vocab_size": 2}, {"type_vocab_size": 1},
         *({"conv_kernel_size": 3} | kind for kind in ({}, {"conv_act": "gelu"}, {"conv_groups": 2}, {"conv_kernel_size": 5})),
         {"embedding_size": 32}, {"hidden_act": "relu"}, {"hidden_act": "mish"}, {"num_attention_heads": 8},
         {"layer_norm_eps": 1e-2}, {"intermediate_size": 32}, {"pad_token_id": 3}, {"max_position_embeddings": 16},
         {"pooler_hidden_act": "relu"}, {"legacy": False}, {"tie_word_embeddings": False}],
        typed_if_any,
        only_valid=True,
    ),
    Family(
        "NomicBert", NOMIC, ["Model", "ForSequenceClassification", "ForPreTraining"],
        [*({"activation_function": kind} for kind in ("gelu", "gelu_new", "geglu", "glu", "relu")), {"n_inner": None},
         {"n_inner": 96}, {"mlp_fc1_bias": True}, {"mlp_fc1_bias": True, "mlp_fc2_bias": True}, {"qkv_proj_bias": True},
         {"activation_function": "gelu_new", "n_inner": None}, {"type_vocab_size": 0}, {"type_vocab_size": 1},
         *({"rotary_emb_fraction": part} for part in (0.0, 0.3, 0.5)), {"rotary_emb_fraction": 0.0, "rotary_emb_interleaved": True},
         {"rotary_emb_interleaved": True}, {"rotary_emb_base": 50.0}, {"rotary_emb_scale_base": 512},
         {"rotary_scaling_factor": 2, "max_trained_positions": 8}, {"rotary_scaling_factor": 2}, {"pad_vocab_size_multiple": 64},
         {"n_head": 8}, {"n_layer": 3}, {"layer_norm_epsilon": 1e-2}, {"prenorm": True}, {"causal": True}, {"use_rms_norm": True},
         {"parallel_block": True}, {"num_experts": 8}, {"norm_mlp": True},
         {"hidden_size": 64, "hidden_act": "silu", "head_dim": 16, "rope_parameters": {"rope_theta": 1000.0, "rope_type": "default"}},
         {"hidden_size": 32}, {"hidden_act": "gelu"}],
        typed_if_any,
        library=nomic_bert,
    ),
]  # fmt: skip


HEADS = [
    ("DebertaV2", "ForMaskedLM", {"legacy": False, "tie_word_embeddings": False}),
    ("DebertaV2", "ForMaskedLM", {"embedding_size": 32}),
    ("DebertaV2", "ForSequenceClassification", {"pooler_hidden_act": "tanh"}),
    ("DebertaV2", "ForSequenceClassification", {"conv_kernel_size": 3, "conv_act": "gelu"}),
    ("NomicBert", "ForPreTraining", {"activation_function": "gelu_new", "mlp_fc1_bias": True, "mlp_fc2_bias": True}),
    ("NomicBert", "ForPreTraining", {"activation_function": "geglu", "pad_vocab_size_multiple": 64}),
]


@pytest.mark.parametrize("prefix, kind, changed", HEADS, ids=name_of)
def test_heads(prefix, kind, changed, scratch):
    """What decides a head alone, which the first class of a family has not."""
    family = next(family for family in FAMILIES if family.prefix == prefix)
    check_saved(family, build(family, kind, **changed), scratch)


@pytest.mark.parametrize("prefix", ["DebertaV2", "NomicBert"])
def test_sentence_encoder(prefix, scratch):
    """Modules beside the model: the mean of the tokens that are no padding, at unit length."""
    family = next(family for family in FAMILIES if family.prefix == prefix)
    model = build(family, "Model")
    folder = scratch / "folder"
    save(model, folder)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
               for i, (path, kind) in enumerate(kinds.items())]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}))
    given = family.inputs(model.config)
    done = compile_folder(folder, scratch / "program", given)
    assert done.returncode == 0, done.stderr
    states, rows = library_results(family, model, given)["hidden"], given["mask"][:, :, None]
    want = (states * rows).sum(1) / rows.sum(1)
    want /= np.linalg.norm(want, axis=-1, keepdims=True)
    got = run_program(scratch / "program", given, scratch)["embedding"]
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
