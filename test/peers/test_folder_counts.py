# ===- test_folder_counts.py - How many parameters published models have ---------=== #
# SPDX-License-Identifier: Apache-2.0
"""Of a configuration at its published size, a description has as many parameters as the library's model, to the last
one. The library makes the model without memory, hova reads the folder without tensors.

The numbers here are those of the published models. What a description has no part for is named: it makes none of the
results.
"""

import json
import subprocess

import pytest
import torch
import transformers
from harness import HOVA

IMAGENET = {"num_labels": 1000}
ROBERTA = {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
SMOLLM = {
    "vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "max_position_embeddings": 2048, "tie_word_embeddings": True,
}  # fmt: skip
QWEN2 = {
    "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
    "num_key_value_heads": 2, "tie_word_embeddings": True,
}  # fmt: skip
QWEN3 = {
    "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True,
}  # fmt: skip
MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
# The class, its configuration where it is not the default, the parameters, what is left out by its names.
MODELS = {
    "bert-base-uncased": ("BertModel", {}, 109_482_240, "pooler."),
    "bert-base-uncased, words": ("BertForMaskedLM", {}, 109_514_298, ()),
    "all-MiniLM-L6-v2": ("BertModel", MINILM, 22_713_216, "pooler."),
    "electra-base-discriminator": (
        "ElectraModel",
        {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}, 108_891_648, (),
    ),
    "distilbert-base-uncased": ("DistilBertModel", {}, 66_362_880, ()),
    "roberta-base": ("RobertaModel", ROBERTA | {"vocab_size": 50265}, 124_645_632, "pooler."),
    "xlm-roberta-base": ("XLMRobertaModel", ROBERTA | {"vocab_size": 250002}, 278_043_648, "pooler."),
    "camembert-base": ("CamembertModel", ROBERTA | {"vocab_size": 32005}, 110_621_952, "pooler."),
    "mpnet-base": ("MPNetModel", {"max_position_embeddings": 514}, 109_486_464, "pooler."),
    "ModernBERT-base": ("ModernBertModel", {}, 149_014_272, ()),
    "t5-small, encoder": ("T5EncoderModel", {}, 35_330_816, ()),
    "mt5-small, encoder": ("MT5EncoderModel", {}, 146_940_608, ()),
    "gpt2": ("GPT2LMHeadModel", {}, 124_439_808, ()),
    "SmolLM-135M": ("LlamaForCausalLM", SMOLLM, 134_515_008, ()),
    "Llama-2-7b": ("LlamaForCausalLM", {}, 6_738_415_616, ()),
    "Mistral-7B-v0.1": ("MistralForCausalLM", {}, 7_241_732_096, ()),
    "Qwen2-0.5B": ("Qwen2ForCausalLM", QWEN2, 494_032_768, ()),
    "Qwen3-0.6B": ("Qwen3ForCausalLM", QWEN3, 596_049_920, ()),
    "gemma-2-2b": ("Gemma2ForCausalLM", {}, 2_614_341_888, ()),
    "vit-base-patch16-224": ("ViTForImageClassification", IMAGENET, 86_567_656, ()),
    "deit-base-distilled-patch16-224": ("DeiTForImageClassificationWithTeacher", IMAGENET, 87_338_192, ()),
    "dinov2-base": ("Dinov2Model", {"image_size": 518, "patch_size": 14}, 86_580_480, "embeddings.mask_token"),
    "dinov2-with-registers-base": ("Dinov2WithRegistersModel", {"image_size": 518, "patch_size": 14}, 86_583_552, "embeddings.mask_token"),
    "siglip-base-patch16-224": ("SiglipModel", {}, 203_155_970, ("logit_scale", "logit_bias")),
    "swin-tiny-patch4-window7-224": ("SwinForImageClassification", IMAGENET, 28_288_354, ()),
    "swinv2-tiny-patch4-window8-256": (
        "Swinv2ForImageClassification", IMAGENET | {"image_size": 256, "window_size": 8}, 28_347_154, (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_parameters_at_published_size(name, scratch):
    kind, keys, published, left_out = MODELS[name]
    model_class = getattr(transformers, kind)
    config = model_class.config_class(**keys)
    with torch.device("meta"):
        parameters = dict(model_class(config).named_parameters())
    assert sum(value.numel() for value in parameters.values()) == published
    config.architectures = [kind]
    config.save_pretrained(scratch)
    description = scratch / "model.json"
    for words in (["import", scratch, "-o", description], ["summary", description, "--format=json"]):
        done = subprocess.run([HOVA, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    ours = json.loads(done.stdout)["parameters"]
    missing = sum(value.numel() for path, value in parameters.items() if left_out and path.startswith(left_out))
    assert ours["trainable"] + ours["frozen"] == published - missing
