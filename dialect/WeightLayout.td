//===- WeightLayout.td - How weight matrices lie in the image -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_WEIGHTLAYOUT
#define HOVA_DIALECT_WEIGHTLAYOUT

include "dialect/HovaDialect.td"

def Hova_WeightLayoutAttrInterface
    : AttrInterface<"WeightLayoutAttrInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    How a matrix of weights, `[in, out]`, lies in the packed weights: the order
    in which the kernels of a target read it. The target chooses it, `hova.pack`
    makes it, and all else sees the matrix.
  }];
  let methods = [
    InterfaceMethod<[{
      The shape of what is stored for a matrix of this shape and type, whose
      dimensions may be dynamic. Fails, and says by `emitError` what was
      expected and found, where the layout is not for it.
    }], "::llvm::FailureOr<::llvm::SmallVector<int64_t>>", "getPackedShape",
      (ins "::llvm::ArrayRef<int64_t>":$matrix, "::mlir::Type":$element,
           "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError)>,
    InterfaceMethod<[{
      The buffer that kernels read a matrix from, of static shape and such that
      the layout is for it.
    }], "::mlir::MemRefType", "getBufferType",
      (ins "::mlir::RankedTensorType":$matrix)>,
    InterfaceMethod<[{
      Columns that lie together as a strip; nothing where there are no strips.
    }], "std::optional<int64_t>", "getColumnStrip", (ins), "",
      "return std::nullopt;">,
    InterfaceMethod<[{
      What is stored, by the definition. `packed` is its shape.
    }], "::hova::HostTensor", "evaluate",
      (ins "const ::hova::HostTensor &":$matrix,
           "::llvm::ArrayRef<int64_t>":$packed)>,
    InterfaceMethod<[{
      The matrix, of shape `matrix`, that `evaluate` makes `packed` of. Shares
      no code with it.
    }], "::hova::HostTensor", "evaluateInverse",
      (ins "const ::hova::HostTensor &":$packed,
           "::llvm::ArrayRef<int64_t>":$matrix)>,
  ];
}

class Hova_WeightLayout<string name, string attrMnemonic,
                        list<string> overridden = []>
    : AttrDef<Hova_Dialect, name,
              [DeclareAttrInterfaceMethods<Hova_WeightLayoutAttrInterface,
                                           overridden>]> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
}

def Hova_ColumnStripsAttr
    : Hova_WeightLayout<"ColumnStrips", "column_strips", ["getColumnStrip"]> {
  let summary = "strips of columns";
  let description = [{
    `#hova.column_strips<64>`: the matrix `[in, out]` as strips
    `[ceil(out/64)][in][64]`, zero after the last column.

    `#hova.column_strips<64, interleave 2>`, of bf16:
    `[ceil(out/64)][ceil(in/2)][64][2]`, two rows of a column side by side, since
    one instruction multiplies two elements. A zero stands after an odd last
    row. In buffers such a pair is one `i32`.
  }];
  let parameters = (ins "int64_t":$columns,
                        DefaultValuedParameter<"int64_t", "1">:$interleave);
  let assemblyFormat = "`<` $columns (`,` `interleave` $interleave^)? `>`";
}

def Hova_TransposedAttr : Hova_WeightLayout<"Transposed", "transposed"> {
  let summary = "a row for each column";
  let description = [{
    `#hova.transposed<align 16>`: the matrix `[in, out]` as `[out][in]`, where
    every row begins at a multiple of 16 bytes: after its `in` elements there
    are as many zeros as that takes. A whole copy of 16 bytes never belongs to
    two rows.
  }];
  let parameters = (ins "int64_t":$align);
  let assemblyFormat = "`<` `align` $align `>`";
}

#endif // HOVA_DIALECT_WEIGHTLAYOUT
