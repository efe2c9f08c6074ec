// RUN: hova-opt %s --hova-assign-gpu=gpu=sm_86 --split-input-file | FileCheck %s
// RUN: hova-opt %s --hova-assign-gpu --split-input-file | FileCheck %s --check-prefix=FIRST
// RUN: hova-opt %s --hova-assign-gpu=gpu=sm_86 --hova-assign-gpu=gpu=sm_86 --split-input-file | FileCheck %s
// RUN: not hova-opt %s --hova-assign-gpu=gpu=sm_75 --split-input-file 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// SPDX-License-Identifier: Apache-2.0

// CHECK: module @names_none attributes {hova_cuda.gpu = "sm_86"} {
// FIRST: module @names_none attributes {hova_cuda.gpu = "sm_80"} {
// UNKNOWN: error: expects a GPU of sm_80, sm_86, sm_89, sm_90a, sm_120, got 'sm_75'
module @names_none {
}

// -----

// CHECK: module @names_another attributes {hova_cuda.gpu = "sm_86"} {
// FIRST: module @names_another attributes {hova_cuda.gpu = "sm_80"} {
module @names_another attributes {hova_cuda.gpu = "sm_120"} {
}
