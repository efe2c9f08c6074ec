# ===- test_messages.py - What mistakes are told ---------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A table of mistakes as people make them, and all that is said of each: what was expected, what was found, what to do.

What a model itself refuses is in test/full/python, where there is one.
"""

import pickle
import tempfile
from types import SimpleNamespace

import hova
import numpy as np
import pytest
from hova._options import words_of

LINEAR = {
    "hova": 1,
    "name": "m",
    "parameters": {"width": 3, "bias": True},
    "inputs": {"x": {"shape": [1, 2]}},
    "layers": [{"name": "y", "op": "linear", "input": "x", "width": "width", "bias": "bias"}],
    "outputs": {"o": "y"},
}


class Context:
    """Stands for memory of a model that doubles nothing and says what it was given."""

    def run(self, inputs, outputs, lengths=None):
        self.given = inputs
        for output in outputs:
            output[...] = 7


def model():
    """A model with two inputs, without the program of one."""
    library = SimpleNamespace(model="m", compiler="", dtype="f32", flops=0, arena_bytes=0, weight_bytes=0, ranges={})
    library.inputs = [("image", "float32", (2, 3), None), ("tokens", "int64", (2,), (0, 9))]
    library.outputs = [("logits", "float32", (2, 4), None)]
    return hova.Model(library, [Context()])


IMAGE = np.zeros((2, 3), np.float32)
TOKENS = np.zeros(2, np.int64)
NESTED = {}
NESTED["deep"] = NESTED


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def run(*inputs, **named):
    return lambda _: model()(*inputs, **named)


def compiled(*given, **options):
    return lambda _: hova.compile(*(given or [LINEAR]), **options)


MISTAKES = {
    # Descriptions.
    "a list": (compiled([1, 2]), TypeError, "a description expects a path or a dict, got list"),
    "bytes": (compiled(b"m.json"), TypeError, "a description expects a path or a dict, got bytes"),
    "nothing": (compiled(None), TypeError, "a description expects a path or a dict, got NoneType"),
    "JSON as text": (
        compiled(' {"hova": 1}'),
        hova.Error,
        "a description expects a path or a dict, got JSON as text; json.loads makes a dict of it",
    ),
    "5,000 levels": (
        compiled(nested(5000)),
        hova.Error,
        f"<description>: error: nested deeper than 64 levels\n  at {'/a' * 64}",
    ),
    "a dict in itself": (
        compiled(NESTED),
        hova.Error,
        f"<description>: error: nested deeper than 64 levels\n  at {'/deep' * 64}",
    ),
    "a set": (
        compiled({**LINEAR, "outputs": {"o"}}),
        TypeError,
        "the description expects a value of JSON at /outputs, got set",
    ),
    "a complex number": (
        compiled({**LINEAR, "inputs": {"x": {"shape": [np.complex64(1), 2]}}}),
        TypeError,
        "the description expects a value of JSON at /inputs/x/shape/0, got complex",
    ),
    "not a number": (
        compiled({**LINEAR, "parameters": {"a/b": np.float32("nan")}}),
        ValueError,
        "the description expects a finite number at /parameters/a~1b, got nan",
    ),
    "a number as key": (
        compiled({**LINEAR, "metadata": {1: "one"}}),
        TypeError,
        "the description expects text as a key at /metadata, got 1",
    ),
    "a number as key at the top": (
        compiled({1: "one"}),
        TypeError,
        "the description expects text as a key at the top, got 1",
    ),
    "no file": (
        compiled("no.json"),
        hova.Error,
        "no.json: error: cannot read: No such file or directory",
    ),
    "a folder of no model": (
        compiled("."),
        hova.Error,
        "./config.json: error: cannot read: No such file or directory\n"
        "  note: a folder of a model has a config.json, which says what the model is",
    ),
    # Options.
    "an unknown option": (
        compiled(weight="w.safetensors"),
        TypeError,
        "hova.compile() takes no option 'weight'; did you mean 'weights'?",
    ),
    "an option far from any": (compiled(zzzz=1), TypeError, "hova.compile() takes no option 'zzzz'"),
    "an option of another function": (
        lambda _: hova.summary(LINEAR, dtype="bf16"),
        hova.Error,
        "hova: error: 'hova summary' takes no option '--dtype'\n  note: 'hova summary --help' lists the options",
    ),
    "set as text": (compiled(set="width=4"), TypeError, "'set' expects a dict of parameters by name, got str"),
    "a list as parameter": (
        compiled(set={"width": [4]}),
        TypeError,
        "parameter 'width' expects a boolean, a number or text, got list",
    ),
    "an array as parameter": (
        compiled(set={"width": np.ones(2)}),
        TypeError,
        "parameter 'width' expects a boolean, a number or text, got ndarray",
    ),
    "an unknown parameter": (
        compiled(set={"widht": 4}),
        hova.Error,
        '<description>: error: --set: unknown parameter "widht"\n  note: did you mean "width"?',
    ),
    "a parameter of another kind": (
        compiled(set={"width": "four"}),
        hova.Error,
        '<description>: error: --set width=four: parameter "width" is an integer',
    ),
    "a flag that is text": (compiled(strict="no"), TypeError, "'strict' expects True or False, got 'no'"),
    "a flag that is a number": (compiled(werror=1), TypeError, "'werror' expects True or False, got 1"),
    "weights that are a number": (compiled(weights=3), TypeError, "'weights' expects a path, got int"),
    "weights that are bytes": (compiled(weights=b"w"), TypeError, "'weights' expects a path, got bytes"),
    "no file of weights": (
        compiled(weights="no.safetensors"),
        hova.Error,
        "hova: error: cannot open 'no.safetensors': No such file or directory",
    ),
    "a type of NumPy": (
        compiled(dtype=np.float64),
        TypeError,
        "'dtype' expects 'f32', 'bf16' or 'f16', got <class 'numpy.float64'>",
    ),
    "a name of NumPy": (
        compiled(dtype="float64"),
        hova.Error,
        "hova: error: option '--dtype' expects f32, bf16, f16, got 'float64'\n  note: 'hova compile --help' lists the options",
    ),
    "levels that are numbers": (compiled(march=[3]), TypeError, "'march' expects a text or several, got [3]"),
    "targets that are numbers": (compiled(target=[3]), TypeError, "'target' expects a text or several, got [3]"),
    "a target that is none": (
        compiled(target=["cpu", "gpu"]),
        hova.Error,
        "hova: error: option '--target': 'gpu' is unknown; targets are cpu, cuda, cuda-emulated\n  note: 'hova compile --help' lists the options",
    ),
    "half a seed": (compiled(init=0.5), TypeError, "'init' expects a text or a whole number, got 0.5"),
    "a level that is none": (
        compiled(optimization=9),
        hova.Error,
        "hova: error: option '-O' expects a whole number from 0 to 3, got '9'\n  note: 'hova compile --help' lists the options",
    ),
    "an unknown emit": (
        compiled(emit="dll"),
        ValueError,
        "emit expects exe, lib, obj, asm, llvm, ptx, cubin, mlir, got 'dll'",
    ),
    "a folder that is none": (
        compiled(output="/nowhere/m.so"),
        hova.Error,
        "hova: error: cannot write '/nowhere/m.so': No such file or directory",
    ),
    "no weights to pack": (
        lambda folder: hova.pack_weights(LINEAR, folder / "image"),
        TypeError,
        "hova.pack_weights() expects 'weights', a file or arrays by name, or 'init', the seed of random ones",
    ),
    "an array of another shape": (
        lambda _: hova.view(LINEAR, weights={"y.weight": np.ones((2, 3)), "y.bias": np.ones(3)}, inputs={"x": np.zeros((3, 3), np.float32)}),
        hova.Error,
        "hova: error: input 'x' expects shape [1, 2], <x> has [3, 3]",
    ),
    "no folder to keep a program in": (
        lambda folder: hova.compile(LINEAR).save(folder / "none/m.v1"),
        FileNotFoundError,
        "[Errno 2] No such file or directory: 'FOLDER/none/m.v1.so'",
    ),
    "a program that is gone": (
        lambda folder: hova.Program(folder / "gone.so", ()).save(folder / "m.so"),
        FileNotFoundError,
        "[Errno 2] No such file or directory: 'FOLDER/gone.so'",
    ),
    # Models.
    "no library": (lambda folder: hova.load(folder / "no.so"), hova.Error, "cannot read 'FOLDER/no.so': No such file or directory"),
    "a text for a library": (
        lambda folder: (folder / "m.so").write_text("{}") and hova.load(folder / "m.so"),
        hova.Error,
        "'FOLDER/m.so' is no library that hova compiled",
    ),
    "half a context": (
        lambda folder: hova.load(folder / "m.so", contexts=0.5),
        TypeError,
        "'contexts' expects a whole number, got 0.5",
    ),
    "no context": (
        lambda folder: hova.load(folder / "m.so", contexts=np.int64(0)),
        ValueError,
        "contexts expects a number from 1, got 0",
    ),
    # Calls.
    "float64": (
        run(IMAGE.astype(np.float64), TOKENS),
        hova.Error,
        "input 'image' expects float32, got float64; array.astype(\"float32\") converts it",
    ),
    "integers of 32 bits": (
        run(IMAGE, tokens=TOKENS.astype(np.int32)),
        hova.Error,
        "input 'tokens' expects int64, got int32; array.astype(\"int64\") converts it",
    ),
    "objects": (
        run(IMAGE, TOKENS.astype(object)),
        hova.Error,
        "input 'tokens' expects int64, got object; array.astype(\"int64\") converts it",
    ),
    "another order of bytes": (
        run(IMAGE.astype(">f4"), TOKENS),
        hova.Error,
        "input 'image' expects float32, got >f4, which has its bytes in another order; array.astype(\"float32\") converts it",
    ),
    "lists": (
        run([[1, 2, 3], [4, 5, 6]], TOKENS),
        hova.Error,
        "input 'image' expects a NumPy array or another object with __dlpack__, got list; "
        'numpy.array(..., "float32") makes one of it',
    ),
    "text": (
        run("x.npy", TOKENS),
        hova.Error,
        "input 'image' expects a NumPy array or another object with __dlpack__, got str",
    ),
    "columns": (
        run(np.asfortranarray(IMAGE), TOKENS),
        hova.Error,
        "input 'image' expects elements row by row and without gaps; numpy.ascontiguousarray(array) copies it so",
    ),
    "another name": (
        run(IMAGE, token=TOKENS),
        hova.Error,
        "the model has inputs image, tokens; there is no 'token'; did you mean 'tokens'?",
    ),
    "one input": (run(IMAGE), hova.Error, "the model has inputs image, tokens; 'tokens' is missing"),
    "no input": (run(), hova.Error, "the model has inputs image, tokens; 'image' is missing"),
    "three inputs": (run(IMAGE, TOKENS, TOKENS), hova.Error, "the model has inputs image, tokens; got 3 arrays"),
    "an input twice": (run(IMAGE, TOKENS, image=IMAGE), hova.Error, "the model has inputs image, tokens; 'image' is given twice"),
    "out as an array": (
        run(IMAGE, TOKENS, out=np.empty((2, 4), np.float32)),
        hova.Error,
        "'out' expects a dict of arrays by name, as {'logits': array}, got ndarray",
    ),
    "out of another type": (
        run(IMAGE, TOKENS, out={"logits": np.empty((2, 4))}),
        hova.Error,
        "output 'logits' expects float32, got float64; numpy.empty([2, 4], \"float32\") makes it",
    ),
    "out that is read-only": (
        run(IMAGE, TOKENS, out={"logits": np.broadcast_to(np.float32(0), (2, 4))}),
        hova.Error,
        "output 'logits' is read-only",
    ),
    "out of another name": (
        run(IMAGE, TOKENS, out={"logit": np.empty((2, 4), np.float32)}),
        hova.Error,
        "the model has outputs logits; there is no 'logit'; did you mean 'logits'?",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(mistake, tmp_path, monkeypatch):
    make, kind, message = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        make(tmp_path)
    assert str(caught.value).replace(str(tmp_path), "FOLDER") == message
    assert type(caught.value) is kind


# What is no mistake.


def test_numbers_of_numpy_are_numbers():
    options = {"set": {"a": np.int64(2), "b": np.float64(0.5), "c": np.bool_(True)}, "init": np.int32(3), "strict": np.bool_(True)}
    for dtype, word in [(np.float32, "f32"), (np.dtype("float16"), "f16"), ("bfloat16", "bf16"), ("bf16", "bf16")]:
        assert words_of("compile", {"dtype": dtype}) == [f"--dtype={word}"]
        assert words_of("compile", {"tensors": dtype}) == [f"--tensors={word}"]
    assert words_of("compile", options) == ["--set=a=2", "--set=b=0.5", "--set=c=true", "--init=3", "--strict"]
    layer = {**LINEAR["layers"][0], "width": np.int64(5), "bias": np.bool_(False)}
    described = {**LINEAR, "parameters": {}, "inputs": {"x": {"shape": np.array([1, 2])}}, "layers": (layer,)}
    assert hova.summary(described)["parameters"]["trainable"] == 10
    assert hova.summary(LINEAR, set={"width": np.int64(5)})["parameters"]["trainable"] == 15


def test_a_file_may_be_called_like_json(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "{}").write_text("{}")
    with pytest.raises(hova.Error, match='missing key "hova"'):
        hova.check("{}")


def test_64_levels_are_hovas_to_judge():
    with pytest.raises(hova.Error) as caught:
        hova.check(nested(63))
    assert 'unknown key "a" in a description' in {one.message for one in caught.value.diagnostics}


def test_inputs_are_given_in_order_or_by_name():
    for inputs, named in [
        ((IMAGE, TOKENS), {}),
        ((IMAGE,), {"tokens": TOKENS}),
        ((), {"tokens": TOKENS, "image": IMAGE}),
        (({"tokens": TOKENS, "image": IMAGE},), {}),
        (({"tokens": TOKENS},), {"image": IMAGE}),
    ]:
        context = Context()
        one = model()
        one._free.get()
        one._free.put(context)
        assert (one(*inputs, **named)["logits"] == 7).all()
        assert context.given[0] is IMAGE and context.given[1] is TOKENS


def test_names_are_those_of_the_package():
    for one in (hova.Error, hova.DescriptionWarning, hova.Diagnostic, hova.Model, hova.Program, hova.Tensor, hova.Phase, hova.Fixit):
        assert (one.__module__, getattr(hova, one.__name__)) == ("hova", one)
    assert pickle.loads(pickle.dumps(hova.Tensor("x", "int64", (1,), None))).name == "x"


def test_a_failed_compilation_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(hova.Error) as caught:
        hova.compile({})
    assert caught.value.status == 1 and list(tmp_path.iterdir()) == []
