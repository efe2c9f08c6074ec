//===- HovaDialect.td - The dialect, its enums and type constraints -------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_HOVADIALECT
#define HOVA_DIALECT_HOVADIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Hova_Dialect : Dialect {
  let name = "hova";
  let cppNamespace = "::hova";
  let summary = "declared attention: Transformers as their papers state them";
  let description = [{
    Operations name the ideas of Transformer papers. Activations are ranked
    tensors `[batch, tokens, width]`; heads are consecutive ranges of the
    last axis, so splitting and merging heads is part of an operand's meaning,
    never a transpose. Dimensions may be dynamic in types and verifiers.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  // The attributes are those of DiscardableAttributes.cpp.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// What each family has, in the folder of its name.
    void registerAttentionOps();
    void registerColumnOps();
    void registerDenseOps();
    void registerGroupOps();
    void registerLinearAttentionOps();
    void registerPlacementOps();
    void registerProgramOps();
    void registerScoreOps();
    void registerTokenOps();
    void registerGroupTypes();
  }];
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

class Hova_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary, !foreach(i, !range(!size(cases)),
        I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::hova";
  let genSpecializedAttr = 0;
}

def Hova_FeatureMapEnum : Hova_Enum<"FeatureMap",
    "features of linear attention: those whose products are near the softmax's exponentials, rectified ones, or plain exponentials",
    ["softmax", "relu", "exp"]>;
def Hova_FeatureMap : EnumAttr<Hova_Dialect, Hova_FeatureMapEnum, "feature_map">;

def Hova_NormalizationEnum : Hova_Enum<"Normalization",
    "how scores become weights: by a softmax, over the sum of the row, or as they are",
    ["softmax", "sum", "none"]>;
def Hova_Normalization : EnumAttr<Hova_Dialect, Hova_NormalizationEnum, "normalization">;

def Hova_EmptyRowEnum : Hova_Enum<"EmptyRow",
    "result of a row without kept keys: zero, or the mean of all values",
    ["zero", "uniform"]>;
def Hova_EmptyRow : EnumAttr<Hova_Dialect, Hova_EmptyRowEnum, "empty_row">;

def Hova_ActivationKindEnum : Hova_Enum<"ActivationKind",
    "element-wise function",
    ["relu", "gelu_erf", "gelu_tanh", "tanh", "sigmoid", "silu", "quick_gelu",
     "softplus", "relu2", "hard_swish"]>;
def Hova_ActivationKind : EnumAttr<Hova_Dialect, Hova_ActivationKindEnum, "activation_kind">;

def Hova_NormKindEnum : Hova_Enum<"NormKind",
    "what a row is divided by: its standard deviation about its mean, which is subtracted, the root of its mean square, or its length",
    ["standard", "rms", "l2"]>;
def Hova_NormKind : EnumAttr<Hova_Dialect, Hova_NormKindEnum, "norm_kind">;

def Hova_AccuracyEnum : Hova_Enum<"Accuracy",
    "type that a result is as exact as",
    ["f32", "bf16"]>;
def Hova_Accuracy : EnumAttr<Hova_Dialect, Hova_AccuracyEnum, "accuracy">;

def Hova_SinusoidLayoutEnum : Hova_Enum<"SinusoidLayout",
    "sine and cosine in alternating columns, or sines first",
    ["interleaved", "split"]>;
def Hova_SinusoidLayout : EnumAttr<Hova_Dialect, Hova_SinusoidLayoutEnum, "sinusoid_layout">;

def Hova_RotaryPairsEnum : Hova_Enum<"RotaryPairs",
    "columns of a head that are rotated together: one of each half, or neighbours",
    ["halves", "neighbours"]>;
def Hova_RotaryPairs : EnumAttr<Hova_Dialect, Hova_RotaryPairsEnum, "rotary_pairs">;

def Hova_PoolKindEnum : Hova_Enum<"PoolKind",
    "which tokens a pooled row stands for",
    ["first", "mean", "max", "last", "token"]>;
def Hova_PoolKind : EnumAttr<Hova_Dialect, Hova_PoolKindEnum, "pool_kind">;

def Hova_LayoutKindEnum : Hova_Enum<"LayoutKind",
    "how the numbers of a value lie in memory: rows of tokens, or a column for each token",
    ["rows", "token_columns"]>;

def Hova_TileDistributionEnum : Hova_Enum<"TileDistribution",
    "what the threads of a member hold of a tile: elements as a product leaves them, runs of a row, or a partial result of a row each",
    ["product", "row", "partial"]>;

def Hova_CombineEnum : Hova_Enum<"Combine",
    "how the elements of a row become one",
    ["add", "max"]>;
def Hova_Combine : EnumAttr<Hova_Dialect, Hova_CombineEnum, "combine">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Hova_LayoutAttr : AttrDef<Hova_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "how the numbers of a value lie in memory";
  let description = [{
    `#hova.layout<rows 784>`: a row for each token, whose channels stand side by
    side, and 784 elements from the start of a row to that of the next.
    `#hova.layout<token_columns 64>`: a row for each channel of 64 tokens, those
    of some whole sequences, which stand side by side.
  }];
  let parameters = (ins EnumParameter<Hova_LayoutKindEnum>:$kind,
                        "int64_t":$size);
  let assemblyFormat = "`<` $kind $size `>`";
  let genVerifyDecl = 1;
}
def Hova_LayoutArray : TypedArrayAttrBase<Hova_LayoutAttr, "layouts">;

def Hova_UnitsAttr : AttrDef<Hova_Dialect, "Units"> {
  let mnemonic = "units";
  let summary = "the unit space of a kernel";
  let description = [{
    Named parallel dims and their sizes, outermost first:
    `#hova.units<batch 8, head 12>` are 96 units. Units are what threads divide:
    no unit of a kernel reads what another of it writes.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How many units there are.
    int64_t count() const;
    /// The size of the dim of this name, or 0.
    int64_t sizeOf(::llvm::StringRef name) const;
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Hova_Float : AnyTypeOf<[F64, F32, BF16, F16]>;
/// Activations and weights.
def Hova_Tensor : RankedTensorOf<[Hova_Float]>;
/// Token, position and type ids.
def Hova_Ids : RankedTensorOf<[I32, I64]>;
/// true keeps, false masks.
def Hova_Mask : RankedTensorOf<[I1]>;
/// Element-wise operations work on tensors and, after tiling, on vectors.
def Hova_TensorOrVector
    : AnyTypeOf<[Hova_Tensor, FixedVectorOfAnyRank<[Hova_Float]>]>;

class Hova_Op<string mnemonic, list<Trait> traits = []>
    : Op<Hova_Dialect, mnemonic, traits>;

#endif // HOVA_DIALECT_HOVADIALECT
