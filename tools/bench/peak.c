//===- peak.c - What the cores can do at most -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Independent chains of fused multiply-adds on registers, nothing else, on
// every thread at once: the rate that no program on this machine can exceed.
// The widest instructions of the processor are used; the bf16 dot product where
// it has one.
//
// A burst is shorter than what makes a processor lower its clock.
// `fma_sustained` is the mean over some 50 ms, which is what a whole model
// meets.
//
// usage: peak THREADS    prints {"fma": GFLOP/s, "fma_sustained": GFLOP/s,
//                                "bf16_dot": GFLOP/s or null}
//
//===----------------------------------------------------------------------===//

#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHAINS = 12, STEPS = 100000, BURSTS = 5, MAX_THREADS = 1024 };
/// Bursts in a row that make a sustained measurement.
enum { LONG = 300 };

// Twelve chains hide a latency of 4 to 6 cycles on two pipes and fit the 16
// registers of AVX2.
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

typedef void loop(void);

__attribute__((target("avx512f"))) static void fma_512(void) {
  __m512 x = _mm512_set1_ps(1e-3f), c[CHAINS];
  for (int i = 0; i < CHAINS; ++i) {
    c[i] = x;
  }
  for (int n = 0; n < STEPS; ++n) {
#define STEP(i)                                                                \
  __asm__ volatile("vfmadd231ps %1, %1, %0" : "+v"(c[i]) : "v"(x));
    TWELVE(STEP)
#undef STEP
  }
}

__attribute__((target("avx512f,avx512bf16"))) static void dot_512(void) {
  __m512 x = _mm512_set1_ps(1e-3f), c[CHAINS];
  for (int i = 0; i < CHAINS; ++i) {
    c[i] = x;
  }
  for (int n = 0; n < STEPS; ++n) {
#define STEP(i) __asm__ volatile("vdpbf16ps %1, %1, %0" : "+v"(c[i]) : "v"(x));
    TWELVE(STEP)
#undef STEP
  }
}

__attribute__((target("avx2,fma"))) static void fma_256(void) {
  __m256 x = _mm256_set1_ps(1e-3f), c[CHAINS];
  for (int i = 0; i < CHAINS; ++i) {
    c[i] = x;
  }
  for (int n = 0; n < STEPS; ++n) {
#define STEP(i)                                                                \
  __asm__ volatile("vfmadd231ps %1, %1, %0" : "+x"(c[i]) : "x"(x));
    TWELVE(STEP)
#undef STEP
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct {
  loop *body;
  pthread_barrier_t *together;
  int repetitions; ///< of the body in a burst
  double seconds;  ///< of one of them
} work;

/// The best of several bursts that all threads begin together.
static void *measure(void *argument) {
  work *mine = argument;
  mine->seconds = 1e9;
  mine->body();
  int bursts = mine->repetitions == 1 ? BURSTS : 1;
  for (int i = 0; i < bursts; ++i) {
    pthread_barrier_wait(mine->together);
    double start = now();
    for (int n = 0; n < mine->repetitions; ++n) {
      mine->body();
    }
    double seconds = (now() - start) / mine->repetitions;
    if (seconds < mine->seconds) {
      mine->seconds = seconds;
    }
  }
  return NULL;
}

/// GFLOP/s of all threads; `flops` is the work of one instruction.
static double rate(loop *body, int threads, int flops, int repetitions) {
  pthread_t ids[MAX_THREADS];
  work works[MAX_THREADS];
  pthread_barrier_t together;
  pthread_barrier_init(&together, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    works[i] = (work){body, &together, repetitions, 0};
    if (pthread_create(&ids[i], NULL, measure, &works[i]) != 0) {
      fprintf(stderr, "peak: cannot start %d threads\n", threads);
      exit(1);
    }
  }
  double sum = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    sum += (double)CHAINS * STEPS * flops / works[i].seconds * 1e-9;
  }
  pthread_barrier_destroy(&together);
  return sum;
}

int main(int argc, char **argv) {
  int threads = argc == 2 ? atoi(argv[1]) : 0;
  if (threads < 1 || threads > MAX_THREADS) {
    fprintf(stderr, "usage: peak THREADS, from 1 to %d\n", MAX_THREADS);
    return 2;
  }
  bool wide = __builtin_cpu_supports("avx512f");
  if (!wide && !__builtin_cpu_supports("fma")) {
    fprintf(stderr, "peak: this processor has no fused multiply-add\n");
    return 1;
  }
  loop *fma = wide ? fma_512 : fma_256;
  int flops = wide ? 32 : 16;
  printf("{\"fma\": %.2f, ", rate(fma, threads, flops, 1));
  printf("\"fma_sustained\": %.2f, ", rate(fma, threads, flops, LONG));
  if (__builtin_cpu_supports("avx512bf16")) {
    printf("\"bf16_dot\": %.2f}\n", rate(dot_512, threads, 64, 1));
  } else {
    printf("\"bf16_dot\": null}\n");
  }
  return 0;
}
