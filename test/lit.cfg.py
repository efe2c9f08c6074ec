# ===- lit.cfg.py - How lit finds and runs hova's tests -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
# The programs under test and FileCheck come first in PATH, so RUN lines name them
# plainly. Substitutions: %llvm_include, the headers and definitions of LLVM and MLIR;
# %models, the folder of the example descriptions; %examples, all examples; %vectors,
# small models with inputs; %plugin, %extension, %misplaced, %several and %anchors, the plugins of
# test/tools/plugin; %python, an interpreter with NumPy. Features: avx2, avx512f,
# avx512_bf16 (what this machine runs), cuda-gpu.

import os
from pathlib import Path

import lit.formats

config.name = "hova"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "peers", "golden", "style"]
config.test_source_root = os.path.dirname(__file__)

source, build = Path(config.hova_source), Path(config.hova_build)
# Programs that have LLVM inside, where run.py says so (test/whole/links.py); test/tools has those that people start.
config.environment["PATH"] = os.pathsep.join(
    [str(Path(os.environ.get("HOVA_WHOLE", build)) / "bin"), config.llvm_bin, os.environ["PATH"]]
)
config.environment["HOVA_BUILD"] = str(build)
# A variable captured in one function must not be used in the next by accident.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"

# Freed memory gets other contents at once, so that a use of it shows every time.
config.environment["MALLOC_PERTURB_"] = "165"

# Which fault of a planted build is on, and where it counts branches (test/full/nets).
for name in ("HOVA_FAULT", "LLVM_PROFILE_FILE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# What has LLVM inside loads no plugin.
PLUGIN = r"(?= [^|]*--(load-dialect|load-pass|pass)-plugin=)"
config.substitutions += [(rf"(?<![\w/-]){name}{PLUGIN}", str(build / "bin" / name)) for name in ("hova-opt", "hova")]

examples = source / "examples"
config.substitutions += [
    ("%llvm_include", str(Path(config.llvm_bin).parent / "include")),
    ("%models", str(examples / "models")),
    ("%examples", str(examples)),
    ("%vectors", str(source / "test/golden/vectors")),
    ("%plugin", str(build / "lib/hova-test-plugin.so")),
    ("%extension", str(build / "lib/hova-test-extension.so")),
    ("%misplaced", str(build / "lib/hova-test-misplaced.so")),
    ("%several", str(build / "lib/hova-test-several.so")),
    ("%anchors", str(build / "lib/hova-test-anchors.so")),
    ("%python", str(build / "venv-test/bin/python")),
]

flags = set(Path("/proc/cpuinfo").read_text().split())
for feature in ("avx2", "avx512f", "avx512_bf16"):
    if feature in flags:
        config.available_features.add(feature)
if Path("/dev/nvidia0").exists():
    config.available_features.add("cuda-gpu")
