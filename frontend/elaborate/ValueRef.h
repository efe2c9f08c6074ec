//===- ValueRef.h - A value while a program is made -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The number of a value of a Program, or the reason why there is none. It is a
// type of its own so that "no value" is never a number: nothing converts it to
// an index, and what asks for the number of no value stops at once, instead of
// reading what stands beside a table.
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_ELABORATE_VALUEREF_H
#define HOVA_FRONTEND_ELABORATE_VALUEREF_H

#include <cassert>

namespace hova::frontend {

class ValueRef {
public:
  /// No value.
  constexpr ValueRef() = default;
  /// The value of this number; see Program::values.
  static constexpr ValueRef of(int number) {
    assert(number >= 0 && "a value has a number");
    return ValueRef(number);
  }
  static constexpr ValueRef makePoison() { return ValueRef(poisonState); }

  constexpr bool isKnown() const { return state >= 0; }
  constexpr bool isPoison() const { return state == poisonState; }
  constexpr bool isAbsent() const { return state == absentState; }
  constexpr explicit operator bool() const { return isKnown(); }

  /// The number of a known value.
  constexpr int number() const {
    assert(isKnown() && "no value has no number");
    return state;
  }

  friend constexpr bool operator==(ValueRef lhs, ValueRef rhs) {
    return lhs.state == rhs.state;
  }
  friend constexpr bool operator!=(ValueRef lhs, ValueRef rhs) {
    return lhs.state != rhs.state;
  }

private:
  static constexpr int poisonState = -1, absentState = -2;
  constexpr explicit ValueRef(int state) : state(state) {}

  int state = absentState;
};

/// A value that a mistake has made unknown. The mistake has been reported.
constexpr ValueRef poison = ValueRef::makePoison();
/// No value: of an input of a block that is `null`, of what a layer that is
/// left out passes on if it has nothing to pass on, and of what a layer need
/// not read and does not.
constexpr ValueRef absent;

} // namespace hova::frontend

#endif // HOVA_FRONTEND_ELABORATE_VALUEREF_H
