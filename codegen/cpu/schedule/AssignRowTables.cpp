//===- AssignRowTables.cpp - Tables for the rows of placed values ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// A CPU reads and writes the rows of a placed value where a table says: a
// number of four bytes for each row (12 KB for 3136 rows), made while compiling
// and part of the program, so that shifts and the borders of a grid are
// data and cost no instruction. Loops that must find the rows of an operand one
// after the other, as those of a product, get a first stage that copies them;
// a result that is read so in its own kernel gets a last one.
// Kernels without placements stay as they are.

#include "codegen/cpu/Passes.h"
#include "codegen/cpu/Recipe.h"
#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/placement/PlacementOps.h"
#include "dialect/token/TokenOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/RowTables.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_ASSIGNROWTABLESPASS
#include "codegen/cpu/Passes.h.inc"

namespace {
/// The tables of a program, each stored once.
class RowTables {
public:
  RowTables(ModuleOp module, func::FuncOp main) : module(module), main(main) {}

  /// The rows of what `placement` makes of a value of type `source`.
  Value get(PlacementAttrInterface placement, Type source);

private:
  Block &foldingFunction();

  ModuleOp module;
  func::FuncOp main;
  DenseMap<std::pair<Attribute, Type>, Value> tables;
};
} // namespace

Block &RowTables::foldingFunction() {
  auto weights = module.lookupSymbol<func::FuncOp>("weights");
  if (!weights) {
    OpBuilder builder(module.getContext());
    builder.setInsertionPointAfter(main);
    weights = func::FuncOp::create(builder, main.getLoc(), "weights",
                                   builder.getFunctionType({}, {}));
    weights.setPrivate();
    builder.setInsertionPointToStart(weights.addEntryBlock());
    func::ReturnOp::create(builder, main.getLoc());
  }
  return weights.getBody().front();
}

Value RowTables::get(PlacementAttrInterface placement, Type source) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(source).getShape();
  // The width of a row is none of the table's business.
  auto key = RankedTensorType::get(shape.drop_back(),
                                   IndexType::get(module.getContext()));
  Value &known = tables[{placement, key}];
  if (known) {
    return known;
  }
  int64_t rows =
      staticSize(ArrayRef(*placement.getPlacedShape(shape)).drop_back()) *
      placement.getSegments();
  OpBuilder builder(foldingFunction().getTerminator());
  auto type = RankedTensorType::get(rows, builder.getI32Type());
  std::string name = "rows." + std::to_string(tables.size() - 1);
  Location loc = NameLoc::get(builder.getStringAttr(name));
  Value table = RowTableOp::create(builder, loc, type, placement,
                                   builder.getDenseI64ArrayAttr(shape));
  StoreWeightOp::create(builder, loc, name, table);
  builder.setInsertionPointToStart(&main.getBody().front());
  return known = ImageWeightOp::create(builder, loc, type, name,
                                       /*layout=*/nullptr);
}

/// Whether all that read `value`, or columns of it, can read its rows where a
/// table says.
static bool canReadAnywhere(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    auto slice = dyn_cast<SliceOp>(user);
    if (slice && slice.takesColumns()) {
      return canReadAnywhere(slice.getResult());
    }
    if (isa<YieldOp>(user)) {
      return true;
    }
    auto recipe = dyn_cast<CpuRecipeOpInterface>(user);
    return recipe
               ? recipe.getReads(use.getOperandNumber()) == OperandReads::placed
               : joinsTiles(user);
  });
}

/// arg = placed input -> rearrange (input)
static void copyRowsFirst(KernelOp kernel, unsigned index,
                          PlacementAttrInterface placement) {
  BlockArgument argument = kernel.getBody().getArgument(index);
  Type placed = argument.getType();
  argument.setType(kernel.getInputs()[index].getType());
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto copy = RearrangeOp::create(builder, argument.getLoc(), placed, argument,
                                  placement, Value());
  argument.replaceAllUsesExcept(copy, copy);
}

/// yield x, placed -> yield (copy of x), where the kernel reads x in its own
/// order of rows once more. A concatenation of one value is its copy.
static void copyRowsLast(KernelOp kernel, unsigned index) {
  OpOperand &yielded =
      kernel.getBody().front().getTerminator()->getOpOperand(index);
  OpBuilder builder(yielded.getOwner());
  Value value = yielded.get();
  int64_t columns = shapeOf(value).size() - 1;
  yielded.set(ConcatOp::create(builder, value.getLoc(), value.getType(), value,
                               builder.getI64IntegerAttr(columns)));
}

namespace {
struct AssignRowTablesPass final
    : impl::AssignRowTablesPassBase<AssignRowTablesPass> {
  using Base::Base;

  void assignKernel(KernelOp kernel, RowTables &tables) {
    SmallVector<PlacementAttrInterface> inputs, results;
    for (unsigned i = 0, e = kernel.getInputs().size(); i < e; ++i) {
      inputs.push_back(kernel.getInputPlacement(i));
      if (inputs[i] && !canReadAnywhere(kernel.getBody().getArgument(i))) {
        copyRowsFirst(kernel, i, inputs[i]);
        inputs[i] = {};
      }
    }
    for (unsigned i = 0, e = kernel.getNumResults(); i < e; ++i) {
      results.push_back(kernel.getResultPlacement(i));
      Operation *yield = kernel.getBody().front().getTerminator();
      if (results[i] && !canReadAnywhere(yield->getOperand(i))) {
        copyRowsLast(kernel, i);
      }
    }
    kernel.setPlacements(inputs, results);
    auto argumentOf = [&](PlacementAttrInterface placement,
                          Type source) -> BlockArgument {
      Value table = tables.get(placement, source);
      for (auto [argument, input] :
           llvm::zip(kernel.getBody().getArguments(), kernel.getInputs())) {
        if (input == table) {
          return argument;
        }
      }
      return kernel.addInput(table);
    };
    kernel.walk([&](RearrangeOp op) {
      if (!op.getTable()) {
        op.getTableMutable().assign(
            argumentOf(op.getPlacement(), op.getX().getType()));
      }
    });
    auto numbersOf = [&](ArrayRef<PlacementAttrInterface> placements,
                         TypeRange types) {
      SmallVector<int64_t> numbers;
      for (auto [placement, type] : llvm::zip(placements, types)) {
        numbers.push_back(-1);
        if (placement) {
          numbers.back() = argumentOf(placement, type).getArgNumber();
        }
      }
      return DenseI64ArrayAttr::get(kernel.getContext(), numbers);
    };
    SmallVector<Type> inputTypes(kernel.getInputs().getTypes());
    if (kernel.getInputPlacements()) {
      kernel->setAttr(kInputRowsAttr, numbersOf(inputs, inputTypes));
    }
    if (kernel.getResultPlacements()) {
      kernel->setAttr(kResultRowsAttr,
                      numbersOf(results, kernel.getResultTypes()));
    }
  }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || main.isExternal()) {
      return;
    }
    RowTables tables(getOperation(), main);
    main.walk([&](KernelOp kernel) {
      if (!kernel->hasAttr(kInputRowsAttr) &&
          !kernel->hasAttr(kResultRowsAttr)) {
        assignKernel(kernel, tables);
      }
    });
  }
};
} // namespace
} // namespace hova
