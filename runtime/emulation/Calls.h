//===- Calls.h - What code of an emulated kernel calls --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `self` is the thread and `place` the index of the operation among the
// kernel's places. Operands of instructions that a warp executes together are
// words of 32 bits, and so are results. A call that finds a fault does not
// return.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_EMULATION_CALLS_H
#define HOVA_RUNTIME_EMULATION_CALLS_H

#include "runtime/emulation/Emulation.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOVA_CALL __attribute__((visibility("default")))
typedef hova_emulated_thread hova_self;

/// Index of a thread or block, or extent, in dimension `which % 3` (0 tid, 3
/// ntid, 6 ctaid, 9 nctaid), or the lane (12).
HOVA_CALL uint32_t hova_emulated_register(hova_self *self, uint32_t which);

/// The bytes of a load or store, which may be read or written until the next
/// call. `alignment` is what the operation promises.
HOVA_CALL const void *hova_emulated_load_global(hova_self *self, uint32_t place,
                                                uint64_t address,
                                                uint32_t bytes,
                                                uint32_t alignment);
HOVA_CALL void *hova_emulated_store_global(hova_self *self, uint32_t place,
                                           uint64_t address, uint32_t bytes,
                                           uint32_t alignment);
HOVA_CALL const void *hova_emulated_load_shared(hova_self *self, uint32_t place,
                                                uint64_t address,
                                                uint32_t bytes,
                                                uint32_t alignment);
HOVA_CALL void *hova_emulated_store_shared(hova_self *self, uint32_t place,
                                           uint64_t address, uint32_t bytes,
                                           uint32_t alignment);

/// cp.async: `bytes` of shared memory, the first `read` from `source`, zeros
/// after them.
HOVA_CALL void hova_emulated_copy(hova_self *self, uint32_t place,
                                  uint64_t target, uint64_t source,
                                  uint32_t bytes, uint32_t read);
HOVA_CALL void hova_emulated_commit(hova_self *self, uint32_t place);
HOVA_CALL void hova_emulated_wait(hova_self *self, uint32_t place,
                                  uint32_t groups);

HOVA_CALL void hova_emulated_barrier(hova_self *self, uint32_t place);
/// barrier.cluster: a thread arrives, and later waits for all of its cluster.
HOVA_CALL void hova_emulated_cluster_arrive(hova_self *self, uint32_t place);
HOVA_CALL void hova_emulated_cluster_wait(hova_self *self, uint32_t place);
/// mapa: the address that an address of the block's shared memory has in block
/// `rank` of its cluster. It is there to be read.
HOVA_CALL uint64_t hova_emulated_mapa(hova_self *self, uint32_t place,
                                      uint64_t address, uint32_t rank);
HOVA_CALL const void *
hova_emulated_load_cluster(hova_self *self, uint32_t place, uint64_t address,
                           uint32_t bytes, uint32_t alignment);
/// operands: mask
HOVA_CALL void hova_emulated_warp_sync(hova_self *self, uint32_t place,
                                       const uint32_t *operands,
                                       uint32_t *results);
/// operands: mask, value, offset, segment mask and clamp; results: value,
/// whether it came from another lane's value. kind: 0 bfly, 1 up, 2 down, 3
/// idx.
HOVA_CALL void hova_emulated_shuffle(hova_self *self, uint32_t place,
                                     const uint32_t *operands,
                                     uint32_t *results, uint32_t kind);
/// operands: address of a row of 16 bytes; results: `count` words.
HOVA_CALL void hova_emulated_ldmatrix(hova_self *self, uint32_t place,
                                      const uint32_t *operands,
                                      uint32_t *results, uint32_t count,
                                      uint32_t transposed);
/// m16n8k16 of bf16, or of f16. operands: 4 words of the left, 2 of the right,
/// 4 sums in f32; results: 4 sums.
HOVA_CALL void hova_emulated_mma(hova_self *self, uint32_t place,
                                 const uint32_t *operands, uint32_t *results,
                                 uint32_t is_f16);

/// m64nNk16 of bf16, or of f16, one after the other along rows of `row_bytes`
/// bytes, as one group. operands: the left in shared memory, or a word of it
/// for each 8 bytes of a row, the right in shared memory, `count` sums in f32;
/// results: the sums, under way.
HOVA_CALL void hova_emulated_wgmma(hova_self *self, uint32_t place,
                                   const uint32_t *operands, uint32_t *results,
                                   uint32_t count, uint32_t row_bytes,
                                   uint32_t in_registers, uint32_t is_f16);
/// operands: sums, which may be under way; results: the same, when all groups
/// but so many have ended.
HOVA_CALL void hova_emulated_wgmma_wait(hova_self *self, uint32_t place,
                                        const uint32_t *operands,
                                        uint32_t *results, uint32_t count,
                                        uint32_t under_way);
/// fence.proxy.async: what the thread knows of writes is fenced for products.
HOVA_CALL void hova_emulated_fence_proxy(hova_self *self, uint32_t place);

/// griddepcontrol.wait: all launches before this one have ended, for the
/// thread.
HOVA_CALL void hova_emulated_await_launches(hova_self *self, uint32_t place);
/// griddepcontrol.launch_dependents: of the launch behind, which is emulated
/// later, this says nothing.
HOVA_CALL void hova_emulated_allow_launches(hova_self *self, uint32_t place);

/// Before the branch at `place` begins another turn of a loop.
HOVA_CALL void hova_emulated_turn(hova_self *self, uint32_t place);

/// Arithmetic of PTX that differs from that of hosts.
HOVA_CALL uint16_t hova_emulated_bf16(float value);
HOVA_CALL uint16_t hova_emulated_f16(float value);
HOVA_CALL float hova_emulated_f32_of_f16(uint16_t value);
HOVA_CALL float hova_emulated_max(float x, float y);
HOVA_CALL float hova_emulated_min(float x, float y);
HOVA_CALL float hova_emulated_max_nan(float x, float y);
HOVA_CALL float hova_emulated_min_nan(float x, float y);
HOVA_CALL int32_t hova_emulated_s32(float value);
HOVA_CALL uint32_t hova_emulated_u32(float value);
/// What PTX approximates, as the launch chooses.
HOVA_CALL float hova_emulated_ex2(hova_self *self, float value);
HOVA_CALL float hova_emulated_ex2_ftz(hova_self *self, float value);
HOVA_CALL float hova_emulated_lg2(hova_self *self, float value);
HOVA_CALL float hova_emulated_rcp_ftz(hova_self *self, float value);
HOVA_CALL float hova_emulated_rsqrt(hova_self *self, float value);
HOVA_CALL float hova_emulated_rsqrt_ftz(hova_self *self, float value);
/// A fault where `divisor` is 0 or the quotient has no value.
HOVA_CALL void hova_emulated_divisor(hova_self *self, uint32_t place,
                                     uint32_t faulty);

#ifdef __cplusplus
}
#endif

#endif // HOVA_RUNTIME_EMULATION_CALLS_H
