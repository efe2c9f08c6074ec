// RUN: hova-opt %s --hova-lower-launches=least-work=500000 | FileCheck %s
// RUN: hova-opt %s --hova-lower-launches | FileCheck %s --check-prefix=DIVIDED

// A kernel of little work is not divided: of few operations on few bytes, but
// not of many bytes.
// CHECK: @hova_launches(dense<[2, 1, 0, 1, 90, 1, 64, 90, 0, 0, 0, 0, 0, 0, 3, 1, 9000, 9000, 1, 64, 9000, 0, 0, 0, 0, 0, 0, 11]>
// DIVIDED: @hova_launches(dense<[2, 1, 0, 90, 90, 1, 64, 90, 0, 0, 0, 0, 0, 0, 3, 1, 9000, 9000, 1, 64, 9000, 0, 0, 0, 0, 0, 0, 11]>
func.func @main(%x: memref<90x8xf32>, %y: memref<9000x8xf32>) attributes {hova.arena_bytes = 0 : i64, hova.image_bytes = 0 : i64, hova.inputs = 0 : i64} {
  hova.launch @kernel_a(%x) "small" {flops = 480000 : i64, shape = #hova_cpu.launch<units = 90, grain = 1>} : (memref<90x8xf32>)
  hova.launch @kernel_b(%y) "large" {flops = 0 : i64, shape = #hova_cpu.launch<units = 9000, grain = 1>} : (memref<9000x8xf32>)
  return
}
func.func private @kernel_a(%y: memref<90x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}
func.func private @kernel_b(%y: memref<9000x8xf32>, %scratch: memref<64xi8>, %begin: index, %end: index) {
  return
}
