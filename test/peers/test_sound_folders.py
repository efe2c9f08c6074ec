# ===- test_sound_folders.py - Folders of encoders of sounds ---------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Families of encoders of sounds (test_folder_families.py has a folder of every class), and their sizes."""

import numpy as np
import pytest
import torch
import transformers
from saved_folders import (
    BATCH,
    LABELS,
    Family,
    build,
    call,
    check_program,
    compile_folder,
    numbers_in,
    parameters_of,
    save,
)

WHISPER = {
    "num_mel_bins": 10,
    "max_source_positions": 14,
    "d_model": 64,
    "encoder_layers": 3,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 96,
    "decoder_layers": 1,
    "decoder_attention_heads": 2,
    "decoder_ffn_dim": 40,
    "vocab_size": 60,
    "max_target_positions": 8,
    "classifier_proj_size": 24,
    "pad_token_id": 3,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "id2label": LABELS,
}


def sounds(config):
    random = np.random.RandomState(1)
    return {"features": random.randn(BATCH, config.num_mel_bins, 2 * config.max_source_positions).astype(np.float32)}


def encoder(model, passed):
    is_part = hasattr(model, "classifier")
    return call(model if is_part else model.get_encoder(), passed)


FAMILIES = [
    Family(
        "Whisper",
        WHISPER,
        ["ForAudioClassification", "Model", "ForConditionalGeneration"],
        [{"activation_function": "relu"}, {"activation_function": "gelu_new"}, {"activation_function": "silu"},
         {"activation_function": "tanh"}, {"num_mel_bins": 16}, {"max_source_positions": 17}, {"encoder_layers": 2},
         {"encoder_layers": 1}, {"encoder_attention_heads": 8}, {"encoder_ffn_dim": 48}, {"d_model": 32}, {"decoder_layers": 2},
         {"scale_embedding": True}, {"classifier_proj_size": 40}, {"use_weighted_layer_sum": True},
         {"use_weighted_layer_sum": True, "encoder_layers": 1}, {"apply_spec_augment": True}, {"median_filter_width": 3},
         {"is_encoder_decoder": False}, {"tie_word_embeddings": False}],
        sounds,
        compute=encoder,
    ),
]  # fmt: skip


def sizes(width, layers, **more):
    heads = {"encoder_attention_heads": width // 64, "decoder_attention_heads": width // 64}
    return {"d_model": width, "encoder_layers": layers, "encoder_ffn_dim": 4 * width} | heads | more


PUBLISHED = {
    "tiny": sizes(384, 4),
    "base": sizes(512, 6),
    "small": sizes(768, 12),
    "medium": sizes(1024, 24),
    "large-v3": sizes(1280, 32, num_mel_bins=128),
}


@pytest.mark.parametrize("size", PUBLISHED)
def test_parameters_of_published_sizes(size, scratch):
    config = transformers.WhisperConfig(**PUBLISHED[size])
    config.architectures = ["WhisperForConditionalGeneration"]
    with torch.device("meta"):
        encoder = transformers.WhisperModel(config).encoder
    assert parameters_of(config, scratch) == numbers_in(encoder)


def test_folder_with_what_makes_features_of_samples(scratch):
    model = build(FAMILIES[0], "Model")
    save(model, scratch / "folder")
    transformers.WhisperFeatureExtractor(feature_size=10, chunk_length=1).save_pretrained(scratch / "folder")
    done = compile_folder(scratch / "folder", scratch / "program", sounds(model.config))
    assert done.returncode == 0, done.stderr
    check_program(FAMILIES[0], model, scratch)
