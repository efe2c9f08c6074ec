//===- Windows.h - Windows of an image of tokens --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Swin Transformer, section 3.2: an image of tokens, which may be rolled, is
// cut into windows, which become entries of the batch.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_LAYERS_WINDOWS_H
#define HOVA_FRONTEND_LAYERS_WINDOWS_H

#include "frontend/elaborate/LayerContext.h"

namespace hova::frontend {

struct Windows {
  Grid window, shift, grid;

  /// Windows of one image.
  int64_t count() const;
  /// Tokens of a window.
  int64_t area() const { return window.height * window.width; }
  /// The kinds of windows that a roll makes: the last ones of a row or column
  /// hold tokens from both sides of the image.
  int64_t classes() const;
  /// As operations of the dialect take them.
  LayerContext::Attributes attributes() const;
};

/// The windows that "window" and its companions ask for; nothing where the
/// layer asks for none, or after a mistake.
std::optional<Windows> windowsOf(LayerContext &layer, ValueRef tokens);

/// [batch, N, D] to [batch * windows, tokens of one, D].
ValueRef partition(LayerContext &layer, ValueRef tokens,
                   const Windows &windows);

/// Back to [batch, N, D].
ValueRef reverse(LayerContext &layer, ValueRef tokens, const Windows &windows);

/// Numbers for each head and each difference of two positions in a window,
/// [differences, heads]; absent where "relative_bias" asks for none, and poison
/// after a mistake.
ValueRef relativeBias(LayerContext &layer, const Windows &windows,
                      int64_t heads);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_LAYERS_WINDOWS_H
