#!/bin/bash
# ===- clean_root.sh - The life of hova's packages in a system of its own ---=== #
# SPDX-License-Identifier: Apache-2.0
#
# Runs as root inside a fresh Debian, whose folder /packages has the packages of a build
# and, in /packages/newer, the same ones with a higher version. test_package.py makes both.
# Ends with a nonzero status at the first command that fails; "-- STEP" says where.

set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
step() { echo "-- $*"; }
fail() {
  echo "failed: $*"
  exit 1
}
install() { apt-get install -y -q --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; fail "apt-get install $*"; }; }
digits=/usr/share/doc/hova/examples/01-digits

step installs with what it depends on
install /packages/hova_*.deb
hova --version
[[ $(ldconfig -p) == *libhova.so.0.1* ]] || fail "ldconfig does not know libhova"
for tool in hova hova-opt hova-reduce hova-lsp-server; do
  ldd "$(command -v "$tool")" | grep 'not found' && fail "$tool lacks a library"
  [ -s "/usr/share/man/man1/$tool.1.gz" ] || fail "$tool has no manual page"
done

step has a manual page of each verb, and documents that a browser of them lists
pages=$(hova help | sed -n 's/^  \([a-z]*\)\( pack\)\{0,1\}  *[A-Z].*/hova-\1\2/p' | tr ' ' -)
[[ $pages == *hova-compile*hova-weights-pack*hova-schema* ]] || fail "hova help has other verbs: $pages"
for page in $pages; do
  zcat "/usr/share/man/man1/$page.1.gz" | grep -q '^\.SH' || fail "$page has no manual page"
done
install doc-base
install-docs --check /usr/share/doc-base/hova || fail "doc-base does not take its file"
registered() { [ -e /var/lib/doc-base/documents/hova ]; }
registered || fail "doc-base does not know the documents"
zcat /usr/share/doc/hova/changelog.gz | grep -q "^hova ($(dpkg-query -W -f '${Version}' hova)) " || fail "no changelog of Debian"
[ -s /usr/share/doc/hova/CHANGELOG.md ] && [ -s /usr/share/doc/hova/SECURITY.md ]

step compiles and runs models
cd "$(mktemp -d)"
hova compile $digits/digits.json --weights $digits/weights.safetensors --set batch=400 -o digits
./digits --input $digits/images.npy --expected $digits/logits.npy
hova compile /usr/share/doc/hova/examples/models/lecture_mha.json -o lecture
./lecture --random-inputs 1
hova compile /usr/share/doc/hova/examples/models/lecture_mha.json --target=cuda-emulated --emit=lib -o library
hova verify /usr/share/doc/hova/examples/models/lecture_mha.json --cases 1 >/dev/null

step completes words in bash
bash -c 'source /usr/share/bash-completion/completions/hova
  COMP_WORDS=(hova compile --emi) COMP_CWORD=2 COMP_LINE="hova compile --emi" COMP_POINT=18
  compopt() { :; }; _hova hova; [ "${COMPREPLY[*]}" = "--emit=" ]' || fail "no completion"

step builds an embedded model by find_package
install /packages/libhova-dev_*.deb cmake make gcc libc6-dev pkg-config
cp -r /usr/share/doc/hova/examples examples
cmake -S examples/embed -B embed >/dev/null
cmake --build embed >/dev/null
embed/classify | grep 7 || fail "the picture is a 7"
pkg-config --exists --print-errors hova
[ "$(pkg-config --modversion hova)" = "$(dpkg-query -W -f '${Version}' hova)" ]
[ -x "$(realpath "$(pkg-config --variable=hova hova)")" ] && [ -f "$(realpath "$(pkg-config --variable=stamp hova)")" ]

step is upgraded
echo old >/usr/lib/hova/left-behind # no file of the package: it stays
install /packages/newer/*.deb
[ "$(dpkg-query -W -f '${Version}' hova)" = 9.0 ] && [ "$(dpkg-query -W -f '${Version}' libhova-dev)" = 9.0 ]
[ -e /usr/share/doc/hova/new-in-9 ] && [ ! -e /usr/share/doc/hova/LICENSE ] || fail "files of the older version are there"
rm /usr/lib/hova/left-behind
registered || fail "doc-base has forgotten the documents"
hova compile $digits/digits.json -o again

step is removed
files=$(dpkg -L hova libhova-dev | sort -u)
apt-get purge -y -q hova libhova-dev >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; fail "purge"; }
for file in $files; do
  [ ! -e "$file" ] || [ -d "$file" ] || fail "$file is left"
done
[ ! -e /usr/lib/hova ] && [ ! -e /usr/share/doc/hova ] || fail "a folder is left"
! command -v hova
! registered || fail "doc-base still knows the documents"
[[ $(ldconfig -p) != *libhova.so* ]] || fail "ldconfig still knows libhova"
./digits --random-inputs 1 >/dev/null # programs need no hova

step satisfies lintian
install lintian
lintian --fail-on error,warning /packages/*.deb || fail "lintian"
step done
