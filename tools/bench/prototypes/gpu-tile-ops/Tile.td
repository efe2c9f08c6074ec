//===- Tile.td - Tile operations that name no target ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A group is what works on one unit of a kernel together: it has members, each
// of which issues instructions of its own. Group memory is seen by all of them.

#ifndef TILE_TD
#define TILE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tile";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Tile_Op<string name, list<Trait> traits = []> : Op<Tile_Dialect, name, traits>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Tile_Along : I32EnumAttr<"Along", "what the lanes of a member lie along", [
  I32EnumAttrCase<"product", 0>, I32EnumAttrCase<"row", 1>
]> {
  let cppNamespace = "::tile";
}

def Tile_Home : I32EnumAttr<"Home", "a level of memory", [
  I32EnumAttrCase<"group", 0>
]> {
  let cppNamespace = "::tile";
  let genSpecializedAttr = 0;
}

// The memory space of a memref; without one it is the arena or the image.
def Tile_HomeAttr : EnumAttr<Tile_Dialect, Tile_Home, "home"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_TileType : TypeDef<Tile_Dialect, "Tile",
    [DeclareTypeInterfaceMethods<ShapedTypeInterface>, ValueSemantics]> {
  let mnemonic = "tile";
  let summary = "a matrix in the registers of a group";
  let description = [{
    `!tile.tile<64x128xf32, product 4x1>`: the rows are divided over 4 members,
    the columns over 1. Within a member the elements lie over the lanes as a
    product leaves them (`product`) or along the row (`row`); which element
    that is in which register is for the target to say. A dimension of 1 is
    not divided: all that need its element hold it.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::tile::Along":$along, "int64_t":$rowMembers,
                        "int64_t":$columnMembers);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t rows() const { return getShape()[0]; }
    int64_t columns() const { return getShape()[1]; }
    /// This distribution, for another shape and element.
    TileType with(llvm::ArrayRef<int64_t> shape, ::mlir::Type element) const {
      return get(getContext(), shape, element, getAlong(), getRowMembers(),
                 getColumnMembers());
    }
  }];
}

def Tile_Token : TypeDef<Tile_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a copy under way";
}

def Tile_Matrix : MemRefRankOf<[F32, BF16], [2]>;
def Tile_Slots : MemRefRankOf<[F32, BF16], [3]>;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

def LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "a tile of a matrix";
  let description = [{
    `tile[i, j] = source[row + i, column + j]`, 0 outside source.
    - C1: row and column are multiples of the extents of the tile.
  }];
  let arguments = (ins Arg<Tile_Matrix, "", [MemRead]>:$source, Index:$row, Index:$column);
  let results = (outs Tile_TileType:$tile);
  let assemblyFormat = "$source `[` $row `,` $column `]` attr-dict `:` type($source) `->` type($tile)";
}

def StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a tile written to a matrix";
  let description = [{
    `target[row + i, column + j] = tile[i, j]`, nothing outside target.
    - C1: row and column are multiples of the extents of the tile.
  }];
  let arguments = (ins Tile_TileType:$tile, Arg<Tile_Matrix, "", [MemWrite]>:$target, Index:$row, Index:$column);
  let assemblyFormat = "$tile `,` $target `[` $row `,` $column `]` attr-dict `:` type($tile) `,` type($target)";
}

def AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "slots of group memory that live as long as the function";
  let description = [{
    A slot holds one box of `rows x columns`; how its elements are arranged is for
    the target to say, so that only tile operations may touch it.
  }];
  let results = (outs Tile_Slots:$slots);
  let assemblyFormat = "attr-dict `:` type($slots)";
}

def CopyOp : Tile_Op<"copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a box on its way from one home to another";
  let description = [{
    `slots[slot, i, j] = source[row + i, column + j]`, 0 outside source, at some
    time before a wait for the token is over. Copies end in any order.
    - C1: between the last read of the slot and the copy stands a wait.
    - C2: every token is waited for, once on each path.
  }];
  let arguments = (ins Arg<Tile_Matrix, "", [MemRead]>:$source, Index:$row, Index:$column,
                       Arg<Tile_Slots, "", [MemWrite]>:$slots, Index:$slot);
  let results = (outs Tile_Token:$token);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` `to` $slots `[` $slot `]` attr-dict
    `:` type($source) `to` type($slots)
  }];
}

def WaitOp : Tile_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the end of copies, for all members";
  let description = [{
    Members pass when all have come and the copies are done: each sees what was
    copied, and what anybody read before may be written.
  }];
  let arguments = (ins Variadic<Tile_Token>:$tokens);
  let assemblyFormat = "$tokens attr-dict";
}

def ProductOp : Tile_Op<"product", [AllTypesMatch<["sum", "result"]>,
                                    MemoryEffects<[MemRead]>]> {
  let summary = "a matrix product added to a tile";
  let description = [{
    `result[i, j] = sum[i, j] + sum over k of lhs[i, k] * rhs[k, j]`, in the element of
    sum and in any order of k. lhs is a slot or a tile, rhs a slot, which
    holds `rhs[j, k]` where `transposed` is given.
    - C1: slots have a slot index, tiles have none.
    - C2: the shapes agree.
  }];
  let arguments = (ins AnyTypeOf<[Tile_Slots, Tile_TileType]>:$lhs,
                       Arg<Tile_Slots, "", [MemRead]>:$rhs, Index:$rhs_slot,
                       Tile_TileType:$sum, Optional<Index>:$lhs_slot, UnitAttr:$transposed);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = [{
    $lhs (`[` $lhs_slot^ `]`)? `,` $rhs `[` $rhs_slot `]` (`transposed` $transposed^)? `,` $sum
    attr-dict `:` type($lhs) `,` type($rhs) `,` type($sum)
  }];
  let hasVerifier = 1;
}

def Tile_Combine : I32EnumAttr<"Combine", "how elements of a row meet", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"max", 1>
]> {
  let cppNamespace = "::tile";
}

def ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "the sum or maximum of every row, in any order";
  let arguments = (ins Tile_Combine:$combine, Tile_TileType:$tile);
  let results = (outs Tile_TileType:$result);
  let assemblyFormat = "$combine $tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def MapOp : Tile_Op<"map", [Pure, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a function of the elements at the same place";
  let description = [{
    `result[i, j] = body(operands[i, j]..., i, j)`; an operand with one row or
    one column gives it to all. The body is on scalars and may use scalars from
    outside.
    - C1: operands have the distribution of the result and its extents or 1.
    - C2: the body takes an element per operand and two indices, and yields one.
  }];
  let arguments = (ins Variadic<Tile_TileType>:$operands);
  let results = (outs Tile_TileType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` functional-type($operands, $result) $body";
  let hasVerifier = 1;
}

def YieldOp : Tile_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "the element that a map makes";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{}]>];
  let assemblyFormat = "$values attr-dict (`:` type($values)^)?";
}

#endif // TILE_TD
