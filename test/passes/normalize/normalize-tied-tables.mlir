// RUN: hova-opt %s --split-input-file --hova-normalize-tied-tables | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-tied-tables --hova-normalize-tied-tables | FileCheck %s
// RUN: hova-opt %s --split-input-file --hova-normalize-tied-tables --check-meaning -o /dev/null
// RUN: hova-opt %s --split-input-file --hova-normalize-tied-tables --hova-normalize-weights | FileCheck %s --check-prefix=STORED
// SPDX-License-Identifier: Apache-2.0

// CHECK-LABEL: @main
//       CHECK: %[[T:.*]] = hova.weight "table"
//       CHECK: %[[TURNED:.*]] = hova.transpose %[[T]] : tensor<100x8xf32> -> tensor<8x100xf32>
//       CHECK: %[[E:.*]] = hova.embedding %{{.*}}, %[[TURNED]] {hova.rewrites = {"hova-normalize-tied-tables" = {fired = true, why = "takes columns of a product's weight: 3200 bytes are stored once"}}, transposed} : tensor<1x7xi32>, tensor<8x100xf32> -> tensor<1x7x8xf32>
//       CHECK: hova.linear %[[E]], %[[TURNED]] : tensor<1x7x8xf32>, tensor<8x100xf32>
// STORED-LABEL: @weights
//       STORED: hova.store_weight "table.transpose"
//   STORED-NOT: hova.store_weight
//       STORED: return
func.func @main(%ids: tensor<1x7xi32>) -> tensor<1x7x100xf32> {
  %t = hova.weight "table" : tensor<100x8xf32>
  %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %y = hova.linear %e, %t {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
  return %y : tensor<1x7x100xf32>
}

// -----

// The table is what both read, here rounded to bf16; two embeddings and two
// products share one.
// CHECK-LABEL: @main
//       CHECK: %[[T:.*]] = hova.convert
//       CHECK: %[[TURNED:.*]] = hova.transpose %[[T]] : tensor<100x8xbf16> -> tensor<8x100xbf16>
//   CHECK-NOT: hova.transpose
//       CHECK: hova.embedding %{{.*}}, %[[TURNED]] {{.*}}1600 bytes are stored once{{.*}}, transposed}
//       CHECK: hova.embedding %{{.*}}, %[[TURNED]] {{.*}}1600 bytes are stored once{{.*}}, transposed}
//       CHECK: hova.linear %{{.*}}, %[[TURNED]] :
//       CHECK: hova.linear %{{.*}}, %[[TURNED]] :
// STORED-LABEL: @weights
// STORED-COUNT-1: hova.store_weight
//   STORED-NOT: hova.store_weight
//       STORED: return
func.func @main(%ids: tensor<1x7xi32>, %others: tensor<1x7xi32>) -> (tensor<1x7x100xf32>, tensor<1x7x100xf32>) {
  %w = hova.weight "table" : tensor<100x8xf32>
  %t = hova.convert %w : tensor<100x8xf32> -> tensor<100x8xbf16>
  %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xbf16> -> tensor<1x7x8xf32>
  %f = hova.embedding %others, %t : tensor<1x7xi32>, tensor<100x8xbf16> -> tensor<1x7x8xf32>
  %x = hova.convert %e : tensor<1x7x8xf32> -> tensor<1x7x8xbf16>
  %z = hova.convert %f : tensor<1x7x8xf32> -> tensor<1x7x8xbf16>
  %y = hova.linear %x, %t {transposed} : tensor<1x7x8xbf16>, tensor<100x8xbf16> -> tensor<1x7x100xf32>
  %u = hova.linear %z, %t {transposed} : tensor<1x7x8xbf16>, tensor<100x8xbf16> -> tensor<1x7x100xf32>
  return %y, %u : tensor<1x7x100xf32>, tensor<1x7x100xf32>
}

// -----

// Something else reads rows of the table: it is stored as it is in any case.
// CHECK-LABEL: @main
//       CHECK: %[[T:.*]] = hova.weight "table"
//   CHECK-NOT: hova.transpose
//       CHECK: hova.embedding %{{.*}}, %[[T]] {hova.rewrites = {"hova-normalize-tied-tables" = {fired = false, fires_if = "embeddings and products with the transpose alone read the table", why = "'hova.add' reads the table too, which is stored as it is for it"}}}
//       CHECK: hova.linear %{{.*}}, %[[T]] {transposed}
// STORED-LABEL: @weights
// STORED-COUNT-2: hova.store_weight
func.func @main(%ids: tensor<1x7xi32>, %x: tensor<100x8xf32>) -> (tensor<1x7x100xf32>, tensor<100x8xf32>) {
  %t = hova.weight "table" : tensor<100x8xf32>
  %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %y = hova.linear %e, %t {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
  %s = hova.add %x, %t : tensor<100x8xf32>, tensor<100x8xf32>
  return %y, %s : tensor<1x7x100xf32>, tensor<100x8xf32>
}

// -----

// What is folded of the table is a tensor of its own.
// CHECK-LABEL: @main
//       CHECK: hova.embedding {{.*}}fired = true
func.func @main(%ids: tensor<1x7xi32>, %x: tensor<1x7x12xf32>) -> (tensor<1x7x100xf32>, tensor<1x7x8xf32>) {
  %t = hova.weight "table" : tensor<100x8xf32>
  %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %y = hova.linear %e, %t {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
  %s = hova.slice %t {axis = 0 : i64, offset = 2 : i64} : tensor<100x8xf32> -> tensor<12x8xf32>
  %z = hova.linear %x, %s : tensor<1x7x12xf32>, tensor<12x8xf32> -> tensor<1x7x8xf32>
  return %y, %z : tensor<1x7x100xf32>, tensor<1x7x8xf32>
}

// -----

// Not tied: no verdict. A product that multiplies by the table itself, and a
// table that is an input, have no transpose in the image.
// CHECK-LABEL: @main
//   CHECK-NOT: hova.rewrites
//   CHECK-NOT: hova.transpose
//       CHECK: return
func.func @main(%ids: tensor<1x7xi32>, %x: tensor<1x7x100xf32>, %i: tensor<100x8xf32>) -> (tensor<1x7x8xf32>, tensor<1x7x100xf32>) {
  %t = hova.weight "table" : tensor<100x8xf32>
  %e = hova.embedding %ids, %t : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %y = hova.linear %x, %t : tensor<1x7x100xf32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %s = hova.add %e, %y : tensor<1x7x8xf32>, tensor<1x7x8xf32>
  %f = hova.embedding %ids, %i : tensor<1x7xi32>, tensor<100x8xf32> -> tensor<1x7x8xf32>
  %z = hova.linear %f, %i {transposed} : tensor<1x7x8xf32>, tensor<100x8xf32> -> tensor<1x7x100xf32>
  return %s, %z : tensor<1x7x8xf32>, tensor<1x7x100xf32>
}
