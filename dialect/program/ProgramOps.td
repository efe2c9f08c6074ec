//===- ProgramOps.td - Weights, kernels and launches ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_PROGRAM_PROGRAMOPS
#define HOVA_DIALECT_PROGRAM_PROGRAMOPS

include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"
include "dialect/Schedule.td"
include "dialect/WeightLayout.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hova_WeightOp : Hova_Op<"weight", [Pure]> {
  let summary = "reference to a named tensor of the weight file";
  let description = [{
    A reference, never a literal. `name` is the safetensors name; `init` tells
    how the tensor is made where no file is given. Frozen weights (random
    features) are not `trainable`. The same name may be referenced more than
    once (tied weights) and then has one type.

    - C1: name is not empty.

    ```mlir
    func.func @reference() -> tensor<768x768xf32> {
      %w = hova.weight "encoder.3.attn.query.weight" {init = "linear"}
          : tensor<768x768xf32>
      return %w : tensor<768x768xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, DefaultValuedAttr<StrAttr, "\"linear\"">:$init,
                       DefaultValuedAttr<BoolAttr, "true">:$trainable);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

/// What the folding function stores: numbers, and integers. Those that no
/// weight decides, such as rows and kinds of windows, leave it at `tile` for the
/// table program.
def Hova_Stored : AnyTypeOf<[Hova_Tensor, Hova_Ids]>;

def Hova_ImageWeightOp : Hova_Op<"image_weight", [Pure]> {
  let summary = "reference to a tensor that the folding function makes";
  let description = [{
    The tensor that `hova.store_weight` of the same name leaves in the packed
    weights. `layout`, which `assign` chooses, tells how a matrix lies there;
    without one, a tensor lies row-major.

    - C1: the layout is for a tensor of this type.

    ```mlir
    func.func @reference() -> tensor<768x2304xf32> {
      %w = hova.image_weight "encoder.3.attn.qkv" {layout = #hova.column_strips<32>}
          : tensor<768x2304xf32>
      return %w : tensor<768x2304xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       OptionalAttr<Hova_WeightLayoutAttrInterface>:$layout);
  let results = (outs Hova_Stored:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Hova_StoreWeightOp : Hova_Op<"store_weight"> {
  let summary = "one result of constant folding";
  let description = [{
    Names a tensor computed from weights alone, as `hova.image_weight` reads it.

    ```mlir
    func.func @weights() {
      %w = hova.weight "head.weight" : tensor<64x10xf32>
      hova.store_weight "head.weight", %w : tensor<64x10xf32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Hova_Stored:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}

def Hova_TransposeOp : Hova_Op<"transpose", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Pure,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "a weight matrix with rows and columns exchanged";
  let description = [{
    - C1: x is a matrix and the result has its dimensions exchanged.

    ```mlir
    func.func @t(%w: tensor<8x4xf32>) -> tensor<4x8xf32> {
      %t = hova.transpose %w : tensor<8x4xf32> -> tensor<4x8xf32>
      return %t : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_BlockDiagonalOp : Hova_Op<"block_diagonal", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Pure,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the matrices of all heads as one matrix";
  let description = [{
    `[heads, in, out] -> [heads*in, heads*out]`: block m of the diagonal is
    matrix m, everything else is zero. A row of concatenated heads times this
    matrix gives each head its own linear map (the inner projections of
    additive attention).

    - C1: blocks has three dimensions and the result is
      [heads*in, heads*out].

    ```mlir
    func.func @b(%w: tensor<2x4x3xf32>) -> tensor<8x6xf32> {
      %b = hova.block_diagonal %w : tensor<2x4x3xf32> -> tensor<8x6xf32>
      return %b : tensor<8x6xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$blocks);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat = "$blocks attr-dict `:` type($blocks) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_PackOp : Hova_Op<"pack", [
    DeclareOpInterfaceMethods<Hova_MoveOpInterface>, Pure,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "a weight matrix as its layout stores it";
  let description = [{
    The numbers of a matrix `[in, out]` in the order of `layout`, with zeros
    where that has room for more.

    - C1: the layout is for a tensor of x's type.
    - C2: the result has the layout's shape and x's elements.

    ```mlir
    func.func @p(%w: tensor<8x40xf32>) -> tensor<2x8x32xf32> {
      %p = hova.pack %w [#hova.column_strips<32>]
          : tensor<8x40xf32> -> tensor<2x8x32xf32>
      return %p : tensor<2x8x32xf32>
    }
    ```
  }];
  let arguments = (ins Hova_Tensor:$x, Hova_WeightLayoutAttrInterface:$layout);
  let results = (outs Hova_Tensor:$result);
  let assemblyFormat =
      "$x `[` $layout `]` attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_KernelOp : Hova_Op<"kernel", [IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one unit of code generation";
  let description = [{
    The operations of the region become one function: no thread waits for
    another between them. `name` is the path of the operation with most work, `units` what the
    threads divide: named dims that every operation of the region has in
    parallel, such as the rows of all results, the heads of an attention, or the
    strips of columns of one product. After `assign` the region is a list of stages
    (`hova.stage`), and of slices of columns, which are addresses in what they
    slice, and `schedule` is what the target has decided about the loops, an
    attribute of its own.

    The region has one order of rows. An input or result whose rows are in
    another order has a placement (`input_placements`, `result_placements`; `unit`
    where it has none): the region's argument is what the placement makes of the
    input, and what is yielded is what it makes of the result. So a kernel reads
    and writes rows where they are, and no rearranged copy of them exists.

    - C1: the region's arguments have the types of the inputs, placed.
    - C2: the yielded values have the types of the results, placed.
    - C3: there are as many placements as inputs and as results, or none, and
      those of results are permutations.

    ```mlir
    func.func @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = hova.kernel "act" units<row 4> (%x) {
      ^bb0(%a: tensor<4x8xf32>):
        %r = hova.activation relu %a : tensor<4x8xf32>
        hova.yield %r : tensor<4x8xf32>
      } : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyRankedTensor>:$inputs,
                       OptionalAttr<Hova_UnitsAttr>:$units,
                       OptionalAttr<ArrayAttr>:$input_placements,
                       OptionalAttr<ArrayAttr>:$result_placements,
                       OptionalAttr<Hova_ScheduleAttrInterface>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let extraClassDeclaration = [{
    /// Where the rows of an input or result are; null: in the region's order.
    ::hova::PlacementAttrInterface getInputPlacement(unsigned index);
    ::hova::PlacementAttrInterface getResultPlacement(unsigned index);
    /// One for each; where all are null there is no attribute.
    void setPlacements(
        ::llvm::ArrayRef<::hova::PlacementAttrInterface> inputs,
        ::llvm::ArrayRef<::hova::PlacementAttrInterface> results);
    /// Another input, in the order of the region; returns its argument.
    ::mlir::BlockArgument addInput(::mlir::Value input);
    /// What is computed for a result: inside of a stage, the value there.
    ::mlir::Value getComputed(unsigned index);
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name (`units` `` $units^)? `(` $inputs `)` attr-dict-with-keyword $body
    `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

def Hova_StageOp : Hova_Op<"stage", [HasParent<"KernelOp">,
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "operations of a kernel that share one nest of loops";
  let description = [{
    The first operation of the region is the anchor, which owns the loops. The
    others work on its tiles: they are element-wise, or groups of its columns.
    Stages run one after the other on some units of a thread at a time.

    The memory space of a value follows from where it is. A value inside of a
    stage stays inside of the loops. A result of a stage that another stage reads is in
    memory of the thread, a result of the kernel in the arena or an output.
    `layouts` says for each result how its numbers lie there; a value that has
    two of them is two results.

    - C1: there is an anchor, and the region has no arguments: it sees the values
      around it.
    - C2: the results have the types of the yielded values, which are computed
      in the stage.
    - C3: there is a layout for each result, and rows do not overlap.

    ```mlir
    func.func @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = hova.kernel "act" units<row 4> (%x) {
      ^bb0(%a: tensor<4x8xf32>):
        %s = hova.stage [#hova.layout<rows 16>] {
          %r = hova.activation relu %a : tensor<4x8xf32>
          hova.yield %r : tensor<4x8xf32>
        } : tensor<4x8xf32>
        hova.yield %s : tensor<4x8xf32>
      } : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Hova_LayoutArray:$layouts);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $layouts attr-dict-with-keyword $body (`:` type($results)^)?
  }];
  let extraClassDeclaration = [{
    /// The operation that owns the loops.
    ::mlir::Operation *getAnchor() { return &getBody().front().front(); }
    /// The anchor and what works on its tiles.
    ::llvm::SmallVector<::mlir::Operation *> getComputeOps();
    /// The value in the stage that a result is.
    ::mlir::Value getComputed(unsigned index) {
      return getBody().front().getTerminator()->getOperand(index);
    }
    ::hova::LayoutAttr getLayout(unsigned index) {
      return ::llvm::cast<::hova::LayoutAttr>(getLayouts()[index]);
    }
  }];
  let hasVerifier = 1;
}

def Hova_YieldOp : Hova_Op<"yield", [Pure, Terminator, ReturnLike,
                                     ParentOneOf<["KernelOp", "StageOp"]>]> {
  let summary = "results of a kernel or of a stage";
  let description = "Ends the region of `hova.kernel` and of `hova.stage`.";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins),
      [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

class Hova_BufferOp<string mnemonic, string place> : Hova_Op<mnemonic, [Pure]> {
  let summary = "a buffer at a fixed place of the " # place;
  let description = [{
    `offset` bytes from the start of the }] # place # [{, a multiple
    of 64.

    - C1: offset is a multiple of 64.

    ```mlir
    func.func @buffer() {
      %b = hova.}] # mnemonic # [{ {offset = 64 : i64} : memref<4x8xf32, strided<[16, 1]>>
      return
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Hova_ArenaBufferOp : Hova_BufferOp<"arena_buffer", "arena">;
def Hova_ImageBufferOp : Hova_BufferOp<"image_buffer", "packed weights">;
def Hova_TableBufferOp : Hova_BufferOp<"table_buffer", "program's tables">;

def Hova_SequenceBufferOp : Hova_Op<"sequence_buffer", [Pure]> {
  let summary = "the table of the sequences of a run";
  let description = [{
    In a program with ranges: one row of integers that the runtime writes before
    the first kernel. Of n items with t tokens together they are n, t, the first
    row of each item, t for all items that the program may have besides and once
    more, and the position of every row in its item. Where items have tokens of
    two ranges, the same of the others follows.

    ```mlir
    func.func @buffer() {
      %b = hova.sequence_buffer : memref<1x519xi32>
      return
    }
    ```
  }];
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def Hova_ChunkBufferOp : Hova_Op<"chunk_buffer"> {
  let summary = "rows that each thread keeps for its own units";
  let description = [{
    A buffer for a value between two stages of a kernel, one row a unit. It
    belongs to one operand of one launch and exists once for each thread, which
    has memory for as many rows as pass through all stages together, at most
    (`block` of the launch's shape). The rows stand in the order of the units, from the
    first unit of the thread on; the type has the rows of all units, of which
    no thread has more than its own. They lie in the arena, where nothing is
    alive during the launch: the first thread's rows begin `offset` bytes after
    its start and, where buffers whose number of rows depends on the threads
    stand in front, as many more as these have, each `row_bytes_before` bytes
    together.

    - C1: rows begin at multiples of 64 bytes.
    - C2: so do the places of the buffer.

    ```mlir
    func.func @buffer() {
      %b = hova.chunk_buffer {offset = 256 : i64, row_bytes_before = 64 : i64}
          : memref<4x8xf32, strided<[16, 1]>>
      return
    }
    ```
  }];
  let arguments = (ins
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$offset,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">
          :$row_bytes_before);
  let results = (outs Res<AnyMemRef, "memory of each thread",
                          [MemAlloc<DefaultResource>]>:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// From the start of a row to that of the next.
    int64_t getRowBytes();
  }];
}

def Hova_LaunchOp : Hova_Op<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a kernel function run on its buffers";
  let description = [{
    `shape` is how the target runs `callee`, an attribute of its own, such as the
    units that threads divide. `flops` is
    what the kernel executes, twice the multiply-accumulates; `name` its path.

    - C1: callee is a function whose first arguments are of the buffers' types.
    - C2: its other arguments, and the buffers, are what the shape asks for.

    ```mlir
    func.func private @k(memref<4x8xf32>, memref<64xi8>, index, index)
    func.func @main(%x: memref<4x8xf32>) {
      hova.launch @k(%x) "act" {flops = 0 : i64, shape = #hova_cpu.launch<units = 4, grain = 1>}
          : (memref<4x8xf32>)
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyMemRef>:$buffers,
      StrAttr:$name, I64Attr:$flops,
      Hova_LaunchShapeAttrInterface:$shape);
  let assemblyFormat =
      "$callee `(` $buffers `)` $name attr-dict `:` `(` type($buffers) `)`";
}

#endif // HOVA_DIALECT_PROGRAM_PROGRAMOPS
