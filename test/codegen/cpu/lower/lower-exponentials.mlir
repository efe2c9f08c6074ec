// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-exponentials))' | FileCheck %s
// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-exponentials,hova-lower-exponentials))' | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @scales_by_the_whole_part
// CHECK-SAME: %[[X:.*]]: vector<16xf32>
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]], %c0_i32, %[[X]], %c-1_i16, %c4_i32)
// CHECK-COUNT-4: vector.fma %{{.*}}, %[[R]], %{{.*}}
// CHECK: %[[P:.*]] = vector.fma %{{.*}}, %[[R]], %{{.*}}
// CHECK: %[[NORMAL:.*]] = arith.cmpf uge, %[[X]], %{{.*}} : vector<16xf32>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[NORMAL]] : vector<16xi1> to vector<1xi16>
// CHECK: %[[MASK:.*]] = vector.extract %[[BITS]][0]
// CHECK: %[[N:.*]] = arith.subf %[[X]], %[[R]]
// CHECK: %[[Y:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[P]], %[[N]], %{{.*}}, %[[MASK]], %c4_i32{{.*}})
// CHECK: return %[[Y]]
func.func @scales_by_the_whole_part(%x: vector<16xf32>) -> vector<16xf32> {
  %y = hova.exp2 %x : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: @divides_wide_vectors
// CHECK-SAME: %[[X:.*]]: vector<32xf32>
// CHECK: %[[X0:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [16]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X0]]
// CHECK: %[[Y0:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: %[[FIRST:.*]] = vector.insert_strided_slice %[[Y0]], %{{.*}} {offsets = [0]
// CHECK: %[[X1:.*]] = vector.extract_strided_slice %[[X]] {offsets = [16], sizes = [16]
// CHECK: %[[Y1:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: %[[ALL:.*]] = vector.insert_strided_slice %[[Y1]], %[[FIRST]] {offsets = [16]
// CHECK: return %[[ALL]]
func.func @divides_wide_vectors(%x: vector<32xf32>) -> vector<32xf32> {
  %y = hova.exp2 %x : vector<32xf32>
  return %y : vector<32xf32>
}

// CHECK-LABEL: @widens_narrow_vectors
// CHECK-SAME: %[[X:.*]]: vector<4xf32>
// CHECK: %[[WIDE:.*]] = vector.insert_strided_slice %[[X]], %{{.*}} : vector<4xf32> into vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[WIDE]]
// CHECK: %[[Y:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: %[[KEPT:.*]] = vector.extract_strided_slice %[[Y]] {offsets = [0], sizes = [4]
// CHECK: return %[[KEPT]]
func.func @widens_narrow_vectors(%x: vector<4xf32>) -> vector<4xf32> {
  %y = hova.exp2 %x : vector<4xf32>
  return %y : vector<4xf32>
}

// `vscalefps` takes the integer below of x itself: nothing is subtracted.
// CHECK-LABEL: @is_as_exact_as_bf16
// CHECK-SAME: %[[X:.*]]: vector<16xf32>
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]], %c1_i32, %[[X]], %c-1_i16, %c4_i32)
// CHECK-NOT: arith.subf
// CHECK-COUNT-2: vector.fma %{{.*}}, %[[R]], %{{.*}}
// CHECK: %[[P:.*]] = vector.fma %{{.*}}, %[[R]], %{{.*}}
// CHECK-NEXT: %[[Y:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[P]], %[[X]], %[[P]], %c-1_i16{{.*}}, %c4_i32{{.*}})
// CHECK: return %[[Y]]
func.func @is_as_exact_as_bf16(%x: vector<16xf32>) -> vector<16xf32> {
  %y = hova.exp2 %x accuracy(bf16) : vector<16xf32>
  return %y : vector<16xf32>
}

// Users say nothing: what rounds the result may also have been asked for more.
// CHECK-LABEL: @is_exact_unless_it_says_otherwise
// CHECK-COUNT-5: vector.fma
func.func @is_exact_unless_it_says_otherwise(%x: vector<16xf32>) -> vector<16xbf16> {
  %y = hova.exp2 %x : vector<16xf32>
  %r = arith.truncf %y : vector<16xf32> to vector<16xbf16>
  return %r : vector<16xbf16>
}
