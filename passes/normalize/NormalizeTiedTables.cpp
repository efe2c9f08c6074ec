//===- NormalizeTiedTables.cpp - One form of a table that two share -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A table from which an embedding takes rows and with whose transpose a product
// multiplies: the product's weight is the one form that remains, and a token is
// a column of it. A product reads all of its weight in every run, an embedding
// a few hundred columns: where they lie matters to the product alone.

#include "dialect/Shapes.h"
#include "dialect/dense/DenseOps.h"
#include "dialect/program/ProgramOps.h"
#include "dialect/token/TokenOps.h"
#include "passes/Verdict.h"
#include "passes/normalize/Passes.h"
#include "passes/normalize/WeightValues.h"

using namespace mlir;

namespace hova {
#define GEN_PASS_DEF_NORMALIZETIEDTABLESPASS
#include "passes/normalize/Passes.h.inc"

static constexpr llvm::StringLiteral kPassName = "hova-normalize-tied-tables";

namespace {
/// A table and what reads it.
struct TiedTable {
  TiedTable(Value table, const WeightValues &weights);

  Value table;
  SmallVector<EmbeddingOp> embeddings;
  SmallVector<LinearOp> products; ///< that multiply by the transpose
  Operation *other = nullptr;     ///< one that reads the table in another way
};
} // namespace

TiedTable::TiedTable(Value table, const WeightValues &weights) : table(table) {
  for (OpOperand &use : table.getUses()) {
    Operation *op = use.getOwner();
    auto embedding = dyn_cast<EmbeddingOp>(op);
    auto linear = dyn_cast<LinearOp>(op);
    if (weights.contains(op)) {
      continue; // what it makes is stored as a tensor of its own
    }
    if (embedding && !embedding.getTransposed()) {
      embeddings.push_back(embedding);
    } else if (linear && linear.getTransposed() &&
               use.getOperandNumber() == 1) {
      products.push_back(linear);
    } else {
      other = op;
    }
  }
}

/// embedding %ids, %t; linear %x, %t {transposed}
///   -> %u = transpose %t; embedding %ids, %u {transposed}; linear %x, %u
static Verdict shareTable(const TiedTable &tied) {
  auto type = cast<RankedTensorType>(tied.table.getType());
  if (tied.other) {
    return Verdict::decline(
        "'" + tied.other->getName().getStringRef() +
            "' reads the table too, which is stored as it is for it",
        "embeddings and products with the transpose alone read the table");
  }
  OpBuilder builder(type.getContext());
  builder.setInsertionPointAfterValue(tied.table);
  ArrayRef<int64_t> shape = type.getShape();
  Value turned =
      TransposeOp::create(builder, tied.table.getLoc(),
                          type.clone({shape[1], shape[0]}), tied.table);
  for (LinearOp product : tied.products) {
    product.getWeightMutable().assign(turned);
    product.setTransposed(false);
  }
  for (EmbeddingOp embedding : tied.embeddings) {
    embedding.getTableMutable().assign(turned);
    embedding.setTransposed(true);
  }
  int64_t bytes = staticSize(shape) * type.getElementTypeBitWidth() / 8;
  return Verdict::fire("takes columns of a product's weight: " + Twine(bytes) +
                       " bytes are stored once");
}

namespace {
struct NormalizeTiedTablesPass final
    : impl::NormalizeTiedTablesPassBase<NormalizeTiedTablesPass> {
  using Base::Base;
  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    WeightValues weights(getOperation().getBody().front());
    llvm::SetVector<Value> tables;
    getOperation().walk([&](EmbeddingOp op) {
      auto type = cast<RankedTensorType>(op.getTable().getType());
      if (weights.makes(op.getTable()) && type.hasStaticShape()) {
        tables.insert(op.getTable());
      }
    });
    for (Value table : tables) {
      TiedTable tied(table, weights);
      if (tied.products.empty() || tied.embeddings.empty()) {
        continue; // not tied
      }
      Verdict verdict = shareTable(tied);
      for (EmbeddingOp embedding : tied.embeddings) {
        writeVerdict(embedding, kPassName, verdict);
      }
    }
  }
};
} // namespace
} // namespace hova
