//===- VerifyReport.h - What verification found, as text or JSON ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_REFERENCE_VERIFYREPORT_H
#define HOVA_CODEGEN_REFERENCE_VERIFYREPORT_H

#include "codegen/TargetFacts.h"
#include "codegen/reference/Verify.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace hova {

/// Where a difference comes from, as far as it can be told.
struct Fault {
  /// The pass after which the program means something else; empty: none.
  std::string pass;
  /// The first layer whose value it changes.
  std::string layer;
  /// Where the pass wrote loops: the operations whose recipes they are.
  std::string recipes;
  /// The kernel whose code does not do what its operations say: its path and
  /// function. Empty: none.
  std::string kernel, function;
  /// What is known of the layers inside of that kernel, as a sentence.
  std::string inside;
};

/// Writes what verification finds, case by case.
class VerifyWriter {
public:
  virtual ~VerifyWriter() = default;
  virtual void begin(const VerifyOptions &options) = 0;
  virtual void add(const VerifiedCase &tried) = 0;
  virtual void end(const VerifyResult &verdict, const Fault &fault) = 0;
  /// In the place of `end`, where a case could not be tried.
  virtual void abandon(llvm::StringRef why) = 0;
};

/// A table with one row per output, and one for all values between kernels
/// that are right.
std::unique_ptr<VerifyWriter> makeVerifyTable(const TargetFacts &target,
                                              llvm::raw_ostream &os);

/// One object with every value of every case.
std::unique_ptr<VerifyWriter> makeVerifyJson(const hova_program &program,
                                             const TargetFacts &target,
                                             llvm::raw_ostream &os);

} // namespace hova

#endif // HOVA_CODEGEN_REFERENCE_VERIFYREPORT_H
