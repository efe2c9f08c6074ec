//===- Validity.h - Operations with other types ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pass that gives an operation fewer rows, or rows in another order, changes
// the types of its operands and results. Whether the operation allows them only
// its verifier knows: of an operation of a plugin nobody else does.

#ifndef HOVA_PASSES_VALIDITY_H
#define HOVA_PASSES_VALIDITY_H

#include "mlir/IR/Operation.h"

namespace hova {

/// Whether `op` would be valid with operands and results of these types, one
/// each. Reports nothing and changes nothing.
bool isValidWith(mlir::Operation *op, mlir::TypeRange operands,
                 mlir::TypeRange results);

} // namespace hova

#endif // HOVA_PASSES_VALIDITY_H
