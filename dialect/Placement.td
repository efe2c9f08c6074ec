//===- Placement.td - Where the rows of a rearranged tensor come from -----===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_PLACEMENT
#define HOVA_DIALECT_PLACEMENT

include "dialect/HovaDialect.td"

def Hova_PlacementAttrInterface : AttrInterface<"PlacementAttrInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    A rule that says of every row of a rearranged tensor which row, or which
    rows side by side, of the source it is. A row is all of the last axis at one
    position of the others, which are counted row-major. A placement is named by
    its idea (windows, merging), so that a target may keep the idea or lower it
    to a table of rows.
  }];
  let methods = [
    InterfaceMethod<[{
      The shape of the rearranged tensor; fails where the rule does not fit the
      source, whose dimensions may be dynamic but for those that the rule
      divides.
    }], "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getPlacedShape",
      (ins "::llvm::ArrayRef<int64_t>":$source)>,
    InterfaceMethod<[{
      The shape of a source that the rule makes a tensor of this shape of; fails
      where there is none, or where the placement has no inverse.
    }], "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getSourceShape",
      (ins "::llvm::ArrayRef<int64_t>":$placed), "", "return ::mlir::failure();">,
    InterfaceMethod<[{
      How many rows of the source stand side by side in one row of the result.
    }], "int64_t", "getSegments", (ins), "", "return 1;">,
    InterfaceMethod<[{
      Of a source of static shape, the row of every segment of every row of the
      rearranged tensor, segments of a row one after the other.
    }], "::llvm::SmallVector<int32_t>", "getRows",
      (ins "::llvm::ArrayRef<int64_t>":$source)>,
    InterfaceMethod<[{
      The same as operations on indices: the source's row that is segment
      `segment` of row `row`. Rows after the last become rows after the source's
      last, whatever the number of batch entries.
    }], "::mlir::Value", "emitRow",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "::mlir::Value":$row,
           "::mlir::Value":$segment)>,
    InterfaceMethod<[{
      The row of the rearranged tensor that a row of the source becomes. Of a
      permutation that stands for itself alone.
    }], "::mlir::Value", "emitInverseRow",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "::mlir::Value":$row), "",
      [{ llvm_unreachable("the placement has no inverse of its own"); }]>,
    InterfaceMethod<[{
      The rearranged tensor, by the definition: what verification compares
      programs with, which shares no code with the other methods.
    }], "::hova::HostTensor", "evaluate",
      (ins "const ::hova::HostTensor &":$x)>,
    InterfaceMethod<[{
      The tensor that `evaluate` makes `placed` of. Of a permutation alone.
    }], "::hova::HostTensor", "evaluateInverse",
      (ins "const ::hova::HostTensor &":$placed), "",
      [{ llvm_unreachable("the placement is no permutation"); }]>,
    InterfaceMethod<[{
      Whether each row of the source is one row of the result: the placement
      has an inverse.
    }], "bool", "isPermutation", (ins), "", "return true;">,
  ];
}

/// `overridden`: the methods with a default that the attribute has of its own.
class Hova_Placement<string name, string attrMnemonic,
                     list<string> overridden>
    : AttrDef<Hova_Dialect, name,
              [DeclareAttrInterfaceMethods<Hova_PlacementAttrInterface,
                                           overridden>]> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
}

def Hova_WindowAttr : Hova_Placement<"Window", "window",
                                    ["getSourceShape", "evaluateInverse",
                                     "emitInverseRow"]> {
  let hasCustomAssemblyFormat = 1;
  let summary = "windows of a cyclically shifted grid of tokens";
  let description = [{
    Liu et al., Swin Transformer, section 3.2. `#hova.window<7x7, shift 3x3, grid
    56x56>` takes `[batch, 56*56, width]` to `[batch*64, 7*7, width]`: the grid
    is rolled by (-3, -3) and cut into windows; windows and the tokens in each
    are row-major. Token (y, x) of window (wy, wx) is token
    `((wy*7 + y + 3) mod 56, (wx*7 + x + 3) mod 56)` of the grid. The window
    divides the grid, and the shift is less than the window.
  }];
  let parameters = (ins "int64_t":$height, "int64_t":$width,
                        "int64_t":$shiftHeight, "int64_t":$shiftWidth,
                        "int64_t":$gridHeight, "int64_t":$gridWidth);
  let extraClassDeclaration = [{
    /// Windows of one grid.
    int64_t countWindows() const {
      return getGridHeight() / getHeight() * (getGridWidth() / getWidth());
    }
    /// How many classes of windows there are by which of their tokens were
    /// neighbours before the roll: 1 without a shift, else windows at the lower
    /// edge, at the right edge and in the corner are classes of their own.
    int64_t countClasses() const {
      return (getShiftHeight() ? 2 : 1) * (getShiftWidth() ? 2 : 1);
    }
    /// The class of a window: 0 for those whose tokens all were neighbours.
    int64_t classOf(int64_t window) const;
    /// The region of the unrolled grid that a token of a window of this class
    /// comes from; tokens of different regions were no neighbours.
    int64_t regionOf(int64_t windowClass, int64_t token) const;
  }];
}

def Hova_MergeAttr
    : Hova_Placement<"Merge", "merge", ["getSegments", "isPermutation"]> {
  let hasCustomAssemblyFormat = 1;
  let summary = "blocks of a grid of tokens as one token each";
  let description = [{
    Patch merging (Liu et al., Swin Transformer, section 3.1).
    `#hova.merge<2x2, grid 56x56>` takes `[batch, 56*56, width]` to `[batch,
    28*28, 4*width]`: the tokens of a block stand side by side, those of its
    first column first: `(2i, 2j), (2i+1, 2j), (2i, 2j+1), (2i+1, 2j+1)`. The
    block divides the grid.
  }];
  let parameters = (ins "int64_t":$height, "int64_t":$width,
                        "int64_t":$gridHeight, "int64_t":$gridWidth);
}

def Hova_InverseAttr
    : Hova_Placement<"Inverse", "inverse",
                     ["getSourceShape", "evaluateInverse",
                      "emitInverseRow"]> {
  let summary = "the inverse of a placement";
  let description = [{
    `#hova.inverse<#hova.window<..>>` puts windows back into their grid: the
    batch is divided by the number of windows. Of a permutation alone.
  }];
  let parameters = (ins "::hova::PlacementAttrInterface":$placement);
  let assemblyFormat = "`<` $placement `>`";
}

def Hova_ChainAttr
    : Hova_Placement<"Chain", "chain",
                     ["getSegments", "isPermutation", "evaluateInverse"]> {
  let summary = "placements one after the other";
  let description = [{
    `#hova.chain<#hova.inverse<#hova.window<..>>, #hova.merge<..>>` applies the
    first to the source, the second to what that gives, and so on. All but the
    last are permutations.
  }];
  let parameters = (ins
      ArrayRefParameter<"::hova::PlacementAttrInterface">:$placements);
  let assemblyFormat = "`<` $placements `>`";
}

#endif // HOVA_DIALECT_PLACEMENT
