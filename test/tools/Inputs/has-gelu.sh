#!/bin/sh
# Interesting, in the reducer's eyes, is a program with a GELU: status 1.
if grep -q gelu_erf "$1"; then
  exit 1
fi
exit 0
