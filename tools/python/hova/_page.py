# ===- _page.py - The page of hova.view --------------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A page that a notebook shows and a file keeps."""

from __future__ import annotations

import html
import os
from pathlib import Path

_HEIGHT = 900


class Page:
    """What became of every layer, as a page of HTML that asks for nothing else: `html` is its text."""

    def __init__(self, text: str) -> None:
        self.html = text

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes it, for a browser."""
        file = Path(path)
        file.write_text(self.html, encoding="utf-8")
        return file

    def _repr_html_(self) -> str:
        """In a notebook: a frame whose text is in the cell. It has no address, so that the page reaches nothing of the notebook."""
        page = html.escape(self.html)
        return f'<iframe sandbox="allow-scripts" style="width: 100%; height: {_HEIGHT}px; border: 0" srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"<hova.Page of {len(self.html)} characters>"
