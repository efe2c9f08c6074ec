//===- OperandReads.h - How recipes read operands ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_OPERANDREADS_H
#define HOVA_CODEGEN_OPERANDREADS_H

namespace hova {

/// How the code of a kernel reads an operand, on every target.
enum class OperandReads {
  rows,   ///< its rows, in their order
  placed, ///< its rows, which may stand where a placement says
  packed, ///< a weight, in the layout that the target packs for products

  // A weight of whose columns, which are those of the result, any are read
  // beside each other, such as those of both halves:
  packedColumns, ///< packed
  columns,       ///< as it is, `[out, in]`
};

/// Whether the operand is packed.
inline bool arePacked(OperandReads reads) {
  return reads == OperandReads::packed || reads == OperandReads::packedColumns;
}

/// Whether columns of the result may be those of any columns of the operand.
inline bool mayOrderColumns(OperandReads reads) {
  return reads == OperandReads::packedColumns || reads == OperandReads::columns;
}

} // namespace hova

#endif // HOVA_CODEGEN_OPERANDREADS_H
