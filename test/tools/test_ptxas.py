# ===- test_ptxas.py - Machine code of programs for a GPU -----------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""Which ptxas `hova compile --target=cuda` takes, what it does where that fails, and what it tells of kernels.

A script stands in for ptxas but at the end of the file, where the one of test/requirements.txt is asked. No GPU is needed."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

BUILD = Path(os.environ["HOVA_BUILD"])
HOVA = BUILD / "bin/hova"
ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/01-digits/digits.json"
SMALL = ROOT / "test/golden/vectors/mha_both/model.json"
WORDS = ["--dtype=bf16", "--target=cuda"]
REAL = Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin/ptxas"
TAIL = "; the program has no machine code, and the driver compiles its PTX whenever it starts\n"

# $3 is the PTX, $5 the machine code.
VERSION = 'echo ran >>"$(dirname "$0")/ran"\n[ "$1" = --version ] && { echo "Cuda compilation tools, release 12.9, V12.9.41"; exit 0; }\n'
REPORT = """
sed -n 's/^\\.visible \\.entry \\([a-z0-9_]*\\)(.*/\\1/p' "$3" | while read name; do
  echo "ptxas info    : Compiling entry function '$name' for 'sm_80'"
  echo "    24 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads"
  echo "ptxas info    : Used 58 registers, used 1 barriers, 64 bytes smem, 384 bytes cmem[0]"
done >&2
"""
RESULT = '{ printf "\\177ELF"; echo "$1 $2 $4"; env | grep -v -e ^_= -e ^PWD= -e ^OLDPWD= -e ^SHLVL=; cat "$3"; } >"$5"\n'
GOOD = VERSION + REPORT + RESULT


def write(folder, script=GOOD):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ptxas"
    path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def compiler_of(tmp_path, monkeypatch):
    """Gives what compiles a model in a folder of its own; nothing of CUDA is in the environment but what is given."""
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def of(model):
        def run(*options, verb="compile", status=0, output="program", **environment):
            kept = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_")}
            kept |= {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path / "temporary")} | environment
            words = [HOVA, verb, model, *WORDS, *options, *(["-o", output, "-q"] if verb == "compile" else [])]
            done = subprocess.run(words, capture_output=True, text=True, check=False, env=kept)
            assert done.returncode == status, done.stdout + done.stderr
            assert not list((tmp_path / "temporary").iterdir())
            return done

        run.folder = tmp_path / "here"
        return run

    return of


@pytest.fixture
def compile_digits(compiler_of):
    return compiler_of(DIGITS)


@pytest.fixture
def compile_small(compiler_of):
    """Of what is the same for every model."""
    return compiler_of(SMALL)


def bytes_of(run, name="program"):
    return (run.folder / name).read_bytes()


def describe(program):
    return json.loads(subprocess.run([program, "--describe", "--format=json"], capture_output=True, text=True, check=True).stdout)


def test_the_first_place_that_has_one_is_taken(tmp_path, compile_small):
    places = {"PATH": tmp_path / "path", "CUDA_HOME": tmp_path / "home/bin", "CUDA_PATH": tmp_path / "toolkit/bin"}
    environment = {"PATH": f"{tmp_path}/nothing:{places['PATH']}:/usr/bin:/bin", "CUDA_HOME": str(tmp_path / "home"),
                   "CUDA_PATH": str(tmp_path / "toolkit")}
    for folder in places.values():
        write(folder)
    for folder in places.values():
        compile_small(**environment)
        assert [place for place in places.values() if (place / "ran").exists()] == [folder]
        shutil.rmtree(folder)


def test_nothing_of_the_current_folder_runs(compile_small):
    """Neither by an empty or relative folder in PATH nor by a relative CUDA_HOME."""
    for folder in (compile_small.folder, compile_small.folder / "bin"):
        write(folder)
    compile_small(PATH=":.:bin:/usr/bin:/bin:", CUDA_HOME=".", CUDA_PATH="")
    assert not list(compile_small.folder.rglob("ran"))


def test_machine_code_stands_beside_the_ptx(tmp_path, compile_small):
    ptxas = write(tmp_path / "path")
    compile_small(f"--ptxas={ptxas}")
    compile_small("--emit=ptx", output="program.ptx")
    compile_small("--emit=cubin", output="program.cubin", PATH=f"{ptxas.parent}:/usr/bin:/bin")
    text, code = bytes_of(compile_small, "program.ptx"), bytes_of(compile_small, "program.cubin")
    # Its environment holds nothing but the locale.
    assert code.startswith(b"\x7fELF-v -arch=sm_80 -o\nLC_ALL=C\n") and code.endswith(text)
    assert text in bytes_of(compile_small).replace(code, b"") and code in bytes_of(compile_small)
    compile_small("--emit=asm", output="program.s")
    assert bytes_of(compile_small, "program.s") == text


def test_a_program_depends_on_the_assembler_and_not_on_its_place(tmp_path, compile_small):
    compile_small(f"--ptxas={write(tmp_path / 'path')}", output="first")
    compile_small("--ptxas=none", output="none")
    write(tmp_path / "home/bin")
    compile_small(CUDA_HOME=str(tmp_path / "home"), output="second")
    write(tmp_path / "home/bin", GOOD.replace("12.9", "13.0"))
    compile_small(CUDA_HOME=str(tmp_path / "home"), output="newer")
    assert bytes_of(compile_small, "first") == bytes_of(compile_small, "second")
    assert len({bytes_of(compile_small, name) for name in ("first", "newer", "none")}) == 3


def test_programs_tell_what_ptxas_said(tmp_path, compile_small):
    compile_small(f"--ptxas={write(tmp_path / 'path')}", output="with")
    compile_small("--ptxas=none", output="without")
    told, untold = describe("./with"), describe("./without")
    assert told.pop("assembler") == "ptxas 12.9.41" and told.pop("machine_code_bytes") > len("\x7fELF")
    for launch in told["launches"]:
        assert (launch.pop("registers"), launch.pop("spilled_bytes"), launch.pop("local_bytes")) == (58, 20, 24)
    # Made again, each has the other's machine code only if it had it.
    options = told["bill"].pop("options"), untold["bill"].pop("options")
    assert options[1] == [*options[0], "--ptxas=none"]
    assert told == untold

    def said(program, option):
        return subprocess.run([program, option], capture_output=True, text=True, check=True).stdout

    assert "\nassembler  ptxas 12.9.41\n" in said("./with", "--version") and "assembler" not in said("./without", "--version")
    table = said("./with", "--describe")
    assert "\nlaunches\n   registers  spilled bytes     threads  shared bytes  blocks            kernel\n" in table
    assert "\n          58             20         128" in table and "registers" not in said("./without", "--describe")


def test_a_note_says_what_was_found(tmp_path, compile_small):
    ptxas = write(tmp_path / "path")
    words = [HOVA, "compile", SMALL, *WORDS, "-o", "program"]
    environment = {**os.environ, "PATH": f"{ptxas.parent}:/usr/bin:/bin"}
    note = f"hova: note: machine code for sm_80 by ptxas 12.9.41, {ptxas}; --ptxas=none leaves it out\n"
    assert note in subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stderr
    asked = subprocess.run([*words, f"--ptxas={ptxas}"], capture_output=True, text=True, check=True, env=environment)
    assert "machine code" not in asked.stderr


OLD = """echo "ptxas $3, line 9; fatal   : Unsupported .version 8.0; current version is '7.4'" >&2
echo "ptxas fatal   : Ptx assembly aborted due to errors" >&2
exit 255
"""
FAILING = {
    "old": (VERSION + OLD, "ptxas 12.9.41 does not take the kernels: Unsupported .version 8.0; current version is '7.4'"),
    "silent": (VERSION + "exit 3\n", "ptxas 12.9.41 does not take the kernels: exit status 3"),
    "ended": (VERSION + "kill -SEGV $$\n", "ptxas 12.9.41 does not take the kernels: it was ended by a signal: Segmentation fault"),
    "nothing": (VERSION + REPORT, "ptxas 12.9.41 left no machine code"),
    "no report": (VERSION + RESULT, "ptxas 12.9.41 reports no registers of 'kernel_"),
    "other": ("echo hello\n", "its --version does not tell the release of a ptxas"),
    "no program": ("", "its --version does not tell the release of a ptxas"),
}


@pytest.mark.parametrize("name", FAILING)
def test_one_that_was_found_and_fails_is_a_warning(name, tmp_path, compile_small):
    script, reason = FAILING[name]
    ptxas = write(tmp_path / "path", script)
    said = compile_small(PATH=f"{ptxas.parent}:/usr/bin:/bin").stderr
    assert said.startswith(f"{SMALL}: warning: {ptxas}: {reason}") and said.endswith(TAIL) and said.count("\n") == 1
    compile_small("--ptxas=none", output="none")
    assert bytes_of(compile_small) == bytes_of(compile_small, "none")
    assert "assembler" not in describe("./program")


@pytest.mark.parametrize("name", FAILING)
def test_one_that_was_asked_for_and_fails_is_an_error(name, tmp_path, compile_small):
    script, reason = FAILING[name]
    ptxas = write(tmp_path / "path", script)
    said = compile_small(f"--ptxas={ptxas}", status=1).stderr
    assert said.startswith(f"hova: error: {ptxas}: {reason}") and said.count("\n") == 1 and "warning" not in said
    assert not (compile_small.folder / "program").exists()


# The last place is not of the environment.
ONLY_WITHOUT = pytest.mark.skipif(Path("/usr/local/cuda/bin/ptxas").exists(), reason="this machine has /usr/local/cuda/bin/ptxas")
NOTHING = [(["--ptxas=none"], "--ptxas=none leaves it out"), pytest.param([], "no ptxas was found", marks=ONLY_WITHOUT)]


@ONLY_WITHOUT
def test_machine_code_alone_needs_an_assembler(compile_small):
    said = compile_small("--emit=cubin", status=1, output="program.cubin").stderr
    assert said == "hova: error: there is no machine code to write: no ptxas was found\n"


WRONG = {
    "--ptxas=ptxas": "option '--ptxas': expects 'none' or a path such as './ptxas', got 'ptxas'",
    "--ptxas=./missing": "option '--ptxas': './missing' is no program that can be run",
    "--ptxas=": "option '--ptxas' needs a value",
    "--ptxas=none --emit=asm": "option '--ptxas' has no effect with '--emit=asm'",
    "--ptxas=none --emit=mlir": "option '--ptxas' has no effect with '--emit=mlir'",
    "--ptxas=none --target=cpu --dtype=f32": "option '--ptxas' does not apply to --target=cpu",
    "--ptxas=none --target=cuda-emulated": "option '--ptxas' does not apply to --target=cuda-emulated",
    "--emit=cubin --target=cuda-emulated": "--emit=cubin is for --target=cuda, got --target=cuda-emulated",
    "--emit=cubin --ptxas=none": "--emit=cubin is what ptxas makes, and --ptxas=none leaves it out",
    "--emit=ptx --target=cuda-emulated": "--emit=ptx is for --target=cuda, got --target=cuda-emulated",
    "--emit=ptx --target=cpu": "--emit=ptx is for --target=cuda, got --target=cpu",
}


@pytest.mark.parametrize("options", WRONG)
def test_wrong_words_are_refused(options, compile_small):
    assert f"hova: error: {WRONG[options]}\n" in compile_small(*options.split(), status=2).stderr


# ===-----------------------------------------------------------------------=== #
# Reports
# ===-----------------------------------------------------------------------=== #


def test_explains_what_kernels_take(tmp_path, compile_digits):
    ptxas = write(tmp_path / "path", GOOD.replace("58 registers", "200 registers"))
    report = json.loads(compile_digits(f"--ptxas={ptxas}", "--format=json", verb="explain").stdout)["device"]
    assert (report["arch"], report["assembler"]) == ("sm_80", "ptxas 12.9.41")
    kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
    compile_digits(f"--ptxas={ptxas}")
    launches = describe("./program")["launches"]
    assert [(path, kernel["name"]) for kernel in report["kernels"] for path in kernel["launches"]] == sorted(
        ((launch["path"], launch["kernel"]) for launch in launches),
        key=lambda pair: list(kernels).index(pair[1]))
    for launch in launches:
        kernel = kernels[launch["kernel"]]
        assert (kernel["threads"], kernel["shared_bytes"]) == (launch["block"][0], launch["shared_bytes"])
        assert (kernel["registers"], kernel["spilled_bytes"], kernel["local_bytes"], kernel["static_shared_bytes"]) == (200, 20, 24, 64)
    # One image: 10 logits of 48 channels in one block, of which two fit on a multiprocessor.
    head = kernels["kernel_head"]
    assert (head["grid"], head["flops"]) == ([1, 1, 1], 2 * 10 * 48)
    # Rows, weights, bias and result, and two sums of squares of the norm before it.
    assert head["bytes"] == 2 * 48 + 2 * 10 * 48 + 4 * 10 + 4 * 10 + 4 * 2
    assert head["waves"] == {"108": 1 / (2 * 108), "132": 1 / (2 * 132)}
    # 8 warps of 200 * 32 registers, and 64 warps in all; blocks of 4 warps.
    assert (kernels["kernel_head"]["blocks"], kernels["kernel_head"]["limits"]) == (2, ["registers"])

    text = compile_digits(f"--ptxas={ptxas}", verb="explain").stdout
    compiled = compile_digits(f"--ptxas={ptxas}", "--explain").stderr
    table = text[text.index("kernels on sm_80"):]
    assert compiled.endswith(table)
    lines = table.splitlines()
    assert lines[0] == "kernels on sm_80, machine code by ptxas 12.9.41"
    assert lines[1] == f"main loops are unknown: {report['without_main_loops']}"
    assert report["without_main_loops"] == "there is no nvdisasm beside ptxas or in PATH" and not any("main_loop" in kernel for kernel in kernels.values())
    assert re.split(r"\s{2,}", lines[2].strip()) == ["launches", "threads", "registers", "spilled", "local", "shared", "blocks", "grid", "waves/108",
                                                     "waves/132", "us", "MFLOP", "MB", "reads/T", "+copies", "others", "limited by", "kernel"]
    assert len(lines) == 7 + len(kernels)
    launches = sum(len(kernel["launches"]) for kernel in kernels.values())
    assert report["modelled_starts_us"] == 2.0 * launches and report["overlapped_launches"] == 0
    starts, work, rest = 2.0 * launches, report["modelled_kernels_us"], report["unexplained_us"]
    assert abs(rest - 0.6 * launches) < 1e-9 and abs(work - sum(kernel["modelled_us"] * len(kernel["launches"]) for kernel in kernels.values())) < 1e-9
    assert lines[-4:] == [f"starts of {launches} launches: {starts:.1f} us, modelled by 2.0 us of each",
                          f"kernels behind their starts: {work:.1f} us, modelled for 132 multiprocessors of an H100",
                          f"what the model does not explain: {rest:.1f} us, by 0.6 us of each launch, as measured on average",
                          f"all of it: {starts + work + rest:.1f} us of a run"]
    head = next(line for line in lines if line.endswith(" kernel_head"))
    shared = kernels["kernel_head"]["shared_bytes"]
    assert re.split(r"\s{2,}", head.strip()) == ["1", "128", "200", "20", "24", f"64 + {shared}", "2", "1 x 1 x 1", "0.00", "0.00", f"{kernels['kernel_head']['modelled_us']:.1f}", "0.0", "0.00",
                                              "-", "-", "-", "registers", "kernel_head"]


# A loop in a loop, a branch forward, what is never executed, a section that is no code, and a kernel without products.
DISASSEMBLED = """
\t.section\t.text.kernel_head,"ax",@progbits
\t.sectioninfo\t@"SHI_REGISTERS=94"
.L_x_0:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDSM.16.M88.4 R8, [R2] ;
        /*0020*/              @!PT LDS RZ, [RZ] ;
        /*0030*/              @!P0 LDGSTS.E.BYPASS.128 [R3], [R4.64] ;
        /*0040*/                   HMMA.16816.F32.BF16 R12, R8, R16, R12 ;
        /*0050*/                   HMMA.16816.F32.BF16 R12, R8, R18, R12 ;
        /*0060*/               @P1 BRA `(.L_x_2) ;
        /*0070*/                   NOP ;
.L_x_2:
        /*0080*/                   IADD3 R2, R2, 0x20, RZ ;
        /*0090*/              @!P1 BRA `(.L_x_1) ;
        /*00a0*/              @!P2 BRA `(.L_x_0) ;
\t.section\t.text.kernel_pooled,"ax",@progbits
.L_x_3:
        /*0000*/                   FADD R1, R1, R2 ;
        /*0010*/               @P0 BRA `(.L_x_3) ;
\t.section\t.nv.info,"",@"SHT_CUDA_INFO"
        /*0000*/                   .byte 0x04, 0x12
"""


def test_explains_main_loops_where_there_is_a_disassembler(tmp_path, compile_digits):
    ptxas = write(tmp_path / "path")
    disassembler = ptxas.with_name("nvdisasm")
    (tmp_path / "text").write_text(DISASSEMBLED)
    disassembler.write_text(f'#!/bin/sh\nhead -c 4 "$2" | grep -q ELF && [ "$1" = -c ] && cat {tmp_path}/text\n')
    disassembler.chmod(0o755)
    report = json.loads(compile_digits(f"--ptxas={ptxas}", "--format=json", verb="explain").stdout)["device"]
    loops = {kernel["name"]: kernel["main_loop"] for kernel in report["kernels"] if "main_loop" in kernel}
    # Each of 512 bytes: 4 cycles of shared memory for each of 4 warps, where two products take 16.
    assert loops == {"kernel_head": {"products": 2, "reads_per_t": 1.0, "reads_and_copies_per_t": 2.0, "other_instructions_per_product": 2.5}}
    text = compile_digits(f"--ptxas={ptxas}", verb="explain").stdout
    assert re.search(r" 1\.00 +2\.00 +2\.50  .* kernel_head\n", text) and "main loops are unknown" not in text
    # In another folder it is found by PATH.
    elsewhere = tmp_path / "elsewhere" / "nvdisasm"
    elsewhere.parent.mkdir()
    disassembler.rename(elsewhere)
    assert "main loops are unknown" in compile_digits(f"--ptxas={ptxas}", verb="explain").stdout
    found = compile_digits(f"--ptxas={ptxas}", verb="explain", PATH=f"{elsewhere.parent}:{os.environ['PATH']}").stdout
    assert re.search(r" 1\.00 +2\.00 +2\.50  .* kernel_head\n", found)
    # The one beside is taken first, and nobody asks it for a program.
    disassembler.write_text("#!/bin/sh\nexit 3\n")
    disassembler.chmod(0o755)
    assert "nvdisasm" not in compile_digits(f"--ptxas={ptxas}").stderr
    assert f"main loops are unknown: {disassembler}: exit status 3\n" in compile_digits(f"--ptxas={ptxas}", verb="explain").stdout


@pytest.mark.parametrize("options, reason", NOTHING)
def test_explains_what_is_known_without_machine_code(options, reason, compile_digits):
    report = json.loads(compile_digits(*options, "--format=json", verb="explain").stdout)["device"]
    assert report["without_machine_code"] == reason and "assembler" not in report
    head = next(kernel for kernel in report["kernels"] if kernel["name"] == "kernel_head")
    assert "registers" not in head and "blocks" not in head and head["most_blocks"] > 2 and head["threads"] == 128
    text = compile_digits(*options, verb="explain").stdout
    assert f"kernels on sm_80, without machine code: {reason}, so registers are unknown, and more blocks there cannot be\n" in text
    assert re.search(r"\n +1 +128 +\? +\? +\? +\d+ +\d+  .* kernel_head\n", text)


def test_starts_behind_programmatic_edges_are_modelled(compile_digits):
    """All but the first, which no launch stands in front of."""
    report = json.loads(compile_digits("--ptxas=none", "--gpu-arch=sm_90a", "--format=json", verb="explain").stdout)["device"]
    launches = sum(len(kernel["launches"]) for kernel in report["kernels"])
    assert report["overlapped_launches"] == launches - 1 > 1
    assert abs(report["modelled_starts_us"] - (2.0 + 0.9 * (launches - 1))) < 1e-9
    text = compile_digits("--ptxas=none", "--gpu-arch=sm_90a", verb="explain").stdout
    assert (f"\nstarts of {launches} launches: {2.0 + 0.9 * (launches - 1):.1f} us, modelled by 2.0 us of each, and 0.9 us of the {launches - 1} "
            "that may begin before others have ended\n") in text


def test_explains_the_kernels_of_a_path(compile_digits):
    def report(*options):
        return json.loads(compile_digits("--ptxas=none", "--format=json", *options, verb="explain").stdout)

    whole, part = report(), report("--path=late")
    named = {kernel["name"] for kernel in part["kernels"]}
    launched = [path for kernel in part["device"]["kernels"] for path in kernel["launches"]]
    assert named and set(launched) <= named
    assert 0 < len(launched) < sum(len(kernel["launches"]) for kernel in whole["device"]["kernels"])


def test_explains_what_has_no_code_as_far_as_it_goes(compile_digits):
    """Verdicts are known after `fuse`, and that there is no code for a GPU, after `assign`."""
    done = compile_digits("--set=width=1032", verb="explain", status=1)
    assert "heads of up to 256 columns" in done.stderr and " sites are fused\n" in done.stdout and "kernels on" not in done.stdout


def test_other_targets_explain_no_device(compile_small):
    for target in ("cpu", "cuda-emulated"):
        assert "device" not in json.loads(compile_small(f"--target={target}", "--format=json", verb="explain").stdout)


# ===-----------------------------------------------------------------------=== #
# NVIDIA's ptxas
# ===-----------------------------------------------------------------------=== #


def registers_of(cubin):
    """Registers of each kernel as the code itself has them: the first byte of sh_info of the sections .text.KERNEL."""
    def word(at, size):
        return int.from_bytes(cubin[at:at + size], "little")

    begin, size, count, names = word(40, 8), word(58, 2), word(60, 2), word(62, 2)
    headers = [begin + size * number for number in range(count)]
    text = word(headers[names] + 24, 8)
    found = {}
    for header in headers:
        name = cubin[text + word(header, 4):].split(b"\0")[0].decode()
        if name.startswith(".text."):
            found[name.removeprefix(".text.")] = word(header + 44, 4) >> 24
    return found


@pytest.mark.skipif(not REAL.exists(), reason="without ptxas: test/requirements.txt")
def test_machine_code_is_that_of_ptxas(tmp_path, compile_small):
    compile_small(f"--ptxas={REAL}")
    compile_small(f"--ptxas={REAL}", output="again")
    compile_small(f"--ptxas={REAL}", "--emit=cubin", output="program.cubin")
    compile_small("--emit=ptx", output="program.ptx")
    subprocess.run([REAL, "-v", "-arch=sm_80", "program.ptx", "-o", "own.cubin"], check=True, capture_output=True)
    code = bytes_of(compile_small, "own.cubin")
    assert bytes_of(compile_small, "program.cubin") == code
    assert code in bytes_of(compile_small) and bytes_of(compile_small) == bytes_of(compile_small, "again")
    description = describe("./program")
    assert description["machine_code_bytes"] == len(code) and re.fullmatch(r"ptxas \d+\.\d+\.\d+", description["assembler"])
    registers = registers_of(code)
    assert {launch["kernel"]: launch["registers"] for launch in description["launches"]} == registers
    assert all(launch["spilled_bytes"] == launch["local_bytes"] == 0 for launch in description["launches"])


@pytest.mark.skipif(not REAL.exists(), reason="without ptxas: test/requirements.txt")
def test_ptxas_may_use_more_memory_than_hova(compile_small):
    """The limit is that of hova's own allocations, and the weights, which ptxas never sees."""
    compile_small(f"--ptxas={REAL}", "--max-memory=150MiB")
    assert describe("./program")["assembler"]
