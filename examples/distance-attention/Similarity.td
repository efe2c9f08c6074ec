//===- Similarity.td - Two similarities -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef DISTATTN_SIMILARITY
#define DISTATTN_SIMILARITY

include "Dialect.td"
include "dialect/Similarity.td"

def DistAttn_LaplaceAttr : AttrDef<DistAttn_Dialect, "Laplace",
    [DeclareAttrInterfaceMethods<Hova_SimilarityAttrInterface>]> {
  let mnemonic = "laplace";
  let summary = "minus the distance of query and key";
  let description = [{
    `R_ij = -sum_c |q_ic - k_jc|`, whose softmax over keys is the weights of
    Laplace attention (Kim et al., Attentive Neural Processes, appendix A).
  }];
}

def DistAttn_WeightedAttr : AttrDef<DistAttn_Dialect, "Weighted",
    [DeclareAttrInterfaceMethods<Hova_SimilarityAttrInterface, ["hasVector"]>]> {
  let mnemonic = "weighted";
  let summary = "minus a distance whose columns have weights that are learned";
  let description = [{
    `R_ij = -sum_c w_c |q_ic - k_jc|`, with a `w` of each head.
  }];
}

#endif // DISTATTN_SIMILARITY
