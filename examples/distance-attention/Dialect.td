//===- Dialect.td - A dialect of similarities -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef DISTATTN_DIALECT
#define DISTATTN_DIALECT

include "mlir/IR/DialectBase.td"

def DistAttn_Dialect : Dialect {
  let name = "distattn";
  let cppNamespace = "::distattn";
  let summary = "attention to keys that are near";
  let useDefaultAttributePrinterParser = 1;
}

#endif // DISTATTN_DIALECT
