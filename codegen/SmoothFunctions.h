//===- SmoothFunctions.h - Numbers of smooth rectifiers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Of activations that are nearly max(x, 0), on all targets.

#ifndef HOVA_CODEGEN_SMOOTHFUNCTIONS_H
#define HOVA_CODEGEN_SMOOTHFUNCTIONS_H

namespace hova {

/// quick_gelu(x) = x sigmoid(1.702 x).
inline constexpr double kQuickGeluSlope = 1.702;

/// 2 artanh(s) / s by falling powers of s^2 for s in [0, 1/3], which is log(1 +
/// e) over s = e / (2 + e) for e in [0, 1]. The relative error is 4.5e-9.
inline constexpr double kTwiceArtanh[] = {
    0.2800678014755249, 0.2800302505493164, 0.40021437406539917,
    0.666664183139801, 2.0};

} // namespace hova

#endif // HOVA_CODEGEN_SMOOTHFUNCTIONS_H
