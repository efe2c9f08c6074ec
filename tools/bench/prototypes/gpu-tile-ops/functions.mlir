//===- functions.mlir - A product, an attention and a norm in tile ops ----===//
// SPDX-License-Identifier: Apache-2.0
//
// The last two arguments are the indices of a unit. Four members throughout.

#group = #tile.home<group>

// y = gelu(x wT + b): units of 64 rows x 128 columns, steps of 64 along k, two
// of them on their way while the third is used.
func.func @product(%x: memref<197x768xbf16>, %w: memref<3072x768xbf16>, %b: memref<1x3072xf32>,
                   %y: memref<197x3072xbf16>, %rows: index, %columns: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %rows, %c64 : index
  %column = arith.muli %columns, %c128 : index
  %xs = tile.alloc : memref<3x64x64xbf16, #group>
  %ws = tile.alloc : memref<3x128x64xbf16, #group>
  %x0 = tile.copy %x[%row, %c0] to %xs[%c0] : memref<197x768xbf16> to memref<3x64x64xbf16, #group>
  %w0 = tile.copy %w[%column, %c0] to %ws[%c0] : memref<3072x768xbf16> to memref<3x128x64xbf16, #group>
  %x1 = tile.copy %x[%row, %c64] to %xs[%c1] : memref<197x768xbf16> to memref<3x64x64xbf16, #group>
  %w1 = tile.copy %w[%column, %c64] to %ws[%c1] : memref<3072x768xbf16> to memref<3x128x64xbf16, #group>
  %f0 = arith.constant 0.0 : f32
  %zero = tile.map () : () -> !tile.tile<64x128xf32, product 4x1> {
  ^bb0(%i: index, %j: index):
    tile.yield %f0 : f32
  }
  %r:5 = scf.for %step = %c0 to %c12 step %c1
      iter_args(%sum = %zero, %xa = %x0, %wa = %w0, %xb = %x1, %wb = %w1)
      -> (!tile.tile<64x128xf32, product 4x1>, !tile.token, !tile.token, !tile.token, !tile.token) {
    tile.wait %xa, %wa
    // Behind the last column the copies bring zeros that nobody reads.
    %ahead = arith.addi %step, %c2 : index
    %k = arith.muli %ahead, %c64 : index
    %free = arith.remui %ahead, %c3 : index
    %xc = tile.copy %x[%row, %k] to %xs[%free] : memref<197x768xbf16> to memref<3x64x64xbf16, #group>
    %wc = tile.copy %w[%column, %k] to %ws[%free] : memref<3072x768xbf16> to memref<3x128x64xbf16, #group>
    %slot = arith.remui %step, %c3 : index
    %next = tile.product %xs[%slot], %ws[%slot] transposed, %sum
        : memref<3x64x64xbf16, #group>, memref<3x128x64xbf16, #group>, !tile.tile<64x128xf32, product 4x1>
    scf.yield %next, %xb, %wb, %xc, %wc
        : !tile.tile<64x128xf32, product 4x1>, !tile.token, !tile.token, !tile.token, !tile.token
  }
  tile.wait %r#1, %r#2, %r#3, %r#4
  %bias = tile.load %b[%c0, %column] : memref<1x3072xf32> -> !tile.tile<1x128xf32, product 4x1>
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.70710678118654752 : f32
  %g = tile.map (%r#0, %bias) : (!tile.tile<64x128xf32, product 4x1>, !tile.tile<1x128xf32, product 4x1>)
      -> !tile.tile<64x128xbf16, product 4x1> {
  ^bb0(%s: f32, %v: f32, %i: index, %j: index):
    %t = arith.addf %s, %v : f32
    %u = arith.mulf %t, %root : f32
    %e = math.erf %u : f32
    %f = arith.addf %e, %one : f32
    %h = arith.mulf %t, %half : f32
    %z = arith.mulf %h, %f : f32
    %n = arith.truncf %z : f32 to bf16
    tile.yield %n : bf16
  }
  tile.store %g, %y[%row, %column] : !tile.tile<64x128xbf16, product 4x1>, memref<197x3072xbf16>
  return
}

// o = softmax(q kT / 8) v for heads of width 64: units of 64 queries and a head.
// The next keys and values are on their way while these are used.
func.func @attention(%qkv: memref<197x2304xbf16>, %o: memref<197x768xbf16>, %block: index, %head: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %tiles = arith.constant 4 : index
  %keys = arith.constant 197 : index
  %c64 = arith.constant 64 : index
  %width = arith.constant 768 : index
  %row = arith.muli %block, %c64 : index
  %qc = arith.muli %head, %c64 : index
  %kc = arith.addi %qc, %width : index
  %vc = arith.addi %kc, %width : index
  %qs = tile.alloc : memref<1x64x64xbf16, #group>
  %ks = tile.alloc : memref<2x64x64xbf16, #group>
  %vs = tile.alloc : memref<2x64x64xbf16, #group>
  %tq = tile.copy %qkv[%row, %qc] to %qs[%c0] : memref<197x2304xbf16> to memref<1x64x64xbf16, #group>
  %tk0 = tile.copy %qkv[%c0, %kc] to %ks[%c0] : memref<197x2304xbf16> to memref<2x64x64xbf16, #group>
  %tv0 = tile.copy %qkv[%c0, %vc] to %vs[%c0] : memref<197x2304xbf16> to memref<2x64x64xbf16, #group>
  %f0 = arith.constant 0.0 : f32
  %least = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.18033688011112042 : f32 // log2(e) / 8
  %none = tile.map () : () -> !tile.tile<64x1xf32, product 4x1> {
  ^bb0(%i: index, %j: index):
    tile.yield %f0 : f32
  }
  %low = tile.map () : () -> !tile.tile<64x1xf32, product 4x1> {
  ^bb0(%i: index, %j: index):
    tile.yield %least : f32
  }
  %zero = tile.map () : () -> !tile.tile<64x64xf32, product 4x1> {
  ^bb0(%i: index, %j: index):
    tile.yield %f0 : f32
  }
  tile.wait %tq
  %r:5 = scf.for %tile = %c0 to %tiles step %c1
      iter_args(%m = %low, %l = %none, %acc = %zero, %tk = %tk0, %tv = %tv0)
      -> (!tile.tile<64x1xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>,
          !tile.tile<64x64xf32, product 4x1>, !tile.token, !tile.token) {
    tile.wait %tk
    %slot = arith.remui %tile, %c2 : index
    %next = arith.addi %tile, %c1 : index
    %free = arith.remui %next, %c2 : index
    %nextkey = arith.muli %next, %c64 : index
    %tk1 = tile.copy %qkv[%nextkey, %kc] to %ks[%free] : memref<197x2304xbf16> to memref<2x64x64xbf16, #group>
    %tv1 = tile.copy %qkv[%nextkey, %vc] to %vs[%free] : memref<197x2304xbf16> to memref<2x64x64xbf16, #group>
    %s = tile.product %qs[%c0], %ks[%slot] transposed, %zero
        : memref<1x64x64xbf16, #group>, memref<2x64x64xbf16, #group>, !tile.tile<64x64xf32, product 4x1>
    %key = arith.muli %tile, %c64 : index
    %sm = tile.map (%s) : (!tile.tile<64x64xf32, product 4x1>) -> !tile.tile<64x64xf32, product 4x1> {
    ^bb0(%e: f32, %i: index, %j: index):
      %own = arith.addi %key, %j : index
      %there = arith.cmpi ult, %own, %keys : index
      %f = arith.select %there, %e, %least : f32
      tile.yield %f : f32
    }
    %top = tile.reduce max %sm : !tile.tile<64x64xf32, product 4x1> -> !tile.tile<64x1xf32, product 4x1>
    %m1 = tile.map (%m, %top) : (!tile.tile<64x1xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>)
        -> !tile.tile<64x1xf32, product 4x1> {
    ^bb0(%a: f32, %b: f32, %i: index, %j: index):
      %c = arith.maxnumf %a, %b fastmath<nnan,nsz> : f32
      tile.yield %c : f32
    }
    %p = tile.map (%sm, %m1) : (!tile.tile<64x64xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>)
        -> !tile.tile<64x64xf32, product 4x1> {
    ^bb0(%a: f32, %b: f32, %i: index, %j: index):
      %c = arith.subf %a, %b : f32
      %d = arith.mulf %c, %scale : f32
      %e = math.exp2 %d : f32
      tile.yield %e : f32
    }
    %shrink = tile.map (%m, %m1) : (!tile.tile<64x1xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>)
        -> !tile.tile<64x1xf32, product 4x1> {
    ^bb0(%a: f32, %b: f32, %i: index, %j: index):
      %c = arith.subf %a, %b : f32
      %d = arith.mulf %c, %scale : f32
      %e = math.exp2 %d : f32
      tile.yield %e : f32
    }
    %ps = tile.reduce add %p : !tile.tile<64x64xf32, product 4x1> -> !tile.tile<64x1xf32, product 4x1>
    %l1 = tile.map (%l, %shrink, %ps) : (!tile.tile<64x1xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>,
        !tile.tile<64x1xf32, product 4x1>) -> !tile.tile<64x1xf32, product 4x1> {
    ^bb0(%a: f32, %b: f32, %c: f32, %i: index, %j: index):
      %d = math.fma %a, %b, %c : f32
      tile.yield %d : f32
    }
    %small = tile.map (%acc, %shrink) : (!tile.tile<64x64xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>)
        -> !tile.tile<64x64xf32, product 4x1> {
    ^bb0(%a: f32, %b: f32, %i: index, %j: index):
      %c = arith.mulf %a, %b : f32
      tile.yield %c : f32
    }
    %ph = tile.map (%p) : (!tile.tile<64x64xf32, product 4x1>) -> !tile.tile<64x64xbf16, product 4x1> {
    ^bb0(%a: f32, %i: index, %j: index):
      %b = arith.truncf %a : f32 to bf16
      tile.yield %b : bf16
    }
    tile.wait %tv
    %acc1 = tile.product %ph, %vs[%slot], %small
        : !tile.tile<64x64xbf16, product 4x1>, memref<2x64x64xbf16, #group>, !tile.tile<64x64xf32, product 4x1>
    scf.yield %m1, %l1, %acc1, %tk1, %tv1 : !tile.tile<64x1xf32, product 4x1>,
        !tile.tile<64x1xf32, product 4x1>, !tile.tile<64x64xf32, product 4x1>, !tile.token, !tile.token
  }
  tile.wait %r#3, %r#4
  %one = arith.constant 1.0 : f32
  %inverse = tile.map (%r#1) : (!tile.tile<64x1xf32, product 4x1>) -> !tile.tile<64x1xf32, product 4x1> {
  ^bb0(%a: f32, %i: index, %j: index):
    %c = arith.divf %one, %a : f32
    tile.yield %c : f32
  }
  %out = tile.map (%r#2, %inverse) : (!tile.tile<64x64xf32, product 4x1>, !tile.tile<64x1xf32, product 4x1>)
      -> !tile.tile<64x64xbf16, product 4x1> {
  ^bb0(%a: f32, %b: f32, %i: index, %j: index):
    %c = arith.mulf %a, %b : f32
    %d = arith.truncf %c : f32 to bf16
    tile.yield %d : bf16
  }
  tile.store %out, %o[%row, %qc] : !tile.tile<64x64xbf16, product 4x1>, memref<197x768xbf16>
  return
}

// y = (x - mean x) / sqrt(var x + eps) * gain + bias: units of four rows.
func.func @norm(%x: memref<197x768xf32>, %gain: memref<1x768xf32>, %bias: memref<1x768xf32>,
                %y: memref<197x768xbf16>, %rows: index, %unused: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %part = arith.constant 1.3020833333333333e-3 : f32 // 1 / 768
  %eps = arith.constant 1.0e-6 : f32
  %row = arith.muli %rows, %c4 : index
  %t = tile.load %x[%row, %c0] : memref<197x768xf32> -> !tile.tile<4x768xf32, row 4x1>
  %g = tile.load %gain[%c0, %c0] : memref<1x768xf32> -> !tile.tile<1x768xf32, row 4x1>
  %b = tile.load %bias[%c0, %c0] : memref<1x768xf32> -> !tile.tile<1x768xf32, row 4x1>
  %sum = tile.reduce add %t : !tile.tile<4x768xf32, row 4x1> -> !tile.tile<4x1xf32, row 4x1>
  %d = tile.map (%t, %sum) : (!tile.tile<4x768xf32, row 4x1>, !tile.tile<4x1xf32, row 4x1>)
      -> !tile.tile<4x768xf32, row 4x1> {
  ^bb0(%a: f32, %s: f32, %i: index, %j: index):
    %mean = arith.mulf %s, %part : f32
    %c = arith.subf %a, %mean : f32
    tile.yield %c : f32
  }
  %squares = tile.map (%d) : (!tile.tile<4x768xf32, row 4x1>) -> !tile.tile<4x768xf32, row 4x1> {
  ^bb0(%a: f32, %i: index, %j: index):
    %c = arith.mulf %a, %a : f32
    tile.yield %c : f32
  }
  %total = tile.reduce add %squares : !tile.tile<4x768xf32, row 4x1> -> !tile.tile<4x1xf32, row 4x1>
  %factor = tile.map (%total) : (!tile.tile<4x1xf32, row 4x1>) -> !tile.tile<4x1xf32, row 4x1> {
  ^bb0(%s: f32, %i: index, %j: index):
    %v = math.fma %s, %part, %eps : f32
    %c = math.rsqrt %v : f32
    tile.yield %c : f32
  }
  %out = tile.map (%d, %factor, %g, %b) : (!tile.tile<4x768xf32, row 4x1>, !tile.tile<4x1xf32, row 4x1>,
      !tile.tile<1x768xf32, row 4x1>, !tile.tile<1x768xf32, row 4x1>) -> !tile.tile<4x768xbf16, row 4x1> {
  ^bb0(%a: f32, %f: f32, %u: f32, %v: f32, %i: index, %j: index):
    %n = arith.mulf %a, %f : f32
    %c = math.fma %n, %u, %v : f32
    %h = arith.truncf %c : f32 to bf16
    tile.yield %h : bf16
  }
  tile.store %out, %y[%row, %c0] : !tile.tile<4x768xbf16, row 4x1>, memref<197x768xbf16>
  return
}
