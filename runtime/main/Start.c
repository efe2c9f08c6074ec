//===- Start.c - Where an executable begins -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The start object of a C library asks for the version of __libc_start_main
// that is new on the machine where hova was built: 2.34 has one of its own.
// This one asks for the first. That version lets the program run its own
// constructors, as glibc before 2.34 expects, and runs those of libraries and
// all destructors itself.
//
//===----------------------------------------------------------------------===//

typedef void hova_constructor(int count, char **arguments, char **environment);

// The linker defines them.
extern hova_constructor *const __init_array_start[]
    __attribute__((visibility("hidden")));
extern hova_constructor *const __init_array_end[]
    __attribute__((visibility("hidden")));

__attribute__((used, visibility("hidden"))) void
hova_run_constructors(int count, char **arguments, char **environment) {
  for (hova_constructor *const *next = __init_array_start;
       next != __init_array_end; ++next) {
    (*next)(count, arguments, environment);
  }
}

// At the start the stack holds the count of arguments and the arguments, and
// rdx what the dynamic linker wants to be called at the end. A stack frame of
// 0 ends what a debugger prints of the stack.
__asm__(".symver __libc_start_main,__libc_start_main@GLIBC_2.2.5\n"
        ".text\n"
        ".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "  endbr64\n"
        "  xorl %ebp, %ebp\n"
        "  movq %rdx, %r9\n"
        "  popq %rsi\n"
        "  movq %rsp, %rdx\n"
        "  andq $-16, %rsp\n"
        "  pushq %rax\n"
        "  pushq %rsp\n"
        "  xorl %r8d, %r8d\n"
        "  leaq hova_run_constructors(%rip), %rcx\n"
        "  leaq main(%rip), %rdi\n"
        "  call *__libc_start_main@GOTPCREL(%rip)\n"
        "  hlt\n"
        ".cfi_endproc\n"
        ".size _start, .-_start\n");
