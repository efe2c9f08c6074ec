# ===- timed.py - pytest that says what each test costs -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""usage: timed.py ARGUMENTS OF PYTEST

Runs pytest, and writes the processor time of each test, with that of the processes that it has waited for, as the property
`processor_s` of its JUnit file. It says what a test costs also where other programs keep the machine busy. No test reads it.
"""

import os
import resource
import sys

sys.path[0] = os.getcwd()  # as python -m pytest has it; what lies beside this file is no module of a test
import pytest  # noqa: E402


def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class ProcessorTime:
    """What a fixture of several tests costs counts for the first of them."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        item.began_at = spent()
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield
        item.user_properties.append(("processor_s", f"{spent() - item.began_at:.2f}"))


if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[1:], plugins=[ProcessorTime()]))
