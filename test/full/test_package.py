# ===- test_package.py - hova as Debian packages ----------------------------=== #
# SPDX-License-Identifier: Apache-2.0
"""The packages of ./dev package, installed, used, upgraded and removed in a fresh Debian.

mmdebstrap makes that of the machine's own sources of packages, so a mirror has to be
reachable; clean_root.sh runs in it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HOVA_BUILD"])
SCRIPT = Path(__file__).with_name("clean_root.sh")
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
RELEASE = "bookworm"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pack(folder):
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1767225600"})
    return sorted(folder.glob("*.deb"))


def make_newer(package, folder):
    """The package as version 9.0, with one file more and one less."""
    tree = folder / package.stem
    run("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    version = run("dpkg-deb", "-f", package, "Version").strip()
    control.write_text(control.read_text().replace(f"Version: {version}", "Version: 9.0").replace(f"(= {version})", "(= 9.0)"))
    if (tree / "usr/share/doc/hova/LICENSE").exists():
        (tree / "usr/share/doc/hova/LICENSE").rename(tree / "usr/share/doc/hova/new-in-9")
    run("dpkg-deb", "-b", tree, folder)
    shutil.rmtree(tree)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    packed = pack(folder / "build")
    (folder / "packages/newer").mkdir(parents=True)
    for package in packed:
        shutil.copy(package, folder / "packages")
        make_newer(package, folder / "packages/newer")
    return folder / "packages"


def test_packages_name_what_they_depend_on(packages):
    fields = {}
    for package in packages.glob("*.deb"):
        name = run("dpkg-deb", "-f", package, "Package").strip()
        fields[name] = run("dpkg-deb", "-f", package, "Depends", "Version", "Architecture")
    assert set(fields) == {"hova", "libhova-dev"}
    for dependency in ("lld-22", "libmlir-22 (>= 1:22.1", "libc6 (>= ", "libstdc++6"):
        assert dependency in fields["hova"]
    assert "-dev" not in fields["hova"]
    version = run(BUILD / "bin/hova", "--version").split()[1]
    assert f"hova (= {version})" in fields["libhova-dev"]
    assert all("Architecture: amd64" in text and f"Version: {version}" in text for text in fields.values())


def test_the_same_build_gives_the_same_packages(packages, tmp_path):
    for again in pack(tmp_path):
        assert again.read_bytes() == (packages / again.name).read_bytes()


def test_packages_live_in_a_clean_root(packages, tmp_path):
    if not SOURCES.exists():
        pytest.skip(f"this machine has no {SOURCES}")
    os.chmod(packages, 0o755)
    done = subprocess.run(
        [
            *("mmdebstrap", "--variant=apt", "--mode=root" if os.getuid() == 0 else "--mode=unshare"),
            f"--customize-hook=copy-in {packages} {SCRIPT} /",
            '--customize-hook=chroot "$1" bash /clean_root.sh 2>&1',
            *(RELEASE, "/dev/null", str(SOURCES)),
        ],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode and "-- installs" not in said and any(word in said for word in ("Could not resolve", "Temporary failure")):
        pytest.skip("the package archive cannot be reached")
    assert done.returncode == 0 and "-- done" in said, said[-6000:]
