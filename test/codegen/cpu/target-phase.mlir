// Whatever a program holds, its code calls kernels and the runtime and nothing
// else: no scalar function of libm, no copy, no allocation.

// RUN: hova-opt %s --start-at=normalize --stop-after=target --march=x86-64-v3 -o %t.all
// RUN: sed -n '/^ *module @code/,$p' %t.all > %t
// RUN: grep -o 'llvm.call @[a-zA-Z_0-9]*' %t | sort -u | FileCheck %s --check-prefix=CALLS
// RUN: FileCheck %s --input-file=%t --implicit-check-not=memref --implicit-check-not=func.func

// CALLS: llvm.call @hova_run_launches
// CALLS-COUNT-5: llvm.call @kernel_
// CALLS-NOT: llvm.call


// CHECK: llvm.mlir.global external constant @hova_launches_0(
// CHECK: llvm.func @hova_call_0(
// CHECK: llvm.switch
// CHECK: llvm.func @hova_run_0(
// CHECK: llvm.intr.sqrt
func.func @main(%x: tensor<2x9x8xf32>, %ids: tensor<2x9xi32>) -> (tensor<2x9x8xf32>, tensor<2x8xf32>) {
  %gain = hova.weight "gain" : tensor<8xf32>
  %valid = hova.padding_mask %ids {pad = 0 : i64} : tensor<2x9xi32> -> tensor<2x9xi1>
  %norm = hova.layer_norm %x, %gain, %gain {eps = 1.0e-6 : f64} : tensor<2x9x8xf32>, tensor<8xf32>
  %o = hova.attention %norm, %norm, %norm captured(%valid)
      {heads = 2 : i64}
      : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9xi1>) -> tensor<2x9x8xf32> scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %not_padding: tensor<2x9xi1>):
    %is_valid = hova.element %not_padding[%batch, %key] : tensor<2x9xi1>
    hova.score_yield %raw kept %is_valid
  }
  %a = hova.activation relu %o : tensor<2x9x8xf32>
  %b = hova.activation gelu_erf %a : tensor<2x9x8xf32>
  %c = hova.activation gelu_tanh %b : tensor<2x9x8xf32>
  %d = hova.activation tanh %c : tensor<2x9x8xf32>
  %e = hova.activation sigmoid %d : tensor<2x9x8xf32>
  %p = hova.pool mean %e : tensor<2x9x8xf32> -> tensor<2x8xf32>
  return %e, %p : tensor<2x9x8xf32>, tensor<2x8xf32>
}
