# ===- test_view_pages.py - Pages of whole models in two browsers ----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Clicks through the page of each model in Chromium and in Firefox."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools/page"))

from browser import Browser, is_installed  # noqa: E402
from view_walk import walk  # noqa: E402

HOVA = Path(os.environ["HOVA_BUILD"]) / "bin/hova"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MOST_BYTES = 8_000_000

# A model, its options, and a layer that is followed.
PAGES = {
    "digits": ("01-digits/digits.json", [], "early.0.attn"),
    "digits-gpu": ("01-digits/digits.json", ["--target=cuda", "--ptxas=none"], "early.0.attn"),
    "vit_b16": ("models/vit_b16.json", [], "encoder.0.attn"),
    "vit_b16-100": ("models/vit_b16.json", ["--set=depth=100"], "encoder.0.ffn"),
    "swin_t": ("models/swin_t.json", [], "stages.0.blocks.0.attn"),
    "omninet_lm": ("models/omninet_lm.json", [], "decoder.0.plain.attn"),
}


@pytest.fixture(scope="session", params=list(PAGES))
def page(request, tmp_path_factory):
    model, options, layer = PAGES[request.param]
    path = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    subprocess.run([HOVA, "view", EXAMPLES / model, *options, "-o", path], check=True)
    return path, layer


def test_page_is_small(page):
    assert page[0].stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", ["chromium", "firefox"])
def test_page_is_walked_through(page, name, tmp_path):
    if not is_installed(name):
        pytest.skip(f"{name} is missing: ./dev test --full installs it")
    with Browser(name) as browser:
        walk(browser, *page)
        browser.screenshot(tmp_path / "last.png")
        assert (tmp_path / "last.png").read_bytes().startswith(b"\x89PNG")
