//===- Bill.h - What a program was made from ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every executable, library and object has a section `.hova_bill` that says
// what it was made from, so that years later it can be told, checked and made
// again (`hova compile --reproduce`):
//
//   text for people \0 one JSON object \0 the description, compressed
//
// The program's own `--describe` prints the first two as they stand; other
// tools find the section by its name:
//
//   objcopy -O binary --only-section=.hova_bill PROGRAM /dev/stdout | tr '\0'
//   '\n'

#ifndef HOVA_CODEGEN_PROGRAM_BILL_H
#define HOVA_CODEGEN_PROGRAM_BILL_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace hova {

constexpr llvm::StringLiteral kBillSection = ".hova_bill";

/// The name of a file without folders, and the SHA-256 of its bytes, as
/// sha256sum prints it.
struct HashedFile {
  std::string name;
  std::string sha256;

  bool operator==(const HashedFile &other) const {
    return sha256 == other.sha256;
  }
};

struct Bill {
  std::string compiler; ///< name and version
  HashedFile description;
  std::string text; ///< of the description
  /// The IR dump that compilation started from; no name: the description.
  HashedFile dump;
  /// One, or the index's shards; none: drawn, as the options say.
  std::vector<HashedFile> weights;
  /// The name that --weights had, that of an index where there are shards.
  std::string weightsName;
  /// The checkpoint source whose names the weights had; empty: none.
  std::string checkpoint;
  std::vector<HashedFile> plugins;
  /// Words of `hova compile` that decide what the program is.
  std::vector<std::string> options;
  std::vector<std::string> levels; ///< of the code, the best first
  /// What became of the sites, as objects of "path", "kind", "fused" and "why".
  llvm::json::Array verdicts;
};

/// The contents of the section. Equal bills have equal contents where the same
/// zlib compresses.
std::string writeBill(const Bill &bill);

/// The bill of a program; its verdicts are left out. Whoever made the file may
/// have changed it: every word of its options is first shown to `refuse`, which
/// says why it must not stand there, or nothing. The error says why there is no
/// bill, or what is wrong with it.
llvm::Expected<Bill>
readBill(llvm::StringRef path,
         llvm::function_ref<std::string(llvm::StringRef)> refuse);

/// The name that a shared library calls itself by; empty: it has none.
llvm::Expected<std::string> readSoname(llvm::StringRef path);

/// Hashes a file piece by piece.
llvm::Expected<HashedFile> hashFile(llvm::StringRef path);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_BILL_H
