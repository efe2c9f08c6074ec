//===- Compile.h - From kernels to object code and programs ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_PROGRAM_COMPILE_H
#define HOVA_CODEGEN_PROGRAM_COMPILE_H

#include "codegen/Pipeline.h"
#include "codegen/program/ModelPackage.h"
#include "codegen/program/ProgramTarget.h"
#include "dialect/HostTensor.h"
#include "dialect/Storage.h"
#include "dialect/program/ProgramOps.h"
#include <functional>

namespace hova {

/// `MachineCode` is that of a GPU alone, without the program around it.
enum class EmitKind {
  Executable,
  Library,
  Object,
  Assembly,
  LLVM,
  MachineCode
};

inline bool isText(EmitKind kind) {
  return kind == EmitKind::Assembly || kind == EmitKind::LLVM;
}

/// One file, as the target makes it; only objects can be joined.
inline bool isWhole(EmitKind kind) {
  return isText(kind) || kind == EmitKind::MachineCode;
}

/// Spans of a time trace below this are left out.
constexpr unsigned kTraceMicroseconds = 100;

struct CompiledModule;

struct CompileOptions {
  /// The program is compiled for each of its levels by the phases from `assign`
  /// on.
  std::shared_ptr<const ProgramTarget> target;
  /// Programs for other kinds of machines, which are in the same file and taken
  /// where that of `target` is not there, in this order.
  std::vector<std::shared_ptr<const ProgramTarget>> alternatives;
  EmitKind emit = EmitKind::Executable;
  /// The file to write; "-" is standard output, for text. Empty: a text is
  /// only kept (CompiledModule::text).
  std::string output;
  /// The C header of a library; empty: none.
  std::string header;
  /// Texts beside a program, such as those by which build systems find it.
  std::vector<TextFile> companions;
  /// Where the image is put; empty: into the program.
  std::string weights;
  /// `hova_program_<prefix>`; a C identifier.
  std::string prefix;
  /// The prefix of the first of the programs for other machines; empty: there
  /// is none.
  std::string alternativePrefix;
  std::string dumpDirectory;
  /// The text that the line table of the code points into (DebugLines.h);
  /// empty: there is no line table.
  std::string debugLines;
  std::string compilerVersion;
  /// Makes the contents of the bill (Bill.h) of what `assign` and the target
  /// made; may be null: the program has none.
  std::function<llvm::Expected<std::string>(const CompiledModule &)> makeBill;
  /// What a library calls itself; empty: as its file.
  std::string soname;
  /// Of the imported module, which says so itself.
  Storage storage = Storage::F32;
  /// After `hova weights pack`, for messages.
  std::string packArguments;
  /// LLVM's code generation level, 0 to 3.
  unsigned optimization = 2;
  PassSelection passes;
  /// Whether to report what kernels take of a GPU (CompiledModule::report).
  bool report = false;
  /// Whether that has the main loops of kernels, which takes a disassembler.
  bool reportLoops = false;
  /// The program after a later phase, perhaps edited, from which code is made
  /// instead of the imported one. Null: there is none.
  mlir::ModuleOp resumed;
  /// See PipelineOptions.
  ExtendPipeline extend;
  /// See PhaseRange.
  ModuleOrigin origin;
  std::vector<std::string> plugins;
  std::function<void(mlir::PassManager &)> configure;
  /// Called when a phase begins, `emit` too; may be null.
  std::function<void(llvm::StringRef phase)> onPhase;
  /// See PhaseRange; of the first level.
  std::function<void(llvm::StringRef phase, std::string text)> onDump;

  /// 0 where no target is chosen yet.
  size_t countLevels() const { return target ? target->getLevels().size() : 0; }

  /// How the phases of one level run.
  PipelineOptions pipeline(size_t level = 0) const;
};

/// The tensor of a weight reference, f32, in the shape of its type.
using WeightProvider =
    std::function<mlir::FailureOr<HostTensor>(WeightOp reference)>;

/// What phases made of a module, for reports and `hova verify`.
struct CompiledModule {
  /// After `assign` for the first level: the last form whose operations have a
  /// reference evaluation.
  mlir::OwningOpRef<mlir::ModuleOp> assigned;
  /// And after `tile`, which knows every buffer.
  mlir::OwningOpRef<mlir::ModuleOp> tiled;
  /// Of a target whose kernels run on a GPU, where `CompileOptions::report`
  /// asks for it.
  std::optional<DeviceReport> report;
  /// The text that was made, where it is not written.
  std::string text;
};

/// Compiles an imported module and writes `options.output`. The bill, if there
/// is to be one, needs `keep`. IR errors go to
/// the context's diagnostics and give a failed result; input and output
/// failures come as an Error.
llvm::Expected<mlir::LogicalResult>
compileModule(mlir::ModuleOp imported, const CompileOptions &options,
              const WeightProvider &weights, CompiledModule *keep = nullptr);

/// Fills `keep.report` without writing a program. Fails as `compileModule`
/// does.
llvm::Expected<mlir::LogicalResult> reportKernels(mlir::ModuleOp imported,
                                                  const CompileOptions &options,
                                                  CompiledModule &keep);

/// Writes only the packed weights that `compileModule` would.
llvm::Expected<mlir::LogicalResult> packWeights(mlir::ModuleOp imported,
                                                const CompileOptions &options,
                                                const WeightProvider &weights);

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_COMPILE_H
