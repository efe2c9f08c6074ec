//===- Fiber.c - Stacks that threads of a block run on --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A switch saves what the calling convention of x86-64 lets a callee keep, and
// nothing else. swapcontext would make two system calls for each.

#include "runtime/emulation/Block.h"

#include <string.h>

#ifndef __x86_64__
#error "switching stacks is written for x86-64 only"
#endif

__asm__(".text\n"
        ".p2align 4\n"
        ".type hova_switch_stacks, @function\n"
        "hova_switch_stacks:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size hova_switch_stacks, . - hova_switch_stacks\n"
        ".type hova_start_fiber, @function\n"
        "hova_start_fiber:\n"
        "  movq %rbx, %rdi\n"
        "  call *%r12\n"
        "  ud2\n"
        ".size hova_start_fiber, . - hova_start_fiber\n");

void hova_switch_stacks(void **from, void *to);
void hova_start_fiber(void);

void switch_stacks(void **from, void *to) { hova_switch_stacks(from, to); }

void prepare_fiber(hova_emulated_thread *self) {
  block *block = self->block;
  uint8_t *top = block->stacks + (self->index + 1) * block->stack_bytes;
  // r15, r14, r13, r12, rbx, rbp, then the address that `ret` takes. The stack
  // is empty after it, and aligned to 16 bytes as a call needs it.
  uint64_t frame[7] = {0};
  frame[3] = (uint64_t)(uintptr_t)fiber_main;
  frame[4] = (uint64_t)(uintptr_t)self;
  frame[6] = (uint64_t)(uintptr_t)hova_start_fiber;
  top -= sizeof frame;
  memcpy(top, frame, sizeof frame);
  self->stack_pointer = top;
}
