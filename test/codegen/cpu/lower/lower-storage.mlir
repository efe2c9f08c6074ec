// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-storage))' | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-storage{bf16=false}))' | FileCheck %s --check-prefixes=CHECK,HALVES
// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-storage,hova-lower-storage))' | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: hova-opt %s --pass-pipeline='builtin.module(func.func(hova-lower-storage{slow-pairs=true}))' | FileCheck %s --check-prefix=SLOW
// SPDX-License-Identifier: Apache-2.0

// Where the instruction is no faster, dots are halves, and rounding has its own.
// SLOW-LABEL: @multiplies_pairs
// SLOW-NOT: dpbf16ps
// SLOW: arith.shli
// SLOW: vector.fma
// SLOW: arith.andi
// SLOW: vector.fma
// SLOW-LABEL: @rounds_to_bf16
// SLOW-NEXT: arith.truncf

// Sixteen sums an instruction; by halves all at once.
// CHECK-LABEL: @multiplies_pairs
// CHECK-SAME: %[[A:.*]]: vector<64xbf16>, %[[B:.*]]: vector<64xbf16>, %[[S:.*]]: vector<32xf32>
// DOT: %[[S0:.*]] = vector.extract_strided_slice %[[S]] {offsets = [0], sizes = [16]
// DOT: %[[A0:.*]] = vector.extract_strided_slice %[[A]] {offsets = [0], sizes = [32]
// DOT: %[[B0:.*]] = vector.extract_strided_slice %[[B]] {offsets = [0], sizes = [32]
// DOT: %[[D0:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%[[S0]], %[[A0]], %[[B0]])
// DOT: %[[FIRST:.*]] = vector.insert_strided_slice %[[D0]], %[[S]] {offsets = [0]
// DOT: %[[A1:.*]] = vector.extract_strided_slice %[[A]] {offsets = [32], sizes = [32]
// DOT: %[[D1:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[A1]], %{{.*}})
// DOT: %[[ALL:.*]] = vector.insert_strided_slice %[[D1]], %[[FIRST]] {offsets = [16]
// DOT: return %[[ALL]]
// HALVES-DAG: %[[SIXTEEN:.*]] = arith.constant dense<16> : vector<32xi32>
// HALVES-DAG: %[[UPPER:.*]] = arith.constant dense<-65536> : vector<32xi32>
// HALVES: %[[WORDS:.*]] = vector.bitcast %[[A]] : vector<64xbf16> to vector<32xi32>
// HALVES: %[[SHIFTED:.*]] = arith.shli %[[WORDS]], %[[SIXTEEN]]
// HALVES: %[[EVEN:.*]] = arith.bitcast %[[SHIFTED]]
// HALVES: %[[SUM:.*]] = vector.fma %[[EVEN]], %{{.*}}, %[[S]]
// HALVES: %[[MASKED:.*]] = arith.andi %{{.*}}, %[[UPPER]]
// HALVES: %[[ODD:.*]] = arith.bitcast %[[MASKED]]
// HALVES: %[[ALL:.*]] = vector.fma %[[ODD]], %{{.*}}, %[[SUM]]
// HALVES: return %[[ALL]]
func.func @multiplies_pairs(%a: vector<64xbf16>, %b: vector<64xbf16>, %s: vector<32xf32>) -> vector<32xf32> {
  %y = hova_cpu.pair_dot %a, %b, %s : vector<64xbf16>, vector<32xf32>
  return %y : vector<32xf32>
}

// CHECK-LABEL: @takes_a_narrow_instruction
// DOT: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.256"
func.func @takes_a_narrow_instruction(%a: vector<16xbf16>, %s: vector<8xf32>) -> vector<8xf32> {
  %y = hova_cpu.pair_dot %a, %a, %s : vector<16xbf16>, vector<8xf32>
  return %y : vector<8xf32>
}

// There is no instruction for two sums.
// CHECK-LABEL: @multiplies_two_pairs_by_halves
// CHECK-NOT: llvm.call_intrinsic
// CHECK: vector.fma
// CHECK: vector.fma
func.func @multiplies_two_pairs_by_halves(%a: vector<4xbf16>, %s: vector<2xf32>) -> vector<2xf32> {
  %y = hova_cpu.pair_dot %a, %a, %s : vector<4xbf16>, vector<2xf32>
  return %y : vector<2xf32>
}

// CHECK-LABEL: @rounds_to_bf16
// CHECK-SAME: %[[X:.*]]: vector<16xf32>
// DOT: arith.truncf %[[X]] : vector<16xf32> to vector<16xbf16>
// HALVES-DAG: %[[HALF:.*]] = arith.constant dense<32767>
// HALVES-DAG: %[[QUIET:.*]] = arith.constant dense<4194304>
// HALVES: %[[WORDS:.*]] = arith.bitcast %[[X]]
// HALVES: %[[PLACE:.*]] = arith.shrui %[[WORDS]]
// HALVES: %[[LAST:.*]] = arith.andi %[[PLACE]]
// HALVES: %[[MORE:.*]] = arith.addi %[[LAST]], %[[HALF]]
// HALVES: %[[ROUNDED:.*]] = arith.addi %[[WORDS]], %[[MORE]]
// HALVES: %[[NAN:.*]] = arith.ori %[[WORDS]], %[[QUIET]]
// HALVES: %[[IS:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// HALVES: %[[CHOSEN:.*]] = arith.select %[[IS]], %[[NAN]], %[[ROUNDED]]
// HALVES: %[[UPPER:.*]] = arith.shrui %[[CHOSEN]]
// HALVES: %[[SHORT:.*]] = arith.trunci %[[UPPER]]
// HALVES: arith.bitcast %[[SHORT]] : vector<16xi16> to vector<16xbf16>
func.func @rounds_to_bf16(%x: vector<16xf32>) -> vector<16xbf16> {
  %y = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  return %y : vector<16xbf16>
}

// LLVM would round one register after the other and join the halves.
// CHECK-LABEL: @rounds_two_registers_at_once
// CHECK-SAME: %[[X:.*]]: vector<64xf32>
// DOT-DAG: %[[X0:.*]] = vector.extract_strided_slice %[[X]] {offsets = [0], sizes = [16]
// DOT-DAG: %[[X1:.*]] = vector.extract_strided_slice %[[X]] {offsets = [16], sizes = [16]
// DOT: %[[Y0:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[X1]], %[[X0]]) : (vector<16xf32>, vector<16xf32>) -> vector<32xbf16>
// DOT: %[[FIRST:.*]] = vector.insert_strided_slice %[[Y0]], %{{.*}} {offsets = [0]
// DOT: %[[Y1:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// DOT: %[[ALL:.*]] = vector.insert_strided_slice %[[Y1]], %[[FIRST]] {offsets = [32]
// DOT: return %[[ALL]]
// HALVES-NOT: llvm.call_intrinsic
func.func @rounds_two_registers_at_once(%x: vector<64xf32>) -> vector<64xbf16> {
  %y = arith.truncf %x : vector<64xf32> to vector<64xbf16>
  return %y : vector<64xbf16>
}

// CHECK-LABEL: @keeps_rounding_to_f16
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
func.func @keeps_rounding_to_f16(%x: vector<16xf32>) -> vector<16xf16> {
  %y = arith.truncf %x : vector<16xf32> to vector<16xf16>
  return %y : vector<16xf16>
}

// CHECK-LABEL: @stores_first_lanes_in_parts
// CHECK-SAME: %[[M:.*]]: memref<40xbf16>, %[[V:.*]]: vector<8xbf16>, %[[I:.*]]: index
// CHECK: %[[FOUR:.*]] = vector.extract_strided_slice %[[V]] {offsets = [0], sizes = [4]
// CHECK: vector.store %[[FOUR]], %[[M]][%{{.*}}] : memref<40xbf16>, vector<4xbf16>
// CHECK: %[[TWO:.*]] = vector.extract_strided_slice %[[V]] {offsets = [4], sizes = [2]
// CHECK: %[[AFTER:.*]] = arith.addi %[[I]], %c4
// CHECK: vector.store %[[TWO]], %[[M]][%[[AFTER]]]
// CHECK: %[[ONE:.*]] = vector.extract_strided_slice %[[V]] {offsets = [6], sizes = [1]
// CHECK: vector.store %[[ONE]]
// CHECK-NOT: vector.maskedstore
func.func @stores_first_lanes_in_parts(%m: memref<40xbf16>, %v: vector<8xbf16>, %i: index) {
  %mask = arith.constant dense<[true, true, true, true, true, true, true, false]> : vector<8xi1>
  vector.maskedstore %m[%i], %mask, %v : memref<40xbf16>, vector<8xi1>, vector<8xbf16>
  return
}

// CHECK-LABEL: @keeps_other_lanes
// CHECK: vector.maskedstore
func.func @keeps_other_lanes(%m: memref<40xbf16>, %v: vector<4xbf16>, %i: index) {
  %mask = arith.constant dense<[true, false, true, false]> : vector<4xi1>
  vector.maskedstore %m[%i], %mask, %v : memref<40xbf16>, vector<4xi1>, vector<4xbf16>
  return
}

// CHECK-LABEL: @keeps_lanes_of_f32
// CHECK: vector.maskedstore
func.func @keeps_lanes_of_f32(%m: memref<40xf32>, %v: vector<4xf32>, %i: index) {
  %mask = arith.constant dense<[true, true, true, false]> : vector<4xi1>
  vector.maskedstore %m[%i], %mask, %v : memref<40xf32>, vector<4xi1>, vector<4xf32>
  return
}
