//===- WgmmaOps.td - Asynchronous products of warp groups -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensor cores of compute capability 9.0 multiply while the warps that asked
// for it go on: a sum is under way until a wait. There are two operations for
// the tiles of a group, and two for the registers of a thread. These are one
// piece of PTX each, with all sums in and out, so that no pass can put anything
// between the instructions of which ptxas demands that they follow each other.

#ifndef HOVA_CODEGEN_CUDA_WGMMAOPS
#define HOVA_CODEGEN_CUDA_WGMMAOPS

include "codegen/cuda/HovaCudaDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinTypes.td"

//===----------------------------------------------------------------------===//
// Tiles of a group
//===----------------------------------------------------------------------===//

def HovaCuda_BeginProductOp
    : HovaCuda_Op<"begin_product", [AllTypesMatch<["sum", "result"]>,
                                    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a matrix product that is under way";
  let description = [{
    `result[i, j] = sum[i, j] + sum over k of lhs[i, k] * rhs[slot, j, k]`

    as soon as a `hova_cuda.end_products` has waited for it. Until then its slots
    are read, and whoever writes them must have waited. Products that add to one
    sum do so in the order in which they began. Products are exact, and their
    sums are f32 in the order that the instruction has. lhs is a slot or a tile.

    - C1: a lhs of slots has a slot index, a tile has none.
    - C2: the extents agree: R x K times C x K added to R x C.
    - C3: lhs and rhs have one element type of 16 bits, and sum is f32.
    - C4: sum lies as a product leaves it, with 16 rows for each of a multiple of
      4 members, which divide rows alone, and a lhs tile lies so too.
    - C5: boxes have 32 or 64 columns, and sum has a multiple of 8, 256 at most.
    - C6: a result that is under way reaches the sum of a product, an
      `end_products` and loops alone.

    ```mlir
    func.func @product(%x: !hova.slots<3x64x64xbf16>,
                       %w: !hova.slots<3x128x64xbf16>, %i: index,
                       %sum: !hova.tile<64x128xf32, product 4x1>)
        -> !hova.tile<64x128xf32, product 4x1> {
      %u = hova_cuda.begin_product %x[%i], %w[%i], %sum
          : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xbf16>,
            !hova.tile<64x128xf32, product 4x1>
      %r = hova_cuda.end_products 0, %u : !hova.tile<64x128xf32, product 4x1>
      return %r : !hova.tile<64x128xf32, product 4x1>
    }
    ```
  }];
  let arguments = (ins Arg<AnyTypeOf<[HovaCuda_Slots, HovaCuda_Tile]>, "",
                           [MemRead]>:$lhs,
                       Arg<HovaCuda_Slots, "", [MemRead]>:$rhs,
                       Index:$rhs_slot, HovaCuda_Tile:$sum,
                       Optional<Index>:$lhs_slot);
  let results = (outs HovaCuda_Tile:$result);
  let assemblyFormat = [{
    $lhs (`[` $lhs_slot^ `]`)? `,` $rhs `[` $rhs_slot `]` `,` $sum attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($sum)
  }];
  let hasVerifier = 1;
}

def HovaCuda_EndProductsOp
    : HovaCuda_Op<"end_products", [AllTypesMatch<["sum", "result"]>,
                                   MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the end of products, for each member by itself";
  let description = [{
    A member passes when all of its products but the last `under_way` have ended.
    It knows nothing of the products of other members: a `hova.group_wait` after
    this lets all members write the slots that were read. With 0 the result is the
    sum; with more it is under way still.

    - C1: `under_way` is not negative.
    - C2: a result that is under way reaches the sum of a product, an
      `end_products` and loops alone.

    ```mlir
    func.func @wait(%sum: !hova.tile<64x128xf32, product 4x1>)
        -> !hova.tile<64x128xf32, product 4x1> {
      %r = hova_cuda.end_products 0, %sum : !hova.tile<64x128xf32, product 4x1>
      return %r : !hova.tile<64x128xf32, product 4x1>
    }
    ```
  }];
  let arguments = (ins I64Attr:$under_way, HovaCuda_Tile:$sum);
  let results = (outs HovaCuda_Tile:$result);
  let assemblyFormat = "$under_way `,` $sum attr-dict `:` type($sum)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Registers of a thread
//===----------------------------------------------------------------------===//

def HovaCuda_SharedPointer
    : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self) && "
                 "::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self)"
                 ".getAddressSpace() == 3">,
           "pointer to shared memory", "::mlir::LLVM::LLVMPointerType">,
      BuildableType<"::mlir::LLVM::LLVMPointerType::get("
                    "$_builder.getContext(), 3)">;

def HovaCuda_WgmmaOp
    : HovaCuda_Op<"wgmma", [MemoryEffects<[MemRead, MemWrite]>,
                            AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "products of a warp group, as one group of them";
  let description = [{
    Four warps, from a multiple of four on, add the product of 64 rows of a left
    operand and N rows of a right one to N/2 sums of each thread: `wgmma.fence`, a
    `wgmma.mma_async` of shape m64nNk16 for each 16 columns, `wgmma.commit_group`.

    An operand in shared memory has `row_bytes` bytes a row, whose chunks of 16
    bytes are exchanged as `hova.group_copy` leaves them: chunk c of row r lies at
    c xor r mod 8 where a row has 128 bytes, at c xor r / 2 mod 4 where it has 64.
    The pointer is that of its first row. A left operand in registers has, of each
    16 columns, the four words that `mma.sync` takes. Thread l of warp w of the
    four holds at 4 c + 2 h + e the sum of row 16 w + l / 4 + 8 h and column
    8 c + 2 (l mod 4) + e.

    What stores and `cp.async` wrote is to be known to the warps, and fenced for
    the asynchronous proxy by `nvvm.fence.proxy`. Until a `hova_cuda.wgmma_wait`,
    the operands in shared memory are read, and nobody writes them.

    - C1: a row has 64 or 128 bytes.
    - C2: there are 4 to 128 sums, a multiple of 4.
    - C3: the left operand is one pointer, or a word for each 8 bytes of a row.
    - C4: results, which are under way, reach the sums of a `wgmma`, a
      `wgmma_wait` and loops alone.

    ```mlir
    llvm.func @product(%x: !llvm.ptr<3>, %w: !llvm.ptr<3>, %s: f32) {
      %u:4 = hova_cuda.wgmma bf16, (%x), %w to (%s, %s, %s, %s) : !llvm.ptr<3>
      %r:4 = hova_cuda.wgmma_wait 0, (%u#0, %u#1, %u#2, %u#3)
      llvm.return
    }
    ```
  }];
  let arguments = (ins TypeAttrOf<AnyTypeOf<[BF16, F16]>>:$element,
                       Variadic<AnyTypeOf<[I32, HovaCuda_SharedPointer]>>:$lhs,
                       HovaCuda_SharedPointer:$rhs, Variadic<F32>:$sums,
                       DefaultValuedAttr<I64Attr, "128">:$row_bytes);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = [{
    $element `,` `(` $lhs `)` `,` $rhs `to` `(` $sums `)` attr-dict
    `:` type($lhs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the left operand is in registers.
    bool takesWords() { return getLhs().front().getType().isInteger(); }
    /// Columns of the product, and products of 16 columns of the operands.
    int64_t getColumns() { return 2 * getSums().size(); }
    int64_t getSteps() { return getRowBytes() / 32; }
  }];
}

def HovaCuda_WgmmaWaitOp
    : HovaCuda_Op<"wgmma_wait", [MemoryEffects<[MemRead, MemWrite]>,
                                 InferTypeOpAdaptor]> {
  let summary = "the end of products of a warp group";
  let description = [{
    `wgmma.wait_group`: the warp waits until all of its products but those of the
    last `under_way` operations `hova_cuda.wgmma` have ended. Sums that the thread
    goes on with pass through it.

    - C1: `under_way` is from 0 to 7.
    - C2: with more than 0 the results are under way: they reach the sums of a
      `wgmma`, a `wgmma_wait` and loops alone.

    ```mlir
    llvm.func @wait(%s: f32) {
      %r:2 = hova_cuda.wgmma_wait 1, (%s, %s)
      llvm.return
    }
    ```
  }];
  let arguments = (ins I64Attr:$under_way, Variadic<F32>:$sums);
  let results = (outs Variadic<F32>:$results);
  let assemblyFormat = "$under_way `,` `(` $sums `)` attr-dict";
  let hasVerifier = 1;
}

#endif // HOVA_CODEGEN_CUDA_WGMMAOPS
