//===- IsaLevelTest.cpp - What levels are called --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/IsaLevel.h"
#include "runtime/hova_runtime.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <gtest/gtest.h>

using namespace hova;

/// What a machine of this processor says of itself.
static llvm::StringMap<bool> featuresOf(llvm::StringRef cpu) {
  llvm::SmallVector<llvm::StringRef> list;
  llvm::X86::getFeaturesForCPU(cpu, list);
  llvm::StringMap<bool> features;
  for (llvm::StringRef feature : list) {
    features[feature] = true;
  }
  return features;
}

TEST(IsaLevel, MachineWithTheFeaturesOfItsNameIsCalledSo) {
  for (const char *cpu : {"znver4", "skylake-avx512", "haswell"}) {
    EXPECT_EQ(nameOfMachine(cpu, featuresOf(cpu)), cpu);
  }
}

TEST(IsaLevel, MaskedMachineIsCalledByItsFeatures) {
  llvm::StringMap<bool> features = featuresOf("sapphirerapids");
  EXPECT_EQ(nameOfMachine("rocketlake", features), "sapphirerapids");
  // What a virtual machine hides, and programs do not ask for.
  features["pconfig"] = features["waitpkg"] = false;
  EXPECT_EQ(nameOfMachine("rocketlake", features), "sapphirerapids");
  features["avx512fp16"] = false;
  EXPECT_EQ(nameOfMachine("rocketlake", features),
            "sapphirerapids:no-avx512fp16");
  features["avx512vp2intersect"] = true;
  EXPECT_EQ(nameOfMachine("rocketlake", features),
            "sapphirerapids:avx512vp2intersect:no-avx512fp16");
}

TEST(IsaLevel, MachineThatLlvmDoesNotKnowIsCalledByItsFeatures) {
  EXPECT_EQ(nameOfMachine("generic", featuresOf("znver3")), "znver3");
}

TEST(IsaLevel, FeaturesOfANameAreThoseOfTheLevel) {
  uint64_t plain = cantFail(resolveLevel("sapphirerapids")).requirements;
  IsaLevel less = cantFail(resolveLevel("sapphirerapids:no-avx512bf16"));
  EXPECT_EQ(less.requirements, plain & ~HOVA_CPU(AVX512BF16));
  EXPECT_TRUE(less.avx512 && !less.bf16);
  IsaLevel more = cantFail(resolveLevel("rocketlake:avx512bf16"));
  EXPECT_TRUE(more.bf16);
  EXPECT_EQ(more.cpu, "rocketlake");
}

TEST(IsaLevel, NameOfThisMachineIsItsLevel) {
  IsaLevel native = cantFail(resolveLevel("native"));
  IsaLevel named = cantFail(resolveLevel(native.name));
  EXPECT_EQ(named.requirements, native.requirements);
  EXPECT_EQ(named.cpu, native.cpu);
  EXPECT_EQ(std::tuple(named.avx512, named.bf16, named.oneFma),
            std::tuple(native.avx512, native.bf16, native.oneFma));
}

TEST(IsaLevel, MatrixUnitIsAFeatureOfTheLevel) {
  EXPECT_TRUE(cantFail(resolveLevel("sapphirerapids")).matrixUnit);
  EXPECT_TRUE(cantFail(resolveLevel("rocketlake:avx512bf16:amx-tile:amx-bf16"))
                  .matrixUnit);
  // Of pairs that vectors multiply the rest of a product is made.
  EXPECT_FALSE(
      cantFail(resolveLevel("rocketlake:amx-tile:amx-bf16")).matrixUnit);
  IsaLevel less = cantFail(resolveLevel("sapphirerapids:no-amx-tile"));
  EXPECT_FALSE(less.matrixUnit);
  EXPECT_EQ(less.requirements &
                (HOVA_CPU(AMXTILE) | HOVA_CPU(AMXBF16) | HOVA_CPU(AMXINT8)),
            0u);
}

TEST(IsaLevel, PairsAreSlowWhereAProcessorHasAMatrixUnitForThem) {
  auto isSlow = [](llvm::StringRef march) {
    return cantFail(resolveLevel(march)).slowPairs;
  };
  EXPECT_TRUE(isSlow("sapphirerapids:no-amx-tile"));
  EXPECT_TRUE(isSlow("rocketlake:avx512bf16:amx-tile:amx-bf16:no-amx-tile"));
  // The unit takes them there, and vectors only what is left.
  EXPECT_FALSE(isSlow("sapphirerapids"));
  EXPECT_FALSE(isSlow("znver4"));
  EXPECT_FALSE(isSlow("cooperlake"));
  EXPECT_FALSE(isSlow("sapphirerapids:no-amx-tile:no-avx512bf16"));
  for (const IsaLevel &level :
       levelsFor(cantFail(resolveLevels("sapphirerapids")), true)) {
    EXPECT_EQ(level.slowPairs, cantFail(resolveLevel(level.name)).slowPairs);
  }
}

TEST(IsaLevel, HiddenMatrixUnitDoesNotChangeTheCore) {
  llvm::StringMap<bool> features = featuresOf("sapphirerapids");
  for (const char *hidden : {"amx-tile", "amx-bf16", "amx-int8"}) {
    features[hidden] = false;
  }
  EXPECT_EQ(nameOfMachine("rocketlake", features),
            "sapphirerapids:no-amx-tile");
}

TEST(IsaLevel, LevelWithAMatrixUnitBringsOneWithout) {
  auto namesOf = [](llvm::StringRef march, bool hasBf16) {
    std::vector<std::string> names;
    for (const IsaLevel &level :
         levelsFor(cantFail(resolveLevels(march)), hasBf16)) {
      names.push_back(level.name + (level.matrixUnit ? " unit" : ""));
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(namesOf("sapphirerapids", true),
            (Names{"sapphirerapids unit", "sapphirerapids:no-amx-tile"}));
  EXPECT_EQ(namesOf("x86-64-v3,sapphirerapids", true),
            (Names{"sapphirerapids unit", "sapphirerapids:no-amx-tile",
                   "x86-64-v3"}));
  EXPECT_EQ(namesOf("sapphirerapids:no-amx-tile,sapphirerapids", true),
            (Names{"sapphirerapids unit", "sapphirerapids:no-amx-tile"}));
  // Without bf16 there is nothing to use it for.
  EXPECT_EQ(namesOf("sapphirerapids", false), Names{"sapphirerapids"});
  EXPECT_EQ(levelsFor(cantFail(resolveLevels("sapphirerapids")), false)
                    .front()
                    .requirements &
                HOVA_CPU(AMXTILE),
            0u);
}

TEST(IsaLevel, UnknownFeatureIsTold) {
  llvm::Expected<IsaLevel> level = resolveLevel("znver3:amx-fp16");
  ASSERT_FALSE(bool(level));
  EXPECT_NE(toString(level.takeError())
                .find("ISA level 'znver3:amx-fp16' has the feature 'amx-fp16', "
                      "which is none that programs ask for: sse3, "),
            std::string::npos);
  level = resolveLevel("znver44:gfni");
  ASSERT_FALSE(bool(level));
  EXPECT_NE(toString(level.takeError()).find("did you mean 'znver4'?"),
            std::string::npos);
}
