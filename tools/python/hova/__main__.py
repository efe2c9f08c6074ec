# ===- __main__.py - hova on the command line ----------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""`python -m hova` and the script `hova`: the driver in the place of this process."""

import os
import sys

from hova._driver import DRIVER


def main() -> None:
    os.execv(DRIVER, ["hova", *sys.argv[1:]])


if __name__ == "__main__":
    main()
