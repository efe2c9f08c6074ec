//===- Summary.h - Parameters, work and shapes of a model -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_TOOLS_INSPECT_SUMMARY_H
#define HOVA_TOOLS_INSPECT_SUMMARY_H

#include "frontend/Model.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/JSON.h"

namespace hova::inspect {

/// One layer of the description in one of its uses.
struct LayerSummary {
  std::string path;
  std::string kind;
  frontend::Shape inputShape;
  frontend::Shape outputShape;
  /// The layers, and the inputs of the model, whose values it reads.
  std::vector<std::string> reads;
  int64_t parameters = 0;
  int64_t linearMacs = 0;
  int64_t attentionMacs = 0;
};

/// Counts of a model. One multiply-accumulate (MAC) is two floating-point
/// operations; masks do not lower the count, element-wise work is not counted.
struct Summary {
  /// Elements of trainable weights, and of frozen weights and position tables.
  int64_t trainable = 0;
  int64_t frozen = 0;
  /// Elements of weights of dense and convolution layers: not of norms, tokens,
  /// embedding and position tables. A table that is also an output projection
  /// counts, once.
  int64_t dense = 0;
  /// Activation x weight, and activation x activation.
  int64_t linearMacs = 0;
  int64_t attentionMacs = 0;
  /// Those of both kinds that no input reaches: a program has their results.
  int64_t constantMacs = 0;
  /// Elements of the results of norms.
  int64_t normElements = 0;
  std::vector<LayerSummary> layers;
};

Summary summarize(const frontend::Program &program, mlir::MLIRContext &context);

/// A table for people.
void printText(const Summary &summary, const frontend::Program &program,
               llvm::raw_ostream &out);

/// One JSON object.
llvm::json::Object summaryJson(const Summary &summary,
                               const frontend::Program &program);

/// A number, a boolean or a string.
llvm::json::Value jsonScalar(const frontend::Scalar &value);

/// 86567656 as `86,567,656`.
std::string grouped(int64_t number);

/// Rows below a head, in columns as wide as their longest cell. Columns from
/// `firstNumber` on are numbers; a line of dashes is drawn around the head, and
/// at the end.
void printTable(const std::vector<std::vector<std::string>> &rows,
                size_t firstNumber, llvm::raw_ostream &out);

/// What `hova summary` shows of a model: its layers, or what papers say of it.
enum class SummaryKind { Layers, Paper };

/// The verbs `hova check`, `hova summary` and `hova schema`. A weight file,
/// where one is given, must fit. Data goes to `out`, messages to `errors`; the
/// result is the exit code. `dialects` are those of plugins; `note` becomes by
/// which names a file that fits has been read, where `out` does not say it.
int runCheck(const frontend::ModelOptions &options, bool json,
             llvm::raw_ostream &out, llvm::raw_ostream &errors,
             const mlir::DialectRegistry &dialects = mlir::DialectRegistry(),
             std::string *note = nullptr);
int runSummary(const frontend::ModelOptions &options, SummaryKind kind,
               bool json, llvm::raw_ostream &out, llvm::raw_ostream &errors,
               const mlir::DialectRegistry &dialects = mlir::DialectRegistry());
int runSchema(llvm::raw_ostream &out);

} // namespace hova::inspect

#endif // HOVA_TOOLS_INSPECT_SUMMARY_H
