//===- Shapes.h - Shape checks shared by verifiers ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A dynamic dimension agrees with everything: verifiers reject only what can
// never be right.

#ifndef HOVA_DIALECT_SHAPES_H
#define HOVA_DIALECT_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace hova {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::ShapedType>(value.getType()).getShape();
}

/// Whether two dimensions can be equal.
inline bool agree(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) ||
         mlir::ShapedType::isDynamic(b);
}

/// Whether two shapes can be equal.
inline bool agree(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return agree(std::get<0>(pair), std::get<1>(pair));
         });
}

/// `a op b`, dynamic where either is.
template <typename Fn> int64_t combine(int64_t a, int64_t b, Fn fn) {
  return mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b)
             ? mlir::ShapedType::kDynamic
             : fn(a, b);
}

/// Product of all dimensions, none of which is dynamic.
inline int64_t staticSize(llvm::ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t dim : shape) {
    assert(!mlir::ShapedType::isDynamic(dim) && "expects static dimensions");
    size *= dim;
  }
  return size;
}

/// The first type of an operand or result of `op` with a dynamic dimension;
/// null where all shapes are static.
inline mlir::Type firstDynamicType(mlir::Operation *op) {
  auto isDynamic = [](mlir::Type type) {
    auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
    return shaped && !shaped.hasStaticShape();
  };
  for (mlir::TypeRange types : {mlir::TypeRange(op->getOperandTypes()),
                                mlir::TypeRange(op->getResultTypes())}) {
    auto found = llvm::find_if(types, isDynamic);
    if (found != types.end()) {
      return *found;
    }
  }
  return {};
}

inline bool hasStaticShapes(mlir::Operation *op) {
  return !firstDynamicType(op);
}

/// A shape as text, `1x?x64`.
inline std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t dim : shape) {
    text += (text.empty() ? "" : "x") +
            (mlir::ShapedType::isDynamic(dim) ? "?" : std::to_string(dim));
  }
  return text.empty() ? "scalar" : text;
}

} // namespace hova

#endif // HOVA_DIALECT_SHAPES_H
