//===- Unfold.h - Where an unfolded image is read -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_DIALECT_TOKEN_UNFOLD_H
#define HOVA_DIALECT_TOKEN_UNFOLD_H

#include "dialect/token/TokenOps.h"

namespace hova {

/// A number along the height of an image, and one along its width.
struct Sides {
  int64_t down, across;

  int64_t countPixels() const { return down * across; }
};

/// The sizes of an image that is unfolded. One that depends on a dynamic
/// dimension is dynamic.
struct Unfolding {
  int64_t batch, channels, height, width;
  /// Of the images that are unfolded by themselves: all of it, or its squares.
  int64_t squareHeight, squareWidth;
  Sides kernel, stride, padding, dilation;
  /// x is tokens, each a pixel with all channels.
  bool isOfTokens;

  static llvm::FailureOr<Unfolding>
  get(UnfoldOp op, llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Of an operation that has been verified.
  static Unfolding get(UnfoldOp op);

  int64_t squaresDown() const;
  int64_t squaresAcross() const;
  /// Places of the kernel in one square.
  int64_t placesDown() const;
  int64_t placesAcross() const;
  /// Whether the kernel leaves the image at some place.
  bool isPadded() const { return padding.down > 0 || padding.across > 0; }
  /// [batch * squares, places, channels * kernel pixels].
  llvm::SmallVector<int64_t> shape() const;
};

} // namespace hova

#endif // HOVA_DIALECT_TOKEN_UNFOLD_H
