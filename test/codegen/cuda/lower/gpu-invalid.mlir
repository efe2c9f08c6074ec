// RUN: hova-opt %s --split-input-file --verify-diagnostics
// SPDX-License-Identifier: Apache-2.0

// expected-error@+1 {{'builtin.module' op expects 'hova_cuda.gpu' on a module, and one of sm_80, sm_86, sm_89, sm_90a, sm_120, got "sm_75"}}
module attributes {hova_cuda.gpu = "sm_75"} {
}

// -----

// expected-error@+1 {{'func.func' op expects 'hova_cuda.gpu' on a module, and one of sm_80, sm_86, sm_89, sm_90a, sm_120, got "sm_80"}}
func.func private @f() attributes {hova_cuda.gpu = "sm_80"}

// -----

// expected-error@+1 {{'func.func' op expects 'hova_cuda.block_cycles' on a function, two numbers that are not negative, got array<f64: 1.000000e+00>}}
func.func private @f() attributes {hova_cuda.block_cycles = array<f64: 1.0>}

// -----

// expected-error@+1 {{'func.func' op expects 'hova_cuda.block_cycles' on a function, two numbers that are not negative, got array<f64: 1.000000e+00, -1.000000e+00>}}
func.func private @f() attributes {hova_cuda.block_cycles = array<f64: 1.0, -1.0>}

// -----

// expected-error@+1 {{'builtin.module' op expects 'hova_cuda.block_cycles' on a function, two numbers that are not negative, got array<f64: 1.000000e+00, 2.000000e+00>}}
module attributes {hova_cuda.block_cycles = array<f64: 1.0, 2.0>} {
}
