# ===- launch.py - Run a command and measure it -----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""usage: launch.py REPORT.json COMMAND...

Writes {"seconds", "peak_mib", "status"} of the command. It is a process of its own
because a child's peak memory begins with that of the process that started it.
"""

import json
import os
import sys
import time

report, command = sys.argv[1], sys.argv[2:]
start = time.monotonic()
child = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(child, 0)
result = {
    "seconds": time.monotonic() - start,
    "peak_mib": usage.ru_maxrss / 1024,
    "status": os.waitstatus_to_exitcode(status),
}
with open(report, "w", encoding="utf-8") as file:
    json.dump(result, file)
