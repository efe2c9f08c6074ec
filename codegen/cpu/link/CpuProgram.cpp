//===- CpuProgram.cpp - Programs for the CPU ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cpu/link/CpuProgram.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/link/CodeUnit.h"

using namespace mlir;

namespace hova {

namespace {
class CpuCode final : public ProgramCode {
public:
  CpuCode(MLIRContext *context, ArrayRef<IsaLevel> levels,
          const CompileOptions &options)
      : context(context), levels(levels), options(options) {}

  void add(ModuleOp code, size_t level) override {
    if (isText(options.emit)) {
      units.emplace_back(CodeUnit{code.clone(), level, false});
    } else {
      splitCode(code, level, units);
    }
  }

  std::vector<LevelCode> describeLevels() const override {
    std::vector<LevelCode> codes;
    for (auto [index, level] : llvm::enumerate(levels)) {
      codes.push_back({level.name, level.requirements,
                       runName(index, options.prefix),
                       launchesName(index, options.prefix), ""});
    }
    return codes;
  }

  FailureOr<SmallVector<std::string>>
  generate(DescribeFunction describe) override {
    if (isText(options.emit)) {
      units.front().describes = true;
    } else {
      units.emplace_back(CodeUnit{nullptr, 0, true});
    }
    return generateCode(context, units, levels, options, describe);
  }

private:
  MLIRContext *context;
  ArrayRef<IsaLevel> levels;
  const CompileOptions &options;
  SmallVector<CodeUnit> units;
};
} // namespace

CpuProgram::CpuProgram(const TargetFacts &facts, SmallVector<IsaLevel> levels)
    : ProgramTarget(facts), levels(std::move(levels)) {
  assert(!this->levels.empty() && "a program has code for a level");
}

std::vector<std::string> CpuProgram::getLevels() const {
  std::vector<std::string> names;
  for (const IsaLevel &level : levels) {
    names.push_back(level.name);
  }
  return names;
}

std::shared_ptr<const ProgramTarget> CpuProgram::withFirstLevel() const {
  return std::make_shared<CpuProgram>(getFacts(),
                                      SmallVector<IsaLevel>{levels.front()});
}

std::shared_ptr<const Target> CpuProgram::getTarget(size_t level) const {
  return std::make_shared<CpuTarget>(levels[level], level);
}

std::unique_ptr<ProgramCode>
CpuProgram::makeCode(MLIRContext *context,
                     const CompileOptions &options) const {
  return std::make_unique<CpuCode>(context, levels, options);
}

} // namespace hova
