# ===- trial.py - Compiles, runs and judges one random model -----------------=== #
# SPDX-License-Identifier: Apache-2.0
"""A Trial is a description, how it is compiled and what it is given. Run it: a Verdict.

A trial is saved as a folder from which it can be run again, whatever the generator draws
by then: model.json, trial.json, and, to look at, the weights and inputs.
"""

import json
import os
import random
import re
import subprocess
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from disguise import disguise
from evaluator import Evaluator
from golden import case
from judge import judge
from model import Model
from rounding import STORAGES, Exact, Plain
from values import REGIMES, draw, saved

SOURCE = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
HOVA = BUILD / "bin/hova"
SECONDS = 120
NOISY_RUNS = 5
# So many decide about a program that differs from the first ones: where rounding chooses
# between two answers, as between two heads of equal scores, few may agree by luck.
DECIDING_RUNS = 40
# Divides rows and columns among threads in models that are too small for it otherwise.
DIVIDE = "before-target(hova-lower-launches{suffix=_0 least-work=0})"
# Sentences of targets that do not run every model yet; each names a layer.
NO_CODE = re.compile(
    r"no code for a GPU yet|has code for a GPU (in|for)|code for a GPU reads from|needs tiles of whole heads"
)
# What x86-64-v4 has and x86-64-v3 has not.
V4_FLAGS = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def best_level():
    """x86-64-v4 where this machine runs it."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    return "x86-64-v4" if flags >= V4_FLAGS else "x86-64-v3"


@dataclass
class Verdict:
    """What went wrong: `kind` stays the same while a trial is shrunk."""

    kind: str
    text: str

    def __str__(self):
        return f"{self.kind}: {self.text}"


@dataclass
class Trial:
    seed: int
    description: dict
    settings: dict = field(default_factory=dict)
    below: dict = field(default_factory=dict)  # of the inputs that are ids
    regime: str = "normal"
    weight_scale: float = 1.0
    dtype: str = "f32"
    march: str = "native"
    strict: bool = False
    level: int = 2
    divide: bool = False
    checkpoint: bool = False
    target: str = "cpu"
    gpu: str = ""  # the level that kernels are made for; the first of the target's, where none is named
    items: bool = False  # whether a program for any number of items is made, too

    @classmethod
    def draw(cls, seed, **fixed):
        rng = random.Random(f"trial {seed}")
        model = Model(seed)
        ids = {v.name: v.below for v in model.top.values if v.below}
        drawn = {
            "regime": "normal" if rng.random() < 0.5 else rng.choice(list(REGIMES)),
            "weight_scale": rng.choice([1.0] * 8 + [0.01, 30.0]),
            "dtype": rng.choice(["f32", "f32", "bf16", "f16"]),
            "march": rng.choice(["native", "native", "x86-64-v3", best_level()]),
            "strict": rng.random() < 0.25,
            "level": rng.choice([2] * 8 + [0, 3]),
            "divide": rng.random() < 0.5,
            "checkpoint": rng.random() < 0.2,
        }
        drawn["items"] = fixed.get("target", "cpu") == "cpu" and rng.random() < 0.3
        if fixed.get("target", "cpu") != "cpu":
            drawn["dtype"] = rng.choice(["f32", "bf16", "bf16", "f16"])
        if fixed.get("target") == "cuda-emulated":
            # Drawn apart, so that a seed has the model that it had.
            drawn["gpu"] = random.Random(f"level {seed}").choice(["", "", "sm_86", "sm_90a", "sm_90a"])
        # The front end sees the file, so only what survives JSON is kept.
        description = json.loads(json.dumps(model.description))
        return cls(seed, description, model.settings, ids, **(drawn | fixed))

    # --- files -----------------------------------------------------------------

    @classmethod
    def load(cls, folder):
        fields = json.loads((folder / "trial.json").read_text())
        fields.pop("verdict", None)
        description = json.loads((folder / "model.json").read_text())
        return cls(description=description, **fields)

    def save(self, folder, verdict=None):
        folder.mkdir(parents=True, exist_ok=True)
        fields = asdict(self)
        description = fields.pop("description")
        (folder / "model.json").write_text(json.dumps(description, indent=1) + "\n")
        fields["verdict"] = str(verdict or "")
        (folder / "trial.json").write_text(json.dumps(fields, indent=1) + "\n")

    # --- the reference ---------------------------------------------------------

    def reference(self, noisy_runs=NOISY_RUNS):
        """(inputs, the exact run's outputs, the plain runs' outputs, weights)."""
        exact = Exact(self.seed, self.dtype, self.weight_scale, self.strict)
        evaluator = Evaluator(self.description, self.settings, exact)
        inputs = {
            name: draw(
                self.seed,
                name,
                evaluator.shape(name),
                entry.get("dtype", "f32"),
                self.regime,
                self.below.get(name, 1),
                STORAGES[self.storage_of(entry)],
            )
            for name, entry in self.description["inputs"].items()
        }
        with np.errstate(all="ignore"):
            want = evaluator.run(inputs)
        plains = []
        for run in range(1 + noisy_runs):
            noise = np.random.default_rng([self.seed, run]) if run else None
            plain = Plain(exact, noise, unknown=0.0 if run % 2 else np.nan)
            evaluator = Evaluator(self.description, self.settings, plain)
            plains.append(plain.run(lambda _net: evaluator.run(inputs)))
        # What an initialiser makes may be in the file all the same.
        rng = random.Random(f"left out {self.seed}")
        left_out = {name for name in sorted(exact.initialised) if rng.random() < 0.7}
        weights = {n: v for n, v in exact.weights.items() if n not in left_out}
        return inputs, want, plains, weights

    def storage_of(self, entry):
        """The type that rounds an input: its own of 16 bits, or what the program stores."""
        dtype = entry.get("dtype", "f32")
        return dtype if dtype in ("bf16", "f16") else self.dtype

    def save_input(self, folder, name, value):
        np.save(folder / f"{name}.npy", saved(value, self.description["inputs"][name].get("dtype", "f32")))

    # --- the program -----------------------------------------------------------

    def compile_options(self):
        options = [f"--dtype={self.dtype}", f"-O{self.level}", f"--target={self.target}"]
        options += ["--strict"] if self.strict else []
        if self.target == "cpu":
            options.append(f"--march={self.march}")
            options += [f"--pass-pipeline={DIVIDE}"] if self.divide else []
        options += [f"--gpu-arch={self.gpu}"] if self.gpu else []
        for name, value in self.settings.items():
            text = str(value).lower() if isinstance(value, bool) else value
            options.append(f"--set={name}={text}")
        return options

    def run(self, folder):
        """None if all is well, else a Verdict. `folder` keeps what was used.

        Where the target has no code for the model, and says so, `refused` is the reason."""
        self.refused, self.ranged = "", False
        inputs, want, plains, weights = self.reference()
        self.save(folder)
        for name, value in inputs.items():
            self.save_input(folder, name, value)
        options = self.compile_options()
        if weights and self.checkpoint:
            rng = np.random.default_rng(self.seed)
            section, weights = disguise(weights, rng)
            replace(self, description=self.description | {"checkpoints": section}).save(
                folder
            )
        if weights:
            (folder / "weights.safetensors").write_bytes(case.safetensors(weights))
            options += ["--weights", folder / "weights.safetensors"]
        program = folder / "program"
        compiling = (HOVA, "compile", folder / "model.json", *options, "-o", program)
        done = call(*compiling)
        if done.returncode == 1 and "is required to be fused, but" in done.stderr:
            # A demand that is not met is an error, which is as it should be.
            free = without_demands(json.loads((folder / "model.json").read_text()))
            replace(self, description=free).save(folder)
            done = call(*compiling)
        if done.returncode == 1 and self.target != "cpu" and NO_CODE.search(done.stderr):
            self.refused = failed("compiling", done).kind
            return None
        if done.returncode:
            return failed("compiling", done)
        outputs = {}
        for run in (1, 2):
            outputs[run] = self.execute(folder, inputs, run)
            if isinstance(outputs[run], Verdict):
                return outputs[run]
        verdict = self._judge(outputs, want, plains)
        if verdict and verdict.kind.startswith("numbers"):
            plains = self.reference(DECIDING_RUNS)[2]
            verdict = self._judge(outputs, want, plains)
        if not verdict and self.items:
            verdict = self._run_with_items(folder, inputs, options, (want, plains))
        return verdict

    def _run_with_items(self, folder, inputs, options, references):
        """The same where the number of items is a range up to that of the inputs: all of them, and some of the first,
        each of which has the bits that it has beside the others. `ranged` says whether hova takes the range."""
        counts = {len(value) for value in inputs.values()}
        if len(counts) != 1 or not (most := counts.pop()) > 1:
            return None
        folder = folder / "items"
        description = json.loads((folder.parent / "model.json").read_text())
        description.setdefault("parameters", {})["any_items"] = {"min": 1, "max": most}
        for entry in description["inputs"].values():
            entry["shape"][0] = "any_items"
        replace(self, description=description).save(folder)
        if call(HOVA, "check", folder / "model.json", *(o for o in options if str(o).startswith("--set"))).returncode:
            return None
        self.ranged = True
        done = call(HOVA, "compile", folder / "model.json", *options, "-o", folder / "program")
        if done.returncode:
            return failed("compiling for a range", done)
        outputs = {}
        for run in (1, 2):
            count = most if run == 1 else random.Random(self.seed).randrange(1, most)
            for name, value in inputs.items():
                self.save_input(folder, name, value[:count])
            outputs[run] = self.execute(folder, inputs, run)
            if isinstance(outputs[run], Verdict):
                return outputs[run]
        for name, value in outputs[2].items():
            if bits(value) != bits(outputs[1][name][: len(value)]):
                return Verdict("items", f"output {name} of {count} items has other bits than beside {most - count} more")
        return self._judge({1: outputs[1], 2: outputs[1]}, *references)

    def execute(self, folder, inputs, run):
        """The outputs by name, or a Verdict if there are none. `run` is also how many threads there are.

        An emulated program has no threads of its own: it runs twice."""
        read = [part for n in inputs for part in ("--input", f"{n}={folder / n}.npy")]
        out = folder / f"threads{run}"
        how = ("--threads", run) if self.target == "cpu" else ()
        done = call(folder / "program", *read, *how, "--output-dir", out)
        if done.returncode:
            return failed("running", done)
        return {name: np.load(out / f"{name}.npy") for name in self.description["outputs"]}

    @staticmethod
    def _judge(outputs, want, plains):
        for name in want:
            wrong = judge(
                outputs[1][name], want[name], [plain[name] for plain in plains]
            )
            if wrong:
                return Verdict(
                    "numbers: " + wrong.split(":")[0], f"output {name} {wrong}"
                )
        for name in want:
            if bits(outputs[1][name]) != bits(outputs[2][name]):
                return Verdict(
                    "threads", f"output {name} has other bits with two threads"
                )
        return None


def run_all(seeds, folder, kind=Trial, **fixed):
    """Draws and runs a trial of a kind for each seed: the seed and verdict of each that fails, and the
    seeds of those that the target has no code for."""
    failed, refused = [], []
    for seed in seeds:
        trial = kind.draw(seed, **fixed)
        if verdict := trial.run(folder):
            failed.append((seed, str(verdict)))
        if trial.refused:
            refused.append(seed)
    return failed, refused


def without_demands(description):
    """The description without "require", anywhere."""
    if isinstance(description, dict):
        entries = description.items()
        return {k: without_demands(v) for k, v in entries if k != "require"}
    if isinstance(description, list):
        return [without_demands(entry) for entry in description]
    return description


def bits(values):
    """The bytes of an array, where every NaN is the same one.

    Sign and payload of a NaN are not specified: an addition passes on that of one
    of its operands, and which is first is the code generator's choice."""
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return values.tobytes()


def call(*command):
    command = [str(part) for part in command]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(
            command, "timeout", "", f"took over {SECONDS} s"
        )


def failed(what, done):
    """The kind names the message without the names and numbers in it."""
    lines = done.stderr.strip().splitlines() or ["nothing on stderr"]
    message = next((line for line in lines if "error:" in line), lines[-1])
    message = re.sub(r"^.*?error:", "", message)
    plain = re.sub(r"[\"'][^\"']*[\"']|[\d.]+", "_", message).strip()
    return Verdict(
        f"{what}: status {done.returncode}, {plain}", done.stderr.strip()[-2000:]
    )
