#===- generate.py - Write the golden vectors ------------------------------===#
#
# SPDX-License-Identifier: Apache-2.0
#
# generate.py [FOLDER] writes every case below FOLDER (default: vectors/ beside
# this file). generate.py --check compares with what is there: descriptions,
# weights and inputs byte by byte, outputs within a few last places, because
# exp and matrix products round differently from one machine to the next.
#
#===-----------------------------------------------------------------------===#

import io
import pathlib
import sys

import numpy as np

import attention_cases
import constant_cases
import image_cases
import layer_cases
import model_cases
import performer_cases
import rotary_cases
import score_cases
import window_cases

FOLDER = pathlib.Path(__file__).parent / "vectors"


def all_cases():
    for group in (attention_cases, performer_cases, window_cases, image_cases,
                  layer_cases, rotary_cases, score_cases, constant_cases, model_cases):
        yield from group.cases()


def differs(path, expected, folder):
    """Why the committed file is not what is generated now, or None."""
    file = folder / path
    if not file.is_file():
        return "is missing"
    found = file.read_bytes()
    if found == expected:
        return None
    if "/outputs/" not in path:
        return "has other bytes"
    want, have = np.load(io.BytesIO(expected)), np.load(io.BytesIO(found))
    if want.shape != have.shape or want.dtype != have.dtype:
        return "has another shape or type"
    if not np.allclose(have, want, rtol=1e-13, atol=1e-14):
        return "has other values"
    return None


def check(folder=FOLDER):
    """All differences, as sentences."""
    complaints, known = [], set()
    for case in all_cases():
        for path, data in case.files().items():
            name = f"{case.name}/{path}"
            known.add(name)
            reason = differs(name, data, folder)
            if reason:
                complaints.append(f"{name} {reason}")
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name not in known:
            complaints.append(f"{name} belongs to no case")
    return complaints


def main(arguments):
    if arguments == ["--check"]:
        complaints = check()
        print("\n".join(complaints) or "the golden vectors are up to date")
        return 1 if complaints else 0
    folder = pathlib.Path(arguments[0]) if arguments else FOLDER
    for case in all_cases():
        case.write(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
