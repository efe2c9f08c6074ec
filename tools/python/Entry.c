//===- Entry.c - A program that is a function of the library --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// hova and its linker share LLVM, so that both are one library, and each is a
// program of a few lines.

int HOVA_ENTRY(int argc, char **argv);

int main(int argc, char **argv) { return HOVA_ENTRY(argc, argv); }
