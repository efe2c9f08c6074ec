# ===- variants.py - The variants of a description --------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A variant differs from its description in one parameter that chooses: among words or numbers that
the description lists, or between yes and no."""


def spelled(value):
    """As the command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def default_of(value):
    """What a parameter is where nobody sets it."""
    return value.get("default") if isinstance(value, dict) else value


def variants(parameters):
    """(name, value) of each variant."""
    for name, value in parameters.items():
        choices = [not value] if isinstance(value, bool) else []
        if isinstance(value, dict):
            choices = value.get("values", [])
        yield from ((name, spelled(c)) for c in choices if c != default_of(value))
