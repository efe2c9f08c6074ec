//===- Verdict.cpp - Why an attention site was fused or not ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse/Verdict.h"
#include "dialect/Shapes.h"

using namespace mlir;

void hova::writeVerdict(AttentionOp site, StringRef kernel) {
  Builder builder(site.getContext());
  int64_t heads = site.getHeads();
  int64_t scores = staticSize(shapeOf(site.getQuery()).take_front(2)) * heads *
                   staticSize({shapeOf(site.getKey())[1]});
  std::string why =
      kernel.empty() ? "no kernel took the operation: its shapes are not static"
                     : "scores, softmax and values share a row block; " +
                           std::to_string(scores * 4) +
                           " bytes of scores never reach memory";
  site->setAttr(
      kVerdictAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("fused", builder.getBoolAttr(!kernel.empty())),
           builder.getNamedAttr("kernel", builder.getStringAttr(kernel)),
           builder.getNamedAttr("why", builder.getStringAttr(why))}));
}
