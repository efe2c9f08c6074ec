//===- Rows.td - Operations that passes must not take rows of -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each has rows as its units, and one reason why a pass that knows its maps
// alone would be wrong; `centre` has none. `turn` and `both` say themselves how
// some of their rows are computed, and `total` how it is divided.

include "codegen/cpu/TileRows.td"
include "dialect/HovaDialect.td"
include "dialect/Interfaces.td"

def Rows_Dialect : Dialect {
  let name = "rows";
  let cppNamespace = "::rows";
}

class Rows_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rows_Dialect, mnemonic, traits # [Pure,
          DeclareOpInterfaceMethods<Hova_StructuredOpInterface>]> {
  let results = (outs Hova_Tensor:$result);
}

def Rows_RotateOp : Rows_Op<"rotate", [AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "row t of every batch entry times t + 1";
  let arguments = (ins Hova_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Rows_TurnOp : Rows_Op<"turn", [AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_RowRangeOpInterface, ["declineRowRange"]>]> {
  let summary = "row t of every batch entry times t + first + 1";
  let arguments = (ins Hova_Tensor:$x, I64Attr:$first);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Rows_BothOp
    : Rows_Op<"both", [DeclareOpInterfaceMethods<Hova_RowRangeOpInterface>]> {
  let summary = "two results, of which rows are computed together";
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result, Hova_Tensor:$other);
  let assemblyFormat =
      "$x attr-dict `:` type($x) `->` type($result) `,` type($other)";
}

def Rows_AttendOp
    : Rows_Op<"attend", [AllTypesMatch<["query", "key", "result"]>]> {
  let summary = "an attention whose units are rows, and whose types are one";
  let arguments = (ins Hova_Tensor:$query, Hova_Tensor:$key);
  let assemblyFormat = "$query `,` $key attr-dict `:` type($query)";
}

def Rows_ShiftOp : Rows_Op<"shift", [AllTypesMatch<["x", "result"]>]> {
  let summary = "every token plus its row of a table";
  let arguments = (ins Hova_Tensor:$x, Hova_Tensor:$table);
  let assemblyFormat =
      "$x `,` $table attr-dict `:` type($x) `,` type($table)";
}

def Rows_HalvesOp : Rows_Op<"halves"> {
  let summary = "two results";
  let arguments = (ins Hova_Tensor:$x);
  let results = (outs Hova_Tensor:$result, Hova_Tensor:$other);
  let assemblyFormat =
      "$x attr-dict `:` type($x) `->` type($result) `,` type($other)";
}

def Rows_CentreOp : Rows_Op<"centre", [AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "every row less its first element";
  let arguments = (ins Hova_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Rows_SingleOp : Rows_Op<"single", [AllTypesMatch<["x", "result"]>]> {
  let summary = "what computes its rows one by one, of a batch of one";
  let arguments = (ins Hova_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Rows_LiarOp : Rows_Op<"liar", [AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the meaning of `centre`, and loops that copy";
  let arguments = (ins Hova_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Rows_SwapOp : Rows_Op<"swap", [AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "rows whose elements 2i and 2i + 1 have changed places";
  let description = [{
    Its loops have an operation on tiles of their own, which is `wrong` if this
    is.

    - C1: the width of x is even.
  }];
  let arguments = (ins Hova_Tensor:$x, UnitAttr:$wrong);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Rows_TileSwapOp : Op<Rows_Dialect, "tile_swap", [Pure,
    AllTypesMatch<["tile", "result"]>,
    DeclareOpInterfaceMethods<HovaCpu_TileRowsOpInterface>]> {
  let summary = "the same of a tile, which says itself what becomes of its rows";
  let arguments = (ins VectorOfRankAndType<[2], [F32]>:$tile, UnitAttr:$wrong);
  let results = (outs VectorOfRankAndType<[2], [F32]>:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
}

def Rows_DirectionOp : Rows_Op<"direction", [AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>, Hova_Site<>,
    DeclareOpInterfaceMethods<Hova_TileOpInterface, ["getScope"]>]> {
  let summary = "pairs of columns as complex numbers of absolute value one";
  let description = [{
    `z / sqrt(|z|^2 + 1e-6)`, where `z = x_2k + i x_2k+1`. It needs pairs of columns
    and no more, so it joins whatever has those in its tiles, on every target.

    - C1: the width of x is even.
  }];
  let arguments = (ins Hova_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Rows_TotalOp : Rows_Op<"total", [
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>,
    DeclareOpInterfaceMethods<Hova_SplitReductionOpInterface, ["declineSplit"]>]> {
  let summary = "the sum of all tokens, in at most eight parts";
  let description = [{
    x `[batch, tokens, width]`, result `[batch, width]`. `unit` neighbours stand
    in one part, parts are `even`, and a total is `always` divided, if it says so. One that
    is `alone` does not say that its parts are added, and one that is `wrong`
    becomes parts that nobody adds.
  }];
  let arguments = (ins Hova_Tensor:$x, DefaultValuedAttr<I64Attr, "1">:$unit,
                       UnitAttr:$even, UnitAttr:$always, UnitAttr:$alone,
                       UnitAttr:$wrong);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def Rows_TotalsOp : Rows_Op<"totals", [
    DeclareOpInterfaceMethods<Hova_ReferenceOpInterface>]> {
  let summary = "the sums of blocks of tokens, `[blocks, batch, width]`";
  let arguments = (ins Hova_Tensor:$x, I64Attr:$block);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def Rows_OddOp : Rows_Op<"odd", [AllTypesMatch<["x", "result"]>]> {
  let summary = "a recipe that reduces a tile as nothing after it can";
  let arguments = (ins Hova_Tensor:$x);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
