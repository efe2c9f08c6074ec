//===- Interfaces.td - What passes may ask of an operation ----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_INTERFACES
#define HOVA_DIALECT_INTERFACES

include "mlir/IR/OpBase.td"

/// An operation that makes its operand anew for every item of a batch: no
/// weight of it is stored (dialect/Interfaces.h).
def Hova_PerItem : NativeOpTrait<"PerItem"> {
  let cppNamespace = "::hova";
}

def Hova_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    Work of one evaluation, in multiply-accumulates on the static shapes.
    `linear` counts activation x weight, `attention` activation x activation,
    dense: masks do not lower it. Element-wise work is not counted. Nothing is
    returned where a dimension that matters is dynamic.
  }];
  let methods = [
    InterfaceMethod<"multiply-accumulates of activation x weight products",
      "std::optional<int64_t>", "getLinearMacs", (ins), "", "return 0;">,
    InterfaceMethod<"multiply-accumulates of activation x activation products",
      "std::optional<int64_t>", "getAttentionMacs", (ins), "", "return 0;">,
  ];
}

def Hova_ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    The meaning of the operation: plain loops in float64. Lowering never calls
    this; verification does.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results from `operands` (in operand order). Floating-point
      results are float64. Fails, with an error on the operation, where the
      values themselves are invalid (an id out of range).
    }], "::llvm::LogicalResult", "evaluate",
      (ins "::llvm::ArrayRef<::hova::HostTensor>":$operands,
           "::llvm::SmallVectorImpl<::hova::HostTensor> &":$results)>,
    InterfaceMethod<[{
      The operands whose absolute values make `evaluate` add the magnitudes of
      all that it adds: those that a sum is linear in, where all else that its
      summands are made of is not negative. Where such a sum leaves float32,
      another order of the additions may, too. Empty: nothing is known.
    }], "::llvm::SmallVector<::mlir::OpOperand *>", "getSummands", (ins), "",
      "return {};">,
  ];
}

def Hova_MoveOpInterface : OpInterface<"MoveOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    Each element of the results is one of an operand, or zero. So operands of
    float32 give results of float32, in evaluation too. What does not say it
    computes.
  }];
  let methods = [
    InterfaceMethod<"whether it does so with the attributes that it has",
      "bool", "movesData", (ins), "", "return true;">,
  ];
}

def Hova_TableOpInterface : OpInterface<"TableOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    A table that the compiler makes: where rows are, which windows are alike,
    how far positions are apart. `tabulate` is what stands in the packed weights
    or, of integers that no weight decides, among the tables of the program.
    `evaluate` of the same operation (ReferenceOpInterface) is its
    definition. They share no code, so that verification sees a mistake in
    either.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results from `operands` (in operand order), which are valid.
    }], "void", "tabulate",
      (ins "::llvm::ArrayRef<::hova::HostTensor>":$operands,
           "::llvm::SmallVectorImpl<::hova::HostTensor> &":$results)>,
  ];
}

def Hova_DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    A compound operation written as simpler ones of the same level.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the equivalent operations before this one and returns their
      results; the caller replaces. Fails without building anything.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::mlir::RewriterBase &":$rewriter)>,
  ];
}

def Hova_StructuredOpInterface : OpInterface<"StructuredOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How an operation iterates, in the manner of upstream's structured
    operations: its dims, parallel or a reduction, an affine map from them to
    the axes of each operand and result, and the dims that threads divide where
    a kernel begins with the operation. An operand without a map is *gathered*:
    it must be complete before any part of the result is computed. What may
    share a kernel, and how its work is divided, follows from this alone.

    A space also says whether a row ignores its position
    (`IterationSpace::ignoringPosition`). Nothing is said where an operation
    does not say it, and then all of its rows are computed in their order.
  }];
  let methods = [
    InterfaceMethod<"dims and maps; sizes that are not known are dynamic",
      "::hova::IterationSpace", "getIterationSpace">,
  ];
}

def Hova_SiteOpInterface : OpInterface<"SiteOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    An operation that reports speak of by itself: `hova explain` says in which
    kernel it is computed, what shares that kernel and what does not, and
    `"require": "fused"` can demand that its intermediates stay there. Of a
    compound operation this holds for all that it is decomposed into
    (dialect/Site.h).
  }];
  let methods = [
    InterfaceMethod<"what people call it, such as `norm`",
      "::llvm::StringRef", "getSiteKind">,
    InterfaceMethod<[{
      Bytes of intermediates that exist inside of the operation alone, such as
      the scores of an attention; 0 where sizes are not known.
    }], "int64_t", "getInnerBytes", (ins), "", "return 0;">,
    InterfaceMethod<[{
      Whether the result is itself an intermediate of the site, such as heads
      that were scaled: the site is not fused where a reader stands in another
      kernel.
    }], "bool", "isResultIntermediate", (ins), "", "return false;">,
  ];
}

/// On an operation that is a site; `methods` are those that it has besides its
/// kind. dialect/Site.cpp defines them.
class Hova_Site<list<string> methods = []>
    : DeclareOpInterfaceMethods<Hova_SiteOpInterface, methods>;

def Hova_TileOpInterface : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    Operations that can join another operation's loop nest: given tiles of the
    operands they emit their own tile. An element of the result is a function of
    those at its place in the tiles, and of nothing else: nobody says which rows
    and columns of the tensor a tile has. An operation that also reads the
    neighbours of elements says so by its scope, and is given a tile of them.
  }];
  let methods = [
    InterfaceMethod<[{
      What a tile must hold of operand 0 (dialect/Interfaces.h). With `row` the
      operation joins nothing by this interface.
    }], "::hova::TileScope", "getScope", (ins), "",
      "return ::hova::TileScope::element;">,
    InterfaceMethod<[{
      `tiles` holds one `vector<rows x columns>` value per operand; operands
      that are broadcast have been broadcast. With the scope `pair` one more
      follows, that of operand 0 with every two neighbours exchanged. Returns the
      tile of the result.
    }], "::mlir::Value", "emitTile",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$tiles)>,
  ];
}

def Hova_StorageOpInterface : OpInterface<"StorageOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    Which operands of an operation are of the program's storage type: those that
    enter a matrix product, and tables. Of a compound operation, its weights:
    what it multiplies them with is known when it is decomposed. Besides, which
    results may be of that type.
  }];
  let methods = [
    InterfaceMethod<"whether operand `index` is of the storage type",
      "bool", "isStored", (ins "unsigned":$index)>,
    InterfaceMethod<[{
      How result `index` may be of the storage type (dialect/Interfaces.h):
      `rounded` when it is written, where a conversion would be its only reader,
      as what an attention gives; `ofOperands`, of the type of the operands that
      are stored, as heads that are scaled; or `wide`, which is not at all.
    }], "::hova::ResultStorage", "getResultStorage", (ins "unsigned":$index), "",
      "return ::hova::ResultStorage::wide;">,
  ];
}

def Hova_AssembleOpInterface : OpInterface<"AssembleOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    An operation whose result is made of the rows of its operands, each of which
    stands in it at even distances: states of layers interleaved token by token,
    tokens one after the other. Where nothing else decides the place of an
    operand, whoever computes it writes it there, and the operation is no work.
  }];
  let methods = [
    InterfaceMethod<[{
      The rows of operand `index` are the rows `first`, `first + step`, .. of the
      result, all leading axes flattened; nothing where their distances differ.
    }], "std::optional<::hova::RowSteps>", "getOperandRows",
      (ins "unsigned":$index)>,
  ];
}

def Hova_RowViewOpInterface : OpInterface<"RowViewOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    An operation whose result is rows of its operand, as they are: some tokens,
    the first token of each sequence. Rows at even distances are no work for
    whoever reads them where the operand lies.
  }];
  let methods = [
    InterfaceMethod<[{
      The rows of the result are the rows `first`, `first + step`, .. of operand
      0, all leading axes flattened; nothing where their distances differ, or
      where they are no whole rows.
    }], "std::optional<::hova::RowSteps>", "getSourceRows">,
  ];
}

def Hova_RowRangeOpInterface : OpInterface<"RowRangeOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    An operation that can compute a range of the rows of its result alone, which
    its iteration space does not tell: an attention answers some of its queries
    and reads all keys. Result 0 is [batch, rows, width]. One operand, such as
    the queries, is narrowed to the rows that the range reads; all others stay as
    they are.

    An operation without this interface computes all rows unless its iteration
    space says that they ignore their position.
  }];
  let methods = [
    InterfaceMethod<[{
      The operand that is narrowed, [batch, rows, width].
    }], "::mlir::OpOperand &", "getRowOperand">,
    InterfaceMethod<[{
      Rows of that operand for each row of the result: row i reads the rows
      `n * i .. n * i + n - 1`.
    }], "int64_t", "getOperandRowsPerRow", (ins), "", "return 1;">,
    InterfaceMethod<[{
      Why the rows `offset .. offset + count - 1` of result 0 cannot be computed
      alone; nothing where they can.
    }], "std::optional<::hova::Decline>", "declineRowRange",
      (ins "int64_t":$offset, "int64_t":$count), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Builds the operation whose result 0 is the rows `offset .. offset + count -
      1` of this one's, and returns it; the caller replaces. `rows` takes the
      place of the narrowed operand and has the rows of it that the range reads.
      Where a row depends on its index, that is still its index in all rows.
      Where it does not, `cloneWithRows` is all there is to do.
    }], "::mlir::Operation *", "computeRowRange",
      (ins "::mlir::RewriterBase &":$rewriter, "::mlir::Value":$rows,
           "int64_t":$offset, "int64_t":$count)>,
    InterfaceMethod<[{
      What reasons call the operation, such as `attention`.
    }], "std::string", "getRowRangeSubject", (ins), "", [{
        return ("'" + $_op->getName().getStringRef() + "'").str();
      }]>,
  ];
}

def Hova_SplitReductionOpInterface : OpInterface<"SplitReductionOpInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    An operation whose reduction can be divided: neighbouring terms are a part,
    parts are computed side by side, and merged in their order. A target's policy
    says how long parts are, from what the operation says of its reduction and
    from its shapes (`chooseSplit` of passes/fuse/FusionPolicy.td), and
    `hova-split-reductions` divides. Which terms are a part depends on nothing
    else, so the bits do not depend on who computes which part.

    The operation has one result, a ranked tensor.
  }];
  let methods = [
    InterfaceMethod<[{
      What can be divided (dialect/Interfaces.h); nothing where a size that
      matters is not known, and then the operation stays whole.
    }], "std::optional<::hova::Reduction>", "getReduction">,
    InterfaceMethod<[{
      Why the operation cannot be divided like this; nothing where it can. The
      split is one that suits `getReduction`: its parts begin at multiples of the
      unit, and are even if they have to be.
    }], "std::optional<::hova::Decline>", "declineSplit",
      (ins "const ::hova::ReductionSplit &":$split), "", "return std::nullopt;">,
    InterfaceMethod<[{
      Builds the operations that compute the parts and the one that merges them,
      all before this one, and returns what takes the place of the result, which
      the last of them computes; the caller replaces. A split that was not
      declined always succeeds.
    }], "::mlir::Value", "splitReduction",
      (ins "::mlir::RewriterBase &":$rewriter,
           "const ::hova::ReductionSplit &":$split)>,
  ];
}

#endif // HOVA_DIALECT_INTERFACES
