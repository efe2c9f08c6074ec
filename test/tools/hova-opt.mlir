// Phases and the check of meanings in hova-opt.

// RUN: hova-opt %s --stop-after=fuse | FileCheck %s
// RUN: hova-opt %s --stop-after=fuse --check-meaning | FileCheck %s
// RUN: sh -c 'hova-opt %s --stop-after=fuze 2>&1; echo status $?' | FileCheck %s --check-prefix=UNKNOWN
// RUN: sh -c 'hova-opt %s --stop-after=emit 2>&1; echo status $?' | FileCheck %s --check-prefix=EMIT
// RUN: sh -c 'hova-opt %s --start-at=fuse --stop-after=normalize 2>&1; echo status $?' | FileCheck %s --check-prefix=ORDER
// RUN: sh -c 'hova-opt %s --stop-after=fuse --cse 2>&1; echo status $?' | FileCheck %s --check-prefix=BOTH
// RUN: sh -c 'hova-opt %s --start-at=tile --march=none 2>&1; echo status $?' | FileCheck %s --check-prefix=LEVEL
// RUN: sh -c 'hova-opt %s --load-pass-plugin=%plugin --pass-pipeline="builtin.module(test-double-linears)" --check-meaning 2>&1; echo status $?' | FileCheck %s --check-prefix=MEANING
// RUN: hova-opt %s --stop-after=target --check-meaning -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: hova-opt %s --stop-after=tile -o %t.mlir
// RUN: sh -c 'hova-opt %t.mlir --start-at=vectorize --check-meaning -o /dev/null 2>&1; echo status $?' | FileCheck %s --check-prefix=NOTHING
// RUN: hova-opt --list-passes | FileCheck %s --check-prefix=PASSES
// RUN: hova-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS

// Names come from locations, as in what hova prints.
// RUN: hova compile %models/lecture_mha.json --emit=mlir --stop-after=import -o %t.mlir
// RUN: hova-opt %t.mlir --stop-after=normalize | FileCheck %s --check-prefix=NAMES
// RUN: hova-opt %t.mlir --stop-after=normalize --mlir-use-nameloc-as-prefix=false | FileCheck %s --check-prefix=NUMBERS
// NAMES: %attn.query = hova.linear %q, %attn.query.weight
// NUMBERS: %{{[0-9]+}} = hova.linear %arg0

// CHECK-LABEL: func.func @main
// CHECK: hova.kernel
// CHECK: hova.linear

// UNKNOWN: error: no phase 'fuze' is made of passes
// UNKNOWN: status 1
// EMIT: error: no phase 'emit' is made of passes
// EMIT: status 1
// ORDER: error: phase 'fuse' comes after 'normalize'
// ORDER: status 1
// BOTH: error: phases and passes exclude each other
// BOTH: status 1
// LEVEL: error: option '--march': unknown ISA level 'none'; a level is native
// LEVEL: status 1
// MEANING: {{.*}}hova-opt.mlir:[[@LINE+12]]:{{.*}} error: pass 'test-double-linears' changes result 0 of 'main' by up to {{.*}}; the first value that differs is that of 'hova.scale'
// MEANING-NOT: func.func @main
// MEANING: compared 1 results after 1 of 1 passes
// MEANING: status 3
// COUNT: hova-opt: --check-meaning compared {{[1-9][0-9]*}} results after {{[1-9][0-9]*}} of {{[0-9]+}} passes, and interpreted {{[1-9][0-9]*}} kernel functions, 0 of them in part; there is nothing to compare where
// NOTHING: hova-opt: error: --check-meaning compared 0 results after 0 of {{[0-9]+}} passes; there is nothing to compare where
// NOTHING: status 1
// PASSES: --hova-fuse-kernels
// PASSES: --hova-verify-vectorized
// DIALECTS: hova
func.func @main(%x: tensor<1x4x8xf32> {hova.name = "x"}) -> (tensor<1x4x6xf32> {hova.name = "y"}) {
  %w = hova.weight "w" {init = "glorot"} : tensor<8x6xf32>
  %y = hova.linear %x, %w : tensor<1x4x8xf32>, tensor<8x6xf32> -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}
