//===- hova_runtime.h - Programs compiled by hova ---------------*- C -*---===//
// SPDX-License-Identifier: Apache-2.0
//
// The interface between a program compiled by hova and everything around it.
// Two readers:
//
//  * who embeds a compiled model: create a context, run it, destroy it. A
//    shared library exports these functions under its own prefix (its header
//    declares them); an object file is linked with libhova_runtime and the
//    `hova_` functions below are called with its `hova_program`.
//  * the code generator: it emits one constant `hova_program` per model, whose
//    levels point to code that calls `hova_run_launches`.
//
// Rules that hold everywhere: nothing is printed, nothing aborts, no writable
// global exists, every argument is checked before anything is written, and a
// call that fails says why in words. One context serves one caller at a time;
// contexts share the weights.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_RUNTIME_H
#define HOVA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Raised whenever a struct below changes.
#define HOVA_ABI_VERSION 15

//===----------------------------------------------------------------------===//
// Status and tensors
//===----------------------------------------------------------------------===//

/// What a call returns. A program ends with exit status 1, 1, 71, 74 and 3 for
/// the failures, in this order.
typedef enum hova_status {
  HOVA_OK = 0,
  /// An argument, a file or the machine does not fit the program.
  HOVA_REJECTED = 1,
  /// The context is running in another thread.
  HOVA_BUSY = 2,
  HOVA_OUT_OF_MEMORY = 3,
  HOVA_IO_ERROR = 4,
  /// A kernel of a GPU did what it must not, or the GPU failed while it ran:
  /// the outputs are undefined. Never the caller's fault.
  HOVA_FAULT = 5
} hova_status;

/// Element types. BF16 and F16 are IEEE-style 16-bit floats; BOOL is one byte,
/// 0 or 1.
typedef enum hova_dtype {
  HOVA_F32 = 0,
  HOVA_F64 = 1,
  HOVA_BF16 = 2,
  HOVA_F16 = 3,
  HOVA_I32 = 4,
  HOVA_I64 = 5,
  HOVA_BOOL = 6
} hova_dtype;

/// The type and device of a tensor, field by field those of DLPack.
typedef struct hova_data_type {
  uint8_t code; ///< 0 signed integer, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes; ///< 1
} hova_data_type;

typedef struct hova_device {
  int32_t device_type; ///< 1: CPU memory; 2: memory of a CUDA device
  int32_t device_id;
} hova_device;

/// A view of memory that the caller owns. The fields before `name` are those
/// of DLPack's `DLTensor`, in its order.
typedef struct hova_tensor {
  void *data;
  hova_device device;
  int32_t ndim;
  hova_data_type dtype;
  int64_t *shape;       ///< [ndim]
  int64_t *strides;     ///< [ndim], in elements; null: dense, row-major
  uint64_t byte_offset; ///< added to `data`
  const char *name;     ///< null, or the name that stands at this position
} hova_tensor;

/// Makes a dense view in CPU memory.
static inline hova_tensor hova_make_tensor(const char *name, hova_dtype dtype,
                                           int32_t ndim, int64_t *shape,
                                           void *data) {
  static const hova_data_type types[] = {{2, 32, 1}, {2, 64, 1}, {4, 16, 1},
                                         {2, 16, 1}, {0, 32, 1}, {0, 64, 1},
                                         {6, 8, 1}};
  hova_tensor tensor;
  tensor.data = data;
  tensor.device.device_type = 1;
  tensor.device.device_id = 0;
  tensor.ndim = ndim;
  tensor.dtype = types[dtype];
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  tensor.name = name;
  return tensor;
}

//===----------------------------------------------------------------------===//
// The program, as the code generator emits it
//===----------------------------------------------------------------------===//

/// The threads of a context, opaque to generated code.
struct hova_team;

/// What the first axes of an input or output are in a program with ranges.
enum hova_extent {
  HOVA_FIXED = 0,
  HOVA_ITEMS = 1,        ///< [items, ...]
  HOVA_TOKENS = 2,       ///< [items, tokens, ...]
  HOVA_OTHER_TOKENS = 3, ///< [items, tokens of the second range, ...]
};

/// The sizes that a program may be run with. A size that is fixed has one
/// value. An item may have a second sequence of tokens, as a sentence has its
/// translation.
typedef struct hova_ranges {
  int64_t least_items, most_items;
  int64_t least_tokens, most_tokens; ///< of each item
  /// Of its second sequence; 0 where there is none.
  int64_t least_other_tokens, most_other_tokens;
  /// Rows of each token where an operator reads those of so many layers beside
  /// each other; else 0. Not where there is a second sequence.
  int64_t layers;
  /// The parameters of the description that they are; null where one is fixed.
  const char *items, *tokens, *other_tokens;
} hova_ranges;

/// An input or output: dense, row-major, aligned to its element.
typedef struct hova_tensor_info {
  const char *name;
  int32_t dtype; ///< hova_dtype
  int32_t rank;
  const int64_t *dims; ///< [rank]; with ranges the largest sizes
  int64_t lower;       ///< valid integers x: lower <= x < upper;
  int64_t upper;       ///< lower == upper: every integer is valid
  int32_t extent;      ///< hova_extent
} hova_tensor_info;

/// A value that is in the arena from kernel `kernel` to kernel `last_kernel`.
/// Its rows (the last axis, dense) start every `row_stride` elements.
typedef struct hova_value_info {
  const char *path; ///< of the JSON description, dotted
  int32_t kernel;   ///< index of the kernel that finishes it
  int32_t dtype;    ///< hova_dtype
  int32_t rank;
  const int64_t *dims; ///< [rank]
  int64_t row_stride;
  uint64_t offset;     ///< bytes from the start of the arena
  int32_t last_kernel; ///< index of the last kernel that reads it
} hova_value_info;

typedef struct hova_kernel_info {
  const char *path;   ///< of the JSON description, dotted
  const char *symbol; ///< of the function; identical kernels share one
  uint64_t flops;     ///< executed, twice the multiply-accumulates
  uint64_t bytes;     ///< read and written outside the caches' reach
} hova_kernel_info;

/// What one stage of a kernel computes for one place of the description. Those
/// of a kernel are neighbours, and its stages in order.
typedef struct hova_part_info {
  const char *path; ///< of the JSON description, dotted
  uint32_t kernel;  ///< its index
  uint32_t stage;   ///< its number in the kernel
  uint64_t flops;   ///< executed, twice the multiply-accumulates
  /// What a kernel's time is divided by: `flops`, and so many for each byte
  /// that is computed as the division among threads counts.
  uint64_t work;
} hova_part_info;

/// A weight in the image, as kernels read it.
typedef struct hova_weight_info {
  const char *name;
  uint64_t offset; ///< bytes from the start of the image, after its header
  uint64_t bytes;
} hova_weight_info;

/// One whole run, executed by every thread of the team from start to end:
/// the code takes its chunk by `thread` of `threads` and calls `hova_barrier`
/// after each kernel (or see `hova_end_kernel`); `hova_run_launches` does all
/// of that. `weights` is the image after its header.
typedef void hova_run_fn(void *const *inputs, void *const *outputs, char *arena,
                         const char *weights, int64_t thread, int64_t threads,
                         struct hova_team *team);

/// The program's code for one kind of machine.
typedef struct hova_level {
  const char *name;
  uint64_t features; ///< HOVA_CPU_* bits that the code needs
  hova_run_fn *run;
  /// What `run` gives to `hova_run_launches`, by which a context knows how much
  /// memory each of its threads needs. May be null: none.
  const struct hova_launches *launches;
  /// Code for a GPU, which then is all there is: `run` and `launches` are null.
  /// Null: code for a CPU.
  const struct hova_device_code *device;
} hova_level;

typedef struct hova_program {
  uint32_t abi; ///< HOVA_ABI_VERSION
  uint32_t num_levels;
  const char *name;
  const hova_level *levels; ///< best first
  uint32_t num_inputs;
  uint32_t num_outputs;
  const hova_tensor_info *inputs;
  const hova_tensor_info *outputs;
  uint64_t arena_bytes;  ///< of values that pass between kernels
  uint64_t weight_bytes; ///< of the image, without its header
  /// Hexadecimal digest of the model and the layout of its weights (not of
  /// their values); an image must carry the same. Null: unchecked.
  const char *weight_id;
  /// What follows `hova weights pack` to make an image for this program, for
  /// messages, without `-o`. May be null.
  const char *pack_arguments;
  uint64_t flops;          ///< of the description, dense
  uint64_t flops_executed; ///< of the kernels
  uint32_t num_kernels;
  uint32_t num_values;
  const hova_kernel_info *kernels;
  const hova_value_info *values;
  const char *compiler; ///< name and version
  /// Type in which inputs of matrix products are stored: "f32", "bf16", "f16".
  const char *dtype;
  uint32_t num_parts;
  uint32_t num_weights;
  const hova_part_info *parts;
  const hova_weight_info *weights; ///< in the order of the image
  /// The same model, with the same inputs and outputs, for another kind of
  /// machine, which is taken where this one's is not there. Null: there is
  /// none.
  const struct hova_program *alternative;
  /// What the program was made from, as text for people; after its end, a JSON
  /// object follows. Null: unknown.
  const char *bill;
  /// Of a program for sequences of any size; null: every shape is fixed.
  const hova_ranges *ranges;
} hova_program;

/// Called by every thread after kernel `kernel`. Returns when all have called;
/// what any thread wrote before is then visible to every thread.
void hova_barrier(struct hova_team *team, int64_t thread, int64_t kernel);

/// Called instead by the first thread alone after a kernel that was its own
/// where the next one is too: the others wait at the next barrier meanwhile.
void hova_end_kernel(struct hova_team *team, int64_t kernel);

/// What the low bits of a launch's buffer say of the rest: bytes after the
/// start of the arena or of the weights, both multiples of 64, or the number of
/// an input or output, shifted by these bits, or the bytes of a row, a multiple
/// of 64, of a buffer that each thread has for its own units, or, a multiple of
/// 64 too, bytes after the start of the launches. There lie the tables by
/// which kernels find rows: no image can change them. The table of a run's
/// sequences is written by `hova_run`. The last are words of the step of the
/// launch that a call belongs to (see `hova_step`).
enum hova_buffer_kind {
  HOVA_IN_ARENA = 0,
  HOVA_IN_WEIGHTS = 1,
  HOVA_INPUT = 2,
  HOVA_OUTPUT = 3,
  HOVA_IN_CHUNK = 4,
  HOVA_IN_TABLES = 5,
  HOVA_IN_SEQUENCES = 6,
  HOVA_OF_STEP = 7,
  HOVA_BUFFER_KINDS = 7, ///< the mask
  HOVA_BUFFER_KIND_BITS = 3
};

/// One call of a kernel, divided among the first `parts` threads at most.
/// After it lie its buffers (see `hova_buffer_kind`), its costs, a `hova_chunk`
/// for each of the buffers HOVA_IN_CHUNK, and where it has stages a
/// `hova_stages`, a `hova_stage` and then a `hova_step` for each of them; then
/// the next launch.
///
/// Where units differ in cost, `num_costs` numbers are what the first 1, 2, ..
/// units cost together, and so many units after them cost the same again. The
/// threads then divide the cost, otherwise the number of units.
///
/// A buffer of the threads' chunks holds, thread by thread, a row for every
/// unit of the chunk or for `block` of them, whichever is less. The call is
/// given the address that the row of unit 0 would have.
typedef struct hova_launch {
  uint64_t kernel; ///< number that the program's code knows it by
  uint64_t parts;
  uint64_t units; ///< what is divided
  uint64_t num_buffers;
  uint64_t scratch_bytes; ///< of each thread
  uint64_t block;
  uint64_t num_costs; ///< a divisor of `units`; 0: all alike
  uint64_t num_chunks;
  /// Of what the units are so many times as many in a program with ranges, a
  /// hova_extent: `parts` and `units` are those of the largest run. A run
  /// divides its units where they are `least` at least, by parts of `grain` at
  /// least.
  uint64_t extent;
  uint64_t grain;
  uint64_t least;
  /// Stages that a run of few rows takes one after the other; 0: it has none
  /// that it would divide otherwise.
  uint64_t num_stages;
} hova_launch;

/// Where the rows of all chunks begin, in the arena, where nothing is alive
/// during the launch: `offset` bytes after its start and `row_bytes_before`
/// more for each of the rows. Both are multiples of 64.
typedef struct hova_chunk {
  uint64_t offset;
  uint64_t row_bytes_before;
} hova_chunk;

/// How a run of fewer units than `few` divides a launch among several threads:
/// stage by stage, and all meet between two of its steps.
typedef struct hova_stages {
  uint64_t few;
  uint64_t least_work; ///< of a step that is divided by rows
  uint64_t num_steps;  ///< of this run; of the largest one
} hova_stages;

/// A stage of a kernel whose units are rows. Threads divide the strips of
/// columns of its product instead where a run has `least_rows` at least, by
/// parts of which strips times rows are `part` at least.
typedef struct hova_stage {
  uint64_t strips; ///< 0: rows are divided in every run
  uint64_t least_rows;
  uint64_t part;
  uint64_t grain;    ///< rows of a part at least
  uint64_t row_work; ///< floating-point operations, and those that bytes count
  uint64_t fixed_work; ///< the same of what any number of rows reads
} hova_stage;

/// Stages that threads do without meeting, from the first up to before the end,
/// or to the last. A kernel sees the first four words.
#define HOVA_LAST_STAGE UINT64_C(0xffffffff)
typedef struct hova_step {
  uint64_t first_stage, end_stage;
  uint64_t of_strips; ///< 1: a call's units are strips; 0: they are rows
  uint64_t rows;      ///< all of the run
  uint64_t units;
  uint64_t parts;
} hova_step;

/// A run as data, aligned to 64 bytes. The launches lie after it, and after
/// them the program's tables.
typedef struct hova_launches {
  uint64_t count;
  uint64_t most_buffers; ///< of any launch
} hova_launches;

/// Calls kernel `kernel` on units [begin, end).
typedef void hova_call_fn(uint64_t kernel, void *const *buffers, char *scratch,
                          uint64_t begin, uint64_t end);

/// Does what `hova_run_fn` tells, launch by launch: those of the context's
/// level. Between two launches of one part nobody meets: the first thread has
/// both.
void hova_run_launches(void *const *inputs, void *const *outputs, char *arena,
                       const char *weights, int64_t thread, int64_t threads,
                       struct hova_team *team, const hova_launches *launches,
                       hova_call_fn *call);

/// How a kernel of a GPU uses a buffer.
typedef enum hova_device_use {
  HOVA_DEVICE_INPUT,  ///< is only read
  HOVA_DEVICE_OUTPUT, ///< every element is written, none is read before
  HOVA_DEVICE_STATE,  ///< is read and written
} hova_device_use;

/// A buffer of a launch: rows of `row_bytes`, every `row_stride` bytes. What
/// lies between two rows belongs to others or to nobody.
typedef struct hova_device_buffer {
  /// As for `hova_launch` (see `hova_buffer_kind`), but there are no chunks,
  /// and tables lie after the start of `hova_device_code::tables`.
  uint64_t place;
  uint64_t rows;
  uint64_t row_bytes;
  uint64_t row_stride; ///< at least `row_bytes`
  uint32_t use;        ///< hova_device_use
  /// In a run of a program with ranges it has `item_rows` rows for each item,
  /// `token_rows` for each token and `other_token_rows` for each of a second
  /// sequence, the first ones; all 0: always all.
  uint32_t item_rows, token_rows, other_token_rows;
} hova_device_buffer;

/// A kernel of a GPU, which takes the addresses of its buffers and, in a
/// program with ranges, after these integers of 32 bits: the items of the run,
/// their tokens and, where they have second sequences, the tokens of these. The
/// grid says which part of its result a block computes.
typedef struct hova_device_kernel {
  const char *name;      ///< in `hova_device_code::ptx`
  uint32_t threads;      ///< of a block, which has one dimension
  uint32_t shared_bytes; ///< of a block, to be given at launch
  uint32_t num_buffers;
  /// The same kernel for runtime/emulation, in programs that emulate a GPU;
  /// null in others.
  const struct hova_emulated_kernel *emulated;
  /// Of the machine code, as the assembler reports it: registers of a thread,
  /// 0 where there is no machine code and the others say nothing; bytes of a
  /// thread that go to local memory and come back because registers are
  /// short; bytes of all its local memory.
  uint32_t registers;
  uint32_t spilled_bytes;
  uint32_t local_bytes;
  /// 1: its launches may begin while those before them still run. Every thread
  /// waits for these (griddepcontrol.wait) before it touches what is neither
  /// weights nor tables, and before it ends. 0: nothing is said.
  uint32_t overlaps;
  uint32_t num_sizes; ///< of the run that it takes: 0, 2 or 3
} hova_device_kernel;

/// One call of a kernel.
typedef struct hova_device_launch {
  uint32_t kernel; ///< index in `hova_device_code::kernels`
  /// In a program with ranges those of a run of the largest sizes.
  uint32_t grid[3];
  const hova_device_buffer *buffers; ///< as many as the kernel takes
  /// What a grid has in a run of a program with ranges: along x a block for
  /// every `block_units` of `item_units` for each item, `token_units` for each
  /// token and `longest_units` for each token of the longest item; along z
  /// `item_entries` blocks for each item. Where all of an axis are 0, it is
  /// always the same.
  uint32_t item_units, token_units, longest_units, block_units, item_entries;
  uint32_t of_other; ///< 1: these tokens are of the second sequences; else 0
} hova_device_launch;

/// A run as a GPU executes it: all launches, one after the other.
typedef struct hova_device_code {
  /// The least and the greatest compute capability that it runs on, 80 for 8.0.
  uint32_t capability, last_capability;
  /// Shared memory of a block of the GPUs that it was made for, in bytes: a
  /// device with less takes another level, if one is made for it. Kernels use
  /// no more.
  uint32_t shared_bytes;
  uint32_t num_kernels;
  uint32_t num_launches; ///< that of the program's kernels
  const hova_device_kernel *kernels;
  const hova_device_launch *launches;
  const char *ptx; ///< null in programs that emulate a GPU
  /// Machine code for `capability` and later ones of its major number; null:
  /// none.
  const void *cubin;
  uint64_t cubin_bytes;
  const void *tables; ///< aligned to 64 bytes; null: none
  uint64_t table_bytes;
  /// What made the machine code, as in "ptxas 13.0.88"; null: there is none.
  const char *assembler;
} hova_device_code;

/// Processor features that generated code may need, and no others, whatever
/// level it is for: X(NAME, "llvm-name"). The bit of a feature is its place in
/// this list. Random numbers are none of them: no kernel draws any, and a
/// processor may announce rdseed where its operating system has switched it off
/// for an erratum.
#define HOVA_CPU_FEATURES(X)                                                   \
  X(SSE3, "sse3")                                                              \
  X(SSSE3, "ssse3")                                                            \
  X(SSE41, "sse4.1")                                                           \
  X(SSE42, "sse4.2")                                                           \
  X(POPCNT, "popcnt")                                                          \
  X(CX16, "cx16")                                                              \
  X(LAHF, "sahf")                                                              \
  X(AVX, "avx")                                                                \
  X(AVX2, "avx2")                                                              \
  X(FMA, "fma")                                                                \
  X(F16C, "f16c")                                                              \
  X(BMI, "bmi")                                                                \
  X(BMI2, "bmi2")                                                              \
  X(LZCNT, "lzcnt")                                                            \
  X(MOVBE, "movbe")                                                            \
  X(AES, "aes")                                                                \
  X(PCLMUL, "pclmul")                                                          \
  X(ADX, "adx")                                                                \
  X(SHA, "sha")                                                                \
  X(GFNI, "gfni")                                                              \
  X(VAES, "vaes")                                                              \
  X(VPCLMULQDQ, "vpclmulqdq")                                                  \
  X(AVX512F, "avx512f")                                                        \
  X(AVX512BW, "avx512bw")                                                      \
  X(AVX512CD, "avx512cd")                                                      \
  X(AVX512DQ, "avx512dq")                                                      \
  X(AVX512VL, "avx512vl")                                                      \
  X(AVX512IFMA, "avx512ifma")                                                  \
  X(AVX512VBMI, "avx512vbmi")                                                  \
  X(AVX512VBMI2, "avx512vbmi2")                                                \
  X(AVX512VNNI, "avx512vnni")                                                  \
  X(AVX512BITALG, "avx512bitalg")                                              \
  X(AVX512VPOPCNTDQ, "avx512vpopcntdq")                                        \
  X(AVX512VP2INTERSECT, "avx512vp2intersect")                                  \
  X(AVX512BF16, "avx512bf16")                                                  \
  X(AVX512FP16, "avx512fp16")                                                  \
  X(AVXVNNI, "avxvnni")                                                        \
  X(RDPID, "rdpid")                                                            \
  X(CLFLUSHOPT, "clflushopt")                                                  \
  X(CLWB, "clwb")                                                              \
  X(MOVDIRI, "movdiri")                                                        \
  X(MOVDIR64B, "movdir64b")                                                    \
  X(FSGSBASE, "fsgsbase")                                                      \
  X(PRFCHW, "prfchw")                                                          \
  X(XSAVE, "xsave")                                                            \
  X(AMXTILE, "amx-tile")                                                       \
  X(AMXBF16, "amx-bf16")                                                       \
  X(AMXINT8, "amx-int8")

/// Their bit numbers: HOVA_CPU_BIT_AVX2 and so on.
enum hova_cpu_bit {
#define HOVA_CPU_FEATURE_BIT(NAME, TEXT) HOVA_CPU_BIT_##NAME,
  HOVA_CPU_FEATURES(HOVA_CPU_FEATURE_BIT)
#undef HOVA_CPU_FEATURE_BIT
      HOVA_NUM_CPU_FEATURES
};
/// The mask of one feature: HOVA_CPU(AVX2).
#define HOVA_CPU(NAME) (UINT64_C(1) << HOVA_CPU_BIT_##NAME)

/// The features that this machine and its operating system offer.
uint64_t hova_cpu_features(void);

//===----------------------------------------------------------------------===//
// Packed weights
//===----------------------------------------------------------------------===//

/// Bytes before the first tensor of an image, so that data starts on a page.
#define HOVA_IMAGE_HEADER_BYTES 4096
#define HOVA_IMAGE_MAGIC "HOVAIMG1"

/// The end of an image, after its weights. Little endian. The checksums are
/// CRC-32 as in zlib and PNG, by which any burst of up to 32 changed bits is
/// found: of the header (all 4096 bytes), which `hova_create` always compares,
/// and of the weights, which are mapped and read where a run needs them, so
/// that `hova_create` compares them only as `check_weights` says.
typedef struct hova_image_trailer {
  char magic[8]; ///< HOVA_IMAGE_END, not terminated
  uint32_t header_checksum;
  uint32_t weight_checksum;
} hova_image_trailer;
#define HOVA_IMAGE_END "HOVAEND1"

/// The start of an image; the rest of the 4096 bytes is zero. Little endian.
typedef struct hova_image_header {
  char magic[8]; ///< HOVA_IMAGE_MAGIC, not terminated
  uint32_t abi;  ///< HOVA_ABI_VERSION
  uint32_t header_bytes;
  uint64_t weight_bytes; ///< a hova_image_trailer follows and ends the file
  char id[128];          ///< `weight_id` of the programs that it fits
  char model[128];       ///< name of the model, for messages
} hova_image_header;

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

typedef struct hova_context hova_context;

/// Bytes that the threads of a context of `threads` need together besides
/// `arena_bytes` of their program: scratch, and the values between stages of
/// their chunks, as far as no part of the arena is free for them. It grows with
/// the chunks that there are, not with the threads beyond.
uint64_t hova_scratch_bytes(const hova_program *program,
                            const hova_level *level, int32_t threads);

/// What `hova_create` may be told; zero everywhere (or a null pointer) is the
/// default.
typedef struct hova_options {
  /// Threads of the context, the caller's included, at most 1024. 0: one for
  /// each processor that the process may use.
  int32_t threads;
  /// 1: read the whole image now and compare its checksum. 0: only where it is
  /// a file that a user may write to who is neither the caller nor root.
  /// Whatever the image holds, a run stays inside of its memory; a changed one
  /// gives other numbers, which only this tells.
  int32_t check_weights;
  /// Path of a file of packed weights. Null: `image`, else those embedded.
  const char *weights;
  /// An image in memory (header included, 64-byte aligned) that outlives the
  /// context, and its size. Null: none.
  const void *image;
  uint64_t image_bytes;
  /// Receives, cut to `message_bytes`, why a create failed or, of a program
  /// for several kinds of machine, on which it runs and why. May be null.
  char *message;
  uint64_t message_bytes;
  /// For programs for a GPU, of which the following is so as well: `threads` is
  /// 0 or 1; where the GPU has too little memory, a create fails with
  /// HOVA_REJECTED. The number of the device that kernels run on, as CUDA
  /// counts.
  int32_t device;
  /// The stream (`CUstream`, `cudaStream_t`) that runs are put on. A run with
  /// device tensors alone then returns when it is in the queue: what was put on
  /// the stream before comes before it, and what the run finds wrong on the
  /// device a later call says. Null: one of the context's own, and every run
  /// returns when it is done. The stream lives longer than the context.
  void *stream;
  /// The kind of machine to run on, as `hova compile` names the target: "cpu",
  /// "cuda". Null: the first of the program's kinds that is there, where a
  /// `device` other than 0 or a `stream` asks for a GPU, and `threads` says
  /// nothing of one.
  const char *target;
} hova_options;

/// Makes a context for `program` or, where its kind of machine is not there,
/// for its alternative: picks the best level that the machine can run, maps and
/// checks the weights, allocates the arena and starts the threads. On failure
/// `*context` is null. Of a machine that is there, every failure is one: no
/// alternative is tried then.
///
/// Fails with HOVA_REJECTED (no level fits, wrong image, bad option),
/// HOVA_OUT_OF_MEMORY (arena or threads) or HOVA_IO_ERROR.
hova_status hova_create(const hova_program *program,
                        const hova_options *options, hova_context **context);

/// Runs once. `inputs` and `outputs` hold as many tensors as the program has,
/// in its order. Allocates nothing. Checks every tensor (pointer, device, name,
/// dtype, shape, strides, alignment, overlap of outputs with anything) and
/// every integer and boolean (range) before the first write; then cannot fail,
/// unless a GPU does (HOVA_FAULT).
/// Results do not depend on the number of threads. A child of fork() has no
/// threads: there a context of several is HOVA_REJECTED, and may be destroyed.
///
/// A program for a GPU takes tensors of CPU memory, which it copies, and of its
/// device, aligned to 16 bytes, which it uses in place. Integers and booleans
/// that have to be checked are copied from the device, for which the run waits.
///
/// A program with ranges takes any number of items and tokens in them: the
/// first input says which, and all tensors have them; of a second sequence the
/// first input that has its tokens. What an item becomes depends on its own
/// tokens alone.
hova_status hova_run(hova_context *context, const hova_tensor *inputs,
                     const hova_tensor *outputs);

/// The same of a program with ranges whose items have `lengths[i]` tokens and
/// stand side by side: tensors of tokens are [all tokens, ...] in the place of
/// [items, tokens, ...], and nothing is padded. Where items have a second
/// sequence, `lengths` has `2 * items` numbers: those of the first sequences,
/// and then, from `lengths[items]` on, those of the second.
hova_status hova_run_packed(hova_context *context, const int32_t *lengths,
                            int64_t items, const hova_tensor *inputs,
                            const hova_tensor *outputs);

/// Ends the threads and frees everything. Null is allowed.
void hova_destroy(hova_context *context);

/// Why the last call on this context failed; "" if it did not.
const char *hova_message(const hova_context *context);

/// The kind of machine that the context runs on, as `hova compile` names the
/// target.
const char *hova_target(const hova_context *context);

/// The program, one of the alternatives that `hova_create` was given, the level
/// it runs at, its threads and its arena (`arena_bytes` long; a
/// `hova_value_info` says what lies where). The arena is null where the
/// processor cannot read it, in the memory of a GPU.
const hova_program *hova_program_of(const hova_context *context);
const hova_level *hova_level_of(const hova_context *context);
int32_t hova_threads_of(const hova_context *context);
const char *hova_arena_of(const hova_context *context);

/// Bytes of the arena and, after it, of what the threads need.
uint64_t hova_memory_of(const hova_context *context);

/// Copies a part of the arena, which is there, to memory of the host, of a GPU
/// too: after a run, or in a hook, which is called when the kernel is done.
/// What goes wrong on a GPU is in the context's message.
hova_status hova_read_arena(hova_context *context, uint64_t offset,
                            uint64_t bytes, void *to);

/// Fills the arena, and what the threads need, with bytes 0xff, and on a GPU
/// where outputs are before they are copied: for checks that nothing is read
/// that an earlier run has left.
hova_status hova_poison(hova_context *context);

/// Called by the first thread after each kernel while all others wait.
typedef void hova_hook_fn(void *user, int64_t kernel);

/// Sets or (null) removes the hook of the next runs.
void hova_set_hook(hova_context *context, hova_hook_fn *hook, void *user);

/// Gives the next runs an array of num_kernels + 1 times, or (null) none: the
/// start and the end of each kernel on the first thread, in nanoseconds of
/// CLOCK_MONOTONIC. A GPU then runs kernel by kernel, and tells times itself.
void hova_set_times(hova_context *context, uint64_t *times);

/// Gives the next runs an array of 2 * threads * num_kernels times, or (null)
/// none: when each thread began and ended its chunk of each kernel, thread by
/// thread, in nanoseconds of CLOCK_MONOTONIC. A thread without a chunk of a
/// kernel writes nothing.
void hova_set_spans(hova_context *context, uint64_t *spans);

/// Makes the next runs execute one kernel only, on what earlier runs left in
/// the arena, or (negative) all of them again. For measuring: the outputs of
/// such a run mean nothing.
void hova_select_kernel(hova_context *context, int64_t kernel);

/// Called by every thread with each of its calls of a kernel, in the place of
/// `call(launch->kernel, addresses, scratch, begin, end)`; `number` counts the
/// launches of a run. For checks that give a kernel other memory.
typedef void hova_intercept_fn(void *user, uint64_t number,
                               const hova_launch *launch,
                               void *const *addresses, uint64_t begin,
                               uint64_t end, hova_call_fn *call);

/// Sets or (null) removes what intercepts the next runs. With one, a run of a
/// program for a GPU is HOVA_REJECTED: it calls no such kernels.
void hova_set_intercept(hova_context *context, hova_intercept_fn *intercept,
                        void *user);

/// Drops from every cache of the processor what the next run reads and writes:
/// weights, arena and scratch. For measuring. Nothing for a GPU.
void hova_flush_caches(const hova_context *context);

/// Functions of the runtime that a program is linked with, for tools that look
/// into the contexts of a library: PREFIX_inspection gives them.
typedef struct hova_inspection {
  hova_status (*read_arena)(hova_context *context, uint64_t offset,
                            uint64_t bytes, void *to);
  hova_status (*poison)(hova_context *context);
  void (*set_hook)(hova_context *context, hova_hook_fn *hook, void *user);
  void (*set_intercept)(hova_context *context, hova_intercept_fn *intercept,
                        void *user);
  /// Chooses an order of blocks, warps and copies for the next runs, of which
  /// no result depends. Null where the order is not the runtime's to choose.
  void (*set_order)(hova_context *context, uint64_t order);
  /// Chooses how matrix products add in the next runs, a hova_emulation_sums
  /// (runtime/emulation/Emulation.h). Null where the processor decides.
  void (*set_sums)(hova_context *context, int sums);
  /// Chooses what instructions that a GPU approximates compute in the next
  /// runs, a hova_emulation_approximations. Null likewise.
  void (*set_approximations)(hova_context *context, int way);
} hova_inspection;

/// Those of this runtime.
const hova_inspection *hova_inspect(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // HOVA_RUNTIME_H
