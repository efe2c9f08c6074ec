//===- KernelParts.cpp - What the time of a kernel is divided by ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A clock sees whole kernels. Whoever asks which layer takes the time needs to
// know how much of a kernel's work is done for which: that is counted here,
// where stages are known and operations still have their paths.

#include "passes/tile/KernelParts.h"
#include "dialect/Shapes.h"
#include "dialect/Site.h"
#include "dialect/token/TokenOps.h"
#include "passes/Columns.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hova {

namespace {
struct Work {
  int64_t flops = 0, bytes = 0;
};
} // namespace

int64_t countFlops(const KernelCode &code, const KernelBuffers &buffers) {
  int64_t macs = 0;
  KernelOp(buffers.kernel).walk([&](Operation *op) {
    macs += code.getExecutedMacs(op);
  });
  return 2 * macs;
}

static int64_t bytesComputed(Operation *op) {
  int64_t bits = 0;
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    bits += type.getNumElements() * type.getElementTypeBitWidth();
  }
  return bits / 8;
}

/// What the operation is called: by its site, else by its place, else by the
/// kernel.
static StringRef nameOf(Operation *op, KernelOp kernel) {
  std::optional<Site> site = siteOf(op);
  StringRef path = site ? site->path : pathOf(op->getLoc());
  return path.empty() ? kernel.getName() : path;
}

ArrayAttr describeParts(Builder &builder, const KernelCode &code,
                        ArrayRef<KernelBuffers> kernels) {
  SmallVector<Attribute> parts;
  for (auto [number, buffers] : llvm::enumerate(kernels)) {
    KernelOp kernel = buffers.kernel;
    llvm::MapVector<std::pair<int64_t, StringRef>, Work> works;
    for (auto [stage, op] :
         llvm::enumerate(kernel.getBody().getOps<StageOp>())) {
      for (Operation *inner : op.getComputeOps()) {
        // An address, which is no work.
        if (isColumnSlice(inner)) {
          continue;
        }
        Work &work =
            works[{static_cast<int64_t>(stage), nameOf(inner, kernel)}];
        work.flops += 2 * code.getExecutedMacs(inner);
        work.bytes += bytesComputed(inner);
      }
    }
    for (auto &[place, work] : works) {
      auto integer = [&](StringRef name, int64_t value) {
        return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
      };
      parts.push_back(builder.getDictionaryAttr(
          {integer("kernel", number), integer("stage", place.first),
           builder.getNamedAttr("path", builder.getStringAttr(place.second)),
           integer("flops", work.flops), integer("bytes", work.bytes)}));
    }
  }
  return builder.getArrayAttr(parts);
}

DenseMap<Operation *, int64_t> numberKernels(ArrayRef<KernelBuffers> kernels) {
  DenseMap<Operation *, int64_t> numbers;
  for (auto [index, buffers] : llvm::enumerate(kernels)) {
    numbers[buffers.kernel] = index;
  }
  return numbers;
}

int64_t lastReaderOf(Value result, int64_t number,
                     const DenseMap<Operation *, int64_t> &numberOf) {
  int64_t last = number;
  for (Operation *user : result.getUsers()) {
    auto kernel = numberOf.find(user);
    if (kernel != numberOf.end()) {
      last = std::max(last, kernel->second);
    } else if (user->getNumResults() == 1) {
      // Assembled of it, or the same numbers in another shape.
      last = std::max(last, lastReaderOf(user->getResult(0), number, numberOf));
    }
  }
  return last;
}

} // namespace hova
