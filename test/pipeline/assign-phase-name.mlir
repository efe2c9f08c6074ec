// RUN: hova-opt %s --hova-assign-phase-name=phase=fuse | FileCheck %s
// RUN: hova-opt %s --hova-assign-phase-name=phase=tile --hova-assign-phase-name=phase=fuse | FileCheck %s

// CHECK: module attributes {hova.model = "m", hova.phase = "fuse"}
module attributes {hova.model = "m"} {
}
