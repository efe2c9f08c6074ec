# ===- store.py - What travels, as it is read --------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The list of what is measured, and the compressed files beside it."""

import json
import lzma
import os
import zipfile
from functools import cache, cached_property
from pathlib import Path

PIECE = 1 << 22


NO_TIME = "no time was left"


class Skipped(Exception):
    """Why something is not measured here."""


def need(module):
    """A module that a machine may lack; then what needs it is skipped."""
    try:
        return __import__(module)
    except ImportError:
        raise Skipped(f"this Python has no {module}") from None


@cache
def find_torch():
    """PyTorch where it has a GPU, and nothing; or nothing, and why it is no peer here."""
    try:
        import torch

        return (torch, "") if torch.cuda.is_available() else (None, "PyTorch finds no GPU")
    except ImportError:
        return None, "this Python has no torch"
    except Exception as error:  # of whatever kind a broken installation has
        return None, f"PyTorch does not begin: {words_of(error)}"


def words_of(error):
    """The last line of what was said, which is where frameworks say what was wrong."""
    return (str(error).strip().splitlines() or [repr(error)])[-1][:200]


class Bench:
    """What items are measured with: the list, files, and the device."""

    def __init__(self, here, folder):
        self.here, self.folder = Path(here), Path(folder)
        self.list = json.loads((self.here / "list.json").read_text(encoding="utf-8"))
        self.opened = {}

    @cached_property
    def device(self):
        from driver import Device, DriverError

        try:
            return Device(self.list["counts"]["warmup"])
        except (OSError, DriverError) as error:  # no library, or no device: one process says it of all items
            raise Skipped(f"there is no GPU: {error}") from None

    def read(self, archive, name):
        """The bytes of a file in one of the archives."""
        if archive not in self.opened:
            self.opened[archive] = zipfile.ZipFile(self.here / "data" / archive)
        return self.opened[archive].read(name)

    def file(self, name):
        """The path of a file that is stored as NAME.xz; it is unpacked once."""
        path = self.folder / name.replace("/", "-")
        if not path.exists():
            part = path.with_name(f"{path.name}.{os.getpid()}")
            with lzma.open(self.here / "data" / f"{name}.xz") as packed, part.open("wb") as unpacked:
                while piece := packed.read(PIECE):
                    unpacked.write(piece)
            part.chmod(0o755)
            part.rename(path)
        return path

    def module(self, item):
        """The kernels of an item, as machine code where the device runs it."""
        cubin = self.read(item["archive"], f"{item['key']}.cubin") if item.get("cubin") else None
        return self.device.load(self.read(item["archive"], f"{item['key']}.ptx"), cubin)

    def buffers(self, item):
        """The bytes of the buffers of an item's launch, as they are before."""
        return [self.read(item["archive"], f"{item['key']}.{i}") for i in range(item["buffers"])]

    def launched(self, item, before):
        """What is in the buffers after one launch of an item."""
        from driver import Launch

        device, module = self.device, self.module(item)
        addresses = [device.buffer(data) for data in before]
        # Buffers may be parts of one allocation.
        arguments = [addresses[0] + offset for offset in item["offsets"]] if "offsets" in item else addresses
        device.launch(Launch(device.function(module, item["entry"], item["shared"]), item["grid"], item["threads"], item["shared"], arguments))
        after = [device.download(address, len(data)) for address, data in zip(addresses, before)]
        for address in addresses:
            device.free(address)
        device.unload(module)
        return after
