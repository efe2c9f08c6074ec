//===- DeviceOperations.cpp - What code of a GPU may consist of -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/cuda/lower/DeviceOperations.h"
#include "codegen/cuda/facts/AllGpus.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "runtime/emulation/Calls.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hova {

//===----------------------------------------------------------------------===//
// Objections
//===----------------------------------------------------------------------===//

bool isDeviceType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    return vector.getRank() == 1 && !vector.isScalable() &&
           isDeviceType(vector.getElementType());
  }
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type)) {
    return pointer.getAddressSpace() == kGlobalMemory ||
           pointer.getAddressSpace() == kSharedMemory ||
           pointer.getAddressSpace() == kClusterMemory;
  }
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    return llvm::all_of(structure.getBody(), isDeviceType);
  }
  auto integer = dyn_cast<IntegerType>(type);
  return type.isF32() || type.isBF16() || type.isF16() ||
         (integer &&
          llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth()));
}

/// What PTX has for f32 alone, and what it would compute otherwise.
static std::string objectToFloats(Operation *op) {
  for (Type type : op->getOperandTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (isa<FloatType>(element) && !element.isF32()) {
      return "computes in f32 alone";
    }
  }
  auto fast = dyn_cast<LLVM::FastmathFlagsInterface>(op);
  auto harmless = LLVM::FastmathFlags::nnan | LLVM::FastmathFlags::ninf |
                  LLVM::FastmathFlags::nsz;
  if (fast && (fast.getFastmathAttr().getValue() & ~harmless) !=
                  LLVM::FastmathFlags::none) {
    return "allows the flags nnan, ninf and nsz alone: with others the result "
           "depends on the assembler";
  }
  return "";
}

static std::string objectToApproximation(Operation *op) {
  auto isF32 = [](Type type) { return type.isF32(); };
  return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
                 llvm::all_of(op->getOperandTypes(), isF32) &&
                 llvm::all_of(op->getResultTypes(), isF32)
             ? ""
             : "maps one f32 to one f32";
}

/// Pointers to shared memory have 32 bits on a device alone.
static std::string objectToComparison(Operation *op) {
  return getElementTypeOrSelf(op->getOperand(0).getType()).isInteger()
             ? ""
             : "compares integers, and no pointers,";
}

static std::string objectToTruncation(Operation *op) {
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  return getElementTypeOrSelf(op->getOperand(0).getType()).isF32() &&
                 (to.isBF16() || to.isF16())
             ? ""
             : "rounds f32 to bf16 or f16 alone";
}

static std::string objectToExtension(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  return (from.isBF16() || from.isF16()) &&
                 getElementTypeOrSelf(op->getResult(0).getType()).isF32()
             ? ""
             : "extends bf16 or f16 to f32 alone";
}

static std::string objectToConversion(Operation *op) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<FloatType>(to)) {
    return to.isF32() ? "" : "converts to f32 alone";
  }
  return from.isF32() && to.isInteger(32) ? "" : "converts f32 to i32 alone";
}

/// PTX moves 1, 2, 4, 8 or 16 bytes at once.
static std::string objectToAccess(Type type, bool isPlain) {
  Type element = getElementTypeOrSelf(type);
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  auto vector = dyn_cast<VectorType>(type);
  uint64_t bytes = bits / 8 * (vector ? vector.getNumElements() : 1);
  if (bits < 8 || !llvm::isPowerOf2_64(bytes) || bytes > 16) {
    return "moves 1, 2, 4, 8 or 16 bytes of numbers";
  }
  return isPlain ? "" : "is neither atomic nor volatile";
}

static std::string objectToLoad(Operation *op) {
  auto load = cast<LLVM::LoadOp>(op);
  return objectToAccess(load.getType(),
                        !load.getVolatile_() &&
                            load.getOrdering() ==
                                LLVM::AtomicOrdering::not_atomic);
}

static std::string objectToStore(Operation *op) {
  auto store = cast<LLVM::StoreOp>(op);
  auto to = cast<LLVM::LLVMPointerType>(store.getAddr().getType());
  if (to.getAddressSpace() == kClusterMemory) {
    return "reads the shared memory of other blocks, and writes none,";
  }
  return objectToAccess(store.getValue().getType(),
                        !store.getVolatile_() &&
                            store.getOrdering() ==
                                LLVM::AtomicOrdering::not_atomic);
}

static std::string objectToBarrier(Operation *op) {
  return op->getNumOperands() ? "meets all threads of a block at barrier 0"
                              : "";
}

static std::string objectToMapa(Operation *op) {
  auto from = dyn_cast<LLVM::LLVMPointerType>(op->getOperand(0).getType());
  return from && from.getAddressSpace() == kSharedMemory
             ? ""
             : "takes an address of shared memory";
}

static std::string objectToLdMatrix(Operation *op) {
  auto load = cast<NVVM::LdMatrixOp>(op);
  return load.getShape().getM() == 8 && load.getShape().getN() == 8 &&
                 load.getEltType() == NVVM::LdStMatrixEltType::B16
             ? ""
             : "loads blocks of 8x8 elements of 16 bits";
}

static std::string objectToMma(Operation *op) {
  auto mma = cast<NVVM::MmaOp>(op);
  NVVM::MMAShapeAttr shape = mma.getShape();
  auto type = mma.getMultiplicandAPtxType();
  bool isKnown =
      shape.getM() == 16 && shape.getN() == 8 && shape.getK() == 16 &&
      (type == NVVM::MMATypes::bf16 || type == NVVM::MMATypes::f16) &&
      mma.getMultiplicandBPtxType() == type &&
      mma.getLayoutA() == NVVM::MMALayout::row &&
      mma.getLayoutB() == NVVM::MMALayout::col && op->getNumOperands() == 10 &&
      mma.getOperandC().front().getType().isF32();
  return isKnown
             ? ""
             : "multiplies 16x8x16 elements of bf16 or f16, row by col, with "
               "sums in f32";
}

static std::string objectToFence(Operation *op) {
  auto fence = cast<NVVM::FenceProxyOp>(op);
  return fence.getKind() == NVVM::ProxyKind::async_shared &&
                 fence.getSpace() == NVVM::SharedSpace::shared_cta
             ? ""
             : "orders shared memory of the block before what is asynchronous";
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <typename Function> static void *addressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

#define CALL(NAME) #NAME, addressOf(NAME)

static const DeviceOperation kOperations[] = {
    // What a thread is.
    {"nvvm.read.ptx.sreg.tid.x", "mov.u32 %tid.x", EmulatedAs::Register,
     CALL(hova_emulated_register), 0},
    {"nvvm.read.ptx.sreg.tid.y", "mov.u32 %tid.y", EmulatedAs::Register,
     CALL(hova_emulated_register), 1},
    {"nvvm.read.ptx.sreg.tid.z", "mov.u32 %tid.z", EmulatedAs::Register,
     CALL(hova_emulated_register), 2},
    {"nvvm.read.ptx.sreg.ntid.x", "mov.u32 %ntid.x", EmulatedAs::Register,
     CALL(hova_emulated_register), 3},
    {"nvvm.read.ptx.sreg.ntid.y", "mov.u32 %ntid.y", EmulatedAs::Register,
     CALL(hova_emulated_register), 4},
    {"nvvm.read.ptx.sreg.ntid.z", "mov.u32 %ntid.z", EmulatedAs::Register,
     CALL(hova_emulated_register), 5},
    {"nvvm.read.ptx.sreg.ctaid.x", "mov.u32 %ctaid.x", EmulatedAs::Register,
     CALL(hova_emulated_register), 6},
    {"nvvm.read.ptx.sreg.ctaid.y", "mov.u32 %ctaid.y", EmulatedAs::Register,
     CALL(hova_emulated_register), 7},
    {"nvvm.read.ptx.sreg.ctaid.z", "mov.u32 %ctaid.z", EmulatedAs::Register,
     CALL(hova_emulated_register), 8},
    {"nvvm.read.ptx.sreg.nctaid.x", "mov.u32 %nctaid.x", EmulatedAs::Register,
     CALL(hova_emulated_register), 9},
    {"nvvm.read.ptx.sreg.nctaid.y", "mov.u32 %nctaid.y", EmulatedAs::Register,
     CALL(hova_emulated_register), 10},
    {"nvvm.read.ptx.sreg.nctaid.z", "mov.u32 %nctaid.z", EmulatedAs::Register,
     CALL(hova_emulated_register), 11},
    {"nvvm.read.ptx.sreg.laneid", "mov.u32 %laneid", EmulatedAs::Register,
     CALL(hova_emulated_register), 12},

    // Meeting others.
    {"nvvm.barrier0", "bar.sync 0", EmulatedAs::Custom,
     CALL(hova_emulated_barrier)},
    {"nvvm.barrier", "bar.sync 0", EmulatedAs::Custom,
     CALL(hova_emulated_barrier), 0, objectToBarrier},
    {"nvvm.cluster.arrive", "barrier.cluster.arrive{,.aligned}",
     EmulatedAs::Custom, CALL(hova_emulated_cluster_arrive)},
    {"nvvm.cluster.wait", "barrier.cluster.wait{,.aligned}", EmulatedAs::Custom,
     CALL(hova_emulated_cluster_wait)},
    {"nvvm.bar.warp.sync", "bar.warp.sync", EmulatedAs::Lanes,
     CALL(hova_emulated_warp_sync)},
    {"nvvm.shfl.sync", "shfl.sync.{bfly,up,down,idx}.b32", EmulatedAs::Lanes,
     CALL(hova_emulated_shuffle)},

    // The launches before and behind.
    {"hova_cuda.await_launches", "griddepcontrol.wait", EmulatedAs::Custom,
     CALL(hova_emulated_await_launches)},
    {"hova_cuda.allow_launches", "griddepcontrol.launch_dependents",
     EmulatedAs::Custom, CALL(hova_emulated_allow_launches)},

    // Matrices.
    {"nvvm.ldmatrix",
     "ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}.shared.b16",
     EmulatedAs::Lanes, CALL(hova_emulated_ldmatrix), 0, objectToLdMatrix},
    {"nvvm.mma.sync",
     "mma.sync.aligned.m16n8k16.row.col.f32.{bf16.bf16,f16.f16}.f32",
     EmulatedAs::Lanes, CALL(hova_emulated_mma), 0, objectToMma},

    // Products under way.
    {"hova_cuda.wgmma",
     "wgmma.fence, wgmma.mma_async.m64nNk16.f32.{bf16.bf16,f16.f16}, "
     "wgmma.commit_group",
     EmulatedAs::Lanes, CALL(hova_emulated_wgmma)},
    {"hova_cuda.wgmma_wait", "wgmma.wait_group", EmulatedAs::Lanes,
     CALL(hova_emulated_wgmma_wait)},
    {"nvvm.fence.proxy", "fence.proxy.async.shared::cta", EmulatedAs::Custom,
     CALL(hova_emulated_fence_proxy), 0, objectToFence},

    // Memory.
    {"nvvm.mapa", "mapa.shared::cluster", EmulatedAs::Custom,
     CALL(hova_emulated_mapa), 0, objectToMapa},
    {"llvm.load", "ld.{global,shared,shared::cluster}", EmulatedAs::Custom, "",
     nullptr, 0, objectToLoad},
    {"llvm.store", "st.{global,shared}", EmulatedAs::Custom, "", nullptr, 0,
     objectToStore},
    {"nvvm.cp.async.shared.global", "cp.async.{ca,cg}.shared.global",
     EmulatedAs::Custom, CALL(hova_emulated_copy)},
    {"nvvm.cp.async.commit.group", "cp.async.commit_group", EmulatedAs::Custom,
     CALL(hova_emulated_commit)},
    {"nvvm.cp.async.wait.group", "cp.async.wait_group", EmulatedAs::Custom,
     CALL(hova_emulated_wait)},
    {"llvm.mlir.addressof", "", EmulatedAs::Custom},
    {"llvm.getelementptr", "add.s32, add.s64, mad.wide", EmulatedAs::Custom},

    // Arithmetic that hosts do otherwise.
    {"llvm.fptrunc", "cvt.rn.bf16.f32, cvt.rn.bf16x2.f32", EmulatedAs::Value,
     CALL(hova_emulated_bf16), 0, objectToTruncation},
    {"llvm.fptrunc to f16", "cvt.rn.f16.f32, cvt.rn.f16x2.f32",
     EmulatedAs::Value, CALL(hova_emulated_f16), 0, objectToTruncation},
    {"llvm.fpext of f16", "cvt.f32.f16", EmulatedAs::Value,
     CALL(hova_emulated_f32_of_f16), 0, objectToExtension},
    {"llvm.intr.maxnum", "max.f32", EmulatedAs::Value, CALL(hova_emulated_max),
     0, objectToFloats},
    {"llvm.intr.minnum", "min.f32", EmulatedAs::Value, CALL(hova_emulated_min),
     0, objectToFloats},
    {"llvm.intr.maximum", "max.NaN.f32", EmulatedAs::Value,
     CALL(hova_emulated_max_nan), 0, objectToFloats},
    {"llvm.intr.minimum", "min.NaN.f32", EmulatedAs::Value,
     CALL(hova_emulated_min_nan), 0, objectToFloats},
    {"llvm.fptosi", "cvt.rzi.s32.f32", EmulatedAs::Value,
     CALL(hova_emulated_s32), 0, objectToConversion},
    {"llvm.fptoui", "cvt.rzi.u32.f32", EmulatedAs::Value,
     CALL(hova_emulated_u32), 0, objectToConversion},
    {"llvm.nvvm.ex2.approx.f32", "ex2.approx.f32", EmulatedAs::Inexact,
     CALL(hova_emulated_ex2), 0, objectToApproximation},
    {"llvm.nvvm.ex2.approx.ftz.f32", "ex2.approx.ftz.f32", EmulatedAs::Inexact,
     CALL(hova_emulated_ex2_ftz), 0, objectToApproximation},
    {"llvm.nvvm.lg2.approx.f", "lg2.approx.f32", EmulatedAs::Inexact,
     CALL(hova_emulated_lg2), 0, objectToApproximation},
    {"llvm.nvvm.rcp.approx.ftz.f", "rcp.approx.ftz.f32", EmulatedAs::Inexact,
     CALL(hova_emulated_rcp_ftz), 0, objectToApproximation},
    {"llvm.nvvm.rsqrt.approx.f", "rsqrt.approx.f32", EmulatedAs::Inexact,
     CALL(hova_emulated_rsqrt), 0, objectToApproximation},
    {"llvm.nvvm.rsqrt.approx.ftz.f", "rsqrt.approx.ftz.f32",
     EmulatedAs::Inexact, CALL(hova_emulated_rsqrt_ftz), 0,
     objectToApproximation},
    {"llvm.shl", "shl.b32", EmulatedAs::Custom},
    {"llvm.lshr", "shr.u32", EmulatedAs::Custom},
    {"llvm.ashr", "shr.s32", EmulatedAs::Custom},
    {"llvm.udiv", "div.u32", EmulatedAs::Custom, CALL(hova_emulated_divisor)},
    {"llvm.urem", "rem.u32", EmulatedAs::Custom, CALL(hova_emulated_divisor)},
    {"llvm.sdiv", "div.s32", EmulatedAs::Custom, CALL(hova_emulated_divisor)},
    {"llvm.srem", "rem.s32", EmulatedAs::Custom, CALL(hova_emulated_divisor)},

    // Arithmetic that is the same everywhere.
    {"llvm.fadd", "add.rn.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.fsub", "sub.rn.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.fmul", "mul.rn.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.fdiv", "div.rn.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.fneg", "neg.f32", EmulatedAs::Host, "", nullptr, 0, objectToFloats},
    {"llvm.fcmp", "setp.f32", EmulatedAs::Host, "", nullptr, 0, objectToFloats},
    {"llvm.fpext", "cvt.f32.bf16, shl.b32", EmulatedAs::Custom, "", nullptr, 0,
     objectToExtension},
    {"llvm.sitofp", "cvt.rn.f32.s32", EmulatedAs::Host, "", nullptr, 0,
     objectToConversion},
    {"llvm.uitofp", "cvt.rn.f32.u32", EmulatedAs::Host, "", nullptr, 0,
     objectToConversion},
    {"llvm.intr.fma", "fma.rn.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.intr.fabs", "abs.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.intr.copysign", "copysign.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.intr.sqrt", "sqrt.rn.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.intr.floor", "cvt.rmi.f32.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.intr.ceil", "cvt.rpi.f32.f32", EmulatedAs::Host, "", nullptr, 0,
     objectToFloats},
    {"llvm.add", "add.s32", EmulatedAs::Host},
    {"llvm.sub", "sub.s32", EmulatedAs::Host},
    {"llvm.mul", "mul.lo.s32", EmulatedAs::Host},
    {"llvm.and", "and.b32", EmulatedAs::Host},
    {"llvm.or", "or.b32", EmulatedAs::Host},
    {"llvm.xor", "xor.b32", EmulatedAs::Host},
    {"llvm.icmp", "setp.s32, setp.u32", EmulatedAs::Host, "", nullptr, 0,
     objectToComparison},
    {"llvm.intr.smax", "max.s32", EmulatedAs::Host},
    {"llvm.intr.smin", "min.s32", EmulatedAs::Host},
    {"llvm.intr.umax", "max.u32", EmulatedAs::Host},
    {"llvm.intr.umin", "min.u32", EmulatedAs::Host},
    {"llvm.select", "selp", EmulatedAs::Host},
    {"llvm.sext", "cvt.s64.s32", EmulatedAs::Host},
    {"llvm.zext", "cvt.u64.u32", EmulatedAs::Host},
    {"llvm.trunc", "cvt.u32.u64", EmulatedAs::Host},
    {"llvm.bitcast", "mov.b32", EmulatedAs::Host},
    {"llvm.mlir.constant", "", EmulatedAs::Host},
    {"llvm.mlir.undef", "", EmulatedAs::Host},
    {"llvm.mlir.poison", "", EmulatedAs::Host},
    {"llvm.mlir.zero", "", EmulatedAs::Host},
    {"llvm.extractvalue", "", EmulatedAs::Host},
    {"llvm.insertvalue", "", EmulatedAs::Host},
    {"llvm.extractelement", "mov.b32", EmulatedAs::Host},
    {"llvm.insertelement", "mov.b32", EmulatedAs::Host},
    {"llvm.shufflevector", "mov.b32", EmulatedAs::Host},

    // Control.
    {"llvm.br", "bra", EmulatedAs::Host},
    {"llvm.cond_br", "bra", EmulatedAs::Host},
    {"llvm.return", "ret", EmulatedAs::Host},
};

#undef CALL

ArrayRef<DeviceOperation> getDeviceOperations() { return kOperations; }

/// What the table calls an operation. Some intrinsics have two names, which
/// LLVM takes for one; conversions are told apart by their types.
static StringRef nameOf(Operation *op) {
  if (isa<LLVM::FPTruncOp>(op) &&
      getElementTypeOrSelf(op->getResult(0).getType()).isF16()) {
    return "llvm.fptrunc to f16";
  }
  if (isa<LLVM::FPExtOp>(op) &&
      getElementTypeOrSelf(op->getOperand(0).getType()).isF16()) {
    return "llvm.fpext of f16";
  }
  auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op);
  if (!intrinsic) {
    return isa<NVVM::RcpApproxFtzF32Op>(op)
               ? StringRef("llvm.nvvm.rcp.approx.ftz.f")
               : op->getName().getStringRef();
  }
  StringRef name = intrinsic.getIntrin();
  return name == "llvm.nvvm.ex2.approx.f"       ? "llvm.nvvm.ex2.approx.f32"
         : name == "llvm.nvvm.ex2.approx.ftz.f" ? "llvm.nvvm.ex2.approx.ftz.f32"
                                                : name;
}

const DeviceOperation *findDeviceOperation(Operation *op) {
  static const auto *byName = [] {
    auto *map = new llvm::StringMap<const DeviceOperation *>;
    for (const DeviceOperation &entry : kOperations) {
      (*map)[entry.name] = &entry;
    }
    return map;
  }();
  return byName->lookup(nameOf(op));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyOperation(Operation *op) {
  const DeviceOperation *entry = findDeviceOperation(op);
  if (!entry) {
    InFlightDiagnostic error = op->emitOpError("is not allowed in a kernel");
    if (isa<LLVM::InlineAsmOp>(op) || nameOf(op).starts_with("nvvm.inline")) {
      return error << ": nobody but the assembler could read its text, so it "
                      "could not be emulated";
    }
    if (isa<LLVM::CallOp>(op)) {
      return error << ": functions of kernels are inlined before";
    }
    if (nameOf(op) != op->getName().getStringRef()) {
      error << ": '" << nameOf(op) << "'";
    }
    return error << ": the table of codegen/cuda/lower/DeviceOperations.cpp "
                    "does not have it";
  }
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())}) {
    for (Type type : types) {
      if (!isDeviceType(type)) {
        return op->emitOpError("has a value of type ")
               << type
               << ", and kernels have integers, f32, bf16, f16, vectors of "
                  "these and pointers to global (1) and shared (3) memory and "
                  "to that of a cluster (7)";
      }
    }
  }
  std::string objection = entry->objection ? entry->objection(op) : "";
  return objection.empty()
             ? success()
             : LogicalResult(op->emitOpError(objection) << " in a kernel");
}

static LogicalResult verifyFunction(LLVM::LLVMFuncOp function) {
  if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
      function.isExternal()) {
    return function.emitOpError("is no kernel with a body, and a module of "
                                "kernels has nothing else");
  }
  if (!isa<LLVM::LLVMVoidType>(function.getFunctionType().getReturnType())) {
    return function.emitOpError("returns a value, which kernels do not");
  }
  auto cluster = function->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getClusterDimAttrName());
  if (cluster && (cluster.size() != 3 || cluster[0] != 1 || cluster[1] != 1 ||
                  cluster[2] < 1 || cluster[2] > kMostClusterBlocks)) {
    return function.emitOpError("expects clusters of at most ")
           << kMostClusterBlocks << " blocks along z, got " << cluster;
  }
  for (auto [index, type] :
       llvm::enumerate(function.getFunctionType().getParams())) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    if (!isDeviceType(type) || isa<VectorType, LLVM::LLVMStructType>(type) ||
        (pointer && pointer.getAddressSpace() != kGlobalMemory)) {
      return function.emitOpError("expects numbers and pointers to global "
                                  "memory, got ")
             << type << " as argument " << index;
    }
  }
  WalkResult walked = function.getBody().walk([](Operation *op) {
    return failed(verifyOperation(op)) ? WalkResult::interrupt()
                                       : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult verifyDeviceCode(Operation *module) {
  for (Operation &op : module->getRegion(0).front()) {
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op)) {
      if (failed(verifyFunction(function))) {
        return failure();
      }
      continue;
    }
    auto global = dyn_cast<LLVM::GlobalOp>(op);
    if (!global || global.getAddrSpace() != kSharedMemory ||
        global.getValueAttr() || !global.getInitializer().empty()) {
      return op.emitOpError("is not allowed beside kernels: there are shared "
                            "memories without a value, and nothing else");
    }
  }
  return success();
}

} // namespace hova
