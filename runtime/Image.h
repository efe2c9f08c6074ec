//===- Image.h - Packed weights ---------------------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_RUNTIME_IMAGE_H
#define HOVA_RUNTIME_IMAGE_H

#include "runtime/Bytes.h"
#include "runtime/Error.h"

/// Checks that `image` fits the program: magic, version, identity, size and the
/// header's checksum; that of the weights, for which all of them are read,
/// where `check_weights` says so. `path` names it in messages. `*weights` is
/// the data after the header.
hova_status hova_image_check(hova_span image, const char *path,
                             const hova_program *program, bool check_weights,
                             const char **weights, hova_error *error);

/// Finds the image that `options` name, in memory or in a file, and checks it.
/// `*mapped` is the file, to be unmapped by the caller, empty where there is
/// none, even where the check fails; `*weights` as above, and as it was for a
/// program without weights. All weights are read where the options say so, and
/// where another user may have changed the file.
hova_status hova_image_open(const hova_program *program,
                            const hova_options *options, hova_span *mapped,
                            const char **weights, hova_error *error);

#endif // HOVA_RUNTIME_IMAGE_H
