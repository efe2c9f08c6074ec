//===- ErrorFunction.h - Coefficients of the error function ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_CODEGEN_ERRORFUNCTION_H
#define HOVA_CODEGEN_ERRORFUNCTION_H

namespace hova {

/// log2(erfc(u / sqrt 2) / 2) by falling powers of u on [0, 13.3]; the error
/// times max(erfc(u / sqrt 2) / 2, 1e-5) is at most 8e-8.
inline constexpr double kErrorFunctionTail[] = {-2.117803033936397e-09,
                                                1.1116729542578598e-07,
                                                -2.3172703243399738e-06,
                                                2.3476322056926365e-05,
                                                -9.546339845342323e-05,
                                                -0.00036862663568233456,
                                                0.007362627977517257,
                                                -0.05268931836396826,
                                                -0.4591527062717888,
                                                -1.151110269394713,
                                                -1.0};

} // namespace hova

#endif // HOVA_CODEGEN_ERRORFUNCTION_H
