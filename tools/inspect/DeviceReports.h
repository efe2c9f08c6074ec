//===- DeviceReports.h - What kernels take of a GPU -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TOOLS_INSPECT_DEVICEREPORTS_H
#define HOVA_TOOLS_INSPECT_DEVICEREPORTS_H

#include "codegen/program/DeviceReport.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace hova::inspect {

/// Leaves out kernels that compute nothing at `path` or below. `module` is
/// after `fuse`.
void keepKernelsBelow(DeviceReport &report, mlir::ModuleOp module,
                      llvm::StringRef path);

/// For people: a table with a line for each kernel.
void printDeviceReport(const DeviceReport &report, llvm::raw_ostream &os);

/// One JSON object.
llvm::json::Object deviceReportJson(const DeviceReport &report);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_DEVICEREPORTS_H
