//===- VerifySizes.cpp - Sizes of a range, one by one ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/hova/verbs/VerifySizes.h"
#include "dialect/linear_attention/LinearAttentionOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/normalize/Passes.h"
#include "tools/hova/session/TemporaryProgram.h"
#include <random>

using namespace mlir;

namespace hova::tool {

OwningOpRef<ModuleOp> makePlain(Session &session) {
  OwningOpRef<ModuleOp> plain = cast<ModuleOp>(session.imported()->clone());
  PassManager manager(&session.context());
  manager.addNestedPass<func::FuncOp>(createDecomposeCompoundPass());
  manager.addNestedPass<func::FuncOp>(createNormalizeStoragePass());
  return succeeded(manager.run(*plain)) ? std::move(plain) : nullptr;
}

/// A plain run rounds what the program rounds: factors of a linear attention
/// where its parts do.
static void narrowAs(ModuleOp assigned, ModuleOp plain) {
  bool isNarrow = false;
  assigned.walk([&](SummaryAttentionOp op) { isNarrow |= op.getNarrow(); });
  if (isNarrow) {
    plain.walk([](LinearAttentionOp op) { op.setNarrow(true); });
  }
}

VerifiedProgram referenceOf(Session &session, ModuleOp plain,
                            CompiledModule &compiled) {
  VerifiedProgram reference;
  if (plain) {
    narrowAs(*compiled.assigned, plain);
  }
  reference.imported = session.imported().lookupSymbol<func::FuncOp>("main");
  reference.plain =
      plain ? plain.lookupSymbol<func::FuncOp>("main") : reference.imported;
  reference.kernels = compiled.assigned->lookupSymbol<func::FuncOp>("main");
  reference.foldingFunction =
      compiled.assigned->lookupSymbol<func::FuncOp>("weights");
  reference.weights = session.weights();
  return reference;
}

/// How often sizes are drawn after the least ones, and the number of the first
/// case of them: inputs of such cases are random.
static constexpr int kDrawn = 2;
static constexpr int64_t kFirstCase = 4;

llvm::Error SizeVerification::run(CompiledProgram &ranged,
                                  VerifyResult &verdict, Report report) const {
  const hova_ranges &ranges = *ranged.description().ranges;
  std::mt19937_64 random(options.seed);
  int64_t first = std::max(options.cases, kFirstCase);
  for (int number = 0; number <= kDrawn && !verdict.difference; ++number) {
    Settings sizes;
    auto add = [&](const char *name, int64_t least, int64_t most) {
      std::uniform_int_distribution<int64_t> any(std::min(least + 1, most),
                                                 most);
      if (name) {
        sizes.push_back(
            {name, std::to_string(number == 0 ? least : any(random))});
      }
    };
    add(ranges.items, ranges.least_items, ranges.most_items);
    add(ranges.tokens, ranges.least_tokens, ranges.most_tokens);
    add(ranges.other_tokens, ranges.least_other_tokens,
        ranges.most_other_tokens);
    if (llvm::Error error =
            runOn(sizes, first + number, ranged, verdict, report)) {
      return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error SizeVerification::runOn(const Settings &sizes, int64_t index,
                                    CompiledProgram &ranged,
                                    VerifyResult &verdict,
                                    Report report) const {
  std::string text;
  frontend::ModelOptions fixed = modelOptions;
  for (const frontend::ParameterOverride &size : sizes) {
    text += (text.empty() ? "" : ", ") + size.name + "=" + size.text;
    llvm::erase_if(fixed.overrides,
                   [&](const auto &given) { return given.name == size.name; });
    fixed.overrides.push_back(size);
  }
  auto fail = [&] {
    return llvm::createStringError("there is no program with " + text);
  };
  Session session(arguments);
  if (session.load(fixed, Session::Weights::Opened, options.storage) != Ok) {
    return fail();
  }
  OwningOpRef<ModuleOp> plain;
  if (options.storage != Storage::F32 && !(plain = makePlain(session))) {
    return fail();
  }
  CompiledModule compiled;
  TemporaryProgram program = compileForUse(session, compileOptions, &compiled);
  if (program.status != Ok) {
    return fail();
  }
  VerifyOptions how = options;
  how.onlyCase = index;
  how.ranged = &ranged;
  auto add = [&](const VerifiedCase &tried) {
    VerifiedCase ofRanged{tried.index, tried.inputs, {}, text};
    llvm::copy_if(
        tried.values, std::back_inserter(ofRanged.values),
        [](const VerifiedValue &value) { return value.check == Check::Sizes; });
    addCase(verdict, ofRanged);
    report(ofRanged);
  };
  ModuleOp storage = plain ? *plain : ModuleOp();
  return verifyProgram(referenceOf(session, storage, compiled),
                       *program.program, how, add)
      .takeError();
}

} // namespace hova::tool
