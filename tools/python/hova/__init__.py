# ===- __init__.py - hova from Python ------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Compiles JSON descriptions of Transformers, and runs what was compiled on arrays without copies.

    program = hova.compile("digits.json", weights="weights.safetensors")
    model = hova.load(program)
    logits = model(images)["logits"]

docs/python.md in the folder of this package is the reference.
"""

from ._compile import Program, check, compile, explain, pack_weights, profile, schema, summary, verify, view
from ._driver import Phase
from ._errors import DescriptionWarning, Diagnostic, Error, Fixit
from ._model import Model, Tensor, load
from ._page import Page

# Tracebacks, pickles and help say hova.Error, and not where it is defined.
for _type in (DescriptionWarning, Diagnostic, Error, Fixit, Model, Page, Phase, Program, Tensor):
    _type.__module__ = __name__
del _type

__version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Read when it is asked for: reading it costs as much as all the rest of the import.
        from importlib.metadata import version

        return version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DescriptionWarning",
    "Diagnostic",
    "Error",
    "Fixit",
    "Model",
    "Page",
    "Phase",
    "Program",
    "Tensor",
    "__version__",
    "check",
    "compile",
    "explain",
    "load",
    "pack_weights",
    "profile",
    "schema",
    "summary",
    "verify",
    "view",
]
