//===- Process.h - What a process prepares for ------------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// For programs, not libraries: what belongs to a whole process.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_PROCESS_H
#define HOVA_RUNTIME_PROCESS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Occupies standard input, output and error where they are closed: otherwise
/// the next file that is opened gets their number, and what is printed goes
/// into it. Using them still fails.
void hova_open_standard_files(void);

/// Makes a file that would grow beyond the limit of the process (`ulimit -f`)
/// an error of the write, as a full disk is, instead of the end.
void hova_report_size_limit(void);

/// For handlers of SIGBUS: if `address` lies in a mapped file, which was then
/// cut off or whose disk fails, names it in a line that begins with `prefix`,
/// on standard error. Returns whether it does.
bool hova_report_lost_file(const char *prefix, const void *address);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_PROCESS_H
