# ===- timed.py - pytest that says what each test costs -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""usage: timed.py ARGUMENTS OF PYTEST

Runs pytest, and writes the processor time of each test, with that of the processes that it has waited for, as the property
`processor_s` of its JUnit file. It says what a test costs also where other programs keep the machine busy. No test reads it.
The property `compilations` is how often a test has started a compiler, which is the same on every machine; run.py limits it.
"""

import os
import resource
import sys

sys.path[0] = os.getcwd()  # as python -m pytest has it; what lies beside this file is no module of a test
import pytest  # noqa: E402


def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Costs:
    """What a fixture of several tests costs counts for the first of them."""

    def __init__(self):
        self.compilations = 0
        sys.addaudithook(self.note)

    def note(self, event, arguments):
        """Of whatever Python does, processes that generate code."""
        if event == "subprocess.Popen" and isinstance(arguments[1], (list, tuple)):
            words = [os.fspath(word) for word in arguments[1][:2]]
            self.compilations += os.path.basename(words[0]) == "hova" and words[1:] in (["compile"], ["verify"])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        item.began_at, item.compiled_before = spent(), self.compilations
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield
        item.user_properties.append(("processor_s", f"{spent() - item.began_at:.2f}"))
        item.user_properties.append(("compilations", str(self.compilations - item.compiled_before)))


if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[1:], plugins=[Costs()]))
