//===- AssignVerdicts.cpp - What became of every site ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// After all that forms kernels, every site gets its answer: the kernels that
// it stands in, the neighbours that joined it there, those that did not with
// the first reason, and whether it is fused: none of its own intermediates
// passes from one kernel to another, which would mean through memory. A
// neighbour is an operation that computes what the site reads, or reads what it
// computes. Why two operations stand apart was noted when they were placed
// (`hova.missed_fusions`); this only collects.

#include "dialect/Interfaces.h"
#include "dialect/Shapes.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Columns.h"
#include "passes/Verdict.h"
#include "passes/fuse/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNVERDICTSPASS
#include "passes/fuse/Passes.h.inc"

namespace {
/// One operation reads what another one computes.
struct Edge {
  Operation *producer;
  OpOperand *operand;
  Operation *reader() const { return operand->getOwner(); }
};

/// The operations of one site, in their order.
struct SiteParts {
  Site site;
  SmallVector<Operation *> ops;
};

/// Collects the sites of `main` and writes their verdicts.
class Verdicts {
public:
  explicit Verdicts(func::FuncOp main) : main(main) {}

  void assign() {
    collect();
    for (auto &[key, parts] : sites) {
      // Where this has run before, what it went by is gone.
      if (!siteVerdictOf(parts.ops.back())) {
        writeVerdict(parts.ops.back(), judge(parts));
        keepDemand(parts);
      }
    }
    for (Operation *op : ops) {
      op->removeAttr(kMissedFusionsAttr);
    }
  }

private:
  void collect();
  void collect(Operation *op);
  SiteVerdict judge(const SiteParts &parts) const;
  /// The numbers of the edges that begin or end in the site.
  SmallVector<unsigned> edgesOf(const SiteParts &parts) const;
  /// Judges what passes between two operations of the site.
  void judgeInside(const Edge &edge, SiteVerdict &verdict) const;
  /// The verdict is where a demand is looked for.
  static void keepDemand(const SiteParts &parts);

  bool isInside(Operation *op, const SiteParts &parts) const {
    return siteKeyOf(op) == siteKeyOf(parts.ops.front());
  }

  func::FuncOp main;
  SmallVector<Operation *> ops; ///< of all kernels
  SmallVector<Edge> edges;
  /// Of an operation: the numbers of its edges, and whose columns it computes
  /// besides its own.
  DenseMap<Operation *, SmallVector<unsigned>> edgesAt;
  DenseMap<Operation *, llvm::SetVector<StringRef>> columns;
  llvm::MapVector<const void *, SiteParts> sites;
};
} // namespace

/// What is assembled of rows that kernels write, or reshaped: no work, and no
/// kernel.
static bool isAssembled(Operation *op) {
  return isa<AssembleOpInterface, ReshapeOp, RowViewOpInterface>(op) &&
         !isa<KernelOp>(op->getParentOp());
}

/// The operations that compute `value`, through kernels and addresses; none for
/// inputs and weights, several for what is assembled.
static void findProducers(Value value,
                          SmallVectorImpl<Operation *> &producers) {
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto kernel = dyn_cast<KernelOp>(argument.getOwner()->getParentOp())) {
      findProducers(kernel.getInputs()[argument.getArgNumber()], producers);
    }
  } else if (auto kernel = dyn_cast<KernelOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    Operation *yield = kernel.getBody().front().getTerminator();
    findProducers(yield->getOperand(number), producers);
  } else if (isColumnSlice(op)) {
    findProducers(op->getOperand(0), producers);
  } else if (isAssembled(op)) {
    for (Value part : op->getOperands()) {
      findProducers(part, producers);
    }
  } else if (isa<KernelOp>(op->getParentOp())) {
    producers.push_back(op);
  }
}

static SmallVector<Operation *> producersOf(Value value) {
  SmallVector<Operation *> producers;
  findProducers(value, producers);
  return producers;
}

/// How verdicts call an operation: by its site, else by its place, else by what
/// it is.
static std::string nameOf(Operation *op) {
  std::optional<Site> site = siteOf(op);
  StringRef path = site ? site->path : pathOf(op->getLoc());
  return path.empty() ? op->getName().getStringRef().str() : path.str();
}

/// Why the reader does not stand in the kernel of what it reads; empty if it
/// does.
static std::string whyApart(const Edge &edge) {
  auto kernel = edge.reader()->getParentOfType<KernelOp>();
  if (edge.producer->getParentOp() == kernel) {
    return {};
  }
  auto missedFusions =
      edge.reader()->getAttrOfType<DictionaryAttr>(kMissedFusionsAttr);
  auto why = missedFusions ? missedFusions.getAs<StringAttr>(std::to_string(
                                 edge.operand->getOperandNumber()))
                           : StringAttr();
  return why ? why.str()
             : ("another pass has formed kernel '" + kernel.getName() +
                "'; it joins if that pass is left out")
                   .str();
}

void Verdicts::collect() {
  main.walk([&](Operation *op) {
    if ((isa<KernelOp>(op->getParentOp()) || isAssembled(op)) &&
        !op->hasTrait<OpTrait::IsTerminator>()) {
      collect(op);
    }
  });
}

void Verdicts::collect(Operation *op) {
  if (isColumnSlice(op)) {
    // What is left of a linear that was merged with others.
    for (Operation *product : producersOf(op->getResult(0))) {
      std::optional<Site> site = siteOf(op);
      columns[product].insert(site ? site->path : pathOf(op->getLoc()));
    }
    return;
  }
  ops.push_back(op);
  // Whoever reads what is assembled reads its parts.
  MutableArrayRef<OpOperand> operands = op->getOpOperands();
  for (OpOperand &operand :
       isAssembled(op) ? operands.take_front(0) : operands) {
    for (Operation *producer : producersOf(operand.get())) {
      edgesAt[producer].push_back(edges.size());
      edgesAt[op].push_back(edges.size());
      edges.push_back({producer, &operand});
    }
  }
  if (std::optional<Site> site = siteOf(op)) {
    SiteParts &parts = sites[siteKeyOf(op)];
    parts.site = *site;
    parts.ops.push_back(op);
  }
}

SmallVector<unsigned> Verdicts::edgesOf(const SiteParts &parts) const {
  SmallVector<unsigned> numbers;
  for (Operation *op : parts.ops) {
    numbers.append(edgesAt.lookup(op));
  }
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
  return numbers;
}

static int64_t bytesOf(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.hasStaticShape()
             ? llvm::divideCeil(
                   type.getNumElements() * type.getElementTypeBitWidth(), 8)
             : 0;
}

void Verdicts::judgeInside(const Edge &edge, SiteVerdict &verdict) const {
  std::string why = whyApart(edge);
  if (!why.empty() && verdict.fused) {
    verdict.fused = false;
    verdict.why = std::to_string(bytesOf(edge.producer)) + " bytes that '" +
                  edge.producer->getName().getStringRef().str() +
                  "' computes pass through memory: " + why;
  }
}

SiteVerdict Verdicts::judge(const SiteParts &parts) const {
  SiteVerdict verdict;
  llvm::SetVector<StringRef> kernels, merged;
  llvm::StringSet<> joined, apart;
  llvm::SmallPtrSet<Operation *, 4> inner;
  int64_t bytes = 0;
  for (Operation *op : parts.ops) {
    if (auto kernel = op->getParentOfType<KernelOp>()) {
      kernels.insert(kernel.getName());
    }
    merged.set_union(columns.lookup(op));
    auto site = dyn_cast<SiteOpInterface>(op);
    bytes += site ? site.getInnerBytes() : 0;
  }
  for (unsigned number : edgesOf(parts)) {
    const Edge &edge = edges[number];
    bool from = isInside(edge.producer, parts);
    bool to = isInside(edge.reader(), parts);
    auto site = dyn_cast<SiteOpInterface>(edge.producer);
    if (from && (to || (site && site.isResultIntermediate()))) {
      judgeInside(edge, verdict);
      bytes += inner.insert(edge.producer).second ? bytesOf(edge.producer) : 0;
    }
    if (from && to) {
      continue;
    }
    std::string neighbour = nameOf(from ? edge.reader() : edge.producer);
    std::string why = whyApart(edge);
    if (why.empty()) {
      if (joined.insert(neighbour).second) {
        verdict.joined.push_back(neighbour);
      }
    } else if (apart.insert(neighbour).second) {
      verdict.apart.push_back({neighbour, why});
    }
  }
  merged.remove(parts.site.path);
  verdict.kernels.append(kernels.begin(), kernels.end());
  verdict.columns.append(merged.begin(), merged.end());
  if (verdict.kernels.empty()) {
    verdict.why = isa<AssembleOpInterface>(parts.ops.front())
                      ? "its parts are written where they stand in it"
                      : "what it is made of is read as it lies";
    llvm::SetVector<StringRef> writers;
    for (Operation *op : parts.ops) {
      for (Operation *producer : producersOf(op->getResult(0))) {
        writers.insert(producer->getParentOfType<KernelOp>().getName());
      }
    }
    verdict.writers.append(writers.begin(), writers.end());
  } else if (verdict.fused && bytes) {
    verdict.why =
        std::to_string(bytes) + " bytes of intermediates never reach memory";
  }
  return verdict;
}

void Verdicts::keepDemand(const SiteParts &parts) {
  for (Operation *op : parts.ops) {
    if (Attribute required = op->getAttr(kRequireAttr)) {
      parts.ops.back()->setAttr(kRequireAttr, required);
    }
  }
}

namespace {
struct AssignVerdictsPass final
    : impl::AssignVerdictsPassBase<AssignVerdictsPass> {
  using Base::Base;
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && !main.isExternal()) {
      Verdicts(main).assign();
    }
  }
};
} // namespace
} // namespace hova
