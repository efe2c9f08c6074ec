// RUN: hova-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(hova-normalize-storage))' | FileCheck %s
// RUN: hova-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(hova-normalize-storage,hova-normalize-storage))' | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// Matrices, not vectors; both readers of the input share its conversion.
module attributes {hova.storage = bf16} {
  // CHECK-LABEL: @converts_what_products_read
  // CHECK-SAME: %[[X:.*]]: tensor<1x9x8xf32>, %[[B:.*]]: tensor<8xf32>
  // CHECK-NEXT: %[[NARROW:.*]] = hova.convert %[[X]] : tensor<1x9x8xf32> -> tensor<1x9x8xbf16>
  // CHECK-NEXT: %[[W:.*]] = hova.weight "w"
  // CHECK-NEXT: %[[STORED:.*]] = hova.convert %[[W]] : tensor<8x8xf32> -> tensor<8x8xbf16>
  // CHECK-NEXT: %[[A:.*]] = hova.linear %[[NARROW]], %[[STORED]] bias(%[[B]])
  // CHECK-NEXT: %[[C:.*]] = hova.linear %[[NARROW]], %[[STORED]] :
  // CHECK-NEXT: hova.add %[[A]], %[[C]] : tensor<1x9x8xf32>
  func.func @converts_what_products_read(%x: tensor<1x9x8xf32>, %b: tensor<8xf32>) -> tensor<1x9x8xf32> {
    %w = hova.weight "w" : tensor<8x8xf32>
    %a = hova.linear %x, %w bias(%b) : tensor<1x9x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<1x9x8xf32>
    %c = hova.linear %x, %w : tensor<1x9x8xf32>, tensor<8x8xf32> -> tensor<1x9x8xf32>
    %y = hova.add %a, %c : tensor<1x9x8xf32>, tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }

  // The residual stream is read as it is by the sum.
  // CHECK-LABEL: @keeps_the_residual_stream
  // CHECK-SAME: %[[X:.*]]: tensor<1x9x8xf32>, %[[W:.*]]: tensor<8x8xbf16>
  // CHECK: %[[NARROW:.*]] = hova.convert %[[X]]
  // CHECK: %[[Y:.*]] = hova.linear %[[NARROW]], %[[W]]
  // CHECK: hova.add %[[X]], %[[Y]] : tensor<1x9x8xf32>
  func.func @keeps_the_residual_stream(%x: tensor<1x9x8xf32>, %w: tensor<8x8xbf16>) -> tensor<1x9x8xf32> {
    %a = hova.linear %x, %w : tensor<1x9x8xf32>, tensor<8x8xbf16> -> tensor<1x9x8xf32>
    %y = hova.add %x, %a : tensor<1x9x8xf32>, tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }

  // CHECK-LABEL: @converts_tables
  // CHECK: %[[T:.*]] = hova.convert %{{.*}} : tensor<100x8xf32> -> tensor<100x8xf16>
  // CHECK-NOT: hova.embedding %{{.*}}, %[[T]]
  // CHECK: %[[STORED:.*]] = hova.convert %{{.*}} : tensor<100x8xf32> -> tensor<100x8xbf16>
  // CHECK: hova.embedding %{{.*}}, %[[STORED]] : tensor<1x4xi32>, tensor<100x8xbf16> -> tensor<1x4x8xf32>
  func.func @converts_tables(%ids: tensor<1x4xi32>, %t: tensor<100x8xf32>) -> (tensor<1x4x8xf32>, tensor<100x8xf16>) {
    %other = hova.convert %t : tensor<100x8xf32> -> tensor<100x8xf16>
    %w = hova.weight "t" : tensor<100x8xf32>
    %y = hova.embedding %ids, %w : tensor<1x4xi32>, tensor<100x8xf32> -> tensor<1x4x8xf32>
    return %y, %other : tensor<1x4x8xf32>, tensor<100x8xf16>
  }

  // One conversion before the slices, and attention is stored by itself.
  // CHECK-LABEL: @converts_before_slices_and_stores_attention
  // CHECK-SAME: %[[X:.*]]: tensor<1x9x24xf32>
  // CHECK-NEXT: %[[NARROW:.*]] = hova.convert %[[X]]
  // CHECK-NEXT: %[[Q:.*]] = hova.slice %[[NARROW]] {{.*}}offset = 0
  // CHECK-NEXT: %[[K:.*]] = hova.slice %[[NARROW]] {{.*}}offset = 8
  // CHECK-NEXT: %[[V:.*]] = hova.slice %[[NARROW]] {{.*}}offset = 16
  // CHECK-NEXT: %[[O:.*]] = hova.attention %[[Q]], %[[K]], %[[V]] {{.*}} -> tensor<1x9x8xbf16>
  // CHECK: hova.linear %[[O]], %{{.*}} : tensor<1x9x8xbf16>
  func.func @converts_before_slices_and_stores_attention(%x: tensor<1x9x24xf32>, %w: tensor<8x8xbf16>) -> tensor<1x9x8xf32> {
    %q = hova.slice %x {axis = 2 : i64, offset = 0 : i64} : tensor<1x9x24xf32> -> tensor<1x9x8xf32>
    %k = hova.slice %x {axis = 2 : i64, offset = 8 : i64} : tensor<1x9x24xf32> -> tensor<1x9x8xf32>
    %v = hova.slice %x {axis = 2 : i64, offset = 16 : i64} : tensor<1x9x24xf32> -> tensor<1x9x8xf32>
    %o = hova.attention %q, %k, %v
        {heads = 2 : i64}
        : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    %y = hova.linear %o, %w : tensor<1x9x8xf32>, tensor<8x8xbf16> -> tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }

  // A slice that came between a value and its conversion later.
  // CHECK-LABEL: @moves_conversions_before_slices
  // CHECK-SAME: %[[X:.*]]: tensor<1x9x24xf32>
  // CHECK-NEXT: %[[NARROW:.*]] = hova.convert %[[X]]
  // CHECK-NEXT: %[[PART:.*]] = hova.slice %[[NARROW]] {{.*}} : tensor<1x9x24xbf16> -> tensor<1x9x8xbf16>
  // CHECK-NEXT: hova.linear %[[PART]]
  func.func @moves_conversions_before_slices(%x: tensor<1x9x24xf32>, %w: tensor<8x8xbf16>) -> tensor<1x9x8xf32> {
    %s = hova.slice %x {axis = 2 : i64, offset = 8 : i64} : tensor<1x9x24xf32> -> tensor<1x9x8xf32>
    %c = hova.convert %s : tensor<1x9x8xf32> -> tensor<1x9x8xbf16>
    %y = hova.linear %c, %w : tensor<1x9x8xbf16>, tensor<8x8xbf16> -> tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }

  // A slice of tokens stays before: fewer rows are converted.
  // CHECK-LABEL: @converts_after_a_slice_of_tokens
  // CHECK: %[[ROW:.*]] = hova.slice %{{.*}} {axis = 1 {{.*}} -> tensor<1x1x8xf32>
  // CHECK-NEXT: hova.convert %[[ROW]]
  func.func @converts_after_a_slice_of_tokens(%x: tensor<1x9x8xf32>, %w: tensor<8x8xbf16>) -> tensor<1x1x8xf32> {
    %s = hova.slice %x {axis = 1 : i64, offset = 0 : i64} : tensor<1x9x8xf32> -> tensor<1x1x8xf32>
    %y = hova.linear %s, %w : tensor<1x1x8xf32>, tensor<8x8xbf16> -> tensor<1x1x8xf32>
    return %y : tensor<1x1x8xf32>
  }

  // Attention with a second reader keeps both.
  // CHECK-LABEL: @keeps_attention_that_is_read_twice
  // CHECK: %[[O:.*]] = hova.attention {{.*}} -> tensor<1x9x8xf32>
  // CHECK: %[[NARROW:.*]] = hova.convert %[[O]]
  // CHECK-NEXT: hova.linear %[[NARROW]]
  // CHECK-NEXT: return %{{.*}}, %[[O]]
  func.func @keeps_attention_that_is_read_twice(%x: tensor<1x9x8xbf16>, %w: tensor<8x8xbf16>) -> (tensor<1x9x8xf32>, tensor<1x9x8xf32>) {
    %o = hova.attention %x, %x, %x
        {heads = 2 : i64}
        : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) -> tensor<1x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    %y = hova.linear %o, %w : tensor<1x9x8xf32>, tensor<8x8xbf16> -> tensor<1x9x8xf32>
    return %y, %o : tensor<1x9x8xf32>, tensor<1x9x8xf32>
  }

  // Additive scores are no product: only the values are.
  // CHECK-LABEL: @keeps_queries_of_additive_attention
  // CHECK-SAME: %[[X:.*]]: tensor<1x9x8xf32>
  // CHECK: %[[V:.*]] = hova.convert %[[X]]
  // CHECK: hova.attention %[[X]], %[[X]], %[[V]] similarity(#hova.additive)
  func.func @keeps_queries_of_additive_attention(%x: tensor<1x9x8xf32>, %s: tensor<8xf32>) -> tensor<1x9x8xf32> {
    %o = hova.attention %x, %x, %x similarity(#hova.additive) score_vector(%s)
        {heads = 2 : i64}
        : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<8xf32>) -> tensor<1x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    return %o : tensor<1x9x8xf32>
  }

  // Heads are scaled in the type that they and the product after are of.
  // CHECK-LABEL: @stores_scaled_heads
  // CHECK: %[[O:.*]] = hova.attention {{.*}} -> tensor<1x9x8xbf16>
  // CHECK: %[[B:.*]] = hova.head_logits %[[O]]
  // CHECK-NEXT: %[[H:.*]] = hova.scale_heads %[[O]], %[[B]] : tensor<1x9x8xbf16>, tensor<1x9x2xf32>
  // CHECK-NEXT: hova.linear %[[H]]
  func.func @stores_scaled_heads(%x: tensor<1x9x8xbf16>, %s: tensor<1x9x4xf32>, %a: tensor<4x4xbf16>, %b: tensor<4xf32>, %w: tensor<8x8xbf16>) -> tensor<1x9x8xf32> {
    %o = hova.attention %x, %x, %x
        {heads = 2 : i64}
        : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) -> tensor<1x9x8xf32> scores {
    ^bb0(%raw: f32, %batch: index, %head: index, %query: index, %key: index):
      %all = arith.constant true
      hova.score_yield %raw kept %all
    }
    %l = hova.head_logits %o, %s, %a, %b {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x9x4xf32>, tensor<4x4xbf16>, tensor<4xf32>) -> tensor<1x9x2xf32>
    %h = hova.scale_heads %o, %l : tensor<1x9x8xf32>, tensor<1x9x2xf32>
    %y = hova.linear %h, %w : tensor<1x9x8xf32>, tensor<8x8xbf16> -> tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }

  // What is scaled twice is of one type if the second result suits it, and only then.
  // CHECK-LABEL: @stores_heads_that_are_scaled_twice
  // CHECK: %[[ONCE:.*]] = hova.scale_heads %{{.*}} : tensor<1x9x8xbf16>
  // CHECK-NEXT: %[[TWICE:.*]] = hova.scale_heads %[[ONCE]], %{{.*}} : tensor<1x9x8xbf16>
  // CHECK-NEXT: hova.linear %[[TWICE]]
  func.func @stores_heads_that_are_scaled_twice(%x: tensor<1x9x8xf32>, %l: tensor<1x9x2xf32>, %w: tensor<8x8xbf16>) -> tensor<1x9x8xf32> {
    %h = hova.scale_heads %x, %l : tensor<1x9x8xf32>, tensor<1x9x2xf32>
    %t = hova.scale_heads %h, %l : tensor<1x9x8xf32>, tensor<1x9x2xf32>
    %y = hova.linear %t, %w : tensor<1x9x8xf32>, tensor<8x8xbf16> -> tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }

  // CHECK-LABEL: @keeps_heads_that_are_scaled_twice_and_leave
  // CHECK: %[[ONCE:.*]] = hova.scale_heads %{{.*}} : tensor<1x9x8xf32>
  // CHECK: hova.scale_heads %[[ONCE]], %{{.*}} : tensor<1x9x8xf32>
  func.func @keeps_heads_that_are_scaled_twice_and_leave(%x: tensor<1x9x8xf32>, %l: tensor<1x9x2xf32>, %s: tensor<1x9x4xf32>, %a: tensor<4x4xbf16>, %b: tensor<4xf32>) -> tensor<1x9x8xf32> {
    %h = hova.scale_heads %x, %l : tensor<1x9x8xf32>, tensor<1x9x2xf32>
    %m = hova.head_logits %h, %s, %a, %b {heads = 2 : i64} : (tensor<1x9x8xf32>, tensor<1x9x4xf32>, tensor<4x4xbf16>, tensor<4xf32>) -> tensor<1x9x2xf32>
    %t = hova.scale_heads %h, %m : tensor<1x9x8xf32>, tensor<1x9x2xf32>
    return %t : tensor<1x9x8xf32>
  }

  // CHECK-LABEL: @keeps_scaled_heads_that_leave
  // CHECK: hova.scale_heads %{{.*}} : tensor<1x9x8xf32>
  func.func @keeps_scaled_heads_that_leave(%x: tensor<1x9x8xf32>, %l: tensor<1x9x2xf32>) -> tensor<1x9x8xf32> {
    %h = hova.scale_heads %x, %l : tensor<1x9x8xf32>, tensor<1x9x2xf32>
    return %h : tensor<1x9x8xf32>
  }

  // The matrix with zeros beside the blocks is made of converted blocks.
  // CHECK-LABEL: @converts_before_blocks_are_spread
  // CHECK: %[[W:.*]] = hova.weight
  // CHECK-NEXT: %[[NARROW:.*]] = hova.convert %[[W]]
  // CHECK-NEXT: %[[SPREAD:.*]] = hova.block_diagonal %[[NARROW]] : tensor<2x4x3xbf16> -> tensor<8x6xbf16>
  // CHECK-NEXT: hova.linear %{{.*}}, %[[SPREAD]]
  func.func @converts_before_blocks_are_spread(%x: tensor<1x8xbf16>) -> tensor<1x6xf32> {
    %w = hova.weight "w" : tensor<2x4x3xf32>
    %d = hova.block_diagonal %w : tensor<2x4x3xf32> -> tensor<8x6xf32>
    %y = hova.linear %x, %d : tensor<1x8xbf16>, tensor<8x6xf32> -> tensor<1x6xf32>
    return %y : tensor<1x6xf32>
  }

  // What a compound operation multiplies its weights with is not known yet.
  // CHECK-LABEL: @converts_weights_of_compound_operations
  // CHECK: hova.channel_gate {{.*}} : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<4x8xbf16>, tensor<8xf32>)
  func.func @converts_weights_of_compound_operations(%x: tensor<1x9x8xf32>, %u: tensor<8x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<1x9x8xf32> {
    %y = hova.channel_gate %x, %x, %u, %u, %w gate_bias(%b) : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<1x9x8xf32>
    return %y : tensor<1x9x8xf32>
  }
}

// -----

// CHECK-LABEL: @does_nothing_without_a_storage_type
// CHECK-NOT: hova.convert
// CHECK: return
func.func @does_nothing_without_a_storage_type(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %w = hova.weight "w" : tensor<8x8xf32>
  %y = hova.linear %x, %w : tensor<1x8xf32>, tensor<8x8xf32> -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
