//===- Files.h - The files of a command line --------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_MAIN_FILES_H
#define HOVA_RUNTIME_MAIN_FILES_H

#include "runtime/main/CommandLine.h"

/// Makes the output directory, if it is missing, and finds before any work what
/// could not be written (HOVA_IO_ERROR), or would replace a file that is read,
/// this program or another output (HOVA_REJECTED: a mistake of usage). Leaves
/// no directory after where it fails. `weights` is the file of the image; null
/// where it is embedded.
hova_status hova_claim_files(const hova_program *program,
                             const command_line *options, const char *weights,
                             bool *made_directory, hova_error *error);

/// DIR/NAME.npy, to be freed; null, with the error, where that is no path.
char *hova_path_in_directory(const hova_tensor_info *info,
                             const char *directory, hova_error *error);

#endif // HOVA_RUNTIME_MAIN_FILES_H
