//===- AnswerForTiles.c - What the system says of the tile registers ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A library to be loaded before a program (LD_PRELOAD). A seccomp filter
// answers the request for the registers of a matrix unit, and nothing else, as
// the variable HOVA_TILE_ANSWER says:
//
//   a number  this error; 0: they are granted
//   kill      who asks is ended by a signal
//   stack     the rule of Linux, for systems that do not know the registers:
//             an error where the thread has an alternate signal stack that they
//             do not fit in
//
// HOVA_TILE_STACK gives the first thread such a stack, of so many bytes.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define REQUEST 0x1023 // ARCH_REQ_XCOMP_PERM
#define TILE_BYTES 8192

static void require(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "AnswerForTiles: %s: %s\n", what, strerror(errno));
    _exit(86);
  }
}

static int fits_in_stack(void) {
  stack_t stack;
  return sigaltstack(NULL, &stack) == 0 &&
         ((stack.ss_flags & SS_DISABLE) ||
          stack.ss_size >= getauxval(AT_MINSIGSTKSZ) + TILE_BYTES);
}

/// For the call that the filter has trapped.
static void on_request(int number, siginfo_t *info, void *opaque) {
  (void)number, (void)info;
  ucontext_t *context = opaque;
  context->uc_mcontext.gregs[REG_RAX] = fits_in_stack() ? 0 : -ENOSPC;
}

static void answer_with(unsigned action) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
               offsetof(struct seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REQUEST, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
          "no filter");
}

static void follow_stack(void) {
  struct sigaction action = {0};
  action.sa_sigaction = on_request;
  action.sa_flags = SA_SIGINFO;
  require(sigaction(SIGSYS, &action, NULL) == 0, "no handler");
  answer_with(SECCOMP_RET_TRAP);
}

__attribute__((constructor)) static void begin(void) {
  const char *bytes = getenv("HOVA_TILE_STACK");
  const char *answer = getenv("HOVA_TILE_ANSWER");
  if (bytes) {
    stack_t stack = {0};
    stack.ss_size = strtoul(bytes, NULL, 10);
    stack.ss_sp = malloc(stack.ss_size);
    require(stack.ss_sp && sigaltstack(&stack, NULL) == 0, "no stack");
  }
  if (!answer) {
    return;
  }
  if (strcmp(answer, "kill") == 0) {
    answer_with(SECCOMP_RET_KILL_PROCESS);
  } else if (strcmp(answer, "stack") == 0) {
    follow_stack();
  } else {
    answer_with(SECCOMP_RET_ERRNO | (unsigned)atoi(answer));
  }
}
