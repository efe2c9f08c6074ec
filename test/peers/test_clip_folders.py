# ===- test_clip_folders.py - Folders of CLIP and of its towers ------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""CLIP and its towers (test_folder_families.py has a folder of every class), and what is special of them."""

import json

import pytest
import torch
import transformers
from saved_folders import (
    LABELS,
    LENGTH,
    Family,
    build,
    call,
    check_program,
    check_saved,
    compile_folder,
    images,
    numbers_in,
    parameters_of,
    save,
    texts,
)

# Widths of the towers differ, and that of the embeddings from both.
IMAGE = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 36,
    "patch_size": 8,
    "projection_dim": 24,
}
TEXT = {
    "vocab_size": 120,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 16,
    "projection_dim": 24,
    "eos_token_id": 60,
}
IMAGE_CHANGES = [
    {"hidden_act": "gelu"}, {"hidden_act": "gelu_new"}, {"hidden_act": "relu"}, {"hidden_act": "silu"}, {"hidden_act": "tanh"},
    {"layer_norm_eps": 1e-2}, {"num_attention_heads": 8}, {"num_hidden_layers": 3}, {"intermediate_size": 64},
    {"patch_size": 12}, {"image_size": 32}, {"projection_dim": 40},
]  # fmt: skip
TEXT_CHANGES = [
    {"hidden_act": "gelu"}, {"hidden_act": "relu"}, {"layer_norm_eps": 1e-2}, {"num_attention_heads": 4}, {"num_hidden_layers": 3},
    {"intermediate_size": 64}, {"max_position_embeddings": 12}, {"eos_token_id": 2}, {"eos_token_id": 7},
    {"eos_token_id": 3000}, {"pad_token_id": 3}, {"projection_dim": 40},
]  # fmt: skip


def ended(config):
    """Texts with ends: more than one, none, and one behind what the mask keeps; larger ids stand behind the first."""
    given = texts(config)
    tokens = given["tokens"]
    tokens[0, 7] = tokens[1, LENGTH - 7] = config.vocab_size - 1
    if 0 < config.eos_token_id < config.vocab_size:
        tokens[tokens == config.eos_token_id] -= 1
        tokens[0, [5, 8]] = tokens[2, 4] = config.eos_token_id
    return given


def both(config):
    # The class that is saved decides which towers there are.
    given = images(config.vision_config)
    kind = (config.architectures or ["CLIPModel"])[0]
    return given if kind.endswith("ForImageClassification") else given | ended(config.text_config)


# What makes inputs with texts that end.
WITH_ENDS = (ended, both)


def embeddings(model, passed):
    if "input_ids" not in passed:
        return call(model, passed)
    return {
        "image_embedding": model.get_image_features(passed["pixel_values"]),
        "text_embedding": model.get_text_features(passed["input_ids"], passed["attention_mask"]),
    }


def units(model, passed):
    """What the whole model makes of them on the way to similarities."""
    result = call(model, passed)
    return {"image_embedding": result.image_embeds, "text_embedding": result.text_embeds}


def of_image(result):
    projected = "image_embeds" in result
    return {"image_embedding": result.image_embeds} if projected else {"image_hidden": result.last_hidden_state}


def of_text(result):
    projected = "text_embeds" in result
    return {"text_embedding": result.text_embeds} if projected else {"text_hidden": result.last_hidden_state}


FAMILIES = [
    Family("CLIPVision", IMAGE, ["ModelWithProjection", "Model"], IMAGE_CHANGES, images, of_image),
    Family("CLIPText", TEXT, ["ModelWithProjection", "Model"], TEXT_CHANGES, ended, of_text, in_single=True),
    Family(
        "CLIP",
        {"vision_config": IMAGE, "text_config": TEXT, "projection_dim": 24, "id2label": LABELS},
        ["Model", "ForImageClassification"],
        [*({"vision_config": IMAGE | changed} for changed in IMAGE_CHANGES), *({"text_config": TEXT | changed} for changed in TEXT_CHANGES),
         {"projection_dim": 40}, {"logit_scale_init_value": 1.0}],
        both,
        dict,
        compute=embeddings,
        in_single=True,
    ),
]  # fmt: skip
CLIP = FAMILIES[-1]


PUBLISHED = {
    "base-patch32": ({}, {}, 512, 151277313),
    "base-patch16": ({"patch_size": 16}, {}, 512, 149620737),
    "large-patch14": (
        {"patch_size": 14, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
        {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}, 768, 427616513,
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", PUBLISHED)
def test_parameters_of_published_sizes(size, scratch):
    """All but the factor of similarities, which no embedding has."""
    image, text, projection, published = PUBLISHED[size]
    config = transformers.CLIPConfig(vision_config=image, text_config=text, projection_dim=projection)
    config.architectures = ["CLIPModel"]
    with torch.device("meta"):
        assert numbers_in(transformers.CLIPModel(config)) == published
    assert parameters_of(config, scratch) == published - 1


def test_embeddings_of_unit_length(scratch):
    family = Family(CLIP.prefix, CLIP.keys, CLIP.kinds, inputs=both, outputs=dict, compute=units, in_single=True)
    check_saved(family, build(family, "Model"), scratch, "--set=unit=true")


@pytest.mark.parametrize("prefix, outputs", [("CLIPVision", "image"), ("CLIPText", "text")])
def test_embedding_without_projection(prefix, outputs, scratch):
    """The pooled row of a class that does not project."""
    known = next(family for family in FAMILIES if family.prefix == prefix)
    family = Family(prefix, known.keys, known.kinds, inputs=known.inputs, in_single=True,
                    outputs=lambda result: {f"{outputs}_embedding": result.pooler_output})  # fmt: skip
    check_saved(family, build(family, "Model"), scratch, "--task=embed")


@pytest.mark.parametrize("tower", ["image", "text"])
@pytest.mark.parametrize("task", ["hidden", "embed"])
def test_one_tower_of_both(tower, task, scratch):
    def result_of(model, passed):
        features, part = model.get_image_features, model.vision_model
        if tower == "text":
            features, part = model.get_text_features, model.text_model
        value = features(**passed) if task == "embed" else part(**passed).last_hidden_state
        return {f"{tower}_{'embedding' if task == 'embed' else 'hidden'}": value}

    def inputs(config):
        return images(config.vision_config) if tower == "image" else ended(config.text_config)

    family = Family(CLIP.prefix, CLIP.keys, CLIP.kinds, inputs=inputs, outputs=dict, compute=result_of, in_single=True)
    check_saved(family, build(family, "Model"), scratch, f"--task={task}", f"--set=tower={tower}")


@pytest.mark.parametrize("older", [{}, {"hidden_act": "relu"}, {"eos_token_id": 2}, {"eos_token_id": 60}, {"layer_norm_eps": 1e-2}], ids=str)
def test_older_object_stands_in_the_place_of_a_tower(older, scratch):
    """`text_config_dict` has defaults of its own: keys of `text_config` count no more."""
    model = build(CLIP, "Model")
    keys = save(model, scratch / "folder")
    sizes = {key: value for key, value in TEXT.items() if key != "eos_token_id"}
    keys["text_config_dict"] = sizes | older
    keys["text_config"] |= {"hidden_act": "gelu", "layer_norm_eps": 0.1}
    (scratch / "folder/config.json").write_text(json.dumps(keys))
    model = type(model).from_pretrained(scratch / "folder", attn_implementation="eager").eval()
    assert model.config.text_config.hidden_act == older.get("hidden_act", "quick_gelu")
    done = compile_folder(scratch / "folder", scratch / "program", both(model.config))
    assert done.returncode == 0, done.stderr
    check_program(CLIP, model, scratch)
