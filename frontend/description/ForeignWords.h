//===- ForeignWords.h - Words of other libraries ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What hova calls otherwise has a word of its own (canonicalWord); what hova
// has not is composed of what it has, or needs nothing. Both are said where the
// foreign word is used.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_DESCRIPTION_FOREIGNWORDS_H
#define HOVA_FRONTEND_DESCRIPTION_FOREIGNWORDS_H

#include <string>
#include <string_view>

namespace hova::frontend {

/// The word of this vocabulary for a word that other libraries use
/// (`num_heads` is `heads`); empty if there is none.
std::string_view canonicalWord(std::string_view foreign);

/// What to do without the operator `foreign`, which other libraries have: a
/// sentence without a full stop, empty if nothing is known. Case and separators
/// do not count: `RMSNorm` is `rms_norm`. A block that it names stands in
/// docs/description.md.
std::string adviceFor(std::string_view foreign);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_DESCRIPTION_FOREIGNWORDS_H
