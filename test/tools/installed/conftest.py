# SPDX-License-Identifier: Apache-2.0
"""An installed hova with the plugins of examples, each of which is built once."""

import json
import subprocess

import pytest
from installation import SOURCE, build_plugin, install, run


class Hova:
    """An installed hova with the plugin."""

    def __init__(self, prefix, plugin):
        self.prefix, self.plugin = prefix, plugin
        self.load = f"--pass-plugin={plugin}"

    def __call__(self, *words, status=0):
        return run(self.prefix / "bin/hova", *words, self.load, status=status)

    def plain(self, *words, status=0):
        return run(self.prefix / "bin/hova", *words, status=status)

    def opt(self, code, *options, status=0):
        """What hova-opt makes of IR."""
        command = [self.prefix / "bin/hova-opt", f"--load-dialect-plugin={self.plugin}", *options]
        done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    return install(tmp_path_factory)


@pytest.fixture(scope="session")
def hova(tmp_path_factory, prefix):
    plugin = build_plugin(tmp_path_factory, prefix, SOURCE / "examples/sigmoid-attention")
    return Hova(prefix, plugin / "sigattn.so")


@pytest.fixture(scope="session")
def near(tmp_path_factory, prefix):
    plugin = build_plugin(tmp_path_factory, prefix, SOURCE / "examples/distance-attention")
    return Hova(prefix, plugin / "distattn.so")


@pytest.fixture
def write(tmp_path):
    def write(description, name="model.json"):
        path = tmp_path / name
        path.write_text(json.dumps(description, indent=1))
        return path

    return write
