// RUN: hova-opt %s --hova-decompose-program | FileCheck %s
// RUN: hova-opt %s --hova-decompose-program --hova-decompose-program | FileCheck %s

// Kernels are declared beside main, which stays as the folding function does.
// CHECK-LABEL: func.func @main(
// CHECK: hova.launch @kernel
// CHECK-LABEL: func.func private @weights()
// CHECK: func.func private @kernel(memref<9x8xf32>, memref<9x8xf32>, memref<64xi8>, index, index){{$}}
// CHECK: func.func private @called_from_outside(memref<9x8xf32>){{$}}
// CHECK-LABEL: module @code {
// CHECK: func.func @main(
// CHECK: hova.launch @kernel
// CHECK-NOT: @weights
// CHECK: func.func private @kernel(%
// CHECK: func.func @called_from_outside(%
// CHECK-NOT: module @code
func.func @main(%x: memref<9x8xf32>, %y: memref<9x8xf32>) attributes {hova.arena_bytes = 0 : i64} {
  hova.launch @kernel(%x, %y) "a" {flops = 10 : i64, shape = #hova_cpu.launch<units = 9, grain = 2>} : (memref<9x8xf32>, memref<9x8xf32>)
  return
}
func.func private @weights() {
  return
}
func.func private @kernel(%x: memref<9x8xf32>, %y: memref<9x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}
func.func @called_from_outside(%x: memref<9x8xf32>) {
  return
}
