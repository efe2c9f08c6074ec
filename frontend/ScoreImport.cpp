//===- ScoreImport.cpp - Scores of an attention as IR ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/ScoreImport.h"

#include "dialect/score/ScoreOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace hova::frontend {

namespace {

using Op = ScoreTerm::Op;
using Type = ScoreTerm::Type;

/// Writes terms in their order; every one uses earlier ones.
class ScoreImporter {
public:
  ScoreImporter(OpBuilder &builder, function_ref<Location(size_t)> locationAt,
                const ScoreProgram &program, const ScoreArguments &arguments)
      : b(builder.getUnknownLoc(), builder), locationAt(locationAt),
        program(program), arguments(arguments) {}

  ScoreValues run();

private:
  Value write(const ScoreTerm &term);
  Value writeLeaf(const ScoreTerm &term);
  Value writeInteger(const ScoreTerm &term);
  Value writeNumber(const ScoreTerm &term);
  Value writeFunction(const ScoreTerm &term);
  Value writeBoolean(const ScoreTerm &term);
  Value read(const ScoreTerm &term);
  Value compare(const ScoreTerm &term);

  Value operand(const ScoreTerm &term, size_t i) {
    return values[static_cast<size_t>(term.operands[i])];
  }
  Value at(int number) {
    return number < 0 ? Value() : values[static_cast<size_t>(number)];
  }
  Value number(double value) {
    return NumberOp::create(b, b.getF32Type(), b.getF64FloatAttr(value));
  }
  Value integer(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value boolean(bool value) {
    return arith::ConstantOp::create(b, b.getBoolAttr(value));
  }
  template <typename Operation> Value unary(const ScoreTerm &term) {
    return Operation::create(b, operand(term, 0));
  }
  template <typename Operation> Value binary(const ScoreTerm &term) {
    return Operation::create(b, operand(term, 0), operand(term, 1));
  }

  ImplicitLocOpBuilder b;
  function_ref<Location(size_t)> locationAt;
  const ScoreProgram &program;
  const ScoreArguments &arguments;
  SmallVector<Value> values;
};

/// An integer of any width is an index.
Value ScoreImporter::read(const ScoreTerm &term) {
  SmallVector<Value> indices;
  for (size_t i = 0; i < term.operands.size(); ++i) {
    indices.push_back(operand(term, i));
  }
  Value table = arguments.captured[static_cast<unsigned>(term.capture)];
  ElementOp element = ElementOp::create(b, table, indices);
  if (term.range) {
    element.setRange(ArrayRef<int64_t>(*term.range));
  }
  if (term.type != Type::Integer) {
    return element.getResult();
  }
  return arith::IndexCastOp::create(b, b.getIndexType(), element.getResult());
}

/// What has no operands, and elements; null for all else.
Value ScoreImporter::writeLeaf(const ScoreTerm &term) {
  switch (term.op) {
  case Op::Constant:
    return term.type == Type::Number    ? number(term.real)
           : term.type == Type::Integer ? integer(term.integer)
                                        : boolean(term.integer != 0);
  case Op::Similarity:
    return arguments.similarity;
  case Op::Batch:
    return arguments.batch;
  case Op::Head:
    return arguments.head;
  case Op::Query:
    return arguments.query;
  case Op::Key:
    return arguments.key;
  case Op::Read:
    return read(term);
  default:
    return {};
  }
}

Value ScoreImporter::writeInteger(const ScoreTerm &term) {
  switch (term.op) {
  case Op::Add:
    return binary<arith::AddIOp>(term);
  case Op::Subtract:
    return binary<arith::SubIOp>(term);
  case Op::Multiply:
    return binary<arith::MulIOp>(term);
  case Op::Minimum:
    return binary<arith::MinSIOp>(term);
  case Op::Maximum:
    return binary<arith::MaxSIOp>(term);
  case Op::FloorDivide:
    return binary<arith::FloorDivSIOp>(term);
  case Op::Remainder:
    return binary<arith::RemSIOp>(term);
  case Op::Modulo: {
    Value product = arith::MulIOp::create(b, binary<arith::FloorDivSIOp>(term),
                                          operand(term, 1));
    return arith::SubIOp::create(b, operand(term, 0), product);
  }
  default:
    break;
  }
  assert((term.op == Op::Negate || term.op == Op::Absolute) &&
         "integers have no other operations");
  Value negated = arith::SubIOp::create(b, integer(0), operand(term, 0));
  return term.op == Op::Negate
             ? negated
             : arith::MaxSIOp::create(b, operand(term, 0), negated).getResult();
}

Value ScoreImporter::writeNumber(const ScoreTerm &term) {
  switch (term.op) {
  case Op::Add:
    return binary<arith::AddFOp>(term);
  case Op::Subtract:
    return binary<arith::SubFOp>(term);
  case Op::Multiply:
    return binary<arith::MulFOp>(term);
  case Op::Divide:
    return binary<arith::DivFOp>(term);
  case Op::Minimum:
    return binary<arith::MinimumFOp>(term);
  case Op::Maximum:
    return binary<arith::MaximumFOp>(term);
  case Op::Negate:
    return unary<arith::NegFOp>(term);
  case Op::ToNumber: {
    // Every integer fits.
    Value narrow =
        arith::IndexCastOp::create(b, b.getI32Type(), operand(term, 0));
    return arith::SIToFPOp::create(b, b.getF32Type(), narrow);
  }
  default:
    return writeFunction(term);
  }
}

Value ScoreImporter::writeFunction(const ScoreTerm &term) {
  switch (term.op) {
  case Op::Absolute:
    return unary<math::AbsFOp>(term);
  case Op::Exponential:
    return unary<math::ExpOp>(term);
  case Op::Logarithm:
    return unary<math::LogOp>(term);
  case Op::Log2:
    return unary<math::Log2Op>(term);
  case Op::Tangent:
    return unary<math::TanhOp>(term);
  case Op::SquareRoot:
    return unary<math::SqrtOp>(term);
  case Op::Floor:
    return unary<math::FloorOp>(term);
  case Op::Ceiling:
    return unary<math::CeilOp>(term);
  default:
    break;
  }
  assert(term.op == Op::Sigmoid && "numbers have no other operations");
  Value one = number(1);
  Value negated = unary<arith::NegFOp>(term);
  Value power = math::ExpOp::create(b, negated);
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, power));
}

/// Comparisons are false where a number is NaN, but for `!=`.
Value ScoreImporter::compare(const ScoreTerm &term) {
  Value a = operand(term, 0), c = operand(term, 1);
  bool isEqual = term.op == Op::Equal, isNotEqual = term.op == Op::NotEqual;
  if (a.getType().isInteger(1)) {
    Value differ = arith::XOrIOp::create(b, a, c);
    return isNotEqual
               ? differ
               : arith::XOrIOp::create(b, differ, boolean(true)).getResult();
  }
  bool isLess = term.op == Op::Less;
  if (a.getType().isIndex()) {
    using P = arith::CmpIPredicate;
    P predicate = isEqual      ? P::eq
                  : isNotEqual ? P::ne
                  : isLess     ? P::slt
                               : P::sle;
    return arith::CmpIOp::create(b, predicate, a, c);
  }
  using P = arith::CmpFPredicate;
  P predicate = isEqual      ? P::OEQ
                : isNotEqual ? P::UNE
                : isLess     ? P::OLT
                             : P::OLE;
  return arith::CmpFOp::create(b, predicate, a, c);
}

Value ScoreImporter::writeBoolean(const ScoreTerm &term) {
  switch (term.op) {
  case Op::And:
    return binary<arith::AndIOp>(term);
  case Op::Or:
    return binary<arith::OrIOp>(term);
  case Op::Not:
    return arith::XOrIOp::create(b, operand(term, 0), boolean(true));
  default:
    return compare(term);
  }
}

Value ScoreImporter::write(const ScoreTerm &term) {
  if (Value leaf = writeLeaf(term)) {
    return leaf;
  }
  if (term.op == Op::Select) {
    return arith::SelectOp::create(b, operand(term, 0), operand(term, 1),
                                   operand(term, 2));
  }
  switch (term.type) {
  case Type::Number:
    return writeNumber(term);
  case Type::Integer:
    return writeInteger(term);
  case Type::Boolean:
    break;
  }
  return writeBoolean(term);
}

ScoreValues ScoreImporter::run() {
  for (const ScoreTerm &term : program.terms) {
    b.setLoc(locationAt(term.place));
    values.push_back(write(term));
  }
  return {at(program.score), at(program.carried), at(program.keep)};
}

} // namespace

ScoreValues buildScores(OpBuilder &builder,
                        function_ref<Location(size_t)> locationAt,
                        const ScoreProgram &program,
                        const ScoreArguments &arguments) {
  return ScoreImporter(builder, locationAt, program, arguments).run();
}

} // namespace hova::frontend
