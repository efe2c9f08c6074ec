//===- HostTensor.h - Dense values on the host ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The values that reference evaluation and constant folding work on: a shape,
// an element type and one dense row-major buffer, shared between copies.
// Element type f64 is what evaluation computes in; f32 is what weights are
// stored in, so that moving 346 MB of them never goes through a wider type.

#ifndef HOVA_DIALECT_HOSTTENSOR_H
#define HOVA_DIALECT_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>

namespace hova {

class HostTensor {
public:
  enum class Element { F64, F32, I64, I1 };

  HostTensor() = default;
  /// Zero-filled tensor. `shape` holds static dimensions; an empty shape is a
  /// scalar.
  HostTensor(Element element, llvm::ArrayRef<int64_t> shape);
  /// View of memory that `owner` keeps alive (a mapped weight file); never
  /// written through.
  static HostTensor view(Element element, llvm::ArrayRef<int64_t> shape,
                         const void *data,
                         const std::shared_ptr<const void> &owner);

  Element getElement() const { return element; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  /// Number of elements.
  int64_t size() const;
  /// Bytes of one element: 8, 4, 8, 1.
  static int64_t elementBytes(Element element);

  const void *data() const { return bytes.get(); }
  /// Pointer for writing; only the maker of a tensor writes, before sharing.
  void *mutableData() { return const_cast<void *>(bytes.get()); }

  /// Typed access; T is double, float, int64_t or uint8_t as the element type.
  template <typename T> const T *as() const {
    return static_cast<const T *>(data());
  }
  template <typename T> T *mutableAs() {
    return static_cast<T *>(mutableData());
  }

  /// Element `index` of any type as a number.
  double at(int64_t index) const;
  /// The same values with element type F64 (itself when it already is).
  HostTensor toF64() const;

private:
  Element element = Element::F64;
  llvm::SmallVector<int64_t, 4> shape;
  std::shared_ptr<const void> bytes;
};

} // namespace hova

#endif // HOVA_DIALECT_HOSTTENSOR_H
