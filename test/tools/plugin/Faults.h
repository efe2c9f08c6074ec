//===- Faults.h - Operators whose builders are wrong ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef HOVA_TEST_TOOLS_PLUGIN_FAULTS_H
#define HOVA_TEST_TOOLS_PLUGIN_FAULTS_H

#include "frontend/Operator.h"

/// Adds the operator `faulty`.
void addFaults(hova::frontend::OperatorRegistry &registry);

#endif // HOVA_TEST_TOOLS_PLUGIN_FAULTS_H
