// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// RUN: hova-opt %s --hova-lower-group-ops | FileCheck %s --check-prefix=THREADS
// SPDX-License-Identifier: Apache-2.0

// A cluster has as many blocks as the tile has times the rows of the result. They meet before the first reads another one's tile, and
// behind the last read.
// CHECK-LABEL: func.func @adds_parts
// CHECK: hova_cuda.add_parts %{{.*}}, %{{.*}}, %{{.*}} : <64x64xf32, product 2x2>, <1x64x64xf32> -> <16x64xf32, row 4x1>
// THREADS-LABEL: llvm.func @adds_parts
// THREADS-SAME: hova.group_bytes = 16384 : i64, nvvm.cluster_dim = array<i32: 1, 1, 4>
// THREADS: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<3>
// THREADS: nvvm.cluster.arrive {aligned}
// THREADS-NEXT: nvvm.cluster.wait {aligned}
// THREADS: nvvm.mapa %{{.*}}, %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
// THREADS: llvm.load %{{.*}} : !llvm.ptr<7> -> vector<2xf32>
// THREADS: nvvm.mapa
// THREADS: arith.addf
// THREADS: nvvm.mapa
// THREADS: nvvm.mapa
// THREADS: nvvm.cluster.arrive {aligned}
// THREADS-NEXT: nvvm.cluster.wait {aligned}
// THREADS-NOT: !llvm.ptr<7>
// THREADS: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<1>
func.func @adds_parts(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %i: index, %j: index, %part: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = hova.group_load %x[%c0, %c0] {in_bounds = array<i1: true, true>} : memref<64x64xf32> -> !hova.tile<64x64xf32, product 2x2>
  %s = hova.group_alloc : !hova.slots<1x64x64xf32>
  %r = hova_cuda.add_parts %t, %s, %part : !hova.tile<64x64xf32, product 2x2>, !hova.slots<1x64x64xf32> -> !hova.tile<16x64xf32, row 4x1>
  %row = arith.muli %part, %c16 : index
  hova.group_store %r, %y[%row, %c0] {in_bounds = array<i1: true, true>} : !hova.tile<16x64xf32, row 4x1>, memref<64x64xf32>
  return
}
