//===- Precompiled.cpp - Carries the precompiled header -------------------===//
// SPDX-License-Identifier: Apache-2.0
// Empty: exists so that one target can build the header that others reuse.
