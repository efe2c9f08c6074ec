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
#include <functional>

using namespace llvm;

namespace hova {

/// What a program asks the machine for before it runs.
static constexpr StringLiteral askedFeatures[] = {
#define HOVA_FEATURE_TEXT(NAME, TEXT) TEXT,
    HOVA_CPU_FEATURES(HOVA_FEATURE_TEXT)
#undef HOVA_FEATURE_TEXT
};

/// Whether a program asks the machine for a feature before it runs, or every
/// machine has it.
static bool canBeAskedFor(StringRef feature) {
  static constexpr StringLiteral everywhere[] = {
      "64bit", "cmov", "crc32", "cx8",  "evex512",
      "fxsr",  "mmx",  "sse",   "sse2", "x87"};
  return is_contained(everywhere, feature) ||
         is_contained(askedFeatures, feature);
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

static SmallVector<StringRef> featuresOf(StringRef cpu) {
  SmallVector<StringRef> features;
  X86::getFeaturesForCPU(cpu, features);
  return features;
}

/// What code for a level must do without: where the level is newer than the
/// runtime, its programs would fault on machines that have all that they ask
/// for.
static SmallVector<std::string> featuresLeftOut(StringRef cpu) {
  SmallVector<std::string> list;
  for (StringRef feature : featuresOf(cpu)) {
    if (!canBeAskedFor(feature)) {
      list.push_back("-" + feature.str());
    }
  }
  return list;
}

/// Whether resolveLevel takes the processor.
static bool hasAvx2(ArrayRef<StringRef> features) {
  return is_contained(features, "avx2") && is_contained(features, "fma");
}

/// A feature of the matrix unit. Virtual machines hide the unit more often than
/// anything else of a core, so it does not tell which core it is.
static bool isOfUnit(StringRef feature) { return feature.starts_with("amx-"); }

/// How many features one of the two has and the other has not.
static size_t differences(ArrayRef<StringRef> features,
                          const StringMap<bool> &machine) {
  size_t shared = 0, all = 0;
  for (const auto &feature : machine) {
    bool counts = feature.second && !isOfUnit(feature.first());
    all += counts;
    shared += counts && is_contained(features, feature.first());
  }
  return all + count_if(features, std::not_fn(isOfUnit)) - 2 * shared;
}

/// ":gfni:no-adx", what a machine has and a processor has not, and the other
/// way round, of what programs ask for.
static std::string distinction(StringRef cpu, const StringMap<bool> &machine) {
  SmallVector<StringRef> features = featuresOf(cpu);
  std::string text;
  for (StringRef feature : askedFeatures) {
    bool isOfCpu = is_contained(features, feature);
    // What the unit computes goes with its registers.
    bool isImplied = isOfUnit(feature) && feature != "amx-tile" && isOfCpu &&
                     !machine.lookup("amx-tile");
    if (machine.lookup(feature) != isOfCpu && !isImplied) {
      text += (isOfCpu ? ":no-" : ":") + feature.str();
    }
  }
  return text;
}

std::string nameOfMachine(StringRef cpu, const StringMap<bool> &features) {
  // LLVM has words for machines that it does not know, such as generic.
  if (X86::parseArchX86(cpu, /*Only64Bit=*/true) == X86::CK_None) {
    cpu = "x86-64-v3";
  }
  if (distinction(cpu, features).empty()) {
    return cpu.str();
  }
  SmallVector<StringRef> known;
  X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  StringRef best = cpu;
  size_t least = differences(featuresOf(cpu), features);
  for (StringRef name : known) {
    SmallVector<StringRef> candidate = featuresOf(name);
    if (size_t count = differences(candidate, features);
        count < least && hasAvx2(candidate)) {
      least = count;
      best = name;
    }
  }
  return best.str() + distinction(best, features);
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

/// A processor, and what follows it.
static Expected<IsaLevel> namedLevel(StringRef march) {
  IsaLevel level;
  level.name = march.str();
  auto [cpu, rest] = march.split(':');
  if (X86::parseArchX86(cpu, /*Only64Bit=*/true) == X86::CK_None) {
    return unknownLevel(cpu);
  }
  level.cpu = cpu.str();
  SmallVector<std::string> list = featuresLeftOut(cpu);
  SmallVector<StringRef> changes;
  rest.split(changes, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef feature : changes) {
    bool isLess = feature.consume_front("no-");
    if (!is_contained(askedFeatures, feature)) {
      return createStringError(std::errc::invalid_argument,
                               "ISA level '%s' has the feature '%s', which is "
                               "none that programs ask for: %s",
                               march.str().c_str(), feature.str().c_str(),
                               join(ArrayRef(askedFeatures), ", ").c_str());
    }
    list.push_back((isLess ? "-" : "+") + feature.str());
  }
  level.features = join(list, ",");
  return level;
}

static IsaLevel nativeLevel() {
  IsaLevel level;
  level.name = nameOfMachine(sys::getHostCPUName(), sys::getHostCPUFeatures());
  level.cpu = StringRef(level.name).split(':').first.str();
  level.features = hostFeatures();
  return level;
}

/// Whether the processor of a level has a matrix unit, also where the level
/// itself does not use it. The rate of an instruction is a fact of the
/// processor, not of the features that a system leaves.
static bool processorHasUnit(const IsaLevel &level) {
  SmallVector<StringRef> features = featuresOf(level.cpu);
  StringRef(level.name).split(features, ':');
  return is_contained(features, "amx-tile");
}

Expected<IsaLevel> resolveLevel(StringRef march) {
  Expected<IsaLevel> found =
      march == "native" ? nativeLevel() : namedLevel(march);
  if (!found) {
    return found;
  }
  IsaLevel level = std::move(*found);
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
  level.matrixUnit = level.bf16 && has("amx-tile") && has("amx-bf16");
  level.slowPairs = level.bf16 && !level.matrixUnit && processorHasUnit(level);
  return level;
}

SmallVector<StringRef> getLevelNames() {
  SmallVector<StringRef> names = {"native"};
  SmallVector<StringRef> known;
  X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  for (StringRef name : known) {
    if (hasAvx2(featuresOf(name))) {
      names.push_back(name);
    }
  }
  return names;
}

/// More features first.
static void sortBestFirst(SmallVectorImpl<IsaLevel> &levels) {
  llvm::sort(levels, [](const IsaLevel &a, const IsaLevel &b) {
    return std::pair(popcount(b.requirements), a.name) <
           std::pair(popcount(a.requirements), b.name);
  });
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
  sortBestFirst(levels);
  return levels;
}

static IsaLevel withoutMatrixUnit(IsaLevel level) {
  level.features += level.features.empty() ? "" : ",";
  level.features += "-amx-tile,-amx-bf16,-amx-int8";
  level.requirements &=
      ~(HOVA_CPU(AMXTILE) | HOVA_CPU(AMXBF16) | HOVA_CPU(AMXINT8));
  level.slowPairs = level.matrixUnit;
  level.matrixUnit = false;
  return level;
}

SmallVector<IsaLevel> levelsFor(SmallVector<IsaLevel> levels, bool hasBf16) {
  SmallVector<IsaLevel> all;
  for (const IsaLevel &level : levels) {
    if (!(level.requirements & HOVA_CPU(AMXTILE))) {
      all.push_back(level);
      continue;
    }
    IsaLevel plain = withoutMatrixUnit(level);
    if (!hasBf16 || !level.matrixUnit) {
      all.push_back(std::move(plain));
      continue;
    }
    all.push_back(level);
    plain.name += ":no-amx-tile";
    if (none_of(levels, [&](const IsaLevel &other) {
          return other.name == plain.name;
        })) {
      all.push_back(std::move(plain));
    }
  }
  sortBestFirst(all);
  return all;
}

} // namespace hova
