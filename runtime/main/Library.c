//===- Library.c - Entry points of a compiled shared library --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The library exports PREFIX_create and PREFIX_program, which are these
// functions under another name, and PREFIX_run, PREFIX_destroy,
// PREFIX_message, PREFIX_target, PREFIX_abi_version and PREFIX_inspection.
//
//===----------------------------------------------------------------------===//

#include "runtime/Error.h"
#include "runtime/main/Entry.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

uint32_t hova_library_abi_version(void);
const hova_program *hova_library_program(void);
hova_status hova_library_create(const hova_options *options,
                                hova_context **context);

const hova_inspection *hova_library_inspection(void);

uint32_t hova_library_abi_version(void) { return HOVA_ABI_VERSION; }

const hova_inspection *hova_library_inspection(void) { return hova_inspect(); }

const hova_program *hova_library_program(void) { return &hova_linked_program; }

hova_status hova_library_create(const hova_options *options,
                                hova_context **context) {
  hova_options chosen = {0};
  if (options) {
    chosen = *options;
  }
  char sidecar[PATH_MAX];
  Dl_info self;
  if (!chosen.weights && !chosen.image) {
    if (hova_weights_bytes != 0) {
      chosen.image = hova_weights_begin;
      chosen.image_bytes = hova_weights_bytes;
    } else if (dladdr(&hova_linked_program, &self) &&
               snprintf(sidecar, sizeof sidecar, "%s.weights", self.dli_fname) <
                   (int)sizeof sidecar) {
      chosen.weights = sidecar;
    }
  }
  return hova_create(&hova_linked_program, &chosen, context);
}
