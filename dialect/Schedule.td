//===- Schedule.td - What a target decides about a kernel -----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_SCHEDULE
#define HOVA_DIALECT_SCHEDULE

include "mlir/IR/OpBase.td"

def Hova_ScheduleAttrInterface : AttrInterface<"ScheduleAttrInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    The schedule of a kernel: what a target decides about its loops in `assign`
    and obeys in `tile`. What stands in it is the target's alone.
    What every target shares asks the two questions below.
  }];
  let methods = [
    InterfaceMethod<[{
      What the code of the kernel depends on. Kernels that compute the same and
      have equal keys share one function.
    }], "::mlir::Attribute", "getStructuralKey", (ins), "", "return $_attr;">,
    InterfaceMethod<[{
      How the function of `kernel`, whose schedule this is, is launched. The
      kernel's stages are formed. Null, with an error on the kernel, where it
      cannot be launched.
    }], "::hova::LaunchShapeAttrInterface", "getLaunchShape",
      (ins "::mlir::Operation *":$kernel)>,
  ];
}

def Hova_LaunchShapeAttrInterface : AttrInterface<"LaunchShapeAttrInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How a kernel function is launched on a target: who runs it, and what its
    arguments after the buffers are.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether `launch` fits its shape: its buffers, and `arguments`, the types
      of its callee's arguments after them. Fails with an error on the launch.
    }], "::llvm::LogicalResult", "verifyLaunch",
      (ins "::mlir::Operation *":$launch, "::mlir::TypeRange":$arguments)>,
    InterfaceMethod<[{
      Where a call of the function computes a range of units: what `verify` needs
      to call it by itself. Such a function takes, after its buffers, memory that
      is only its own during a call, and the begin and the end of the range.
      Nothing where the function is called in another way.
    }], "::std::optional<::hova::UnitRanges>", "getUnitRanges", (ins), "",
      "return std::nullopt;">,
  ];
}

#endif // HOVA_DIALECT_SCHEDULE
