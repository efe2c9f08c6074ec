//===- GroupOps.td - Tiles that a group of threads holds ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group is what works on one block of a kernel together. It has members, each
// of which issues instructions of its own, and threads that execute these side
// by side. Group memory is seen by all members. A tile is a matrix that the
// threads of a group hold; its type says how it is distributed over members and
// their threads, and which thread holds which element is the target's to say.

#ifndef HOVA_DIALECT_GROUP_GROUPOPS
#define HOVA_DIALECT_GROUP_GROUPOPS

include "dialect/HovaDialect.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/BuiltinTypes.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Hova_TileType : TypeDef<Hova_Dialect, "Tile",
    [DeclareTypeInterfaceMethods<ShapedTypeInterface>, ValueSemantics]> {
  let mnemonic = "tile";
  let summary = "a matrix that the threads of a group hold";
  let description = [{
    `!hova.tile<64x128xf32, product 2x2>`: the rows are divided over two members,
    the columns over two. Within a member its threads hold the elements as a
    product leaves them (`product`) or in runs along the row (`row`). Which
    thread holds which element is for the target to say. A
    dimension of 1 is not divided: all threads that need its element hold it.

    `!hova.tile<64x1xf32, partial 4x1>`: of each row, every thread that shares the
    row holds a value of its own, say the sum of its elements of the row.
    `hova.group_map` takes each of these values by itself, and `hova.group_reduce`
    makes one of them.

    Elements are f32, bf16, f16 or i32. Extents and members are positive, and members
    divide the extents that are not 1.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType, "::hova::TileDistribution":$distribution,
                        "int64_t":$rowMembers, "int64_t":$columnMembers);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t rows() const { return getShape()[0]; }
    int64_t columns() const { return getShape()[1]; }
    /// Members of the group.
    int64_t members() const { return getRowMembers() * getColumnMembers(); }
    /// This division over members, for another shape, element and distribution.
    TileType with(::llvm::ArrayRef<int64_t> shape, ::mlir::Type element,
                  ::hova::TileDistribution distribution) const {
      return get(getContext(), shape, element, distribution, getRowMembers(),
                 getColumnMembers());
    }
  }];
}

def Hova_SlotsType : TypeDef<Hova_Dialect, "Slots",
    [DeclareTypeInterfaceMethods<ShapedTypeInterface>]> {
  let mnemonic = "slots";
  let summary = "boxes of group memory";
  let description = [{
    `!hova.slots<3x64x64xbf16>`: three slots of group memory, each for a box of 64
    rows and 64 columns. How the elements of a box are arranged is for the target
    to say, so that operations of a group alone touch them.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t count() const { return getShape()[0]; }
    int64_t rows() const { return getShape()[1]; }
    int64_t columns() const { return getShape()[2]; }
  }];
}

def Hova_CopyTokenType : TypeDef<Hova_Dialect, "CopyToken"> {
  let mnemonic = "copy_token";
  let summary = "a copy under way";
}

def Hova_GroupMatrix : MemRefRankOf<[F32, BF16, F16], [2]>;
/// Masks and ids too.
def Hova_StoredMatrix : MemRefRankOf<[F32, BF16, F16, I8, I32], [2]>;
/// Tables and ids too, which are gathered.
def Hova_GatheredMatrix : MemRefRankOf<[F32, BF16, F16, I8, I32, I64], [2]>;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def Hova_GroupLoadOp : Hova_Op<"group_load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a matrix, or a box of group memory";
  let description = [{
    `tile[i, j] = source[row + i, column + j]`, 0 outside source. Of slots it
    reads the box `slot`, whole: `tile[i, j] = source[slot, i, j]`.

    Row and column are any numbers: the tile may begin before source, and end
    after it. `in_bounds` promises that no element of the tile lies outside the
    rows of source (the first) or its columns (the second). What a wrong promise
    reads is undefined. Without a promise every element is checked, and what is
    known of row and column decides how many elements one access moves: a
    position that is computed as a multiple of 8 gives the widest.

    - C1: a matrix has a row and a column, slots have one index.
    - C2: the element of source is that of the tile; a box has its extents.
    - C3: rows of a matrix have static columns, a unit column stride and a
      static row stride.

    ```mlir
    func.func @load(%m: memref<197x768xf32>, %r: index, %c: index)
        -> !hova.tile<4x768xf32, row 4x1> {
      %t = hova.group_load %m[%r, %c]
          : memref<197x768xf32> -> !hova.tile<4x768xf32, row 4x1>
      return %t : !hova.tile<4x768xf32, row 4x1>
    }
    ```
  }];
  let arguments = (ins Arg<AnyTypeOf<[Hova_GroupMatrix, Hova_SlotsType]>, "",
                           [MemRead]>:$source,
                       Variadic<Index>:$indices,
                       DefaultValuedAttr<DenseBoolArrayAttr, "{false, false}">:$in_bounds);
  let results = (outs Hova_TileType:$tile);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Hova_GroupGatherOp : Hova_Op<"group_gather",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead]>, SingleBlockImplicitTerminator<"GroupYieldOp">]> {
  let summary = "a tile whose elements lie anywhere in a matrix or a box";
  let description = [{
    `tile[i, j] = source[row, column]`, where the body yields row and column for
    the elements of the tiles `by` at (i, j) and that position itself, as the body of
    `hova.group_map` does: ids are a tile, and rows of a table are gathered with
    it. Of slots it reads the box `slot`, or, without one, all boxes, which stand
    beside each other as one. It is 0 where that lies outside of source: also before it, since positions
    are compared without a sign. The body is on scalars and may use scalars from
    outside. One access reads elements of a thread that the body shows to lie
    beside each other in one row, from a multiple of their size on; rows at a place
    that is known are for `hova.group_load`. Bytes become the integers that they
    are without a sign; of i64, what is no i32 becomes the least one. `in_bounds` promises
    rows and columns of source, as that of `hova.group_load` does.

    - C1: the element of source is that of the tile, or i8 or i64 of i32.
    - C2: rows of a matrix have static columns, a unit column stride and a
      static row stride; a
      matrix has no slot.
    - C3: the body takes an element of each operand and two indices, and yields
      two indices.
    - C4: a partial tile is not gathered.
    - C5: the tiles `by` have the members and the distribution of the result, and its extents
      or 1.

    Patches of 16x16 of an image of one channel, 14 in a row, one a row of the
    tile:

    ```mlir
    func.func @patches(%image: memref<224x224xbf16>)
        -> !hova.tile<64x256xbf16, product 4x1> {
      %c14 = arith.constant 14 : index
      %c16 = arith.constant 16 : index
      %t = hova.group_gather %image
          : memref<224x224xbf16> -> !hova.tile<64x256xbf16, product 4x1> {
      ^bb0(%i: index, %j: index):
        %p = arith.divui %i, %c14 : index
        %q = arith.remui %i, %c14 : index
        %y = arith.divui %j, %c16 : index
        %x = arith.remui %j, %c16 : index
        %top = arith.muli %p, %c16 : index
        %left = arith.muli %q, %c16 : index
        %row = arith.addi %top, %y : index
        %column = arith.addi %left, %x : index
        hova.group_yield %row, %column : index, index
      }
      return %t : !hova.tile<64x256xbf16, product 4x1>
    }
    ```
  }];
  let arguments = (ins Arg<AnyTypeOf<[Hova_GatheredMatrix, Hova_SlotsType]>, "",
                           [MemRead]>:$source,
                       Optional<Index>:$slot, Variadic<Hova_TileType>:$by,
                       DefaultValuedAttr<DenseBoolArrayAttr, "{false, false}">:$in_bounds);
  let results = (outs Hova_TileType:$tile);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $source (`[` $slot^ `]`)? (`by` `(` $by^ `:` type($by) `)`)? attr-dict
    `:` type($source) `->` type($tile) $body
  }];
  let hasVerifier = 1;
}

def Hova_GroupStoreOp : Hova_Op<"group_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile written to a matrix";
  let description = [{
    `target[row + i, column + j] = tile[i, j]`, nothing outside target. Row,
    column and `in_bounds` are those of `hova.group_load`. No two groups write the
    same element; of the threads that hold the only row or column of a tile, one does.
    Bytes take the low eight bits of i32.

    - C1: the element of target is that of the tile, or i8 of i32.
    - C2: rows of target have static columns, a unit column stride and a static
      row stride.
    - C3: a partial tile is not stored.

    ```mlir
    func.func @store(%t: !hova.tile<64x128xbf16, product 2x2>,
                     %m: memref<197x768xbf16>, %r: index, %c: index) {
      hova.group_store %t, %m[%r, %c] {in_bounds = array<i1: false, true>}
          : !hova.tile<64x128xbf16, product 2x2>, memref<197x768xbf16>
      return
    }
    ```
  }];
  let arguments = (ins Hova_TileType:$tile,
                       Arg<Hova_StoredMatrix, "", [MemWrite]>:$target,
                       Index:$row, Index:$column,
                       DefaultValuedAttr<DenseBoolArrayAttr, "{false, false}">:$in_bounds);
  let assemblyFormat = [{
    $tile `,` $target `[` $row `,` $column `]` attr-dict
    `:` type($tile) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Hova_GroupShareOp : Hova_Op<"group_share", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile as a box of group memory";
  let description = [{
    `slots[slot, i, j] = tile[i, j]`. Without a slot the tile is all boxes, which
    stand beside each other as one. Members meet after it, and each sees the box:
    what was computed becomes an operand of a product. As of a copy, a wait stands
    between the last read of the slot and this; a tile that was gathered from the
    same places is written back without one, by the threads that read it.

    - C1: the box, or all boxes together, have the extents and the element of the tile.
    - C2: the tile has several rows and columns, and is not partial.

    ```mlir
    func.func @share(%t: !hova.tile<64x32xf32, product 4x1>,
                     %s: !hova.slots<1x64x32xf32>, %i: index) {
      hova.group_share %t, %s[%i]
          : !hova.tile<64x32xf32, product 4x1>, !hova.slots<1x64x32xf32>
      return
    }
    ```
  }];
  let arguments = (ins Hova_TileType:$tile,
                       Arg<Hova_SlotsType, "", [MemWrite]>:$slots,
                       Optional<Index>:$slot);
  let assemblyFormat = [{
    $tile `,` $slots (`[` $slot^ `]`)? attr-dict `:` type($tile) `,` type($slots)
  }];
  let hasVerifier = 1;
}

def Hova_GroupAllocOp : Hova_Op<"group_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "slots of group memory that live as long as the function";
  let description = [{
    A slot holds one box. Its bytes are undefined until a copy has put them there.

    ```mlir
    func.func @alloc() {
      %s = hova.group_alloc : !hova.slots<3x64x64xbf16>
      return
    }
    ```
  }];
  let results = (outs Hova_SlotsType:$slots);
  let assemblyFormat = "attr-dict `:` type($slots)";
}

def Hova_GroupCopyOp : Hova_Op<"group_copy",
                               [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a box on its way from a matrix to group memory";
  let description = [{
    `slots[slot, i, j] = source[row + i, column + j]`, 0 outside source, widened
    where source has 16 bits and the slots are of f32, at some time before a wait
    for the token is over. Copies end in any order. A wait for any token stands
    between the last read of a slot and the copy to it, and each token is waited
    for once on each path; loops carry tokens in the order in which their copies
    began. Row, column and `in_bounds` are those of
    `hova.group_load`. The larger the number of bytes that rows of
    source and the column begin at multiples of, the fewer instructions a copy
    takes.

    With `rows` the body says which row of source stands in the place of row
    `row + i`; one that source does not have is 0.

    - C1: the element of source is that of the slots, or of 16 bits where that is
      f32.
    - C2: rows of source have static columns, a unit column stride and a static
      row stride.
    - C3: the body of `rows` has one index and yields one.

    ```mlir
    func.func @copy(%m: memref<197x768xbf16>, %r: index, %c: index,
                    %s: !hova.slots<3x64x64xbf16>, %i: index) {
      %t = hova.group_copy %m[%r, %c] to %s[%i]
          : memref<197x768xbf16> to !hova.slots<3x64x64xbf16>
      hova.group_wait %t
      return
    }
    ```
  }];
  let arguments = (ins Arg<Hova_GroupMatrix, "", [MemRead]>:$source, Index:$row,
                       Index:$column,
                       Arg<Hova_SlotsType, "", [MemWrite]>:$slots, Index:$slot,
                       DefaultValuedAttr<DenseBoolArrayAttr, "{false, false}">:$in_bounds);
  let results = (outs Hova_CopyTokenType:$token);
  let regions = (region AnyRegion:$rows);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` `to` $slots `[` $slot `]`
    (`rows` $rows^)? attr-dict `:` type($source) `to` type($slots)
  }];
  let hasVerifier = 1;
}

def Hova_GroupWaitOp : Hova_Op<"group_wait",
                               [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the end of copies, for all members";
  let description = [{
    Members pass when all have come and the copies are done. Each sees what was
    copied, and slots that anybody read before may be written.

    ```mlir
    func.func @wait(%t: !hova.copy_token, %u: !hova.copy_token) {
      hova.group_wait %t, %u
      return
    }
    ```
  }];
  let arguments = (ins Variadic<Hova_CopyTokenType>:$tokens);
  let assemblyFormat = "$tokens attr-dict";
}

def Hova_GroupProductOp : Hova_Op<"group_product",
                                  [AllTypesMatch<["sum", "result"]>,
                                   MemoryEffects<[MemRead]>]> {
  let summary = "a matrix product added to a tile";
  let description = [{
    `result[i, j] = sum[i, j] + sum over k of lhs[i, k] * rhs[slot, k, j]`

    With `transposed` the slot of rhs holds `rhs[slot, j, k]`. Products are exact,
    and their sums are f32 in the order that the target's instruction has. lhs is
    a slot or a tile.

    - C1: a lhs of slots has a slot index, a tile has none.
    - C2: the extents agree: R x K times K x C added to R x C.
    - C3: lhs and rhs have one element type, and sum is f32.
    - C4: sum lies as a product leaves it, and a lhs tile has its rows.

    ```mlir
    func.func @product(%x: !hova.slots<3x64x64xbf16>,
                       %w: !hova.slots<3x128x64xbf16>, %i: index,
                       %sum: !hova.tile<64x128xf32, product 2x2>)
        -> !hova.tile<64x128xf32, product 2x2> {
      %r = hova.group_product %x[%i], %w[%i] transposed, %sum
          : !hova.slots<3x64x64xbf16>, !hova.slots<3x128x64xbf16>,
            !hova.tile<64x128xf32, product 2x2>
      return %r : !hova.tile<64x128xf32, product 2x2>
    }
    ```
  }];
  let arguments = (ins Arg<AnyTypeOf<[Hova_SlotsType, Hova_TileType]>, "",
                           [MemRead]>:$lhs,
                       Arg<Hova_SlotsType, "", [MemRead]>:$rhs,
                       Index:$rhs_slot, Hova_TileType:$sum,
                       Optional<Index>:$lhs_slot, UnitAttr:$transposed);
  let results = (outs Hova_TileType:$result);
  let assemblyFormat = [{
    $lhs (`[` $lhs_slot^ `]`)? `,` $rhs `[` $rhs_slot `]`
    (`transposed` $transposed^)? `,` $sum attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($sum)
  }];
  let hasVerifier = 1;
}

def Hova_GroupReduceOp : Hova_Op<"group_reduce", [Pure]> {
  let summary = "the sum or the maximum of every row";
  let description = [{
    The elements of a row are combined in any order; a maximum ignores NaN. With a
    partial result each thread combines its own elements, and a reduction of that
    combines the threads: a loop carries the partial sums and exchanges them once.
    Of a tile of 16 bits sums are f32, a product with ones, in its order.

    - C1: the result has one column, its rows, element and members are the tile's;
      of a tile of 16 bits the sums alone have a result, of f32.
    - C2: the distribution stays as it is, becomes partial, or was partial and becomes
      another kind.

    ```mlir
    func.func @reduce(%t: !hova.tile<64x128xf32, product 4x1>)
        -> !hova.tile<64x1xf32, product 4x1> {
      %p = hova.group_reduce add %t : !hova.tile<64x128xf32, product 4x1>
          -> !hova.tile<64x1xf32, partial 4x1>
      %r = hova.group_reduce add %p : !hova.tile<64x1xf32, partial 4x1>
          -> !hova.tile<64x1xf32, product 4x1>
      return %r : !hova.tile<64x1xf32, product 4x1>
    }
    ```
  }];
  let arguments = (ins Hova_Combine:$combine, Hova_TileType:$tile);
  let results = (outs Hova_TileType:$result);
  let assemblyFormat = "$combine $tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_GroupTransposeOp : Hova_Op<"group_transpose",
                                    [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a column as a row that all members hold";
  let description = [{
    `result[0, i] = tile[i, 0]`. Members meet, because each has rows of the column
    and all of the row: what is computed of the rows of one box, say squares of
    keys, is given to the columns of a product with them, and a maximum of maxima
    of rows is one for the group.

    - C1: the tile has one column and several rows, the result one row with as
      many columns, and both one element and one number of members.
    - C2: neither is partial.

    ```mlir
    func.func @transpose(%t: !hova.tile<64x1xf32, row 4x1>)
        -> !hova.tile<1x64xf32, product 4x1> {
      %r = hova.group_transpose %t
          : !hova.tile<64x1xf32, row 4x1> -> !hova.tile<1x64xf32, product 4x1>
      return %r : !hova.tile<1x64xf32, product 4x1>
    }
    ```
  }];
  let arguments = (ins Hova_TileType:$tile);
  let results = (outs Hova_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Hova_GroupExchangeOp : Hova_Op<"group_exchange",
                                   [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "a tile whose neighbours have changed places";
  let description = [{
    `result[i, 2j] = tile[i, 2j + 1]` and `result[i, 2j + 1] = tile[i, 2j]`. A
    thread has both, so this costs nothing.

    - C1: the tile is of f32, has an even number of columns and is not partial.

    ```mlir
    func.func @exchange(%t: !hova.tile<64x128xf32, product 2x2>)
        -> !hova.tile<64x128xf32, product 2x2> {
      %r = hova.group_exchange %t : !hova.tile<64x128xf32, product 2x2>
      return %r : !hova.tile<64x128xf32, product 2x2>
    }
    ```
  }];
  let arguments = (ins Hova_TileType:$tile);
  let results = (outs Hova_TileType:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let hasVerifier = 1;
}

def Hova_GroupHalfOp : Hova_Op<"group_half", [Pure]> {
  let summary = "one half of the columns that every member has";
  let description = [{
    Of every member's columns the first half, or with `second` the other one, as a
    tile of half as many: a member with the columns c up to before c + 2n of the
    tile has c / 2 up to before c / 2 + n of the result. A thread that has an
    element of the result has it in the tile, so this costs nothing.

    - C1: the tile is of f32 and lies as a product leaves it, and a member has an
      even number of columns.
    - C2: the result is such a tile with half of the columns.

    ```mlir
    func.func @half(%t: !hova.tile<64x128xf32, product 2x2>)
        -> !hova.tile<64x64xf32, product 2x2> {
      %r = hova.group_half %t second : !hova.tile<64x128xf32, product 2x2>
          -> !hova.tile<64x64xf32, product 2x2>
      return %r : !hova.tile<64x64xf32, product 2x2>
    }
    ```
  }];
  let arguments = (ins Hova_TileType:$tile, UnitAttr:$second);
  let results = (outs Hova_TileType:$result);
  let assemblyFormat = [{
    $tile (`second` $second^)? attr-dict `:` type($tile) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Hova_GroupMapOp : Hova_Op<"group_map",
                              [Pure, SingleBlockImplicitTerminator<"GroupYieldOp">]> {
  let summary = "a function of the elements at the same place";
  let description = [{
    `result[i, j] = body(operands[i, j]..., i, j)`; an operand with one row or one
    column gives it to all. Of a partial result it makes each thread's value by
    itself. The body is on scalars and may use scalars from outside. Vectors of
    one element are scalars too: `TileOpInterface::emitTile` writes its operations
    for the tile `vector<1x1xf32>` that `vector.broadcast` makes of an element and
    `vector.extract` takes back, `hova.activation` among them.

    - C1: operands have the members of the result, its extents or 1, and its
      distribution, or one column distributed as a product where the result
      is partial.
    - C2: the body takes an element of each operand and two indices, and yields
      an element of the result.

    ```mlir
    func.func @map(%s: !hova.tile<64x128xf32, product 2x2>,
                   %b: !hova.tile<1x128xf32, product 2x2>)
        -> !hova.tile<64x128xbf16, product 2x2> {
      %r = hova.group_map (%s, %b)
          : (!hova.tile<64x128xf32, product 2x2>,
             !hova.tile<1x128xf32, product 2x2>)
          -> !hova.tile<64x128xbf16, product 2x2> {
      ^bb0(%x: f32, %y: f32, %i: index, %j: index):
        %t = arith.addf %x, %y : f32
        %u = arith.truncf %t : f32 to bf16
        hova.group_yield %u : bf16
      }
      return %r : !hova.tile<64x128xbf16, product 2x2>
    }
    ```
  }];
  let arguments = (ins Variadic<Hova_TileType>:$operands);
  let results = (outs Hova_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $operands `)` attr-dict `:` functional-type($operands, $result) $body
  }];
  let hasVerifier = 1;
}

def Hova_GroupWhereOp
    : Hova_Op<"group_where", [RecursiveMemoryEffects, NoRegionArguments,
                              SingleBlockImplicitTerminator<"GroupYieldOp">]> {
  let summary = "a column that few rows ask for";
  let description = [{
    `result[i] = condition[i, 0] != 0 ? body[i] : 0`, of each thread's own part.
    A thread whose rows do not ask leaves the body out: what is rarely needed
    costs one branch.

    - C1: the condition is a column of f32 as a product leaves it.
    - C2: the body yields the result, a partial column of f32 with the rows and
      the members of the condition.
    - C3: in the body no threads meet: there are `hova.group_map`,
      `hova.group_gather`, `hova.group_reduce` to partial columns, loops, and
      what has no effects.

    Whether a mask has an element, of the rows that ask:

    ```mlir
    func.func @where(%asks: !hova.tile<64x1xf32, product 4x1>,
                     %mask: memref<64x32xf32>)
        -> !hova.tile<64x1xf32, partial 4x1> {
      %r = hova.group_where %asks : !hova.tile<64x1xf32, product 4x1>
          -> !hova.tile<64x1xf32, partial 4x1> {
        %m = hova.group_gather %mask
            : memref<64x32xf32> -> !hova.tile<64x32xf32, product 4x1> {
        ^bb0(%i: index, %j: index):
          hova.group_yield %i, %j : index, index
        }
        %most = hova.group_reduce max %m : !hova.tile<64x32xf32, product 4x1>
            -> !hova.tile<64x1xf32, partial 4x1>
        hova.group_yield %most : !hova.tile<64x1xf32, partial 4x1>
      }
      return %r : !hova.tile<64x1xf32, partial 4x1>
    }
    ```
  }];
  let arguments = (ins Hova_TileType:$condition);
  let results = (outs Hova_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition attr-dict `:` type($condition) `->` type($result) $body
  }];
  let hasVerifier = 1;
}

def Hova_GroupYieldOp
    : Hova_Op<"group_yield", [Pure, Terminator,
                              ParentOneOf<["GroupMapOp", "GroupGatherOp",
                                           "GroupCopyOp", "GroupWhereOp"]>]> {
  let summary = "what a body makes for a position";
  let description = [{
    Ends the body of a `hova.group_map`, with an element, of a
    `hova.group_gather`, with a row and a column, of a `hova.group_copy`,
    with a row, or of a `hova.group_where`, with a column. Examples stand there.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
  let assemblyFormat = "$values attr-dict (`:` type($values)^)?";
}

#endif // HOVA_DIALECT_GROUP_GROUPOPS
