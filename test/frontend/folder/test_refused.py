# ===- test_refused.py - Folders that would be computed wrongly -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Every refusal of a folder, with its whole message: the key, its value, and where it stands."""

import json

import pytest
from folders import CONFIG, SOURCE, hova, tensors, write_folder, write_shards


def place(config, key):
    """Line, column, text of the line and the marks below the value of a key."""
    lines = json.dumps(config, indent=2).splitlines()
    line = next(i for i, text in enumerate(lines) if text.startswith(f'  "{key}": '))
    value = len(f'  "{key}": ')
    marks = "^" + "~" * (len(lines[line].rstrip(",")) - value - 1)
    return line + 1, value + 1, lines[line], " " * value + marks


def refused(folder, config, key, message, *notes, pointer=None):
    line, column, text, marks = place(config, key)
    said = f"{folder}/config.json:{line}:{column}: error: {message}\n"
    said += f"{line:>5} | {text}\n      | {marks}\n  at {pointer or '/' + key}\n"
    return said + "".join(f"  note: {note}\n" for note in notes)


def check(folder, *options):
    done = hova("check", folder, *options)
    assert done.stdout == "" and done.returncode == 1, done.stderr
    return done.stderr


KNOWN = {
    "position_embedding_type": ("relative_key", '"absolute"'),
    "is_decoder": (True, "false"),
    "add_cross_attention": (True, "false"),
    "tie_word_embeddings": (False, "true"),
}


@pytest.mark.parametrize("key", KNOWN)
def test_required(key, tmp_path):
    value, allowed = KNOWN[key]
    config = CONFIG | {key: value}
    folder = write_folder(tmp_path / "folder", config, None)
    message = f'key "{key}" is {json.dumps(value)}, and bert computes {allowed} alone'
    assert check(folder) == refused(folder, config, key, message)


def test_unknown_key(tmp_path):
    config = CONFIG | {"attention_sink": 3}
    folder = write_folder(tmp_path / "folder", config, tensors(CONFIG))
    message = (
        'nothing is known of key "attention_sink" with the value 3, which may change what '
        "bert computes"
    )
    note = "--ignore-config=attention_sink leaves it out, if you know that it changes no number"
    assert check(folder) == refused(folder, config, "attention_sink", message, note)
    assert hova("check", folder, "--ignore-config=attention_sink").returncode == 0


def test_other_activation(tmp_path):
    config = CONFIG | {"hidden_act": "silu"}
    folder = write_folder(tmp_path / "folder", config, None)
    message = (
        'parameter "activation" of bert is decided by "gelu", "gelu_new", "gelu_pytorch_tanh" '
        'or "relu", got "silu"'
    )
    assert check(folder) == refused(folder, config, "hidden_act", message)


def test_value_of_another_kind(tmp_path):
    for value, message in {
        "wide": 'parameter "width" is an integer',
        32.5: 'parameter "width" is an integer',
        None: 'key "hidden_size" decides parameter "width", and is null',
    }.items():
        config = CONFIG | {"hidden_size": value}
        folder = write_folder(tmp_path / "folder", config, None)
        assert check(folder) == refused(folder, config, "hidden_size", message)


IMPOSSIBLE = {
    "heads": ({"num_attention_heads": 5}, "num_attention_heads", 'key "num_attention_heads" is 5, which decides parameter "heads": '
              'multi_head_attention "encoder.0.attn" cannot split a width of 32 into 5 heads'),
    "vocab": ({"vocab_size": 0}, "vocab_size", 'key "vocab_size" is 0, which decides parameter "vocab": the range [0, 0) '),
    "eps": ({"layer_norm_eps": -1.0}, "layer_norm_eps", 'key "layer_norm_eps" is -1.0, which decides parameter "eps": "eps" must be'),
}  # fmt: skip


@pytest.mark.parametrize("case", IMPOSSIBLE)
@pytest.mark.parametrize("is_beside", [False, True], ids=["folder", "beside weights"])
def test_values_that_no_layer_can_have(case, is_beside, tmp_path):
    """At their keys, each once, with the place in the description; also where a description reads them."""
    changed, key, message = IMPOSSIBLE[case]
    config = CONFIG | changed
    folder = write_folder(tmp_path / "folder", config, tensors(CONFIG) if is_beside else None)
    words = [SOURCE / "frontend/models/bert.json", "--weights", folder / "model.safetensors"] if is_beside else [folder]
    said = check(*words)
    line, column, _, _ = place(config, key)
    assert said.startswith(f"{folder}/config.json:{line}:{column}: error: {message}")
    assert said.count("error: ") == 1 and f"\n  at /{key}\n" in said
    assert "  note: this is said at " in said and "/bert.json:" in said


def test_a_mistake_of_the_command_stays_where_it_is(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, None)
    said = check(folder, "--set=length=0")
    assert "config.json" not in said and "a dimension must be 1 to" in said


def test_unknown_architecture(tmp_path):
    config = CONFIG | {"architectures": ["BertForQuestionAnswering"]}
    folder = write_folder(tmp_path / "folder", config, None)
    said = check(folder)
    assert (
        'error: architecture "BertForQuestionAnswering" is none that bert knows: BertModel, '
        "BertForSequenceClassification, BertForTokenClassification, BertForMaskedLM or "
        "BertForPreTraining\n" in said
    )
    assert said.endswith(
        "  at /architectures/0\n  note: --task=hidden computes its hidden states\n"
    )


def test_unknown_type(tmp_path):
    config = CONFIG | {"model_type": "perceptron"}
    folder = write_folder(tmp_path / "folder", config, None)
    said = check(folder)
    message = 'no description is for models of type "perceptron"'
    assert said.startswith(refused(folder, config, "model_type", message))
    assert said.endswith("  note: --models=DIR takes descriptions of your own\n")


def test_no_type(tmp_path):
    config = {key: value for key, value in CONFIG.items() if key != "model_type"}
    folder = write_folder(tmp_path / "folder", config, None)
    assert check(folder) == (
        f'{folder}/config.json:1:1: error: key "model_type" is missing: it says which '
        "description the folder is for\n    1 | {\n      | ^\n"
    )


def test_setting_contradicts(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, None)
    assert check(folder, "--set=heads=8") == (
        f"{folder}/config.json: error: the file says heads=4, but --set says 8\n"
    )


def test_ignored_without_effect(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, None)
    assert check(folder, "--ignore-config=hidden_size", "--ignore-config=other") == (
        f"{folder}/config.json: error: option '--ignore-config' has no effect on "
        '"hidden_size", of which it is known what it does\n'
        f"{folder}/config.json: error: option '--ignore-config' has no effect on "
        '"other", which is no key of the file\n'
    )


def test_task_that_there_is_not(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, None)
    assert check(folder, "--task=translate") == (
        f"{folder}/config.json: error: option '--task': parameter \"task\" must be one of "
        "hidden, embed, classify, tokens, logits, got translate\n"
    )


def test_no_configuration(tmp_path):
    done = hova("check", tmp_path)
    assert done.returncode == 74
    assert done.stderr == (
        f"{tmp_path}/config.json: error: cannot read: No such file or directory\n"
        "  note: a folder of a model has a config.json, which says what the model is\n"
    )


def test_index_leaves_the_folder(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, None)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../other.safetensors"}}))
    assert check(folder) == (
        f'hova: error: {index}: "../other.safetensors" is not the plain name of a safetensors '
        "file beside the index\n"
    )


def test_deep_configuration(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, None)
    (folder / "config.json").write_text('{"model_type": ' + "[" * 100 + "]" * 100 + "}")
    assert "deeper than" in check(folder)


SENTENCE = [
    {"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


@pytest.mark.parametrize(
    "modules, message",
    [
        (SENTENCE[:1], "no module makes one vector of the states of a sentence"),
        (
            [*SENTENCE, {"path": "2_LSTM", "type": "sentence_transformers.models.LSTM"}],
            'module 2 is "sentence_transformers.models.LSTM"; expected a Transformer in this '
            "folder, a Pooling, perhaps Dense layers, and perhaps a Normalize",
        ),
        (
            [SENTENCE[0], SENTENCE[1] | {"path": "../1_Pooling"}],
            'expected a folder beside this file with a config.json, got "../1_Pooling"',
        ),
    ],
)
def test_modules(modules, message, tmp_path):
    files = {"modules.json": modules, "1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}
    folder = write_folder(tmp_path / "folder", CONFIG, None, **files)
    said = check(folder)
    assert said.startswith(f"{folder}/modules.json:") and f": error: {message}\n" in said


@pytest.mark.parametrize(
    "pooling, message",
    [
        ({}, "no mode of pooling is on"),
        (
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            'expected one mode of pooling, got "pooling_mode_cls_token" too',
        ),
        (
            {"pooling_mode_other": True},
            'nothing is known of key "pooling_mode_other" of a pooling with the value true',
        ),
        (
            {"pooling_mode_mean_tokens": True, "include_prompt": False},
            'nothing is known of key "include_prompt" of a pooling with the value false',
        ),
        ({"pooling_mode": []}, "no mode of pooling is on"),
        ({"pooling_mode": ["cls", "mean"]}, 'expected one mode of pooling, got "mean" too'),
        ({"pooling_mode": "median"}, 'expected a mode of pooling, got "median"'),
        ({"pooling_mode": ["mean", 3]}, "expected a mode of pooling, got 3"),
    ],
)
def test_pooling(pooling, message, tmp_path):
    files = {"modules.json": SENTENCE, "1_Pooling/config.json": pooling}
    folder = write_folder(tmp_path / "folder", CONFIG, None, **files)
    said = check(folder)
    assert said.startswith(f"{folder}/1_Pooling/config.json:") and f": error: {message}\n" in said


def test_beside_weights(tmp_path):
    """A configuration beside the weights decides too, and one of another type refuses them."""
    examples = SOURCE / "examples/models/bert_base.json"
    for changed, options, message in [
        ({"model_type": "roberta"}, [], 'the weights are of a model of type "roberta", and '),
        ({}, ["--set=heads=8"], "--set needs heads=8, but "),
        ({"hidden_act": "silu"}, [], 'parameter "activation" of bert_base is decided by '),
    ]:
        config = CONFIG | changed
        folder = write_folder(tmp_path / "folder", config, tensors(CONFIG))
        done = hova("check", examples, "--weights", folder / "model.safetensors", *options)
        assert done.returncode == 1 and f"error: {message}" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("compile", "-o"),
        ("compile", "--march=x86-64-v3", "-o", "program", "--time-trace"),
        ("import", "-o"),
        ("weights", "pack", "-o"),
        ("view", "-o"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("file", ["config.json", "modules.json", "1_Pooling/config.json", "model.safetensors"])
def test_files_of_the_folder_are_not_overwritten(words, file, tmp_path):
    files = {"modules.json": SENTENCE, "1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG), **files)
    before = (folder / file).read_bytes()
    verb = 2 if words[0] == "weights" else 1
    rest = [tmp_path / word if word == "program" else word for word in words[verb:]]
    done = hova(*words[:verb], folder, *rest, folder / file)
    assert done.returncode == 2, done.stderr
    assert f"cannot write '{folder / file}'" in done.stderr and "is the same file as" in done.stderr
    assert (folder / file).read_bytes() == before


@pytest.mark.parametrize(
    "words", [("explain", "--time-trace"), ("compile", "-o"), ("weights", "pack", "-o")], ids=" ".join
)
def test_shards_are_not_overwritten(words, tmp_path):
    folder = write_shards(tmp_path / "folder", CONFIG, tensors(CONFIG))
    shard = folder / "model-00002-of-00002.safetensors"
    before = shard.read_bytes()
    done = hova(*words[:-1], folder, words[-1], shard)
    assert done.returncode == 2, done.stderr
    assert f"cannot write '{shard}'" in done.stderr and "is the same file as" in done.stderr
    assert shard.read_bytes() == before


def test_other_files_of_the_folder_may_be_written(tmp_path):
    """What was not read is nobody's."""
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG))
    other = folder / "other.safetensors"
    other.write_bytes(b"image")
    done = hova("weights", "pack", folder, "-o", other)
    assert done.returncode == 0, done.stderr
    assert other.read_bytes() != b"image"


def test_configuration_beside_weights_is_not_overwritten(tmp_path):
    folder = write_folder(tmp_path / "folder", CONFIG, tensors(CONFIG))
    description = tmp_path / "bert.json"
    assert hova("import", folder, "-o", description).returncode == 0
    done = hova("compile", description, "--weights", folder / "model.safetensors", "-o", folder / "config.json")
    assert done.returncode == 2 and "is the same file as" in done.stderr
    assert json.loads((folder / "config.json").read_text()) == CONFIG


def test_program_has_not_the_name_of_a_folder(tmp_path, monkeypatch):
    # A program is called as the description is.
    write_folder(tmp_path / "bert", CONFIG, tensors(CONFIG))
    monkeypatch.chdir(tmp_path)
    done = hova("compile", "bert")
    assert done.returncode == 2
    assert done.stderr == (
        "hova: error: without '-o' the output would be 'bert', which is a folder: give it a name with '-o'\n"
        "  note: 'hova compile --help' lists the options\n"
    )


@pytest.mark.parametrize("value", [{}, {"alpha": 1}], ids=["empty", "with a key"])
def test_unknown_object(value, tmp_path):
    """One error at the key, and none at what is inside."""
    folder = write_folder(tmp_path / "folder", CONFIG | {"adapters": value}, tensors(CONFIG))
    said = check(folder)
    assert said.count("error: ") == 1
    assert 'error: nothing is known of key "adapters" with the value {' in said
