//===- Extensions.cpp - Passes at extension points ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/targets/Extensions.h"
#include "codegen/Pipeline.h"
#include "codegen/targets/Targets.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace hova {

std::vector<std::string> getExtensionPoints(ArrayRef<std::string> targets) {
  std::vector<std::string> points;
  auto add = [&](const std::string &name) {
    if (!llvm::is_contained(points, "before-" + name)) {
      points.push_back("before-" + name);
      points.push_back("after-" + name);
    }
  };
  for (const Phase &phase : getPhases()) {
    if (!phase.build) {
      continue;
    }
    for (const std::string &target : targets) {
      llvm::for_each(getPassNames(phase, getDefaultTarget(target)), add);
    }
    add(phase.name.str());
  }
  return points;
}

llvm::Expected<Extension> nestPasses(const Extension &extension) {
  std::string problem;
  llvm::raw_string_ostream errors(problem);
  auto fail = [&] {
    return llvm::createStringError(StringRef(problem).trim());
  };
  OpPassManager onAnything, onModule(ModuleOp::getOperationName());
  if (failed(parsePassPipeline(extension.passes, onAnything, errors))) {
    return fail();
  }
  Extension nested{extension.point, ""};
  llvm::raw_string_ostream os(nested.passes);
  llvm::interleave(
      onAnything.getPasses(), os,
      [&](Pass &pass) {
        std::optional<StringRef> root = pass.getOpName();
        bool isNested = root && root != onModule.getOpName();
        os << (isNested ? root->str() + "(" : "");
        pass.printAsTextualPipeline(os);
        os << (isNested ? ")" : "");
      },
      ",");
  if (failed(parsePassPipeline(nested.passes, onModule, errors))) {
    return fail();
  }
  return nested;
}

/// Whether an extension that can be left out is the one pass that it is called.
static bool isPass(const Extension &extension) {
  OpPassManager manager;
  std::string unheard;
  llvm::raw_string_ostream errors(unheard);
  return succeeded(parsePassPipeline(extension.passes, manager, errors)) &&
         manager.size() == 1 &&
         manager.begin()->getArgument() == extension.getOptionalName();
}

llvm::Expected<std::vector<Extension>>
nestRegisteredExtensions(const PassSelection &selection) {
  std::vector<Extension> nested;
  for (const Extension &extension : getRegisteredExtensions()) {
    // A plugin may be for programs of all targets.
    if (!llvm::is_contained(getExtensionPoints(getTargetNames()),
                            extension.point)) {
      return llvm::createStringError(
          "a plugin registers '" + extension.passes +
          "' at the extension point '" + extension.point +
          "', which there is not; 'hova --list-phases' shows what there is");
    }
    llvm::Expected<Extension> one = nestPasses(extension);
    if (!one) {
      return llvm::createStringError("a plugin registers '" + extension.passes +
                                     "' at '" + extension.point +
                                     "': " + toString(one.takeError()));
    }
    StringRef name = extension.getOptionalName();
    if (!name.empty() && !isPass(extension)) {
      return llvm::createStringError(
          "a plugin registers '" + extension.passes + "' at '" +
          extension.point +
          "' as optional, which one pass can be, with its options");
    }
    if (name.empty() || selection.runs(name)) {
      nested.push_back(std::move(*one));
    }
  }
  return nested;
}

ExtendPipeline extendBy(std::vector<Extension> extensions) {
  return [extensions = std::move(extensions)](StringRef point,
                                              OpPassManager &manager) {
    for (const Extension &extension : extensions) {
      if (extension.point == point) {
        // It was parsed before with the same passes registered.
        [[maybe_unused]] LogicalResult added =
            parsePassPipeline(extension.passes, manager);
        assert(succeeded(added));
      }
    }
  };
}

} // namespace hova
