//===- Similarity.td - What makes raw scores of queries and keys ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_SIMILARITY
#define HOVA_DIALECT_SIMILARITY

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "dialect/HovaDialect.td"

def Hova_SimilarityAttrInterface : AttrInterface<"SimilarityAttrInterface"> {
  let cppNamespace = "::hova";
  let description = [{
    What makes a raw score of a query and a key of a head: a sum over the columns
    of the head. What a column adds is the *term* of the query's element, the
    key's element and, where the similarity has a vector, that vector's element.
    The vector is the operand `score_vector` of `hova.attention`, learned, one
    element for each column of the query.

    Kernels compute a similarity that is the product of query and key as a product
    of matrices, whose operands have the storage type. Of any other, queries and
    keys stay f32 and kernels add its terms column by column, on every target. So
    an implementation is two functions: the term as operations, and the term as a
    number. They share no code, since verification compares them.
  }];
  let methods = [
    InterfaceMethod<"whether a term is the product of query and key",
      "bool", "isProduct", (ins), "", "return false;">,
    InterfaceMethod<"whether terms read an element of a learned vector",
      "bool", "hasVector", (ins), "", "return false;">,
    InterfaceMethod<[{
      Builds `sum` plus the term of `query`, `key` and `weight`, and returns it.
      They are all f32 or all vectors of f32 with one shape; `weight` is null
      without a vector. The operations are those of arith and math that have a
      meaning among scores (`isScoreOperation`).
    }], "::mlir::Value", "addTerm",
      (ins "::mlir::ImplicitLocOpBuilder &":$builder, "::mlir::Value":$query,
           "::mlir::Value":$key, "::mlir::Value":$weight,
           "::mlir::Value":$sum)>,
    InterfaceMethod<[{
      The term as a number, by the formula; `weight` is 0 without a vector.
    }], "double", "evaluateTerm",
      (ins "double":$query, "double":$key, "double":$weight)>,
  ];
}

/// A similarity as an operand's neighbour in an operation's arguments.
def Hova_Similarity : ConfinedAttr<AnyAttr, [AttrConstraint<
    CPred<"::llvm::isa<::hova::SimilarityAttrInterface>($_self)">,
    "a similarity (SimilarityAttrInterface)">]> {
  let storageType = "::hova::SimilarityAttrInterface";
  let returnType = "::hova::SimilarityAttrInterface";
  let convertFromStorage = "$_self";
}

class Hova_SimilarityAttr<string name, string attrMnemonic,
                          list<string> overridden>
    : AttrDef<Hova_Dialect, name,
              [DeclareAttrInterfaceMethods<Hova_SimilarityAttrInterface,
                                           overridden>]> {
  let mnemonic = attrMnemonic;
}

def Hova_DotAttr : Hova_SimilarityAttr<"Dot", "dot", ["isProduct"]> {
  let summary = "products of queries and keys";
  let description = [{
    `R = Q K^T` (Vaswani et al., Attention Is All You Need, Eq. 1); cosines where
    queries and keys are of `hova.normalize_heads`.
  }];
}

def Hova_AdditiveAttr
    : Hova_SimilarityAttr<"Additive", "additive", ["hasVector"]> {
  let summary = "Bahdanau's additive form";
  let description = [{
    `R_ij = score_vector . tanh(q_i + k_j)` (Bahdanau et al., Neural Machine
    Translation by Jointly Learning to Align and Translate, appendix A.1.2).
  }];
}

#endif // HOVA_DIALECT_SIMILARITY
