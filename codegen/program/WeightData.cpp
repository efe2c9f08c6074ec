//===- WeightData.cpp - The contents of packed weights --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/program/WeightData.h"
#include "codegen/reference/Evaluator.h"
#include "passes/OptionalPasses.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <cmath>

using namespace mlir;

namespace hova {

std::string weightDigest(ModuleOp tiled) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto weights = tiled.lookupSymbol<func::FuncOp>("weights")) {
    weights.walk([&](Operation *op) {
      os << op->getName();
      for (NamedAttribute attribute : op->getAttrs()) {
        // Shapes tell panels, and so did images of programs that had no other
        // layout: they still fit.
        if (isa<ColumnStripsAttr>(attribute.getValue())) {
          continue;
        }
        os << ' ' << attribute.getName().getValue() << '='
           << attribute.getValue();
      }
      for (Value value : op->getOperands()) {
        os << ' ' << value.getType();
      }
      llvm::interleave(op->getResultTypes(), os, " ");
      os << '\n';
    });
  }
  std::array<uint8_t, 32> hash =
      llvm::BLAKE3::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(hash, /*LowerCase=*/true);
}

/// Writes the numbers of a table in `bytes` bytes each.
static uint64_t writeTable(llvm::raw_ostream &os, const HostTensor &value,
                           unsigned bytes) {
  for (int64_t i = 0, e = value.size(); i < e; ++i) {
    // The first bytes of an integer are its lower ones on these processors.
    os.write(reinterpret_cast<const char *>(value.as<int64_t>() + i), bytes);
  }
  return bytes * value.size();
}

/// Writes the elements of an f32 tensor in the type that they are stored in, or
/// those of a table, and returns the number of bytes.
static uint64_t writeTensor(llvm::raw_ostream &os, const HostTensor &value,
                            Type element) {
  if (element.isInteger()) {
    return writeTable(os, value, element.getIntOrFloatBitWidth() / 8);
  }
  Storage storage = storageOf(element);
  if (storage == Storage::F32) {
    uint64_t bytes = sizeof(float) * value.size();
    os.write(static_cast<const char *>(value.data()), bytes);
    return bytes;
  }
  constexpr int64_t kChunk = 1 << 16;
  std::vector<uint16_t> chunk;
  for (int64_t begin = 0, e = value.size(); begin < e; begin += kChunk) {
    chunk.clear();
    for (int64_t i = begin; i < std::min(begin + kChunk, e); ++i) {
      chunk.push_back(encode16(value.as<float>()[i], storage));
    }
    os.write(reinterpret_cast<const char *>(chunk.data()),
             chunk.size() * sizeof(uint16_t));
  }
  return sizeof(uint16_t) * value.size();
}

/// Calls `visit` with every operation that `op` is computed from.
static void forEachProducer(Operation *op, DenseSet<Operation *> &seen,
                            llvm::function_ref<void(Operation *)> visit) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (producer && seen.insert(producer).second) {
      forEachProducer(producer, seen, visit);
      visit(producer);
    }
  }
}

/// Whether `op` says itself that a number is infinite, as masks do.
static bool namesInfinity(Operation *op) {
  return llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) {
    auto number = dyn_cast<FloatAttr>(attribute.getValue());
    return number && !number.getValue().isFinite();
  });
}

/// The passes that compute weights from others, with commas between them.
static std::string reassociatingPasses() {
  SmallVector<StringRef> names;
  for (const OptionalPass &pass : getOptionalPasses()) {
    if (pass.reassociates) {
      names.push_back(pass.name);
    }
  }
  return llvm::join(names, ",");
}

/// Numbers in files are finite, so what is stored is finite too, but for masks,
/// unless the type cannot hold a number or a product of several.
static LogicalResult checkFinite(StoreWeightOp op, const HostTensor &value) {
  Type element = getElementTypeOrSelf(op.getValue());
  if (element.isInteger()) {
    return success();
  }
  const float *begin = value.as<float>(), *end = begin + value.size();
  if (std::all_of(begin, end, [](float x) { return std::isfinite(x); })) {
    return success();
  }
  SmallVector<StringRef> sources;
  bool hasMask = false;
  DenseSet<Operation *> seen;
  forEachProducer(op, seen, [&](Operation *producer) {
    if (auto weight = dyn_cast<WeightOp>(producer)) {
      sources.push_back(weight.getName());
    }
    hasMask |= namesInfinity(producer);
  });
  bool isMask = hasMask && std::all_of(begin, end, [](float x) {
                  return std::isfinite(x) || x == -HUGE_VALF;
                });
  if (isMask) {
    return success();
  }
  InFlightDiagnostic error = op.emitError("weight '")
                             << op.getName() << "' holds numbers that "
                             << nameOf(storageOf(element)) << " cannot";
  if (sources.size() > 1) {
    error.attachNote() << "it is computed from weights '"
                       << llvm::join(sources, "', '")
                       << "', which passes combine while compiling; --without="
                       << reassociatingPasses()
                       << ", or --strict, keeps them apart";
  }
  return error;
}

llvm::Error packWeightData(llvm::raw_ostream &data, ModuleOp tiled,
                           const WeightProvider &weights,
                           uint64_t weightBytes) {
  uint64_t written = 0;
  auto program = tiled.lookupSymbol<func::FuncOp>(kFoldingFunction);
  Evaluator evaluator(weights);
  LogicalResult done = success();
  if (program) {
    done = evaluator.foldWeights(program, [&](StoreWeightOp op,
                                              const HostTensor &value) {
      uint64_t offset = op->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
      data.write_zeros(offset - written);
      written = offset +
                writeTensor(data, value, getElementTypeOrSelf(op.getValue()));
      return checkFinite(op, value);
    });
  }
  if (failed(done)) {
    return llvm::createStringError(std::errc::invalid_argument,
                                   "the weights could not be packed");
  }
  data.write_zeros(weightBytes - written);
  return llvm::Error::success();
}

} // namespace hova
