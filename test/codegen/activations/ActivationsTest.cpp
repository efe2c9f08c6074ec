//===- ActivationsTest.cpp - Errors of generated activations --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each function is lowered as in a program, compiled in process for both
// register widths and with instructions for bf16, and called on every 251st
// f32, which meets each exponent of each sign thousands of times, and on
// special values. The reference is the C library's in float64.

#include "codegen/Passes.h"
#include "codegen/Pipeline.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cpu/Machine.h"
#include "codegen/targets/Registration.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/TargetParser/Host.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kBlock = 1 << 14;
/// Of a vector: two registers of 512 bits, which bf16 is rounded from at once.
constexpr int64_t kLanes = 32;

float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// The distance of numbers with `digits` bits after the point around
/// `magnitude`, normal ones at least.
double unit(double magnitude, int digits) {
  double least = std::numeric_limits<float>::min();
  return std::ldexp(1,
                    std::ilogb(std::max(std::abs(magnitude), least)) - digits);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double geluErf(double x) { return x * std::erfc(-x * M_SQRT1_2) / 2; }

double geluTanh(double x) {
  return x * sigmoid(std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x));
}

double quickGelu(double x) { return x * sigmoid(1.702 * x); }

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

double hardSwish(double x) { return x < -3 ? 0 : x * std::min(x + 3, 6.0) / 6; }

struct Function {
  const char *name;
  const char *op;
  double (*reference)(double);
  double from, to; ///< where the bound holds
  double bound;    ///< in units of the last place
  bool ofArgument; ///< the unit is that of the argument, not of the result
  bool isMonotone;
  bool isRounded = false; ///< to bf16, whose units are counted
  int offset = 0;         ///< of exp2

  int digits() const { return isRounded ? 7 : 23; }
};

const Function kFunctions[] = {
    {"exp2", "hova.exp2", [](double x) { return std::exp2(x); }, -126, 127, 2,
     false, true},
    {"exp2_bf16", "hova.exp2", [](double x) { return std::exp2(x); }, -126, 127,
     0.53, false, true, true},
    {"exp2_offset", "hova.exp2", [](double x) { return std::exp2(x - 9); },
     -117, 127, 2, false, true, false, -9},
    {"exp2_offset_bf16", "hova.exp2", [](double x) { return std::exp2(x - 9); },
     -117, 127, 0.53, false, true, true, -9},
    {"exp", "math.exp", [](double x) { return std::exp(x); }, -87.3, 88.7228,
     3.1, false, true},
    {"relu", "hova.activation relu", [](double x) { return std::max(x, 0.0); },
     -INFINITY, INFINITY, 0, false, true},
    {"gelu_erf", "hova.activation gelu_erf", geluErf, -1e37, 1e37, 4, true,
     false},
    {"gelu_erf_bf16", "hova.activation gelu_erf", geluErf, -3.4, 1e37, 0.57,
     false, false, true},
    {"gelu_tanh", "hova.activation gelu_tanh", geluTanh, -1e37, 1e37, 4, true,
     false},
    {"gelu_tanh_bf16", "hova.activation gelu_tanh", geluTanh, -3.4, 1e37, 0.6,
     false, false, true},
    {"tanh", "hova.activation tanh", [](double x) { return std::tanh(x); },
     -INFINITY, INFINITY, 4, false, true},
    {"tanh_bf16", "hova.activation tanh", [](double x) { return std::tanh(x); },
     -INFINITY, INFINITY, 0.51, false, true, true},
    {"tanh_rough", "math.tanh", [](double x) { return std::tanh(x); },
     -INFINITY, INFINITY, 69, false, false},
    {"sigmoid", "hova.activation sigmoid", sigmoid, -INFINITY, INFINITY, 4,
     false, true},
    {"silu", "hova.activation silu", [](double x) { return x * sigmoid(x); },
     -1e37, 1e37, 4, true, false},
    {"quick_gelu", "hova.activation quick_gelu", quickGelu, -1e37, 1e37, 4,
     true, false},
    {"softplus", "hova.activation softplus", softplus, -INFINITY, INFINITY, 4.3,
     false, true},
    {"relu2", "hova.activation relu2",
     [](double x) { return std::max(x, 0.0) * std::max(x, 0.0); }, -INFINITY,
     1.8e19, 0.5, false, true},
    {"hard_swish", "hova.activation hard_swish", hardSwish, -INFINITY, INFINITY,
     4, false, false},
};

/// `y[i] = function(x[i])` for i < count, a multiple of kLanes up to kBlock.
using Kernel = void (*)(const float *x, float *y, int64_t count);

/// What stands between the argument and the type. Other tangents than
/// activations may be rough.
std::string suffixOf(const Function &function) {
  if (function.offset) {
    return llvm::formatv("offset({0})", function.offset).str();
  }
  return StringRef(function.op) == "math.tanh" ? "fastmath<afn>" : "";
}

std::string kernelText(const Function &function) {
  std::string wide = llvm::formatv("vector<{0}xf32>", kLanes);
  std::string narrow = llvm::formatv("vector<{0}xbf16>", kLanes);
  std::string rounding = llvm::formatv(R"(    %n = arith.truncf %f : {0} to {1}
    %r = arith.extf %n : {1} to {0}
)",
                                       wide, narrow);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      R"(func.func @{0}(%x: memref<{1}xf32>, %y: memref<{1}xf32>, %count: index) {{
  %from = arith.constant 0 : index
  %lanes = arith.constant {3} : index
  scf.for %i = %from to %count step %lanes {{
    %v = vector.load %x[%i] : memref<{1}xf32>, {4}
    {5} = {2} %v {7} : {4}
{6}    vector.store %r, %y[%i] : memref<{1}xf32>, {4}
  }
  return
}
)",
      function.name, kBlock, function.op, kLanes, wide,
      function.isRounded ? "%f" : "%r", function.isRounded ? rounding : "",
      suffixOf(function));
  return text;
}

class Activations : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    auto level = llvm::cantFail(hova::resolveLevel(GetParam()));
    auto host = llvm::cantFail(hova::resolveLevel("native"));
    if (level.requirements & ~host.requirements) {
      GTEST_SKIP() << "this processor is below " << level.name;
    }
    compile(level);
  }

  void compile(const hova::IsaLevel &level);

  Kernel kernel(const Function &function) {
    return llvm::cantFail(jit->lookup(function.name)).toPtr<Kernel>();
  }

  std::vector<float> run(const Function &function,
                         const std::vector<float> &arguments) {
    std::vector<float> results(arguments.size());
    kernel(function)(arguments.data(), results.data(), arguments.size());
    return results;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

void Activations::compile(const hova::IsaLevel &level) {
  DialectRegistry registry;
  hova::registerDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry);
  std::string text;
  for (const Function &function : kFunctions) {
    text += kernelText(function);
  }
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  hova::PipelineOptions options;
  options.target = std::make_shared<hova::CpuTarget>(level);
  PassManager manager(&context);
  for (const char *phase : {"vectorize", "target"}) {
    hova::buildPhase(*hova::findPhase(phase), manager, options);
  }
  ASSERT_TRUE(manager.run(*module).succeeded());

  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule =
      translateModuleToLLVMIR(hova::codeOf(*module), *llvmContext);
  ASSERT_TRUE(llvmModule);
  llvm::orc::JITTargetMachineBuilder machine{
      llvm::Triple(llvm::sys::getProcessTriple())};
  machine.setCPU(level.cpu);
  machine.addFeatures(llvm::SubtargetFeatures(level.features).getFeatures());
  // The generator for programs has set up LLVM's targets.
  llvm::cantFail(hova::makeTargetMachine(level, 2));
  jit = llvm::cantFail(llvm::orc::LLJITBuilder()
                           .setJITTargetMachineBuilder(std::move(machine))
                           .create());
  llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(
      std::move(llvmModule), std::move(llvmContext))));
}

struct Worst {
  double error = 0;
  float argument = 0, result = 0;
};

double errorOf(const Function &function, float x, float result) {
  double expected = function.reference(x);
  // Results below the least normal number may be zero, and so may one above
  // whose approximation is below.
  bool isTiny = std::abs(expected) < 1.001 * std::numeric_limits<float>::min();
  if (static_cast<double>(result) == expected || (result == 0 && isTiny)) {
    return 0;
  }
  return std::abs(result - expected) /
         unit(function.ofArgument ? x : expected, function.digits());
}

TEST_P(Activations, stay_within_their_bounds) {
  constexpr uint32_t kStride = 251;
  for (const Function &function : kFunctions) {
    Kernel call = kernel(function);
    std::vector<float> x(kBlock), y(kBlock);
    Worst worst;
    for (uint64_t first = 0; first < 1ull << 32; first += kBlock * kStride) {
      for (int64_t i = 0; i < kBlock; ++i) {
        float value =
            fromBits(std::min<uint64_t>(first + i * kStride, UINT32_MAX));
        bool isInside = value >= function.from && value <= function.to;
        x[i] = isInside ? value : 0;
      }
      call(x.data(), y.data(), kBlock);
      for (int64_t i = 0; i < kBlock; ++i) {
        double error = errorOf(function, x[i], y[i]);
        if (!(error <= worst.error)) {
          worst = {error, x[i], y[i]};
        }
      }
    }
    EXPECT_LE(worst.error, function.bound)
        << function.name << "(" << worst.argument << ") = " << worst.result;
  }
}

/// Below 0 a GELU is a small number of its own, not the rest of a difference.
/// Where it is under 1e-11 tables end, and zero will do; under 1.5e-6 those for
/// bf16, whose rounding alone is a relative error of 2^-8.
TEST_P(Activations, keep_digits_in_the_left_tail_of_gelu) {
  for (const Function &function : kFunctions) {
    if (function.reference != geluErf && function.reference != geluTanh &&
        function.reference != quickGelu) {
      continue;
    }
    double rounding = function.isRounded ? 0x1p-8 : 0;
    double end = function.isRounded ? 1.5e-6 : 1e-11;
    double atThree = function.isRounded ? 4e-4 : 3e-5;
    for (auto [from, bound] :
         {std::pair(-3, atThree), std::pair(-5, 3e-3), std::pair(-7, 1e-2)}) {
      std::vector<float> x(kBlock);
      for (int64_t i = 0; i < kBlock; ++i) {
        x[i] = from * static_cast<float>(i + 1) / kBlock;
      }
      std::vector<float> y = run(function, x);
      Worst worst;
      for (int64_t i = 0; i < kBlock; ++i) {
        double expected = function.reference(x[i]);
        double error = std::abs(y[i] - expected);
        error = std::max(error - end, 0.0) / std::abs(expected) - rounding;
        if (!(error <= worst.error)) {
          worst = {error, x[i], y[i]};
        }
      }
      EXPECT_LE(worst.error, bound)
          << function.name << "(" << worst.argument << ") = " << worst.result;
    }
  }
}

TEST_P(Activations, propagate_nan_whatever_its_payload) {
  std::vector<float> nans(kLanes, std::numeric_limits<float>::quiet_NaN());
  nans[0] = fromBits(0x7fc00001);
  nans[1] = fromBits(0xffc00000);
  nans[2] = fromBits(0x7fffffff);
  nans[3] = fromBits(0xffffffff);
  nans[4] = fromBits(0x7fc001ff);
  for (const Function &function : kFunctions) {
    for (float result : run(function, nans)) {
      EXPECT_TRUE(std::isnan(result)) << function.name;
    }
  }
}

TEST_P(Activations, reach_their_limits_exactly) {
  std::vector<float> x(kLanes, 0);
  x[1] = -0.0f;
  x[2] = kInfinity;
  x[3] = -kInfinity;
  x[4] = std::numeric_limits<float>::max();
  x[5] = -std::numeric_limits<float>::max();
  x[6] = -1e10f; // no infinity of a GELU's cube, and far after its tail
  std::map<std::string, std::vector<float>> expected = {
      {"relu", {0, 0, kInfinity, 0, x[4], 0, 0}},
      {"gelu_erf", {0, 0, kInfinity, 0, x[4], 0, 0}},
      {"gelu_tanh", {0, 0, kInfinity, 0, x[4], 0, 0}},
      {"gelu_erf_bf16", {0, 0, kInfinity, 0, kInfinity, 0, 0}},
      {"gelu_tanh_bf16", {0, 0, kInfinity, 0, kInfinity, 0, 0}},
      {"exp", {1, 1, kInfinity, 0, kInfinity, 0, 0}},
      {"tanh", {0, 0, 1, -1, 1, -1, -1}},
      {"tanh_bf16", {0, 0, 1, -1, 1, -1, -1}},
      {"sigmoid", {0.5, 0.5, 1, 0, 1, 0, 0}},
      {"silu", {0, 0, kInfinity, 0, x[4], 0, 0}},
      {"quick_gelu", {0, 0, kInfinity, 0, x[4], 0, 0}},
      {"softplus", {0.693147182f, 0.693147182f, kInfinity, 0, x[4], 0, 0}},
      {"relu2", {0, 0, kInfinity, 0, kInfinity, 0, 0}},
      {"hard_swish", {0, 0, kInfinity, 0, x[4], 0, 0}},
  };
  for (const Function &function : kFunctions) {
    auto found = expected.find(function.name);
    if (found == expected.end()) {
      continue;
    }
    std::vector<float> results = run(function, x);
    for (size_t i = 0; i < found->second.size(); ++i) {
      EXPECT_EQ(results[i], found->second[i])
          << function.name << "(" << x[i] << ")";
    }
  }
}

TEST_P(Activations, give_zero_for_the_power_of_minus_infinity) {
  std::vector<float> x(kLanes, -kInfinity);
  x[0] = 0;
  x[2] = -1e30f;
  // What is left of a greatest score less itself is 0, or next to it.
  x[4] = -1e-9f;
  x[5] = 1e-9f;
  for (const Function &function : kFunctions) {
    if (std::strcmp(function.op, "hova.exp2") != 0) {
      continue;
    }
    x[1] = -127.0f - function.offset;
    x[3] = -126.0f - function.offset;
    std::vector<float> results = run(function, x);
    float one = std::ldexp(1.0f, function.offset);
    EXPECT_EQ(results[0], one) << function.name;
    // Below the least normal number: zero, or the exponential itself.
    EXPECT_TRUE(results[1] == 0 || results[1] == std::ldexp(1.0f, -127))
        << function.name << ": " << results[1];
    EXPECT_EQ(results[2], 0) << function.name;
    EXPECT_EQ(results[3], std::ldexp(1.0f, -126)) << function.name;
    EXPECT_EQ(results[4], one) << function.name;
    EXPECT_EQ(results[5], one) << function.name;
    EXPECT_EQ(results[6], 0) << function.name;
  }
}

/// Neighbours may round in either order, but never by more than a unit.
TEST_P(Activations, rise_where_the_function_rises) {
  for (const Function &function : kFunctions) {
    if (!function.isMonotone) {
      continue;
    }
    std::vector<float> x(kBlock);
    for (int64_t i = 0; i < kBlock; ++i) {
      x[i] = -130 + i * (256.0f / kBlock);
    }
    std::vector<float> y = run(function, x);
    for (int64_t i = 1; i < kBlock; ++i) {
      ASSERT_LE(y[i - 1], y[i] + unit(y[i], function.digits()))
          << function.name << "(" << x[i] << ")";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Activations,
                         testing::Values("x86-64-v3", "x86-64-v4",
                                         "cooperlake"),
                         [](const auto &info) {
                           std::string name = info.param;
                           llvm::erase(name, '-');
                           return name;
                         });

} // namespace
