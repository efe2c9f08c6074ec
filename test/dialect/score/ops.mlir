// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @reads_elements
func.func @reads_elements(%numbers: tensor<4x9xf32>, %halves: tensor<3xbf16>, %ids: tensor<2xi32>, %places: tensor<2xi64>, %mask: tensor<2xi1>, %i: index, %j: index) {
  // CHECK: %{{.*}} = hova.element %arg0[%arg5, %arg6] : tensor<4x9xf32>
  %a = hova.element %numbers[%i, %j] : tensor<4x9xf32>
  // CHECK: %{{.*}} = hova.element %arg1[%arg5] : tensor<3xbf16>
  %b = hova.element %halves[%i] : tensor<3xbf16>
  // CHECK: %{{.*}} = hova.element %arg2[%arg5] {range = array<i64: 0, 4>} : tensor<2xi32>
  %c = hova.element %ids[%i] {range = array<i64: 0, 4>} : tensor<2xi32>
  // CHECK: %{{.*}} = hova.element %arg3[%arg5] {range = array<i64: -4, 4>} : tensor<2xi64>
  %d = hova.element %places[%i] {range = array<i64: -4, 4>} : tensor<2xi64>
  // CHECK: %{{.*}} = hova.element %arg4[%arg5] : tensor<2xi1>
  %e = hova.element %mask[%i] : tensor<2xi1>
  return
}

// All digits of a number of float64.
// CHECK-LABEL: @has_numbers
// CHECK: hova.number 0.10206207261596577
func.func @has_numbers() -> f32 {
  %c = hova.number 0.10206207261596577
  return %c : f32
}

// All operations that have a meaning among scores.
// CHECK-LABEL: @scores_with_all_operations
// CHECK: hova.attention %{{.*}}, %{{.*}}, %{{.*}} captured(%{{.*}}, %{{.*}}, %{{.*}}) {heads = 4 : i64} : {{.*}} -> (tensor<2x9x64xf32>, tensor<2x4x9x9xf32>) scores {
// CHECK-NEXT: ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %[[SLOPES:.*]]: tensor<4xf32>, %[[IDS:.*]]: tensor<2x9xi32>, %[[MASK:.*]]: tensor<2x9xi1>):
// CHECK: hova.score_yield %{{.*}} kept %{{.*}} carried %{{.*}}
func.func @scores_with_all_operations(%q: tensor<2x9x64xf32>, %s: tensor<4xf32>, %i: tensor<2x9xi32>, %m: tensor<2x9xi1>) -> (tensor<2x9x64xf32>, tensor<2x4x9x9xf32>) {
  %o, %scores = hova.attention %q, %q, %q captured(%s, %i, %m) {heads = 4 : i64}
      : (tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<2x9x64xf32>, tensor<4xf32>, tensor<2x9xi32>, tensor<2x9xi1>)
      -> (tensor<2x9x64xf32>, tensor<2x4x9x9xf32>) scores {
  ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index, %slopes: tensor<4xf32>, %ids: tensor<2x9xi32>, %mask: tensor<2x9xi1>):
    %half = hova.number 0.5
    %one = arith.constant 1.0 : f32
    %slope = hova.element %slopes[%head] : tensor<4xf32>
    %n0 = arith.addf %raw, %half : f32
    %n1 = arith.subf %n0, %one : f32
    %n2 = arith.mulf %n1, %slope : f32
    %n3 = arith.divf %n2, %half : f32
    %n4 = arith.negf %n3 : f32
    %n5 = arith.maximumf %n4, %raw : f32
    %n6 = arith.minimumf %n5, %one : f32
    %f0 = math.absf %n6 : f32
    %f1 = math.ceil %f0 : f32
    %f2 = math.exp %f1 : f32
    %f3 = math.floor %f2 : f32
    %f4 = math.fma %f3, %half, %raw : f32
    %f5 = math.log %f4 : f32
    %f6 = math.log2 %f5 : f32
    %f7 = math.sqrt %f6 : f32
    %f8 = math.tanh %f7 : f32
    %three = arith.constant 3 : index
    %i0 = arith.addi %query, %three : index
    %i1 = arith.subi %i0, %key : index
    %i2 = arith.muli %i1, %three : index
    %i3 = arith.floordivsi %i2, %three : index
    %i4 = arith.remsi %i3, %three : index
    %i5 = arith.maxsi %i4, %query : index
    %i6 = arith.minsi %i5, %key : index
    %id = hova.element %ids[%batch, %key] {range = array<i64: 0, 5>} : tensor<2x9xi32>
    %query_id = hova.element %ids[%batch, %query] : tensor<2x9xi32>
    %place = arith.index_cast %id : i32 to index
    %five = arith.constant 5 : i64
    %wide = arith.index_cast %i6 : index to i64
    %distance = arith.sitofp %wide : i64 to f32
    %small = arith.cmpf olt, %f8, %distance : f32
    %score = arith.select %small, %f8, %raw : f32
    %chosen = arith.select %small, %wide, %five : i64
    %far = arith.cmpi ugt, %chosen, %five : i64
    %near = arith.cmpi sle, %key, %place : index
    %same = arith.cmpi eq, %id, %query_id : i32
    %is_valid = hova.element %mask[%batch, %key] : tensor<2x9xi1>
    %b0 = arith.andi %near, %is_valid : i1
    %b1 = arith.ori %b0, %same : i1
    %b2 = arith.xori %b1, %far : i1
    hova.score_yield %score kept %b2 carried %n0
  }
  return %o, %scores : tensor<2x9x64xf32>, tensor<2x4x9x9xf32>
}
