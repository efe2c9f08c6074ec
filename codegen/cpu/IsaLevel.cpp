//===- IsaLevel.cpp - Instruction sets that code is generated for ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/IsaLevel.h"
#include "codegen/cpu/Machine.h"
#include "runtime/hova_runtime.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace llvm;

namespace hova {

/// Whether a program asks the machine for a feature before it runs, or every
/// machine has it.
static bool canBeAskedFor(StringRef feature) {
  static constexpr StringLiteral everywhere[] = {
      "64bit", "cmov", "crc32", "cx8",  "evex512",
      "fxsr",  "mmx",  "sse",   "sse2", "x87"};
  static constexpr StringLiteral asked[] = {
#define HOVA_FEATURE_TEXT(NAME, TEXT) TEXT,
      HOVA_CPU_FEATURES(HOVA_FEATURE_TEXT)
#undef HOVA_FEATURE_TEXT
  };
  return is_contained(everywhere, feature) || is_contained(asked, feature);
}

/// The host's features as LLVM's string; `+` for what code may use of it.
static std::string hostFeatures() {
  SmallVector<std::string> list;
  for (const auto &feature : sys::getHostCPUFeatures()) {
    bool used = feature.second && canBeAskedFor(feature.first());
    list.push_back((used ? "+" : "-") + feature.first().str());
  }
  llvm::sort(list);
  return join(list, ",");
}

/// What code for a level must do without, as LLVM's string: where the level is
/// newer than the runtime, its programs would fault on machines that have all
/// that they ask for.
static std::string featuresLeftOut(StringRef cpu) {
  SmallVector<StringRef> features;
  X86::getFeaturesForCPU(cpu, features);
  llvm::erase_if(features, canBeAskedFor);
  return features.empty() ? "" : "-" + join(features, ",-");
}

static Error unknownLevel(StringRef march) {
  SmallVector<StringRef> known;
  X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  known.push_back("native");
  StringRef nearest;
  unsigned best = march.size() / 2 + 1;
  for (StringRef name : known) {
    unsigned distance = march.edit_distance(name, true, best);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  std::string hint = nearest.empty()
                         ? "; a level is native, x86-64-v3, x86-64-v4 or a "
                           "processor that LLVM knows, such as znver4"
                         : "; did you mean '" + nearest.str() + "'?";
  return createStringError(std::errc::invalid_argument,
                           "unknown ISA level '%s'%s", march.str().c_str(),
                           hint.c_str());
}

Expected<IsaLevel> resolveLevel(StringRef march) {
  IsaLevel level;
  if (march == "native") {
    level.cpu = sys::getHostCPUName().str();
    level.features = hostFeatures();
    level.name = level.cpu;
  } else {
    if (X86::parseArchX86(march, /*Only64Bit=*/true) == X86::CK_None) {
      return unknownLevel(march);
    }
    level.name = level.cpu = march.str();
    level.features = featuresLeftOut(march);
  }
  Expected<std::unique_ptr<TargetMachine>> machine =
      makeTargetMachine(level, 2);
  if (!machine) {
    return machine.takeError();
  }
  const MCSubtargetInfo &subtarget = *(*machine)->getMCSubtargetInfo();
  auto has = [&](StringRef feature) {
    return subtarget.checkFeatures(("+" + feature).str());
  };
#define HOVA_LEVEL_FEATURE(NAME, TEXT)                                         \
  if (has(TEXT)) {                                                             \
    level.requirements |= HOVA_CPU(NAME);                                      \
  }
  HOVA_CPU_FEATURES(HOVA_LEVEL_FEATURE)
#undef HOVA_LEVEL_FEATURE
  if (!has("avx2") || !has("fma")) {
    return createStringError(std::errc::invalid_argument,
                             "ISA level '%s' has no AVX2 with FMA; the "
                             "lowest level is 'x86-64-v3'",
                             march.str().c_str());
  }
  level.avx512 =
      has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  level.bf16 = level.avx512 && has("avx512bf16");
  level.oneFma = level.avx512 && level.cpu == "znver4";
  return level;
}

SmallVector<StringRef> getLevelNames() {
  SmallVector<StringRef> names = {"native"};
  SmallVector<StringRef> known;
  X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  for (StringRef name : known) {
    SmallVector<StringRef> features;
    X86::getFeaturesForCPU(name, features);
    if (is_contained(features, "avx2") && is_contained(features, "fma")) {
      names.push_back(name);
    }
  }
  return names;
}

Expected<SmallVector<IsaLevel>> resolveLevels(StringRef march) {
  SmallVector<IsaLevel> levels;
  SmallVector<StringRef> names;
  march.split(names, ',');
  for (StringRef name : names) {
    Expected<IsaLevel> level = resolveLevel(name);
    if (!level) {
      return level.takeError();
    }
    if (any_of(levels, [&](const IsaLevel &other) {
          return other.name == level->name;
        })) {
      return createStringError(std::errc::invalid_argument,
                               "ISA level '%s' is given twice",
                               level->name.c_str());
    }
    levels.push_back(std::move(*level));
  }
  // More features first.
  llvm::sort(levels, [](const IsaLevel &a, const IsaLevel &b) {
    return std::pair(popcount(b.requirements), a.name) <
           std::pair(popcount(a.requirements), b.name);
  });
  return levels;
}

} // namespace hova
