# ===- build_pass.py - A pass of a copy of the sources as a plugin ------------=== #
# SPDX-License-Identifier: Apache-2.0
"""usage: build_pass.py COPY PHASE NAME OUTPUT.so

Compiles COPY/passes/PHASE/NAME.cpp as the build compiles the passes beside it, with
the precompiled header, and links it into a plugin of its own."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

copy, phase, name, output = sys.argv[1:]
build = Path(os.environ["HOVA_BUILD"])

tables = Path(copy) / "generated"
header = tables / "passes" / phase / "Passes.h.inc"
header.parent.mkdir(parents=True)
include = subprocess.check_output(["llvm-config", "--includedir"], text=True).strip()
subprocess.check_call(
    ["mlir-tblgen", "-gen-pass-decls", f"-I{include}", f"{copy}/passes/{phase}/Passes.td", "-o", header]
)

plugin = Path(copy) / "Plugin.cpp"
plugin.write_text(
    f"""#include "passes/{phase}/Passes.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/{phase}/{name}.cpp"
#include "tools/plugins/PluginStamp.cpp"
extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {{
  return {{MLIR_PLUGIN_API_VERSION, "new-pass", "1",
          [] {{ mlir::registerPass(hova::create{name}Pass); }}}};
}}
"""
)
commands = json.loads((build / "compile_commands.json").read_text())
(like,) = [c for c in commands if c["file"].endswith(f"/passes/{phase}/Phase.cpp")]
flags = shlex.split(like["command"])[:-4]  # without -o OBJECT -c SOURCE
flags[1:1] = [f"-I{tables}", f"-I{copy}"]
flags += ["-shared", f"-L{build}/lib", "-lhova", "-o", output, str(plugin)]
subprocess.check_call(flags, cwd=like["directory"])
