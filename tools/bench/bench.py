# ===- bench.py - hova against its peers ------------------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Times hova's program and its peers on the same weights and inputs.

`./dev bench` calls it. docs/bench/README.md says how the figures come about.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import arguments
from arguments import PEERS
from contest import TOOLS, Peer, Program, last_exception
from machine import commit, describe_run
from peak import Peak
from programs import BenchError
from report import write_report
from suites import ODD, QUICK, SUITES, select
from workload import Case

SOURCE = TOOLS.parents[1]
BUILD = Path(os.environ.get("HOVA_BUILD", SOURCE / "build"))
MODELS = (SOURCE / "examples/models", SOURCE / "frontend/models", TOOLS)

# It pins a PyTorch of its own.
ENVIRONMENTS = {"zentorch": BUILD / "venv-zentorch/bin/python"}
NEED_ONNX = ("openvino", "onnxruntime")

ROUNDS = 5


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def export_key(case, job):
    """What the ONNX model depends on: the job, the weights and the exporting code.

    It is f32: frameworks choose the type of products when they load it.
    """
    job = {key: value for key, value in job.items() if key != "dtype"}
    digest = hashlib.sha256(json.dumps(job).encode())
    code = sorted(TOOLS.glob("nets/*.py")) + [TOOLS / "export.py"]
    for path in [case.weights, TOOLS / "requirements.txt", *code]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def export(case, job):
    """Writes the ONNX model unless it is there; returns a reason if that fails."""
    stamp = case.folder / "model.onnx.key"
    key = export_key(case, job)
    if stamp.exists() and stamp.read_text() == key:
        return None
    stamp.unlink(missing_ok=True)
    file = case.folder / "export.json"
    file.write_text(json.dumps(job))
    log = case.folder / "export.log"
    with log.open("w") as stream:
        done = subprocess.run(
            [sys.executable, str(TOOLS / "export.py"), str(file)],
            stdout=stream,
            stderr=stream,
            check=False,
        )
    if done.returncode == 0:
        stamp.write_text(key)
        return None
    return f"no ONNX model: {cause(log.read_text())[:300]}"


def cause(log):
    """The exporter ends with a summary of its exceptions, the first cause first."""
    summary = log.partition("## Exception summary")[2]
    lines = [line.strip() for line in summary.splitlines() if line.strip()]
    return lines[0] if lines else last_exception(log)


def make_peers(names, case, cpus):
    """The peers that know the model; they need its reference in nets/."""
    if not names:
        return []
    from nets import FAMILIES

    model = case.summary["model"]
    job = {
        "model": model,
        "parameters": case.parameters(),
        "weights": str(case.weights),
        "onnx": str(case.folder / "model.onnx"),
        "inputs": [str(case.input_file(v["name"])) for v in case.summary["inputs"]],
        "outputs": [value["name"] for value in case.summary["outputs"]],
        "threads": len(cpus),
        "dtype": case.dtype,
    }
    peers = [
        Peer(name, case, cpus, {**job, "peer": name}, ENVIRONMENTS.get(name, sys.executable))
        for name in names
    ]
    if model not in FAMILIES:
        reason = f"no reference for the model {model}"
    elif set(names) & set(NEED_ONNX):
        say(f"{case.label}: exporting to ONNX")
        reason = export(case, job)
    else:
        return peers
    for peer in peers:
        if model not in FAMILIES or peer.name in NEED_ONNX:
            peer.reason = reason
    return peers


def contest(contestants, peak, seconds):
    """Interleaved turns, `seconds` in all for each contestant.

    Every round begins with another contestant, so that none is always the one
    after the slowest.
    """
    for number in range(ROUNDS):
        peak.measure()
        shift = number % len(contestants)
        for contestant in contestants[shift:] + contestants[:shift]:
            contestant.turn(seconds / ROUNDS)


def run_case(hova, case, cpus, peer_names, peak, seconds):
    """Measures one case; returns its entry in the results."""
    say(f"{case.label}: compiling")
    case.write_weights(hova)
    program = Program(hova, case, cpus)
    program.prepare()
    peers = make_peers(peer_names, case, cpus)
    try:
        for peer in peers:
            if not peer.reason:
                say(f"{case.label}: preparing {peer.name}")
                peer.prepare(program.outputs)
        ready = [program, *(peer for peer in peers if not peer.reason)]
        say(f"{case.label}: {len(ready)} contestants, {ROUNDS} rounds")
        contest(ready, peak, seconds)
    finally:
        for peer in peers:
            peer.end()
    measured = program.measured
    return {
        "label": case.label,
        "model": case.summary["model"],
        "settings": case.settings,
        "dtype": case.dtype,
        "threads": len(cpus),
        "flops": measured["flops"],
        "flops_executed": measured["flops_executed"],
        "peak_gflops": peak.take(),
        "contestants": [c.record() for c in [program, *peers]],
    }


def add_ratios(entry):
    """Percent of the peak for everyone, and how much faster hova is than the best peer.

    The peak of bf16 is that of its own instruction, where the processor has it.
    """
    limit = (entry["dtype"] == "bf16" and entry["peak_gflops"]["bf16_dot"]) or None
    entry["limit"] = "bf16_dot" if limit else "fma"
    peak = limit or entry["peak_gflops"]["fma"]
    timed = [row for row in entry["contestants"] if row["status"] == "timed"]
    for row in timed:
        flops = entry["flops_executed" if row["name"] == "hova" else "flops"]
        row["percent_of_peak"] = flops * 1e-6 / row["median_ms"] / peak * 100
    peers = [row for row in timed if row["name"] != "hova"]
    if peers:
        best = min(peers, key=lambda row: row["median_ms"])
        entry["best_peer"] = best["name"]
        entry["ratio_to_best_peer"] = best["median_ms"] / timed[0]["median_ms"]


def parse_arguments():
    parser = arguments.of_peers()
    options = parser.parse_args()
    options.cpus = arguments.cpus()[: options.threads]
    options.peers = [] if options.peers == "none" else options.peers.split(",")
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"no peer is called {name}; there are {', '.join(PEERS)}")
    if options.set and not options.model:
        parser.error("--set needs a model")
    if options.model or options.quick or options.odd:
        if options.batch:
            parser.error("--batch selects from suites: use --set with a model")
        if options.suite or options.models:
            parser.error("--suite and --models name what runs: leave the other out")
    if options.quick:
        options.seconds = min(options.seconds, 0.5)
    return options


def description_of(model):
    """A suite's model: an example, one of the library of models, or the benchmark's own."""
    files = [folder / f"{model}.json" for folder in MODELS]
    return next((file for file in files if file.exists()), files[0])


def cases_of(options):
    if options.model:
        chosen = [(options.model, options.set)]
    else:
        every = [name for name in SUITES if name != "growth"]
        suites = options.suite or (every if options.models else ["dense"])
        cases = select(suites, options.models, options.batch)
        if options.odd or options.quick:
            cases = ODD if options.odd else QUICK
        chosen = [(description_of(model), sets) for model, sets in cases]
    for path, settings in chosen:
        name = "-".join([path.stem, *settings]).replace("/", "_")
        if options.dtype != "f32":
            name += f"-{options.dtype}"
        folder = BUILD / "bench" / name
        yield Case(path.resolve(), settings, folder, options.dtype)


def output_folder(options):
    """Whole suites have a folder for their commit."""
    if options.out:
        return options.out
    if options.model or options.models or options.quick:
        return BUILD / "bench/results"
    return BUILD / "bench/results" / commit(SOURCE)


def results_name(options):
    parts = [*options.suite, *options.models]
    if options.odd:
        parts.append("odd")
    if options.batch:
        parts.append(f"batch-{options.batch}")
    parts.append(f"threads-{options.threads}")
    if options.dtype != "f32":
        parts.append(options.dtype)
    return "-".join(parts)


def on_alarm(signal_number, frame):
    raise TimeoutError


def main():
    options = parse_arguments()
    signal.signal(signal.SIGALRM, on_alarm)
    hova = BUILD / "bin/hova"
    start = time.monotonic()
    peak = Peak(BUILD, options.cpus)
    results = {
        **describe_run(SOURCE, options.cpus),
        "rounds": ROUNDS,
        "seconds": options.seconds,
        "cases": [],
    }
    folder, name = output_folder(options), results_name(options)
    for case in cases_of(options):
        entry = run_case(
            hova, case, options.cpus, options.peers, peak, options.seconds
        )
        add_ratios(entry)
        results["cases"].append(entry)
        results["total_s"] = time.monotonic() - start
        # A long run that is cut off leaves what it has.
        report = write_report(results, folder, name)
    print(report)
    say(f"{results['total_s']:.0f} s; results are in {folder}")
    wrong = [c["label"] for c in results["cases"] if disagrees_with_all(c)]
    if wrong:
        raise BenchError(f"hova's outputs differ from every peer's: {', '.join(wrong)}")


def disagrees_with_all(entry):
    """Whether outputs were compared and none agreed."""
    reasons = [row.get("reason", "") for row in entry["contestants"][1:]]
    return any("outputs differ" in r for r in reasons) and "best_peer" not in entry


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        say(error)
        sys.exit(1)
