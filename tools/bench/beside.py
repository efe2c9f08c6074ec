# ===- beside.py - Small programs of hova beside each other --------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench` does alike with --scores, --layers and --lengths: programs of one
description each, and what becomes of their rows. No peers."""

import json
import tempfile
from pathlib import Path

import arguments
from bench import BUILD, SOURCE, say
from machine import describe_run
from programs import BenchError, call


def compile_description(description, folder, *options):
    """Its program, in a folder of its own."""
    folder.mkdir()
    name = description["name"]
    file, program = folder / f"{name}.json", folder / name
    file.write_text(json.dumps(description))
    call([BUILD / "bin/hova", "compile", file, *options, "-o", program])
    return program


def run(name, parser, rows_of, table_of):
    """Prints the table of `rows_of(options, folder)`, and writes the rows to --out; returns
    the status of the process."""
    options = parser.parse_args()
    options.cpus = arguments.cpus()[: options.threads]
    try:
        with tempfile.TemporaryDirectory() as folder:
            rows = rows_of(options, Path(folder))
    except BenchError as error:
        say(error)
        return 1
    print(table_of(rows))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        file = options.out / f"{name}-threads-{options.threads}-{options.dtype}.json"
        results = {
            **describe_run(SOURCE, options.cpus),
            "dtype": options.dtype,
            name: rows,
        }
        file.write_text(json.dumps(results, indent=1) + "\n")
        say(f"results are in {file}")
    return 0
