# ===- peers_table.py - The table of docs/checked-against.md -------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Which model was compared with what: written by `./dev test --peers --record`, read by a
test of style that knows no framework."""

from dataclasses import astuple, dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/checked-against.md"
HEAD = "| model | variant | checked against | largest error | bound | test |"


@dataclass(order=True)
class Row:
    model: str
    variant: str
    against: str
    error: str
    bound: str
    test: str


def split_page():
    """The text before the table, its rows, and the text after."""
    before, table = PAGE.read_text().split(f"{HEAD}\n|---|---|---|---|---|---|\n")
    lines = table.splitlines(keepends=True)
    count = next((i for i, line in enumerate(lines) if line[0] != "|"), len(lines))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:count]]
    return before, [Row(*row) for row in rows], "".join(lines[count:])


def replace_table(rows):
    before, _, after = split_page()
    lines = ["| " + " | ".join(astuple(row)) + " |" for row in sorted(rows)]
    table = "\n".join([HEAD, "|---|---|---|---|---|---|", *lines])
    PAGE.write_text(f"{before}{table}\n{after}")
