//===- ActivationTables.h - Coefficients of 2^r and of tails of GELU ------===//
// SPDX-License-Identifier: Apache-2.0
//
// For u >= 0, q(u) = 1 - gelu(u) / u is smooth and falls from 1/2 to 0. Piece k
// of 16 holds it around u = k / 2 as a polynomial of u - k / 2, which is at
// most a quarter; the last piece is 0. Coefficients by falling powers, those of
// all pieces together: a table for each power.
//
// Least-maximum fits of the relative error against float64 (linear programming
// on Chebyshev nodes, each coefficient rounded to f32 before those above it are
// fitted). It is 1.1e-7 around u = 1/2 and 1, 7e-7 up to 3, 2e-5 at 4 and 1e-4
// at 5 (GELU by tanh: 4e-5 and 5e-4); the absolute error is at most 4.4e-8.

#ifndef HOVA_PASSES_VECTORIZE_ACTIVATIONTABLES_H
#define HOVA_PASSES_VECTORIZE_ACTIVATIONTABLES_H

#include "dialect/TileOps.h"

namespace hova {

/// Whether every user rounds the value to bf16, so that an approximation need
/// not be more exact than that.
bool isRoundedToBf16(mlir::Value value);

/// (2^r - 1) / r by falling powers of r on [-0.5, 0.5]; 1 + r p(r) is
/// within 1.8 units in the last place of f32, fitted in these units.
inline constexpr double kPower[] = {0.001321758609265089, 0.009671330451965332,
                                    0.055508848279714584, 0.2402224838733673,
                                    0.6931468844413757};

/// 2^r by falling powers of r on [0, 1], for results that are rounded to bf16:
/// within 8.6e-5, 2^-13.5, where rounding costs 2^-9. 2^0 is 1.
inline constexpr double kCoarsePower[] = {
    0.07706691324710846, 0.227645143866539, 0.6951167583465576, 1.0};

/// q(u) = erfc(u / sqrt 2) / 2.
inline constexpr float kErrorFunctionPieces[][kLookupEntries] = {
    {-0.00957130454f, -0.00467176037f, 0.00400671689f, 0.0057765441f,
     0.00217102119f, -0.000678871875f, -0.00108624843f, -0.000560424291f,
     -0.000174231172f, -3.68254041e-05f, -5.55221231e-06f, -6.12180088e-07f,
     -5.01110193e-08f, -3.07543324e-09f, -1.42487772e-10f, 0.0f},
    {-0.000145493745f, -0.0198477916f, -0.0199810658f, -0.00612987531f,
     0.00437750295f, 0.00588734727f, 0.00333328662f, 0.00119293272f,
     0.000297093677f, 5.35948675e-05f, 7.15281385e-06f, 7.15255169e-07f,
     5.40354286e-08f, 3.10187942e-09f, 1.35863168e-10f, 0.0f},
    {0.0665103719f, 0.0440135561f, -7.93459321e-07f, -0.0269788802f,
     -0.0269890912f, -0.0153349834f, -0.0059103691f, -0.00163776684f,
     -0.000335270743f, -5.14787898e-05f, -5.9848112e-06f, -5.30178795e-07f,
     -3.59500874e-08f, -1.87210625e-09f, -7.50621301e-11f, 0.0f},
    {-1.11330337e-06f, 0.0880077481f, 0.120981202f, 0.0971395373f,
     0.0539936796f, 0.0219114088f, 0.00664758123f, 0.00152687018f,
     0.000267517229f, 3.59266051e-05f, 3.71049737e-06f, 2.95412235e-07f,
     1.81623321e-08f, 8.63482452e-10f, 3.17796518e-11f, 0.0f},
    {-0.398942262f, -0.352065355f, -0.241970733f, -0.12951763f, -0.053991057f,
     -0.0175283421f, -0.00443183212f, -0.000872660195f, -0.000133819471f,
     -1.59806732e-05f, -1.48613435e-06f, -1.07619115e-07f, -6.06828543e-09f,
     -2.66416361e-10f, -9.10634155e-12f, 0.0f},
    {0.5f, 0.308537573f, 0.158655271f, 0.0668071955f, 0.0227501225f,
     0.00620966218f, 0.00134989852f, 0.000232629929f, 3.16715887e-05f,
     3.39775283e-06f, 2.86663351e-07f, 1.89907166e-08f, 9.86660864e-10f,
     4.01626614e-11f, 1.27982672e-12f, 0.0f},
};

/// q(u) = 1 / (1 + exp(2 sqrt(2/pi) (u + 0.044715 u^3))).
inline constexpr float kTanhPieces[][kLookupEntries] = {
    {-0.00978213176f, -0.00439490378f, 0.00427562464f, 0.00560868764f,
     0.00202971976f, -0.000564662216f, -0.00103780592f, -0.000591546064f,
     -0.00018569018f, -3.31834744e-05f, -3.295125e-06f, -1.75280334e-07f,
     -4.79021001e-09f, -6.42738571e-11f, -3.85513697e-13f, 0.0f},
    {-0.000151171349f, -0.0202217828f, -0.0198289268f, -0.00580517808f,
     0.00418767706f, 0.00570094725f, 0.0034042208f, 0.00126129412f,
     0.000295784732f, 4.24186874e-05f, 3.55696989e-06f, 1.66372246e-07f,
     4.13440215e-09f, 5.19001578e-11f, 3.05825569e-13f, 0.0f},
    {0.0668401346f, 0.0438742861f, -0.000414353766f, -0.0267183967f,
     -0.0266008694f, -0.0154524567f, -0.00611093827f, -0.00165753963f,
     -0.000297104882f, -3.35077384e-05f, -2.26253928e-06f, -8.71585115e-08f,
     -1.8269094e-09f, -1.98709729e-11f, -1.07046662e-13f, 0.0f},
    {-1.13906242e-06f, 0.0882543772f, 0.12069387f, 0.0966909528f, 0.0541713797f,
     0.0222876724f, 0.00671635941f, 0.0014331952f, 0.000206157536f,
     1.89425755e-05f, 1.05361312e-06f, 3.36596671e-08f, 5.86938109e-10f,
     5.32097413e-12f, 2.42326792e-14f, 0.0f},
    {-0.398942262f, -0.35188362f, -0.241772026f, -0.12977545f, -0.0544002876f,
     -0.0175941549f, -0.00426553329f, -0.000742461125f, -8.81571614e-05f,
     -6.76587388e-06f, -3.17899946e-07f, -8.66088357e-09f, -1.29559835e-10f,
     -1.00772819e-12f, -3.88337078e-15f, 0.0f},
    {0.5f, 0.308571994f, 0.158808023f, 0.0669522807f, 0.0227011442f,
     0.00603370368f, 0.0012124643f, 0.000176057161f, 1.75617515e-05f,
     1.14153374e-06f, 4.5836007e-08f, 1.07740683e-09f, 1.4042387e-11f,
     9.60216471e-14f, 3.25215362e-16f, 0.0f},
};

} // namespace hova

#endif // HOVA_PASSES_VECTORIZE_ACTIVATIONTABLES_H
