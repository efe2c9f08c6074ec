// RUN: hova-opt %s --split-input-file --hova-lower-activations=lookups | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-lower-activations=lookups -o %t.once
// RUN: hova-opt %t.once --split-input-file --hova-lower-activations=lookups -o %t.twice
// RUN: diff %t.once %t.twice
// SPDX-License-Identifier: Apache-2.0
//
// How large the errors are is the business of test/codegen/activations.

// The rounded argument's low bits are the piece; what rounding took away is the
// polynomial's argument.
// CHECK-LABEL: @picks_the_piece_by_the_bits_of_the_rounded_argument
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK: %[[U:.*]] = arith.select
// CHECK: %[[ROUNDED:.*]] = arith.addf %[[U]], %[[MAGIC:.*]] :
// CHECK: %[[MIDDLE:.*]] = arith.subf %[[ROUNDED]], %[[MAGIC_AGAIN:.*]] :
// CHECK: %[[REST:.*]] = arith.subf %[[U]], %[[MIDDLE]]
// CHECK: %[[PIECE:.*]] = arith.bitcast %[[ROUNDED]] : vector<8xf32> to vector<8xi32>
// CHECK: %[[FIFTH:.*]] = hova_cpu.lookup %[[PIECE]]
// CHECK: %[[FOURTH:.*]] = hova_cpu.lookup %[[PIECE]]
// CHECK: math.fma %[[FIFTH]], %[[REST]], %[[FOURTH]]
// CHECK-COUNT-3: hova_cpu.lookup %[[PIECE]]
// CHECK: %[[LAST:.*]] = hova_cpu.lookup %[[PIECE]], dense<[5.000000e-01, {{.*}}, 0.000000e+00]
// CHECK: %[[Q:.*]] = math.fma %{{.*}}, %[[REST]], %[[LAST]]
// CHECK: %[[MINUS_U:.*]] = arith.negf %[[U]]
// CHECK: %[[RELU:.*]] = arith.select
// CHECK: %[[Y:.*]] = math.fma %[[MINUS_U]], %[[Q]], %[[RELU]]
// CHECK: return %[[Y]]
func.func @picks_the_piece_by_the_bits_of_the_rounded_argument(%x: vector<8xf32>) -> vector<8xf32> {
  %y = hova.activation gelu_erf %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @divides_nowhere_in_gelu_tanh
// CHECK-NOT: arith.divf
// CHECK-COUNT-6: hova_cpu.lookup
// CHECK-NOT: {{hova_cpu.lookup|arith.divf}}
// CHECK: return
func.func @divides_nowhere_in_gelu_tanh(%x: vector<8xf32>) -> vector<8xf32> {
  %y = hova.activation gelu_tanh %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// Their results fall or rise over too many powers of two for sixteen pieces.
// CHECK-LABEL: @keeps_polynomials_of_others
// CHECK-NOT: hova_cpu.lookup
// CHECK: return
func.func @keeps_polynomials_of_others(%x: vector<8xf32>) -> vector<8xf32> {
  %a = hova.activation tanh %x : vector<8xf32>
  %b = hova.activation sigmoid %a : vector<8xf32>
  %c = hova.exp2 %b : vector<8xf32>
  return %c : vector<8xf32>
}

// -----

// Pieces get shorter as x grows, and four coefficients of x itself will do.
// CHECK-LABEL: @is_coarse_where_all_is_rounded_to_bf16
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK: %[[U:.*]] = arith.select
// CHECK: %[[SLOPE:.*]] = math.fma %[[U]], %{{.*}}, %{{.*}}
// CHECK: %[[ROUNDED:.*]] = math.fma %[[U]], %[[SLOPE]], %{{.*}}
// CHECK: %[[PIECE:.*]] = arith.bitcast %[[ROUNDED]] : vector<8xf32> to vector<8xi32>
// CHECK: %[[THIRD:.*]] = hova_cpu.lookup %[[PIECE]]
// CHECK: %[[SECOND:.*]] = hova_cpu.lookup %[[PIECE]]
// CHECK: math.fma %[[THIRD]], %[[U]], %[[SECOND]]
// CHECK: hova_cpu.lookup %[[PIECE]]
// CHECK: %[[LAST:.*]] = hova_cpu.lookup %[[PIECE]], dense<[0.500013292, {{.*}}, 0.000000e+00]
// CHECK: %[[Q:.*]] = math.fma %{{.*}}, %[[U]], %[[LAST]]
// CHECK: %[[MINUS_U:.*]] = arith.negf %[[U]]
// CHECK: %[[RELU:.*]] = arith.select
// CHECK: %[[Y:.*]] = math.fma %[[MINUS_U]], %[[Q]], %[[RELU]]
// CHECK: arith.truncf %[[Y]]
// CHECK-NOT: hova_cpu.lookup
// CHECK: return
func.func @is_coarse_where_all_is_rounded_to_bf16(%x: vector<8xf32>) -> vector<8xbf16> {
  %y = hova.activation gelu_erf %x : vector<8xf32>
  %r = arith.truncf %y : vector<8xf32> to vector<8xbf16>
  return %r : vector<8xbf16>
}

// -----

// CHECK-LABEL: @is_coarse_in_gelu_tanh
// CHECK-COUNT-4: hova_cpu.lookup
// CHECK-NOT: hova_cpu.lookup
// CHECK: return
func.func @is_coarse_in_gelu_tanh(%x: vector<8xf32>) -> vector<8xbf16> {
  %y = hova.activation gelu_tanh %x : vector<8xf32>
  %r = arith.truncf %y : vector<8xf32> to vector<8xbf16>
  return %r : vector<8xbf16>
}

// -----

// The ratio of the tangent to its argument is picked, so that small ones keep
// their digits.
// CHECK-LABEL: @is_rough_where_a_tangent_may_be
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK: %[[U:.*]] = arith.select
// CHECK: %[[ROUNDED:.*]] = arith.addf %[[U]], %[[MAGIC:.*]] :
// CHECK: %[[MIDDLE:.*]] = arith.subf %[[ROUNDED]], %[[MAGIC_AGAIN:.*]] :
// CHECK: %[[REST:.*]] = arith.subf %[[U]], %[[MIDDLE]]
// CHECK: %[[PIECE:.*]] = arith.bitcast %[[ROUNDED]] : vector<8xf32> to vector<8xi32>
// CHECK-COUNT-5: hova_cpu.lookup %[[PIECE]]
// CHECK: %[[RATIO:.*]] = math.fma %{{.*}}, %[[REST]], %{{.*}}
// CHECK: %[[SIZE:.*]] = arith.mulf %[[U]], %[[RATIO]]
// CHECK: %[[Y:.*]] = math.copysign %[[SIZE]], %[[X]]
// CHECK: return %[[Y]]
func.func @is_rough_where_a_tangent_may_be(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.tanh %x fastmath<afn> : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @is_rough_where_a_tangent_is_rounded_to_bf16
// CHECK-NOT: arith.divf
// CHECK-COUNT-5: hova_cpu.lookup
// CHECK-NOT: {{hova_cpu.lookup|arith.divf}}
// CHECK: return
func.func @is_rough_where_a_tangent_is_rounded_to_bf16(%x: vector<8xf32>) -> vector<8xbf16> {
  %y = hova.activation tanh %x : vector<8xf32>
  %r = arith.truncf %y : vector<8xf32> to vector<8xbf16>
  return %r : vector<8xbf16>
}

// -----

// CHECK-LABEL: @is_exact_where_a_tangent_may_only_be_reordered
// CHECK-NOT: hova_cpu.lookup
// CHECK: return
func.func @is_exact_where_a_tangent_may_only_be_reordered(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.tanh %x fastmath<reassoc> : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

// CHECK-LABEL: @is_exact_where_some_is_not_rounded
// CHECK-COUNT-6: hova_cpu.lookup
func.func @is_exact_where_some_is_not_rounded(%x: vector<8xf32>) -> (vector<8xbf16>, vector<8xf32>) {
  %y = hova.activation gelu_erf %x : vector<8xf32>
  %r = arith.truncf %y : vector<8xf32> to vector<8xbf16>
  return %r, %y : vector<8xbf16>, vector<8xf32>
}

// -----

// CHECK-LABEL: @is_exact_where_the_result_is_f16
// CHECK-COUNT-6: hova_cpu.lookup
func.func @is_exact_where_the_result_is_f16(%x: vector<8xf32>) -> vector<8xf16> {
  %y = hova.activation gelu_erf %x : vector<8xf32>
  %r = arith.truncf %y : vector<8xf32> to vector<8xf16>
  return %r : vector<8xf16>
}
