// RUN: hova-opt %s --verify-roundtrip | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// CHECK: @the_least_of_a_schedule() attributes {s = #hova_cpu.schedule<tile = 14x32, lanes = 64, grain = 1>}
func.func private @the_least_of_a_schedule() attributes {s = #hova_cpu.schedule<tile = 14x32, lanes = 64, grain = 1>}

// CHECK: @all_of_a_schedule() attributes {s = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 48, k_block = 256, block = 255, reduction_split = 384, pairs>}
func.func private @all_of_a_schedule() attributes {s = #hova_cpu.schedule<tile = 6x64, lanes = 64, grain = 48, k_block = 256, block = 255, reduction_split = 384, pairs>}

// CHECK: @parameters_in_any_order() attributes {s = #hova_cpu.schedule<tile = 64x1024, lanes = 1024, grain = 2147483647, block = 8>}
func.func private @parameters_in_any_order() attributes {s = #hova_cpu.schedule<block = 8, grain = 2147483647, tile = 64x1024, lanes = 1024>}

// CHECK: @the_least_of_a_launch() attributes {s = #hova_cpu.launch<units = 1, grain = 1>}
func.func private @the_least_of_a_launch() attributes {s = #hova_cpu.launch<units = 1, grain = 1>}

// CHECK: @all_of_a_launch() attributes {s = #hova_cpu.launch<units = 96, grain = 4, block = 8, costs = [1, 3]>}
func.func private @all_of_a_launch() attributes {s = #hova_cpu.launch<units = 96, grain = 4, block = 8, costs = [1, 3]>}

// CHECK: @stages_of_a_launch() attributes {s = #hova_cpu.launch<units = 96, grain = 4, stages = [2, 64, 64, 3, 100, 50, 0, 0, 0, 8, 10, 0]>}
func.func private @stages_of_a_launch() attributes {s = #hova_cpu.launch<units = 96, grain = 4, stages = [2, 64, 64, 3, 100, 50, 0, 0, 0, 8, 10, 0]>}
