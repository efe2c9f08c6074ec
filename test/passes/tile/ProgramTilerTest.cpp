//===- ProgramTilerTest.cpp - Kernels of a target that is no CPU ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A target of blocks and threads, whose functions take buffers and nothing
// else. It shares nothing with the CPU but what every target shares.

#include "codegen/cpu/HovaCpuDialect.h"
#include "codegen/cpu/Passes.h"
#include "codegen/cpu/recipes/CpuKernelCode.h"
#include "codegen/reference/KernelCheck.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/tile/Passes.h"
#include "passes/tile/ProgramAttrs.h"
#include "llvm/ADT/TypeSwitch.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace hova;

#include "GridDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "GridAttrs.h.inc"

#include "GridDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "GridAttrs.cpp.inc"

void grid::GridDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "GridAttrs.cpp.inc"
      >();
}

/// The number of blocks is the launch's alone.
Attribute grid::GridScheduleAttr::getStructuralKey() const {
  return GridScheduleAttr::get(getContext(), 0, getThreads());
}

LaunchShapeAttrInterface
grid::GridScheduleAttr::getLaunchShape(Operation *kernel) const {
  if (getBlocks() > 65535) {
    kernel->emitOpError("has too many blocks for a grid");
    return {};
  }
  return GridLaunchAttr::get(getContext(), getBlocks(), getThreads(), 1024);
}

LogicalResult grid::GridLaunchAttr::verifyLaunch(Operation *launch,
                                                 TypeRange arguments) const {
  if (!arguments.empty()) {
    return launch->emitOpError("expects a function of buffers, got also ")
           << arguments;
  }
  return success();
}

namespace {

/// Functions that copy their first buffer to the first result.
class GridCode final : public KernelCode {
public:
  LogicalResult checkSchedule(KernelOp kernel) const override {
    return isa_and_nonnull<grid::GridScheduleAttr>(kernel.getScheduleAttr())
               ? success()
               : kernel.emitOpError("has no schedule for a grid");
  }
  int64_t getExecutedMacs(Operation *op) const override {
    return isa<ActivationOp>(op) ? 7 : 0;
  }
  FailureOr<func::FuncOp>
  emitFunction(OpBuilder &builder, llvm::StringRef name,
               const KernelBuffers &buffers) const override {
    KernelOp kernel = buffers.kernel;
    Location loc = kernel.getLoc();
    SmallVector<Type> types(buffers.types.begin(), buffers.types.end());
    auto function = func::FuncOp::create(builder, loc, name,
                                         builder.getFunctionType(types, {}));
    function.setPrivate();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(function.addEntryBlock());
    memref::CopyOp::create(builder, loc, function.getArgument(0),
                           function.getArgument(kernel.getInputs().size()));
    func::ReturnOp::create(builder, loc);
    return function;
  }
};

/// A kernel of two stages that reads `from`.
std::string kernel(const char *name, const char *from, const char *schedule) {
  std::string text = R"(
    %NAME = hova.kernel "NAME" units<row 4> (%FROM) attributes {schedule = SCHEDULE} {
    ^bb0(%a: tensor<4x8xf32>):
      %s = hova.stage [#hova.layout<rows 16>] {
        %r = hova.activation relu %a : tensor<4x8xf32>
        hova.yield %r : tensor<4x8xf32>
      } : tensor<4x8xf32>
      %t = hova.stage [#hova.layout<rows 8>] {
        %r = hova.activation tanh %s : tensor<4x8xf32>
        hova.yield %r : tensor<4x8xf32>
      } : tensor<4x8xf32>
      hova.yield %t : tensor<4x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>)";
  for (auto [word, value] : {std::pair<std::string, std::string>("NAME", name),
                             {"NAME", name},
                             {"FROM", from},
                             {"SCHEDULE", schedule}}) {
    text.replace(text.find(word), word.size(), value);
  }
  return text;
}

class ProgramTilerTest : public ::testing::Test {
protected:
  ProgramTilerTest()
      : handler(&context, [this](Diagnostic &diagnostic) {
          said += diagnostic.str() + "\n";
          return success();
        }) {
    context
        .loadDialect<HovaDialect, HovaCpuDialect, grid::GridDialect,
                     func::FuncDialect, memref::MemRefDialect,
                     arith::ArithDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  }

  /// Kernels one after the other, with these schedules.
  OwningOpRef<ModuleOp> parse(llvm::ArrayRef<const char *> schedules) {
    const char *names[] = {"x", "first", "second", "third"};
    std::string text = "func.func @main(%x: tensor<4x8xf32>) -> "
                       "tensor<4x8xf32> {";
    size_t last = 0;
    for (const char *schedule : schedules) {
      text += kernel(names[last + 1], names[last], schedule);
      ++last;
    }
    text +=
        std::string("\n    return %") + names[last] + " : tensor<4x8xf32>\n  }";
    return parseSourceString<ModuleOp>(text, &context);
  }

  LogicalResult runPass(ModuleOp module, std::unique_ptr<Pass> pass) {
    PassManager manager(&context);
    manager.addPass(std::move(pass));
    return manager.run(module);
  }

  MLIRContext context;
  std::string said;
  ScopedDiagnosticHandler handler;
};

TEST_F(ProgramTilerTest, knows_nothing_of_a_cpu) {
  auto module = parse({"#grid.schedule<blocks = 2, threads = 128>",
                       "#grid.schedule<blocks = 9, threads = 128>",
                       "#grid.schedule<blocks = 2, threads = 256>"});
  ASSERT_TRUE(module) << said;
  ASSERT_TRUE(succeeded(tileProgram(*module, GridCode()))) << said;
  EXPECT_TRUE(succeeded(verify(*module))) << said;
  EXPECT_TRUE(succeeded(runPass(*module, createVerifyTiledPass()))) << said;

  auto main = module->lookupSymbol<func::FuncOp>("main");
  SmallVector<LaunchOp> launches(main.getOps<LaunchOp>());
  ASSERT_EQ(launches.size(), 3u);
  // The key of a schedule decides which kernels are one function, and no more.
  EXPECT_EQ(launches[0].getCallee(), launches[1].getCallee());
  EXPECT_NE(launches[0].getCallee(), launches[2].getCallee());
  int64_t blocks[] = {2, 9, 2}, threads[] = {128, 128, 256};
  for (int i = 0; i < 3; ++i) {
    auto shape = dyn_cast<grid::GridLaunchAttr>(launches[i].getShape());
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape.getBlocks(), blocks[i]);
    EXPECT_EQ(shape.getThreads(), threads[i]);
    EXPECT_EQ(shape.getGroupBytes(), 1024);
    EXPECT_EQ(launches[i].getFlops(), 2 * 2 * 7);
    // What is between its stages has no buffer unless a target asks for it.
    EXPECT_EQ(launches[i].getBuffers().size(), 2u);
  }
  EXPECT_TRUE(main.getOps<ChunkBufferOp>().empty());
  EXPECT_EQ(main->getAttrOfType<IntegerAttr>(kArenaBytesAttr).getInt(), 256);

  std::string text;
  llvm::raw_string_ostream(text) << *module;
  EXPECT_EQ(text.find("hova_cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("shape = #grid.launch<blocks = 9, threads = 128, "
                      "group_bytes = 1024>"),
            std::string::npos)
      << text;
  // It reads what it writes.
  EXPECT_TRUE(parseSourceString<ModuleOp>(text, &context)) << said;
}

TEST_F(ProgramTilerTest, stops_where_a_schedule_has_no_launch) {
  auto module = parse({"#grid.schedule<blocks = 65536, threads = 128>"});
  ASSERT_TRUE(module) << said;
  EXPECT_TRUE(failed(tileProgram(*module, GridCode())));
  EXPECT_EQ(said, "'hova.kernel' op has too many blocks for a grid\n");
}

TEST_F(ProgramTilerTest, refuses_the_schedule_of_another_target) {
  auto foreign =
      parse({"#hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 1, "
             "k_block = 256, block = 256>"});
  ASSERT_TRUE(foreign) << said;
  EXPECT_TRUE(failed(tileProgram(*foreign, GridCode())));
  EXPECT_EQ(said, "'hova.kernel' op has no schedule for a grid\n");
  said.clear();
  auto other = parse({"#grid.schedule<blocks = 2, threads = 128>"});
  ASSERT_TRUE(other) << said;
  EXPECT_TRUE(failed(runPass(*other, createVerifyAssignedPass())));
  EXPECT_TRUE(failed(tileProgram(*other, CpuKernelCode())));
  std::string message = "'hova.kernel' op expects the schedule of a CPU, "
                        "'#hova_cpu.schedule', got #grid.schedule<blocks = 2, "
                        "threads = 128>\n";
  EXPECT_EQ(said, message + message);
}

TEST_F(ProgramTilerTest, refuses_a_function_that_its_launch_does_not_fit) {
  auto module = parseSourceString<ModuleOp>(
      R"(func.func private @k(memref<4x8xf32>, index)
         func.func @main(%x: memref<4x8xf32>) {
           hova.launch @k(%x) "k" {flops = 0 : i64, shape = #grid.launch<blocks = 1, threads = 1, group_bytes = 0>}
               : (memref<4x8xf32>)
           return
         })",
      &context);
  EXPECT_FALSE(module);
  EXPECT_EQ(said, "'hova.launch' op expects a function of buffers, got also "
                  "'index'\n");
}

TEST_F(ProgramTilerTest, is_not_lowered_as_if_it_were_a_cpu) {
  auto module = parse({"#grid.schedule<blocks = 2, threads = 128>"});
  ASSERT_TRUE(module) << said;
  ASSERT_TRUE(succeeded(tileProgram(*module, GridCode()))) << said;
  EXPECT_TRUE(failed(runPass(*module, createLowerLaunchesPass())));
  EXPECT_EQ(said, "'hova.launch' op expects the shape of a launch on a CPU, "
                  "'#hova_cpu.launch', got #grid.launch<blocks = 2, threads = "
                  "128, group_bytes = 1024>\n");
}

TEST_F(ProgramTilerTest, is_not_interpreted_as_if_it_were_a_cpu) {
  auto module = parse({"#grid.schedule<blocks = 2, threads = 128>"});
  ASSERT_TRUE(module) << said;
  WeightLookup noWeights = [](WeightOp op) -> FailureOr<HostTensor> {
    return op.emitError("there are none");
  };
  HostTensor x(HostTensor::Element::F64, {4, 8});
  auto check = KernelCheck::make(*module, noWeights, {x});
  ASSERT_TRUE(succeeded(check)) << said;
  ASSERT_TRUE(succeeded(tileProgram(*module, GridCode()))) << said;
  auto checked = check->check(*module);
  ASSERT_TRUE(succeeded(checked)) << said;
  ASSERT_EQ(checked->size(), 1u);
  EXPECT_EQ(checked->front().obstacle,
            "a launch of the shape #grid.launch<blocks = 2, threads = 128, "
            "group_bytes = 1024> does not call it for a range of units");
}

} // namespace
