// The reducer keeps what makes the script end with status 1.

// RUN: hova-reduce %s --reduction-tree='traversal-mode=0 test=%S/Inputs/has-gelu.sh' | FileCheck %s

// Passes of a plugin reduce too, and are known by name only if it is loaded.
// RUN: hova-reduce %s --load-pass-plugin=%plugin --opt-reduction-pass='opt-pass=test-erase-unrelated test=%S/Inputs/has-gelu.sh' | FileCheck %s
// RUN: not hova-reduce %s --opt-reduction-pass='opt-pass=test-erase-unrelated test=%S/Inputs/has-gelu.sh' 2>&1 | FileCheck %s --check-prefix=WITHOUT
// RUN: not hova-reduce %s --load-pass-plugin %t.so 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hova-lsp-server --load-dialect-plugin=%extension < /dev/null 2>&1 | FileCheck %s --check-prefix=NO-DIALECTS

// After "--" is a file, whatever its name.
// RUN: not hova-reduce -- --load-pass-plugin=none.so 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not hova-opt -- --load-pass-plugin=none.so 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not hova-opt --load-pass-plugin 2>&1 < /dev/null | FileCheck %s --check-prefix=VALUE

// FILE: cannot open input file '--load-pass-plugin=none.so'
// VALUE: requires a value
// WITHOUT: 'test-erase-unrelated' does not refer to a registered pass
// NONE: hova-reduce: error: {{.*}}reduce.mlir.tmp.so
// NO-DIALECTS: hova-lsp-server: error: {{.*}}hova-test-extension.so

// CHECK-NOT: @unrelated
// CHECK: hova.activation gelu_erf
// CHECK-NOT: @unrelated
func.func @unrelated(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hova.activation relu %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
func.func @interesting(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = hova.activation gelu_erf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
