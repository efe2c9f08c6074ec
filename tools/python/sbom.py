# ===- sbom.py - What is inside of the wheel ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Writes a bill of materials, CycloneDX 1.6 as JSON: hova, and all that is linked into it, with versions and licences.

usage: sbom.py VERSION FILE

Versions are those of the packages that it is linked from, as dpkg knows them. The same packages give the same bytes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

# Name, package, licence (an expression of SPDX), and what of it is inside.
INSIDE = [
    ("LLVM", "llvm-22-dev", "Apache-2.0 WITH LLVM-exception", "the code generator"),
    ("MLIR", "libmlir-22-dev", "Apache-2.0 WITH LLVM-exception", "the intermediate representation"),
    ("lld", "liblld-22-dev", "Apache-2.0 WITH LLVM-exception", "the linker"),
    ("libstdc++", "libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", "the C++ library"),
    ("libgcc", "libgcc-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", "the unwinder"),
    ("zlib", "zlib1g-dev", "Zlib", "compression"),
    ("zstd", "libzstd-dev", "BSD-3-Clause", "compression"),
    ("nlohmann-json", "nlohmann-json3-dev", "MIT", "the reader of JSON"),
]


def version_of(package):
    """That of Debian: [EPOCH:]VERSION[+dfsg][-REVISION]."""
    shown = ["dpkg-query", "--show", "--showformat=${Version}\n", package]
    return subprocess.run(shown, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def upstream(version):
    return re.sub(r"[.+]dfsg\d*$", "", version.split(":")[-1].rsplit("-", 1)[0])


def component(name, version, licence, description, purl, kind="library"):
    return {
        "type": kind,
        "bom-ref": purl,
        "name": name,
        "version": version,
        "description": description,
        "licenses": [{"expression": licence}],
        "purl": purl,
    }


def bill(version, version_of=version_of):
    """The document for this version of hova."""
    whole = component("hova", version, "Apache-2.0", "a compiler for Transformers", f"pkg:pypi/hova@{version}", "application")
    parts = []
    for name, package, licence, description in INSIDE:
        packaged = version_of(package)
        purl = f"pkg:deb/debian/{quote(package, safe='')}@{quote(packaged, safe='~')}?arch=amd64"
        parts.append(component(name, upstream(packaged), licence, description, purl))
    refs = sorted(part["bom-ref"] for part in parts)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole},
        "components": parts,
        "dependencies": [{"ref": whole["bom-ref"], "dependsOn": refs}, *({"ref": ref} for ref in refs)],
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Path(sys.argv[2]).write_text(json.dumps(bill(sys.argv[1]), indent=1) + "\n")
