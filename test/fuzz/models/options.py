# ===- options.py - The options of ./dev fuzz models ---------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What the command line may say. Run as a program, it prints that with nothing but Python: `./dev fuzz models --help`
answers before anything is built or installed.
"""

import argparse
import time
from pathlib import Path

SHRINK_SECONDS = 120


def parser():
    result = argparse.ArgumentParser(
        prog="./dev fuzz models", description="Draws valid descriptions, compiles and runs them, and compares with NumPy."
    )
    result.add_argument("--time", type=float, metavar="S", help="seconds (default: 60)")
    result.add_argument(
        "--count", type=int, metavar="N", help="models, however long they take"
    )
    result.add_argument(
        "--seed",
        type=int,
        metavar="N",
        default=int(time.time()) * 1000,
        help="of the first model (default: another one each time)",
    )
    result.add_argument(
        "--shrink",
        type=float,
        metavar="S",
        default=SHRINK_SECONDS,
        help="seconds for making a failure small (default: %(default)s)",
    )
    result.add_argument(
        "--target", choices=["cpu", "cuda-emulated", "cuda"], default="cpu", help="(default: %(default)s)"
    )
    result.add_argument(
        "--rerun", type=Path, metavar="FOLDER", help="a failure that was kept"
    )
    return result


if __name__ == "__main__":
    parser().print_help()
