// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-lookups))' | FileCheck %s
// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-lookups,hova-lower-lookups))' | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @picks_by_one_permutation
// CHECK-SAME: %[[I:.*]]: vector<16xi32>
// CHECK: %[[TABLE:.*]] = arith.constant dense<[0.000000e+00, 5.000000e-01, {{.*}}]> : vector<16xf32>
// CHECK: %[[Y:.*]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%[[TABLE]], %[[I]])
// CHECK: return %[[Y]]
func.func @picks_by_one_permutation(%i: vector<16xi32>) -> vector<16xf32> {
  %y = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32> : vector<16xi32> -> vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: @divides_wide_vectors
// CHECK-SAME: %[[I:.*]]: vector<32xi32>
// CHECK: %[[I0:.*]] = vector.extract_strided_slice %[[I]] {offsets = [0], sizes = [16]
// CHECK: %[[Y0:.*]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%{{.*}}, %[[I0]])
// CHECK: %[[FIRST:.*]] = vector.insert_strided_slice %[[Y0]], %{{.*}} {offsets = [0]
// CHECK: %[[I1:.*]] = vector.extract_strided_slice %[[I]] {offsets = [16], sizes = [16]
// CHECK: %[[Y1:.*]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%{{.*}}, %[[I1]])
// CHECK: %[[ALL:.*]] = vector.insert_strided_slice %[[Y1]], %[[FIRST]] {offsets = [16]
// CHECK: return %[[ALL]]
func.func @divides_wide_vectors(%i: vector<32xi32>) -> vector<32xf32> {
  %y = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32> : vector<32xi32> -> vector<32xf32>
  return %y : vector<32xf32>
}

// CHECK-LABEL: @widens_narrow_vectors
// CHECK-SAME: %[[I:.*]]: vector<4xi32>
// CHECK: %[[WIDE:.*]] = vector.insert_strided_slice %[[I]], %{{.*}} : vector<4xi32> into vector<16xi32>
// CHECK: %[[Y:.*]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%{{.*}}, %[[WIDE]])
// CHECK: %[[KEPT:.*]] = vector.extract_strided_slice %[[Y]] {offsets = [0], sizes = [4]
// CHECK: return %[[KEPT]]
func.func @widens_narrow_vectors(%i: vector<4xi32>) -> vector<4xf32> {
  %y = hova_cpu.lookup %i, dense<[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5]> : vector<16xf32> : vector<4xi32> -> vector<4xf32>
  return %y : vector<4xf32>
}
