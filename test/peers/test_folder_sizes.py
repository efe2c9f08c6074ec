# ===- test_folder_sizes.py - Published sizes, and 16 bits ----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Models of published sizes have as many parameters as the library gives them, to the last one; small ones
of every family are within the numeric policy in bf16."""

import json
import subprocess

import pytest
import transformers
from harness import HOVA
from test_folders import FAMILIES, build, save
from transformers.modeling_utils import no_init_weights

MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
ELECTRA = {"embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024}
SMALL_DEIT = {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
CLASSES = {"id2label": {str(i): str(i) for i in range(1000)}}
SWIN_B = {"embed_dim": 128, "depths": [2, 2, 18, 2], "num_heads": [4, 8, 16, 32]}
SIZES = [
    # name, class of the library, configuration, parameters as they are published
    ("bert-base-uncased", "BertModel", {}, 109_482_240),
    ("bert-large-uncased", "BertModel",
     {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}, 335_141_888),
    ("all-MiniLM-L6-v2", "BertModel", MINILM, 22_713_216),
    ("electra-small", "ElectraModel", ELECTRA, 13_483_008),
    ("vit-base-patch16-224", "ViTForImageClassification", CLASSES, 86_567_656),
    ("deit-small-distilled", "DeiTForImageClassificationWithTeacher", SMALL_DEIT | CLASSES, 22_436_432),
    ("swin-tiny", "SwinForImageClassification", CLASSES, 28_288_354),
    ("swin-base", "SwinForImageClassification", SWIN_B | CLASSES, 87_768_224),
    ("swinv2-tiny", "Swinv2ForImageClassification", {"image_size": 256, "window_size": 8} | CLASSES, 28_347_154),
]  # fmt: skip


def run(*words):
    return subprocess.run([str(word) for word in (HOVA, *words)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name, kind, keys, published", SIZES, ids=[size[0] for size in SIZES])
def test_parameters(name, kind, keys, published, scratch):
    family = next(family for family in sorted(FAMILIES, key=len, reverse=True) if kind.startswith(family))
    config = getattr(transformers, f"{family}Config")(**keys)
    with no_init_weights():
        model = getattr(transformers, kind)(config)
    count = sum(value.numel() for value in model.parameters())
    assert count == published
    # Hidden states have no pooler.
    pooler = sum(value.numel() for path, value in model.named_parameters() if "pooler." in path)
    config.architectures = [kind]
    config.save_pretrained(scratch)
    done = run("summary", scratch, "--format=json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parameters"]["count"] + pooler == published


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize("family, kind", [(family, kinds[-1]) for family, (_, kinds) in FAMILIES.items()])
def test_sixteen_bits(family, kind, dtype, scratch):
    model = build(family, kind)
    save(model, scratch / "folder")
    sizes = ["--set=batch=2"] + (["--set=length=12"] if "vocab_size" in FAMILIES[family][0] else [])
    done = run("verify", scratch / "folder", f"--dtype={dtype}", "--cases=2", *sizes)
    assert done.returncode == 0, done.stdout + done.stderr
