//===- HostTensor.cpp - Dense values on the host --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/HostTensor.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstdlib>

using namespace hova;

int64_t HostTensor::elementBytes(Element element) {
  switch (element) {
  case Element::F64:
  case Element::I64:
    return 8;
  case Element::F32:
    return 4;
  case Element::I1:
    return 1;
  }
  llvm_unreachable("unknown element type");
}

HostTensor::HostTensor(Element element, llvm::ArrayRef<int64_t> shape)
    : element(element), shape(shape) {
  size_t count = std::max<size_t>(size() * elementBytes(element), 1);
  // calloc leaves untouched pages unmapped, which matters for large weights.
  void *memory = std::calloc(count, 1);
  if (!memory) {
    llvm::report_bad_alloc_error("host tensor");
  }
  bytes = std::shared_ptr<const void>(
      memory, [](const void *p) { std::free(const_cast<void *>(p)); });
}

HostTensor HostTensor::view(Element element, llvm::ArrayRef<int64_t> shape,
                            const void *data,
                            const std::shared_ptr<const void> &owner) {
  HostTensor tensor;
  tensor.element = element;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.bytes = std::shared_ptr<const void>(owner, data);
  return tensor;
}

int64_t HostTensor::size() const {
  int64_t count = 1;
  for (int64_t dim : shape) {
    count *= dim;
  }
  return count;
}

double HostTensor::at(int64_t index) const {
  switch (element) {
  case Element::F64:
    return as<double>()[index];
  case Element::F32:
    return as<float>()[index];
  case Element::I64:
    return static_cast<double>(as<int64_t>()[index]);
  case Element::I1:
    return as<uint8_t>()[index];
  }
  llvm_unreachable("unknown element type");
}

HostTensor HostTensor::toF64() const {
  if (element == Element::F64) {
    return *this;
  }
  HostTensor result(Element::F64, shape);
  double *out = result.mutableAs<double>();
  for (int64_t i = 0, e = size(); i < e; ++i) {
    out[i] = at(i);
  }
  return result;
}
