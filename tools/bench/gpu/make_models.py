# ===- make_models.py - Programs of models, and what they are to compute -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Libraries and programs of the models of a list, each with its image of weights; small models with inputs and outputs."""

import hashlib
import json
import lzma
from pathlib import Path

import numpy as np
from contest import TOLERANCES
from nets import FAMILIES
from programs import call
from repeating import weights
from safetensors.numpy import save_file
from workload import TABLE_KINDS, Case

SOURCE = Path(__file__).resolve().parents[3]
MODELS = SOURCE / "examples/models"
DTYPE = "bf16"
# Blocks of equal numbers are megabytes apart.
IMAGES = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 26, "nice_len": 273}]


def compiled(maker, case, level, *options):
    """Compiles a case to a file, and gives its path and that of its image."""
    out = case.folder / "program"
    words = [maker.bin / "hova", "compile", *case.arguments, f"--dtype={DTYPE}", "--target=cuda", f"--gpu-arch={level}", f"--ptxas={maker.ptxas or 'none'}",
             "--weights", case.weights, "--weights-mode=file", "--quiet", *options, "-o", out]
    call(words)
    made = out.with_suffix(".so") if "--emit=lib" in options else out
    return made, made.with_name(f"{made.name}.weights")


def store(maker, made, image, name):
    """Stores a program under this name, and its image under that of its bytes, once."""
    digest = hashlib.sha256(image.read_bytes()).hexdigest()[:12]
    maker.store(f"programs/{name}", made.read_bytes(), preset=9)
    if not (maker.folder / f"data/images/{digest}.xz").exists():
        maker.store(f"images/{digest}", image.read_bytes(), filters=IMAGES)
    for path in (made, image):
        path.unlink()
    return {"file": f"programs/{name}", "image": f"images/{digest}"}


def described(maker, case):
    """Name, shape and kind of each weight, as repeating.weights takes them."""
    summary = json.loads(call([maker.bin / "hova", "summary", *case.arguments, "--format=json"]))
    tables = {f"{layer['path']}.weight" for layer in summary["layers"] if layer["kind"] in TABLE_KINDS}
    return [[tensor["name"], tensor["shape"], tensor["name"] in tables] for tensor in summary["parameters"]["tensors"]]


def cases(maker, batches):
    """The models of the list, with their weights written."""
    for batch in batches:
        for model, settings in maker.lists.models:
            yield made_case(maker, model, settings, batch)


def described_by(model):
    """The path of a description, by its name in the folder of models or as it is."""
    return (MODELS / f"{model}.json").resolve() if isinstance(model, str) else model


def made_case(maker, model, settings, batch):
    case = Case(described_by(model), [*settings, f"batch={batch}"], maker.scratch / "case", DTYPE)
    save_file(weights(described(maker, case)), case.weights)
    return case


def prefix_of(case):
    return json.loads(case.description.read_text(encoding="utf-8"))["name"]


def name_of(case):
    """What a file is called that is a program of this case."""
    return case.label.replace("=", "").replace(" ", "-")


def programs(maker):
    """An item for each model and batch, with a library for each level."""
    for case in cases(maker, maker.lists.batches):
        made = []
        for level in maker.lists.levels:
            stored = store(maker, *compiled(maker, case, level, "--emit=lib"), f"{name_of(case)}-{level}.so")
            made.append({"level": level, **stored})
        family = case.description.stem if case.description.stem in FAMILIES else None
        print(case.label, flush=True)
        yield {"name": case.label, "prefix": prefix_of(case), "family": family, "parameters": case.parameters(), "weights": described(maker, case), "programs": made}


def spans(maker):
    """Programs that are run by themselves, for their traces."""
    for name, batch in maker.lists.spans:
        model, settings = next((model, settings) for model, settings in maker.lists.models if name in (" ".join([model, *settings]), Path(model).stem))
        case = made_case(maker, model, settings, batch)
        stored = store(maker, *compiled(maker, case, maker.lists.levels[0]), f"{name_of(case)}-alone")
        yield {"name": case.label, "program": stored["file"], "image": stored["image"], "level": maker.lists.levels[0]}


def small(maker):
    """Models with few layers for each level, whose weights are in the program, with inputs and what the processor computes in f32."""
    for key, (name, (model, settings)) in enumerate(small_models(maker.lists).items()):
        case = Case(described_by(model), settings, maker.scratch / "case", DTYPE)
        case.summary = json.loads(call([maker.bin / "hova", "summary", *case.arguments, "--format=json"]))
        words = [maker.bin / "hova", "compile", *case.arguments, "--init=1", "--quiet"]
        truth, library = case.folder / "truth", case.folder / "small"
        call([*words, "--target=cpu", "--dtype=f32", "-o", truth])
        case.write_inputs(truth)
        inputs = [part for value in case.summary["inputs"] for part in ("--input", f"{value['name']}={case.input_file(value['name'])}")]
        outputs = case.folder / f"outputs-{key}"
        outputs.mkdir()
        call([truth, *inputs, "--output-dir", outputs])
        for value in case.summary["inputs"]:
            maker.add("small.zip", f"{key}.in.{value['name']}", np.load(case.input_file(value["name"])).tobytes())
        for path in outputs.glob("*.npy"):
            maker.add("small.zip", f"{key}.out.{path.stem}", np.load(path).tobytes())
        for level in maker.lists.levels:
            call([*words, "--target=cuda", f"--dtype={DTYPE}", f"--gpu-arch={level}", f"--ptxas={maker.ptxas or 'none'}", "--emit=lib", "-o", library])
            maker.store(f"programs/small-{key}-{level}.so", library.with_suffix(".so").read_bytes(), preset=9)
            yield {"name": f"model: {name}, {level}", "prefix": prefix_of(case), "program": f"programs/small-{key}-{level}.so", "archive": "small.zip",
                   "key": key, "limit": TOLERANCES[DTYPE]}


def small_models(lists):
    """Descriptions with settings by name."""
    if lists.variants:
        return lists.variants
    from test_gpu import VARIANTS

    return {name: (path, settings.split()) for name, (path, settings) in VARIANTS.items()}
