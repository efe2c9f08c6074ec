//===- PackImage.cpp - The packed weights of a module ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// usage: hova-pack-image MODULE.mlir FOLDER IMAGE
//
// Gives the image weights of a module before `tile` their places, as `tile`
// does for every target, and packs them. Weight NAME is FOLDER/NAME, numbers of
// f32 without a header. Prints the name, the place and the buffer of each image
// weight, a line each.
//
//===----------------------------------------------------------------------===//

#include "codegen/OutputFile.h"
#include "codegen/program/PackedWeights.h"
#include "codegen/program/WeightData.h"
#include "codegen/targets/Registration.h"
#include "mlir/Parser/Parser.h"
#include "passes/tile/WeightPlaces.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace hova;

static FailureOr<HostTensor> readWeight(WeightOp op,
                                        const std::string &folder) {
  auto file = llvm::MemoryBuffer::getFile(folder + "/" + op.getName());
  HostTensor tensor(HostTensor::Element::F32,
                    op.getResult().getType().getShape());
  size_t bytes = tensor.size() * sizeof(float);
  if (!file || (*file)->getBufferSize() != bytes) {
    return op.emitError("expects a file of ") << bytes << " bytes";
  }
  std::memcpy(tensor.mutableData(), (*file)->getBufferStart(), bytes);
  return tensor;
}

static LogicalResult packImage(ModuleOp module, const std::string &folder,
                               const std::string &path) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main) {
    return module.emitError("expects a function 'main'");
  }
  WeightPlaces places(module, main);
  auto print = [](Value weight, MemRefType buffer, int64_t offset, bool) {
    llvm::outs() << weight.getDefiningOp<ImageWeightOp>().getName() << " "
                 << offset << " " << buffer << "\n";
  };
  if (failed(places.assign(print)) || failed(module.verify())) {
    return failure();
  }
  uint64_t bytes = places.getBytes();
  PackedWeightsInfo info = {weightDigest(module), "packed", bytes};
  auto weights = [&](WeightOp op) { return readWeight(op, folder); };
  llvm::Error error = writeFileWhole(path, 0666, [&](llvm::raw_ostream &os) {
    return writePackedWeights(os, info, [&](llvm::raw_ostream &data) {
      return packWeightData(data, module, weights, bytes);
    });
  });
  return error ? module.emitError(llvm::toString(std::move(error))) : success();
}

int main(int count, char **arguments) {
  if (count != 4) {
    llvm::errs() << "usage: hova-pack-image MODULE.mlir FOLDER IMAGE\n";
    return 2;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(arguments[1], &context);
  return !module || failed(packImage(*module, arguments[2], arguments[3]));
}
