//===- KernelStructure.cpp - What `tile` asks of a kernel -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/tile/KernelStructure.h"
#include "dialect/Shapes.h"
#include "dialect/attention/AttentionOps.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/ranges/RangeMistakes.h"
#include "passes/Verdict.h"

using namespace mlir;

namespace hova {

size_t KernelBuffers::countArguments() const {
  KernelOp inner = kernel;
  return inner.getInputs().size() + inner.getNumResults();
}

LayoutAttr layoutOf(Value value) {
  auto stage = value.getDefiningOp<StageOp>();
  assert(stage && "a stage computes what a kernel yields");
  return stage.getLayout(cast<OpResult>(value).getResultNumber());
}

std::optional<int64_t> columnStripOf(LinearOp product) {
  auto argument = dyn_cast<BlockArgument>(product.getWeight());
  auto kernel = product->getParentOfType<KernelOp>();
  if (!argument || !kernel) {
    return std::nullopt;
  }
  Value input = kernel.getInputs()[argument.getArgNumber()];
  auto weight = input.getDefiningOp<ImageWeightOp>();
  WeightLayoutAttrInterface layout = weight ? weight.getLayoutAttr() : nullptr;
  return layout ? layout.getColumnStrip() : std::nullopt;
}

Location originOf(Value value) {
  unsigned number = 0;
  if (auto result = dyn_cast<OpResult>(value)) {
    number = result.getResultNumber();
  }
  if (auto kernel = value.getDefiningOp<KernelOp>()) {
    return kernel.getComputed(number).getLoc();
  }
  if (auto stage = value.getDefiningOp<StageOp>()) {
    return stage.getComputed(number).getLoc();
  }
  auto argument = dyn_cast<BlockArgument>(value);
  auto kernel = argument
                    ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                    : nullptr;
  return kernel ? originOf(kernel.getInputs()[argument.getArgNumber()])
                : value.getLoc();
}

void nameBuffers(Block &entry, ArrayRef<Value> values) {
  for (auto [argument, value] : llvm::zip(entry.getArguments(), values)) {
    argument.setLoc(originOf(value));
  }
}

void nameLoop(scf::ForOp loop, StringRef name) {
  auto text = StringAttr::get(loop.getContext(), name);
  loop.getInductionVar().setLoc(NameLoc::get(text, loop.getLoc()));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

MemRefType bufferType(RankedTensorType tensor, int64_t rowStride) {
  Type element = tensor.getElementType();
  if (element.isInteger(1)) {
    element = IntegerType::get(tensor.getContext(), 8);
  }
  int64_t columns = tensor.getRank() ? tensor.getShape().back() : 1;
  int64_t rows =
      tensor.getRank() ? staticSize(tensor.getShape().drop_back()) : 1;
  if (!rowStride || rowStride == columns) {
    return MemRefType::get({rows, columns}, element);
  }
  return MemRefType::get(
      {rows, columns}, element,
      StridedLayoutAttr::get(tensor.getContext(), 0, {rowStride, 1}));
}

int64_t bytesOf(MemRefType type) {
  int64_t stride = type.getStridesAndOffset().first.front();
  return type.getShape()[0] * stride * type.getElementTypeBitWidth() / 8;
}

bool isLastReader(KernelOp kernel, unsigned index) {
  Value input = kernel.getInputs()[index];
  // What is no kernel, such as a reshape, gives the memory another name, whose
  // readers are not seen here.
  return input.getDefiningOp<KernelOp>() &&
         llvm::all_of(input.getUses(), [&](OpOperand &use) {
           Operation *user = use.getOwner();
           return user == kernel
                      ? use.getOperandNumber() == index
                      : isa<KernelOp>(user) && user->isBeforeInBlock(kernel);
         });
}

//===----------------------------------------------------------------------===//
// Equal kernels
//===----------------------------------------------------------------------===//

/// Prints what an operation is asked to do. Its name and what was said about it
/// (verdicts, demands) are left out: they change no code. What of a schedule
/// does, the target tells.
static void printAttributes(raw_ostream &os, Operation *op) {
  auto kernel = dyn_cast<KernelOp>(op);
  for (NamedAttribute attribute : op->getAttrs()) {
    StringRef name = attribute.getName();
    if ((kernel && name == kernel.getNameAttrName()) || isRemark(name)) {
      continue;
    }
    Attribute value = attribute.getValue();
    if (kernel && name == kernel.getScheduleAttrName()) {
      value = kernel.getScheduleAttr().getStructuralKey();
    }
    os << ' ' << name << '=' << value;
  }
}

static void printOperations(raw_ostream &os, Block &block,
                            DenseMap<Value, int> &number,
                            const KernelBuffers &buffers);

/// Stages have a region, and so may operations that others bring.
static void printRegions(raw_ostream &os, Operation &op,
                         DenseMap<Value, int> &number,
                         const KernelBuffers &buffers) {
  for (Region &region : op.getRegions()) {
    os << '{';
    for (Block &block : region) {
      for (Value argument : block.getArguments()) {
        int next = number.size();
        number[argument] = next;
        os << ' ' << argument.getType();
      }
      printOperations(os, block, number, buffers);
      os << ';';
    }
    os << '}';
  }
}

static void printOperations(raw_ostream &os, Block &block,
                            DenseMap<Value, int> &number,
                            const KernelBuffers &buffers) {
  for (Operation &op : block) {
    os << '\n' << op.getName();
    for (Value operand : op.getOperands()) {
      os << ' ' << number[operand];
    }
    printAttributes(os, &op);
    printRegions(os, op, number, buffers);
    for (Value result : op.getResults()) {
      int next = number.size();
      number[result] = next;
      os << ' ' << result.getType() << ' '
         << llvm::is_contained(buffers.values, result);
    }
  }
}

std::string structureOf(const KernelBuffers &buffers) {
  std::string key;
  llvm::raw_string_ostream os(key);
  DenseMap<Value, int> number;
  for (auto [value, type] : llvm::zip(buffers.values, buffers.types)) {
    os << type << ';';
  }
  // Where two ranges of tokens have one largest size, types do not tell which
  // part of the table the code reads.
  KernelOp kernel = buffers.kernel;
  auto ranges = SequenceRanges::readFrom(kernel);
  for (Value value : ranges && ranges->areAlike() ? ArrayRef(buffers.values)
                                                  : ArrayRef<Value>()) {
    os << nameOf(extentOf(value)) << ';';
  }
  // Nor do those of sums over keys tell whose keys they are, of any sizes.
  for (Value value : ranges && ranges->haveOtherTokens()
                         ? ArrayRef(buffers.values)
                         : ArrayRef<Value>()) {
    if (Value keys = keysOfSums(value)) {
      os << nameOf(extentOf(keys)) << ';';
    }
  }
  llvm::interleaveComma(buffers.overwritten, os);
  printAttributes(os, kernel);
  for (Value argument : kernel.getBody().getArguments()) {
    int next = number.size();
    number[argument] = next;
  }
  printOperations(os, kernel.getBody().front(), number, buffers);
  return key;
}

} // namespace hova
