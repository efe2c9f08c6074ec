// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cuda.fusion}' | FileCheck %s --check-prefix=CUDA
// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cuda.fusion} only-necessary' | FileCheck %s --check-prefix=ELSEWHERE
// RUN: hova-opt %s --split-input-file --hova-split-reductions='policy={#hova_cpu.fusion<part_terms = 5>}' | FileCheck %s --check-prefix=ELSEWHERE
// SPDX-License-Identifier: Apache-2.0

// On a GPU the parts of what is stored as 16 bits are narrow, though nothing has
// to be: not on a processor, and not where the pass divides what it must alone.
// CUDA-LABEL: @main
// CUDA: hova.key_summary {{.*}}, narrow}
// CUDA: hova.summary_attention {{.*}}, narrow}
// ELSEWHERE-LABEL: @main
// ELSEWHERE-NOT: narrow
// ELSEWHERE: hova.summary_attention
// ELSEWHERE-NOT: narrow
func.func @main(%q: tensor<1x9x8xbf16>) -> tensor<1x9x8xbf16> {
  %o = hova.linear_attention relu %q, %q, %q {heads = 2 : i64}
      : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xbf16>) -> tensor<1x9x8xbf16>
  return %o : tensor<1x9x8xbf16>
}

// -----

// f32 stays f32, and so do factors of two types.
// CUDA-LABEL: @main
// CUDA-NOT: narrow
// CUDA: hova.summary_attention
// CUDA-NOT: narrow
// CUDA: hova.summary_attention
// CUDA-NOT: narrow
// ELSEWHERE-LABEL: @main
func.func @main(%q: tensor<1x9x8xf32>, %k: tensor<1x9x8xbf16>) -> (tensor<1x9x8xf32>, tensor<1x9x8xbf16>) {
  %o = hova.linear_attention relu %q, %q, %q {heads = 2 : i64}
      : (tensor<1x9x8xf32>, tensor<1x9x8xf32>, tensor<1x9x8xf32>) -> tensor<1x9x8xf32>
  %p = hova.linear_attention relu %k, %k, %q {heads = 2 : i64}
      : (tensor<1x9x8xbf16>, tensor<1x9x8xbf16>, tensor<1x9x8xf32>) -> tensor<1x9x8xbf16>
  return %o, %p : tensor<1x9x8xf32>, tensor<1x9x8xbf16>
}

// -----

// What is narrow already stays so, whoever divides it.
// CUDA-LABEL: @main
// ELSEWHERE-LABEL: @main
// ELSEWHERE: hova.key_summary {{.*}}, narrow}
// ELSEWHERE: hova.summary_attention {{.*}}, narrow}
func.func @main(%q: tensor<1x9x8xf16>) -> tensor<1x9x8xf16> {
  %o = hova.linear_attention relu %q, %q, %q {heads = 2 : i64, narrow}
      : (tensor<1x9x8xf16>, tensor<1x9x8xf16>, tensor<1x9x8xf16>) -> tensor<1x9x8xf16>
  return %o : tensor<1x9x8xf16>
}
