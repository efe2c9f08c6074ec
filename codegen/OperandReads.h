//===- OperandReads.h - How recipes read operands ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_OPERANDREADS_H
#define HOVA_CODEGEN_OPERANDREADS_H

namespace hova {

/// How the code of a kernel reads an operand, on every target.
enum class OperandReads {
  rows,          ///< its rows, in their order
  placed,        ///< its rows, which may stand where a placement says
  packed,        ///< a weight, in the layout that the target packs for products
  packedColumns, ///< the same; its columns, which are those of the result, may
                 ///< be read in another order, as both halves at once are
};

/// Whether the operand is packed.
inline bool arePacked(OperandReads reads) {
  return reads == OperandReads::packed || reads == OperandReads::packedColumns;
}

} // namespace hova

#endif // HOVA_CODEGEN_OPERANDREADS_H
