//===- PassSteps.cpp - What the passes of a phase changed -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/PassSteps.h"
#include "codegen/FunctionText.h"
#include "codegen/Pipeline.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hova {

/// Of the texts of a phase. A pass that lowers everything rewrites every line,
/// and `target` has a dozen of those.
static constexpr size_t kMostBytes = 512 << 10;

namespace {
/// Shows the program to whoever asked, and changes nothing.
struct LookPass final : PassWrapper<LookPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LookPass)

  explicit LookPass(std::function<void(ModuleOp)> show)
      : show(std::move(show)) {}

  void runOnOperation() override {
    show(getOperation());
    markAllAnalysesPreserved();
  }

  const std::function<void(ModuleOp)> show;
};
} // namespace

ExtendPipeline PassSteps::watch(ExtendPipeline extend) {
  return [this, extend](StringRef point, OpPassManager &manager) {
    size_t size = manager.size();
    if (extend) {
      extend(point, manager);
    }
    auto addLook = [&](std::string pass) {
      manager.addPass(std::make_unique<LookPass>(
          [this, pass](ModuleOp module) { look(pass, module); }));
    };
    // What others add goes by the name of the point.
    if (manager.size() != size) {
      addLook(point.str());
    }
    bool isAfter = point.consume_front("after-");
    bool isBefore = point.consume_front("before-");
    const Phase *phase = findPhase(point);
    if (isAfter && !phase) {
      addLook(point.str());
    } else if (isBefore && phase) {
      manager.addPass(std::make_unique<LookPass>(
          [this, phase](ModuleOp module) { begin(phase->name, module); }));
    }
  };
}

const PhaseSteps &PassSteps::of(StringRef phase) const {
  static const PhaseSteps none;
  auto found = phases.find(phase);
  return found == phases.end() ? none : found->second;
}

/// Calls `visit` with the functions of a module and of those in it.
static void forEachFunction(Operation *module,
                            function_ref<void(Operation *)> visit) {
  for (Operation &op : module->getRegion(0).front()) {
    if (op.hasTrait<OpTrait::SymbolTable>()) {
      forEachFunction(&op, visit);
    } else if (isa<FunctionOpInterface>(op) && !op.getRegion(0).empty()) {
      visit(&op);
    }
  }
}

void PassSteps::begin(StringRef phase, ModuleOp module) {
  current = &phases[phase.str()];
  known.clear();
  forEachFunction(module, [&](Operation *op) {
    known.insert_or_assign(
        SymbolTable::getSymbolName(op).str(),
        Function{OperationFingerPrint(op), printFunction(op)});
  });
}

/// Keeps what `text` changes of a function, as long as there is room for it.
void PassSteps::change(PassStep &step, const std::string &name,
                       Function &function, std::string text) {
  bool isKept = function.bytes <= kMostBytes;
  if (isKept && function.text == text) {
    return; // another operation that says the same
  }
  step.functions.push_back({name, {}});
  if (!isKept) {
    return;
  }
  auto [before, isFirst] = current->before.try_emplace(name, function.text);
  step.functions.back().edits = editsBetween(function.text, text);
  function.bytes += (isFirst ? function.text.size() : 0) +
                    bytesOf(step.functions.back().edits);
  function.text = std::move(text);
  if (function.bytes > kMostBytes) {
    current->before.erase(before);
    function.text.clear();
  }
}

void PassSteps::look(StringRef pass, ModuleOp module) {
  PassStep step = {pass.str(), {}};
  llvm::StringSet<> present;
  forEachFunction(module, [&](Operation *op) {
    std::string name = SymbolTable::getSymbolName(op).str();
    present.insert(name);
    OperationFingerPrint print(op);
    auto [place, isNew] = known.try_emplace(name, Function{print, ""});
    Function &function = place->second;
    if (isNew || function.print != print) {
      function.print = print;
      bool isKept = function.bytes <= kMostBytes;
      change(step, name, function, isKept ? printFunction(op) : "");
    }
  });
  for (auto entry = known.begin(); entry != known.end();) {
    bool isThere = present.contains(entry->first);
    if (!isThere) {
      change(step, entry->first, entry->second, "");
    }
    entry = isThere ? std::next(entry) : known.erase(entry);
  }
  if (!step.functions.empty()) {
    current->passes.push_back(std::move(step));
  }
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

/// The functions of a phase whose texts have room, the shortest first.
static llvm::StringSet<> findKept(const PhaseSteps &steps) {
  std::map<StringRef, size_t> sizes;
  for (const auto &[name, text] : steps.before) {
    sizes[name] += text.size();
  }
  for (const PassStep &step : steps.passes) {
    for (const FunctionStep &function : step.functions) {
      if (steps.before.count(function.function)) {
        sizes[function.function] += bytesOf(function.edits);
      }
    }
  }
  std::vector<std::pair<size_t, StringRef>> order;
  for (auto [name, size] : sizes) {
    order.emplace_back(size, name);
  }
  llvm::sort(order);
  llvm::StringSet<> kept;
  size_t sum = 0;
  for (auto [size, name] : order) {
    sum += size;
    if (sum <= kMostBytes) {
      kept.insert(name);
    }
  }
  return kept;
}

llvm::json::Object toJson(const PhaseSteps &steps) {
  using llvm::json::Array, llvm::json::Object;
  llvm::StringSet<> kept = findKept(steps);
  Object before;
  for (const auto &[function, text] : steps.before) {
    if (kept.contains(function)) {
      before[function] = text;
    }
  }
  Array passes;
  for (const PassStep &step : steps.passes) {
    Array functions;
    for (const auto &[name, edits] : step.functions) {
      Object function{{"function", name}};
      if (kept.contains(name)) {
        function["edits"] = toJson(edits);
      }
      functions.push_back(std::move(function));
    }
    passes.push_back(
        Object{{"pass", step.pass}, {"functions", std::move(functions)}});
  }
  return Object{{"before", std::move(before)}, {"passes", std::move(passes)}};
}

} // namespace hova
